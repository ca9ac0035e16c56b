//! Makes a conversation safe to send: a poisoned history must not end a session.
//!
//! Clients and models leave behind what servers refuse before they generate anything: arguments that are no JSON, results
//! without calls, ids that occur twice. [`sanitise`] repairs it and says what it changed. It never drops a word the model
//! could use: what fits nowhere else becomes text.

mod arguments;
mod change;
mod content;
mod pairing;
mod roles;
mod turns;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub use self::change::{HistoryChange, HistoryChangeKind};

use super::shape::{HistoryShape, ReasoningReplay, Turns};

/// A conversation that can be sent, with what had to be changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sanitised {
    /// The messages, in the form of the chat-completions API.
    pub messages: Vec<Value>,
    /// What was changed, in the order of the conversation within each kind; empty where the messages are as they were.
    pub changes: Vec<HistoryChange>,
}

/// A message with its place in the conversation that was given.
struct Entry {
    at: usize,
    message: Map<String, Value>,
}

/// Makes the messages of a chat-completions request safe for a server of this shape.
///
/// - Every call has an id of its own, and exactly one result, right behind the turn that calls. A missing result is told as
///   missing; a result without its call becomes text.
/// - The arguments of every call are a JSON object. Broken ones are repaired; where that can't be done without guessing, the
///   object holds the text.
/// - Only the four roles of the protocol occur, and only content it knows.
/// - What [`HistoryShape`] asks for beyond.
pub fn sanitise(messages: Vec<Value>, shape: HistoryShape) -> Sanitised {
    let mut changes = Vec::new();
    let entries = roles::known(messages, &mut changes);
    let mut entries = pairing::pair(entries, &mut changes);
    for entry in &mut entries {
        arguments::make_objects(entry, shape.arguments, &mut changes);
    }
    replay_reasoning(&mut entries, shape.reasoning, &mut changes);
    let entries = content::known(entries, shape.content, &mut changes);
    let entries = turns::arrange(entries, shape.turns, &mut changes);
    Sanitised { messages: entries.into_iter().map(|entry| Value::Object(entry.message)).collect(), changes }
}

/// Whether a conversation can go to any server as it is, with the thinking that is in it.
pub(crate) fn is_sound(messages: &[Value]) -> bool {
    let shape = HistoryShape { reasoning: ReasoningReplay::Full, ..HistoryShape::default() };
    sanitise(messages.to_vec(), shape).changes.is_empty()
}

/// The messages, which are safe otherwise, in the order of roles that a chat template wants.
pub(super) fn arrange(messages: Vec<Value>, turns: Turns) -> Vec<Value> {
    let entries = roles::known(messages, &mut Vec::new());
    turns::arrange(entries, turns, &mut Vec::new()).into_iter().map(|entry| Value::Object(entry.message)).collect()
}

/// The keys under which servers deliver thinking, and under which clients send it back.
const REASONING_KEYS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

fn replay_reasoning(entries: &mut [Entry], replay: ReasoningReplay, changes: &mut Vec<HistoryChange>) {
    let thinks = |entry: &Entry| REASONING_KEYS.iter().any(|key| entry.message.contains_key(*key));
    let kept = match replay {
        ReasoningReplay::Full => return,
        ReasoningReplay::Last => entries.iter().rposition(|entry| role(&entry.message) == "assistant"),
        ReasoningReplay::None => None,
    };
    for (index, entry) in entries.iter_mut().enumerate() {
        if thinks(entry) && Some(index) != kept {
            entry.message.retain(|key, _| !REASONING_KEYS.contains(&key.as_str()));
            changes.push(entry.changed(HistoryChangeKind::ReasoningLeftOut));
        }
    }
}

impl Entry {
    fn changed(&self, kind: HistoryChangeKind) -> HistoryChange {
        HistoryChange { message: self.at, kind }
    }
}

fn role(message: &Map<String, Value>) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// The calls of a turn of the model.
fn calls(message: &Map<String, Value>) -> &[Value] {
    message.get("tool_calls").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A message's content as one text. What isn't text is named, so that nobody believes that the model has seen it.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of_part).collect::<Vec<_>>().join("\n\n"),
        other => other.to_string(),
    }
}

fn text_of_part(part: &Value) -> Cow<'_, str> {
    match part.as_str().or_else(|| part.get("text")?.as_str()) {
        Some(text) => text.into(),
        None => format!("[{} left out]", part.get("type").and_then(Value::as_str).unwrap_or("a part")).into(),
    }
}
