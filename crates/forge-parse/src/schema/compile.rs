use std::collections::HashSet;

use jsonschema::error::ValidationErrorKind as ErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use super::format;
use super::pointer::{child, element};
use super::words::resolve;
use crate::spec::json_type;

/// How deep a schema may nest. What is deeper comes from no tool and would cost stack.
const MAX_DEPTH: usize = 128;

/// How many steps a backtracking `pattern` may take before it is given up.
const BACKTRACK_LIMIT: usize = 100_000;

/// The types that JSON Schema knows.
const TYPES: &str = "\"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\" and \"string\"";

/// Why a JSON value can't be used as the schema of a tool's arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", place(.pointer))]
pub struct SchemaProblem {
    /// Where: a JSON pointer into the schema; empty for the whole.
    pub pointer: String,
    /// What is wrong there, in words.
    pub message: String,
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() { "at the top of the schema".to_owned() } else { format!("at `{pointer}`") }
}

/// Checks that a value is a JSON Schema which can be used for a tool's arguments: it is valid, it describes an
/// object, and each reference in it stays inside it.
///
/// # Errors
/// The first problem with its place.
pub fn check_schema(schema: &Value) -> Result<(), SchemaProblem> {
    if let Some(other) = schema.as_object().and_then(|object| object.get("type")).filter(|kind| !names_object(kind)) {
        return Err(SchemaProblem {
            pointer: "/type".to_owned(),
            message: format!("the arguments of a tool are an object, so the type must be \"object\", not {other}"),
        });
    }
    CompiledSchema::compile(schema).map(|_| ())
}

fn names_object(kind: &Value) -> bool {
    match kind {
        Value::String(name) => name == "object",
        Value::Array(names) => names.iter().any(|name| name == "object"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// A schema that is ready to validate.
#[derive(Debug)]
pub(crate) struct CompiledSchema {
    /// The schema as it is validated: OpenAPI's `nullable` is spelled out.
    source: Value,
    validator: Validator,
    /// The keys that the outermost object may have; empty where the schema names none.
    keys: HashSet<String>,
}

impl CompiledSchema {
    /// Compiles a schema. Nothing is fetched.
    pub(crate) fn compile(schema: &Value) -> Result<Self, SchemaProblem> {
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            return Err(SchemaProblem {
                pointer: String::new(),
                message: format!("a schema must be an object, but this is of type {}", json_type(schema)),
            });
        }
        if let Some(pointer) = too_deep(schema) {
            let message = format!("the schema nests deeper than {MAX_DEPTH} levels");
            return Err(SchemaProblem { pointer, message });
        }
        let source = spell_out_nullable(schema);
        let validator = build(&source, None).or_else(|problem| older_draft(&source).ok_or(problem))?;
        let keys = outermost_keys(&source);
        Ok(Self { source, validator, keys })
    }

    /// Whether a key is known to be meant at a depth, 1 being the outermost object. Deeper, any key is.
    pub(crate) fn knows_key(&self, depth: usize, key: &str) -> bool {
        depth > 1 || self.keys.is_empty() || self.keys.contains(key)
    }

    /// Whether the schema names a key for the outermost object.
    pub(crate) fn names_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// The schema as it is validated.
    pub(crate) fn source(&self) -> &Value {
        &self.source
    }

    /// The validator of the whole schema.
    pub(crate) fn validator(&self) -> &Validator {
        &self.validator
    }
}

/// The names under `properties` of a schema and of the schemas it is made of.
fn outermost_keys(root: &Value) -> HashSet<String> {
    let mut keys = HashSet::new();
    let mut seen: HashSet<*const Value> = HashSet::new();
    let mut pending = vec![root];
    while let Some(schema) = pending.pop() {
        let schema = resolve(root, schema);
        if !seen.insert(std::ptr::from_ref(schema)) {
            continue;
        }
        let Some(object) = schema.as_object() else { continue };
        keys.extend(object.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned());
        for keyword in ["allOf", "anyOf", "oneOf"] {
            pending.extend(object.get(keyword).and_then(Value::as_array).into_iter().flatten());
        }
        pending.extend(["then", "else"].iter().filter_map(|keyword| object.get(*keyword)));
    }
    keys
}

/// Schemas are often written in the notation of an older draft without saying so, such as `items` as a list.
fn older_draft(schema: &Value) -> Option<Validator> {
    if schema.get("$schema").is_some() {
        return None;
    }
    [Draft::Draft7, Draft::Draft4].into_iter().find_map(|draft| build(schema, Some(draft)).ok())
}

fn build(schema: &Value, draft: Option<Draft>) -> Result<Validator, SchemaProblem> {
    let mut options = jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .with_format("date", format::is_date)
        .with_format("date-time", format::is_date_time)
        .with_format("time", format::is_time)
        .with_format("uri", format::is_uri)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT));
    for description in format::DESCRIPTIONS {
        options = options.with_format(description, |_| true);
    }
    if let Some(draft) = draft {
        options = options.with_draft(draft);
    }
    options.build(schema).map_err(|error| problem(schema, &error))
}

/// What is wrong with a schema, in words for the one who wrote it.
fn problem(schema: &Value, error: &ValidationError<'_>) -> SchemaProblem {
    if let Some(pointer) = unresolved_reference(schema) {
        let target = schema.pointer(&pointer).map(Value::to_string).unwrap_or_default();
        let message = format!("the reference {target} leads to nothing inside the schema, and nothing is fetched");
        return SchemaProblem { pointer, message };
    }
    let pointer = error.instance_path().as_str();
    let found = error.instance();
    let message = match pointer.rsplit('/').next() {
        Some("type") => format!("{found} is no type of JSON Schema; the types are {TYPES}"),
        Some("required") => format!("`required` must be a list of key names, not {}", brief(found)),
        Some("properties") => format!("`properties` must be an object of schemas, not {}", brief(found)),
        Some("pattern") => format!("{found} is no regular expression that can be used"),
        _ if matches!(error.kind(), ErrorKind::Type { .. } | ErrorKind::AnyOf { .. }) => {
            format!("{} can't stand here", brief(found))
        }
        _ => error.to_string(),
    };
    SchemaProblem { pointer: pointer.to_owned(), message }
}

/// A value, short enough for a message.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { json_type(value).to_owned() }
}

/// The place of the first `$ref` that leaves the schema or leads nowhere.
fn unresolved_reference(schema: &Value) -> Option<String> {
    find(schema, |object| {
        let target = object.get("$ref")?.as_str()?;
        let inside = match target.strip_prefix('#') {
            Some("") => true,
            Some(pointer) if pointer.starts_with('/') => schema.pointer(pointer).is_some(),
            Some(_) => schema_has_anchor(schema),
            None => false,
        };
        (!inside).then_some("$ref")
    })
}

fn schema_has_anchor(schema: &Value) -> bool {
    find(schema, |object| object.contains_key("$anchor").then_some("$anchor")).is_some()
}

/// The pointer of the first key that `pick` names in any object of the value.
fn find(root: &Value, pick: impl Fn(&Map<String, Value>) -> Option<&'static str>) -> Option<String> {
    let mut pending = vec![(root, String::new())];
    while let Some((value, pointer)) = pending.pop() {
        match value {
            Value::Object(object) => {
                if let Some(key) = pick(object) {
                    return Some(child(&pointer, key));
                }
                pending.extend(object.iter().map(|(key, inner)| (inner, child(&pointer, key))));
            }
            Value::Array(items) => {
                pending.extend(items.iter().enumerate().map(|(index, item)| (item, element(&pointer, index))));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    None
}

/// Where the value nests too deep, if it does. Iterative: the answer must not need the stack it protects.
fn too_deep(root: &Value) -> Option<String> {
    let mut pending = vec![(root, 0_usize)];
    while let Some((value, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return Some(String::new());
        }
        match value {
            Value::Object(object) => pending.extend(object.values().map(|inner| (inner, depth + 1))),
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    None
}

/// OpenAPI's `nullable: true` in the words of JSON Schema. Pointers into the schema stay what they were.
fn spell_out_nullable(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut copy: Map<String, Value> =
                object.iter().map(|(key, inner)| (key.clone(), spell_out_nullable(inner))).collect();
            if object.get("nullable") == Some(&Value::Bool(true)) {
                allow_null(&mut copy);
            }
            Value::Object(copy)
        }
        Value::Array(items) => Value::Array(items.iter().map(spell_out_nullable).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(kind) = schema.get_mut("type") {
        match kind {
            Value::String(name) if name != "null" => *kind = serde_json::json!([name, "null"]),
            Value::Array(names) if !names.iter().any(|name| name == "null") => names.push("null".into()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            }
        }
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check_schema;

    fn problem(schema: &Value) -> String {
        check_schema(schema).map_or_else(|problem| problem.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn a_schema_that_is_none_is_refused_with_its_place() {
        for (schema, expected) in [
            (json!({"type": "object", "properties": {"a": {"type": "string"}}}), "none"),
            (json!({}), "none"),
            (json!(7), "a schema must be an object, but this is of type integer (at the top of the schema)"),
            (
                json!({"type": "string"}),
                "the arguments of a tool are an object, so the type must be \"object\", not \"string\" (at `/type`)",
            ),
            (
                json!({"properties": {"a": {"items": {"type": "text"}}}}),
                "\"text\" is no type of JSON Schema; the types are \"array\", \"boolean\", \"integer\", \"null\", \"number\", \
                 \"object\" and \"string\" (at `/properties/a/items/type`)",
            ),
            (json!({"properties": {"a": "string"}}), "\"string\" can't stand here (at `/properties/a`)"),
            (json!({"properties": ["a"]}), "`properties` must be an object of schemas, not [\"a\"] (at `/properties`)"),
            (json!({"required": "a"}), "`required` must be a list of key names, not \"a\" (at `/required`)"),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/b"}}}),
                "the reference \"#/$defs/b\" leads to nothing inside the schema, and nothing is fetched (at `/properties/a/$ref`)",
            ),
            (
                json!({"properties": {"a": {"$ref": "https://example.org/s"}}}),
                "the reference \"https://example.org/s\" leads to nothing inside the schema, and nothing is fetched (at `/properties/a/$ref`)",
            ),
            (
                json!({"properties": {"a": {"pattern": "("}}}),
                "\"(\" is no regular expression that can be used (at `/properties/a/pattern`)",
            ),
        ] {
            assert_eq!(problem(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_nests_too_deep_is_refused() {
        let deep = (0..200).fold(json!({}), |inner, _| json!({"items": inner}));
        assert_eq!(problem(&deep), "the schema nests deeper than 128 levels (at the top of the schema)");
    }
}
