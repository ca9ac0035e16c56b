//! Which path is answered how.

use std::sync::Arc;

use bytes::Bytes;
use forge_backend::MetadataRoute;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CONTENT_TYPE,
    HeaderValue, VARY,
};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Server;
use super::body::{read, streamed, whole};
use super::reply::{self, Reply};
use crate::error::{ClientError, ErrorKind};
use crate::piece::Answer;
use crate::pipeline;
use crate::protocol::{Protocol, messages};

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
enum Route {
    /// A generation.
    Generate(Protocol),
    /// How many tokens a request has.
    CountTokens,
    /// What the backend says about itself.
    Metadata(MetadataRoute),
    /// Whether this process runs.
    Health,
    /// Whether the backend can be reached.
    Ready,
}

impl Route {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/v1/chat/completions" | "/chat/completions" => Self::Generate(Protocol::Chat),
            "/v1/messages" => Self::Generate(Protocol::Messages),
            "/v1/responses" | "/responses" => Self::Generate(Protocol::Responses),
            "/v1/messages/count_tokens" => Self::CountTokens,
            "/health" | "/v1/health" => Self::Metadata(MetadataRoute::Health),
            "/v1/models" | "/models" => Self::Metadata(MetadataRoute::Models),
            "/props" => Self::Metadata(MetadataRoute::Props),
            "/slots" => Self::Metadata(MetadataRoute::Slots),
            "/forge/health" => Self::Health,
            "/forge/ready" => Self::Ready,
            other => {
                let name = other.strip_prefix("/v1/models/").or_else(|| other.strip_prefix("/models/"))?;
                let name = decoded(name).filter(|name| !name.split('/').any(|part| matches!(part, "" | "." | "..")))?;
                Self::Metadata(MetadataRoute::Model(name))
            }
        })
    }

    fn method(&self) -> Method {
        match self {
            Self::Generate(_) | Self::CountTokens => Method::POST,
            Self::Metadata(_) | Self::Health | Self::Ready => Method::GET,
        }
    }

    /// The protocol whose errors a client of this route reads.
    fn protocol(&self) -> Protocol {
        match self {
            Self::Generate(protocol) => *protocol,
            Self::CountTokens => Protocol::Messages,
            Self::Metadata(_) | Self::Health | Self::Ready => Protocol::Chat,
        }
    }
}

/// Answers one request.
pub(super) async fn route(server: Arc<Server>, request: Request<Incoming>) -> Reply {
    let route = Route::of(request.uri().path());
    let protocol = route.as_ref().map_or(Protocol::Chat, Route::protocol);
    let origin = server.gate.allowed_origin(request.headers());
    let answered = answer(server, route, request).await;
    let mut reply = answered.unwrap_or_else(|error| reply::error(protocol, &error));
    if let Some(origin) = origin {
        reply.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        reply.headers_mut().insert(VARY, HeaderValue::from_static("Origin"));
    }
    reply
}

async fn answer(server: Arc<Server>, route: Option<Route>, request: Request<Incoming>) -> Result<Reply, ClientError> {
    server.gate.check_source(request.headers())?;
    let path = request.uri().path();
    let Some(route) = route else {
        let message = format!("{path:?} is not a route of this server; the documentation lists the routes");
        return Err(ClientError::new(ErrorKind::NotFound, 404, message));
    };
    if request.method() == Method::OPTIONS {
        return Ok(preflight());
    }
    let (wanted, head) = (route.method(), request.method() == Method::HEAD);
    if *request.method() != wanted && !(head && wanted == Method::GET) {
        let message = format!("{path:?} is asked with {wanted}, not with {}", request.method());
        let mut reply = reply::error(route.protocol(), &ClientError::new(ErrorKind::InvalidRequest, 405, message));
        if let Ok(wanted) = HeaderValue::from_str(wanted.as_str()) {
            reply.headers_mut().insert(ALLOW, wanted);
        }
        return Ok(reply);
    }
    if route == Route::Health {
        return Ok(reply::json(200, json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}).to_string()));
    }
    server.gate.check_key(request.headers())?;
    match route {
        Route::Generate(protocol) => {
            generate(&server, protocol, read(request.into_body(), &server.shared.limits).await?).await
        }
        Route::CountTokens => Ok(count_tokens(&server, read(request.into_body(), &server.shared.limits).await?).await),
        Route::Metadata(route) => metadata(&server, &route).await,
        Route::Health | Route::Ready => Ok(ready(&server).await),
    }
}

async fn generate(server: &Server, protocol: Protocol, body: Bytes) -> Result<Reply, ClientError> {
    let crate::protocol::Request { turn, mut encoder } = protocol.decode(body, &server.shelf)?;
    let (streams, silence) = (turn.streams, server.shared.limits.silence);
    let mut pieces = pipeline::answer(Arc::clone(&server.shared), turn)?;
    if !streams {
        let mut answer = Answer::default();
        while let Some(piece) = pieces.next().await {
            answer.take(piece?);
        }
        return Ok(reply::json(200, encoder.whole(answer)));
    }
    // As long as nothing was sent, an error still has a status of its own.
    let first = match timeout(silence, pieces.next()).await {
        Ok(Some(first)) => Some(first?),
        Ok(None) | Err(_) => None,
    };
    Ok(reply::events(streamed(first, pieces, encoder, silence)))
}

/// Few servers can count; the others' answers are estimated.
async fn count_tokens(server: &Server, body: Bytes) -> Reply {
    if let Ok(counted) = server.shared.upstream.count_tokens(body.clone()).await
        && counted.status == 200
        && serde_json::from_slice::<Value>(&counted.body)
            .is_ok_and(|body| body.get("input_tokens").is_some_and(Value::is_u64))
    {
        return reply::json(200, counted.body);
    }
    reply::json(200, messages::estimated_count(&body).to_string())
}

async fn metadata(server: &Server, route: &MetadataRoute) -> Result<Reply, ClientError> {
    let metadata = server.shared.upstream.metadata(route).await.map_err(|error| ClientError::from(&error))?;
    let content_type = metadata.content_type.unwrap_or_else(|| HeaderValue::from_static("application/octet-stream"));
    Ok(reply::with_type(metadata.status, content_type, whole(metadata.body)))
}

async fn ready(server: &Server) -> Reply {
    match server.shared.upstream.metadata(&MetadataRoute::Models).await {
        Ok(models) if models.status < 500 => reply::json(200, json!({"status": "ready"}).to_string()),
        Ok(models) => unready(&format!("the model server answers with status {}", models.status)),
        Err(error) => unready(&error.to_string()),
    }
}

fn unready(reason: &str) -> Reply {
    reply::json(503, json!({"status": "not ready", "reason": reason}).to_string())
}

/// A browser's question whether a page may ask. Only pages that may come this far.
fn preflight() -> Reply {
    let mut reply = reply::json(StatusCode::NO_CONTENT.as_u16(), Bytes::new());
    let headers = reply.headers_mut();
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    let names = "authorization, content-type, x-api-key, anthropic-version, anthropic-beta";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
    reply
}

/// A path with its percent signs read; none where they can't be.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_they_should() {
        let model = |name: &str| Some(Route::Metadata(MetadataRoute::Model(name.to_owned())));
        for (path, route) in [
            ("/v1/chat/completions", Some(Route::Generate(Protocol::Chat))),
            ("/chat/completions", Some(Route::Generate(Protocol::Chat))),
            ("/v1/messages", Some(Route::Generate(Protocol::Messages))),
            ("/v1/responses", Some(Route::Generate(Protocol::Responses))),
            ("/v1/models", Some(Route::Metadata(MetadataRoute::Models))),
            ("/v1/models/org%2Fmodel", model("org/model")),
            ("/v1/models/../props", None),
            ("/v1/models/%2e%2e/slots", None),
            ("/v1/models/%zz", None),
            ("/completion", None),
            ("/", None),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }
}
