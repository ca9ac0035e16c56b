//! Anthropic Messages.

mod content;
mod decode;
mod encode;

use serde_json::{Value, json};

use crate::error::{ClientError, ErrorKind};

pub(crate) use content::content_of;
pub(crate) use decode::decode;

/// The error object, in the words clients of Anthropic's protocol know.
pub(crate) fn error_body(error: &ClientError) -> Value {
    let kind = match error.kind {
        ErrorKind::InvalidRequest | ErrorKind::Overflow { .. } => "invalid_request_error",
        ErrorKind::TooLarge => "request_too_large",
        ErrorKind::Authentication => "authentication_error",
        ErrorKind::Permission => "permission_error",
        ErrorKind::UnknownModel | ErrorKind::NotFound => "not_found_error",
        ErrorKind::Overloaded => "overloaded_error",
        ErrorKind::Timeout => "timeout_error",
        ErrorKind::Backend => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message(error)}})
}

/// Clients look for these words to know that they have to shorten the conversation.
fn message(error: &ClientError) -> String {
    let ErrorKind::Overflow { prompt, window } = error.kind else { return error.message.clone() };
    let said = &error.message;
    match (prompt, window) {
        (Some(prompt), Some(window)) => format!("prompt is too long: {prompt} tokens > {window} maximum ({said})"),
        (_, _) => format!("prompt is too long ({said})"),
    }
}

/// An answer to the question how many tokens a request has, from its size.
pub(crate) fn estimated_count(body: &[u8]) -> Value {
    json!({"input_tokens": (body.len() / 4).max(1)})
}
