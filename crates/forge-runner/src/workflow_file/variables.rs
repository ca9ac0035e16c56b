use std::collections::BTreeMap;
use std::ops::Range;

use forge_parse::nearest;
use toml::Spanned;
use toml::de::DeValue;

use super::diagnostic::Diagnostic;
use super::keys::VARIABLE;
use super::prose::list;
use super::table::{Problems, Table};
use crate::command::is_placeholder_name;

/// The variable that every command line has: the folder of the workflow file.
pub(super) const WORKFLOW_DIR: &str = "workflow_dir";

/// The declared variables and the values they have in this run.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// The names, also of those without a value.
    pub(super) declared: Vec<String>,
    /// The values. One that is missing or wrong, which is reported, is empty, so that what needs it can be checked.
    pub(super) values: BTreeMap<String, String>,
}

impl Variables {
    /// Reads `[variables]` and puts the given values in the place of the defaults.
    pub(super) fn read(file: &Table<'_>, given: &BTreeMap<String, String>) -> Self {
        let mut variables = Self::default();
        let table = file.table("variables");
        for (key, value) in table.iter().flat_map(|(table, _)| table.iter()) {
            variables.declare(key.get_ref(), key.span(), value, given, file);
        }
        for name in given.keys().filter(|name| !variables.declared.contains(name)) {
            file.problems().report(variables.unknown(name));
        }
        variables
    }

    fn declare(
        &mut self,
        name: &str,
        span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
        given: &BTreeMap<String, String>,
        file: &Table<'_>,
    ) {
        check_name(name, &span, file.problems());
        self.declared.push(name.to_owned());
        let (default, required) = match value.get_ref() {
            DeValue::Table(table) => declaration(&Table::new(table, &VARIABLE, file.problems())),
            _ => (Some(text_of(value.get_ref()).unwrap_or_else(|| wrong_default(file, name, value))), false),
        };
        let value = given.get(name).cloned().or(default);
        if value.is_none() && required {
            let diagnostic = Diagnostic::at(span, format!("variable `{name}` has no value"));
            file.problems().report(diagnostic.help(format!("give one with `--var {name}=VALUE`, or a `default` here")));
        }
        if let Some(value) = value.or_else(|| required.then(String::new)) {
            self.values.insert(name.to_owned(), value);
        }
    }

    fn unknown(&self, name: &str) -> Diagnostic {
        let declared = || self.declared.iter().map(String::as_str);
        let diagnostic = Diagnostic::new(format!("this workflow has no variable `{name}`"));
        let diagnostic = diagnostic.did_you_mean(nearest(name, declared()));
        if self.declared.is_empty() {
            return diagnostic.help("it has no `[variables]` at all");
        }
        diagnostic.help(format!("its variables are {}", list(declared())))
    }
}

/// The default of a variable that is declared by a table, and whether it needs a value.
fn declaration(table: &Table<'_>) -> (Option<String>, bool) {
    let _checked = table.string("description");
    let default = table.value("default").map(|value| {
        let wrong = || table.wrong_type("default", value, "a string, a number or a boolean").unwrap_or_default();
        text_of(value.get_ref()).unwrap_or_else(wrong)
    });
    let required = table.boolean("required");
    if let (Some(_), Some(required)) = (&default, required.as_ref().filter(|required| required.value)) {
        let diagnostic = Diagnostic::at(required.span.clone(), "a variable with a default can't be required");
        table.problems().report(diagnostic.help("remove `required` or `default`"));
    }
    let required = default.is_none() && required.is_none_or(|required| required.value);
    (default, required)
}

fn wrong_default(file: &Table<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> String {
    let expected = "its default (a string, a number or a boolean) or a table with `description`, `default`, `required`";
    file.wrong_type(name, value, expected).unwrap_or_default()
}

fn check_name(name: &str, span: &Range<usize>, problems: &Problems) {
    let usable =
        is_placeholder_name(name) && !name.contains('-') && !name.starts_with(|first: char| first.is_numeric());
    if name == WORKFLOW_DIR {
        let diagnostic = Diagnostic::at(span.clone(), format!("`{name}` is built in: the folder of the workflow file"));
        problems.report(diagnostic.help("rename the variable"));
    } else if !usable {
        let diagnostic = Diagnostic::at(span.clone(), format!("`{name}` is no name for a variable"));
        problems.report(diagnostic.help("a name has letters, digits and `_`, and begins with no digit"));
    }
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(integer) => Some(integer.to_string()),
        DeValue::Float(float) => Some(float.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Datetime(date) => Some(date.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
