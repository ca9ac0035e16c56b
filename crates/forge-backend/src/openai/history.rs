//! The conversation in the wire form.

use forge_core::{Message, ToolCall};
use serde_json::{Value, json};

use super::adapt::{ReplayedArguments, Turns};

/// The `messages` of a request.
///
/// - What the system said stands first, in one message, wherever it was.
/// - Thinking is not replayed; a turn of the model that was nothing but thinking is left out.
/// - Arguments are always a valid JSON object, because [`forge_core::Arguments`] can't be anything else.
pub(super) fn encode(messages: &[Message], turns: Turns, arguments: ReplayedArguments) -> Vec<Value> {
    let system: Vec<&str> = messages.iter().filter_map(system_text).collect();
    let mut encoded = Vec::with_capacity(messages.len());
    if !system.is_empty() {
        encoded.push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    let mut user: Option<String> = None;
    for message in messages {
        let Message::User { content, origin: _ } = message else {
            if let Some(value) = encode_other(message, arguments) {
                encoded.extend(user.take().map(user_turn));
                encoded.push(value);
            }
            continue;
        };
        match (turns, &mut user) {
            (Turns::Alternating, Some(user)) => {
                user.push_str("\n\n");
                user.push_str(content);
            }
            (Turns::AsWritten | Turns::Alternating, _) => encoded.extend(user.replace(content.clone()).map(user_turn)),
        }
    }
    encoded.extend(user.map(user_turn));
    encoded
}

fn system_text(message: &Message) -> Option<&str> {
    match message {
        Message::System { content } => Some(content),
        Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    }
}

fn user_turn(content: String) -> Value {
    json!({"role": "user", "content": content})
}

/// A message that isn't the user's, unless it has nothing to send.
fn encode_other(message: &Message, arguments: ReplayedArguments) -> Option<Value> {
    match message {
        Message::System { .. } | Message::User { .. } => None,
        Message::Assistant { content, calls, reasoning: _ } if calls.is_empty() => {
            (!content.is_empty()).then(|| json!({"role": "assistant", "content": content}))
        }
        // Empty text and not null: templates that do something to the content fail on null.
        Message::Assistant { content, calls, reasoning: _ } => Some(json!({
            "role": "assistant",
            "content": content,
            "tool_calls": calls.iter().map(|call| encode_call(call, arguments)).collect::<Vec<_>>(),
        })),
        Message::Tool { call_id, name, content, kind: _ } => {
            Some(json!({"role": "tool", "tool_call_id": call_id, "name": name, "content": content}))
        }
    }
}

fn encode_call(call: &ToolCall, arguments: ReplayedArguments) -> Value {
    let arguments = match arguments {
        ReplayedArguments::Text => Value::from(call.arguments.as_str()),
        ReplayedArguments::Object => call.arguments.to_value(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    })
}

#[cfg(test)]
mod tests {
    use forge_core::{Arguments, CallId, ResultKind};

    use super::*;

    fn assistant(content: &str, reasoning: &str, calls: &[(&str, &str, &str)]) -> Message {
        let call = |&(id, name, arguments): &(&str, &str, &str)| ToolCall {
            id: CallId::new(id),
            name: name.into(),
            arguments: Arguments::from_json(arguments).unwrap(),
        };
        Message::Assistant {
            content: content.to_owned(),
            reasoning: reasoning.to_owned(),
            calls: calls.iter().map(call).collect(),
        }
    }

    fn result(id: &str, name: &str, content: &str) -> Message {
        Message::Tool {
            call_id: CallId::new(id),
            name: name.into(),
            content: content.to_owned(),
            kind: ResultKind::Success,
        }
    }

    #[test]
    fn a_call_and_its_result_pair_and_arguments_are_text() {
        let messages = [
            Message::input("go"),
            assistant("", "hm", &[("c1", "look", r#"{"at": 1.0}"#)]),
            result("c1", "look", "ok"),
        ];
        assert_eq!(
            encode(&messages, Turns::AsWritten, ReplayedArguments::Text),
            [
                json!({"role": "user", "content": "go"}),
                json!({"role": "assistant", "content": "", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1.0}"}}
                ]}),
                json!({"role": "tool", "tool_call_id": "c1", "name": "look", "content": "ok"}),
            ]
        );
    }

    #[test]
    fn arguments_are_an_object_where_the_template_wants_one() {
        let messages = [assistant("", "", &[("c1", "look", r#"{"at": 1}"#)])];
        let encoded = encode(&messages, Turns::AsWritten, ReplayedArguments::Object);
        assert_eq!(encoded[0]["tool_calls"][0]["function"]["arguments"], json!({"at": 1}));
    }

    #[test]
    fn system_messages_become_one_at_the_start() {
        let messages = [Message::system("a"), Message::input("go"), Message::system("b")];
        assert_eq!(
            encode(&messages, Turns::AsWritten, ReplayedArguments::Text),
            [json!({"role": "system", "content": "a\n\nb"}), json!({"role": "user", "content": "go"})]
        );
    }

    #[test]
    fn neighbouring_user_messages_stay_apart_unless_the_template_forbids_it() {
        let messages = [Message::input("go"), Message::nudge("call a tool")];
        assert_eq!(
            encode(&messages, Turns::AsWritten, ReplayedArguments::Text),
            [json!({"role": "user", "content": "go"}), json!({"role": "user", "content": "call a tool"})]
        );
        assert_eq!(
            encode(&messages, Turns::Alternating, ReplayedArguments::Text),
            [json!({"role": "user", "content": "go\n\ncall a tool"})]
        );
    }

    #[test]
    fn thinking_is_not_replayed_and_an_empty_turn_is_left_out() {
        let messages = [Message::input("go"), assistant("", "only thoughts", &[]), Message::nudge("answer")];
        assert_eq!(
            encode(&messages, Turns::Alternating, ReplayedArguments::Text),
            [json!({"role": "user", "content": "go\n\nanswer"})]
        );
    }
}
