//! Content in a form the server takes.

use serde_json::Value;

use super::{Entry, HistoryChange, HistoryChangeKind, REASONING_KEYS, calls, role, text_of};
use crate::chat::shape::ContentForm;

/// The messages with content of a known form, and without those that have nothing in them.
pub(super) fn known(entries: Vec<Entry>, form: ContentForm, changes: &mut Vec<HistoryChange>) -> Vec<Entry> {
    entries.into_iter().filter_map(|entry| with_content(entry, form, changes)).collect()
}

fn with_content(mut entry: Entry, form: ContentForm, changes: &mut Vec<HistoryChange>) -> Option<Entry> {
    let speaks = role(&entry.message) == "assistant";
    let acts = !calls(&entry.message).is_empty();
    let thinks = REASONING_KEYS.iter().any(|key| entry.message.contains_key(*key));
    if speaks && !acts && !thinks && is_empty(entry.message.get("content")) {
        changes.push(entry.changed(HistoryChangeKind::EmptyLeftOut));
        return None;
    }
    let content = entry.message.get("content").unwrap_or(&Value::Null);
    let flat = match (content, form) {
        // Nothing beside a call is what the protocol says.
        (Value::Null, _) if acts => return Some(entry),
        (Value::String(_), _) | (Value::Array(_), ContentForm::Parts) => None,
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Array(_), _) => {
            Some(text_of(content))
        }
    };
    if let Some(text) = flat {
        entry.message.insert("content".to_owned(), text.into());
        changes.push(entry.changed(HistoryChangeKind::ContentFlattened));
    }
    Some(entry)
}

fn is_empty(content: Option<&Value>) -> bool {
    match content {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(parts)) => parts.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
    }
}
