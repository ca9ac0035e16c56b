//! A call that is announced in brackets: `[Calling tool: NAME({…})]` or `[Calling tool="NAME" key="value"]`.

use serde_json::{Map, Value};

use super::{Item, Place, named, pythonic, truncated};
use crate::extent::{Extent, object_extent};
use crate::{Dialect, End};

const DIALECT: Dialect = Dialect::named("announcement");
/// What may stand behind the opening bracket, in lower case.
const OPENINGS: &[&str] =
    &["calling tool", "calling function", "calling the tool", "call tool", "tool call", "function call", "using tool"];

/// Reads the announcement that begins the text, brackets and all.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    let Some(inner) = text.strip_prefix('[') else { return Item::Nothing };
    let begun = |opening: &&&str| opening.len() > inner.len() && starts_ignoring_case(opening, inner);
    let Some(opening) = OPENINGS.iter().find(|opening| starts_ignoring_case(inner, opening)) else {
        return if place.more() && OPENINGS.iter().any(|opening| begun(&opening)) { Item::More } else { Item::Nothing };
    };
    let rest = inner.get(opening.len()..).unwrap_or_default().trim_start();
    let start = text.len() - rest.len();
    match rest.chars().next() {
        None if place.more() => Item::More,
        Some(':') => {
            let call = rest.get(1..).unwrap_or_default();
            let call = call.trim_start();
            with_arguments(text, text.len() - call.len(), place)
        }
        Some('=') => attributes(text, start + 1, place),
        Some(_) | None => Item::Nothing,
    }
}

fn starts_ignoring_case(text: &str, begun: &str) -> bool {
    text.get(..begun.len()).is_some_and(|head| head.eq_ignore_ascii_case(begun))
}

/// `NAME(…)]`, or `NAME` and an object.
fn with_arguments(text: &str, at: usize, place: &Place<'_>) -> Item {
    let rest = text.get(at..).unwrap_or_default();
    let length = named::name_length(rest);
    let name = rest.get(..length).unwrap_or_default();
    let behind = rest.get(length..).unwrap_or_default();
    if behind.is_empty() && place.more() {
        return Item::More;
    }
    if name.is_empty() {
        return Item::Nothing;
    }
    let body = behind.trim_start().strip_prefix("with arguments").unwrap_or(behind).trim_start();
    let body = body.strip_prefix('(').map_or(body, str::trim_start);
    if body.is_empty() && place.more() {
        return Item::More;
    }
    if body.starts_with('{') {
        let start = text.len() - body.len();
        return match object_extent(body, place.more()) {
            Extent::More => Item::More,
            Extent::Strict(len) | Extent::Sloppy(len) => {
                let arguments = body.get(..len).unwrap_or(body);
                let call = place.toolset.read_call(name, arguments, DIALECT, End::Complete);
                closed(text, start + len, call, place)
            }
            Extent::Unfinished { .. } => Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))]),
        };
    }
    if body.starts_with(']') {
        let start = text.len() - body.len();
        return closed(text, start, place.toolset.read_call(name, "{}", DIALECT, End::Complete), place);
    }
    match pythonic::call(rest, &DIALECT, place) {
        pythonic::Call::More => Item::More,
        pythonic::Call::Nothing | pythonic::Call::NotLiteral(_) => Item::Nothing,
        pythonic::Call::Cut(name) => Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(&name), text))]),
        pythonic::Call::Read(len, attempt) => closed(text, at + len, attempt, place),
    }
}

/// Takes the closing brackets in.
fn closed(text: &str, at: usize, attempt: super::Attempt, place: &Place<'_>) -> Item {
    let rest = text.get(at..).unwrap_or_default();
    let behind = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ')');
    match behind.strip_prefix(']') {
        Some(after) => Item::Read(text.len() - after.len(), vec![attempt]),
        None if behind.is_empty() && place.more() => Item::More,
        None => Item::Read(at, vec![attempt]),
    }
}

/// `"NAME" key="value" …]`.
fn attributes(text: &str, at: usize, place: &Place<'_>) -> Item {
    let Some(end) = closing_bracket(text, at) else {
        return if place.more() {
            Item::More
        } else {
            Item::Read(text.len(), vec![Err(truncated(place.toolset, None, text))])
        };
    };
    let mut rest = text.get(at..end).unwrap_or_default();
    let Some((name, behind)) = value(rest) else { return Item::Nothing };
    rest = behind;
    let mut fields = Map::new();
    while let Some((key, behind)) = rest.split_once('=') {
        let Some((text, after)) = value(behind) else { break };
        fields.insert(key.trim().trim_start_matches(',').trim().to_owned(), Value::String(text.to_owned()));
        rest = after;
    }
    Item::Read(end + 1, vec![place.toolset.read_fields(name, fields, DIALECT, Vec::new())])
}

/// The bracket that ends the announcement; quoted values may hold brackets.
fn closing_bracket(text: &str, from: usize) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate().skip(from) {
        match (byte, quote) {
            (b']', None) => return Some(at),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

/// A value in quotes or up to a blank, and what follows it.
fn value(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next()?;
    if matches!(quote, '"' | '\'') {
        return text.get(1..)?.split_once(quote);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    Some((text.get(..end)?, text.get(end..)?))
}
