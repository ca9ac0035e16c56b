use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::template::{ElementTemplate, Piece, TemplateError};

/// A command line with placeholders, read once and filled in for each call. No shell is involved: each element
/// is one argument of the program, whatever characters its values hold.
///
/// | in an element | becomes |
/// |---|---|
/// | `{name}` alone | the argument's text; an array becomes one element for each item |
/// | `--x={name}` | the text inside the element; arrays and objects as JSON |
/// | `{{`, `}}` | a literal brace |
///
/// An element with a placeholder whose argument is absent or null is dropped; a [group](Self::group) is dropped
/// as a whole, so that `["--limit", "{limit}"]` goes together.
///
/// A value that begins with `-` in an element that is only a placeholder is read as an option by most programs.
/// Put the element `--` before such placeholders where the program knows it, or write `--name={name}`.
#[derive(Clone, Debug)]
pub struct CommandLine {
    program: PathBuf,
    parts: Vec<Part>,
}

/// What is kept or dropped together.
#[derive(Clone, Debug)]
struct Part(Vec<ElementTemplate>);

impl CommandLine {
    /// A command line of the program alone. The program takes no placeholders.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), parts: Vec::new() }
    }

    /// Appends an element.
    ///
    /// # Errors
    /// When a placeholder in it can't be read.
    pub fn element(self, element: &str) -> Result<Self, TemplateError> {
        self.group(&[element])
    }

    /// Appends elements that are dropped together when an argument of one of them is absent.
    ///
    /// # Errors
    /// When a placeholder in them can't be read.
    pub fn group(mut self, elements: &[&str]) -> Result<Self, TemplateError> {
        let elements = elements.iter().map(|element| ElementTemplate::parse(element)).collect::<Result<_, _>>()?;
        self.parts.push(Part(elements));
        Ok(self)
    }

    /// Appends parsed elements that are dropped together.
    pub(crate) fn push(&mut self, elements: Vec<ElementTemplate>) {
        self.parts.push(Part(elements));
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The names of all placeholders, in order, with repetitions.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.0).flat_map(ElementTemplate::placeholders)
    }

    /// The command line with the placeholders that name one of `variables` replaced by its text.
    #[must_use]
    pub fn with_variables(self, variables: &BTreeMap<String, String>) -> Self {
        let value = |name: &str| variables.get(name).map(String::as_str);
        let part = |part: Part| Part(part.0.iter().map(|element| element.substitute(value)).collect());
        Self { program: self.program, parts: self.parts.into_iter().map(part).collect() }
    }

    /// The program's arguments for one call.
    pub fn fill_in(&self, arguments: &Map<String, Value>) -> Vec<String> {
        self.parts.iter().filter_map(|part| part.fill_in(arguments)).flatten().collect()
    }
}

impl Part {
    /// The elements with their values; none when a value is absent.
    fn fill_in(&self, arguments: &Map<String, Value>) -> Option<Vec<String>> {
        let mut filled = Vec::with_capacity(self.0.len());
        for element in &self.0 {
            if let Some(Value::Array(items)) = element.sole_placeholder().and_then(|name| arguments.get(name)) {
                filled.extend(items.iter().map(text_of));
                continue;
            }
            let mut text = String::new();
            for piece in element.pieces() {
                match piece {
                    Piece::Literal(literal) => text.push_str(literal),
                    Piece::Placeholder(name) => {
                        let value = arguments.get(name).filter(|value| !value.is_null())?;
                        text.push_str(&text_of(value));
                    }
                }
            }
            filled.push(text);
        }
        Some(filled)
    }
}

/// A string as it is; everything else as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(elements: &[&[&str]], arguments: Value) -> Vec<String> {
        let line = elements.iter().fold(CommandLine::new("program"), |line, group| line.group(group).unwrap());
        line.fill_in(arguments.as_object().unwrap())
    }

    #[test]
    fn values_become_text() {
        let cases = [
            (json!({"a": "x y; rm -rf /"}), vec!["x y; rm -rf /"]),
            (json!({"a": 5}), vec!["5"]),
            (json!({"a": 2.50}), vec!["2.5"]),
            (json!({"a": true}), vec!["true"]),
            (json!({"a": {"k": [1, "v"]}}), vec![r#"{"k":[1,"v"]}"#]),
            (json!({"a": ["x", 1, null]}), vec!["x", "1", "null"]),
            (json!({"a": []}), vec![]),
            (json!({"a": null}), vec![]),
            (json!({}), vec![]),
            (json!({"a": ""}), vec![""]),
        ];
        for (arguments, expected) in cases {
            assert_eq!(filled(&[&["{a}"]], arguments.clone()), expected, "{arguments}");
        }
    }

    #[test]
    fn an_array_inside_an_element_is_json() {
        assert_eq!(filled(&[&["--a={a}"]], json!({"a": ["x", 1]})), [r#"--a=["x",1]"#]);
    }

    #[test]
    fn a_group_is_dropped_as_a_whole() {
        let line: &[&[&str]] = &[&["--limit", "{limit}"], &["--"], &["{pattern}"]];
        assert_eq!(filled(line, json!({"pattern": "p"})), ["--", "p"]);
        assert_eq!(filled(line, json!({"pattern": "p", "limit": 3})), ["--limit", "3", "--", "p"]);
    }

    #[test]
    fn variables_are_filled_in_once_and_never_read_as_templates() {
        let variables = BTreeMap::from([("dir".to_owned(), "{name}".to_owned())]);
        let line = CommandLine::new("ls").element("{dir}/{name}").unwrap().with_variables(&variables);
        assert_eq!(line.fill_in(json!({"name": "x"}).as_object().unwrap()), ["{name}/x"]);
    }
}
