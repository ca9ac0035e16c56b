//! Which of several options or alternatives a value means.

use serde_json::{Map, Value};

use super::{Coercer, scalar};
use crate::Repair;
use crate::schema::keys::folded;
use crate::schema::shape::{Types, fits, options};
use crate::tree::Tree;

impl Coercer<'_> {
    /// The one option of `enum` or `const` that a value spells.
    pub(super) fn option(&mut self, tree: Tree, schema: &Map<String, Value>, path: &str) -> Tree {
        let Some(options) = options(schema) else { return tree };
        let options: Vec<Tree> = options.into_iter().map(|option| Tree::from(option.clone())).collect();
        if options.contains(&tree) {
            return tree;
        }
        let Some(spelling) = spelling(&tree) else { return tree };
        let exact = |option: &&Tree| self::spelling(option).is_some_and(|other| other == spelling);
        let alike = |option: &&Tree| matches!(option, Tree::String(other) if folded(other.trim()) == folded(&spelling));
        let found = only(options.iter().filter(exact)).or_else(|| only(options.iter().filter(alike)));
        match found {
            Some(option) => {
                self.note("option-spelling", path, format!("{spelling:?} was read as the option {}", option.to_json()));
                option.clone()
            }
            None => tree,
        }
    }

    /// A value as the one of several schemas reads it that can.
    pub(super) fn alternative(&mut self, tree: Tree, branches: &[Value], path: &str, depth: usize) -> Tree {
        let kind = Types::of(&tree);
        let allowed: Vec<(&Value, Types)> =
            branches.iter().map(|branch| (branch, Types::allowed(self.root, branch))).collect();
        if allowed.iter().any(|(branch, _)| fits(self.root, branch, &tree, &mut self.fuel)) {
            // Valid as it is, but a key inside it may still have another name.
            return match only(allowed.iter().filter(|(_, types)| types.has(kind))) {
                Some((branch, _)) => self.value(tree, branch, path, depth),
                None => tree,
            };
        }
        let nullable = allowed.iter().any(|(_, types)| types.has(Types::NULL));
        match only(allowed.iter().filter(|(_, types)| *types != Types::NULL)) {
            Some((branch, types)) => {
                let tree = self.value(tree, branch, path, depth);
                match &tree {
                    Tree::String(text) if nullable && !types.has(Types::STRING) && scalar::is_null(text) => {
                        self.note("string-to-null", path, "a text was read as the null that it spells".to_owned());
                        Tree::Null
                    }
                    Tree::Null
                    | Tree::Bool(_)
                    | Tree::Number(_)
                    | Tree::String(_)
                    | Tree::List(_)
                    | Tree::Object(_) => tree,
                }
            }
            None => {
                // A value of the right type is read within it, and only otherwise as another type.
                let (own, other): (Vec<_>, Vec<_>) = allowed.into_iter().partition(|(_, types)| types.has(kind));
                let mut readings = self.readings(&tree, &own, path, depth);
                if readings.is_empty() {
                    readings = self.readings(&tree, &other, path, depth);
                }
                self.only_reading(tree, readings)
            }
        }
    }

    /// What the value is in each schema that can read it.
    fn readings(&mut self, tree: &Tree, branches: &[(&Value, Types)], path: &str, depth: usize) -> Vec<ReadAs> {
        let mut readings = Vec::new();
        for (branch, _) in branches {
            let Some(fuel) = self.fuel.checked_sub(tree.size()) else { return Vec::new() };
            let mut trial = Coercer { root: self.root, fuel, repairs: Vec::new() };
            let reading = trial.value(tree.clone(), branch, path, depth);
            if fits(self.root, branch, &reading, &mut trial.fuel) {
                readings.push(ReadAs { tree: reading, repairs: trial.repairs });
            }
            self.fuel = trial.fuel;
        }
        readings
    }

    fn only_reading(&mut self, tree: Tree, mut readings: Vec<ReadAs>) -> Tree {
        // A list of one is a reading only where there is no other.
        if readings.iter().any(|reading| !reading.is_wrapped()) {
            readings.retain(|reading| !reading.is_wrapped());
        }
        let mut readings = readings.into_iter();
        match readings.next() {
            Some(first) if readings.all(|other| other.tree == first.tree) => {
                self.repairs.extend(first.repairs);
                first.tree
            }
            Some(_) | None => tree,
        }
    }
}

/// A value as one of several schemas reads it.
struct ReadAs {
    tree: Tree,
    repairs: Vec<Repair>,
}

impl ReadAs {
    fn is_wrapped(&self) -> bool {
        self.repairs.iter().any(|repair| repair.kind == "single-to-list")
    }
}

/// How a scalar is spelled: text as it is, other values as JSON.
fn spelling(tree: &Tree) -> Option<String> {
    match tree {
        Tree::String(text) => Some(match text.trim() {
            "True" => "true".to_owned(),
            "False" => "false".to_owned(),
            other => other.to_owned(),
        }),
        Tree::Bool(_) | Tree::Number(_) => Some(tree.to_json()),
        Tree::Null | Tree::List(_) | Tree::Object(_) => None,
    }
}

/// The only element, if there is exactly one.
fn only<T>(mut elements: impl Iterator<Item = T>) -> Option<T> {
    let first = elements.next()?;
    elements.next().is_none().then_some(first)
}
