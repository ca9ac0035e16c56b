//! The order of roles that chat templates insist on.

use serde_json::{Map, Value, json};

use super::{Entry, HistoryChange, HistoryChangeKind, calls, role, text_of};
use crate::chat::shape::Turns;

/// What stands in the user's place before a conversation that begins with the model's turn.
const OPENING: &str = "(The conversation before this is left out.)";

pub(super) fn arrange(entries: Vec<Entry>, turns: Turns, changes: &mut Vec<HistoryChange>) -> Vec<Entry> {
    match turns {
        Turns::AsWritten => entries,
        Turns::Alternating => alternating(one_system(entries, changes), changes),
        Turns::WithoutSystem => alternating(no_system(one_system(entries, changes), changes), changes),
    }
}

/// One message of the system at the start. What it says later becomes the user's, so that the start, and with it a
/// server's prompt cache, stays the same.
fn one_system(entries: Vec<Entry>, changes: &mut Vec<HistoryChange>) -> Vec<Entry> {
    let mut arranged: Vec<Entry> = Vec::with_capacity(entries.len());
    for mut entry in entries {
        if role(&entry.message) != "system" || arranged.is_empty() {
            arranged.push(entry);
            continue;
        }
        changes.push(entry.changed(HistoryChangeKind::SystemMoved));
        match arranged.as_mut_slice() {
            [head] if role(&head.message) == "system" => append(&mut head.message, &entry.message),
            _ => {
                entry.message.insert("role".to_owned(), "user".into());
                arranged.push(entry);
            }
        }
    }
    arranged
}

/// The system's text at the head of the user's first turn, for templates that know no system.
fn no_system(mut entries: Vec<Entry>, changes: &mut Vec<HistoryChange>) -> Vec<Entry> {
    if let Some(first) = entries.first_mut().filter(|entry| role(&entry.message) == "system") {
        first.message.insert("role".to_owned(), "user".into());
        changes.push(first.changed(HistoryChangeKind::SystemMoved));
    }
    entries
}

fn alternating(entries: Vec<Entry>, changes: &mut Vec<HistoryChange>) -> Vec<Entry> {
    let mut arranged: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        let spoken = role(&entry.message);
        let begins = arranged.last().is_none_or(|before| role(&before.message) == "system");
        if begins && matches!(spoken, "assistant" | "tool") {
            changes.push(entry.changed(HistoryChangeKind::OpeningAdded));
            arranged.push(Entry { at: entry.at, message: user(OPENING) });
        }
        match arranged.last_mut() {
            Some(before) if spoken != "tool" && spoken == role(&before.message) => {
                changes.push(entry.changed(HistoryChangeKind::TurnsMerged));
                append(&mut before.message, &entry.message);
            }
            _ => arranged.push(entry),
        }
    }
    arranged
}

fn user(text: &str) -> Map<String, Value> {
    Map::from_iter([("role".to_owned(), "user".into()), ("content".to_owned(), text.into())])
}

/// Adds the content and the calls of a message to those of the one before it.
fn append(before: &mut Map<String, Value>, message: &Map<String, Value>) {
    let given = before.get("content").unwrap_or(&Value::Null);
    let added = message.get("content").unwrap_or(&Value::Null);
    let content = match (given, added) {
        (Value::Array(_), _) | (_, Value::Array(_)) => Value::Array([parts(given), parts(added)].concat()),
        (given, added) => {
            let texts = [text_of(given), text_of(added)].into_iter().filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n\n").into()
        }
    };
    before.insert("content".to_owned(), content);
    if !calls(message).is_empty() {
        let all = [calls(before), calls(message)].concat();
        before.insert("tool_calls".to_owned(), all.into());
    }
}

fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.clone(),
        other => Some(text_of(other))
            .filter(|text| !text.is_empty())
            .map_or_else(Vec::new, |text| vec![json!({"type": "text", "text": text})]),
    }
}
