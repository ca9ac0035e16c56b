use serde::{Deserialize, Serialize};

use crate::{CallId, FinishReason};

/// A whole generation, as a backend delivered it: nothing in it is parsed or trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The content; may hold calls in any dialect.
    #[serde(default)]
    pub text: String,
    /// The thinking the backend delivered apart from the content.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The calls the backend delivered as structured data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RawCall>,
    /// Why the generation ended.
    pub finish: FinishReason,
    /// What it cost, as far as the backend said.
    #[serde(default)]
    pub usage: Usage,
}

impl Response {
    /// A response of text alone that ended by itself.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A structured call as a backend delivered it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawCall {
    /// The backend's id, if it gave one.
    pub id: Option<CallId>,
    /// The name, as it came.
    pub name: String,
    /// The argument text, as it came; supposed to be a JSON object.
    pub arguments: String,
}

/// Tokens of one generation, or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt; none where the backend didn't say.
    pub prompt_tokens: Option<u64>,
    /// Tokens generated; none where the backend didn't say.
    pub completion_tokens: Option<u64>,
    /// Prompt tokens that came out of the backend's cache; none where it didn't say.
    pub cached_tokens: Option<u64>,
}

impl Usage {
    /// Adds another generation's tokens; a side that is unknown counts as zero if the other is known.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            prompt_tokens: add(self.prompt_tokens, other.prompt_tokens),
            completion_tokens: add(self.completion_tokens, other.completion_tokens),
            cached_tokens: add(self.cached_tokens, other.cached_tokens),
        }
    }
}
