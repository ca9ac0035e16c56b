//! The tools of a request, with as much of their schemas as the server takes.

use forge_core::ToolSpec;
use serde_json::{Map, Value};

use super::schema_walk;
use super::shape::Schemas;

/// Keywords that grammar engines refuse or that make their grammars too large.
const REFUSED: [&str; 6] = ["pattern", "format", "minLength", "maxLength", "minItems", "maxItems"];

/// Keywords that say the same as their only branch.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Keywords that describe and don't constrain.
const DESCRIBING: [&str; 4] = ["description", "title", "examples", "$comment"];

/// The tools that can be described to a model; what isn't a function is the server's own.
pub(super) fn specs(body: &Map<String, Value>) -> Vec<ToolSpec> {
    let tools = body.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    tools.iter().filter_map(|tool| ToolSpec::from_openai(tool).ok()).collect()
}

/// Takes from the schemas what the server doesn't take.
pub(super) fn simplify(body: &mut Map<String, Value>, schemas: Schemas) {
    if schemas == Schemas::Whole {
        return;
    }
    let Some(Value::Array(tools)) = body.get_mut("tools") else { return };
    for tool in tools {
        let Some(parameters) = tool.get_mut("function").and_then(|function| function.get_mut("parameters")) else {
            continue;
        };
        schema_walk::for_each(parameters, &mut simplify_schema);
        if schemas >= Schemas::Bare {
            strip_descriptions(parameters);
        }
    }
}

fn simplify_schema(schema: &mut Map<String, Value>) {
    schema.retain(|keyword, _| !REFUSED.contains(&keyword.as_str()));
    for choice in CHOICES {
        let Some(Value::Array(branches)) = schema.get_mut(choice) else { continue };
        let [Value::Object(only)] = branches.as_mut_slice() else { continue };
        // Where both say something about the same keyword, both hold, which only the choice can say.
        let only = std::mem::take(only);
        if only.keys().any(|keyword| keyword != choice && schema.contains_key(keyword)) {
            schema.insert(choice.to_owned(), vec![Value::Object(only)].into());
            continue;
        }
        schema.shift_remove(choice);
        schema.extend(only);
    }
}

/// Leaves the descriptions of the arguments themselves, and none of what is inside them.
fn strip_descriptions(parameters: &mut Value) {
    let said = |name: &str, parameters: &Value| parameters.get("properties")?.get(name)?.get("description").cloned();
    let names: Vec<String> = match parameters.get("properties") {
        Some(Value::Object(properties)) => properties.keys().cloned().collect(),
        Some(_) | None => Vec::new(),
    };
    let kept: Vec<(String, Value)> =
        names.into_iter().filter_map(|name| said(&name, parameters).map(|said| (name, said))).collect();
    schema_walk::for_each(parameters, &mut |schema| {
        schema.retain(|keyword, _| !DESCRIBING.contains(&keyword.as_str()));
    });
    for (name, said) in kept {
        let argument = parameters.get_mut("properties").and_then(|properties| properties.get_mut(&name));
        if let Some(Value::Object(argument)) = argument {
            argument.insert("description".to_owned(), said);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn simplified(parameters: &Value, schemas: Schemas) -> Value {
        let tools = json!([{"type": "function", "function": {"name": "a", "parameters": parameters}}]);
        let mut body = Map::from_iter([("tools".to_owned(), tools)]);
        simplify(&mut body, schemas);
        body["tools"][0]["function"]["parameters"].clone()
    }

    #[test]
    fn what_grammar_engines_refuse_goes_first_and_descriptions_inside_arguments_next() {
        let whole = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "pattern": "^(?!x)", "description": "The pattern."},
                "height": {"anyOf": [{"type": "number", "minimum": 1}], "description": "In metres."},
                "either": {"anyOf": [{"type": "number"}, {"type": "string"}]},
                "both": {"allOf": [{"type": "number"}], "type": "integer"},
                "spec": {"type": "object", "properties": {"description": {"type": "string", "description": "Long."}}},
            },
        });
        let simple = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The pattern."},
                "height": {"description": "In metres.", "type": "number", "minimum": 1},
                "either": {"anyOf": [{"type": "number"}, {"type": "string"}]},
                "both": {"allOf": [{"type": "number"}], "type": "integer"},
                "spec": {"type": "object", "properties": {"description": {"type": "string", "description": "Long."}}},
            },
        });
        let mut bare = simple.clone();
        bare["properties"]["spec"]["properties"]["description"] = json!({"type": "string"});
        for (schemas, expected) in [(Schemas::Whole, &whole), (Schemas::Simplified, &simple), (Schemas::Bare, &bare)] {
            assert_eq!(&simplified(&whole, schemas), expected, "{schemas:?}");
        }
    }

    #[test]
    fn tools_that_are_no_functions_are_left_as_they_are() {
        let mut body = Map::from_iter([("tools".to_owned(), json!([{"type": "web_search"}]))]);
        simplify(&mut body, Schemas::Prompted);
        assert_eq!(body["tools"], json!([{"type": "web_search"}]));
        assert!(specs(&body).is_empty());
    }
}
