//! Answers that are not generations, and what every answer has.

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;

use super::body::{AnswerBody, whole};
use crate::error::ClientError;
use crate::protocol::Protocol;

/// An answer.
pub(super) type Reply = Response<AnswerBody>;

/// A JSON text.
pub(super) fn json(status: u16, body: impl Into<bytes::Bytes>) -> Reply {
    with_type(status, HeaderValue::from_static("application/json"), whole(body))
}

/// A body of a type.
pub(super) fn with_type(status: u16, content_type: HeaderValue, body: AnswerBody) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}

/// A stream of events.
pub(super) fn events(body: AnswerBody) -> Reply {
    let mut reply = with_type(200, HeaderValue::from_static("text/event-stream"), body);
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Or a reverse proxy may hold the stream back.
    reply.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// An error in a protocol's form.
pub(super) fn error(protocol: Protocol, error: &ClientError) -> Reply {
    let body: Value = protocol.error_body(error);
    let mut reply = json(error.status, body.to_string());
    if let Some(wait) = error.retry_after {
        let seconds = wait.as_secs().max(1);
        reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply
}
