//! Tools of the Responses protocol, as functions.

use forge_core::ToolSpec;
use serde_json::{Value, json};

use crate::error::ClientError;
use crate::offered::{ClientTool, ToolKind};

/// What the protocol's own tool for changing files is called.
pub(super) const APPLY_PATCH: &str = "apply_patch";

/// The argument of a custom tool.
pub(super) const INPUT: &str = "input";

/// Reads one element of `tools`.
pub(super) fn read_tool(tool: Value, tools: &mut Vec<ClientTool>) -> Result<(), ClientError> {
    let read = match tool.get("type").and_then(Value::as_str).unwrap_or("function") {
        "function" => function(&tool, None)?,
        "custom" => custom(&tool, None)?,
        "apply_patch" => apply_patch(),
        "namespace" => return namespace(&tool, tools),
        // Run by OpenAI's servers, or known to OpenAI's models alone.
        _ => ClientTool::Dropped,
    };
    tools.push(read);
    Ok(())
}

fn namespace(tool: &Value, tools: &mut Vec<ClientTool>) -> Result<(), ClientError> {
    let space = name_of(tool)?;
    for inner in tool.get("tools").and_then(Value::as_array).into_iter().flatten() {
        tools.push(match inner.get("type").and_then(Value::as_str).unwrap_or("function") {
            "function" => function(inner, Some(space))?,
            "custom" => custom(inner, Some(space))?,
            _ => ClientTool::Dropped,
        });
    }
    Ok(())
}

/// The name of a tool in a namespace: clients that flatten namespaces themselves write it so.
pub(super) fn full_name(space: Option<&str>, name: &str) -> String {
    match space {
        Some(space) if space.ends_with("__") => format!("{space}{name}"),
        Some(space) => format!("{space}__{name}"),
        None => name.to_owned(),
    }
}

fn name_of(tool: &Value) -> Result<&str, ClientError> {
    let name = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    name.ok_or_else(|| ClientError::invalid("a tool needs a non-empty `name`"))
}

fn function(tool: &Value, space: Option<&str>) -> Result<ClientTool, ClientError> {
    let name = full_name(space, name_of(tool)?);
    let mut spec = ToolSpec::from_openai(tool).map_err(|error| ClientError::invalid(error.to_string()))?;
    spec.name = name.into();
    Ok(ClientTool::Known { spec, kind: ToolKind::Function, chat: None })
}

fn custom(tool: &Value, space: Option<&str>) -> Result<ClientTool, ClientError> {
    let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
    let grammar = tool.get("format").and_then(|format| format.get("definition")).and_then(Value::as_str);
    let about = match grammar {
        Some(grammar) => format!("The whole input as plain text. It has to follow this grammar:\n{grammar}"),
        None => "The whole input as plain text.".to_owned(),
    };
    let parameters = json!({
        "type": "object",
        "properties": {INPUT: {"type": "string", "description": about}},
        "required": [INPUT],
    });
    let spec = ToolSpec::new(full_name(space, name_of(tool)?), description, parameters);
    Ok(ClientTool::Known { spec, kind: ToolKind::Custom, chat: None })
}

fn apply_patch() -> ClientTool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
            "path": {"type": "string", "description": "The file's path, relative to the root of the project."},
            "diff": {"type": "string", "description": "For a new file its lines, each behind a plus sign; for a change the \
                lines to remove and add behind minus and plus signs, with unchanged lines around them behind a space and @@ \
                before each place. Not for deletion."},
        },
        "required": ["type", "path"],
    });
    let spec = ToolSpec::new(APPLY_PATCH, "Creates, changes or deletes one file.", parameters);
    ClientTool::Known { spec, kind: ToolKind::ApplyPatch, chat: None }
}
