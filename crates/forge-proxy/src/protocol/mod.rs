//! The client protocols: each decodes a request to a chat request and encodes the answer, whole or as a stream.

pub(crate) mod chat;
pub(crate) mod messages;
pub(crate) mod responses;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::error::ClientError;
use crate::offered::ToolShelf;
use crate::piece::{Answer, Piece};
use crate::turn::{Choice, Turn};

/// A client's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// OpenAI chat completions.
    Chat,
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
}

/// A request, and how its answer is written.
pub(crate) struct Request {
    pub(crate) turn: Turn,
    pub(crate) encoder: Box<dyn Encode>,
}

/// Writes one answer in a protocol's form.
pub(crate) trait Encode: Send + Sync {
    /// The whole answer as one JSON text.
    fn whole(&mut self, answer: Answer) -> Bytes;

    /// The next piece of a stream.
    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>);

    /// Something that means nothing, to break a silence.
    fn keep_alive(&mut self, out: &mut Vec<u8>);

    /// An error in the place of the rest of a stream.
    fn failure(&mut self, error: &ClientError, out: &mut Vec<u8>);
}

impl Protocol {
    /// Reads a request.
    ///
    /// # Errors
    /// When it can't be understood.
    pub(crate) fn decode(self, body: Bytes, shelf: &ToolShelf) -> Result<Request, ClientError> {
        match self {
            Self::Chat => chat::decode(body, shelf),
            Self::Messages => messages::decode(&body, shelf),
            Self::Responses => responses::decode(&body, shelf),
        }
    }

    /// The body of an error.
    pub(crate) fn error_body(self, error: &ClientError) -> Value {
        match self {
            Self::Chat | Self::Responses => chat::error_body(error),
            Self::Messages => messages::error_body(error),
        }
    }
}

/// Appends one event of a stream.
fn write_event(name: Option<&str>, data: &Value, out: &mut Vec<u8>) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    // Writing to memory fails for nothing that is JSON already.
    let _written = serde_json::to_writer(&mut *out, data);
    out.extend_from_slice(b"\n\n");
}

fn to_bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Sets a field of an object.
fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(object) = object {
        object.insert(key.to_owned(), value.into());
    }
}

/// A field of an object; null where it isn't there.
fn field(object: &Value, key: &str) -> Value {
    object.get(key).cloned().unwrap_or_default()
}

/// A boolean field; absent and null are false.
///
/// # Errors
/// When it is something else.
fn flag(fields: &Map<String, Value>, key: &str) -> Result<bool, ClientError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(ClientError::invalid(format!("`{key}` must be true or false, not {}", in_brief(other)))),
    }
}

/// A field that has to be an array.
///
/// # Errors
/// When it is missing, something else, or empty.
fn entries<'a>(fields: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut Vec<Value>, ClientError> {
    let problem = match fields.get(key) {
        Some(Value::Array(entries)) if !entries.is_empty() => String::new(),
        Some(Value::Array(_)) => format!("`{key}` is empty; at least one entry is needed"),
        Some(other) => format!("`{key}` must be an array, not {}", in_brief(other)),
        None => format!("`{key}` is missing; give the conversation as an array"),
    };
    match fields.get_mut(key) {
        Some(Value::Array(entries)) if problem.is_empty() => Ok(entries),
        _ => Err(ClientError::invalid(problem)),
    }
}

/// A value as an error quotes it.
fn in_brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// A choice as `tool_choice` of a chat request; none where it is what happens anyway.
fn chat_choice(choice: &Choice) -> Option<Value> {
    match choice {
        Choice::Auto => None,
        Choice::None => Some("none".into()),
        Choice::Required => Some("required".into()),
        Choice::Forced(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}
