//! An object with a name and arguments.

use super::{Attempt, Item, Place, nameless, resolved, truncated};
use crate::call_object::{CallObject, NamedCall, name_in_part, read_object};
use crate::dialect::Engine;
use crate::extent::{Extent, object_extent};
use crate::repair::RepairError;
use crate::{Dialect, End, Fault};

const NO_NAME: &str = "the object names no tool";

/// Reads the object that begins the text.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    if !text.starts_with('{') {
        return Item::Nothing;
    }
    let (len, end) = match object_extent(text, place.more()) {
        Extent::More => return Item::More,
        Extent::Strict(len) | Extent::Sloppy(len) => (len, End::Complete),
        Extent::Unfinished { len, closed } => (len, if closed { End::Complete } else { place.end() }),
    };
    let object = text.get(..len).unwrap_or(text);
    Item::Read(len, attempts(object, end, place))
}

/// The calls in an object's text; a marker says that it is meant as one.
pub(crate) fn attempts(object: &str, end: End, place: &Place<'_>) -> Vec<Attempt> {
    let dialect = place.dialect(Engine::Json, "bare-json");
    match read_object(object, place.toolset) {
        Ok((_, true)) if end == End::Cut => {
            vec![Err(truncated(place.toolset, name_in_part(object).as_deref(), object))]
        }
        Ok((found, _)) => calls_of(found, object, &dialect, place),
        Err(error) => vec![Err(unreadable(object, &error, place))],
    }
}

/// The calls in an object that was read.
pub(crate) fn calls_of(found: CallObject, raw: &str, dialect: &Dialect, place: &Place<'_>) -> Vec<Attempt> {
    match found {
        CallObject::Call(call) => vec![read_named(call, dialect, place)],
        CallObject::Envelope(items) if items.is_empty() => {
            vec![Err(Fault::Unreadable { problem: "the list of calls is empty".to_owned(), raw: raw.to_owned() })]
        }
        CallObject::Envelope(items) => items
            .iter()
            .flat_map(|item| match read_object(item, place.toolset) {
                Ok((CallObject::Call(call), _)) => vec![read_named(call, dialect, place)],
                Ok((CallObject::Envelope(_) | CallObject::Other, _)) => {
                    vec![Err(nameless(place.toolset, NO_NAME, item))]
                }
                Err(error) => vec![Err(unreadable(item, &error, place))],
            })
            .collect(),
        CallObject::Other => vec![Err(nameless(place.toolset, NO_NAME, raw))],
    }
}

fn read_named(call: NamedCall, dialect: &Dialect, place: &Place<'_>) -> Attempt {
    let arguments = call.arguments.as_deref().unwrap_or("{}");
    let mut read = place.toolset.read_call(&call.name, arguments, dialect.clone(), End::Complete)?;
    if !call.repairs.is_empty() {
        let inner = std::mem::replace(&mut read.repairs, call.repairs);
        read.repairs.extend(inner);
    }
    Ok(read)
}

fn unreadable(object: &str, error: &RepairError, place: &Place<'_>) -> Fault {
    let name = name_in_part(object);
    if matches!(error, RepairError::Truncated { .. }) {
        return truncated(place.toolset, name.as_deref(), object);
    }
    match name.and_then(|name| resolved(place.toolset, &name)) {
        Some(tool) => Fault::MalformedArguments {
            tool,
            problem: error.to_string(),
            offset: error.offset(),
            raw: object.to_owned(),
        },
        None => Fault::Unreadable { problem: error.to_string(), raw: object.to_owned() },
    }
}
