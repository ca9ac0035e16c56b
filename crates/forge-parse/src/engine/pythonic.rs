//! Python calls with literal arguments.

use super::{Attempt, Item, Place, only_property, truncated, up_to_marker};
use crate::dialect::Engine;
use crate::python::{Cursor, Stop};
use crate::{Dialect, End, Fault};

/// Reads the call at the start of the text, with the `print(…)` around it that some prompts ask for.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    let dialect = place.dialect(Engine::Pythonic, "pythonic");
    match call(text, &dialect, place) {
        Call::More => Item::More,
        Call::Nothing => Item::Nothing,
        Call::NotLiteral(name) => match up_to_marker(text, place) {
            None => Item::More,
            Some(raw) => {
                let problem = format!("the arguments of `{name}` are not literal values");
                Item::Read(raw.len(), vec![Err(Fault::Unreadable { problem, raw: raw.to_owned() })])
            }
        },
        Call::Cut(name) => Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(&name), text))]),
        Call::Read(len, attempt) => Item::Read(len, vec![attempt]),
    }
}

/// What stands at the start of a text.
pub(crate) enum Call {
    More,
    Nothing,
    /// A call of this name with something else than literals.
    NotLiteral(String),
    /// The text ends inside the call of this name.
    Cut(String),
    Read(usize, Attempt),
}

/// Reads one call.
pub(crate) fn call(text: &str, dialect: &Dialect, place: &Place<'_>) -> Call {
    let mut cursor = Cursor::new(text);
    let Some(mut name) = cursor.name() else { return Call::Nothing };
    cursor.blanks();
    if cursor.at_end() {
        return if place.more() { Call::More } else { Call::Nothing };
    }
    if !cursor.eat('(') {
        return Call::Nothing;
    }
    let mut printed = false;
    if name == "print" && super::resolved(place.toolset, name).is_none() {
        cursor.space();
        printed = true;
        match cursor.name() {
            Some(inner) if cursor.eat('(') => name = inner,
            Some(inner) if cursor.at_end() && place.more() => {
                name = inner;
                return more_or_cut(name, place);
            }
            None if cursor.at_end() && place.more() => return Call::More,
            Some(_) | None => return Call::NotLiteral("print".to_owned()),
        }
    }
    if let Some(tool) = name.strip_suffix(".call").filter(|tool| super::resolved(place.toolset, tool).is_some()) {
        name = tool;
    }
    let arguments = match cursor.arguments() {
        Ok(arguments) => arguments,
        Err(Stop::End) => return more_or_cut(name, place),
        Err(Stop::NotLiteral) => return Call::NotLiteral(name.to_owned()),
    };
    if printed {
        cursor.space();
        if !cursor.eat(')') && cursor.at_end() && place.more() {
            return Call::More;
        }
    }
    let len = cursor.position();
    let attempt = match arguments.to_json(only_property(place.toolset, name)) {
        Some(json) => place.toolset.read_call(name, &json, dialect.clone(), End::Complete),
        None => positional(name, text.get(..len).unwrap_or(text), dialect, place),
    };
    Call::Read(len, attempt)
}

fn more_or_cut(name: &str, place: &Place<'_>) -> Call {
    if place.more() { Call::More } else { Call::Cut(name.to_owned()) }
}

/// Arguments without keywords for a tool with several: which is which would be a guess.
fn positional(name: &str, raw: &str, dialect: &Dialect, place: &Place<'_>) -> Attempt {
    match place.toolset.read_call(name, "{}", dialect.clone(), End::Complete) {
        Err(fault @ (Fault::UnknownTool { .. } | Fault::InvalidArguments { .. })) => Err(fault),
        Ok(_) | Err(_) => match super::resolved(place.toolset, name) {
            Some(tool) => Err(Fault::MalformedArguments {
                tool,
                problem: "the arguments have no keywords".to_owned(),
                offset: 0,
                raw: raw.to_owned(),
            }),
            None => {
                Err(Fault::Unreadable { problem: "the arguments have no keywords".to_owned(), raw: raw.to_owned() })
            }
        },
    }
}
