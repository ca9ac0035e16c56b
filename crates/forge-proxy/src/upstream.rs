//! The model server behind the proxy.

use std::time::Duration;

use bytes::Bytes;
use forge_backend::{
    Backend, BackendError, ChatRequest, Frame, FrameStream, Metadata, MetadataRoute, OpenAiCompatible, RawRequest,
    ReasoningReplay, ToolMode,
};
use forge_core::{Constraint, ToolName};
use futures_util::StreamExt;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long what a server said about itself is believed.
const KEPT: Duration = Duration::from_secs(60);

/// The model server behind the proxy.
pub(crate) struct Upstream {
    server: OpenAiCompatible,
    known: Mutex<Option<(Instant, Known)>>,
}

/// What a server said about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether it enforces a JSON schema of the legal calls beside tools.
    pub(crate) enforces_schemas: bool,
    /// The context window in tokens.
    pub(crate) window: Option<u64>,
}

impl Upstream {
    pub(crate) fn new(server: OpenAiCompatible) -> Self {
        Self { server, known: Mutex::default() }
    }

    /// Whether a request can go on as the client wrote it.
    pub(crate) fn takes_as_written(&self, body: &Map<String, Value>) -> bool {
        self.server.takes_as_written(body)
    }

    /// Whether a request that was refused would be sent once more in the form the refusal asks for.
    pub(crate) fn would_adapt(&self, error: &BackendError, body: &Map<String, Value>) -> bool {
        self.server.would_adapt(error, body)
    }

    /// Sends a client's own bytes.
    pub(crate) async fn relay(
        &self,
        body: Bytes,
        offered: Vec<ToolName>,
        patience: Option<Duration>,
    ) -> Result<FrameStream, BackendError> {
        self.server.relay(RawRequest { body, offered, patience }).await
    }

    /// Sends a chat request in the form the server takes. Its answer is streamed whatever the client wants, so that silence
    /// is noticed.
    pub(crate) async fn chat(
        &self,
        body: Map<String, Value>,
        constraint: Constraint,
    ) -> Result<FrameStream, BackendError> {
        let (tool_mode, reasoning) = (ToolMode::Native, ReasoningReplay::Full);
        let events = self.server.chat(ChatRequest { body, constraint, tool_mode, reasoning }).await?;
        Ok(events.map(|event| event.map(|event| Frame { raw: Bytes::new(), events: vec![event] })).boxed())
    }

    /// What the server said about itself, asked again after a while.
    pub(crate) async fn known(&self) -> Known {
        let mut known = self.known.lock().await;
        if let Some((_, known)) = known.as_ref().filter(|(asked, _)| asked.elapsed() < KEPT) {
            return known.clone();
        }
        let fresh = match self.server.info().await {
            Ok(info) => Known { enforces_schemas: info.capabilities.json_schema, window: info.context_window },
            Err(error) => {
                tracing::debug!(%error, "the model server didn't say what it is");
                known.as_ref().map(|(_, known)| known.clone()).unwrap_or_default()
            }
        };
        // A server that doesn't say isn't asked with each request either.
        *known = Some((Instant::now(), fresh.clone()));
        fresh
    }

    /// Hands on what the server says about itself.
    pub(crate) async fn metadata(&self, route: &MetadataRoute) -> Result<Metadata, BackendError> {
        self.server.metadata(route).await
    }

    /// Asks the server to count the tokens of a request in Anthropic's form.
    pub(crate) async fn count_tokens(&self, body: Bytes) -> Result<Metadata, BackendError> {
        self.server.count_tokens(body).await
    }
}
