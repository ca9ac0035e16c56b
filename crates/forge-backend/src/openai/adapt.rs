//! What a server turned out to need, learned from its refusals.

use std::num::NonZeroU64;

use forge_core::Constraint;

use crate::{BackendError, ModelRequest};

/// How requests are written for one server. It starts with what loses nothing and gives way one step at a time, so
/// adapting to refusals comes to an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Adaptation {
    /// How the messages follow each other.
    pub(super) turns: Turns,
    /// How arguments are replayed.
    pub(super) arguments: ReplayedArguments,
    /// How much of a schema the server's grammar engine takes.
    pub(super) schemas: Schemas,
    /// A lower cap than the request's, because the prompt leaves no more of the window. For one request only.
    pub(super) max_tokens: Option<u32>,
}

/// How a server's chat template wants the messages of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turns {
    /// Each message is a turn of its own.
    #[default]
    AsWritten,
    /// Neighbouring messages are one turn, for templates that insist on alternating roles.
    Alternating,
}

/// How a server's chat template wants the arguments of earlier calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReplayedArguments {
    /// As text, which is what the protocol says.
    #[default]
    Text,
    /// As an object.
    Object,
}

/// How much of a schema a server's grammar engine takes. Arguments are validated by us against the whole schema anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Schemas {
    /// All of it.
    #[default]
    Whole,
    /// All but patterns, formats and limits of length, which break grammar engines.
    Simplified,
    /// Nothing: legal calls are asked for by tool choice, as for a server without schemas.
    Unused,
}

impl Adaptation {
    /// How to write the request so that the reason of a refusal is gone; none where there is no way.
    pub(super) fn after(self, error: &BackendError, request: &ModelRequest) -> Option<Self> {
        match error {
            BackendError::Refused { message, .. } => self.after_refusal(&message.to_lowercase(), request),
            BackendError::ContextOverflow { prompt_tokens: Some(prompt), window: Some(window), .. } => {
                self.with_lower_cap(*prompt, *window, request.max_tokens)
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
    pub(super) fn learned(self) -> Self {
        Self { max_tokens: None, ..self }
    }

    fn after_refusal(self, message: &str, request: &ModelRequest) -> Option<Self> {
        let next = if message.contains("roles must alternate") {
            Self { turns: Turns::Alternating, ..self }
        } else if message.contains("filter 'items' for type string") {
            // A template that goes through the arguments of earlier calls key by key.
            Self { arguments: ReplayedArguments::Object, ..self }
        } else if message.contains("grammar") || message.contains("schema conversion failed") {
            Self { schemas: self.schemas.simpler(&request.constraint), ..self }
        } else {
            self
        };
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
    fn simpler(self, constraint: &Constraint) -> Self {
        match (self, constraint) {
            (Self::Whole, _) => Self::Simplified,
            (Self::Simplified | Self::Unused, Constraint::Only(_)) => Self::Unused,
            (Self::Simplified | Self::Unused, Constraint::Free | Constraint::CallRequired) => self,
        }
    }
}
