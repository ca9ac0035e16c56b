use std::time::Duration;

use crate::base_url::BaseUrlError;
use crate::http::HttpClientError;
use crate::{Capabilities, Secret};

/// How to reach a server.
#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    /// The address, with or without `/v1` at its end, such as `http://127.0.0.1:8080`.
    pub base_url: String,
    /// The model to ask for; none takes the first one the server lists.
    pub model: Option<String>,
    /// The key, sent as `Authorization: Bearer`.
    pub api_key: Option<Secret>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// What the server can do, where that is known better than by asking it.
    pub capabilities: Option<Capabilities>,
}

impl OpenAiConfig {
    /// The server at an address, with everything else at its default.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: None,
            api_key: None,
            timeouts: Timeouts::default(),
            capabilities: None,
        }
    }
}

/// How long to wait for what. There is no limit for a whole generation: it may take as long as it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection. Default 5 s.
    pub connect: Duration,
    /// From the request to the first token. Default 300 s: a long prompt on a slow machine takes minutes.
    pub first_token: Duration,
    /// Without a byte after the first token. Default 60 s.
    pub idle: Duration,
    /// For each question about the server itself. Default 5 s.
    pub info: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_token: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            info: Duration::from_secs(5),
        }
    }
}

/// Why a configuration can't work.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The address can't be the address of a model server.
    #[error(transparent)]
    BaseUrl(#[from] BaseUrlError),
    /// The key is empty.
    #[error("the API key is empty; leave it out for a server that needs none")]
    EmptyKey,
    /// The key can't be sent.
    #[error("the API key has a character that an HTTP header can't hold, such as a line break at its end")]
    UnsendableKey,
    /// The model's name is empty.
    #[error("the model's name is empty; leave it out to take the server's first model")]
    EmptyModel,
    /// The HTTP client can't be set up.
    #[error(transparent)]
    Client(#[from] HttpClientError),
}
