use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use super::pointer::{child, parent};
use super::words::{allowed, one_of};
use super::{CompiledSchema, keys};
use crate::{FieldFault, FieldProblem};

/// How many faults are reported; the rest would only bury the first ones.
const MAX_FAULTS: usize = 32;

/// Above this many values only the first fault is looked for: the validator collects all of them before it hands out
/// the first.
const MAX_COLLECTED: usize = 4_096;

/// How deep alternatives are searched for the one the model meant.
const MAX_ALTERNATIVES: usize = 8;

/// What is wrong with a value, field by field; empty for a valid one.
pub(crate) fn field_faults(schema: &CompiledSchema, value: &Value) -> Vec<FieldFault> {
    let validator = schema.validator();
    if validator.is_valid(value) {
        return Vec::new();
    }
    let report = Report { root: schema.source() };
    let mut faults = Vec::new();
    for error in collect(validator, value) {
        report.add(&mut faults, &error, value, MAX_ALTERNATIVES);
        if faults.len() >= MAX_FAULTS {
            faults.truncate(MAX_FAULTS);
            break;
        }
    }
    faults
}

fn collect<'v>(validator: &'v Validator, value: &'v Value) -> Vec<ValidationError<'v>> {
    if larger_than(value, MAX_COLLECTED) {
        validator.validate(value).err().into_iter().collect()
    } else {
        validator.iter_errors(value).collect()
    }
}

fn larger_than(root: &Value, limit: usize) -> bool {
    let mut pending = vec![root];
    let mut seen = 0_usize;
    while let Some(value) = pending.pop() {
        seen += 1;
        if seen > limit {
            return true;
        }
        match value {
            Value::Object(object) => pending.extend(object.values().take(limit)),
            Value::Array(items) => pending.extend(items.iter().take(limit)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

struct Report<'s> {
    root: &'s Value,
}

impl Report<'_> {
    fn add(&self, faults: &mut Vec<FieldFault>, error: &ValidationError<'_>, value: &Value, alternatives: usize) {
        let path = error.instance_path().as_str();
        let schema = self.root.pointer(parent(error.schema_path().as_str())).unwrap_or(&Value::Null);
        match error.kind() {
            Kind::Required { property } => {
                faults.push(self.missing(path, property.as_str().unwrap_or_default(), schema, value));
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let object = value.pointer(path).and_then(Value::as_object);
                faults.extend(unexpected.iter().map(|key| self.unknown(path, key, schema, object)));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.add_alternatives(faults, error, context, schema, value, alternatives);
            }
            Kind::PropertyNames { error: inner } => faults.push(FieldFault {
                path: path.to_owned(),
                problem: FieldProblem::Rule,
                found: Some(inner.instance().clone().into_owned()),
                allowed: format!(
                    "keys that are each {}",
                    allowed(self.root, schema.get("propertyNames").unwrap_or(schema))
                ),
                nearest: None,
            }),
            kind => faults.push(FieldFault {
                path: path.to_owned(),
                problem: problem(kind),
                found: Some(error.instance().clone().into_owned()),
                allowed: rule(kind).unwrap_or_else(|| allowed(self.root, schema)),
                nearest: None,
            }),
        }
    }

    fn missing(&self, path: &str, key: &str, schema: &Value, value: &Value) -> FieldFault {
        let property = schema.get("properties").and_then(|properties| properties.get(key));
        let written = value.pointer(path).and_then(Value::as_object);
        let known = schema.get("properties").and_then(Value::as_object);
        let strange =
            written.into_iter().flat_map(Map::keys).filter(|key| known.is_none_or(|known| !known.contains_key(*key)));
        FieldFault {
            path: child(path, key),
            problem: FieldProblem::Missing,
            found: None,
            allowed: property.map_or_else(|| "any value".to_owned(), |property| allowed(self.root, property)),
            nearest: keys::nearest(key, strange.map(String::as_str)).map(str::to_owned),
        }
    }

    fn unknown(&self, path: &str, key: &str, schema: &Value, object: Option<&Map<String, Value>>) -> FieldFault {
        let known = schema.get("properties").and_then(Value::as_object);
        let names = known.into_iter().flat_map(Map::keys);
        let nearest = keys::nearest(key, names.clone().map(String::as_str)).map(str::to_owned);
        let allowed = if known.is_none_or(Map::is_empty) {
            "no keys".to_owned()
        } else {
            format!("the key must be {}", one_of(names.map(|name| format!("`{name}`"))))
        };
        FieldFault {
            path: child(path, key),
            problem: FieldProblem::Unknown,
            found: object.and_then(|object| object.get(key)).cloned(),
            allowed,
            nearest,
        }
    }

    /// Of several alternatives only the one whose type the value has says something useful.
    fn add_alternatives(
        &self,
        faults: &mut Vec<FieldFault>,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
        schema: &Value,
        value: &Value,
        alternatives: usize,
    ) {
        let path = error.instance_path().as_str();
        let mut meant = context.iter().filter(|branch| !branch.iter().any(|inner| refuses_type(inner, path)));
        if let (Some(branch), None, true) = (meant.next(), meant.next(), alternatives > 0) {
            for inner in branch.iter().take(MAX_FAULTS.saturating_sub(faults.len())) {
                self.add(faults, inner, value, alternatives - 1);
            }
            return;
        }
        let all_types = context.iter().all(|branch| branch.iter().any(|inner| refuses_type(inner, path)));
        faults.push(FieldFault {
            path: path.to_owned(),
            problem: if all_types { FieldProblem::WrongType } else { FieldProblem::Rule },
            found: Some(error.instance().clone().into_owned()),
            allowed: allowed(self.root, schema),
            nearest: None,
        });
    }
}

fn refuses_type(error: &ValidationError<'_>, path: &str) -> bool {
    matches!(error.kind(), Kind::Type { .. }) && error.instance_path().as_str() == path
}

fn problem(kind: &Kind) -> FieldProblem {
    match kind {
        Kind::Type { .. } => FieldProblem::WrongType,
        Kind::Constant { .. }
        | Kind::Enum { .. }
        | Kind::ExclusiveMaximum { .. }
        | Kind::ExclusiveMinimum { .. }
        | Kind::Format { .. }
        | Kind::MaxItems { .. }
        | Kind::Maximum { .. }
        | Kind::MaxLength { .. }
        | Kind::MaxProperties { .. }
        | Kind::MinItems { .. }
        | Kind::Minimum { .. }
        | Kind::MinLength { .. }
        | Kind::MinProperties { .. }
        | Kind::MultipleOf { .. }
        | Kind::UniqueItems
        | Kind::Pattern { .. } => FieldProblem::NotAllowed,
        _ => FieldProblem::Rule,
    }
}

/// Rules that the description of the schema doesn't mention.
fn rule(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::UniqueItems => "a list without repeated items".to_owned(),
        Kind::MaxProperties { limit } => format!("an object of at most {limit} keys"),
        Kind::MinProperties { limit } => format!("an object of at least {limit} keys"),
        Kind::AdditionalItems { limit } => format!("a list of at most {limit} items"),
        Kind::Contains => "a list with the items that the schema's `contains` asks for".to_owned(),
        Kind::FalseSchema => "no value".to_owned(),
        Kind::OneOfMultipleValid { .. } => "a value that fits exactly one of the alternatives, not several".to_owned(),
        Kind::Not { schema } => format!("a value that doesn't satisfy {schema}"),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "a string that the pattern can be checked against; it took too many steps".to_owned()
        }
        _ => return None,
    })
}
