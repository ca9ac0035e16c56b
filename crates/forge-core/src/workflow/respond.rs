use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Arguments, ToolName, ToolSpec};

/// How the synthetic tool `respond(message)` takes part in a workflow.
///
/// It turns the question "text or a tool?" into "which tool?", which small models answer better. It has no
/// implementation: whoever drives the run takes the message out of the call with [`Respond::message`], shows it to
/// the user, and records a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Respond {
    /// Responding ends the run, like any terminal tool.
    Terminal,
    /// Responding is a call like any other.
    Plain,
}

impl Respond {
    /// The name of the tool.
    pub const NAME: &'static str = "respond";

    /// The tool as it is offered.
    pub fn spec() -> ToolSpec {
        ToolSpec::new(
            Self::NAME,
            "Say something to the user.",
            json!({
                "type": "object",
                "properties": {"message": {"type": "string", "description": "What to say."}},
                "required": ["message"],
                "additionalProperties": false,
            }),
        )
    }

    /// What a call of the tool says; none where the call has no text.
    pub fn message(arguments: &Arguments) -> Option<String> {
        arguments.to_object().get("message").and_then(Value::as_str).map(str::to_owned)
    }

    pub(crate) fn name() -> ToolName {
        ToolName::from(Self::NAME)
    }
}
