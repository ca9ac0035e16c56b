//! An example of a call in the right form, made from a tool's schema.

use serde_json::{Map, Value, json};

use crate::ToolSpec;

/// How deep an example goes into the schema.
const MAX_DEPTH: usize = 4;

/// A call of a tool with its required arguments as JSON text. Some argument may have a value already.
pub(crate) fn example_call(tool: &ToolSpec, known: Option<(&str, &Value)>) -> String {
    let mut arguments = object(&tool.parameters, MAX_DEPTH);
    if let Some((argument, value)) = known {
        arguments.insert(argument.to_owned(), value.clone());
    }
    json!({"name": tool.name, "arguments": arguments}).to_string()
}

fn object(schema: &Value, depth: usize) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    required
        .map(|key| {
            let schema = properties.and_then(|properties| properties.get(key)).unwrap_or(&Value::Null);
            (key.to_owned(), sample(key, schema, depth.saturating_sub(1)))
        })
        .collect()
}

fn sample(key: &str, schema: &Value, depth: usize) -> Value {
    if let Some(given) = given(schema) {
        return given;
    }
    if depth == 0 {
        return Value::Null;
    }
    match kind(schema) {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([sample(key, schema.get("items").unwrap_or(&Value::Null), depth - 1)]),
        Some("object") => Value::Object(object(schema, depth)),
        Some("null") => Value::Null,
        Some(_) => placeholder(key),
        None => alternative(schema).map_or_else(|| placeholder(key), |schema| sample(key, schema, depth - 1)),
    }
}

/// A value that the schema itself names.
fn given(schema: &Value) -> Option<Value> {
    let listed = |name: &str| schema.get(name).and_then(Value::as_array).and_then(|values| values.first());
    let value = schema.get("const").or_else(|| listed("enum")).or_else(|| listed("examples"));
    value.or_else(|| schema.get("default")).cloned()
}

fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn alternative(schema: &Value) -> Option<&Value> {
    ["anyOf", "oneOf"].iter().find_map(|name| schema.get(name)?.as_array()?.first())
}

fn placeholder(key: &str) -> Value {
    Value::from(format!("<{key}>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_arguments_get_a_value_of_their_kind() {
        let tool = ToolSpec::new(
            "plant",
            "",
            json!({
                "type": "object",
                "required": ["species", "count", "deep", "soil", "beds"],
                "properties": {
                    "species": {"type": "string"},
                    "count": {"type": "integer", "minimum": 3},
                    "deep": {"type": ["boolean", "null"]},
                    "soil": {"enum": ["clay", "sand"]},
                    "beds": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                    "note": {"type": "string"},
                },
            }),
        );
        assert_eq!(
            example_call(&tool, None),
            r#"{"name":"plant","arguments":{"species":"<species>","count":3,"deep":true,"soil":"clay","beds":["<beds>"]}}"#
        );
    }

    #[test]
    fn a_known_value_takes_its_place() {
        let parameters = json!({"type": "object", "required": ["bed"], "properties": {"bed": {"type": "string"}}});
        let tool = ToolSpec::new("water", "", parameters);
        assert_eq!(
            example_call(&tool, Some(("bed", &json!("north")))),
            r#"{"name":"water","arguments":{"bed":"north"}}"#
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let mut schema = json!({"type": "object", "required": ["child"]});
        for _ in 0..20 {
            schema = json!({"type": "object", "required": ["child"], "properties": {"child": schema}});
        }
        let example = example_call(&ToolSpec::new("nest", "", schema), None);
        assert!(example.len() < 120, "{example}");
    }
}
