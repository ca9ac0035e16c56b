//! Values of another type than the schema's, where they can be read as that type.

use serde_json::{Map, Value};

use super::Coercer;
use crate::repair::{number, read_notation};
use crate::schema::pointer::element;
use crate::schema::shape::{Types, item_schema};
use crate::tree::Tree;

impl Coercer<'_> {
    /// A value as the schema's own `type` reads it.
    pub(super) fn typed(&mut self, tree: Tree, schema: &Map<String, Value>, path: &str, depth: usize) -> Tree {
        let types = Types::named(schema);
        if types.has(Types::of(&tree)) {
            return tree;
        }
        let tree = match tree {
            Tree::String(text) => self.read_text(text, types, path),
            Tree::Number(digits) if types.has(Types::STRING) => {
                self.note("number-to-string", path, format!("the number {digits} was read as a string"));
                Tree::String(digits)
            }
            Tree::Bool(bit) if types.has(Types::STRING) => {
                self.note("boolean-to-string", path, format!("{bit} was read as a string"));
                Tree::String(bit.to_string())
            }
            other => other,
        };
        if types.has(Types::LIST) && !types.has(Types::of(&tree)) {
            return self.wrap(tree, schema, path, depth);
        }
        tree
    }

    /// Text that holds a value of another type.
    fn read_text(&mut self, text: String, types: Types, path: &str) -> Tree {
        let trimmed = text.trim();
        let boolean = ["true", "false"].iter().find(|word| trimmed.eq_ignore_ascii_case(word));
        let (kind, read) = match boolean {
            Some(word) if types.has(Types::BOOLEAN) => ("string-to-boolean", Some(Tree::Bool(*word == "true"))),
            _ if is_null(trimmed) && types.has(Types::NULL) => ("string-to-null", Some(Tree::Null)),
            _ if trimmed.starts_with(['{', '[']) && types.has(Types::LIST.or(Types::OBJECT)) => {
                ("json-text", read_notation(trimmed).filter(|read| types.has(Types::of(read).or(Types::LIST))))
            }
            _ if types.has(Types::NUMBER) => {
                ("string-to-number", number(trimmed).map(|(digits, _)| Tree::Number(digits)))
            }
            _ if types.has(Types::INTEGER) => ("string-to-integer", integer(trimmed).map(Tree::Number)),
            _ => ("", None),
        };
        match read {
            Some(read) => {
                self.note(kind, path, format!("a text was read as the value {}", words(kind)));
                read
            }
            None => Tree::String(text),
        }
    }

    /// One value where a list of such values belongs.
    fn wrap(&mut self, tree: Tree, schema: &Map<String, Value>, path: &str, depth: usize) -> Tree {
        if !is_one_item(&tree) {
            return tree;
        }
        let of = item_schema(schema, 0);
        let before = self.repairs.len();
        let item = match of {
            Some(of) => self.value(tree.clone(), of, &element(path, 0), depth + 1),
            None => tree.clone(),
        };
        let allowed = of.map_or(Types::ALL, |of| Types::allowed(self.root, of));
        if !allowed.has(Types::of(&item)) {
            self.repairs.truncate(before);
            return tree;
        }
        self.note("single-to-list", path, "a single value was read as a list of one".to_owned());
        Tree::List(vec![item])
    }
}

/// Whether a value can only be one item: text that may separate several, or that tries to be a list, can't.
fn is_one_item(tree: &Tree) -> bool {
    match tree {
        Tree::String(text) => {
            let text = text.trim();
            !text.is_empty() && !is_null(text) && !text.contains([',', ';', '\n']) && !text.starts_with(['[', '{'])
        }
        Tree::Bool(_) | Tree::Number(_) | Tree::Object(_) => true,
        Tree::Null | Tree::List(_) => false,
    }
}

/// Whether a text is a literal for null.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text.trim(), "null" | "None")
}

/// The digits of an integer, also where it was written with a fraction of zero.
fn integer(text: &str) -> Option<String> {
    let (digits, _) = number(text).filter(|(digits, _)| !digits.contains(['e', 'E']))?;
    match digits.split_once('.') {
        Some((whole, fraction)) => fraction.bytes().all(|digit| digit == b'0').then(|| whole.to_owned()),
        None => Some(digits),
    }
}

fn words(kind: &str) -> &'static str {
    match kind {
        "string-to-boolean" => "true or false that it spells",
        "string-to-null" => "null that it spells",
        "json-text" => "that it holds as JSON",
        _ => "of the number that it spells",
    }
}
