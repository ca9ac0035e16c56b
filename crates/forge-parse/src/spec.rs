use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ToolName;

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model has to write.
    pub name: ToolName,
    /// What the tool does, in words for the model.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of the arguments; an object schema. A tool without arguments has
    /// `{"type": "object", "properties": {}}`.
    #[serde(default = "ToolSpec::no_parameters")]
    pub parameters: Value,
}

/// Why a JSON value is no tool in OpenAI's form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The value isn't an object.
    #[error("a tool must be a JSON object, but it is {found}")]
    NotAnObject {
        /// The JSON type found.
        found: &'static str,
    },
    /// There is no name, or it isn't a string, or it is empty.
    #[error("a tool needs a non-empty string at `function.name`")]
    NoName,
}

impl ToolSpec {
    /// A tool with a name, a description and the JSON Schema of its arguments.
    pub fn new(name: impl Into<ToolName>, description: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: description.into(), parameters }
    }

    /// The schema of a tool without arguments.
    pub fn no_parameters() -> Value {
        json!({"type": "object", "properties": {}})
    }

    /// Reads one element of an OpenAI `tools` array: `{"type": "function", "function": {…}}`. The inner object
    /// alone is accepted as well, and `input_schema` (Anthropic's key) in the place of `parameters`.
    ///
    /// # Errors
    /// When the value is no object or has no name. A missing schema is a tool without arguments.
    pub fn from_openai(value: &Value) -> Result<Self, SpecError> {
        let outer = value.as_object().ok_or(SpecError::NotAnObject { found: json_type(value) })?;
        let inner = outer.get("function").and_then(Value::as_object).unwrap_or(outer);
        let name = inner.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let parameters = inner.get("parameters").or_else(|| inner.get("input_schema"));
        Ok(Self {
            name: name.ok_or(SpecError::NoName)?.into(),
            description: inner.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            parameters: parameters.filter(|schema| !schema.is_null()).cloned().unwrap_or_else(Self::no_parameters),
        })
    }

    /// The tool as one element of an OpenAI `tools` array.
    pub fn to_openai(&self) -> Value {
        json!({
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        })
    }
}

/// The JSON type of a value, in the words of JSON Schema.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
