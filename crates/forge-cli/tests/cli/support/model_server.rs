//! A scripted model server: plays one reply after another to whoever asks for a completion.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with one request for a completion.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Streams the text as content, in two pieces.
    Text(String),
    /// Streams a structured call.
    Call(&'static str, Value),
    /// Sends headers and a first piece, then nothing until the client goes.
    Stall,
    /// Sends a first piece, then closes the connection.
    BreakOff,
    /// Answers with this status, content type and body.
    Raw(u16, &'static str, String),
}

/// A server on a free loopback port. It ends with the test's process.
pub(crate) struct ModelServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl ModelServer {
    /// Plays the replies in order; past the last one it repeats it.
    pub(crate) fn play(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (replies, log) = (Arc::clone(&replies), Arc::clone(&log));
                thread::spawn(move || drop(serve(stream, &replies, &log)));
            }
        });
        Self { url, requests }
    }

    /// The bodies of the completion requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, replies: &Mutex<VecDeque<Reply>>, log: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if first.starts_with("GET /props") {
        let props = json!({
            "default_generation_settings": {"n_ctx": 8192}, "total_slots": 1, "model_path": "models/scripted.gguf",
            "chat_template": "{% for tool in tools %}{% endfor %}", "build_info": "scripted",
        });
        return whole(stream, 200, "application/json", &props.to_string());
    }
    if first.starts_with("GET /v1/models") {
        let models = json!({"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "llamacpp"}]});
        return whole(stream, 200, "application/json", &models.to_string());
    }
    if !first.starts_with("POST /v1/chat/completions") {
        return whole(stream, 404, "application/json", r#"{"error": {"message": "not found"}}"#);
    }
    log.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    let reply = {
        let mut replies = replies.lock().unwrap();
        if replies.len() > 1 { replies.pop_front().unwrap() } else { replies.front().unwrap().clone() }
    };
    complete(stream, reply)
}

fn complete(mut stream: TcpStream, reply: Reply) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    match reply {
        Reply::Raw(status, content_type, body) => whole(stream, status, content_type, &body),
        Reply::Text(text) => {
            stream.write_all(head.as_bytes())?;
            let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let (start, end) = text.split_at(middle);
            chunk(&mut stream, json!({"role": "assistant", "content": null}), Value::Null)?;
            chunk(&mut stream, json!({"content": start}), Value::Null)?;
            chunk(&mut stream, json!({"content": end}), Value::Null)?;
            end_of_stream(&mut stream, "stop")
        }
        Reply::Call(name, arguments) => {
            stream.write_all(head.as_bytes())?;
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": "", "type": "function", "function": function});
            chunk(&mut stream, json!({"role": "assistant", "content": null, "tool_calls": [call]}), Value::Null)?;
            end_of_stream(&mut stream, "tool_calls")
        }
        Reply::Stall => {
            stream.write_all(head.as_bytes())?;
            chunk(&mut stream, json!({"content": "Let me think"}), Value::Null)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            stream.read(&mut [0]).map(|_| ())
        }
        Reply::BreakOff => {
            stream.write_all(head.as_bytes())?;
            chunk(&mut stream, json!({"content": "Let me"}), Value::Null)
        }
    }
}

fn whole(mut stream: TcpStream, status: u16, content_type: &str, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn chunk(stream: &mut TcpStream, delta: Value, finish: Value) -> std::io::Result<()> {
    let chunk = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    write!(stream, "data: {chunk}\n\n")?;
    stream.flush()
}

fn end_of_stream(stream: &mut TcpStream, finish: &str) -> std::io::Result<()> {
    chunk(stream, json!({}), json!(finish))?;
    let usage = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    });
    write!(stream, "data: {usage}\n\ndata: [DONE]\n\n")?;
    stream.flush()
}
