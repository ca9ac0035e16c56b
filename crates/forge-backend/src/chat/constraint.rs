//! What a generation may be, said with the means the server has.

use forge_core::{Constraint, ToolName, ToolSpec};
use serde_json::{Map, Value, json};

use super::schema_walk;
use crate::BackendError;

/// By what means a server can be held to the legal calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// A JSON schema for the content, which it enforces beside tools.
    Schema,
    /// The tool choice, which servers take more or less seriously.
    ToolChoice,
    /// None: the tools stand in the prompt and the server knows nothing of them.
    Nothing,
}

/// Adds to a request that offers `tools` what enforces the constraint.
///
/// [`Constraint::Only`] becomes a JSON schema of the legal calls where the means allow. The tools stay in the
/// request as they are, so that the prompt, and with it the server's cache, stays the same; the content of the answer then
/// is the call, as bare JSON.
///
/// # Errors
/// When the constraint names no offered tool, or asks for a call and no tool is offered.
pub(super) fn apply(
    body: &mut Map<String, Value>,
    constraint: &Constraint,
    tools: &[ToolSpec],
    means: Means,
) -> Result<(), BackendError> {
    match constraint {
        // The choice the caller made, if any, says what the constraint doesn't.
        Constraint::Free => {}
        Constraint::CallRequired => {
            if tools.is_empty() {
                return Err(invalid("a call is required, but no tool is offered".to_owned()));
            }
            match means {
                // Without tools of its own a server can be held to them only by their schema.
                Means::Schema if !body.contains_key("tools") => {
                    body.insert("response_format".to_owned(), response_format(&tools.iter().collect::<Vec<_>>()));
                }
                Means::Schema | Means::ToolChoice => {
                    body.insert("tool_choice".to_owned(), "required".into());
                }
                Means::Nothing => {}
            }
        }
        Constraint::Only(names) => {
            let legal: Vec<&ToolSpec> = tools.iter().filter(|tool| names.contains(&tool.name)).collect();
            if legal.is_empty() {
                return Err(invalid(none_offered(names, tools)));
            }
            match means {
                Means::Schema => {
                    body.shift_remove("tool_choice");
                    body.insert("response_format".to_owned(), response_format(&legal));
                }
                Means::ToolChoice => {
                    body.insert("tool_choice".to_owned(), tool_choice(&legal));
                }
                Means::Nothing => {}
            }
        }
    }
    Ok(())
}

fn invalid(problem: String) -> BackendError {
    BackendError::InvalidRequest { problem }
}

fn none_offered(names: &[ToolName], tools: &[ToolSpec]) -> String {
    let list = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "none of the tools the constraint allows ({}) is offered ({})",
        list(names.iter().map(ToolName::as_str).collect()),
        list(tools.iter().map(|tool| tool.name.as_str()).collect())
    )
}

/// Without schemas: the tool by its name where there is one, else any call.
fn tool_choice(legal: &[&ToolSpec]) -> Value {
    match legal {
        [tool] => json!({"type": "function", "function": {"name": tool.name}}),
        _ => "required".into(),
    }
}

fn response_format(legal: &[&ToolSpec]) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "tool_call", "schema": schema(legal)}})
}

/// The schema of one call of one of the tools.
fn schema(legal: &[&ToolSpec]) -> Value {
    let mut definitions = Map::new();
    let mut calls: Vec<Value> = legal.iter().map(|tool| call_schema(tool, &mut definitions)).collect();
    let mut schema = match (calls.pop(), calls.is_empty()) {
        (Some(Value::Object(only)), true) => only,
        (last, _) => {
            calls.extend(last);
            Map::from_iter([("oneOf".to_owned(), Value::Array(calls))])
        }
    };
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Value::Object(schema)
}

fn call_schema(tool: &ToolSpec, definitions: &mut Map<String, Value>) -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": arguments_schema(tool, definitions)},
        "required": ["name", "arguments"],
        "additionalProperties": false,
    })
}

/// The tool's schema, with its references still pointing at what they pointed at.
///
/// A reference such as `#/$defs/row` is relative to the document it stands in. A schema that has any is therefore moved
/// under the new document's `$defs`, and its references are extended by that path.
fn arguments_schema(tool: &ToolSpec, definitions: &mut Map<String, Value>) -> Value {
    let key = format!("arguments_{}", definitions.len());
    let mut moved = tool.parameters.clone();
    let mut references = 0_usize;
    schema_walk::for_each(&mut moved, &mut |schema| {
        let Some(Value::String(reference)) = schema.get_mut("$ref") else { return };
        let Some(pointer) = reference.strip_prefix('#') else { return };
        *reference = format!("#/$defs/{key}{pointer}");
        references = references.saturating_add(1);
    });
    if references == 0 {
        return moved;
    }
    let reference = json!({"$ref": format!("#/$defs/{key}")});
    definitions.insert(key, moved);
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, parameters: Value) -> ToolSpec {
        ToolSpec::new(name, "", parameters)
    }

    fn two_tools() -> [ToolSpec; 2] {
        [tool("a", json!({"type": "object", "properties": {"x": {"type": "integer"}}})), tool("b", json!({}))]
    }

    fn applied(constraint: &Constraint, tools: &[ToolSpec], means: Means) -> Value {
        let mut body = Map::new();
        apply(&mut body, constraint, tools, means).unwrap();
        Value::Object(body)
    }

    fn only(names: &[&str]) -> Constraint {
        Constraint::Only(names.iter().map(|&name| name.into()).collect())
    }

    #[test]
    fn tool_choice_says_what_it_can() {
        for (constraint, expected) in [
            (Constraint::Free, json!({})),
            (Constraint::CallRequired, json!({"tool_choice": "required"})),
            (only(&["a", "b"]), json!({"tool_choice": "required"})),
            (only(&["b"]), json!({"tool_choice": {"type": "function", "function": {"name": "b"}}})),
        ] {
            assert_eq!(applied(&constraint, &two_tools(), Means::ToolChoice), expected, "{constraint:?}");
        }
    }

    #[test]
    fn without_tools_there_is_no_tool_choice() {
        assert_eq!(applied(&Constraint::Free, &[], Means::ToolChoice), json!({}));
    }

    #[test]
    fn one_legal_tool_is_the_object_itself() {
        assert_eq!(
            applied(&only(&["a"]), &two_tools(), Means::Schema),
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "tool_call", "schema": {
                "type": "object",
                "properties": {
                    "name": {"const": "a"},
                    "arguments": {"type": "object", "properties": {"x": {"type": "integer"}}},
                },
                "required": ["name", "arguments"],
                "additionalProperties": false,
            }}}})
        );
    }

    #[test]
    fn several_legal_tools_are_alternatives_in_the_order_offered() {
        let body = applied(&only(&["b", "a"]), &two_tools(), Means::Schema);
        let names: Vec<_> = body["response_format"]["json_schema"]["schema"]["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["properties"]["name"]["const"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn local_references_still_point_at_what_they_pointed_at() {
        let parameters = json!({
            "type": "object",
            "properties": {"row": {"$ref": "#/$defs/row"}, "$ref": {"type": "string"}, "default": {"$ref": "#/$defs/row"}},
            "default": {"$ref": "#/$defs/row"},
            "$defs": {"row": {"type": "object", "properties": {"next": {"$ref": "#"}}}},
        });
        let legal = [tool("plain", json!({"type": "object"})), tool("tree", parameters)];
        let schema = schema(&legal.iter().collect::<Vec<_>>());
        assert_eq!(
            schema,
            json!({
                "oneOf": [
                    call_schema(&legal[0], &mut Map::new()),
                    {
                        "type": "object",
                        "properties": {"name": {"const": "tree"}, "arguments": {"$ref": "#/$defs/arguments_0"}},
                        "required": ["name", "arguments"],
                        "additionalProperties": false,
                    },
                ],
                "$defs": {"arguments_0": {
                    "type": "object",
                    "properties": {
                        "row": {"$ref": "#/$defs/arguments_0/$defs/row"},
                        "$ref": {"type": "string"},
                        "default": {"$ref": "#/$defs/arguments_0/$defs/row"},
                    },
                    "default": {"$ref": "#/$defs/row"},
                    "$defs": {"row": {"type": "object", "properties": {"next": {"$ref": "#/$defs/arguments_0"}}}},
                }},
            })
        );
    }

    #[test]
    fn a_constraint_that_can_not_be_met_is_an_error() {
        for (constraint, tools, message) in [
            (only(&["c"]), &two_tools()[..], "none of the tools the constraint allows (c) is offered (a, b)"),
            (Constraint::CallRequired, &[], "a call is required, but no tool is offered"),
        ] {
            let error = apply(&mut Map::new(), &constraint, tools, Means::Schema).unwrap_err();
            assert!(error.to_string().ends_with(message), "{error}");
        }
    }
}
