//! A Responses request as a chat request.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::encode::ResponsesEncoder;
use super::items::Conversation;
use super::tools::{APPLY_PATCH, read_tool};
use crate::error::ClientError;
use crate::json_body::JsonBody;
use crate::offered::{Offered, ToolShelf};
use crate::protocol::{Request, chat_choice, flag, in_brief};
use crate::turn::{Choice, Turn};

/// Reads a request.
pub(crate) fn decode(bytes: &Bytes, shelf: &ToolShelf) -> Result<Request, ClientError> {
    let JsonBody { fields, tools } = JsonBody::parse(bytes)?;
    let offered = shelf.get(tools, 2, read_tool)?;
    let streams = flag(&fields, "stream")?;
    for (key, kept) in [("previous_response_id", "responses"), ("conversation", "conversations")] {
        if fields.get(key).is_some_and(|value| !value.is_null()) {
            return Err(ClientError::invalid(format!(
                "`{key}` can't be used: no {kept} are stored here; send the whole conversation in `input`"
            )));
        }
    }
    let choice = choice(fields.get("tool_choice"), &offered)?;
    let mut messages = conversation(&fields)?;
    offered.names().rename_history(&mut messages);
    let encoder = Box::new(ResponsesEncoder::new(&fields));
    let body = chat_fields(fields, messages, &choice, &offered);
    let turn = Turn { body, as_sent: None, offered, choice, streams, size: bytes.len() };
    Ok(Request { turn, encoder })
}

fn conversation(fields: &Map<String, Value>) -> Result<Vec<Value>, ClientError> {
    let mut conversation = Conversation::default();
    if let Some(text) = fields.get("instructions").and_then(Value::as_str).filter(|text| !text.is_empty()) {
        conversation.instructions(text);
    }
    match fields.get("input") {
        Some(Value::String(text)) => conversation.user(text),
        Some(Value::Array(items)) if !items.is_empty() => {
            for item in items {
                conversation.item(item)?;
            }
        }
        Some(Value::Array(_)) => return Err(ClientError::invalid("`input` is empty; at least one item is needed")),
        Some(other) => {
            let found = in_brief(other);
            return Err(ClientError::invalid(format!("`input` must be text or an array of items, not {found}")));
        }
        None => return Err(ClientError::invalid("`input` is missing; give text or an array of items")),
    }
    Ok(conversation.into_messages())
}

/// The other fields under their names of a chat request. What is unknown passes through.
fn chat_fields(
    fields: Map<String, Value>,
    messages: Vec<Value>,
    choice: &Choice,
    offered: &Offered,
) -> Map<String, Value> {
    let mut body = Map::new();
    let mut messages = Some(messages);
    for (key, value) in fields {
        match key.as_str() {
            "input" => {
                if let Some(messages) = messages.take() {
                    body.insert("messages".to_owned(), Value::Array(messages));
                }
            }
            "max_output_tokens" => {
                if !value.is_null() {
                    body.insert("max_tokens".to_owned(), value);
                }
            }
            "text" => {
                if let Some(format) = value.get("format").and_then(response_format) {
                    body.insert("response_format".to_owned(), format);
                }
            }
            "reasoning" => {
                if let Some(effort) = value.get("effort").filter(|effort| effort.is_string()) {
                    body.insert("reasoning_effort".to_owned(), effort.clone());
                }
            }
            // Without a meaning for a model of one's own.
            "instructions"
            | "stream"
            | "stream_options"
            | "store"
            | "include"
            | "metadata"
            | "previous_response_id"
            | "conversation"
            | "truncation"
            | "service_tier"
            | "prompt_cache_key"
            | "safety_identifier"
            | "user"
            | "background"
            | "max_tool_calls"
            | "client_metadata"
            | "prompt"
            | "tool_choice"
            | "prompt_cache_retention" => {}
            "parallel_tool_calls" if offered.is_empty() => {}
            _ => {
                body.insert(key, value);
            }
        }
    }
    if let Some(word) = chat_choice(choice).filter(|_| !offered.is_empty()) {
        body.insert("tool_choice".to_owned(), word);
    }
    body
}

/// `text.format` as `response_format`; none for plain text.
fn response_format(format: &Value) -> Option<Value> {
    match format.get("type").and_then(Value::as_str)? {
        "json_object" => Some(json!({"type": "json_object"})),
        "json_schema" => {
            let mut inner = format.as_object()?.clone();
            inner.shift_remove("type");
            Some(json!({"type": "json_schema", "json_schema": inner}))
        }
        _ => None,
    }
}

fn choice(choice: Option<&Value>, offered: &Offered) -> Result<Choice, ClientError> {
    let Some(choice) = choice.filter(|choice| !choice.is_null()) else { return Ok(Choice::Auto) };
    let word = choice.as_str().or_else(|| match choice.get("type")?.as_str()? {
        "allowed_tools" => choice.get("mode")?.as_str(),
        other => Some(other),
    });
    let forced = |name: &str| Ok(Choice::Forced(offered.names().for_backend(name).to_owned()));
    match (word, choice.get("name").and_then(Value::as_str)) {
        (Some("auto"), _) => Ok(Choice::Auto),
        (Some("none"), _) => Ok(Choice::None),
        (Some("required"), _) => Ok(Choice::Required),
        (Some("function" | "custom"), Some(name)) => forced(name),
        (Some("apply_patch"), _) => forced(APPLY_PATCH),
        (_, _) => Err(ClientError::invalid(format!(
            "`tool_choice` can't be {}; allowed are \"auto\", \"none\", \"required\", and {{\"type\": \"function\" or \"custom\", \
             \"name\": …}} for a tool of the request",
            in_brief(choice)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(body: &Value) -> Result<Turn, String> {
        let shelf = ToolShelf::new(10);
        decode(&Bytes::from(body.to_string()), &shelf).map(|request| request.turn).map_err(|error| error.message)
    }

    #[test]
    fn fields_go_under_their_names_of_a_chat() {
        let turn = decoded(&json!({
            "model": "m", "instructions": "Be brief.", "input": "hi", "max_output_tokens": 9, "store": false, "top_p": 0.5,
            "text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}, "reasoning": {"effort": "low"},
        }))
        .unwrap();
        assert_eq!(
            Value::Object(turn.body),
            json!({
                "model": "m",
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
                "max_tokens": 9,
                "top_p": 0.5,
                "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
                "reasoning_effort": "low",
            })
        );
    }

    #[test]
    fn every_tool_becomes_a_function_or_goes() {
        let turn = decoded(&json!({"input": "hi", "tools": [
            {"type": "function", "name": "look", "parameters": {"type": "object"}},
            {"type": "custom", "name": "note"},
            {"type": "apply_patch"},
            {"type": "web_search"},
            {"type": "namespace", "name": "desk", "tools": [{"type": "function", "name": "open"}]},
        ]}))
        .unwrap();
        let names: Vec<&str> = turn.offered.toolset().names().map(forge_core::ToolName::as_str).collect();
        assert_eq!(names, ["look", "note", "apply_patch", "desk__open"]);
    }

    #[test]
    fn what_refers_to_stored_things_is_refused() {
        for (body, said) in [
            (json!({"input": "hi", "previous_response_id": "r"}), "no responses are stored here"),
            (json!({"input": [{"type": "item_reference", "id": "x"}]}), "nothing is stored here"),
            (json!({}), "`input` is missing"),
        ] {
            let error = decoded(&body).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
