//! Requests that go on as they are, with their answers as bytes and as events.

use std::time::Duration;

use bytes::Bytes;
use forge_core::ToolName;
use futures_util::stream::BoxStream;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use tokio::time::{Instant, timeout_at};

use super::answer::AnswerDecoder;
use super::frames::FrameSplitter;
use super::stream::Body;
use super::{OpenAiCompatible, exchange};
use crate::{BackendError, ModelEvent};

/// The largest answer to a question about the server that is handed on, in bytes.
const MAX_METADATA: usize = 8 * 1024 * 1024;

/// A request in the protocol's own form, sent on byte for byte.
#[derive(Clone, Debug)]
pub struct RawRequest {
    /// The body.
    pub body: Bytes,
    /// The names of the tools it offers. They tell a name that comes in pieces from the name of another call.
    pub offered: Vec<ToolName>,
    /// How long to wait for the first token, which for a request that doesn't stream is the whole answer. None takes the
    /// adapter's own limit.
    pub patience: Option<Duration>,
}

/// One piece of an answer: the bytes as they came, and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// One event of the stream with the empty line that ends it, or the whole body of an answer that isn't a stream. May be
    /// empty in the last frame.
    pub raw: Bytes,
    /// The events it completed.
    pub events: Vec<ModelEvent>,
}

/// The frames of one answer. The last one holds the [`ModelEvent::Finish`].
pub type FrameStream = BoxStream<'static, Result<Frame, BackendError>>;

/// What a server says about itself, by its route. A closed list: nothing here changes anything on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataRoute {
    /// `GET /health`.
    Health,
    /// `GET /v1/models`.
    Models,
    /// `GET /v1/models/NAME`.
    Model(String),
    /// `GET /props`, llama.cpp's own.
    Props,
    /// `GET /slots`, llama.cpp's own.
    Slots,
}

/// A server's answer to a question about itself, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The HTTP status.
    pub status: u16,
    /// The content type, where it has one.
    pub content_type: Option<HeaderValue>,
    /// The body.
    pub body: Bytes,
}

impl OpenAiCompatible {
    /// Sends a request as it is. Dropping the stream ends the generation on the server.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal. Later errors come in the stream.
    pub async fn relay(&self, request: RawRequest) -> Result<FrameStream, BackendError> {
        let mut timeouts = self.timeouts;
        timeouts.first_token = request.patience.unwrap_or(timeouts.first_token);
        let asked = Instant::now();
        let post = self.client.post(self.base.api_route("chat/completions"));
        let sent = post.header(CONTENT_TYPE, "application/json").body(request.body).send();
        let response = match timeout_at(asked + timeouts.first_token, sent).await {
            Ok(response) => response.map_err(|error| self.subject.transport_error(&error))?,
            Err(_) => {
                let (url, after) = (self.subject.url.clone(), timeouts.first_token);
                return Err(BackendError::Timeout { url, after, phase: "before its first token" });
            }
        };
        if !response.status().is_success() {
            return Err(exchange::refusal(response, &self.subject, self.timeouts.idle).await);
        }
        let decoder = AnswerDecoder::new(self.subject.clone(), request.offered);
        Ok(frames(Body::new(response, self.subject.clone(), asked, timeouts), decoder))
    }

    /// Asks the server about itself and hands on what it says.
    ///
    /// # Errors
    /// When there is no answer within the limit for such questions.
    pub async fn metadata(&self, route: &MetadataRoute) -> Result<Metadata, BackendError> {
        let url = match route {
            MetadataRoute::Health => self.base.server_route("health"),
            MetadataRoute::Models => self.base.api_route("models"),
            MetadataRoute::Model(name) => {
                let mut url = self.base.api_route("models");
                if let Ok(mut segments) = url.path_segments_mut() {
                    segments.extend(name.split('/'));
                }
                url
            }
            MetadataRoute::Props => self.base.server_route("props"),
            MetadataRoute::Slots => self.base.server_route("slots"),
        };
        self.answer_to(self.client.get(url)).await
    }

    /// Asks the server how many tokens a request in Anthropic's form has. Few servers can say.
    ///
    /// # Errors
    /// When there is no answer within the limit for such questions.
    pub async fn count_tokens(&self, body: Bytes) -> Result<Metadata, BackendError> {
        let post = self.client.post(self.base.api_route("messages/count_tokens"));
        self.answer_to(post.header(CONTENT_TYPE, "application/json").body(body)).await
    }

    async fn answer_to(&self, request: reqwest::RequestBuilder) -> Result<Metadata, BackendError> {
        let limit = self.timeouts.info;
        let answer = async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            let content_type = response.headers().get(CONTENT_TYPE).cloned();
            let body = exchange::read(response, MAX_METADATA).await?.into();
            Ok(Metadata { status, content_type, body })
        };
        match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|error: reqwest::Error| self.subject.transport_error(&error)),
            Err(_) => {
                let url = self.subject.url.clone();
                Err(BackendError::Timeout { url, after: limit, phase: "after a question about itself" })
            }
        }
    }
}

/// The frames of an answer whose head has come.
fn frames(mut body: Body, mut decoder: AnswerDecoder) -> FrameStream {
    Box::pin(async_stream::try_stream! {
        let mut splitter = FrameSplitter::default();
        let mut whole = None;
        while !decoder.is_done() {
            let Some(bytes) = body.next(decoder.is_finished()).await? else { break };
            splitter.push(&bytes);
            // Blank lines in a body that is one JSON text end nothing.
            if *whole.get_or_insert_with(|| is_whole(&bytes)) {
                continue;
            }
            while let Some(raw) = splitter.next_frame() {
                let mut events = Vec::new();
                let pushed = decoder.push(&raw, &mut events);
                body.note(pushed.as_ref().copied().unwrap_or_default(), &events);
                yield Frame { raw, events };
                pushed?;
            }
        }
        if decoder.is_done() {
            body.end().await;
        }
        let raw = splitter.rest();
        let mut events = Vec::new();
        let pushed = if raw.is_empty() { Ok(0) } else { decoder.push(&raw, &mut events) };
        let finished = pushed.and_then(|_| decoder.finish(&mut events));
        yield Frame { raw, events };
        finished?;
    })
}

/// Whether a body that begins so is one JSON text (or a page) rather than a stream of events.
fn is_whole(head: &[u8]) -> bool {
    let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'[' | b'<'))
}
