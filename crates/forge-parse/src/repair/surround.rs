//! What stands around the object: prose, fences, closing brackets too many, and the same object once more.

use serde_json::Value;

use super::cursor::Cursor;
use super::ledger::{Kind, Ledger};
use super::reader::Reader;
use super::{KnownKeys, RepairError, Repaired, is_strict_object, repeated_key};
use crate::tree::Tree;

/// Reads the one object of a text.
pub(super) fn read_one(text: &str, known: Option<KnownKeys<'_>>) -> Result<Repaired, RepairError> {
    let start = first_object(text)?;
    let mut first = read_at(text, start, known)?;
    let before = text.get(..start).unwrap_or_default();
    let mut ledger = Ledger::default();
    note_outside(&mut ledger, before);
    while let Some(place) = next_object(text, first.end, &mut ledger)? {
        let second = read_at(text, place, known)?;
        first = unite(first, second, &mut ledger).ok_or(RepairError::SeveralObjects { offset: place })?;
    }
    Ok(first.into_repaired(ledger))
}

/// Reads the one object or list that a text consists of.
pub(super) fn read_exactly(text: &str) -> Option<Repaired> {
    let start = Cursor::new(text, 0).past_space().at;
    let read = read_at(text, start, None).ok()?;
    let nothing_left = Cursor::new(text, read.end).past_space().character().is_none();
    nothing_left.then(|| read.into_repaired(Ledger::default()))
}

/// A text in which every quote is escaped: a JSON string that lost its own quotes.
pub(super) fn unescape_whole(text: &str) -> Option<Repaired> {
    let inner = text.trim().strip_prefix('{')?.trim_start();
    if !inner.starts_with("\\\"") {
        return None;
    }
    let unescaped: String = serde_json::from_str(&format!("\"{}\"", text.trim())).ok()?;
    if !is_strict_object(unescaped.trim()) {
        return None;
    }
    let mut ledger = Ledger::default();
    ledger.add_once(Kind::OverEscaped);
    Some(Repaired { json: unescaped, only_notation: false, repairs: ledger.into_entries(), unclosed: false })
}

/// A value that was read, and where it ended.
struct Read {
    json: String,
    ledger: Ledger,
    unclosed: bool,
    end: usize,
}

impl Read {
    fn into_repaired(self, outside: Ledger) -> Repaired {
        let only_notation = self.ledger.only_notation() && outside.only_notation();
        let mut repairs = outside.into_entries();
        repairs.extend(self.ledger.into_entries());
        Repaired { json: self.json, repairs, unclosed: self.unclosed, only_notation }
    }

    fn is_empty_object(&self) -> bool {
        self.json == "{}"
    }
}

fn read_at(text: &str, start: usize, known: Option<KnownKeys<'_>>) -> Result<Read, RepairError> {
    let mut reader = Reader::new(Cursor::new(text, start), known);
    let unclosed = reader.read()?;
    let (ledger, json, end) = (reader.ledger, reader.out, reader.cursor.at);
    let problem = if ledger.quotes_in_broken_structure() {
        "quotes inside a string are not escaped and the structure around it is broken, so there is more than one reading"
    } else if ledger.mismatched_closer() && unclosed {
        "closing brackets are of the wrong kind and others are missing, so there is more than one reading"
    } else if ledger.matched_quotes() && repeated_key(&json).is_some() {
        "quotes inside a string are not escaped, and a key would be there twice"
    } else {
        return Ok(Read { json, ledger, unclosed, end });
    };
    Err(RepairError::Unreadable { offset: start, problem: problem.to_owned() })
}

/// One of two objects, if they are the same or one is empty.
fn unite(first: Read, second: Read, ledger: &mut Ledger) -> Option<Read> {
    let (kept, kind) = if same(&first.json, &second.json) {
        (Read { end: second.end, unclosed: first.unclosed || second.unclosed, ..first }, Kind::DuplicateObject)
    } else if first.is_empty_object() {
        (second, Kind::EmptyObject)
    } else if second.is_empty_object() && !second.unclosed {
        (Read { end: second.end, ..first }, Kind::EmptyObject)
    } else {
        return None;
    };
    ledger.add_once(kind);
    Some(kept)
}

/// Whether two JSON texts are the same but for white space.
fn same(a: &str, b: &str) -> bool {
    a == b || Tree::parse(a).is_some_and(|a| Tree::parse(b) == Some(a))
}

/// Where the first object begins.
fn first_object(text: &str) -> Result<usize, RepairError> {
    let not_an_object = || RepairError::NotAnObject { found: describe(text) };
    if begins_list(text) {
        return Err(not_an_object());
    }
    text.find('{').ok_or_else(not_an_object)
}

fn begins_list(text: &str) -> bool {
    let mut characters = text.trim_start().chars();
    characters.next() == Some('[')
        && characters
            .find(|c| !c.is_whitespace())
            .is_none_or(|c| matches!(c, '{' | '[' | ']' | '"' | '\'' | '-' | '0'..='9'))
}

fn describe(text: &str) -> &'static str {
    let trimmed = text.trim();
    match serde_json::from_str::<Value>(trimmed) {
        Ok(Value::Null) => "null",
        Ok(Value::Bool(_)) => "a boolean",
        Ok(Value::Number(_)) => "a number",
        Ok(Value::String(_)) => "a string",
        Ok(Value::Array(_)) => "a list",
        Ok(Value::Object(_)) => "an object",
        Err(_) if begins_list(trimmed) => "a list",
        Err(_) if trimmed.is_empty() => "empty",
        Err(_) => "text",
    }
}

/// Looks at what follows an object: nothing that matters, or another object.
fn next_object(text: &str, end: usize, ledger: &mut Ledger) -> Result<Option<usize>, RepairError> {
    let rest = text.get(end..).unwrap_or_default();
    let (outside, next) = match rest.find('{') {
        Some(place) => (rest.get(..place).unwrap_or_default(), Some(end + place)),
        None => (rest, None),
    };
    if ends_like_an_object(outside) {
        let problem = format!("the object seems to end at byte {end}, and again later");
        return Err(RepairError::Unreadable { offset: end, problem });
    }
    note_outside(ledger, outside);
    Ok(next)
}

/// Whether text behind an object ends as an object with a string does: then its end was taken too early.
fn ends_like_an_object(outside: &str) -> bool {
    let trimmed = outside.trim_end();
    let inside = trimmed.trim_end_matches(['}', ']', ' ', '\n']);
    inside.len() < trimmed.len() && inside.ends_with(['"', '\'']) && inside.trim_start().len() > 1
}

fn note_outside(ledger: &mut Ledger, outside: &str) {
    let mut fence = outside.contains("```");
    let mut closer = false;
    let mut other = false;
    for word in outside.split_whitespace() {
        let word = word.trim_matches('`');
        if word.is_empty() || (fence && word == "json") {
            fence |= word.is_empty();
        } else if word.bytes().all(|byte| matches!(byte, b'}' | b']' | b')' | b';' | b',' | b'"')) {
            closer |= word.bytes().any(|byte| matches!(byte, b'}' | b']'));
            other |= !word.bytes().any(|byte| matches!(byte, b'}' | b']'));
        } else {
            other = true;
        }
    }
    for (found, kind) in [(fence, Kind::CodeFence), (closer, Kind::ExtraCloser), (other, Kind::SurroundingText)] {
        if found {
            ledger.add_once(kind);
        }
    }
}
