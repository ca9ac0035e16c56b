//! A name, then its arguments as JSON.

use super::{Item, Place, truncated};
use crate::End;
use crate::dialect::Engine;
use crate::extent::{Extent, object_extent};
use crate::marker::{Lookup, Marker, lookup};

/// The longest name that is read.
pub(crate) const MAX_NAME: usize = 200;

/// Whether a character may stand in a tool's name, with the prefixes and suffixes that templates add.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/')
}

/// The length of the name at the start of the text.
pub(crate) fn name_length(text: &str) -> usize {
    text.char_indices().find(|(_, c)| !is_name_char(*c)).map_or(text.len(), |(at, _)| at)
}

/// Reads a name with JSON arguments at the start of the text.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    let length = name_length(text);
    if length == 0 || length > MAX_NAME {
        return Item::Nothing;
    }
    let (Some(name), Some(rest)) = (text.get(..length), text.get(length..)) else { return Item::Nothing };
    let body = rest.trim_start();
    if body.is_empty() {
        return if place.more() { Item::More } else { Item::Nothing };
    }
    let at = text.len() - body.len();
    match lookup(body, place.more()) {
        Lookup::Prefix => Item::More,
        Lookup::Found(Marker::Separator, len) => after_separator(name, text, at + len, place),
        Lookup::Found(..) | Lookup::Nothing if body.starts_with('{') => arguments(name, text, at, place),
        Lookup::Found(..) | Lookup::Nothing => Item::Nothing,
    }
}

fn after_separator(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default().trim_start();
    let at = text.len() - body.len();
    if body.is_empty() {
        return if place.more() {
            Item::More
        } else {
            Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))])
        };
    }
    if body.starts_with('{') { arguments(name, text, at, place) } else { Item::Nothing }
}

/// Reads the arguments that begin at `at` for a call that begins the text.
pub(crate) fn arguments(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default();
    let (len, end) = match object_extent(body, place.more()) {
        Extent::More => return Item::More,
        Extent::Strict(len) | Extent::Sloppy(len) => (len, End::Complete),
        Extent::Unfinished { len, closed } => (len, if closed { End::Complete } else { place.end() }),
    };
    let object = body.get(..len).unwrap_or(body);
    let dialect = place.dialect(Engine::Named, "mistral-args");
    Item::Read(at + len, vec![place.toolset.read_call(name, object, dialect, end)])
}
