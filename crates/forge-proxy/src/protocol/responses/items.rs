//! Items of a conversation, as messages of a chat.

use serde_json::{Value, json};

use super::tools::{APPLY_PATCH, INPUT, full_name};
use crate::error::ClientError;
use crate::protocol::in_brief;
use crate::protocol::messages::content_of;

/// Puts items together: calls that follow each other, and the text before them, are one turn of the model; pictures among
/// results follow the results.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<Value>,
    /// Pictures of results, until the last result of the batch has come.
    pictures: Vec<Value>,
}

impl Conversation {
    /// Adds a message of the system.
    pub(super) fn instructions(&mut self, text: &str) {
        self.messages.push(json!({"role": "system", "content": text}));
    }

    /// Adds what a user says.
    pub(super) fn user(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// Adds an item.
    ///
    /// # Errors
    /// When it is none, or refers to something this server doesn't keep.
    pub(super) fn item(&mut self, item: &Value) -> Result<(), ClientError> {
        if !item.is_object() {
            return Err(ClientError::invalid(format!("an item of `input` must be an object, not {}", in_brief(item))));
        }
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
        match kind {
            "message" => self.message(item),
            "function_call" => self.call(item, &arguments_text(item.get("arguments"))),
            "custom_tool_call" => {
                let input = json!({INPUT: item.get("input").and_then(Value::as_str).unwrap_or_default()});
                self.call(item, &input.to_string());
            }
            "apply_patch_call" => {
                let operation = item.get("operation").map_or_else(|| "{}".to_owned(), Value::to_string);
                let named = json!({"name": APPLY_PATCH, "call_id": item.get("call_id")});
                self.call(&named, &operation);
            }
            "item_reference" => {
                return Err(ClientError::invalid(
                    "`input` refers to an item by its id, but nothing is stored here; send the whole conversation",
                ));
            }
            output if output.ends_with("_output") => self.result(item),
            // Thinking and what OpenAI's servers did is not replayed.
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, item: &Value) {
        self.settle();
        let role = match item.get("role").and_then(Value::as_str) {
            Some("assistant") => "assistant",
            Some("system" | "developer") => "system",
            _ => "user",
        };
        let content = match item.get("content") {
            Some(Value::Array(parts)) => {
                content_of(parts.iter().filter_map(part).collect()).unwrap_or_else(|| "".into())
            }
            Some(Value::String(text)) => text.as_str().into(),
            _ => "".into(),
        };
        self.messages.push(json!({"role": role, "content": content}));
    }

    fn call(&mut self, item: &Value, arguments: &str) {
        self.settle();
        let space = item.get("namespace").and_then(Value::as_str);
        let name = full_name(space, item.get("name").and_then(Value::as_str).unwrap_or_default());
        let id = item.get("call_id").or_else(|| item.get("id")).cloned().unwrap_or_default();
        let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        if self.messages.last().and_then(|last| last.get("role")).and_then(Value::as_str) != Some("assistant") {
            self.messages.push(json!({"role": "assistant", "content": ""}));
        }
        let Some(Value::Object(turn)) = self.messages.last_mut() else { return };
        if let Value::Array(calls) = turn.entry("tool_calls").or_insert_with(|| json!([])) {
            calls.push(call);
        }
    }

    fn result(&mut self, item: &Value) {
        let mut texts = Vec::new();
        match item.get("output") {
            Some(Value::String(text)) => texts.push(text.clone()),
            Some(Value::Array(parts)) => {
                for part in parts.iter().filter_map(part) {
                    match part.get("text").and_then(Value::as_str) {
                        Some(text) => texts.push(text.to_owned()),
                        None => self.pictures.push(part),
                    }
                }
            }
            Some(Value::Null) | None => texts.extend(item.get("status").and_then(Value::as_str).map(str::to_owned)),
            Some(other) => texts.push(other.to_string()),
        }
        let id = item.get("call_id").cloned().unwrap_or_default();
        self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": texts.join("\n")}));
    }

    fn settle(&mut self) {
        if !self.pictures.is_empty() {
            self.messages.push(json!({"role": "user", "content": std::mem::take(&mut self.pictures)}));
        }
    }

    /// The messages.
    pub(super) fn into_messages(mut self) -> Vec<Value> {
        self.settle();
        self.messages
    }
}

fn arguments_text(arguments: Option<&Value>) -> String {
    match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "{}".to_owned(),
        Some(other) => other.to_string(),
    }
}

fn part(part: &Value) -> Option<Value> {
    match part.get("type").and_then(Value::as_str)? {
        "input_text" | "output_text" | "text" | "refusal" => {
            let text = part.get("text").or_else(|| part.get("refusal"))?;
            Some(json!({"type": "text", "text": text}))
        }
        "input_image" => {
            let url = part.get("image_url")?;
            let url = url.get("url").unwrap_or(url);
            Some(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        "input_file" => Some(json!({"type": "text", "text": "[a file that can't be shown]"})),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_become_turns() {
        let mut conversation = Conversation::default();
        for item in [
            json!({"role": "user", "content": [{"type": "input_text", "text": "go"}]}),
            json!({"type": "reasoning", "summary": []}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "looking"}]}),
            json!({"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}),
            json!({"type": "custom_tool_call", "call_id": "b", "name": "note", "input": "x\ny"}),
            json!({"type": "function_call_output", "call_id": "a", "output": [
                {"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:x"},
            ]}),
            json!({"type": "custom_tool_call_output", "call_id": "b", "output": "noted"}),
            json!({"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}}),
            json!({"type": "apply_patch_call_output", "call_id": "c", "status": "completed"}),
        ] {
            assert!(conversation.item(&item).is_ok());
        }
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        assert_eq!(
            conversation.into_messages(),
            [
                json!({"role": "user", "content": "go"}),
                json!({"role": "assistant", "content": "looking", "tool_calls": [
                    call("a", "look", "{}"), call("b", "note", "{\"input\":\"x\\ny\"}"),
                ]}),
                json!({"role": "tool", "tool_call_id": "a", "content": "seen"}),
                json!({"role": "tool", "tool_call_id": "b", "content": "noted"}),
                json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}),
                json!({"role": "assistant", "content": "", "tool_calls": [
                    call("c", "apply_patch", "{\"type\":\"delete_file\",\"path\":\"a\"}"),
                ]}),
                json!({"role": "tool", "tool_call_id": "c", "content": "completed"}),
            ]
        );
    }
}
