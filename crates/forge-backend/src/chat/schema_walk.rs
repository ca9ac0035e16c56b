//! Going through a JSON Schema without taking names or data for schemas.

use serde_json::{Map, Value};

/// Shows every schema inside a schema, itself first, to `visit`.
///
/// A property may be called `pattern` and a default may hold a `$ref`: keys of `properties` and the like are names, and
/// what stands under `const`, `enum`, `default` and `examples` is data.
pub(super) fn for_each(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| for_each(schema, visit)),
        Value::Object(keywords) => {
            visit(keywords);
            for (keyword, value) in keywords.iter_mut() {
                for_each_under(keyword, value, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn for_each_under(keyword: &str, value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match (keyword, value) {
        ("const" | "enum" | "default" | "examples", _) => {}
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies",
            Value::Object(named),
        ) => named.values_mut().for_each(|schema| for_each(schema, visit)),
        (_, value) => for_each(value, visit),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_data_are_not_taken_for_schemas() {
        let mut schema = json!({
            "properties": {"pattern": {"pattern": "a"}, "list": {"items": [{"pattern": "b"}]}},
            "default": {"pattern": "data"},
            "enum": [{"pattern": "data"}],
            "anyOf": [{"not": {"pattern": "c"}}],
            "$defs": {"default": {"pattern": "d"}},
        });
        let mut seen = Vec::new();
        for_each(&mut schema, &mut |schema| seen.extend(schema.get("pattern").cloned()));
        assert_eq!(seen, ["a", "b", "c", "d"]);
    }
}
