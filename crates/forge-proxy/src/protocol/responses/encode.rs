//! A Responses answer, whole or as the life of its items.

use bytes::Bytes;
use forge_core::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::tools::INPUT;
use crate::error::ClientError;
use crate::offered::ToolKind;
use crate::piece::{Answer, FinalCall, Piece};
use crate::protocol::chat::error_body;
use crate::protocol::{Encode, field, set, to_bytes, write_event};
use crate::random;

/// What an answer repeats of its request.
const REPEATED: [&str; 13] = [
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "reasoning",
    "service_tier",
    "temperature",
    "text",
    "tool_choice",
    "top_p",
    "truncation",
    "user",
];

/// Writes one Responses answer.
pub(super) struct ResponsesEncoder {
    id: String,
    created: u64,
    model: String,
    repeated: Map<String, Value>,
    sequence: u64,
    begun: bool,
    /// The items that are complete.
    output: Vec<Value>,
    open: Option<OpenItem>,
}

/// A message or a thought that is being written.
struct OpenItem {
    kind: Kind,
    id: String,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
}

impl ResponsesEncoder {
    pub(super) fn new(request: &Map<String, Value>) -> Self {
        let repeated = REPEATED.iter().filter_map(|&key| Some((key.to_owned(), request.get(key)?.clone()))).collect();
        Self {
            id: random::id("resp_"),
            created: random::now(),
            model: request.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
            repeated,
            sequence: 0,
            begun: false,
            output: Vec::new(),
            open: None,
        }
    }

    fn response(&self, status: &str, usage: Value) -> Value {
        let mut response = Map::from_iter([
            ("id".to_owned(), json!(self.id)),
            ("object".to_owned(), json!("response")),
            ("created_at".to_owned(), json!(self.created)),
            ("status".to_owned(), json!(status)),
            ("error".to_owned(), Value::Null),
            ("incomplete_details".to_owned(), Value::Null),
            ("model".to_owned(), json!(self.model)),
            ("output".to_owned(), json!(self.output)),
            ("previous_response_id".to_owned(), Value::Null),
            ("store".to_owned(), json!(false)),
            ("instructions".to_owned(), Value::Null),
            ("parallel_tool_calls".to_owned(), json!(true)),
            ("tool_choice".to_owned(), json!("auto")),
            ("tools".to_owned(), json!([])),
            ("usage".to_owned(), usage),
        ]);
        response.extend(self.repeated.clone());
        Value::Object(response)
    }

    fn finished(&self, finish: FinishReason, cost: Usage) -> Value {
        let reason = match finish {
            FinishReason::Stop | FinishReason::ToolCalls => None,
            FinishReason::Length | FinishReason::Incomplete => Some("max_output_tokens"),
            FinishReason::ContentFilter => Some("content_filter"),
        };
        let mut response = self.response(if reason.is_some() { "incomplete" } else { "completed" }, usage(cost));
        if let Some(reason) = reason {
            set(&mut response, "incomplete_details", json!({"reason": reason}));
        }
        response
    }

    fn event(&mut self, kind: &str, mut fields: Value, out: &mut Vec<u8>) {
        set(&mut fields, "type", kind);
        set(&mut fields, "sequence_number", self.sequence);
        self.sequence = self.sequence.saturating_add(1);
        write_event(Some(kind), &fields, out);
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let response = self.response("in_progress", Value::Null);
        self.event("response.created", json!({"response": response}), out);
        self.event("response.in_progress", json!({"response": response}), out);
    }

    /// Where the item that is being written will stand.
    fn place(&self) -> usize {
        self.output.len()
    }

    fn delta(&mut self, kind: Kind, text: &str, out: &mut Vec<u8>) {
        self.begin(out);
        if self.open.as_ref().is_some_and(|open| open.kind != kind) {
            self.close(out);
        }
        let id = match &mut self.open {
            Some(open) => {
                open.text.push_str(text);
                open.id.clone()
            }
            none => {
                let id = random::id(kind.id_prefix());
                *none = Some(OpenItem { kind, id: id.clone(), text: text.to_owned() });
                let place = self.place();
                self.event("response.output_item.added", json!({"output_index": place, "item": kind.begun(&id)}), out);
                let mut added = kind.within(&id, place);
                set(&mut added, "part", kind.part(""));
                self.event("response.content_part.added", added, out);
                id
            }
        };
        let mut delta = kind.within(&id, self.place());
        set(&mut delta, "delta", text);
        self.event(kind.delta_event(), delta, out);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(OpenItem { kind, id, text }) = self.open.take() else { return };
        let place = self.place();
        let mut done = kind.within(&id, place);
        set(&mut done, "text", text.as_str());
        self.event(kind.done_event(), done, out);
        let mut done = kind.within(&id, place);
        set(&mut done, "part", kind.part(&text));
        self.event("response.content_part.done", done, out);
        let item = kind.item(&id, &text);
        self.event("response.output_item.done", json!({"output_index": place, "item": item}), out);
        self.output.push(item);
    }

    fn call(&mut self, call: &FinalCall, out: &mut Vec<u8>) {
        let item = call_item(call);
        let mut begun = item.clone();
        set(&mut begun, "status", "in_progress");
        let (place, id) = (self.place(), field(&item, "id"));
        let (key, events) = match call.kind {
            ToolKind::Function => {
                ("arguments", Some(("response.function_call_arguments.delta", "response.function_call_arguments.done")))
            }
            ToolKind::Custom => {
                (INPUT, Some(("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done")))
            }
            ToolKind::ApplyPatch => ("operation", None),
        };
        if events.is_some() {
            set(&mut begun, key, "");
        }
        self.event("response.output_item.added", json!({"output_index": place, "item": begun}), out);
        if let Some((delta, done)) = events {
            self.event(delta, json!({"item_id": id, "output_index": place, "delta": field(&item, key)}), out);
            let mut end = json!({"item_id": id, "output_index": place});
            set(&mut end, key, field(&item, key));
            if call.kind == ToolKind::Function {
                set(&mut end, "name", field(&item, "name"));
            }
            self.event(done, end, out);
        }
        self.event("response.output_item.done", json!({"output_index": place, "item": item}), out);
        self.output.push(item);
    }
}

impl Encode for ResponsesEncoder {
    fn whole(&mut self, answer: Answer) -> Bytes {
        for (kind, text) in [(Kind::Reasoning, &answer.reasoning), (Kind::Message, &answer.text)] {
            if !text.is_empty() {
                self.output.push(kind.item(&random::id(kind.id_prefix()), text));
            }
        }
        self.output.extend(answer.calls.iter().map(call_item));
        to_bytes(&self.finished(answer.finish, answer.usage))
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>) {
        match piece {
            // Bytes of a chat answer mean nothing here, and are never asked for.
            Piece::Raw(_) | Piece::Named(_) => {}
            Piece::Text(text) => self.delta(Kind::Message, &text, out),
            Piece::Reasoning(text) => self.delta(Kind::Reasoning, &text, out),
            Piece::Calls(calls) => {
                self.begin(out);
                self.close(out);
                for call in &calls {
                    self.call(call, out);
                }
            }
            Piece::End { finish, usage, .. } => {
                self.begin(out);
                self.close(out);
                let response = self.finished(finish, usage);
                let status = response.get("status").and_then(Value::as_str).unwrap_or("completed").to_owned();
                self.event(&format!("response.{status}"), json!({"response": response}), out);
            }
        }
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        self.begin(out);
        out.extend_from_slice(b": forge is waiting for the model\n\n");
    }

    fn failure(&mut self, error: &ClientError, out: &mut Vec<u8>) {
        self.begin(out);
        self.close(out);
        let mut response = self.response("failed", Value::Null);
        let error = field(&error_body(error), "error");
        let code = Some(field(&error, "code")).filter(|code| !code.is_null()).unwrap_or_else(|| field(&error, "type"));
        set(&mut response, "error", json!({"code": code, "message": field(&error, "message")}));
        self.event("response.failed", json!({"response": response}), out);
    }
}

impl Kind {
    fn id_prefix(self) -> &'static str {
        match self {
            Self::Message => "msg_",
            Self::Reasoning => "rs_",
        }
    }

    fn delta_event(self) -> &'static str {
        match self {
            Self::Message => "response.output_text.delta",
            Self::Reasoning => "response.reasoning_text.delta",
        }
    }

    fn done_event(self) -> &'static str {
        match self {
            Self::Message => "response.output_text.done",
            Self::Reasoning => "response.reasoning_text.done",
        }
    }

    fn within(self, id: &str, place: usize) -> Value {
        json!({"item_id": id, "output_index": place, "content_index": 0})
    }

    fn part(self, text: &str) -> Value {
        match self {
            Self::Message => json!({"type": "output_text", "text": text, "annotations": []}),
            Self::Reasoning => json!({"type": "reasoning_text", "text": text}),
        }
    }

    fn begun(self, id: &str) -> Value {
        let mut item = self.item(id, "");
        set(&mut item, "status", "in_progress");
        set(&mut item, "content", json!([]));
        item
    }

    fn item(self, id: &str, text: &str) -> Value {
        let content = json!([self.part(text)]);
        match self {
            Self::Message => {
                json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content})
            }
            Self::Reasoning => {
                json!({"type": "reasoning", "id": id, "summary": [], "status": "completed", "content": content})
            }
        }
    }
}

fn call_item(call: &FinalCall) -> Value {
    match call.kind {
        ToolKind::Function => json!({
            "type": "function_call",
            "id": random::id("fc_"),
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments.as_str(),
            "status": "completed",
        }),
        ToolKind::Custom => json!({
            "type": "custom_tool_call",
            "id": random::id("ctc_"),
            "call_id": call.id,
            "name": call.name,
            "input": call.arguments.to_object().get(INPUT).and_then(Value::as_str).unwrap_or_default(),
            "status": "completed",
        }),
        ToolKind::ApplyPatch => json!({
            "type": "apply_patch_call",
            "id": random::id("apc_"),
            "call_id": call.id,
            "status": "completed",
            "operation": call.arguments.to_value(),
        }),
    }
}

fn usage(usage: Usage) -> Value {
    let (prompt, completion) = (usage.prompt_tokens.unwrap_or(0), usage.completion_tokens.unwrap_or(0));
    json!({
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens.unwrap_or(0)},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt.saturating_add(completion),
    })
}
