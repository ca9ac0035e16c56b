//! Tool names a model server may refuse, under names it takes.

use std::collections::HashMap;

use serde_json::Value;

/// The longest name every server takes.
const LONGEST: usize = 64;

/// Other names for tools whose own names are not safe everywhere. Servers disagree on dots, spaces, a digit at the start and
/// length; a letter or underscore followed by letters, digits, underscores and hyphens passes all of them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    to_backend: HashMap<String, String>,
    to_client: HashMap<String, String>,
}

impl Names {
    /// Whether every tool goes by its own name.
    pub(crate) fn are_plain(&self) -> bool {
        self.to_backend.is_empty()
    }

    /// The name the backend knows a tool by, given `taken` for the names that are in use. Asking again gives the same.
    pub(crate) fn claim(&mut self, name: &str, taken: impl Fn(&str) -> bool) -> String {
        if is_safe(name) {
            return name.to_owned();
        }
        let base = safe(name);
        let mut alias = base.clone();
        let mut number = 1_u32;
        while taken(&alias) || self.to_client.contains_key(&alias) {
            number = number.saturating_add(1);
            alias = format!("{}_{number}", cut(&base, LONGEST - 8));
        }
        self.to_backend.insert(name.to_owned(), alias.clone());
        self.to_client.insert(alias.clone(), name.to_owned());
        alias
    }

    /// The name the backend knows.
    pub(crate) fn for_backend<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_backend.get(name).map_or(name, String::as_str)
    }

    /// The name the client knows.
    pub(crate) fn for_client<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_client.get(name).map_or(name, String::as_str)
    }

    /// Renames the tools in the messages of a chat.
    pub(crate) fn rename_history(&self, messages: &mut [Value]) {
        if self.are_plain() {
            return;
        }
        for message in messages {
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
            for name in calls.filter_map(|call| call.get_mut("function")?.get_mut("name")) {
                self.rename(name);
            }
            if message.get("role").and_then(Value::as_str) == Some("tool")
                && let Some(name) = message.get_mut("name")
            {
                self.rename(name);
            }
        }
    }

    fn rename(&self, name: &mut Value) {
        if let Some(alias) = name.as_str().and_then(|known| self.to_backend.get(known)) {
            *name = Value::from(alias.as_str());
        }
    }
}

fn is_safe(name: &str) -> bool {
    let starts_well = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    starts_well && name.len() <= LONGEST && name.chars().all(is_word)
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}

fn safe(name: &str) -> String {
    let words: String = name.chars().map(|char| if is_word(char) { char } else { '_' }).collect();
    let starts_well = words.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    let words = if starts_well { words } else { format!("tool_{words}") };
    cut(&words, LONGEST).to_owned()
}

/// The beginning of a text that is ASCII.
fn cut(text: &str, length: usize) -> &str {
    text.get(..length).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_where_they_are_safe_and_replaced_where_not() {
        let mut names = Names::default();
        let long = "x".repeat(80);
        for (name, alias) in [
            ("read_file", "read_file"),
            ("mcp__desk__open-tab", "mcp__desk__open-tab"),
            ("3d_preview", "tool_3d_preview"),
            ("notes.list", "notes_list"),
            ("notes list", "notes_list_2"),
            ("", "tool_"),
        ] {
            assert_eq!(names.claim(name, |_| false), alias, "{name:?}");
            assert_eq!(names.for_client(alias), name);
            assert_eq!(names.for_backend(name), alias);
        }
        assert_eq!(names.claim(&long, |_| false).len(), 64);
    }

    #[test]
    fn a_replacement_never_meets_a_name_in_use() {
        let mut names = Names::default();
        assert_eq!(names.claim("a b", |taken| taken == "a_b"), "a_b_2");
    }
}
