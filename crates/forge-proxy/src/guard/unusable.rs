//! Generations the backend could not read itself and reports as an error.

use forge_core::{Fault, FinishReason, Response, Toolset};
use forge_parse::{Attempt, CallSource, Parsed, ParserOptions, RawResponse, read_response};
use std::sync::Arc;

use super::reading::Read;

/// Words of JSON parsers about a text that ended too early.
const CUT: [&str; 4] = ["missing closing quote", "unexpected end", "unterminated", "EOF while parsing"];

/// What a generation amounts to that the backend reported as an error: what it quotes is read like any other text; where it
/// quotes nothing, the fault is all there is.
pub(crate) fn unusable(toolset: &Arc<Toolset>, options: &ParserOptions, text: Option<String>, message: &str) -> Read {
    let response = Response { text: text.unwrap_or_default(), finish: FinishReason::Stop, ..Response::default() };
    let raw = RawResponse { text: &response.text, ..RawResponse::default() };
    let mut parsed = match response.text.trim().is_empty() {
        true => Parsed::default(),
        false => read_response(toolset, options, &raw),
    };
    if parsed.attempts.is_empty() {
        parsed = Parsed { attempts: vec![Attempt { source: CallSource::Text, result: Err(fault(message)) }], ..parsed };
        // It was no answer for the reader, or the backend would have given it as one.
        parsed.text.clear();
    }
    Read { response, parsed }
}

fn fault(message: &str) -> Fault {
    if CUT.iter().any(|words| message.contains(words)) {
        return Fault::Truncated { tool: None, raw: String::new() };
    }
    Fault::Unreadable { problem: "its arguments must be one JSON object".to_owned(), raw: String::new() }
}
