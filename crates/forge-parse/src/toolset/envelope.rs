//! Arguments that a model wrapped once more: `{"arguments": {…}}`, or the whole call, where only its arguments belong.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Resolution, Toolset};
use crate::ToolName;
use crate::call_object::{ARGUMENT_KEYS, NAME_KEYS};
use crate::schema::CompiledSchema;

/// The key of the arguments inside an envelope, where it can be nothing else: it has no other keys, the tool knows
/// none of its keys, and the tool knows all keys inside.
pub(super) fn argument_key(
    toolset: &Toolset,
    tool: &ToolName,
    schema: &CompiledSchema,
    object: &Value,
) -> Option<&'static str> {
    let members = object.as_object().filter(|members| members.len() <= 2)?;
    if members.keys().any(|key| schema.names_key(key)) {
        return None;
    }
    let arguments = *ARGUMENT_KEYS.iter().find(|key| members.get(**key).is_some_and(Value::is_object))?;
    let inner = members.get(arguments).and_then(Value::as_object)?;
    let named = match members.keys().find(|key| *key != arguments) {
        Some(key) => NAME_KEYS.contains(&key.as_str()) && means(toolset, tool, members, key),
        None => !inner.is_empty(),
    };
    (named && inner.keys().all(|key| schema.names_key(key))).then_some(arguments)
}

fn means(toolset: &Toolset, tool: &ToolName, members: &Map<String, Value>, key: &str) -> bool {
    match members.get(key).and_then(Value::as_str).map(|name| toolset.resolve(name)) {
        Some(Resolution::Exact(name) | Resolution::Normalised(name, _)) => name == *tool,
        Some(Resolution::Unknown { .. }) | None => false,
    }
}

/// One member of an object, as it is written.
pub(super) fn member(json: &str, key: &str) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    members.get(key).map(|value| value.get().to_owned())
}
