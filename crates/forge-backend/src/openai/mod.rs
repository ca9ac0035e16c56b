//! Servers that speak OpenAI's chat completions: llama.cpp's first of all, and whatever else does.
//!
//! A request goes [`chat`](crate::chat) → [`request`]; its answer comes back through [`stream`] → [`answer`] →
//! [`chunk`] → [`assemble`]; what goes wrong becomes one error in [`errors`].

mod answer;
mod assemble;
mod chunk;
mod config;
mod errors;
mod exchange;
mod frames;
mod overflow;
mod probe;
mod progress;
mod relay;
mod request;
mod stream;

use std::sync::{Mutex, PoisonError};

use forge_core::Constraint;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::time::{Instant, timeout_at};

pub use self::config::{ConfigError, OpenAiConfig, Timeouts};
pub use self::relay::{Frame, FrameStream, Metadata, MetadataRoute, RawRequest};

use self::answer::AnswerDecoder;
use self::errors::Subject;
use self::request::Model;
use crate::base_url::BaseUrl;
use crate::chat::prepare::{Target, asked_tokens, prepare};
use crate::chat::sanitise::is_sound;
use crate::chat::shape::Shape;
use crate::http::{HttpClientError, http_client_builder};
use crate::peek::peeked;
use crate::{Backend, BackendError, BackendInfo, Capabilities, ChatRequest, ModelStream, Secret, ToolMode};

/// How long a connection that is not in use is kept, in seconds: less than llama.cpp keeps it (5 s), so that a request
/// doesn't go out on a connection that is being closed.
const POOL_IDLE_SECONDS: u64 = 4;

/// What is assumed of a server nothing is known of.
const GENERIC: Capabilities = Capabilities { native_tools: true, required_tool_choice: false, json_schema: false };

/// A server that speaks OpenAI's chat completions, with native tools and streams.
///
/// An error before the first event is always an error of `generate` itself and not of the stream.
#[derive(Debug)]
pub struct OpenAiCompatible {
    client: reqwest::Client,
    base: BaseUrl,
    model: Option<String>,
    subject: Subject,
    timeouts: Timeouts,
    declared: Option<Capabilities>,
    /// What the server last said about itself.
    known: Mutex<Option<BackendInfo>>,
    /// What it turned out to need.
    learned: Mutex<Shape>,
}

impl OpenAiCompatible {
    /// An adapter for the server of a configuration. Nothing is sent yet.
    ///
    /// # Errors
    /// When the address, the key or the model's name can't be used, or the HTTP client can't be set up.
    pub fn new(config: OpenAiConfig) -> Result<Self, ConfigError> {
        let base = BaseUrl::parse(&config.base_url)?;
        if config.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
            return Err(ConfigError::EmptyModel);
        }
        let client = http_client_builder(base.root())
            .connect_timeout(config.timeouts.connect)
            .pool_idle_timeout(std::time::Duration::from_secs(POOL_IDLE_SECONDS))
            .default_headers(headers(config.api_key.as_ref())?)
            // A redirected POST becomes a GET, which hides what is wrong.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| HttpClientError { url: base.root().clone(), source })?;
        let subject = Subject {
            url: base.root().as_str().trim_end_matches('/').to_owned(),
            model: config.model.clone().unwrap_or_default(),
            secret: config.api_key,
        };
        Ok(Self {
            client,
            base,
            model: config.model,
            subject,
            timeouts: config.timeouts,
            declared: config.capabilities,
            known: Mutex::new(None),
            learned: Mutex::default(),
        })
    }

    async fn ask(&self) -> Result<BackendInfo, BackendError> {
        let model = self.model.as_deref();
        let mut info = probe::ask(&self.client, &self.base, &self.subject, model, self.timeouts.info).await?;
        info.capabilities = self.declared.unwrap_or(info.capabilities);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.clone());
        Ok(info)
    }

    /// What a request has to know of the server, which is asked the first time it matters. A server that doesn't say is
    /// taken for a generic one, and asked again the next time.
    async fn known(&self, request: &ChatRequest) -> BackendInfo {
        let told = BackendInfo {
            model: self.model.clone().unwrap_or_default(),
            capabilities: self.declared.unwrap_or(GENERIC),
            ..BackendInfo::default()
        };
        let constrained = match request.constraint {
            Constraint::Only(_) => true,
            Constraint::CallRequired => request.tool_mode == ToolMode::Prompted,
            Constraint::Free => false,
        };
        let names_a_model = self.model.is_some() || request.body.get("model").is_some();
        if names_a_model && (!constrained || self.declared.is_some()) {
            return told;
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(info) = known {
            return info;
        }
        self.ask().await.unwrap_or_else(|error| {
            tracing::debug!(url = self.subject.url, %error, "the server didn't say what it is");
            told
        })
    }

    async fn chat_once(&self, request: &ChatRequest, shape: Shape) -> Result<ModelStream, BackendError> {
        let info = self.known(request).await;
        let prepared = prepare(request, Target { capabilities: info.capabilities, shape })?;
        for change in &prepared.changes {
            tracing::debug!(%change, "the conversation was changed before it was sent");
        }
        let known = Some(info.model.as_str()).filter(|model| !model.is_empty());
        let body = request::encode(&prepared, Model { pinned: self.model.as_deref(), known });
        let asked = Instant::now();
        let sent = self.client.post(self.base.api_route("chat/completions")).json(&body).send();
        let response = match timeout_at(asked + self.timeouts.first_token, sent).await {
            Ok(response) => response.map_err(|error| self.subject.transport_error(&error))?,
            Err(_) => {
                let url = self.subject.url.clone();
                let after = self.timeouts.first_token;
                return Err(BackendError::Timeout { url, after, phase: "before its first token" });
            }
        };
        if !response.status().is_success() {
            return Err(exchange::refusal(response, &self.subject, self.timeouts.idle).await);
        }
        let decoder = AnswerDecoder::new(self.subject.clone(), prepared.offered);
        let events = stream::events(response, decoder, self.subject.clone(), self.timeouts, asked);
        let names = prepared.names;
        let restored = events.map(move |event| event.map(|event| names.restored(event)));
        peeked(restored.boxed()).await
    }

    /// Sends the request again in another form where the server's refusal says which form it needs.
    async fn chat_adapting(&self, request: ChatRequest) -> Result<ModelStream, BackendError> {
        let learned = *self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shape = learned;
        loop {
            let error = match self.chat_once(&request, shape).await {
                Ok(stream) => {
                    if shape.learned() != learned {
                        *self.learned.lock().unwrap_or_else(PoisonError::into_inner) = shape.learned();
                    }
                    return Ok(stream);
                }
                Err(error) => error,
            };
            let Some(next) = shape.after(&error, asked_tokens(&request.body)) else { return Err(error) };
            tracing::info!(%error, ?next, "sending the request in another form");
            shape = next;
        }
    }
}

impl OpenAiCompatible {
    /// Whether a request can go to this server as it is: nothing in its conversation has to be changed, and no refusal
    /// of the server said that it needs another form.
    pub fn takes_as_written(&self, body: &serde_json::Map<String, serde_json::Value>) -> bool {
        let learned = *self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let named = body.get("model").and_then(serde_json::Value::as_str).is_some_and(|model| !model.is_empty());
        let messages = body.get("messages").and_then(serde_json::Value::as_array);
        learned == Shape::default()
            && self.model.is_none()
            && named
            && messages.is_some_and(|messages| is_sound(messages))
    }

    /// Whether [`chat`](Backend::chat) would send a request once more, in another form, after this error.
    pub fn would_adapt(&self, error: &BackendError, body: &serde_json::Map<String, serde_json::Value>) -> bool {
        let learned = *self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.after(error, asked_tokens(body)).is_some()
    }
}

impl Backend for OpenAiCompatible {
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        Box::pin(self.chat_adapting(request))
    }

    fn info(&self) -> BoxFuture<'_, Result<BackendInfo, BackendError>> {
        Box::pin(self.ask())
    }
}

fn headers(key: Option<&Secret>) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        if key.expose().is_empty() {
            return Err(ConfigError::EmptyKey);
        }
        let value = format!("Bearer {}", key.expose());
        let mut value = HeaderValue::try_from(value).map_err(|_error| ConfigError::UnsendableKey)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}
