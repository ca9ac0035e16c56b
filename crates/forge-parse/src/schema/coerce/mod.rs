//! The lossless reading of a value that its schema asks for.
//!
//! Only what one reading has is read: `"5"` is 5 where an integer belongs, and `3.7` is never 3. What is read this
//! way is validated as a whole afterwards; if it isn't valid, nothing was gained and the original is reported.

mod choice;
mod misspelt;
mod scalar;

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::keys::folded;
use super::leak::within_delimiters;
use super::pointer::{child, element};
use super::shape::{Types, fits, item_schema};
use super::words::resolve;
use crate::Repair;
use crate::tree::Tree;

pub(crate) use misspelt::may_be_misspelt;

/// How deep schemas and values are followed together.
const MAX_DEPTH: usize = 256;

/// Steps for values of any size, and more per value: alternatives within alternatives must not take exponential time.
const BASE_FUEL: usize = 4_096;
const FUEL_PER_VALUE: usize = 32;

/// Reads a value as its schema asks, and says what was read otherwise than it was written.
pub(crate) fn coerce(root: &Value, tree: Tree) -> (Tree, Vec<Repair>) {
    let fuel = BASE_FUEL + tree.size().saturating_mul(FUEL_PER_VALUE);
    let mut coercer = Coercer { root, fuel, repairs: Vec::new() };
    let tree = coercer.undelimited(tree, "");
    let tree = coercer.value(tree, root, "", 0);
    (tree, coercer.repairs)
}

struct Coercer<'s> {
    root: &'s Value,
    fuel: usize,
    repairs: Vec<Repair>,
}

impl Coercer<'_> {
    fn note(&mut self, kind: &'static str, path: &str, note: String) {
        self.repairs.push(Repair { kind: Cow::Borrowed(kind), path: path.to_owned(), note });
    }

    /// A value as a schema reads it.
    fn value(&mut self, tree: Tree, schema: &Value, path: &str, depth: usize) -> Tree {
        let (Some(fuel), Some(object)) = (self.fuel.checked_sub(1), schema.as_object()) else { return tree };
        if depth > MAX_DEPTH {
            return tree;
        }
        self.fuel = fuel;
        let tree = self.option(tree, object, path);
        let tree = self.typed(tree, object, path, depth);
        let mut tree = match tree {
            Tree::Object(members) => self.object(members, object, path, depth),
            Tree::List(items) => self.list(items, object, path, depth),
            scalar @ (Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::String(_)) => scalar,
        };
        if object.contains_key("$ref") {
            let target = resolve(self.root, schema);
            if !std::ptr::eq(target, schema) {
                tree = self.value(tree, target, path, depth + 1);
            }
        }
        let list = |keyword: &str| object.get(keyword).and_then(Value::as_array);
        for part in list("allOf").into_iter().flatten() {
            tree = self.value(tree, part, path, depth + 1);
        }
        for branches in [list("anyOf"), list("oneOf")].into_iter().flatten() {
            tree = self.alternative(tree, branches, path, depth + 1);
        }
        tree
    }

    fn list(&mut self, items: Vec<Tree>, schema: &Map<String, Value>, path: &str, depth: usize) -> Tree {
        let items = items.into_iter().enumerate().map(|(index, item)| match item_schema(schema, index) {
            Some(of) => self.value(item, of, &element(path, index), depth + 1),
            None => item,
        });
        Tree::List(items.collect())
    }

    fn object(&mut self, members: Vec<(String, Tree)>, schema: &Map<String, Value>, path: &str, depth: usize) -> Tree {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return self.open_object(members, schema, path, depth);
        };
        let members = self.rename_keys(members, schema, properties, path);
        let mut read = Vec::with_capacity(members.len());
        for (key, value) in members {
            let Some(property) = properties.get(&key).or_else(|| other_properties(schema)) else {
                read.push((key, value));
                continue;
            };
            let place = child(path, &key);
            let value = self.value(value, property, &place, depth + 1);
            if properties.contains_key(&key) && !self.is_required(schema, &key) && self.means_absent(&value, property) {
                self.note("absent-optional", &place, "an empty value for an optional key was left out".to_owned());
            } else {
                read.push((key, value));
            }
        }
        Tree::Object(read)
    }

    /// An object whose keys are free.
    fn open_object(
        &mut self,
        members: Vec<(String, Tree)>,
        schema: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Tree {
        let Some(of) = other_properties(schema) else { return Tree::Object(members) };
        let members = members.into_iter().map(|(key, value)| {
            let value = self.value(value, of, &child(path, &key), depth + 1);
            (key, value)
        });
        Tree::Object(members.collect())
    }

    /// Gives a key the name that the schema has for it, where they differ only in case, `_` and `-`, and only one
    /// name and one key come into question.
    fn rename_keys(
        &mut self,
        members: Vec<(String, Tree)>,
        schema: &Map<String, Value>,
        properties: &Map<String, Value>,
        path: &str,
    ) -> Vec<(String, Tree)> {
        if takes_any_key(schema) || members.iter().all(|(key, _)| properties.contains_key(key)) {
            return members;
        }
        let strange: Vec<String> =
            members.iter().map(|(key, _)| key).filter(|key| !properties.contains_key(*key)).cloned().collect();
        let absent: Vec<&String> =
            properties.keys().filter(|name| members.iter().all(|(key, _)| key != *name)).collect();
        let mut renamed = members;
        for key in &strange {
            let wanted = folded(key);
            let mut names = absent.iter().filter(|name| folded(name) == wanted);
            let mut rivals = strange.iter().filter(|other| folded(other) == wanted);
            let (Some(name), None, Some(_), None) = (names.next(), names.next(), rivals.next(), rivals.next()) else {
                continue;
            };
            if let Some((old, _)) = renamed.iter_mut().find(|(old, _)| old == key) {
                old.clone_from(name);
                self.note("key-name", &child(path, name), format!("the key `{key}` was read as `{name}`"));
            }
        }
        renamed
    }

    /// Whether the schema, or one it consists of, requires the key.
    fn is_required(&self, schema: &Map<String, Value>, key: &str) -> bool {
        let requires = |schema: &Map<String, Value>| {
            schema.get("required").and_then(Value::as_array).is_some_and(|keys| keys.iter().any(|name| name == key))
        };
        requires(schema)
            || schema
                .get("allOf")
                .and_then(Value::as_array)
                .is_some_and(|parts| parts.iter().filter_map(|part| resolve(self.root, part).as_object()).any(requires))
    }

    /// Whether a value can only mean that an optional key has none.
    fn means_absent(&mut self, value: &Tree, property: &Value) -> bool {
        let allowed = Types::allowed(self.root, property);
        match value {
            Tree::Null => !allowed.has(Types::NULL),
            Tree::String(text) if scalar::is_null(text) => !allowed.has(Types::STRING.or(Types::NULL)),
            Tree::String(text) if text.trim().is_empty() => {
                !allowed.has(Types::STRING) || !fits(self.root, property, value, &mut self.fuel)
            }
            Tree::String(_) | Tree::Bool(_) | Tree::Number(_) | Tree::List(_) | Tree::Object(_) => false,
        }
    }

    /// Removes delimiters of the notation from both ends of texts and keys.
    fn undelimited(&mut self, tree: Tree, path: &str) -> Tree {
        match tree {
            Tree::String(text) => Tree::String(self.undelimited_text(text, path)),
            Tree::List(items) => {
                let items = items.into_iter().enumerate();
                Tree::List(items.map(|(index, item)| self.undelimited(item, &element(path, index))).collect())
            }
            Tree::Object(members) => {
                let members = members.into_iter().map(|(key, value)| {
                    let key = self.undelimited_text(key, path);
                    let value = self.undelimited(value, &child(path, &key));
                    (key, value)
                });
                Tree::Object(members.collect())
            }
            scalar @ (Tree::Null | Tree::Bool(_) | Tree::Number(_)) => scalar,
        }
    }

    fn undelimited_text(&mut self, text: String, path: &str) -> String {
        match within_delimiters(&text) {
            Some(inner) => {
                self.note(
                    "token-leak",
                    path,
                    "delimiters of the notation at both ends of a text were removed".to_owned(),
                );
                inner.to_owned()
            }
            None => text,
        }
    }
}

/// The schema of keys that `properties` doesn't name.
fn other_properties(schema: &Map<String, Value>) -> Option<&Value> {
    schema.get("additionalProperties").filter(|of| of.is_object())
}

/// Whether keys beside those under `properties` are expected.
pub(super) fn takes_any_key(schema: &Map<String, Value>) -> bool {
    let open = schema.get("additionalProperties").is_some_and(|of| of.is_object() || of == &Value::Bool(true));
    open || schema.contains_key("patternProperties") || schema.contains_key("propertyNames")
}
