//! What a JSON object says about a call: which key holds the name, which the arguments.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::repair::{RepairError, repair_object_knowing, repeated_key};
use crate::{Repair, Toolset};

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

/// Keys of a tool's name.
pub(crate) const NAME_KEYS: &[&str] =
    &["name", "tool_name", "function_name", "tool", "function", "action", "recipient_name"];
/// Keys of a call's arguments.
pub(crate) const ARGUMENT_KEYS: &[&str] =
    &["arguments", "args", "parameters", "input", "params", "tool_input", "action_input", "kwargs", "tool_arguments"];
/// Keys of calls in an object around them.
const ENVELOPE_KEYS: &[&str] = &["tool_calls", "function_calls", "tool_call", "function_call", "calls"];
/// Keys that may stand beside name and arguments in a call.
pub(crate) const OTHER_KEYS: &[&str] = &[
    "type",
    "id",
    "index",
    "call_id",
    "tool_call_id",
    "thought",
    "thoughts",
    "reasoning",
    "explanation",
    "role",
    "status",
];

/// Reads an object's text, repairing it where it isn't valid.
///
/// # Errors
/// When it can't be read as one object, and when it is a call with a key that is there twice with different values:
/// readers disagree about which of them counts.
pub(crate) fn read_object(text: &str, toolset: &Toolset) -> Result<(CallObject, bool), RepairError> {
    let (json, found, unclosed) = match interpret(text, Vec::new()) {
        Some(found) => (Cow::Borrowed(text), found, false),
        None => {
            let known = |depth: usize, key: &str| knows_key(toolset, depth, key);
            let repaired = repair_object_knowing(undoubled(text), Some(&known))?;
            let found = interpret(&repaired.json, repaired.repairs).unwrap_or(CallObject::Other);
            (Cow::Owned(repaired.json), found, repaired.unclosed)
        }
    };
    match repeated_key(&json).filter(|_| matches!(found, CallObject::Call(_))) {
        Some(key) => Err(RepairError::Unreadable { offset: 0, problem: twice(key) }),
        None => Ok((found, unclosed)),
    }
}

/// What is wrong with an object that has a key twice.
pub(crate) fn twice(key: &str) -> String {
    format!("the key \"{key}\" is there twice with different values")
}

/// Whether a key is meant as one: those of a call outside, those of the tools in its arguments.
fn knows_key(toolset: &Toolset, depth: usize, key: &str) -> bool {
    match depth {
        0 | 1 => [NAME_KEYS, ARGUMENT_KEYS, ENVELOPE_KEYS, OTHER_KEYS].iter().any(|keys| keys.contains(&key)),
        2 => toolset.names_key(key) || [NAME_KEYS, ARGUMENT_KEYS].iter().any(|keys| keys.contains(&key)),
        _ => true,
    }
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
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
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
    match fields.get("function").filter(|value| value.get().starts_with('{')) {
        Some(nested) => Some(call_of(serde_json::from_str(nested.get()).ok()?, repairs)),
        None => Some(call_of(fields, repairs)),
    }
}

/// The call that an object with these fields is.
fn call_of(mut fields: BTreeMap<String, &RawValue>, repairs: Vec<Repair>) -> CallObject {
    let Some((key, name)) = NAME_KEYS.iter().find_map(|key| Some((*key, text_of(fields.get(*key)?)?))) else {
        return CallObject::Other;
    };
    fields.remove(key);
    let arguments = ARGUMENT_KEYS.iter().find_map(|key| Some((*key, fields.remove(*key)?.get().to_owned())));
    let prefix = arguments.as_ref().map_or("", |(key, _)| key);
    let repairs = repairs.into_iter().map(|repair| within(repair, prefix)).collect();
    CallObject::Call(NamedCall {
        name,
        arguments: arguments.map(|(_, text)| if text == "null" { "{}".to_owned() } else { text }),
        repairs,
        others: fields.into_keys().collect(),
    })
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
