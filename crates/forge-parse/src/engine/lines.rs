//! A line with the name, a line with the input: `Action: NAME`, `Action Input: {…}`.

use super::braced::keyless;
use super::{Attempt, Place, resolved, truncated};
use crate::extent::{Extent, object_extent};
use crate::{Dialect, End, Fault, Resolution};

const DIALECT: Dialect = Dialect::named("react");
const THOUGHT: &str = "Thought:";
const ACTION: &str = "Action:";
const INPUT: &str = "Action Input:";
const ANSWER: &str = "Final Answer:";
/// What the model may make up behind a call.
const AFTER: &[&str] = &["Observation:", THOUGHT, ACTION, ANSWER, "Question:"];

/// What the lines at the start of a text are.
#[derive(Debug)]
pub(crate) enum Lines {
    More,
    Nothing,
    /// A thought of so many bytes and the label of the answer that follows it.
    Answer {
        thought: usize,
        label: usize,
    },
    /// A thought of so many bytes, then a call of so many; what follows may be made up.
    Call {
        thought: usize,
        len: usize,
        attempt: Attempt,
    },
}

/// Whether the text begins with one of the labels, or may become one.
pub(crate) fn may_begin(text: &str, more: bool) -> bool {
    [THOUGHT, ACTION].iter().any(|label| text.starts_with(label) || (more && label.starts_with(text)))
}

/// Reads the lines at the start of the text. A thought counts only where an action or an answer follows it.
pub(crate) fn read(text: &str, place: &Place<'_>, whole_message: bool) -> Lines {
    if text.starts_with(ACTION) {
        return action(text, place, false);
    }
    if !whole_message || !text.starts_with(THOUGHT) {
        let begun = place.more() && may_begin(text, true) && text.len() < THOUGHT.len();
        return if begun { Lines::More } else { Lines::Nothing };
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(ACTION) {
            return match action(text.get(at..).unwrap_or_default(), place, true) {
                Lines::Call { len, attempt, .. } => Lines::Call { thought: at, len, attempt },
                Lines::More => Lines::More,
                Lines::Nothing | Lines::Answer { .. } => Lines::Nothing,
            };
        }
        if line.starts_with(ANSWER) {
            return Lines::Answer { thought: at, label: ANSWER.len() };
        }
        at += line.len();
    }
    if place.more() { Lines::More } else { Lines::Nothing }
}

fn call(len: usize, attempt: Attempt) -> Lines {
    Lines::Call { thought: 0, len, attempt }
}

/// Reads an action line and its input. Behind a thought a word that is no offered tool is a fault; by itself the line
/// may be anything.
fn action(text: &str, place: &Place<'_>, after_thought: bool) -> Lines {
    let rest = text.get(ACTION.len()..).unwrap_or_default();
    let Some(end) = rest.find('\n') else {
        if place.more() {
            return Lines::More;
        }
        return named(rest, text, text.len(), place, after_thought);
    };
    let name = rest.get(..end).unwrap_or_default();
    let behind = rest.get(end..).unwrap_or_default().trim_start();
    let at = text.len() - behind.len();
    if place.more() && INPUT.starts_with(behind) {
        return Lines::More;
    }
    if !behind.starts_with(INPUT) {
        return named(name, text, ACTION.len() + end, place, after_thought);
    }
    let name = bare_name(name);
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Lines::Nothing;
    }
    let behind = behind.get(INPUT.len()..).unwrap_or_default();
    input(name, text, at + INPUT.len(), behind, place)
}

fn bare_name(line: &str) -> &str {
    line.trim().trim_matches(['`', '"', '\'', '*', '[', ']']).trim_end_matches("()")
}

/// An action line without input.
fn named(line: &str, text: &str, len: usize, place: &Place<'_>, after_thought: bool) -> Lines {
    let name = bare_name(line);
    if resolved(place.toolset, name).is_some() {
        let attempt = if len == text.len() && place.end() == End::Cut {
            Err(truncated(place.toolset, Some(name), text))
        } else {
            place.toolset.read_call(name, "{}", DIALECT, End::Complete)
        };
        return call(len, attempt);
    }
    let none = ["none", "n/a", "no action", "no tool"];
    let first = name.to_lowercase();
    if after_thought && none.iter().any(|word| first.starts_with(word)) {
        let problem = "the action is to call no tool: the answer belongs in plain text".to_owned();
        return call(len, Err(Fault::Unreadable { problem, raw: line.to_owned() }));
    }
    match place.toolset.resolve(name) {
        Resolution::Unknown { nearest } if after_thought && !name.is_empty() && !name.contains(' ') => {
            call(len, Err(Fault::UnknownTool { name: name.to_owned(), nearest }))
        }
        Resolution::Unknown { .. } | Resolution::Exact(_) | Resolution::Normalised(..) => Lines::Nothing,
    }
}

/// The input: an object, or text up to what the model may make up behind it.
fn input(name: &str, text: &str, at: usize, behind: &str, place: &Place<'_>) -> Lines {
    let body = behind.trim_start_matches(|c: char| c.is_whitespace() || c == '`');
    let body = body.strip_prefix("json").filter(|_| behind.trim_start().starts_with('`')).unwrap_or(body).trim_start();
    if body.is_empty() && place.more() {
        return Lines::More;
    }
    if body.starts_with('{') {
        let start = text.len() - body.len();
        let (len, end) = match object_extent(body, place.more()) {
            Extent::More => return Lines::More,
            Extent::Strict(len) | Extent::Sloppy(len) => (len, End::Complete),
            Extent::Unfinished { len, closed } => (len, if closed { End::Complete } else { place.end() }),
        };
        let arguments = body.get(..len).unwrap_or(body);
        let Some(closed) = closing_fence(behind, body.get(len..).unwrap_or_default(), place.more()) else {
            return Lines::More;
        };
        return call(start + len + closed, place.toolset.read_call(name, arguments, DIALECT, end));
    }
    let length = match end_of_text(behind, place.more()) {
        Some(length) => length,
        None => return Lines::More,
    };
    let value = behind.get(..length).unwrap_or(behind).trim();
    if at + length == text.len() && place.end() == End::Cut {
        return call(text.len(), Err(truncated(place.toolset, Some(name), text)));
    }
    let value = serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned());
    let attempt = if value.is_empty() {
        place.toolset.read_call(name, "{}", DIALECT, End::Complete)
    } else {
        keyless(name, &value, &DIALECT, place)
    };
    call(at + length, attempt)
}

/// The length of the fence that closes an input which a fence opened. None while it may still come.
fn closing_fence(opened: &str, behind: &str, more: bool) -> Option<usize> {
    if !opened.trim_start().starts_with('`') {
        return Some(0);
    }
    let fence = behind.trim_start();
    let run = fence.bytes().take_while(|byte| *byte == b'`').count();
    if more && run == fence.len() {
        return None;
    }
    Some(if run == 0 { 0 } else { behind.len() - fence.len() + run })
}

/// Where a text ends: before a line that begins anew, or with the whole. None while such a line may come.
fn end_of_text(text: &str, more: bool) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > 0 && AFTER.iter().any(|label| line.starts_with(label)) {
            return Some(at);
        }
        at += line.len();
    }
    (!more).then_some(text.len())
}

/// Whether what follows a call was made up by the model. None if it can't be told yet.
pub(crate) fn made_up(text: &str, more: bool) -> Option<bool> {
    let rest = text.trim_start();
    let label = "Observation:";
    if more && label.starts_with(rest) {
        return None;
    }
    Some(rest.starts_with(label))
}
