//! What happened in a conversation, as far as the guardrails ask.

use forge_core::{Answer, Arguments, CallId, Message, Replayed, ReplayedCall, ToolCall};
use serde_json::{Value, json};

/// What happened since the user last spoke: the calls and their results. Whether a tool succeeded isn't known from a chat.
pub(crate) fn since_last_input(messages: &[Value]) -> Vec<Replayed> {
    let begin = messages.iter().rposition(|message| role(message) == "user").map_or(0, |place| place + 1);
    let turn = messages.get(begin..).unwrap_or_default();
    let mut happened = Vec::new();
    for (place, message) in turn.iter().enumerate() {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        let Some(calls) = calls.filter(|calls| role(message) == "assistant" && !calls.is_empty()) else { continue };
        let answers = turn.iter().skip(place + 1).take_while(|message| role(message) == "tool");
        let answer_to = |id: &str| {
            let found = answers.clone().find(|answer| answer.get("tool_call_id").and_then(Value::as_str) == Some(id));
            found.map_or(Answer::Missing, |answer| Answer::Unknown(text_of(answer.get("content"))))
        };
        let calls = calls.iter().filter_map(read_call).map(|call| {
            let answer = answer_to(call.id.as_str());
            ReplayedCall { call, answer }
        });
        happened.push(Replayed::Calls { calls: calls.collect(), beside: Vec::new() });
    }
    happened
}

fn read_call(call: &Value) -> Option<ToolCall> {
    let function = call.get("function")?;
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => Arguments::from_json(text).ok(),
        Some(Value::Object(object)) => Some(Arguments::from_object(object)),
        _ => None,
    };
    Some(ToolCall {
        id: CallId::new(call.get("id").and_then(Value::as_str).unwrap_or_default()),
        name: function.get("name")?.as_str()?.into(),
        arguments: arguments.unwrap_or_else(Arguments::empty),
    })
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// The text of a message's content: itself, or its text parts.
pub(crate) fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The engine's messages, to append to a chat. A turn without text and calls is left out.
pub(crate) fn to_chat(messages: &[Message]) -> Vec<Value> {
    messages.iter().filter_map(one_to_chat).collect()
}

fn one_to_chat(message: &Message) -> Option<Value> {
    Some(match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content, .. } => json!({"role": "user", "content": content}),
        Message::Assistant { content, calls, .. } if calls.is_empty() => {
            (!content.trim().is_empty()).then(|| json!({"role": "assistant", "content": content}))?
        }
        Message::Assistant { content, calls, .. } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let function = json!({"name": call.name, "arguments": call.arguments.as_str()});
                    json!({"id": call.id, "type": "function", "function": function})
                })
                .collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::Tool { call_id, name, content, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "name": name, "content": content})
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_after_the_last_input_is_told() {
        let call = |id: &str| json!({"id": id, "function": {"name": "look", "arguments": "{\"at\":1}"}});
        let messages = [
            json!({"role": "assistant", "tool_calls": [call("a")]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "old"}),
            json!({"role": "user", "content": "go on"}),
            json!({"role": "assistant", "tool_calls": [call("b"), call("c")]}),
            json!({"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "new"}]}),
        ];
        let happened = since_last_input(&messages);
        let [Replayed::Calls { calls, .. }] = happened.as_slice() else { panic!("{happened:?}") };
        let answers: Vec<_> = calls.iter().map(|call| (call.call.id.as_str(), call.answer.clone())).collect();
        assert_eq!(answers, [("b", Answer::Unknown("new".into())), ("c", Answer::Missing)]);
    }
}
