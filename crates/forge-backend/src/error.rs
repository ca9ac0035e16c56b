use std::time::Duration;

/// Why a backend gave no answer. One taxonomy for all servers; no variant ever holds a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// No connection.
    #[error("can't reach the model server at {url}: {reason}")]
    Unreachable {
        /// The address, without credentials.
        url: String,
        /// What the connection said.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("the model server at {url} was silent for {after:?} {phase}")]
    Timeout {
        /// The address.
        url: String,
        /// How long.
        after: Duration,
        /// While what, such as `before its first token`.
        phase: &'static str,
    },
    /// 401 or 403.
    #[error(
        "the model server at {url} rejected the credential (HTTP {status}); check --api-key or the key's environment variable"
    )]
    Credential {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The server doesn't have the model.
    #[error("the model server doesn't know the model {model:?}: {message}")]
    UnknownModel {
        /// The model asked for.
        model: String,
        /// The server's words.
        message: String,
    },
    /// The prompt doesn't fit.
    #[error("the prompt doesn't fit the context window: {message}")]
    ContextOverflow {
        /// Tokens of the prompt, if the server said.
        prompt_tokens: Option<u64>,
        /// The window in tokens, if the server said.
        window: Option<u64>,
        /// The server's words.
        message: String,
    },
    /// The server generated something it could not parse itself.
    #[error("the model server could not parse the model's output: {message}")]
    MalformedGeneration {
        /// The generated text, if the server gave it: to be parsed by us.
        text: Option<String>,
        /// The server's words.
        message: String,
    },
    /// 429, 503 and the like.
    #[error("the model server is overloaded or not ready (HTTP {status}): {message}")]
    Overloaded {
        /// The HTTP status.
        status: u16,
        /// When to come back, if it said.
        retry_after: Option<Duration>,
        /// The server's words.
        message: String,
    },
    /// The server refused the request.
    #[error("the model server refused the request (HTTP {status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// The answer isn't what the protocol promises.
    #[error("the server at {url} doesn't speak the expected protocol: {problem}")]
    Protocol {
        /// The address.
        url: String,
        /// What was wrong and what to check.
        problem: String,
    },
    /// The request can't be made as it is; nothing was sent.
    #[error("the request to the model server can't be made: {problem}")]
    InvalidRequest {
        /// What is wrong with it.
        problem: String,
    },
    /// The answer went on past every bound.
    #[error("the model server's answer passed the limit of {limit_bytes} bytes and was cut off; lower max_tokens")]
    AnswerTooLong {
        /// The limit in bytes, [`MAX_ANSWER_BYTES`](crate::MAX_ANSWER_BYTES).
        limit_bytes: usize,
    },
    /// The stream broke off in the middle.
    #[error("the model server broke off in the middle of its answer: {reason}")]
    BrokenOff {
        /// What the connection said.
        reason: String,
    },
}
