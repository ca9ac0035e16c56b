use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::BackendInfo;

const GIB: u64 = 1024 * 1024 * 1024;

/// How many tokens of prompt and answer a conversation may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextBudget {
    /// So many tokens, or the server's window where that is smaller.
    Tokens(NonZeroU64),
    /// The window that the server says it has; nothing is limited where it doesn't say.
    #[default]
    Backend,
    /// The whole window: what the server says, else what it chooses by itself, where that is known.
    Full,
    /// Half of [`Full`](ContextBudget::Full): a short prompt is read in less time.
    Fast,
}

/// A text that is no budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no context budget; give a number of tokens, at least 1, or `backend`, `full` or `fast`")]
pub struct UnknownBudget {
    /// The text.
    pub text: String,
}

impl ContextBudget {
    /// The budgets that have a name.
    pub const NAMED: [(&'static str, Self); 3] =
        [("backend", Self::Backend), ("full", Self::Full), ("fast", Self::Fast)];

    /// The budget in tokens on this server. None where nothing is known that limits it.
    ///
    /// `video_memory` is asked only where it decides: see [`video_memory`](crate::video_memory).
    pub fn tokens(self, info: &BackendInfo, video_memory: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let said = info.context_window;
        let full = || said.or_else(|| is_ollama(info).then(|| ollama_window(video_memory())));
        match self {
            Self::Tokens(tokens) => Some(said.map_or(tokens.get(), |window| window.min(tokens.get()))),
            Self::Backend => said,
            Self::Full => full(),
            Self::Fast => full().map(|window| (window / 2).max(1)),
        }
    }
}

fn is_ollama(info: &BackendInfo) -> bool {
    info.server.eq_ignore_ascii_case("ollama")
}

/// The window that Ollama gives a model, in tokens, by the video memory of its machine in bytes: under 24 GiB 4,096, under
/// 48 GiB 32,768, else 262,144 (Ollama's documentation, "Context length"). Without a card it is the smallest.
pub fn ollama_window(video_memory: Option<u64>) -> u64 {
    match video_memory.unwrap_or(0) / GIB {
        0..24 => 4_096,
        24..48 => 32_768,
        48.. => 262_144,
    }
}

impl FromStr for ContextBudget {
    type Err = UnknownBudget;

    fn from_str(text: &str) -> Result<Self, UnknownBudget> {
        let named = Self::NAMED.iter().find(|(name, _)| *name == text).map(|(_, budget)| *budget);
        let tokens = || text.replace('_', "").parse().ok().map(Self::Tokens);
        named.or_else(tokens).ok_or_else(|| UnknownBudget { text: text.to_owned() })
    }
}

impl fmt::Display for ContextBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(tokens) => tokens.fmt(f),
            Self::Backend => f.write_str("backend"),
            Self::Full => f.write_str("full"),
            Self::Fast => f.write_str("fast"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, server: &str, window: Option<u64>, memory: Option<u64>) -> Option<u64> {
        let info = BackendInfo { server: server.to_owned(), context_window: window, ..BackendInfo::default() };
        text.parse::<ContextBudget>().unwrap().tokens(&info, || memory)
    }

    #[test]
    fn each_budget_on_each_kind_of_server() {
        let cases = [
            ("5000", "", None, None, Some(5000)),
            ("5_000", "llama.cpp", Some(4096), None, Some(4096)),
            ("5000", "llama.cpp", Some(8192), None, Some(5000)),
            ("backend", "llama.cpp", Some(8192), None, Some(8192)),
            ("backend", "", None, Some(64 * GIB), None),
            ("full", "llama.cpp", Some(8192), Some(64 * GIB), Some(8192)),
            ("full", "", None, Some(64 * GIB), None),
            ("full", "Ollama", None, Some(64 * GIB), Some(262_144)),
            ("fast", "ollama", None, Some(24 * GIB), Some(16_384)),
            ("fast", "llama.cpp", Some(8192), None, Some(4096)),
            ("fast", "", Some(1), None, Some(1)),
        ];
        for (text, server, window, memory, expected) in cases {
            assert_eq!(tokens(text, server, window, memory), expected, "{text} on {server:?} with {window:?}");
        }
    }

    #[test]
    fn ollamas_window_goes_by_video_memory() {
        let cases = [
            (None, 4096),
            (Some(0), 4096),
            (Some(24 * GIB - 1), 4096),
            (Some(24 * GIB), 32_768),
            (Some(48 * GIB), 262_144),
        ];
        for (memory, window) in cases {
            assert_eq!(ollama_window(memory), window, "{memory:?}");
        }
    }

    #[test]
    fn what_is_no_budget_is_refused_with_what_is() {
        for text in ["", "0", "-1", "4k", "all", "Full"] {
            let said = text.parse::<ContextBudget>().unwrap_err().to_string();
            assert_eq!(
                said,
                format!(
                    "`{text}` is no context budget; give a number of tokens, at least 1, or `backend`, `full` or `fast`"
                )
            );
        }
    }

    #[test]
    fn a_budget_is_written_as_it_is_read() {
        for text in ["4096", "backend", "full", "fast"] {
            assert_eq!(text.parse::<ContextBudget>().unwrap().to_string(), text);
        }
    }
}
