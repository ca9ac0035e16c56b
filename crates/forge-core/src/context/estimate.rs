use serde::{Deserialize, Serialize};

use crate::{Message, ToolSpec};

/// Bytes of text that are taken for one token where the server hasn't said.
///
/// English text has about four characters in a token (the rule of thumb in OpenAI's help centre, "What are tokens and how
/// to count them?"); JSON, code and logs, which fill the context here, have fewer, and text beyond ASCII has fewer still but
/// more bytes in each. Three bytes err on the safe side. The server's own count takes its place after one generation.
pub const BYTES_PER_TOKEN: u64 = 3;

/// Bytes that are added to each message and to each call for the markup a chat template puts around it: about four tokens.
const MARKUP_BYTES: u64 = 4 * BYTES_PER_TOKEN;

/// The most bytes of a whole prompt that one token may stand for; an average of more is taken for a count of a part.
const MOST_BYTES_PER_TOKEN: u64 = 16;

/// How many tokens a prompt has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Tokens.
    pub tokens: u64,
    /// Where the number comes from.
    pub source: EstimateSource,
}

/// Where an estimate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EstimateSource {
    /// From the length of everything in the prompt.
    Length,
    /// From the server's count of an earlier prompt and the length of what changed since.
    Usage,
}

/// A prompt that the server counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counted {
    /// The server's count.
    pub(super) tokens: u64,
    /// Our weight of the same prompt.
    pub(super) bytes: u64,
}

impl Counted {
    /// Whether the count can be of the whole prompt.
    pub(super) fn is_plausible(&self) -> bool {
        self.tokens > 0 && self.tokens.saturating_mul(MOST_BYTES_PER_TOKEN) >= self.bytes
    }
}

/// Whether the model's earlier thinking is in its prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Thinking {
    /// It isn't sent again, so it counts nothing.
    #[default]
    Dropped,
    /// It is.
    Sent,
}

/// How many tokens a message has, by its length, without thinking.
pub fn estimate_message(message: &Message) -> u64 {
    weight(message, Thinking::Dropped).div_ceil(BYTES_PER_TOKEN)
}

/// What a message takes of a prompt, in bytes.
pub(super) fn weight(message: &Message, thinking: Thinking) -> u64 {
    let text = match message {
        Message::System { content } | Message::User { content, .. } => bytes(content),
        Message::Assistant { content, calls, reasoning } => {
            let calls = calls.iter().map(|call| bytes(&call.name) + bytes(call.arguments.as_str()) + MARKUP_BYTES);
            let thought = match thinking {
                Thinking::Dropped => 0,
                Thinking::Sent => bytes(reasoning),
            };
            bytes(content) + thought + calls.sum::<u64>()
        }
        Message::Tool { content, name, .. } => bytes(content) + bytes(name),
    };
    text + MARKUP_BYTES
}

/// What the offered tools take of a prompt, in bytes.
pub(super) fn weight_of_tools(tools: &[ToolSpec]) -> u64 {
    let of_one = |tool: &ToolSpec| {
        bytes(&tool.name) + bytes(&tool.description) + bytes(&tool.parameters.to_string()) + MARKUP_BYTES
    };
    tools.iter().map(of_one).sum()
}

/// The tokens of a prompt of a weight, the last one that the server counted being known or not.
pub(super) fn estimate(bytes: u64, counted: Option<Counted>) -> Estimate {
    let Some(counted) = counted else {
        return Estimate { tokens: bytes.div_ceil(BYTES_PER_TOKEN), source: EstimateSource::Length };
    };
    let tokens = match bytes.checked_sub(counted.bytes) {
        Some(added) => counted.tokens.saturating_add(added.div_ceil(BYTES_PER_TOKEN)),
        None => scaled(counted, bytes),
    };
    Estimate { tokens, source: EstimateSource::Usage }
}

/// The tokens of a part of a prompt that was counted.
fn scaled(counted: Counted, bytes: u64) -> u64 {
    let exact = u128::from(counted.tokens) * u128::from(bytes);
    u64::try_from(exact.div_ceil(u128::from(counted.bytes.max(1)))).unwrap_or(u64::MAX)
}

fn bytes(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
