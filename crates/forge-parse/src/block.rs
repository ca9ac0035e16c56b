//! Calls without a marker: JSON, bare or fenced, that is the whole message or its last block.

use crate::call_object::{CallObject, NamedCall, read_object};
use crate::engine::{Attempt, Place, json};
use crate::extent::{Extent, object_extent};
use crate::marker::{Lookup, Marker, lookup};
use crate::{Dialect, End, Toolset};

/// What stands at the start of a line.
#[derive(Debug)]
pub(crate) enum Block {
    /// More text may change the answer.
    More,
    /// No block of calls.
    Nothing,
    /// So many bytes that look like a block and are text.
    Text(usize),
    /// Calls that take so many bytes.
    Calls(usize, Vec<Attempt>),
}

/// One object, list or fence of a block.
enum Piece {
    More,
    Nothing,
    /// So many bytes that aren't calls.
    Text(usize),
    Calls(usize, Vec<Attempt>),
}

/// Reads a group of JSON objects, lists and fences that begins the text. They are calls only if nothing but markup
/// follows, so this waits for the end.
pub(crate) fn read(text: &str, place: &Place<'_>, whole_message: bool) -> Block {
    let mut at = 0;
    let mut calls = Vec::new();
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || (at > 0 && matches!(c, ',' | ';')));
        let blank = rest.len() - trimmed.len();
        if at > 0 && trimmed.is_empty() {
            return if place.more() { Block::More } else { Block::Calls(at, calls) };
        }
        match piece(trimmed, place, whole_message) {
            Piece::More => return Block::More,
            Piece::Calls(len, found) => {
                at += blank + len;
                calls.extend(found);
            }
            Piece::Text(len) => return Block::Text(at + blank + len),
            Piece::Nothing if at == 0 => return Block::Nothing,
            Piece::Nothing => {
                return match lookup(trimmed, place.more()) {
                    Lookup::Prefix => Block::More,
                    Lookup::Found(Marker::Close | Marker::Noise, _) => Block::Calls(at, calls),
                    _ if matches!(trimmed.trim(), "]" | "}" | "]}" | "}]") && !place.more() => {
                        Block::Calls(text.len(), calls)
                    }
                    _ if place.more() && trimmed.bytes().all(|b| matches!(b, b']' | b'}' | b'\n' | b' ')) => {
                        Block::More
                    }
                    Lookup::Found(..) | Lookup::Nothing => Block::Text(at),
                };
            }
        }
    }
}

fn piece(text: &str, place: &Place<'_>, whole_message: bool) -> Piece {
    match text.as_bytes().first() {
        Some(b'{') => object(text, place, whole_message),
        Some(b'[') => list(text, place, whole_message),
        Some(b'`' | b'~') => fence(text, place, whole_message),
        _ => Piece::Nothing,
    }
}

fn object(text: &str, place: &Place<'_>, whole_message: bool) -> Piece {
    match promising(text, place.more()) {
        Some(true) => {}
        Some(false) => return Piece::Nothing,
        None => return Piece::More,
    }
    let (len, end) = match object_extent(text, place.more()) {
        Extent::More => return Piece::More,
        Extent::Strict(len) | Extent::Sloppy(len) => (len, End::Complete),
        Extent::Unfinished { len, closed } => (len, if closed { End::Complete } else { place.end() }),
    };
    match meant(text.get(..len).unwrap_or(text), end, place, whole_message) {
        Some(attempts) => Piece::Calls(len, attempts),
        None => Piece::Text(len),
    }
}

/// Whether an object may be a call by its first key: none where more text is needed to tell.
fn promising(text: &str, more: bool) -> Option<bool> {
    let inner = text.trim_start_matches(|c: char| c == '{' || c.is_whitespace());
    if text.bytes().take_while(|b| *b == b'{').count() > 2 {
        return Some(false);
    }
    if inner.is_empty() && more {
        return None;
    }
    Some(inner.starts_with(['"', '\'', '\u{201c}']) || inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// The attempts in an object that is meant as a call; none if it is data.
fn meant(object: &str, end: End, place: &Place<'_>, whole_message: bool) -> Option<Vec<Attempt>> {
    let dialect = Dialect::named("bare-json");
    match read_object(object) {
        Ok((CallObject::Call(call), unclosed)) => {
            if !is_call(&call, place.toolset, whole_message) {
                return None;
            }
            if unclosed && end == End::Cut {
                return Some(json::attempts(object, end, place));
            }
            Some(json::calls_of(CallObject::Call(call), object, &dialect, place))
        }
        Ok((CallObject::Envelope(items), _)) if whole_message => {
            Some(json::calls_of(CallObject::Envelope(items), object, &dialect, place))
        }
        Ok((CallObject::Envelope(_) | CallObject::Other, _)) => None,
        Err(_) => {
            let attempts = json::attempts(object, end, place);
            let known = attempts.iter().any(|attempt| matches!(attempt, Err(fault) if fault.tool().is_some()));
            (known && object.contains(['"', '\'']) && names_arguments(object)).then_some(attempts)
        }
    }
}

fn names_arguments(object: &str) -> bool {
    ["arguments", "parameters", "args", "input"].iter().any(|key| object.contains(key))
}

/// Keys that may stand beside name and arguments in a call.
const HARMLESS: &[&str] = &[
    "type",
    "id",
    "index",
    "call_id",
    "tool_call_id",
    "thought",
    "thoughts",
    "reasoning",
    "explanation",
    "role",
    "status",
];

fn is_call(call: &NamedCall, toolset: &Toolset, whole_message: bool) -> bool {
    let Some(arguments) = &call.arguments else { return false };
    let shaped = arguments.starts_with(['{', '"']) && call.others.iter().all(|key| HARMLESS.contains(&key.as_str()));
    if !shaped || is_schema(arguments) {
        return false;
    }
    whole_message || crate::engine::resolved(toolset, &call.name).is_some()
}

/// Whether these arguments are the schema of a tool's arguments.
fn is_schema(arguments: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(arguments)
        .is_ok_and(|value| value.get("type").is_some_and(|kind| kind == "object") && value.get("properties").is_some())
}

fn list(text: &str, place: &Place<'_>, whole_message: bool) -> Piece {
    let mut at = 1;
    let mut calls = Vec::new();
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || (!calls.is_empty() && c == ','));
        let blank = rest.len() - trimmed.len();
        match trimmed.as_bytes().first() {
            None if place.more() => return Piece::More,
            None if calls.is_empty() => return Piece::Nothing,
            None => return Piece::Calls(text.len(), calls),
            Some(b']') if !calls.is_empty() => return Piece::Calls(at + blank + 1, calls),
            Some(b'{') => match object(trimmed, place, whole_message) {
                Piece::More => return Piece::More,
                Piece::Calls(len, found) => {
                    at += blank + len;
                    calls.extend(found);
                }
                Piece::Nothing => return Piece::Nothing,
                Piece::Text(len) => return Piece::Text(at + blank + len),
            },
            Some(_) => return Piece::Nothing,
        }
    }
}

const FENCES: &[&str] =
    &["", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool", "tool_code", "function_call"];

fn fence(text: &str, place: &Place<'_>, whole_message: bool) -> Piece {
    let mark = text.chars().next().unwrap_or('`');
    let run = text.chars().take_while(|c| *c == mark).count();
    if run < 3 {
        return if place.more() && run == text.len() { Piece::More } else { Piece::Nothing };
    }
    let Some((info, body)) = text.get(run..).unwrap_or_default().split_once('\n') else {
        return if place.more() { Piece::More } else { Piece::Nothing };
    };
    let info = info.trim();
    if info.contains('`') || !FENCES.contains(&info.to_ascii_lowercase().as_str()) {
        return Piece::Nothing;
    }
    let start = text.len() - body.len();
    let content = body.trim_start();
    match content.as_bytes().first() {
        None if place.more() => return Piece::More,
        Some(b'{' | b'[') => {}
        _ => return Piece::Nothing,
    }
    let Some(end) = closing_fence(body, mark, run) else {
        if place.more() {
            return Piece::More;
        }
        return fenced(body, place, whole_message).map_or(Piece::Nothing, |calls| Piece::Calls(text.len(), calls));
    };
    let (inner, after) = end;
    if place.more() && start + after == text.len() {
        return Piece::More;
    }
    let ended = Place { finish: Some(crate::FinishReason::Stop), ..*place };
    match fenced(body.get(..inner).unwrap_or(body), &ended, whole_message) {
        Some(calls) => Piece::Calls(start + after, calls),
        None => Piece::Text(start + after),
    }
}

/// Where the content of a fence ends and where the fence does. A fence may close on the last line of its content.
fn closing_fence(body: &str, mark: char, run: usize) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let bare = line.trim();
        let end = at + line.trim_end().len();
        if bare.len() >= run && bare.chars().all(|c| c == mark) {
            return Some((at, end));
        }
        if let Some(code) = bare.strip_suffix("```").filter(|code| run == 3 && code.ends_with(['}', ']', ')'])) {
            return Some((end - 3, end)).filter(|_| !code.is_empty());
        }
        at += line.len();
    }
    None
}

fn fenced(content: &str, place: &Place<'_>, whole_message: bool) -> Option<Vec<Attempt>> {
    match read(content, place, whole_message) {
        Block::Calls(_, calls) => Some(calls),
        Block::More | Block::Nothing | Block::Text(_) => None,
    }
}
