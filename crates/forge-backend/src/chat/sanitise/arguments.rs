//! Arguments of earlier calls: always a JSON object, in the notation the server takes.

use forge_parse::repair::repair_object;
use serde_json::{Map, Value};

use super::{Entry, HistoryChange, HistoryChangeKind};
use crate::chat::shape::ReplayedArguments;

/// The key that holds arguments that can't be read.
const UNREADABLE: &str = "unreadable_arguments";

pub(super) fn make_objects(entry: &mut Entry, form: ReplayedArguments, changes: &mut Vec<HistoryChange>) {
    let at = entry.at;
    let Some(Value::Array(calls)) = entry.message.get_mut("tool_calls") else { return };
    for call in calls {
        let call_id = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(Value::Object(function)) = call.get_mut("function") else { continue };
        let (value, change) = match (read(function.remove("arguments").unwrap_or(Value::Null)), form) {
            (Read::Text(text), ReplayedArguments::Text) => (Value::String(text), None),
            (Read::Object(object), ReplayedArguments::Object) => (Value::Object(object), None),
            (Read::Text(text), ReplayedArguments::Object) => (object_of(&text), Some(Kind::Rewritten)),
            (Read::Object(object), ReplayedArguments::Text) => {
                (Value::Object(object).to_string().into(), Some(Kind::Rewritten))
            }
            (Read::Repaired(text, kind), ReplayedArguments::Text) => (Value::String(text), Some(kind)),
            (Read::Repaired(text, kind), ReplayedArguments::Object) => (object_of(&text), Some(kind)),
        };
        function.insert("arguments".to_owned(), value);
        changes.extend(change.map(|kind| HistoryChange { message: at, kind: kind.of(call_id) }));
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Repaired,
    Wrapped,
    Rewritten,
}

impl Kind {
    fn of(self, call_id: String) -> HistoryChangeKind {
        match self {
            Self::Repaired => HistoryChangeKind::ArgumentsRepaired { call_id },
            Self::Wrapped => HistoryChangeKind::ArgumentsWrapped { call_id },
            Self::Rewritten => HistoryChangeKind::ArgumentsRewritten { call_id },
        }
    }
}

enum Read {
    /// The text of an object, as it was.
    Text(String),
    /// An object, as it was.
    Object(Map<String, Value>),
    /// The text of an object, as it wasn't.
    Repaired(String, Kind),
}

fn read(arguments: Value) -> Read {
    let text = match arguments {
        Value::Object(object) => return Read::Object(object),
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(_)) => Read::Text(text),
        Ok(Value::String(inner)) => match repair_object(&inner) {
            Ok(repaired) => Read::Repaired(repaired.json, Kind::Repaired),
            Err(_) => wrapped(text),
        },
        Ok(Value::Null) => Read::Repaired("{}".to_owned(), Kind::Repaired),
        Err(_) if text.trim().is_empty() => Read::Repaired("{}".to_owned(), Kind::Repaired),
        Ok(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => wrapped(text),
        Err(_) => match repair_object(&text) {
            Ok(repaired) => Read::Repaired(repaired.json, Kind::Repaired),
            Err(_) => wrapped(text),
        },
    }
}

fn wrapped(text: String) -> Read {
    let object = Value::Object(Map::from_iter([(UNREADABLE.to_owned(), text.into())]));
    Read::Repaired(object.to_string(), Kind::Wrapped)
}

fn object_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_error| Value::Object(Map::new()))
}
