//! A model server that answers by script, as bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the server does with one completion request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Answers with this status and JSON text.
    Json(u16, String),
    /// Streams these payloads of events and ends.
    Stream(Vec<String>),
    /// Streams these payloads, then nothing, until the client goes; tells when it does.
    Hang(Vec<String>, Arc<Notify>),
    /// Streams these payloads, waits for the word, streams those.
    Pause(Vec<String>, Arc<Notify>, Vec<String>),
}

#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Upstream {
    /// Plays the replies in order and repeats the last.
    pub(crate) async fn play(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start(replies, None).await
    }

    /// The same as llama.cpp's server, by what it says of itself.
    pub(crate) async fn play_llama_cpp(replies: impl IntoIterator<Item = Reply>) -> Self {
        let props = json!({
            "default_generation_settings": {"n_ctx": 8192}, "chat_template": "{{ tools }}", "build_info": "scripted",
        });
        Self::start(replies, Some(props)).await
    }

    async fn start(replies: impl IntoIterator<Item = Reply>, props: Option<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let upstream = Self { url, requests: Arc::default() };
        let requests = Arc::clone(&upstream.requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, props.clone(), Arc::clone(&replies), Arc::clone(&requests)));
            }
        });
        upstream
    }

    /// The bodies of the completion requests so far.
    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn json(&self, index: usize) -> Value {
        serde_json::from_slice(&self.requests()[index]).unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    props: Option<Value>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
) {
    let Some((head, body)) = read(&mut stream).await else { return };
    if !head.starts_with("POST") {
        if let Some(props) = props.filter(|_| head.starts_with("GET /props")) {
            return whole(&mut stream, 200, &props.to_string()).await;
        }
        let models = json!({"object": "list", "data": [{"id": "m", "object": "model"}]}).to_string();
        let (status, text) = if head.contains("/v1/models") { (200, models) } else { (404, "{}".to_owned()) };
        return whole(&mut stream, status, &text).await;
    }
    requests.lock().unwrap().push(body);
    let reply = {
        let mut replies = replies.lock().unwrap();
        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
    };
    match reply.unwrap() {
        Reply::Json(status, text) => whole(&mut stream, status, &text).await,
        Reply::Stream(payloads) => {
            begin(&mut stream).await;
            events(&mut stream, &payloads).await;
        }
        Reply::Pause(before, word, after) => {
            begin(&mut stream).await;
            events(&mut stream, &before).await;
            word.notified().await;
            events(&mut stream, &after).await;
        }
        Reply::Hang(payloads, gone) => {
            begin(&mut stream).await;
            events(&mut stream, &payloads).await;
            let mut byte = [0];
            while stream.read(&mut byte).await.is_ok_and(|read| read > 0) {}
            gone.notify_one();
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < end + length {
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    }
    Some((head, bytes.split_off(end)))
}

async fn whole(stream: &mut TcpStream, status: u16, text: &str) {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    let _gone = stream.write_all([head.as_bytes(), text.as_bytes()].concat().as_slice()).await;
}

async fn begin(stream: &mut TcpStream) {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _gone = stream.write_all(head).await;
}

async fn events(stream: &mut TcpStream, payloads: &[String]) {
    for payload in payloads {
        let _gone = stream.write_all(format!("data: {payload}\n\n").as_bytes()).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The payloads of a stream of text, in pieces.
pub(crate) fn text(pieces: &[&str]) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
            .to_string()
    };
    let usage = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    let pieces = pieces.iter().map(|piece| chunk(json!({"content": piece}), Value::Null));
    pieces.chain([chunk(json!({}), json!("stop")), usage.to_string(), "[DONE]".to_owned()]).collect()
}

/// A whole answer of text.
pub(crate) fn body(text: &str) -> String {
    let message = json!({"role": "assistant", "content": text});
    json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, "timings": {"own": 1.50},
    })
    .to_string()
}
