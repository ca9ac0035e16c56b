//! The form a server needs its requests in, learned from its refusals.

use std::num::NonZeroU64;

use crate::BackendError;

/// How requests are written for one server. It starts with what loses nothing and gives way one step at a time, so
/// adapting to refusals comes to an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// How the messages are written.
    pub(crate) history: HistoryShape,
    /// How much of a schema the server's grammar engine takes.
    pub(crate) schemas: Schemas,
    /// How tools are called.
    pub(crate) names: Names,
    /// A lower cap than the request's, because the prompt leaves no more of the window. For one request only.
    pub(crate) max_tokens: Option<u32>,
}

/// The form in which a server takes a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryShape {
    /// How the messages follow each other.
    pub turns: Turns,
    /// How arguments are replayed.
    pub arguments: ReplayedArguments,
    /// What content may be.
    pub content: ContentForm,
    /// Whose thinking is replayed.
    pub reasoning: ReasoningReplay,
}

/// How a server's chat template wants the messages to follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turns {
    /// Each message is a turn of its own.
    #[default]
    AsWritten,
    /// One system message at the start, then user and assistant in turn.
    Alternating,
    /// As [`Alternating`](Self::Alternating), with the system's text in the user's first turn.
    WithoutSystem,
}

/// How a server's chat template wants the arguments of earlier calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayedArguments {
    /// As text, which is what the protocol says.
    #[default]
    Text,
    /// As an object.
    Object,
}

/// What a server takes as the content of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentForm {
    /// Text, or a list of parts.
    #[default]
    Parts,
    /// Text only.
    Text,
}

/// Which turns of the model are replayed with their thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningReplay {
    /// None: most models are trained without the thinking of earlier turns, and it fills the window.
    #[default]
    None,
    /// The last one.
    Last,
    /// All.
    Full,
}

/// How much of a schema a server's grammar engine takes. Arguments are validated by us against the whole schema anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Schemas {
    /// All of it.
    #[default]
    Whole,
    /// All but patterns, formats and limits of length, which break grammar engines.
    Simplified,
    /// The types of the arguments and what is required, without descriptions below the first level.
    Bare,
    /// None, so that no grammar is made of them: the tools stand in the prompt.
    Prompted,
}

/// How tools are called in requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Names {
    /// As they are.
    #[default]
    AsGiven,
    /// With letters, digits, `_` and `-` only, a letter or `_` first, and at most 64 of them.
    Plain,
}

impl Shape {
    /// How to write the request so that the reason of a refusal is gone; none where there is no way. `asked` is the cap the
    /// request had.
    pub(crate) fn after(self, error: &BackendError, asked: Option<u32>) -> Option<Self> {
        match error {
            BackendError::Refused { message, .. } => self.after_refusal(&message.to_lowercase()),
            BackendError::ContextOverflow { prompt_tokens: Some(prompt), window: Some(window), .. } => {
                self.with_lower_cap(*prompt, *window, asked?)
            }
            BackendError::ContextOverflow { .. }
            | BackendError::Unreachable { .. }
            | BackendError::Timeout { .. }
            | BackendError::Credential { .. }
            | BackendError::UnknownModel { .. }
            | BackendError::MalformedGeneration { .. }
            | BackendError::Overloaded { .. }
            | BackendError::Protocol { .. }
            | BackendError::InvalidRequest { .. }
            | BackendError::AnswerTooLong { .. }
            | BackendError::BrokenOff { .. } => None,
        }
    }

    /// What holds for later requests too.
    pub(crate) fn learned(self) -> Self {
        Self { max_tokens: None, ..self }
    }

    fn after_refusal(self, message: &str) -> Option<Self> {
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let mut next = self;
        if says(&["system role not supported", "does not support system", "system role is not supported"]) {
            next.history.turns = Turns::WithoutSystem;
        } else if says(&[
            "must alternate",
            "system message must be",
            "only the first message can be",
            "after the first turn",
        ]) {
            next.history.turns = match self.history.turns {
                Turns::AsWritten => Turns::Alternating,
                Turns::Alternating | Turns::WithoutSystem => Turns::WithoutSystem,
            };
        } else if says(&["filter 'items' for type string", "arguments must be an object", "arguments should be a dict"])
        {
            // A template that goes through the arguments of earlier calls key by key.
            next.history.arguments = ReplayedArguments::Object;
        } else if says(&["content must be a string", "expected a string", "input should be a valid string"]) {
            next.history.content = ContentForm::Text;
        } else if says(&["invalid function name", "does not match pattern", "must match pattern", "function.name"]) {
            next.names = Names::Plain;
        } else if says(&["grammar", "schema conversion failed"]) {
            next.schemas = self.schemas.simpler();
        }
        (next != self).then_some(next)
    }

    /// Where the prompt alone fits, the cap was what was too much. Less than a quarter of it would rather cut an answer
    /// than give one, so that stays an overflow, to be met by compaction.
    fn with_lower_cap(self, prompt: u64, window: u64, asked: u32) -> Option<Self> {
        let room = window.checked_sub(prompt).and_then(NonZeroU64::new)?.get();
        let room = u32::try_from(room).ok().filter(|room| *room < asked && room.saturating_mul(4) >= asked)?;
        self.max_tokens.is_none().then_some(Self { max_tokens: Some(room), ..self })
    }
}

impl Schemas {
    fn simpler(self) -> Self {
        match self {
            Self::Whole => Self::Simplified,
            Self::Simplified => Self::Bare,
            Self::Bare | Self::Prompted => Self::Prompted,
        }
    }
}
