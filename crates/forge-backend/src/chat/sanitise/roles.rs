//! Only messages, and only roles of the protocol.

use serde_json::{Map, Value, json};

use super::{Entry, HistoryChange, HistoryChangeKind, role, text_of};

/// The messages with roles that every server knows.
pub(super) fn known(messages: Vec<Value>, changes: &mut Vec<HistoryChange>) -> Vec<Entry> {
    let entries = messages.into_iter().enumerate().map(|(at, message)| match message {
        Value::Object(message) => Entry { at, message },
        other => Entry { at, message: Map::from_iter([("content".to_owned(), text_of(&other).into())]) },
    });
    entries.map(|entry| with_known_role(entry, changes)).collect()
}

fn with_known_role(mut entry: Entry, changes: &mut Vec<HistoryChange>) -> Entry {
    modernise(&mut entry.message);
    let given = role(&entry.message);
    let to = match given {
        "system" | "user" | "assistant" | "tool" => return entry,
        "developer" => "system",
        "function" => "tool",
        "model" | "ai" | "bot" => "assistant",
        _ => "user",
    };
    let from = given.to_owned();
    entry.message.insert("role".to_owned(), to.into());
    changes.push(entry.changed(HistoryChangeKind::RoleRenamed { from, to }));
    entry
}

/// `function_call` was the form of `tool_calls` before there could be several.
fn modernise(message: &mut Map<String, Value>) {
    if role(message) != "assistant" || message.contains_key("tool_calls") {
        return;
    }
    if let Some(function @ Value::Object(_)) = message.remove("function_call") {
        message.insert("tool_calls".to_owned(), json!([{"type": "function", "function": function}]));
    }
}
