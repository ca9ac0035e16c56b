use serde_json::{Map, Value};

/// How many values of an `enum`, or keys of an object, are written out.
const MAX_LISTED: usize = 24;

/// How many `$ref` and nesting steps are followed.
const MAX_STEPS: usize = 6;

/// What a schema allows, in words for the model: `an integer from 1 to 10`, `one of "a", "b"`, `a list of strings`.
pub(crate) fn allowed(root: &Value, schema: &Value) -> String {
    describe(root, schema, MAX_STEPS)
}

/// The schema itself, or what its local `$ref` leads to.
pub(crate) fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut current = schema;
    for _ in 0..MAX_STEPS {
        let Some(target) = current.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'))
        else {
            return current;
        };
        let Some(next) = root.pointer(target) else { return current };
        current = next;
    }
    current
}

fn describe(root: &Value, schema: &Value, steps: usize) -> String {
    let Some(object) = resolve(root, schema).as_object() else { return "any value".to_owned() };
    if let Some(value) = object.get("const") {
        return format!("exactly {value}");
    }
    if let Some(options) = object.get("enum").and_then(Value::as_array) {
        return one_of(options.iter().map(Value::to_string));
    }
    if steps > 0 {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = object.get(keyword).and_then(Value::as_array).filter(|list| !list.is_empty()) {
                let mut words: Vec<String> = branches.iter().map(|branch| describe(root, branch, steps - 1)).collect();
                words.dedup();
                return words.join(" or ");
            }
        }
        if !object.contains_key("type")
            && let Some(first) = object.get("allOf").and_then(Value::as_array).and_then(|list| list.first())
        {
            return describe(root, first, steps - 1);
        }
    }
    match object.get("type") {
        Some(Value::String(kind)) => describe_type(root, object, kind, steps),
        Some(Value::Array(kinds)) => {
            let words: Vec<String> =
                kinds.iter().filter_map(Value::as_str).map(|kind| describe_type(root, object, kind, steps)).collect();
            words.join(" or ")
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            if object.contains_key("properties") {
                describe_type(root, object, "object", steps)
            } else {
                "any value".to_owned()
            }
        }
    }
}

fn describe_type(root: &Value, schema: &Map<String, Value>, kind: &str, steps: usize) -> String {
    match kind {
        "integer" => format!("an integer{}", range(schema)),
        "number" => format!("a number{}", range(schema)),
        "boolean" => "true or false".to_owned(),
        "string" => format!("a string{}", string_rules(schema)),
        "array" => {
            let items = schema.get("items").filter(|items| items.is_object() && steps > 0);
            let of = items.map(|items| format!(" whose items are each {}", describe(root, items, steps - 1)));
            format!("a list{}{}", count(schema, "minItems", "maxItems", "item"), of.unwrap_or_default())
        }
        "object" => {
            let keys = schema.get("properties").and_then(Value::as_object).filter(|keys| !keys.is_empty());
            let with = keys.map(|keys| {
                format!(
                    " with the {} {}",
                    if keys.len() == 1 { "key" } else { "keys" },
                    listed(keys.keys().map(|key| format!("`{key}`")))
                )
            });
            format!("an object{}", with.unwrap_or_default())
        }
        other => other.to_owned(),
    }
}

fn range(schema: &Map<String, Value>) -> String {
    let bound = |key: &str| schema.get(key).filter(|bound| bound.is_number());
    let mut words = String::new();
    match (bound("minimum"), bound("maximum")) {
        (Some(low), Some(high)) => words.push_str(&format!(" from {low} to {high}")),
        (Some(low), None) => words.push_str(&format!(" of at least {low}")),
        (None, Some(high)) => words.push_str(&format!(" of at most {high}")),
        (None, None) => {}
    }
    if let Some(low) = bound("exclusiveMinimum") {
        words.push_str(&format!(" above {low}"));
    }
    if let Some(high) = bound("exclusiveMaximum") {
        words.push_str(&format!(" below {high}"));
    }
    if let Some(step) = bound("multipleOf") {
        words.push_str(&format!(" that is a multiple of {step}"));
    }
    words
}

fn string_rules(schema: &Map<String, Value>) -> String {
    let mut words = count(schema, "minLength", "maxLength", "character");
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        words.push_str(&format!(" that matches the pattern {pattern}"));
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        words.push_str(&format!(" in the format {format}"));
        if let Some(example) = super::format::example(format) {
            words.push_str(&format!(", such as {example}"));
        }
    }
    words
}

fn count(schema: &Map<String, Value>, low: &str, high: &str, unit: &str) -> String {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    let several = |number: u64| if number == 1 { unit.to_owned() } else { format!("{unit}s") };
    match (bound(low), bound(high)) {
        (Some(low), Some(high)) if low == high => format!(" of {low} {}", several(low)),
        (Some(low), Some(high)) => format!(" of {low} to {high} {unit}s"),
        (Some(low), None) => format!(" of at least {low} {}", several(low)),
        (None, Some(high)) => format!(" of at most {high} {}", several(high)),
        (None, None) => String::new(),
    }
}

/// `one of a, b, c`, cut after a while.
pub(crate) fn one_of(options: impl Iterator<Item = String>) -> String {
    format!("one of {}", listed(options))
}

fn listed(options: impl Iterator<Item = String>) -> String {
    let mut options = options;
    let mut words: Vec<String> = options.by_ref().take(MAX_LISTED).collect();
    let rest = options.count();
    if rest > 0 {
        words.push(format!("and {rest} more"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::allowed;

    #[test]
    fn schemas_in_words() {
        let table: [(Value, &str); 17] = [
            (json!({}), "any value"),
            (json!({"type": "integer", "minimum": 1, "maximum": 5}), "an integer from 1 to 5"),
            (json!({"type": "number", "exclusiveMinimum": 0}), "a number above 0"),
            (
                json!({"type": "number", "multipleOf": 0.5, "maximum": 2}),
                "a number of at most 2 that is a multiple of 0.5",
            ),
            (json!({"type": "boolean"}), "true or false"),
            (json!({"type": "string", "minLength": 1}), "a string of at least 1 character"),
            (json!({"type": "string", "pattern": "^a"}), "a string that matches the pattern ^a"),
            (json!({"type": "string", "format": "date"}), "a string in the format date, such as 2030-01-31"),
            (json!({"type": "array", "minItems": 2, "maxItems": 2}), "a list of 2 items"),
            (json!({"type": "array", "items": {"type": "integer"}}), "a list whose items are each an integer"),
            (json!({"enum": ["a", 1, null]}), "one of \"a\", 1, null"),
            (json!({"const": "a"}), "exactly \"a\""),
            (json!({"type": ["string", "null"]}), "a string or null"),
            (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "an integer or null"),
            (json!({"properties": {"a": {}}}), "an object with the key `a`"),
            (json!({"$ref": "#/$defs/x"}), "a string"),
            (json!({"allOf": [{"$ref": "#/$defs/x"}], "description": "d"}), "a string"),
        ];
        for (schema, words) in table {
            let root = json!({"$defs": {"x": {"type": "string"}}});
            assert_eq!(allowed(&root, &schema), words, "{schema}");
        }
    }

    #[test]
    fn long_lists_are_cut_and_references_in_a_circle_end() {
        let many: Vec<usize> = (0..100).collect();
        assert!(allowed(&Value::Null, &json!({"enum": many})).ends_with("22, 23, and 76 more"));
        let circle = json!({"$ref": "#"});
        assert_eq!(allowed(&circle, &circle), "any value");
        let nested = json!({"type": "array", "items": {"$ref": "#"}});
        assert!(allowed(&nested, &nested).starts_with("a list whose items are each a list"));
    }
}
