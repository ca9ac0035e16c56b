//! A tag with the tool's name, then one tag per argument. Values are raw text.

use serde_json::{Map, Value};

use super::{Item, Place, truncated};
use crate::dialect::Engine;
use crate::extent::{Extent, object_extent};
use crate::marker::{Lookup, Marker, lookup};
use crate::tag::{Tag, TagRead, read_tag};
use crate::{Dialect, End, Fault};

const CALL_TAGS: &[&str] = &["function", "invoke"];
const ARGUMENT_TAGS: &[&str] = &["parameter", "param", "argument", "arg"];

/// Reads the call whose tag begins the text.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    let tag = match read_tag(text, place.more()) {
        TagRead::More => return Item::More,
        TagRead::Nothing => return Item::Nothing,
        TagRead::Tag(tag) => tag,
    };
    if tag.closing || !CALL_TAGS.contains(&tag.name) {
        return Item::Nothing;
    }
    let Some(name) = tag.names() else { return Item::Nothing };
    let dialect = dialect(&tag, place);
    let body = text.get(tag.len..).unwrap_or_default();
    let trimmed = body.trim_start();
    if tag.empty {
        return Item::Read(tag.len, vec![place.toolset.read_fields(name, Map::new(), dialect, Vec::new())]);
    }
    if trimmed.is_empty() && place.more() {
        return Item::More;
    }
    if trimmed.starts_with('{') {
        return json_body(name, text, text.len() - trimmed.len(), place);
    }
    match fields(text, tag.len, &tag, place) {
        Fields::More => Item::More,
        Fields::Cut => Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))]),
        Fields::Junk(len) => Item::Read(len, vec![Err(junk(name, text.get(..len).unwrap_or(text), place))]),
        Fields::Read(len, fields) => {
            Item::Read(len, vec![place.toolset.read_fields(name, fields, dialect, Vec::new())])
        }
    }
}

fn dialect(tag: &Tag<'_>, place: &Place<'_>) -> Dialect {
    let otherwise = match (tag.name, tag.namespace) {
        ("invoke", "minimax") => "minimax",
        ("invoke", "steptml") => "step3",
        ("invoke", "") => "anthropic-invoke",
        ("invoke", namespace) if namespace.is_ascii() && !namespace.contains('|') => "anthropic-invoke",
        ("invoke", _) => "deepseek-dsml",
        _ if tag.value.is_none() => "minicpm",
        _ => "qwen3-coder",
    };
    place.dialect(Engine::Tagged, otherwise)
}

fn json_body(name: &str, text: &str, at: usize, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default();
    let (len, end) = match object_extent(body, place.more()) {
        Extent::More => return Item::More,
        Extent::Strict(len) | Extent::Sloppy(len) => (len, End::Complete),
        Extent::Unfinished { len, closed } => (len, if closed { End::Complete } else { place.end() }),
    };
    let object = body.get(..len).unwrap_or(body);
    Item::Read(at + len, vec![place.toolset.read_call(name, object, Dialect::named("function-json"), end)])
}

fn junk(name: &str, raw: &str, place: &Place<'_>) -> Fault {
    match super::resolved(place.toolset, name) {
        Some(tool) => Fault::MalformedArguments {
            tool,
            problem: "text stands where a parameter tag is expected".to_owned(),
            offset: 0,
            raw: raw.to_owned(),
        },
        None => match place.toolset.read_call(name, "{}", Dialect::named("qwen3-coder"), End::Complete) {
            Err(fault) => fault,
            Ok(_) => Fault::Unreadable { problem: "a call without parameters".to_owned(), raw: raw.to_owned() },
        },
    }
}

/// The arguments of a call.
pub(crate) enum Fields {
    More,
    /// The text ends inside.
    Cut,
    /// So many bytes with something else in them.
    Junk(usize),
    /// So many bytes up to and with the closing tag.
    Read(usize, Map<String, Value>),
}

/// Reads argument tags from `at` to the tag that closes `outer`.
pub(crate) fn fields(text: &str, at: usize, outer: &Tag<'_>, place: &Place<'_>) -> Fields {
    let mut at = at;
    let mut fields = Map::new();
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        let start = at + rest.len() - trimmed.len();
        if trimmed.is_empty() {
            return match (place.finish, place.end()) {
                (None, _) => Fields::More,
                (Some(_), End::Cut) => Fields::Cut,
                (Some(_), End::Complete) => Fields::Read(text.len(), fields),
            };
        }
        let tag = match read_tag(trimmed, place.more()) {
            TagRead::More => return Fields::More,
            TagRead::Nothing => return other(trimmed, start, fields, place),
            TagRead::Tag(tag) => tag,
        };
        if tag.closing {
            if tag.name == outer.name {
                return Fields::Read(start + tag.len, fields);
            }
            if !ARGUMENT_TAGS.contains(&tag.name) {
                return Fields::Read(start, fields);
            }
            at = start + tag.len;
            continue;
        }
        let key = if ARGUMENT_TAGS.contains(&tag.name) { tag.names() } else { Some(tag.name) };
        let is_call = CALL_TAGS.contains(&tag.name) && tag.names().is_some();
        let (Some(key), false) = (key, is_call) else { return Fields::Read(start, fields) };
        if matches!(lookup(trimmed, false), Lookup::Found(Marker::Open(_), _)) {
            return Fields::Read(start, fields);
        }
        if tag.empty {
            fields.insert(key.to_owned(), Value::String(String::new()));
            at = start + tag.len;
            continue;
        }
        match value_end(text, start + tag.len, &tag, outer, place) {
            ValueEnd::More => return Fields::More,
            ValueEnd::Cut => return Fields::Cut,
            ValueEnd::At(end, next) => {
                let raw = text.get(start + tag.len..end).unwrap_or_default();
                fields.insert(key.to_owned(), value(raw, &tag));
                at = next;
            }
        }
    }
}

fn other(trimmed: &str, start: usize, fields: Map<String, Value>, place: &Place<'_>) -> Fields {
    match lookup(trimmed, place.more()) {
        Lookup::Prefix => Fields::More,
        Lookup::Found(..) => Fields::Read(start, fields),
        Lookup::Nothing if fields.is_empty() => Fields::Junk(start),
        Lookup::Nothing => Fields::Read(start, fields),
    }
}

enum ValueEnd {
    More,
    Cut,
    /// Where the value ends, and where what follows begins.
    At(usize, usize),
}

/// Finds the end of a value. A closing tag counts only where structure follows it, so that a value may talk about
/// tags; where the closing tag was lost, the outer closing tag or the next argument ends the value.
fn value_end(text: &str, from: usize, tag: &Tag<'_>, outer: &Tag<'_>, place: &Place<'_>) -> ValueEnd {
    let mut at = from;
    while let Some(offset) = memchr::memchr(b'<', text.get(at..).unwrap_or_default().as_bytes()) {
        at += offset;
        let rest = text.get(at..).unwrap_or_default();
        match read_tag(rest, place.more()) {
            TagRead::More => return ValueEnd::More,
            TagRead::Nothing => {}
            TagRead::Tag(found) if found.closing && found.name == tag.name => {
                match structure_follows(rest.get(found.len..).unwrap_or_default(), tag, outer, place) {
                    None => return ValueEnd::More,
                    Some(true) => return ValueEnd::At(at, at + found.len),
                    Some(false) => {}
                }
            }
            TagRead::Tag(found) if found.closing && found.name == outer.name => {
                match outside_follows(rest.get(found.len..).unwrap_or_default(), place) {
                    None => return ValueEnd::More,
                    Some(true) => return ValueEnd::At(at, at),
                    Some(false) => {}
                }
            }
            TagRead::Tag(found) if is_next_argument(&found, tag) && at_line_start(text, from, at) => {
                return ValueEnd::At(at, at);
            }
            TagRead::Tag(_) => {}
        }
        at += 1;
    }
    if place.more() { ValueEnd::More } else { ValueEnd::Cut }
}

fn is_next_argument(found: &Tag<'_>, tag: &Tag<'_>) -> bool {
    !found.closing && found.name == tag.name && ARGUMENT_TAGS.contains(&tag.name) && found.names().is_some()
}

fn at_line_start(text: &str, from: usize, at: usize) -> bool {
    let before = text.get(from..at).unwrap_or_default();
    before.trim_end_matches([' ', '\t']).ends_with('\n')
}

/// Whether an argument, the end of the call, a marker or the end of the text follows. None if it can't be told yet.
fn structure_follows(text: &str, tag: &Tag<'_>, outer: &Tag<'_>, place: &Place<'_>) -> Option<bool> {
    let rest = text.trim_start();
    if rest.is_empty() {
        return if place.more() { None } else { Some(true) };
    }
    match read_tag(rest, place.more()) {
        TagRead::More => None,
        TagRead::Tag(next) if next.closing => Some(next.name == outer.name || is_marker(rest)),
        TagRead::Tag(next) => {
            let argument = ARGUMENT_TAGS.contains(&next.name) == ARGUMENT_TAGS.contains(&tag.name);
            Some(argument || is_marker(rest))
        }
        TagRead::Nothing => match lookup(rest, place.more()) {
            Lookup::Prefix => None,
            Lookup::Found(..) => Some(true),
            Lookup::Nothing => Some(false),
        },
    }
}

fn is_marker(text: &str) -> bool {
    matches!(lookup(text, false), Lookup::Found(..))
}

/// Whether a marker, another call or the end of the text follows.
fn outside_follows(text: &str, place: &Place<'_>) -> Option<bool> {
    let rest = text.trim_start();
    if rest.is_empty() {
        return if place.more() { None } else { Some(true) };
    }
    match lookup(rest, place.more()) {
        Lookup::Prefix => None,
        Lookup::Found(..) => Some(true),
        Lookup::Nothing => Some(false),
    }
}

/// A value as the format means it: without the newline on each side that belongs to the format.
fn value(raw: &str, tag: &Tag<'_>) -> Value {
    let text = raw.strip_prefix("\r\n").or_else(|| raw.strip_prefix('\n')).unwrap_or(raw);
    let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    let section = text.trim().strip_prefix("<![CDATA[").and_then(|inner| inner.strip_suffix("]]>"));
    let text = section.unwrap_or(text);
    match tag.attribute("string") {
        Some("false") => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        Some(_) | None => Value::String(text.to_owned()),
    }
}
