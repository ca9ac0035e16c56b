//! Which types a schema lets through, and whether a value has the shape it describes.

use serde_json::{Map, Value};

use super::words::resolve;
use crate::tree::Tree;

/// How many steps through `$ref` and combined schemas are followed for the types of one value.
const MAX_STEPS: usize = 12;

/// A set of JSON types. Integers are numbers, so `NUMBER` alone means those that are no integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const NUMBER: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const LIST: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    /// The type of a value.
    pub(crate) fn of(tree: &Tree) -> Self {
        match tree {
            Tree::Null => Self::NULL,
            Tree::Bool(_) => Self::BOOLEAN,
            Tree::Number(digits) if is_integral(digits) => Self::INTEGER,
            Tree::Number(_) => Self::NUMBER,
            Tree::String(_) => Self::STRING,
            Tree::List(_) => Self::LIST,
            Tree::Object(_) => Self::OBJECT,
        }
    }

    /// The types that a schema's own `type` names; all where it names none.
    pub(crate) fn named(schema: &Map<String, Value>) -> Self {
        match schema.get("type") {
            Some(Value::String(name)) => Self::by_name(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).map(Self::by_name).fold(Self::NONE, Self::or)
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Self::ALL,
        }
    }

    /// The types that a schema lets through, looking into everything it is made of.
    pub(crate) fn allowed(root: &Value, schema: &Value) -> Self {
        Self::allowed_within(root, schema, MAX_STEPS)
    }

    fn allowed_within(root: &Value, schema: &Value, steps: usize) -> Self {
        if schema == &Value::Bool(false) {
            return Self::NONE;
        }
        let (Some(steps), Some(object)) = (steps.checked_sub(1), schema.as_object()) else { return Self::ALL };
        let mut types = Self::named(object);
        if let Some(options) = options(object) {
            let kinds = options.iter().map(|option| Self::of(&Tree::from((*option).clone())));
            types = types.and(kinds.fold(Self::NONE, Self::or));
        }
        if object.contains_key("$ref") {
            types = types.and(Self::allowed_within(root, resolve(root, schema), steps));
        }
        let list = |keyword: &str| object.get(keyword).and_then(Value::as_array);
        for branch in list("allOf").into_iter().flatten() {
            types = types.and(Self::allowed_within(root, branch, steps));
        }
        for branches in [list("anyOf"), list("oneOf")].into_iter().flatten() {
            let union = branches.iter().map(|branch| Self::allowed_within(root, branch, steps));
            types = types.and(union.fold(Self::NONE, Self::or));
        }
        types
    }

    fn by_name(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER.or(Self::NUMBER),
            "string" => Self::STRING,
            "array" => Self::LIST,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether any type of the other set is in this one.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The values that `enum` or `const` list.
pub(crate) fn options(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(Value::Array(options))) => Some(options.iter().collect()),
        (None, _) => None,
    }
}

fn is_integral(digits: &str) -> bool {
    if digits.contains(['e', 'E']) {
        return digits.parse::<f64>().is_ok_and(|number| number.fract() == 0.0);
    }
    digits.split_once('.').is_none_or(|(_, fraction)| fraction.bytes().all(|digit| digit == b'0'))
}

/// Whether a value has the shape of a schema: its types, its options, its keys. Ranges, patterns and the like are
/// not looked at: this only tells alternatives apart, and what is chosen is validated as a whole afterwards.
///
/// Takes one unit of `fuel` per step, and says no when there is none left.
pub(crate) fn fits(root: &Value, schema: &Value, tree: &Tree, fuel: &mut usize) -> bool {
    let Some(left) = fuel.checked_sub(1) else { return false };
    *fuel = left;
    let object = match schema {
        Value::Object(object) => object,
        Value::Bool(false) => return false,
        Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => return true,
    };
    if !Types::named(object).has(Types::of(tree)) {
        return false;
    }
    if options(object).is_some_and(|options| !options.iter().any(|option| Tree::from((*option).clone()) == *tree)) {
        return false;
    }
    if object.contains_key("$ref") {
        let target = resolve(root, schema);
        if !std::ptr::eq(target, schema) && !fits(root, target, tree, fuel) {
            return false;
        }
    }
    let list = |keyword: &str| object.get(keyword).and_then(Value::as_array);
    if !list("allOf").into_iter().flatten().all(|branch| fits(root, branch, tree, fuel)) {
        return false;
    }
    for branches in [list("anyOf"), list("oneOf")].into_iter().flatten() {
        if !branches.iter().any(|branch| fits(root, branch, tree, fuel)) {
            return false;
        }
    }
    match tree {
        Tree::Object(members) => members_fit(root, object, members, fuel),
        Tree::List(items) => items_fit(root, object, items, fuel),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::String(_) => true,
    }
}

fn members_fit(root: &Value, schema: &Map<String, Value>, members: &[(String, Tree)], fuel: &mut usize) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let has = |key: &str| members.iter().any(|(name, _)| name == key);
    if !required.into_iter().all(has) {
        return false;
    }
    let closed =
        schema.get("additionalProperties") == Some(&Value::Bool(false)) && !schema.contains_key("patternProperties");
    members.iter().all(|(key, value)| match properties.and_then(|properties| properties.get(key)) {
        Some(property) => fits(root, property, value, fuel),
        None => !closed,
    })
}

fn items_fit(root: &Value, schema: &Map<String, Value>, items: &[Tree], fuel: &mut usize) -> bool {
    items.iter().enumerate().all(|(index, item)| item_schema(schema, index).is_none_or(|of| fits(root, of, item, fuel)))
}

/// The schema of the item at an index.
pub(crate) fn item_schema(schema: &Map<String, Value>, index: usize) -> Option<&Value> {
    let first = schema.get("prefixItems").and_then(Value::as_array);
    if let Some(of) = first.and_then(|list| list.get(index)) {
        return Some(of);
    }
    match schema.get("items")? {
        // As older drafts write `prefixItems`.
        Value::Array(list) => list.get(index).or_else(|| schema.get("additionalItems")),
        all => Some(all),
    }
}
