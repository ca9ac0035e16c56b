//! A server that plays what a script says, byte for byte, over real connections.

mod connection;
mod requests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forge_backend::{
    Backend, BackendError, Capabilities, ModelEvent, ModelRequest, OpenAiCompatible, OpenAiConfig, ReasoningReplay,
    Sampling, Timeouts, ToolMode, collect,
};
use forge_core::{Constraint, Message, Response, ToolSpec};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

pub(crate) use requests::Received;

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Writes bytes as they are.
    Write(Vec<u8>),
    /// Waits until the client has closed the connection, and says so.
    AwaitClose,
    /// Closes the connection.
    Close,
}

/// A script for one request.
pub(crate) type Script = Vec<Step>;

/// The running server. It ends with the test's runtime.
pub(crate) struct ScriptedServer {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    connections: Arc<Mutex<usize>>,
    closed: mpsc::UnboundedReceiver<()>,
}

impl ScriptedServer {
    /// Plays one script for each chat completion request, in order; the last one again when there are no more. Other
    /// routes are answered with 404 unless `routes` has them.
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Script>, routes: &[(&str, Script)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (closed_sender, closed) = mpsc::unbounded_channel();
        let scene = connection::Scene {
            scripts: Arc::new(Mutex::new(scripts.into_iter().collect::<VecDeque<_>>())),
            routes: Arc::new(routes.iter().map(|(path, script)| ((*path).to_owned(), script.clone())).collect()),
            received: Arc::default(),
            closed: closed_sender,
        };
        let (received, connections) = (Arc::clone(&scene.received), Arc::<Mutex<usize>>::default());
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                tokio::spawn(connection::serve(socket, scene.clone()));
            }
        });
        Self { url, received, connections, closed }
    }

    /// A server that answers each chat completion with the same script.
    pub(crate) async fn always(script: Script) -> Self {
        Self::start([script], &[]).await
    }

    /// The requests received so far on a path.
    pub(crate) fn received(&self, path: &str) -> Vec<Received> {
        self.received.lock().unwrap().iter().filter(|request| request.path == path).cloned().collect()
    }

    /// The chat completion requests received so far.
    pub(crate) fn completions(&self) -> Vec<Received> {
        self.received("/v1/chat/completions")
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// Waits until a script has seen the client close its connection.
    pub(crate) async fn client_closed(&mut self) {
        self.closed.recv().await.unwrap();
    }

    /// An adapter for this server that knows what the server can do and is impatient.
    pub(crate) fn backend(&self) -> OpenAiCompatible {
        OpenAiCompatible::new(self.config()).unwrap()
    }

    /// The configuration of [`backend`](Self::backend).
    pub(crate) fn config(&self) -> OpenAiConfig {
        OpenAiConfig {
            model: Some("m".to_owned()),
            capabilities: Some(Capabilities { native_tools: true, required_tool_choice: false, json_schema: true }),
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                first_token: Duration::from_secs(20),
                idle: Duration::from_secs(20),
                info: Duration::from_secs(5),
            },
            ..OpenAiConfig::new(self.url.clone())
        }
    }
}

/// A whole HTTP answer with a body of known length.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Script {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    vec![Step::Write(format!("{head}\r\n{body}").into_bytes())]
}

/// A whole HTTP answer in JSON.
pub(crate) fn json_answer(status: u16, body: &Value) -> Script {
    answer(status, &[("content-type", "application/json")], &body.to_string())
}

/// The head of an event stream that ends with the connection.
pub(crate) fn stream_head() -> Step {
    Step::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

/// An event stream written at once: the events' data, each as it is.
pub(crate) fn stream_of(data: &[&str]) -> Script {
    let body: String = data.iter().map(|data| format!("data: {data}\n\n")).collect();
    vec![stream_head(), Step::Write(body.into_bytes()), Step::Close]
}

/// A chunk with a piece of content.
pub(crate) fn text_chunk(text: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}).to_string()
}

/// A chunk with a finish reason.
pub(crate) fn finish_chunk(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

/// The stream of a good answer.
pub(crate) fn good(text: &str) -> Script {
    stream_of(&[&text_chunk(text), &finish_chunk("stop"), "[DONE]"])
}

/// A request with one tool.
pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        messages: vec![Message::system("Be brief."), Message::input("go")].into(),
        tools: vec![ToolSpec::new(
            "look",
            "looks",
            json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}),
        )]
        .into(),
        tool_mode: ToolMode::Native,
        constraint: Constraint::Free,
        reasoning: ReasoningReplay::None,
        max_tokens: 64,
        sampling: Sampling::default(),
    }
}

/// The whole response to a request.
pub(crate) async fn respond(backend: &impl Backend, request: ModelRequest) -> Result<Response, BackendError> {
    collect(backend.generate(request).await?, |_event: &ModelEvent| {}).await
}
