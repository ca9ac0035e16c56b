//! Errors a client sees, independent of its protocol.

use std::time::Duration;

use forge_backend::BackendError;

/// What a client is told in the place of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientError {
    /// What it is about.
    pub(crate) kind: ErrorKind,
    /// The HTTP status.
    pub(crate) status: u16,
    /// The words.
    pub(crate) message: String,
    /// When to come back.
    pub(crate) retry_after: Option<Duration>,
}

/// What an error is about. Each protocol has its own word for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The request is wrong.
    InvalidRequest,
    /// The request is larger than allowed.
    TooLarge,
    /// The prompt doesn't fit the window.
    Overflow {
        /// Tokens of the prompt, where known.
        prompt: Option<u64>,
        /// The window in tokens, where known.
        window: Option<u64>,
    },
    /// The caller has no valid key.
    Authentication,
    /// The caller may not do this.
    Permission,
    /// The model doesn't exist.
    UnknownModel,
    /// The route doesn't exist.
    NotFound,
    /// Too many requests.
    Overloaded,
    /// The request took too long to arrive, or the backend to answer.
    Timeout,
    /// The backend failed, or gave nothing that can be used.
    Backend,
}

impl ClientError {
    pub(crate) fn new(kind: ErrorKind, status: u16, message: impl Into<String>) -> Self {
        Self { kind, status, message: message.into(), retry_after: None }
    }

    /// A request that can't be understood.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, 400, message)
    }

    /// A prompt that doesn't fit the window.
    pub(crate) fn overflow(prompt: Option<u64>, window: Option<u64>, said: &str) -> Self {
        Self::new(ErrorKind::Overflow { prompt, window }, 400, said)
    }
}

impl From<&BackendError> for ClientError {
    fn from(error: &BackendError) -> Self {
        let message = error.to_string();
        match error {
            BackendError::ContextOverflow { prompt_tokens, window, message } => {
                Self::overflow(*prompt_tokens, *window, message)
            }
            BackendError::Unreachable { .. } => Self::new(ErrorKind::Backend, 502, message),
            BackendError::Timeout { .. } => Self::new(ErrorKind::Timeout, 504, message),
            BackendError::Credential { .. } => Self::new(ErrorKind::Backend, 502, message),
            BackendError::UnknownModel { .. } => Self::new(ErrorKind::UnknownModel, 404, message),
            BackendError::Overloaded { status, retry_after, .. } => {
                let status = if *status == 429 { 429 } else { 503 };
                Self { retry_after: *retry_after, ..Self::new(ErrorKind::Overloaded, status, message) }
            }
            BackendError::Refused { status: status @ 400..500, .. } => {
                Self::new(ErrorKind::InvalidRequest, *status, message)
            }
            BackendError::InvalidRequest { .. } => Self::invalid(message),
            BackendError::Refused { .. }
            | BackendError::MalformedGeneration { .. }
            | BackendError::Protocol { .. }
            | BackendError::AnswerTooLong { .. }
            | BackendError::BrokenOff { .. } => Self::new(ErrorKind::Backend, 502, message),
            other => Self::new(ErrorKind::Backend, 502, other.to_string()),
        }
    }
}
