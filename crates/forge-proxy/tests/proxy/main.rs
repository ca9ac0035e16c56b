//! The proxy as its clients see it, in front of a model server that answers by script.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic, also outside its own function")]

mod access;
mod passing;
mod protocols;
mod retries;
mod upstream;

use forge_backend::OpenAiConfig;
use forge_proxy::{Proxy, ProxyConfig};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::upstream::Upstream;

/// A proxy that runs until it is dropped.
struct Running {
    url: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    async fn before(upstream: &Upstream) -> Self {
        Self::with(ProxyConfig::new(OpenAiConfig::new(&upstream.url))).await
    }

    async fn with(config: ProxyConfig) -> Self {
        let proxy = Proxy::new(config).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move { proxy.serve(listener, stopped.cancelled()).await.unwrap() });
        Self { url, stop, task }
    }

    async fn post(&self, path: &str, body: &Value) -> Response {
        Client::new().post(format!("{}{path}", self.url)).json(body).send().await.unwrap()
    }

    async fn chat(&self, body: &Value) -> Response {
        self.post("/v1/chat/completions", body).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A tool in the form of the chat-completions API.
fn weather() -> Value {
    let parameters = json!({
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"],
    });
    json!({"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": parameters}})
}

/// A request with that tool.
fn request(stream: bool) -> Value {
    let messages = json!([{"role": "user", "content": "Oslo?"}]);
    json!({"model": "m", "messages": messages, "tools": [weather()], "stream": stream})
}
