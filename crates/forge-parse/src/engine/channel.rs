//! Messages with a header that names channel and recipient, with their tokens or with the tokens stripped.

use super::{Attempt, Item, Place, named, nameless, up_to_marker};
use crate::call_object::{CallObject, read_object};
use crate::dialect::Engine;
use crate::extent::{Extent, object_extent};
use crate::{Dialect, End};

/// What a message's header leads to.
#[derive(Debug)]
pub(crate) enum Message {
    More,
    /// No header.
    Nothing,
    /// After so many bytes, thinking.
    Thinking(usize),
    /// After so many bytes, text for the reader, or markup of its own.
    Text(usize),
    /// Calls of so many bytes.
    Call(usize, Vec<Attempt>),
}

/// Longer headers are none.
const MAX_HEADER: usize = 400;
const BODIES: &[&str] = &["<|message|>", "<|content|>"];

/// Reads the header at the start of the text and, for a call, its body.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Message {
    let head = text.get(..text.floor_char_boundary(MAX_HEADER)).unwrap_or(text);
    let body = BODIES.iter().filter_map(|body| Some((head.find(body)?, body.len()))).min();
    let Some((end, mark)) = body else {
        return if place.more() && text.len() < MAX_HEADER { Message::More } else { Message::Nothing };
    };
    let header = head.get(..end).unwrap_or_default();
    if header.contains("<|end|>") || header.contains("<|call|>") {
        return Message::Nothing;
    }
    let start = end + mark;
    if let Some(name) = recipient(header) {
        return call(name, text, start, place);
    }
    match channel(header) {
        Some("analysis") => Message::Thinking(start),
        Some("commentary") => preamble(text, start, place),
        Some(_) | None => Message::Text(start),
    }
}

fn channel(header: &str) -> Option<&str> {
    let (_, behind) = header.split_once("<|channel|>")?;
    behind.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next()
}

fn recipient(header: &str) -> Option<&str> {
    let behind = header.split_once("to=").map(|(_, behind)| behind);
    let behind = behind.or_else(|| header.split_once("<|recipient|>").map(|(_, behind)| behind.trim_start()))?;
    let length = named::name_length(behind);
    behind.get(..length).filter(|name| !matches!(*name, "" | "all" | "user" | "assistant"))
}

fn call(name: &str, text: &str, start: usize, place: &Place<'_>) -> Message {
    let body = text.get(start..).unwrap_or_default().trim_start();
    let at = text.len() - body.len();
    if body.is_empty() && place.more() {
        return Message::More;
    }
    if body.starts_with(['{', '"']) {
        let dialect_place = Place { row: None, ..*place };
        return match named::arguments(name, text, at, &dialect_place) {
            Item::More => Message::More,
            Item::Read(len, attempts) => Message::Call(len, attempts.into_iter().map(as_harmony).collect()),
            Item::Nothing => Message::Nothing,
        };
    }
    if body.starts_with('<') {
        return Message::Text(at);
    }
    let Some(raw) = up_to_marker(body, place) else { return Message::More };
    let dialect = place.dialect(Engine::Channel, "harmony");
    let arguments = if raw.trim().is_empty() { "{}" } else { raw };
    Message::Call(at + raw.len(), vec![place.toolset.read_call(name, arguments, dialect, place.end())])
}

fn as_harmony(attempt: Attempt) -> Attempt {
    attempt.map(|mut call| {
        call.dialect = Dialect::named("harmony");
        call
    })
}

/// The commentary channel without a recipient is text for the reader, unless it holds arguments for nobody.
fn preamble(text: &str, start: usize, place: &Place<'_>) -> Message {
    let body = text.get(start..).unwrap_or_default().trim_start();
    let at = text.len() - body.len();
    if body.is_empty() && place.more() {
        return Message::More;
    }
    if !body.starts_with('{') {
        return Message::Text(start);
    }
    let len = match object_extent(body, place.more()) {
        Extent::More => return Message::More,
        Extent::Strict(len) | Extent::Sloppy(len) | Extent::Unfinished { len, .. } => len,
    };
    let object = body.get(..len).unwrap_or(body);
    if matches!(read_object(object, place.toolset), Ok((CallObject::Call(ref call), _)) if call.arguments.is_some()) {
        return Message::Call(at + len, super::json::attempts(object, End::Complete, place));
    }
    let fault = nameless(place.toolset, "the message has arguments and no recipient", object);
    Message::Call(at + len, vec![Err(fault)])
}

const ROLE: &str = "assistant";
const ANALYSIS: &str = "analysis";
const COMMENTARY: &str = "commentary to=";
const FINAL: &str = "final";

/// Reads a header whose tokens were stripped, at the start of the message or, with its role, behind thinking.
pub(crate) fn stripped(text: &str, place: &Place<'_>, behind_thinking: bool) -> Message {
    let channel = text.strip_prefix(ROLE).unwrap_or(text);
    let role = text.len() - channel.len();
    if place.more() && [ROLE, ANALYSIS, COMMENTARY].iter().any(|word| word.starts_with(text)) {
        return Message::More;
    }
    if behind_thinking && role == 0 {
        return Message::Nothing;
    }
    if role > 0 && place.more() && [ANALYSIS, COMMENTARY, FINAL].iter().any(|word| word.starts_with(channel)) {
        return Message::More;
    }
    if channel.starts_with(COMMENTARY) {
        return stripped_call(text, role + COMMENTARY.len(), place);
    }
    if role > 0 && channel.starts_with(FINAL) {
        return Message::Text(role + FINAL.len());
    }
    let Some(behind) = channel.strip_prefix(ANALYSIS) else { return Message::Nothing };
    match behind.chars().next() {
        None if place.more() => Message::More,
        // Glued to the message: as a word of a sentence a blank would follow.
        Some(c) if c.is_uppercase() || matches!(c, '"' | '\n') || (c.is_alphabetic() && !c.is_ascii()) => {
            Message::Thinking(role + ANALYSIS.len())
        }
        Some(_) if role > 0 => Message::Thinking(role + ANALYSIS.len()),
        Some(_) | None => Message::Nothing,
    }
}

fn stripped_call(text: &str, at: usize, place: &Place<'_>) -> Message {
    let rest = text.get(at..).unwrap_or_default();
    let length = named::name_length(rest);
    let (name, behind) = (rest.get(..length).unwrap_or_default(), rest.get(length..).unwrap_or_default());
    let body = behind.trim_start();
    let body = ["json", "code"].iter().find_map(|kind| body.strip_prefix(kind)).unwrap_or(body).trim_start();
    let undecided = body.is_empty() || "json".starts_with(body) || "code".starts_with(body);
    if undecided && place.more() {
        return Message::More;
    }
    if name.is_empty() || !body.starts_with('{') {
        return Message::Nothing;
    }
    match named::arguments(name, text, text.len() - body.len(), &Place { row: None, ..*place }) {
        Item::More => Message::More,
        Item::Read(len, attempts) => Message::Call(len, attempts.into_iter().map(as_harmony).collect()),
        Item::Nothing => Message::Nothing,
    }
}
