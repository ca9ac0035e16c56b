//! A typed request as the body of a chat completion.

use forge_core::{Message, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use super::ChatRequest;
use crate::{ModelRequest, Sampling};

impl From<&ModelRequest> for ChatRequest {
    /// What the system said stands first, in one message, wherever it was.
    fn from(request: &ModelRequest) -> Self {
        let mut body = Map::new();
        body.insert("messages".to_owned(), messages(&request.messages).into());
        if !request.tools.is_empty() {
            body.insert("tools".to_owned(), request.tools.iter().map(ToolSpec::to_openai).collect());
            body.insert("tool_choice".to_owned(), "auto".into());
        }
        // Small models ramble to the end of the context: no request goes out without a cap.
        body.insert("max_tokens".to_owned(), request.max_tokens.max(1).into());
        let Sampling { temperature, top_p, seed } = request.sampling;
        for (key, value) in [
            ("temperature", temperature.map(Value::from)),
            ("top_p", top_p.map(Value::from)),
            ("seed", seed.map(Value::from)),
        ] {
            if let Some(value) = value {
                body.insert(key.to_owned(), value);
            }
        }
        let (constraint, tool_mode) = (request.constraint.clone(), request.tool_mode);
        Self { body, constraint, tool_mode, reasoning: request.reasoning }
    }
}

fn messages(messages: &[Message]) -> Vec<Value> {
    let system: Vec<&str> = messages.iter().filter_map(system_text).collect();
    let head = (!system.is_empty()).then(|| json!({"role": "system", "content": system.join("\n\n")}));
    head.into_iter().chain(messages.iter().filter_map(other)).collect()
}

fn system_text(message: &Message) -> Option<&str> {
    match message {
        Message::System { content } => Some(content),
        Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    }
}

/// A message that isn't the system's.
fn other(message: &Message) -> Option<Value> {
    match message {
        Message::System { .. } => None,
        Message::User { content, origin: _ } => Some(json!({"role": "user", "content": content})),
        Message::Assistant { content, calls, reasoning } => {
            // Empty text and not null: templates that do something to the content fail on null.
            let mut turn = Map::from_iter([
                ("role".to_owned(), "assistant".into()),
                ("content".to_owned(), content.as_str().into()),
            ]);
            if !reasoning.is_empty() {
                turn.insert("reasoning_content".to_owned(), reasoning.as_str().into());
            }
            if !calls.is_empty() {
                turn.insert("tool_calls".to_owned(), calls.iter().map(call).collect());
            }
            Some(Value::Object(turn))
        }
        Message::Tool { call_id, name, content, kind: _ } => {
            Some(json!({"role": "tool", "tool_call_id": call_id, "name": name, "content": content}))
        }
    }
}

fn call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments.as_str()},
    })
}

#[cfg(test)]
mod tests {
    use forge_core::{Arguments, CallId, Constraint, ResultKind};

    use super::*;
    use crate::ToolMode;
    use crate::chat::shape::ReasoningReplay;

    fn request(messages: Vec<Message>, tools: Vec<ToolSpec>) -> ModelRequest {
        ModelRequest {
            messages: messages.into(),
            tools: tools.into(),
            tool_mode: ToolMode::Native,
            constraint: Constraint::Free,
            reasoning: ReasoningReplay::None,
            max_tokens: 64,
            sampling: Sampling::default(),
        }
    }

    fn body(request: &ModelRequest) -> Value {
        Value::Object(ChatRequest::from(request).body)
    }

    #[test]
    fn a_request_is_capped_and_leaves_the_rest_to_the_server() {
        let tool = ToolSpec::new("a", "does a", json!({"type": "object", "properties": {}}));
        assert_eq!(
            body(&request(vec![Message::input("hi")], vec![tool])),
            json!({
                "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"type": "function", "function": {
                    "name": "a", "description": "does a", "parameters": {"type": "object", "properties": {}},
                }}],
                "tool_choice": "auto",
                "max_tokens": 64,
            })
        );
    }

    #[test]
    fn without_tools_there_is_no_tool_choice_and_no_cap_is_zero() {
        let request = ModelRequest { max_tokens: 0, ..request(vec![Message::input("hi")], Vec::new()) };
        assert_eq!(body(&request), json!({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}));
    }

    #[test]
    fn the_sampling_goes_out_where_it_is_given() {
        let mut request = request(Vec::new(), Vec::new());
        request.sampling = Sampling { temperature: Some(0.0), top_p: Some(0.9), seed: Some(u64::MAX) };
        let body = body(&request);
        assert_eq!((&body["temperature"], &body["top_p"], &body["seed"]), (&json!(0.0), &json!(0.9), &json!(u64::MAX)));
    }

    #[test]
    fn a_call_and_its_result_pair_and_arguments_are_text() {
        let call = ToolCall {
            id: CallId::new("c1"),
            name: "look".into(),
            arguments: Arguments::from_json(r#"{"at": 1.0}"#).unwrap(),
        };
        let turn = Message::Assistant { content: String::new(), reasoning: "hm".to_owned(), calls: vec![call] };
        let (call_id, content) = (CallId::new("c1"), "ok".to_owned());
        let result = Message::Tool { call_id, name: "look".into(), content, kind: ResultKind::Success };
        assert_eq!(
            body(&request(vec![Message::input("go"), turn, result], Vec::new()))["messages"],
            json!([
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1.0}"}}
                ]},
                {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "ok"},
            ])
        );
    }

    #[test]
    fn system_messages_become_one_at_the_start() {
        let messages = vec![Message::system("a"), Message::input("go"), Message::system("b")];
        assert_eq!(
            body(&request(messages, Vec::new()))["messages"],
            json!([{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "go"}])
        );
    }
}
