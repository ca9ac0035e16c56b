//! OpenAI chat completions.

mod decode;
mod encode;
mod naive;

use serde_json::{Value, json};

use crate::error::{ClientError, ErrorKind};

pub(crate) use decode::decode;
pub(crate) use naive::{Naive, Whole};

/// The error object, in the words clients of OpenAI's protocols know.
pub(crate) fn error_body(error: &ClientError) -> Value {
    let (kind, code) = match error.kind {
        ErrorKind::InvalidRequest => ("invalid_request_error", None),
        ErrorKind::TooLarge => ("invalid_request_error", Some("request_too_large")),
        ErrorKind::Overflow { .. } => ("invalid_request_error", Some("context_length_exceeded")),
        ErrorKind::Authentication => ("authentication_error", Some("invalid_api_key")),
        ErrorKind::Permission => ("permission_error", None),
        ErrorKind::UnknownModel => ("invalid_request_error", Some("model_not_found")),
        ErrorKind::NotFound => ("invalid_request_error", Some("not_found")),
        ErrorKind::Overloaded => ("server_error", Some("overloaded")),
        ErrorKind::Timeout => ("server_error", Some("timeout")),
        ErrorKind::Backend => ("server_error", Some("bad_gateway")),
    };
    json!({"error": {"message": message(error), "type": kind, "param": null, "code": code}})
}

/// Clients look for these words to know that they have to shorten the conversation.
fn message(error: &ClientError) -> String {
    let ErrorKind::Overflow { prompt, window } = error.kind else { return error.message.clone() };
    let window = window.map_or_else(|| "exceeded".to_owned(), |window| format!("{window} tokens"));
    let prompt = prompt.map_or_else(
        || "Your messages don't fit it".to_owned(),
        |prompt| format!("However, your messages resulted in {prompt} tokens"),
    );
    let said = error.message.trim_end_matches('.');
    format!(
        "This model's maximum context length is {window}. {prompt}. Please reduce the length of the messages. (The model server: \
         {said}.)"
    )
}
