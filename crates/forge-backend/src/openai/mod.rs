//! Servers that speak OpenAI's chat completions: llama.cpp's first of all, and whatever else does.
//!
//! A request goes [`history`] → [`constraint`] → [`request`]; its answer comes back through [`stream`] → [`answer`] →
//! [`chunk`] → [`assemble`]; what goes wrong becomes one error in [`errors`], and what a refusal teaches is in [`adapt`].

mod adapt;
mod answer;
mod assemble;
mod chunk;
mod config;
mod constraint;
mod errors;
mod exchange;
mod history;
mod overflow;
mod probe;
mod progress;
mod request;
mod schema_walk;
mod stream;

use std::sync::{Mutex, PoisonError};

use forge_core::Constraint;
use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::time::{Instant, timeout_at};

pub use self::config::{ConfigError, OpenAiConfig, Timeouts};

use self::adapt::Adaptation;
use self::answer::AnswerDecoder;
use self::errors::Subject;
use self::request::Target;
use crate::base_url::BaseUrl;
use crate::http::{HttpClientError, http_client_builder};
use crate::peek::peeked;
use crate::{Backend, BackendError, BackendInfo, Capabilities, ModelRequest, ModelStream, Secret};

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
    learned: Mutex<Adaptation>,
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
    async fn known(&self, constraint: &Constraint) -> BackendInfo {
        let told = BackendInfo {
            model: self.model.clone().unwrap_or_default(),
            capabilities: self.declared.unwrap_or(GENERIC),
            ..BackendInfo::default()
        };
        let capabilities_matter = matches!(constraint, Constraint::Only(_)) && self.declared.is_none();
        if self.model.is_some() && !capabilities_matter {
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

    async fn generate_once(&self, request: &ModelRequest, adaptation: Adaptation) -> Result<ModelStream, BackendError> {
        let info = self.known(&request.constraint).await;
        let model = Some(info.model.as_str()).filter(|model| !model.is_empty());
        let body = request::encode(request, Target { model, capabilities: info.capabilities, adaptation })?;
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
        let offered = request.tools.iter().map(|tool| tool.name.clone());
        let decoder = AnswerDecoder::new(self.subject.clone(), offered);
        peeked(stream::events(response, decoder, self.subject.clone(), self.timeouts, asked)).await
    }

    /// Sends the request again in another form where the server's refusal says which form it needs.
    async fn generate_adapting(&self, request: ModelRequest) -> Result<ModelStream, BackendError> {
        let learned = *self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let mut adaptation = learned;
        loop {
            let error = match self.generate_once(&request, adaptation).await {
                Ok(stream) => {
                    if adaptation.learned() != learned {
                        *self.learned.lock().unwrap_or_else(PoisonError::into_inner) = adaptation.learned();
                    }
                    return Ok(stream);
                }
                Err(error) => error,
            };
            let Some(next) = adaptation.after(&error, &request) else { return Err(error) };
            tracing::info!(%error, ?next, "sending the request in another form");
            adaptation = next;
        }
    }
}

impl Backend for OpenAiCompatible {
    fn generate(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        Box::pin(self.generate_adapting(request))
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
