//! The body of a request.

use std::borrow::Cow;

use forge_core::ToolSpec;
use serde_json::{Map, Value, json};

use super::adapt::{Adaptation, Schemas};
use super::constraint::{self, Means};
use super::{history, schema_walk};
use crate::{BackendError, Capabilities, ModelRequest};

/// What a request depends on beside itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    /// The model to ask for; none leaves it to the server.
    pub(super) model: Option<&'a str>,
    /// What the server can do.
    pub(super) capabilities: Capabilities,
    /// What it turned out to need.
    pub(super) adaptation: Adaptation,
}

/// The body of a chat completion request: always streamed, always capped, with the usage at its end.
///
/// # Errors
/// When the constraint can't be met with the tools offered.
pub(super) fn encode(request: &ModelRequest, target: Target<'_>) -> Result<Map<String, Value>, BackendError> {
    let mut body = Map::new();
    if let Some(model) = target.model {
        body.insert("model".to_owned(), model.into());
    }
    let Adaptation { turns, arguments, schemas, max_tokens } = target.adaptation;
    body.insert("messages".to_owned(), history::encode(&request.messages, turns, arguments).into());
    let tools = tools_with(schemas, &request.tools);
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.iter().map(ToolSpec::to_openai).collect());
    }
    let enforced = target.capabilities.json_schema && schemas != Schemas::Unused;
    let means = if enforced { Means::Schema } else { Means::ToolChoice };
    constraint::apply(&mut body, &request.constraint, &tools, means)?;
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    // Small models ramble to the end of the context: no request goes out without a cap.
    body.insert("max_tokens".to_owned(), max_tokens.unwrap_or(request.max_tokens).max(1).into());
    let sampling = request.sampling;
    for (key, value) in [
        ("temperature", sampling.temperature.map(Value::from)),
        ("top_p", sampling.top_p.map(Value::from)),
        ("seed", sampling.seed.map(Value::from)),
    ] {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    }
    Ok(body)
}

/// The tools with as much of their schemas as the server takes.
fn tools_with(schemas: Schemas, tools: &[ToolSpec]) -> Cow<'_, [ToolSpec]> {
    /// Keywords that grammar engines refuse or that make their grammars too large.
    const REFUSED: [&str; 6] = ["pattern", "format", "minLength", "maxLength", "minItems", "maxItems"];
    match schemas {
        Schemas::Whole => Cow::Borrowed(tools),
        Schemas::Simplified | Schemas::Unused => {
            let mut tools = tools.to_vec();
            for tool in &mut tools {
                schema_walk::for_each(&mut tool.parameters, &mut |schema| {
                    schema.retain(|keyword, _| !REFUSED.contains(&keyword.as_str()));
                });
            }
            Cow::Owned(tools)
        }
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{Constraint, Message};

    use super::super::adapt::{ReplayedArguments, Turns};
    use super::*;
    use crate::Sampling;

    const NONE: Adaptation = Adaptation {
        turns: Turns::AsWritten,
        arguments: ReplayedArguments::Text,
        schemas: Schemas::Whole,
        max_tokens: None,
    };

    const TARGET: Target<'_> = Target {
        model: None,
        capabilities: Capabilities { native_tools: true, required_tool_choice: false, json_schema: false },
        adaptation: NONE,
    };

    fn request() -> ModelRequest {
        ModelRequest {
            messages: vec![Message::input("hi")].into(),
            tools: vec![ToolSpec::new("a", "does a", json!({"type": "object", "properties": {}}))].into(),
            constraint: Constraint::Free,
            max_tokens: 64,
            sampling: Sampling::default(),
        }
    }

    #[test]
    fn a_request_streams_and_is_capped_and_leaves_the_rest_to_the_server() {
        assert_eq!(
            Value::Object(encode(&request(), TARGET).unwrap()),
            json!({
                "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"type": "function", "function": {
                    "name": "a", "description": "does a", "parameters": {"type": "object", "properties": {}},
                }}],
                "tool_choice": "auto",
                "stream": true,
                "stream_options": {"include_usage": true},
                "max_tokens": 64,
            })
        );
    }

    #[test]
    fn the_model_and_the_sampling_go_out_where_they_are_given() {
        let mut request = request();
        request.sampling = Sampling { temperature: Some(0.0), top_p: Some(0.9), seed: Some(u64::MAX) };
        let body = encode(&request, Target { model: Some("m"), ..TARGET }).unwrap();
        assert_eq!(
            (&body["model"], &body["temperature"], &body["top_p"], &body["seed"]),
            (&json!("m"), &json!(0.0), &json!(0.9), &json!(u64::MAX))
        );
    }

    #[test]
    fn without_tools_neither_tools_nor_tool_choice_go_out() {
        let mut request = request();
        request.tools = Vec::new().into();
        let body = encode(&request, TARGET).unwrap();
        assert!(!body.contains_key("tools") && !body.contains_key("tool_choice"));
    }
}
