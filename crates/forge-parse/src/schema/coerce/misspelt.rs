//! Whether valid arguments may have a key under another name than the schema's.

use serde_json::{Map, Value};

use super::{MAX_DEPTH, takes_any_key};
use crate::schema::shape::item_schema;
use crate::schema::words::resolve;

/// Steps for one value. Larger values are taken as they are.
const FUEL: usize = 4_096;

/// Whether an object in the value has a key that the schema doesn't name although it names some. Objects are open by
/// default, so such arguments are valid; but a tool that is told `file_path` and knows `filePath` would ignore it.
///
/// This is asked of every call, so it only looks for names that differ; it may say yes where nothing is to be done.
pub(crate) fn may_be_misspelt(root: &Value, value: &Value) -> bool {
    Search { root, fuel: FUEL }.found(root, value, 0)
}

struct Search<'s> {
    root: &'s Value,
    fuel: usize,
}

impl Search<'_> {
    fn found(&mut self, schema: &Value, value: &Value, depth: usize) -> bool {
        let (Some(fuel), Some(object)) = (self.fuel.checked_sub(1), schema.as_object()) else { return false };
        if depth > MAX_DEPTH {
            return false;
        }
        self.fuel = fuel;
        let here = match value {
            Value::Object(members) => self.found_in_object(object, members, depth),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .any(|(index, item)| item_schema(object, index).is_some_and(|of| self.found(of, item, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return false,
        };
        here || self.found_in_parts(schema, object, value, depth)
    }

    fn found_in_object(&mut self, schema: &Map<String, Value>, members: &Map<String, Value>, depth: usize) -> bool {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
        members.iter().any(|(key, value)| match properties.get(key) {
            Some(property) => self.found(property, value, depth + 1),
            None => !takes_any_key(schema),
        })
    }

    fn found_in_parts(&mut self, schema: &Value, object: &Map<String, Value>, value: &Value, depth: usize) -> bool {
        if object.contains_key("$ref") {
            let target = resolve(self.root, schema);
            if !std::ptr::eq(target, schema) && self.found(target, value, depth + 1) {
                return true;
            }
        }
        ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|keyword| object.get(*keyword).and_then(Value::as_array))
            .flatten()
            .any(|part| self.found(part, value, depth + 1))
    }
}
