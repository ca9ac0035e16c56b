//! Recognising that a prompt doesn't fit, from the words of several servers.

use super::errors::{WireError, quoted};
use crate::BackendError;

/// Type or code words that say it by themselves: llama.cpp's and OpenAI's.
const CODES: [&str; 2] = ["exceed_context_size_error", "context_length_exceeded"];

/// Phrases of llama.cpp, vLLM and OpenAI, LM Studio (two), Anthropic, and hosted services, in lower case. The last is
/// what remains when Ollama cuts the front off a conversation: the chat template misses the user's message.
const PHRASES: [&str; 9] = [
    "exceeds the available context size",
    "maximum context length",
    "context length of only",
    "greater than the context length",
    "prompt is too long",
    "exceeds the context window",
    "exceed the context limit",
    "input is too long for",
    "no user query found in messages",
];

/// The overflow an error object speaks of, with its numbers where they are given.
pub(super) fn read(wire: &WireError) -> Option<BackendError> {
    let message = wire.message.to_lowercase();
    let by_code = wire.words.iter().any(|word| CODES.contains(&word.as_str()));
    if !by_code && !PHRASES.iter().any(|phrase| message.contains(phrase)) {
        return None;
    }
    Some(BackendError::ContextOverflow {
        prompt_tokens: wire.prompt_tokens.or_else(|| prompt_tokens(&message)),
        window: wire.window.or_else(|| window(&message)),
        message: quoted(&wire.message),
    })
}

fn window(message: &str) -> Option<u64> {
    ["context length is ", "available context size (", "context length of only ", "tokens > "]
        .iter()
        .find_map(|before| number_after(message, before))
}

fn prompt_tokens(message: &str) -> Option<u64> {
    let after = ["contains at least ", "messages came to ", "messages resulted in ", "request (", "too long: "];
    let before = [" in the messages", " tokens exceeds the available"];
    (after.iter().find_map(|phrase| number_after(message, phrase)))
        .or_else(|| before.iter().find_map(|phrase| number_before(message, phrase)))
}

fn number_after(message: &str, phrase: &str) -> Option<u64> {
    let (_, rest) = message.split_once(phrase)?;
    rest.split(|char: char| !char.is_ascii_digit() && char != ',').next()?.replace(',', "").parse().ok()
}

fn number_before(message: &str, phrase: &str) -> Option<u64> {
    let (rest, _) = message.split_once(phrase)?;
    rest.rsplit(|char: char| !char.is_ascii_digit() && char != ',').next()?.replace(',', "").parse().ok()
}
