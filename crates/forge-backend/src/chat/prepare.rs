//! A request in the form one server takes.

use forge_core::ToolName;
use serde_json::{Map, Value};

use super::constraint::{self, Means};
use super::names::WireNames;
use super::sanitise::{HistoryChange, arrange, sanitise};
use super::shape::{HistoryShape, Schemas, Shape};
use super::{ChatRequest, prompted, tools};
use crate::{BackendError, Capabilities, ToolMode};

/// What a request depends on beside itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// What the server can do.
    pub(crate) capabilities: Capabilities,
    /// What it turned out to need.
    pub(crate) shape: Shape,
}

/// A request that can be sent, still in the form of the chat-completions API and without `stream`.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) body: Map<String, Value>,
    /// The tools as they are named in it.
    pub(crate) offered: Vec<ToolName>,
    /// The way back to the names they have.
    pub(crate) names: WireNames,
    /// What was changed in the conversation.
    pub(crate) changes: Vec<HistoryChange>,
}

/// # Errors
/// When there are no messages, or the constraint can't be met with the tools offered.
pub(crate) fn prepare(request: &ChatRequest, target: Target) -> Result<Prepared, BackendError> {
    let mut body = request.body.clone();
    let names = WireNames::write(&mut body, target.shape.names);
    tools::simplify(&mut body, target.shape.schemas);
    let history = HistoryShape { reasoning: request.reasoning, ..target.shape.history };
    let mut sanitised = sanitise(messages(&mut body)?, history);
    let specs = tools::specs(&body);
    let mode = if target.shape.schemas == Schemas::Prompted { ToolMode::Prompted } else { request.tool_mode };
    if mode == ToolMode::Prompted {
        sanitised.messages = arrange(prompted::prompted(sanitised.messages, &specs), history.turns);
        body.retain(|key, _| !matches!(key.as_str(), "tools" | "parallel_tool_calls"));
    }
    if body.get("tools").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        // Servers refuse a choice between no tools.
        body.retain(|key, _| !matches!(key.as_str(), "tools" | "tool_choice"));
    }
    body.insert("messages".to_owned(), sanitised.messages.into());
    let means = match mode {
        _ if target.shape.schemas == Schemas::Prompted => Means::Nothing,
        _ if target.capabilities.json_schema => Means::Schema,
        ToolMode::Native => Means::ToolChoice,
        ToolMode::Prompted => Means::Nothing,
    };
    constraint::apply(&mut body, &names.constraint(&request.constraint), &specs, means)?;
    if let Some(cap) = target.shape.max_tokens {
        body.insert(cap_key(&body).to_owned(), cap.max(1).into());
    }
    let offered = specs.into_iter().map(|tool| tool.name).collect();
    Ok(Prepared { body, offered, names, changes: sanitised.changes })
}

/// Under which key a body holds its cap.
fn cap_key(body: &Map<String, Value>) -> &'static str {
    if body.contains_key("max_completion_tokens") { "max_completion_tokens" } else { "max_tokens" }
}

/// The most tokens a request asks for, if it says.
pub(crate) fn asked_tokens(body: &Map<String, Value>) -> Option<u32> {
    let asked = body.get(cap_key(body)).and_then(Value::as_u64)?;
    Some(u32::try_from(asked).unwrap_or(u32::MAX))
}

fn messages(body: &mut Map<String, Value>) -> Result<Vec<Value>, BackendError> {
    match body.get_mut("messages").map(Value::take) {
        Some(Value::Array(messages)) => Ok(messages),
        Some(_) => {
            Err(BackendError::InvalidRequest { problem: "\"messages\" has to be a list of messages".to_owned() })
        }
        None => Err(BackendError::InvalidRequest { problem: "the request has no \"messages\"".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use forge_core::Constraint;
    use serde_json::json;

    use super::*;
    use crate::chat::shape::{Names, ReasoningReplay};

    const TARGET: Target = Target {
        capabilities: Capabilities { native_tools: true, required_tool_choice: false, json_schema: false },
        shape: Shape {
            history: HistoryShape {
                turns: crate::chat::shape::Turns::AsWritten,
                arguments: crate::chat::shape::ReplayedArguments::Text,
                content: crate::chat::shape::ContentForm::Parts,
                reasoning: ReasoningReplay::None,
            },
            schemas: Schemas::Whole,
            names: Names::AsGiven,
            max_tokens: None,
        },
    };

    fn request(body: Value) -> ChatRequest {
        let Value::Object(body) = body else { panic!("no object") };
        ChatRequest {
            body,
            constraint: Constraint::Free,
            tool_mode: ToolMode::Native,
            reasoning: ReasoningReplay::None,
        }
    }

    fn with_a_tool() -> ChatRequest {
        request(json!({
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": {"name": "a", "description": "does a", "parameters": {}}}],
            "tool_choice": "auto",
            "unheard_of": {"a": 1},
        }))
    }

    #[test]
    fn what_is_fine_stays_as_it_is() {
        let request = with_a_tool();
        let prepared = prepare(&request, TARGET).unwrap();
        assert_eq!((&prepared.body, &prepared.changes), (&request.body, &Vec::new()));
        assert_eq!(prepared.offered, ["a"]);
    }

    #[test]
    fn tools_in_the_prompt_are_no_tools_of_the_request() {
        let request = ChatRequest { tool_mode: ToolMode::Prompted, ..with_a_tool() };
        let body = prepare(&request, TARGET).unwrap().body;
        assert!(!body.contains_key("tools") && !body.contains_key("tool_choice"));
        assert!(body["messages"][0]["content"].as_str().unwrap().contains(r#"{"name":"a","description":"does a""#));
    }

    #[test]
    fn a_required_call_of_a_tool_in_the_prompt_is_held_to_a_schema_where_the_server_can() {
        let request =
            ChatRequest { tool_mode: ToolMode::Prompted, constraint: Constraint::CallRequired, ..with_a_tool() };
        let able = Target { capabilities: Capabilities { json_schema: true, ..TARGET.capabilities }, ..TARGET };
        assert!(prepare(&request, able).unwrap().body.contains_key("response_format"));
        let body = prepare(&request, TARGET).unwrap().body;
        assert!(!body.contains_key("response_format") && !body.contains_key("tool_choice"));
    }

    #[test]
    fn there_is_no_choice_between_no_tools() {
        let body = json!({"messages": [], "tools": [], "tool_choice": "none"});
        assert_eq!(Value::Object(prepare(&request(body), TARGET).unwrap().body), json!({"messages": []}));
    }

    #[test]
    fn a_lower_cap_takes_the_place_of_the_callers() {
        let target = Target { shape: Shape { max_tokens: Some(50), ..TARGET.shape }, ..TARGET };
        for key in ["max_tokens", "max_completion_tokens"] {
            let body = Value::Object(prepare(&request(json!({"messages": [], key: 64})), target).unwrap().body);
            assert_eq!(body, json!({"messages": [], key: 50}));
        }
    }

    #[test]
    fn a_request_without_a_list_of_messages_is_refused() {
        for body in [json!({}), json!({"messages": "hi"}), json!({"messages": null})] {
            let error = prepare(&request(body), TARGET).unwrap_err();
            assert!(matches!(error, BackendError::InvalidRequest { .. }), "{error}");
        }
    }
}
