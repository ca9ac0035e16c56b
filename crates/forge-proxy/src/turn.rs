//! One request, in the form every protocol is brought into.

use std::sync::Arc;

use bytes::Bytes;
use forge_parse::asks_for_data;
use serde_json::{Map, Value};

use crate::offered::Offered;

/// What a client asks for.
#[derive(Debug)]
pub(crate) struct Turn {
    /// A chat-completions request without `tools`, whose place is kept by a null.
    pub(crate) body: Map<String, Value>,
    /// The client's own bytes, where they could go on as they are.
    pub(crate) as_sent: Option<Bytes>,
    /// The tools.
    pub(crate) offered: Arc<Offered>,
    /// Whether a call is due.
    pub(crate) choice: Choice,
    /// Whether the client wants a stream.
    pub(crate) streams: bool,
    /// The size of the request in bytes.
    pub(crate) size: usize,
}

/// What a client says about calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Text or calls.
    Auto,
    /// At least one call.
    Required,
    /// A call of one tool, by the backend's name.
    Forced(String),
    /// No call.
    None,
}

impl Turn {
    /// The conversation.
    pub(crate) fn messages(&self) -> &[Value] {
        self.body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the answer is to be JSON or another notation that could be taken for a call.
    pub(crate) fn data_requested(&self) -> bool {
        let format = self.body.get("response_format").and_then(|format| format.get("type")).and_then(Value::as_str);
        if matches!(format, Some("json_object" | "json_schema")) {
            return true;
        }
        let user = |message: &&Value| message.get("role").and_then(Value::as_str) == Some("user");
        let last = self.messages().iter().rfind(user);
        last.is_some_and(|message| match message.get("content") {
            Some(Value::String(text)) => asks_for_data(text),
            Some(Value::Array(parts)) => {
                parts.iter().any(|part| part.get("text").and_then(Value::as_str).is_some_and(asks_for_data))
            }
            _ => false,
        })
    }

    /// A low estimate of the prompt's length in tokens, from its size.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        // Prose has four to five bytes a token, code and JSON three.
        u64::try_from(self.size / 4).unwrap_or(u64::MAX)
    }
}
