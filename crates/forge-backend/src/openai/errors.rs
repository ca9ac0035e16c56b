//! From what a server answers in the place of an answer to a [`BackendError`].

use std::time::Duration;

use serde_json::{Map, Value};

use super::overflow;
use crate::{BackendError, Secret};

/// The longest part of a server's words that is quoted, in characters.
const MAX_QUOTE: usize = 1_000;

/// The shortest key that is taken out of a server's words, in bytes. Shorter ones are placeholders for servers that need
/// none, such as `none` or `x`, and would take ordinary words apart.
const MIN_SECRET: usize = 8;

/// What errors are about.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// The server's address.
    pub(super) url: String,
    /// The model asked for; empty where it was left to the server.
    pub(super) model: String,
    /// Taken out of whatever the server says.
    pub(super) secret: Option<Secret>,
}

/// An answer that isn't a generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal<'a> {
    /// The HTTP status; 200 for an error in the body of a good answer or in a stream.
    pub(super) status: u16,
    /// When to come back, from the header.
    pub(super) retry_after: Option<Duration>,
    /// Where to go instead, from the header.
    pub(super) location: Option<&'a str>,
    /// The body.
    pub(super) body: &'a str,
}

impl<'a> Refusal<'a> {
    /// An error in the body of an answer with a good status.
    pub(super) fn in_body(body: &'a str) -> Self {
        Self { status: 200, retry_after: None, location: None, body }
    }
}

/// The error object of a body, in whichever of its forms.
#[derive(Debug, Default)]
pub(super) struct WireError {
    /// The server's words, whole.
    pub(super) message: String,
    /// The error's type or code word, such as `exceed_context_size_error`.
    pub(super) words: Vec<String>,
    /// The status in the body.
    pub(super) code: Option<u16>,
    /// llama.cpp's count of the prompt.
    pub(super) prompt_tokens: Option<u64>,
    /// llama.cpp's window.
    pub(super) window: Option<u64>,
}

impl Subject {
    /// What a refusal means.
    pub(super) fn error_of(&self, refusal: Refusal<'_>) -> BackendError {
        let body = self.scrubbed(refusal.body);
        let wire = WireError::read(&body);
        let status = if refusal.status >= 300 { refusal.status } else { wire.code.unwrap_or(500) };
        let message = quoted(&wire.message);
        if matches!(status, 401 | 403) {
            return BackendError::Credential { url: self.url.clone(), status };
        }
        if let Some(error) = overflow::read(&wire) {
            return error;
        }
        if let Some(text) = malformed_generation(&wire.message) {
            return BackendError::MalformedGeneration { text, message };
        }
        if is_unknown_model(status, &wire) {
            return BackendError::UnknownModel { model: self.model.clone(), message };
        }
        let out_of_quota = wire.words.iter().any(|word| word == "insufficient_quota");
        if matches!(status, 408 | 425 | 429 | 502 | 503 | 504 | 529) && !out_of_quota {
            return BackendError::Overloaded { status, retry_after: refusal.retry_after, message };
        }
        if is_html(&body) {
            return self.protocol(format!("answered HTML (HTTP {}); is this the model server's URL?", refusal.status));
        }
        if let 300..400 = status {
            let to = refusal.location.unwrap_or("an unknown place");
            return self.protocol(format!("redirects to {to} (HTTP {status}); give that address instead"));
        }
        if matches!(status, 404 | 405 | 410) {
            return self
                .protocol(format!("has no chat completions (HTTP {status}): {message}; is the base URL right?"));
        }
        BackendError::Refused { status, message: with_advice(message) }
    }

    /// An answer that isn't what the protocol promises.
    pub(super) fn protocol(&self, problem: String) -> BackendError {
        BackendError::Protocol { url: self.url.clone(), problem }
    }

    /// What a failed exchange means.
    pub(super) fn transport_error(&self, error: &reqwest::Error) -> BackendError {
        let reason = root_cause(error);
        if error.is_connect() {
            let reason = if error.is_timeout() { "no connection in time".to_owned() } else { reason };
            return BackendError::Unreachable { url: self.url.clone(), reason };
        }
        if error.is_builder() {
            return BackendError::InvalidRequest { problem: reason };
        }
        BackendError::BrokenOff { reason }
    }

    fn scrubbed(&self, text: &str) -> String {
        match self.secret.as_ref().map(Secret::expose) {
            Some(secret) if secret.len() >= MIN_SECRET => text.replace(secret, "***"),
            Some(_) | None => text.to_owned(),
        }
    }
}

impl WireError {
    fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Object(object)) => Self::from_object(&object, body),
            Ok(Value::String(text)) => Self { message: text, ..Self::default() },
            Ok(_) | Err(_) => Self { message: body.trim().to_owned(), ..Self::default() },
        }
    }

    fn from_object(outer: &Map<String, Value>, body: &str) -> Self {
        let inner = match outer.get("error") {
            Some(Value::Object(inner)) => inner,
            Some(Value::String(text)) => return Self { message: text.clone(), ..Self::default() },
            // Some servers put the error's fields at the top.
            Some(_) | None => outer,
        };
        let message = ["message", "detail", "error"].iter().find_map(|&key| inner.get(key)).map(text_of);
        let number = |key: &str| inner.get(key).and_then(Value::as_u64);
        let words = ["type", "code"].iter().filter_map(|&key| inner.get(key)?.as_str()).map(str::to_owned).collect();
        Self {
            message: message.filter(|text| !text.is_empty()).unwrap_or_else(|| body.trim().to_owned()),
            words,
            code: status_in(inner.get("code")),
            prompt_tokens: number("n_prompt_tokens"),
            window: number("n_ctx"),
        }
    }
}

/// A code that can be a status, as a number or as digits.
fn status_in(code: Option<&Value>) -> Option<u16> {
    let number = match code? {
        Value::Number(number) => number.as_u64()?,
        Value::String(digits) => digits.parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether the server's words say that it could not read what the model wrote, and that text where it is quoted.
fn malformed_generation(message: &str) -> Option<Option<String>> {
    // llama.cpp: `Failed to parse input at pos 12: <text>`.
    if let Some((_, rest)) = message.split_once("Failed to parse input at pos ") {
        let text = rest.split_once(':').map(|(_, text)| text.trim_start().to_owned());
        return Some(text.filter(|text| !text.is_empty()));
    }
    // Ollama: `error parsing tool call: raw='<text>', err=<why>`.
    if let Some((_, rest)) = message.split_once("error parsing tool call") {
        let raw =
            rest.split_once("raw='").and_then(|(_, raw)| raw.rsplit_once("', err=")).map(|(raw, _)| raw.to_owned());
        return Some(raw.filter(|text| !text.is_empty()));
    }
    const WORDS: [&str; 5] = [
        "Failed to parse tool call arguments as JSON",
        "failed to parse JSON:",
        "does not match the expected",
        "HarmonyError",
        "Failed to parse tool call",
    ];
    WORDS.iter().any(|words| message.contains(words)).then_some(None)
}

fn is_unknown_model(status: u16, wire: &WireError) -> bool {
    if wire.words.iter().any(|word| word == "model_not_found") {
        return true;
    }
    let message = wire.message.to_lowercase();
    let says_so = ["not found", "does not exist", "not exist", "unknown model", "no such model", "invalid model"]
        .iter()
        .any(|words| message.contains(words));
    matches!(status, 400 | 404) && message.contains("model") && says_so && !is_html(&message)
}

/// Whether a text starts like a page for a browser.
pub(super) fn is_html(text: &str) -> bool {
    let start = text.trim_start().trim_start_matches('\u{feff}').trim_start();
    let start: String = start.chars().take(14).collect::<String>().to_lowercase();
    ["<!doctype html", "<html", "<head", "<body", "<h1", "<center"].iter().any(|tag| start.starts_with(tag))
}

/// Adds what to do about refusals whose words don't say it.
fn with_advice(message: String) -> String {
    let advice = if message.contains("--jinja") {
        "start llama-server with --jinja, which lets its chat template describe tools"
    } else if message.contains("does not support tools") {
        "choose a model whose chat template takes tools"
    } else {
        return message;
    };
    format!("{message}; {advice}")
}

/// The beginning of a server's words, in one line.
pub(super) fn quoted(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "it gave no reason".to_owned();
    }
    let mut quote: String =
        text.chars().take(MAX_QUOTE).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(MAX_QUOTE).is_some() {
        quote.push('…');
    }
    quote
}

/// The innermost reason of an error, which is the one a person can act on.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
