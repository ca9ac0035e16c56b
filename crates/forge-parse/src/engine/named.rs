//! A name, then its arguments: JSON behind a separator or a brace, or keys and values in tags of their own.

use serde_json::{Map, Value};

use super::{Item, Place, resolved, truncated};
use crate::dialect::Engine;
use crate::extent::{Extent, object_extent, string_extent};
use crate::marker::{Lookup, Marker, lookup};
use crate::tag::{TagRead, read_tag};
use crate::{Dialect, End};

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

/// Reads a name with its arguments at the start of the text. `function<sep>NAME`: the word is the type of the call.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    let behind = behind_type(text, place).filter(|behind| behind.starts_with(is_name_char));
    let Some(behind) = behind else { return named(text, place) };
    match named(behind, place) {
        Item::Read(len, attempts) => Item::Read(text.len() - behind.len() + len, attempts),
        undecided @ (Item::More | Item::Nothing) => undecided,
    }
}

/// What follows the type of a call and its separator.
fn behind_type<'t>(text: &'t str, place: &Place<'_>) -> Option<&'t str> {
    const TYPE: &str = "function";
    let head = text.get(..TYPE.len()).filter(|head| head.eq_ignore_ascii_case(TYPE))?;
    let behind = text.get(head.len()..)?.trim_start();
    match lookup(behind, place.more()) {
        Lookup::Found(Marker::Separator, len) => behind.get(len..).map(str::trim_start),
        Lookup::Found(..) | Lookup::Prefix | Lookup::Nothing => None,
    }
}

fn named(text: &str, place: &Place<'_>) -> Item {
    let length = name_length(text);
    if length == 0 || length > MAX_NAME {
        return Item::Nothing;
    }
    let (Some(name), Some(rest)) = (text.get(..length), text.get(length..)) else { return Item::Nothing };
    let body = rest.trim_start();
    let at = text.len() - body.len();
    if body.is_empty() {
        return if place.more() { Item::More } else { bare(name, text, text.len(), place) };
    }
    match lookup(body, place.more()) {
        Lookup::Prefix => return Item::More,
        Lookup::Found(Marker::Separator, len) => return separated(name, text, at + len, place),
        Lookup::Found(Marker::Close | Marker::Noise, _) => return bare(name, text, at, place),
        Lookup::Found(..) | Lookup::Nothing => {}
    }
    if body.starts_with('{') {
        return arguments(name, text, at, place);
    }
    if body.starts_with('`') {
        return fenced(name, text, at, place);
    }
    if body.starts_with('<') { pairs(name, text, at, place) } else { Item::Nothing }
}

/// A name alone: a call without arguments, where the name can't go on.
fn bare(name: &str, text: &str, len: usize, place: &Place<'_>) -> Item {
    if len == text.len() && place.end() == End::Cut {
        return Item::Read(len, vec![Err(truncated(place.toolset, None, text))]);
    }
    if len == text.len() && resolved(place.toolset, name).is_none() {
        return Item::Nothing;
    }
    let dialect = place.dialect(Engine::Named, "glm");
    Item::Read(len, vec![place.toolset.read_call(name, "{}", dialect, End::Complete)])
}

fn separated(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let id = text.get(name.len()..).is_some_and(|behind| behind.trim_start().starts_with(CALL_ID));
    let body = text.get(at..).unwrap_or_default().trim_start();
    if id && !body.is_empty() && !body.starts_with(['{', '"', '`', '<']) {
        return behind_id(name, text, text.len() - body.len(), place);
    }
    behind_separator(name, text, at, place)
}

/// Arguments behind the separator that ends at `at`.
fn behind_separator(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default().trim_start();
    let at = text.len() - body.len();
    if body.is_empty() {
        return if place.more() {
            Item::More
        } else {
            Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))])
        };
    }
    if body.starts_with(['{', '"']) {
        return arguments(name, text, at, place);
    }
    if body.starts_with('`') {
        return fenced(name, text, at, place);
    }
    Item::Nothing
}

const CALL_ID: &str = "[CALL_ID]";

/// `NAME[CALL_ID]ID[ARGS]{…}`: the id is the server's business.
fn behind_id(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default();
    let behind = body.get(name_length(body)..).unwrap_or_default();
    match lookup(behind, place.more()) {
        Lookup::Found(Marker::Separator, len) if !behind.starts_with(CALL_ID) => {
            behind_separator(name, text, text.len() - behind.len() + len, place)
        }
        Lookup::Prefix => Item::More,
        Lookup::Nothing if behind.is_empty() && place.more() => Item::More,
        Lookup::Found(..) | Lookup::Nothing => Item::Nothing,
    }
}

/// Arguments in a fence; what closes it is left to the section.
fn fenced(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default();
    let run = body.bytes().take_while(|byte| *byte == b'`').count();
    if run < 3 {
        return if place.more() && run == body.len() { Item::More } else { Item::Nothing };
    }
    let inner =
        body.get(run..).unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim_start();
    if inner.is_empty() && place.more() {
        return Item::More;
    }
    if !inner.starts_with('{') {
        return Item::Nothing;
    }
    let start = text.len() - inner.len();
    arguments(name, text, start, place)
}

/// Reads the arguments that begin at `at` for a call that begins the text.
pub(crate) fn arguments(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default();
    let extent =
        if body.starts_with('"') { string_extent(body, place.more()) } else { object_extent(body, place.more()) };
    let (len, end) = match extent {
        Extent::More => return Item::More,
        Extent::Strict(len) | Extent::Sloppy(len) => (len, End::Complete),
        Extent::Unfinished { len, closed } => (len, if closed { End::Complete } else { place.end() }),
    };
    let arguments = body.get(..len).unwrap_or(body);
    let dialect = place.dialect(Engine::Named, "mistral-args");
    Item::Read(at + len, vec![place.toolset.read_call(name, arguments, dialect, end)])
}

/// `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`, as often as there are arguments. Any other opening tag may
/// stand where the key's belongs, as long as the key is closed.
pub(crate) fn pairs(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let mut fields = Map::new();
    let mut at = at;
    loop {
        match pair(text, at, place) {
            Pair::More => return Item::More,
            Pair::Cut => return Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))]),
            Pair::Read(key, value, next) => {
                fields.insert(key, Value::String(value));
                at = next;
            }
            Pair::Nothing if fields.is_empty() => return Item::Nothing,
            Pair::Nothing => {
                let ended = text.get(at..).is_none_or(|rest| rest.trim().is_empty());
                if ended && place.end() == End::Cut {
                    return Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))]);
                }
                let call = place.toolset.read_fields(name, fields, Dialect::named("glm"), Vec::new());
                return Item::Read(at, vec![call]);
            }
        }
    }
}

enum Pair {
    More,
    Cut,
    Nothing,
    Read(String, String, usize),
}

fn pair(text: &str, at: usize, place: &Place<'_>) -> Pair {
    let rest = text.get(at..).unwrap_or_default();
    let trimmed = rest.trim_start();
    let start = text.len() - trimmed.len();
    let tag = match read_tag(trimmed, place.more()) {
        TagRead::More => return Pair::More,
        TagRead::Nothing if trimmed.is_empty() && place.more() => return Pair::More,
        TagRead::Nothing => return Pair::Nothing,
        TagRead::Tag(tag) => tag,
    };
    if tag.closing || !matches!(tag.name, "arg_key" | "tool_call") {
        return Pair::Nothing;
    }
    let inner = trimmed.get(tag.len..).unwrap_or_default();
    let Some(key_len) = inner.find('<') else { return if place.more() { Pair::More } else { Pair::Cut } };
    let behind = inner.get(key_len..).unwrap_or_default();
    let close = match read_tag(behind, place.more()) {
        TagRead::More => return Pair::More,
        TagRead::Tag(close) if close.closing && close.name == "arg_key" => close.len,
        TagRead::Nothing | TagRead::Tag(_) => return Pair::Nothing,
    };
    let key = inner.get(..key_len).unwrap_or_default().trim().to_owned();
    value(text, start + tag.len + key_len + close, key, place)
}

fn value(text: &str, at: usize, key: String, place: &Place<'_>) -> Pair {
    let rest = text.get(at..).unwrap_or_default();
    let trimmed = rest.trim_start();
    let from = match read_tag(trimmed, place.more()) {
        TagRead::Tag(tag) if !tag.closing && tag.name == "arg_value" => text.len() - trimmed.len() + tag.len,
        TagRead::More => return Pair::More,
        TagRead::Nothing if trimmed.is_empty() => return if place.more() { Pair::More } else { Pair::Cut },
        TagRead::Nothing | TagRead::Tag(_) => return Pair::Nothing,
    };
    let mut at = from;
    while let Some(offset) = memchr::memchr(b'<', text.get(at..).unwrap_or_default().as_bytes()) {
        at += offset;
        let rest = text.get(at..).unwrap_or_default();
        match read_tag(rest, place.more()) {
            TagRead::More => return Pair::More,
            TagRead::Tag(tag) if tag.closing && tag.name == "arg_value" => {
                let behind = rest.get(tag.len..).unwrap_or_default().trim_start();
                let ends = match lookup(behind, place.more()) {
                    Lookup::Prefix => return Pair::More,
                    Lookup::Found(..) => true,
                    Lookup::Nothing if behind.is_empty() && place.more() => return Pair::More,
                    Lookup::Nothing => behind.is_empty() || behind.starts_with("<arg_key"),
                };
                if ends {
                    let value = text.get(from..at).unwrap_or_default();
                    let value = value.strip_prefix('\n').unwrap_or(value);
                    let value = value.strip_suffix('\n').unwrap_or(value);
                    return Pair::Read(key, value.to_owned(), at + tag.len);
                }
            }
            TagRead::Nothing | TagRead::Tag(_) => {}
        }
        at += 1;
    }
    if place.more() { Pair::More } else { Pair::Cut }
}
