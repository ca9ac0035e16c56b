//! What a JSON object says about a call: which key holds the name, which the arguments.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::Repair;
use crate::repair::{RepairError, repair_object};

/// What a JSON object turned out to be.
#[derive(Debug)]
pub(crate) enum CallObject {
    /// One call.
    Call(NamedCall),
    /// An envelope around several, none of which is read yet: each element's text.
    Envelope(Vec<String>),
    /// A valid object that is no call.
    Other,
}

/// A name and argument text as one object holds them.
#[derive(Debug)]
pub(crate) struct NamedCall {
    /// The name as written.
    pub(crate) name: String,
    /// The arguments as JSON text; none if the object has no key for them.
    pub(crate) arguments: Option<String>,
    /// Repairs of the outer object.
    pub(crate) repairs: Vec<Repair>,
    /// The keys beside name and arguments.
    pub(crate) others: Vec<String>,
}

const NAME_KEYS: &[&str] = &["name", "tool_name", "function_name", "tool", "function", "action", "recipient_name"];
const ARGUMENT_KEYS: &[&str] =
    &["arguments", "args", "parameters", "input", "params", "tool_input", "action_input", "kwargs", "tool_arguments"];
const ENVELOPE_KEYS: &[&str] = &["tool_calls", "function_calls", "tool_call", "function_call", "calls"];

/// Reads an object's text, repairing it where it isn't valid.
///
/// # Errors
/// When it can't be read as one object.
pub(crate) fn read_object(text: &str) -> Result<(CallObject, bool), RepairError> {
    if let Some(found) = interpret(text, Vec::new()) {
        return Ok((found, false));
    }
    let repaired = repair_object(undoubled(text))?;
    let found = interpret(&repaired.json, repaired.repairs).unwrap_or(CallObject::Other);
    Ok((found, repaired.unclosed))
}

/// The text within doubled outer braces, which templates that escape braces teach: `{{"name": …}}`.
fn undoubled(text: &str) -> &str {
    let inner = text.strip_prefix('{').map(str::trim_start).filter(|inner| inner.starts_with('{'));
    match inner {
        Some(inner) => inner.strip_suffix('}').filter(|inner| inner.trim_end().ends_with('}')).unwrap_or(inner),
        None => text,
    }
}

/// None if the text isn't a valid object.
fn interpret(text: &str, repairs: Vec<Repair>) -> Option<CallObject> {
    let mut fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    for key in ENVELOPE_KEYS {
        if let Some(value) = fields.get(*key) {
            if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
                return Some(CallObject::Envelope(items.iter().map(|item| item.get().to_owned()).collect()));
            }
            if value.get().starts_with('{') {
                return Some(CallObject::Envelope(vec![value.get().to_owned()]));
            }
        }
    }
    if let Some(nested) = fields.get("function").filter(|value| value.get().starts_with('{')) {
        return interpret(nested.get(), repairs);
    }
    let Some((key, name)) = NAME_KEYS.iter().find_map(|key| Some((*key, text_of(fields.get(*key)?)?))) else {
        return Some(CallObject::Other);
    };
    fields.remove(key);
    let arguments = ARGUMENT_KEYS.iter().find_map(|key| Some((*key, fields.remove(*key)?.get().to_owned())));
    let prefix = arguments.as_ref().map_or("", |(key, _)| key);
    let repairs = repairs.into_iter().map(|repair| within(repair, prefix)).collect();
    Some(CallObject::Call(NamedCall {
        name,
        arguments: arguments.map(|(_, text)| if text == "null" { "{}".to_owned() } else { text }),
        repairs,
        others: fields.into_keys().collect(),
    }))
}

fn text_of(value: &RawValue) -> Option<String> {
    serde_json::from_str::<String>(value.get()).ok()
}

/// A repair of the outer object as seen from the arguments.
fn within(mut repair: Repair, key: &str) -> Repair {
    let inner = repair.path.strip_prefix('/').and_then(|path| path.strip_prefix(key));
    if let Some(inner) = inner.filter(|inner| !key.is_empty() && (inner.is_empty() || inner.starts_with('/'))) {
        repair.path = inner.to_owned();
    }
    repair
}

/// The name in an object that ends too early, if the name itself is complete.
pub(crate) fn name_in_part(text: &str) -> Option<String> {
    let mut rest = text;
    for _ in 0..8 {
        let key = NAME_KEYS.iter().filter_map(|key| Some((find_key(rest, key)?, key))).min()?;
        let (at, key) = key;
        rest = rest.get(at + key.len() + 2..)?;
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start)?;
        if let Some(Ok(name)) = serde_json::Deserializer::from_str(value).into_iter::<String>().next() {
            return Some(name);
        }
    }
    None
}

fn find_key(text: &str, key: &str) -> Option<usize> {
    let head = text.get(..text.floor_char_boundary(2048)).unwrap_or(text);
    head.match_indices(key).map(|(at, _)| at).find_map(|at| {
        let start = at.checked_sub(1)?;
        let quoted = head.get(start..)?.strip_prefix('"')?.strip_prefix(key)?;
        quoted.starts_with('"').then_some(start)
    })
}
