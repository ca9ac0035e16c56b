//! Tools without the server's help: described in the prompt, and the calls of the past written as text the model can
//! imitate. The calls in its answer are read by `forge-parse`, as they always are.
//!
//! The notation is that of Hermes, which most open models have seen in training: a call is JSON in `<tool_call>`, a
//! result is text in `<tool_response>`.

use forge_core::ToolSpec;
use serde_json::{Value, json};

use super::sanitise::{arrange, text_of};
use super::shape::Turns;

/// What is said about calls, before the tools.
const INTRODUCTION: &str = "\
# Tools

You work with tools. To call one, write its name and its arguments as JSON between these tags, and nothing after it:

<tool_call>
{\"name\": \"<name>\", \"arguments\": {<arguments>}}
</tool_call>

The result comes back between <tool_response> and </tool_response>. Never write a result yourself. These are the tools:
";

/// The conversation with the tools described in its system message and with its calls and results as text.
///
/// The messages are safe already: calls and results pair. The system message always comes out the same for the same tools,
/// so that a server's prompt cache holds. Results become the user's turns: no other role is left to them, and every chat
/// template takes them there. Without tools only what happened before is rewritten.
pub(super) fn prompted(messages: Vec<Value>, tools: &[ToolSpec]) -> Vec<Value> {
    let mut written: Vec<Value> = Vec::with_capacity(messages.len().saturating_add(1));
    let mut results: Vec<Value> = Vec::new();
    for message in messages {
        match message.get("role").and_then(Value::as_str) {
            Some("tool") => {
                let content = text_of(message.get("content").unwrap_or(&Value::Null));
                results.push(turn("user", format!("<tool_response>\n{content}\n</tool_response>")));
            }
            Some("user") if !results.is_empty() => {
                results.push(message);
                written.extend(joined(std::mem::take(&mut results)));
            }
            role => {
                written.extend(joined(std::mem::take(&mut results)));
                written.push(if role == Some("assistant") { with_calls_as_text(message) } else { message });
            }
        }
    }
    written.extend(joined(results));
    if tools.is_empty() { written } else { with_tools(written, tools) }
}

/// The user's turns as one.
fn joined(turns: Vec<Value>) -> Option<Value> {
    arrange(turns, Turns::Alternating).into_iter().next()
}

fn turn(role: &str, content: String) -> Value {
    json!({"role": role, "content": content})
}

/// The tools at the end of what the system says first.
fn with_tools(mut messages: Vec<Value>, tools: &[ToolSpec]) -> Vec<Value> {
    let described = describe(tools);
    let is_system = |message: &Value| message.get("role").and_then(Value::as_str) == Some("system");
    match messages.first_mut().filter(|first| is_system(first)) {
        Some(Value::Object(head)) => {
            let said = text_of(head.get("content").unwrap_or(&Value::Null));
            let texts = [said, described].into_iter().filter(|text| !text.is_empty());
            head.insert("content".to_owned(), texts.collect::<Vec<_>>().join("\n\n").into());
        }
        Some(_) | None => messages.insert(0, turn("system", described)),
    }
    messages
}

fn describe(tools: &[ToolSpec]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for tool in tools {
        let described = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        text.push('\n');
        text.push_str(&described.to_string());
    }
    text
}

fn with_calls_as_text(mut message: Value) -> Value {
    let Some(turn) = message.as_object_mut() else { return message };
    let Some(Value::Array(calls)) = turn.remove("tool_calls") else { return message };
    let said = text_of(turn.get("content").unwrap_or(&Value::Null));
    let said = Some(said.trim_end()).filter(|text| !text.is_empty()).map(str::to_owned);
    let texts: Vec<String> = said.into_iter().chain(calls.iter().filter_map(call_as_text)).collect();
    turn.insert("content".to_owned(), texts.join("\n").into());
    message
}

fn call_as_text(call: &Value) -> Option<String> {
    let function = call.get("function")?;
    let arguments = match function.get("arguments")? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let name = function.get("name")?;
    Some(format!("<tool_call>\n{{\"name\": {name}, \"arguments\": {arguments}}}\n</tool_call>"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use forge_core::{FinishReason, Toolset};
    use forge_parse::{ParserOptions, parse};

    use super::*;

    fn look() -> ToolSpec {
        ToolSpec::new("look", "Looks.", json!({"type": "object", "properties": {"at": {"type": "string"}}}))
    }

    fn calls(content: &str, arguments: &[&str]) -> Value {
        let call = |arguments: &&str| json!({"type": "function", "function": {"name": "look", "arguments": arguments}});
        json!({"role": "assistant", "content": content, "tool_calls": arguments.iter().map(call).collect::<Vec<_>>()})
    }

    fn result(content: &str) -> Value {
        json!({"role": "tool", "content": content})
    }

    #[test]
    fn tools_stand_in_the_system_message_and_results_in_the_users_turns() {
        let messages = vec![
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": "go"}),
            calls("One moment.", &[r#"{"at":"a"}"#, "{}"]),
            result("sand"),
            result("sea"),
            json!({"role": "user", "content": "Call a tool."}),
        ];
        let written = prompted(messages, &[look()]);
        let roles: Vec<_> = written.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"]);
        let head = written[0]["content"].as_str().unwrap();
        assert!(head.starts_with("Be brief.\n\n# Tools"), "{head}");
        assert!(head.ends_with(
            r#"{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}"#
        ));
        assert_eq!(
            written[2]["content"],
            "One moment.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\":\"a\"}}\n</tool_call>\n\
             <tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>"
        );
        assert_eq!(
            written[3]["content"],
            "<tool_response>\nsand\n</tool_response>\n\n<tool_response>\nsea\n</tool_response>\n\nCall a tool."
        );
    }

    #[test]
    fn results_at_the_end_are_a_turn_of_their_own() {
        let written = prompted(vec![json!({"role": "user", "content": "go"}), calls("", &["{}"]), result("sand")], &[]);
        assert_eq!(written.len(), 3);
        assert_eq!(written[2]["content"], "<tool_response>\nsand\n</tool_response>");
    }

    #[test]
    fn pictures_of_the_user_stay_behind_results() {
        let picture = json!({"type": "image_url", "image_url": {"url": "data:,"}});
        let shown = json!({"role": "user", "content": [picture]});
        let written = prompted(vec![calls("", &["{}"]), result("sand"), shown], &[]);
        let text = json!({"type": "text", "text": "<tool_response>\nsand\n</tool_response>"});
        assert_eq!(written[1]["content"], json!([text, picture]));
    }

    #[test]
    fn what_the_model_is_shown_is_what_the_parser_reads() {
        let toolset: Arc<Toolset> = Toolset::compile(vec![look()]);
        let written = prompted(vec![calls("Hm.", &[r#"{"at": "</tool_call>"}"#, "{}"])], &[]);
        let text = written[0]["content"].as_str().unwrap();
        let parsed = parse(&toolset, &ParserOptions::default(), text, FinishReason::Stop);
        let arguments: Vec<_> = parsed.calls().map(|call| call.arguments.to_value()).collect();
        assert_eq!(arguments, [json!({"at": "</tool_call>"}), json!({})]);
    }
}
