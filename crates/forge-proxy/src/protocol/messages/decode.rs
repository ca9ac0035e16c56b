//! A Messages request as a chat request.

use bytes::Bytes;
use forge_core::ToolSpec;
use serde_json::{Map, Value, json};

use super::content::UserContent;
use super::encode::MessagesEncoder;
use crate::error::ClientError;
use crate::history::text_of;
use crate::json_body::JsonBody;
use crate::offered::{ClientTool, Offered, ToolKind, ToolShelf};
use crate::protocol::{Request, chat_choice, entries, flag, in_brief, set};
use crate::turn::{Choice, Turn};

/// The head of a block that changes with every request and would spoil the backend's cache of the prompt.
const BILLING: &str = "x-anthropic-billing-header";

/// Reads a request.
pub(crate) fn decode(bytes: &Bytes, shelf: &ToolShelf) -> Result<Request, ClientError> {
    let JsonBody { mut fields, tools } = JsonBody::parse(bytes)?;
    let offered = shelf.get(tools, 1, read_tool)?;
    let streams = flag(&fields, "stream")?;
    let choice = choice(fields.get("tool_choice"), &offered)?;
    let mut messages = Vec::new();
    if let Some(system) = fields.get("system").map(system_text).filter(|text| !text.is_empty()) {
        messages.push(json!({"role": "system", "content": system}));
    }
    for message in std::mem::take(entries(&mut fields, "messages")?) {
        read_message(message, &mut messages)?;
    }
    offered.names().rename_history(&mut messages);
    let model = fields.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    let body = chat_fields(fields, messages, &choice, &offered);
    let turn = Turn { body, as_sent: None, offered, choice, streams, size: bytes.len() };
    let encoder = Box::new(MessagesEncoder::new(model, turn.estimated_tokens()));
    Ok(Request { turn, encoder })
}

/// The other fields under their names of a chat request. What is unknown passes through.
fn chat_fields(
    fields: Map<String, Value>,
    messages: Vec<Value>,
    choice: &Choice,
    offered: &Offered,
) -> Map<String, Value> {
    let mut body = Map::new();
    let parallel = fields.get("tool_choice").and_then(|choice| choice.get("disable_parallel_tool_use"));
    let parallel = parallel.and_then(Value::as_bool).map(|disabled| !disabled);
    let mut messages = Some(messages);
    for (key, value) in fields {
        match key.as_str() {
            "messages" => {
                if let Some(messages) = messages.take() {
                    body.insert(key, Value::Array(messages));
                }
            }
            "stop_sequences" => {
                if value.as_array().is_some_and(|words| !words.is_empty()) {
                    body.insert("stop".to_owned(), value);
                }
            }
            // Without a meaning for a model of one's own.
            "system" | "stream" | "metadata" | "service_tier" | "thinking" | "context_management" | "betas"
            | "container" | "mcp_servers" | "output_config" | "tool_choice" | "anthropic_version" => {}
            _ => {
                body.insert(key, value);
            }
        }
    }
    if !offered.is_empty() {
        if let Some(word) = chat_choice(choice) {
            body.insert("tool_choice".to_owned(), word);
        }
        if let Some(parallel) = parallel {
            body.insert("parallel_tool_calls".to_owned(), parallel.into());
        }
    }
    body
}

fn system_text(system: &Value) -> String {
    match system {
        Value::String(text) => without_billing(text).to_owned(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str()).map(without_billing);
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    }
}

/// A text without a billing line at its head.
fn without_billing(text: &str) -> &str {
    if !text.trim_start().starts_with(BILLING) {
        return text;
    }
    text.trim_start().split_once('\n').map_or("", |(_, rest)| rest.trim_start())
}

fn read_message(message: Value, messages: &mut Vec<Value>) -> Result<(), ClientError> {
    let Value::Object(mut message) = message else {
        return Err(ClientError::invalid(format!("a message must be an object, not {}", in_brief(&message))));
    };
    let content = message.remove("content").unwrap_or_default();
    match message.get("role").and_then(Value::as_str) {
        Some("assistant") => messages.push(assistant(content)),
        Some("system" | "developer") => messages.push(json!({"role": "system", "content": text_of(Some(&content))})),
        Some("user") => match content {
            Value::Array(blocks) => {
                let mut user = UserContent::read(blocks);
                messages.append(&mut user.results);
                messages.extend(user.into_content().map(|content| json!({"role": "user", "content": content})));
            }
            text => messages.push(json!({"role": "user", "content": text})),
        },
        other => {
            let role = other.unwrap_or("nothing");
            return Err(ClientError::invalid(format!(
                "`role` can't be {role:?}; allowed are \"user\", \"assistant\" and \"system\""
            )));
        }
    }
    Ok(())
}

/// A turn of the model. Its thinking is not replayed.
fn assistant(content: Value) -> Value {
    let blocks = match content {
        Value::Array(blocks) => blocks,
        text => return json!({"role": "assistant", "content": text}),
    };
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    let texts: Vec<&str> =
        blocks.iter().filter(|block| is(block, "text")).filter_map(|block| block.get("text")?.as_str()).collect();
    let calls: Vec<Value> = blocks
        .iter()
        .filter(|block| is(block, "tool_use"))
        .map(|block| {
            let arguments =
                block.get("input").filter(|input| input.is_object()).map_or("{}".to_owned(), Value::to_string);
            json!({
                "id": block.get("id"),
                "type": "function",
                "function": {"name": block.get("name"), "arguments": arguments},
            })
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": texts.join("\n")});
    if !calls.is_empty() {
        set(&mut message, "tool_calls", calls);
    }
    message
}

fn read_tool(value: Value, tools: &mut Vec<ClientTool>) -> Result<(), ClientError> {
    let by_anthropic =
        value.get("type").and_then(Value::as_str).is_some_and(|kind| !matches!(kind, "custom" | "function"));
    if by_anthropic && value.get("input_schema").is_none() {
        // Run by Anthropic's servers, or known to Anthropic's models alone.
        tools.push(ClientTool::Dropped);
        return Ok(());
    }
    let spec =
        ToolSpec::from_openai(&value).map_err(|_error| ClientError::invalid("a tool needs a non-empty `name`"))?;
    tools.push(ClientTool::Known { spec, kind: ToolKind::Function, chat: None });
    Ok(())
}

fn choice(choice: Option<&Value>, offered: &Offered) -> Result<Choice, ClientError> {
    let Some(choice) = choice.filter(|choice| !choice.is_null()) else { return Ok(Choice::Auto) };
    let word = choice.as_str().or_else(|| choice.get("type")?.as_str());
    match (word, choice.get("name").and_then(Value::as_str)) {
        (Some("auto"), _) => Ok(Choice::Auto),
        (Some("any"), _) => Ok(Choice::Required),
        (Some("none"), _) => Ok(Choice::None),
        (Some("tool"), Some(name)) => Ok(Choice::Forced(offered.names().for_backend(name).to_owned())),
        (_, _) => Err(ClientError::invalid(format!(
            "`tool_choice` can't be {}; its `type` must be \"auto\", \"any\", \"none\", or \"tool\" with a `name`",
            in_brief(choice)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(body: &Value) -> Map<String, Value> {
        let shelf = ToolShelf::new(10);
        decode(&Bytes::from(body.to_string()), &shelf)
            .map_err(|error| error.message)
            .map(|request| request.turn.body)
            .unwrap()
    }

    #[test]
    fn a_conversation_becomes_a_chat() {
        let body = decoded(&json!({
            "model": "m", "max_tokens": 9, "top_k": 4, "stop_sequences": ["END"], "metadata": {"user_id": "x"},
            "system": [{"type": "text", "text": "x-anthropic-billing-header: v=1;"}, {"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": ""},
                    {"type": "text", "text": "looking"},
                    {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}},
                ]},
                {"role": "user", "content": [
                    {"type": "text", "text": "and now?"},
                    {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                        {"type": "text", "text": "gone"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                    ]},
                ]},
            ],
        }));
        assert_eq!(
            Value::Object(body),
            json!({
                "model": "m", "max_tokens": 9, "top_k": 4, "stop": ["END"],
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "go"},
                    {"role": "assistant", "content": "looking", "tool_calls": [
                        {"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}},
                    ]},
                    {"role": "tool", "tool_call_id": "t1", "content": "Error: gone"},
                    {"role": "user", "content": [
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                        {"type": "text", "text": "and now?"},
                    ]},
                ],
            })
        );
    }

    #[test]
    fn tools_and_choices_are_translated() {
        let tools = json!([{"name": "look", "input_schema": {"type": "object"}}, {"type": "web_search_20250305", "name": "web_search"}]);
        for (choice, expected) in [
            (json!({"type": "any"}), json!("required")),
            (json!({"type": "none"}), json!("none")),
            (json!({"type": "tool", "name": "look"}), json!({"type": "function", "function": {"name": "look"}})),
        ] {
            let body = json!({"messages": [{"role": "user", "content": "hi"}], "tools": tools, "tool_choice": choice});
            assert_eq!(decoded(&body)["tool_choice"], expected, "{choice}");
        }
    }
}
