//! A Messages answer, whole or as events.

use bytes::Bytes;
use forge_core::{FinishReason, Usage};
use serde_json::{Value, json};

use super::error_body;
use crate::error::ClientError;
use crate::piece::{Answer, FinalCall, Piece};
use crate::protocol::{Encode, to_bytes, write_event};
use crate::random;

/// Writes one Messages answer.
pub(super) struct MessagesEncoder {
    id: String,
    model: String,
    /// What the prompt is thought to have at the start of a stream, when nothing is known yet.
    estimated_tokens: u64,
    begun: bool,
    /// How many blocks have begun.
    blocks: usize,
    open: Option<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

impl MessagesEncoder {
    pub(super) fn new(model: String, estimated_tokens: u64) -> Self {
        Self { id: random::id("msg_"), model, estimated_tokens, begun: false, blocks: 0, open: None }
    }

    fn message(&self, content: Value, stop_reason: Value, usage: Value) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": usage,
        })
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            let prompt = Usage { prompt_tokens: Some(self.estimated_tokens), ..Usage::default() };
            let message = self.message(json!([]), Value::Null, usage(prompt));
            event(json!({"type": "message_start", "message": message}), out);
        }
    }

    /// A piece of a block, which begins with it unless it is open.
    fn delta(&mut self, kind: Block, text: &str, out: &mut Vec<u8>) {
        self.begin(out);
        if self.open != Some(kind) {
            self.close(out);
            let block = match kind {
                Block::Text => json!({"type": "text", "text": ""}),
                Block::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            };
            self.start(block, out);
            self.open = Some(kind);
        }
        let delta = match kind {
            Block::Text => json!({"type": "text_delta", "text": text}),
            Block::Thinking => json!({"type": "thinking_delta", "thinking": text}),
        };
        self.within(delta, out);
    }

    fn start(&mut self, block: Value, out: &mut Vec<u8>) {
        event(json!({"type": "content_block_start", "index": self.blocks, "content_block": block}), out);
        self.blocks = self.blocks.saturating_add(1);
    }

    fn within(&self, delta: Value, out: &mut Vec<u8>) {
        event(json!({"type": "content_block_delta", "index": self.blocks.saturating_sub(1), "delta": delta}), out);
    }

    fn stop(&self, out: &mut Vec<u8>) {
        event(json!({"type": "content_block_stop", "index": self.blocks.saturating_sub(1)}), out);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if self.open.take().is_some() {
            self.stop(out);
        }
    }
}

impl Encode for MessagesEncoder {
    fn whole(&mut self, answer: Answer) -> Bytes {
        let mut content = Vec::new();
        if !answer.reasoning.is_empty() {
            content.push(json!({"type": "thinking", "thinking": answer.reasoning, "signature": ""}));
        }
        if !answer.text.is_empty() {
            content.push(json!({"type": "text", "text": answer.text}));
        }
        content.extend(
            answer.calls.iter().map(|call| block(call, serde_json::to_value(&call.arguments).unwrap_or_default())),
        );
        let stop = stop_reason(answer.finish, !answer.calls.is_empty());
        to_bytes(&self.message(content.into(), stop.into(), usage(answer.usage)))
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>) {
        match piece {
            // Bytes of a chat answer mean nothing here, and are never asked for.
            Piece::Raw(_) | Piece::Named(_) => {}
            Piece::Text(text) => self.delta(Block::Text, &text, out),
            Piece::Reasoning(text) => self.delta(Block::Thinking, &text, out),
            Piece::Calls(calls) => {
                self.begin(out);
                self.close(out);
                for call in &calls {
                    self.start(block(call, json!({})), out);
                    self.within(json!({"type": "input_json_delta", "partial_json": call.arguments.as_str()}), out);
                    self.stop(out);
                }
            }
            Piece::End { finish, usage: cost, .. } => {
                self.begin(out);
                self.close(out);
                let stop = stop_reason(finish, finish == FinishReason::ToolCalls);
                let delta = json!({"stop_reason": stop, "stop_sequence": null});
                event(json!({"type": "message_delta", "delta": delta, "usage": usage(cost)}), out);
                event(json!({"type": "message_stop"}), out);
            }
        }
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        self.begin(out);
        event(json!({"type": "ping"}), out);
    }

    fn failure(&mut self, error: &ClientError, out: &mut Vec<u8>) {
        event(error_body(error), out);
    }
}

fn event(data: Value, out: &mut Vec<u8>) {
    let name = data.get("type").and_then(Value::as_str).map(str::to_owned);
    write_event(name.as_deref(), &data, out);
}

fn block(call: &FinalCall, input: Value) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn stop_reason(finish: FinishReason, has_calls: bool) -> &'static str {
    match finish {
        _ if has_calls => "tool_use",
        FinishReason::Stop | FinishReason::ToolCalls => "end_turn",
        FinishReason::Length | FinishReason::Incomplete => "max_tokens",
        FinishReason::ContentFilter => "refusal",
    }
}

/// Anthropic counts what came out of the cache apart from the rest of the prompt. Both counts of the cache are always there.
fn usage(usage: Usage) -> Value {
    let cached = usage.cached_tokens.unwrap_or(0);
    json!({
        "input_tokens": usage.prompt_tokens.unwrap_or(0).saturating_sub(cached),
        "output_tokens": usage.completion_tokens.unwrap_or(0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
    })
}
