use std::collections::HashSet;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

use super::pointer::{child, element};
use super::words::resolve;
use crate::spec::json_type;

/// How deep a schema may nest. What is deeper comes from no tool and would cost stack.
const MAX_DEPTH: usize = 128;

/// How many steps a backtracking `pattern` may take before it is given up.
const BACKTRACK_LIMIT: usize = 100_000;

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
                message: format!("a schema must be an object, but it is {}", json_type(schema)),
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
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT));
    if let Some(draft) = draft {
        options = options.with_draft(draft);
    }
    options.build(schema).map_err(|error| SchemaProblem {
        pointer: unresolved_reference(schema).unwrap_or_else(|| error.instance_path().as_str().to_owned()),
        message: error.to_string(),
    })
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
