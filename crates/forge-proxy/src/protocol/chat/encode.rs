//! A chat answer, whole or in chunks.

use bytes::Bytes;
use forge_core::{FinishReason, Usage};
use serde_json::{Value, json};

use super::error_body;
use crate::error::ClientError;
use crate::piece::{Answer, Envelope, FinalCall, Piece};
use crate::protocol::{Encode, set, to_bytes, write_event};
use crate::random;

/// Writes one chat answer.
pub(crate) struct ChatEncoder {
    id: String,
    created: u64,
    model: String,
    include_usage: bool,
    /// Whether the role was told.
    begun: bool,
}

impl ChatEncoder {
    /// For an answer to a request for this model.
    pub(crate) fn new(model: String, include_usage: bool) -> Self {
        Self { id: random::id("chatcmpl-"), created: random::now(), model, include_usage, begun: false }
    }

    fn adopt(&mut self, envelope: Envelope) {
        self.id = envelope.id.unwrap_or_else(|| std::mem::take(&mut self.id));
        self.model = envelope.model.unwrap_or_else(|| std::mem::take(&mut self.model));
        self.created = envelope.created.unwrap_or(self.created);
    }

    fn chunk(&self, delta: Value, finish: Option<&str>, out: &mut Vec<u8>) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        write_event(None, &self.object("chat.completion.chunk", json!([choice])), out);
    }

    fn object(&self, object: &str, choices: Value) -> Value {
        json!({"id": self.id, "object": object, "created": self.created, "model": self.model, "choices": choices})
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.chunk(json!({"role": "assistant", "content": ""}), None, out);
        }
    }
}

impl Encode for ChatEncoder {
    fn whole(&mut self, answer: Answer) -> Bytes {
        if let Some(raw) = answer.raw {
            return raw;
        }
        self.adopt(answer.envelope);
        let content = if answer.text.is_empty() && !answer.calls.is_empty() { Value::Null } else { answer.text.into() };
        let mut message = json!({"role": "assistant", "content": content});
        if !answer.reasoning.is_empty() {
            set(&mut message, "reasoning_content", answer.reasoning);
        }
        if !answer.calls.is_empty() {
            set(&mut message, "tool_calls", answer.calls.iter().map(call).collect::<Value>());
        }
        let finish = finish_reason(answer.finish, !answer.calls.is_empty());
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        let mut body = self.object("chat.completion", json!([choice]));
        set(&mut body, "usage", usage(answer.usage));
        to_bytes(&body)
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>) {
        match piece {
            Piece::Raw(bytes) => {
                self.begun = true;
                out.extend_from_slice(&bytes);
            }
            Piece::Named(envelope) => self.adopt(envelope),
            Piece::Text(text) => {
                self.begin(out);
                self.chunk(json!({"content": text}), None, out);
            }
            Piece::Reasoning(text) => {
                self.begin(out);
                self.chunk(json!({"reasoning_content": text}), None, out);
            }
            Piece::Calls(calls) => {
                self.begin(out);
                for (index, made) in calls.iter().enumerate() {
                    let mut delta = call(made);
                    set(&mut delta, "index", index);
                    self.chunk(json!({"tool_calls": [delta]}), None, out);
                }
            }
            Piece::End { told: true, .. } => {}
            Piece::End { finish, usage: cost, told: false } => {
                self.begin(out);
                self.chunk(json!({}), Some(finish_reason(finish, finish == FinishReason::ToolCalls)), out);
                if self.include_usage {
                    let mut chunk = self.object("chat.completion.chunk", json!([]));
                    set(&mut chunk, "usage", usage(cost));
                    write_event(None, &chunk, out);
                }
                out.extend_from_slice(b"data: [DONE]\n\n");
            }
        }
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b": forge is waiting for the model\n\n");
    }

    fn failure(&mut self, error: &ClientError, out: &mut Vec<u8>) {
        write_event(None, &error_body(error), out);
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

fn call(call: &FinalCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.as_str()});
    json!({"id": call.id, "type": "function", "function": function})
}

/// The protocol's word for the end.
pub(super) fn finish_reason(finish: FinishReason, has_calls: bool) -> &'static str {
    match finish {
        _ if has_calls => "tool_calls",
        FinishReason::Stop | FinishReason::ToolCalls => "stop",
        FinishReason::Length | FinishReason::Incomplete => "length",
        FinishReason::ContentFilter => "content_filter",
    }
}

fn usage(usage: Usage) -> Value {
    let (prompt, completion) = (usage.prompt_tokens.unwrap_or(0), usage.completion_tokens.unwrap_or(0));
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt.saturating_add(completion),
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens.unwrap_or(0)},
    })
}
