//! Names of tools that every server takes, and the way back.

use std::collections::{HashMap, HashSet};

use forge_core::{Constraint, ToolName};
use serde_json::{Map, Value};

use super::shape::Names;
use crate::ModelEvent;

/// The longest name every server takes, in characters:
/// <https://platform.openai.com/docs/api-reference/chat/create> (`tools`).
const LONGEST: usize = 64;

/// The names under which a request's tools go out, where they differ from those they have.
#[derive(Clone, Debug, Default)]
pub(crate) struct WireNames {
    out: HashMap<String, String>,
    back: HashMap<String, String>,
}

impl WireNames {
    /// Renames the tools of a request, in their descriptions and wherever the conversation calls them. Of tools with the same
    /// name the first is kept.
    pub(super) fn write(body: &mut Map<String, Value>, names: Names) -> Self {
        if names == Names::AsGiven {
            return Self::default();
        }
        let mut renamed = Self::default();
        if let Some(Value::Array(tools)) = body.get_mut("tools") {
            let mut given = HashSet::new();
            tools.retain(|tool| function_name(tool).is_none_or(|name| given.insert(name.to_owned())));
            let mut taken = HashSet::new();
            for name in tools.iter().filter_map(function_name) {
                renamed.add(name, &mut taken);
            }
            tools.iter_mut().for_each(|tool| renamed.rename_function(tool));
        }
        if let Some(choice) = body.get_mut("tool_choice") {
            renamed.rename_function(choice);
        }
        if let Some(Value::Array(messages)) = body.get_mut("messages") {
            messages.iter_mut().for_each(|message| renamed.rename_in(message));
        }
        renamed
    }

    fn add(&mut self, name: &str, taken: &mut HashSet<String>) {
        let plain = plain(name);
        let mut wire = plain.clone();
        let mut more = 2_usize;
        while !taken.insert(wire.clone()) {
            let end = format!("_{more}");
            wire = plain.chars().take(LONGEST.saturating_sub(end.len())).collect::<String>() + &end;
            more = more.saturating_add(1);
        }
        self.back.insert(wire.clone(), name.to_owned());
        self.out.insert(name.to_owned(), wire);
    }

    fn rename_in(&self, message: &mut Value) {
        if message.get("role").and_then(Value::as_str) == Some("tool") {
            self.rename(message.get_mut("name"));
        }
        if let Some(Value::Array(calls)) = message.get_mut("tool_calls") {
            calls.iter_mut().for_each(|call| self.rename_function(call));
        }
    }

    fn rename_function(&self, value: &mut Value) {
        self.rename(value.get_mut("function").and_then(|function| function.get_mut("name")));
    }

    fn rename(&self, name: Option<&mut Value>) {
        if let Some(Value::String(name)) = name {
            *name = self.out(name);
        }
    }

    /// The name a tool goes out under; tools of the past that are no longer offered have plain names too.
    fn out(&self, name: &str) -> String {
        self.out.get(name).cloned().unwrap_or_else(|| plain(name))
    }

    /// The constraint over the names that go out.
    pub(super) fn constraint(&self, constraint: &Constraint) -> Constraint {
        match constraint {
            Constraint::Only(names) if !self.out.is_empty() => {
                Constraint::Only(names.iter().map(|name| ToolName::from(self.out(name.as_str()).as_str())).collect())
            }
            other => other.clone(),
        }
    }

    /// An event of the answer with the name the tool has.
    pub(crate) fn restored(&self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::Call { index, id, name, arguments } => {
                let name = self.back.get(&name).cloned().unwrap_or(name);
                ModelEvent::Call { index, id, name, arguments }
            }
            other => other,
        }
    }
}

fn function_name(tool: &Value) -> Option<&str> {
    tool.get("function")?.get("name")?.as_str()
}

fn plain(name: &str) -> String {
    let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut plain: String = name.chars().map(|letter| if word(letter) { letter } else { '_' }).collect();
    if !plain.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        plain.insert(0, '_');
    }
    plain.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_go_out_plain_and_come_back_as_they_were() {
        let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
        let long = "x".repeat(70);
        let given = ["3d_preview", "a.b", "a b", "fine-1", long.as_str(), "a.b"];
        let mut body = Map::from_iter([
            ("tools".to_owned(), given.map(tool).to_vec().into()),
            ("tool_choice".to_owned(), tool("a.b")),
            (
                "messages".to_owned(),
                json!([
                    {"role": "user", "name": "a.b", "content": "hi"},
                    {"role": "assistant", "tool_calls": [tool("a b"), tool("gone.by")]},
                    {"role": "tool", "name": "a b", "content": ""},
                ]),
            ),
        ]);
        let names = WireNames::write(&mut body, Names::Plain);
        let sent: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| function_name(tool).unwrap()).collect();
        assert_eq!(sent, ["_3d_preview", "a_b", "a_b_2", "fine-1", &"x".repeat(64)]);
        assert_eq!(body["tool_choice"]["function"]["name"], "a_b");
        assert_eq!(body["messages"][0]["name"], "a.b");
        assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["name"], "a_b_2");
        assert_eq!(body["messages"][1]["tool_calls"][1]["function"]["name"], "gone_by");
        assert_eq!(body["messages"][2]["name"], "a_b_2");
        assert_eq!(
            names.constraint(&Constraint::Only(vec!["3d_preview".into()])),
            Constraint::Only(vec!["_3d_preview".into()])
        );
        let event =
            |name: &str| ModelEvent::Call { index: 0, id: None, name: name.to_owned(), arguments: String::new() };
        for (given, sent) in given.iter().zip(["_3d_preview", "a_b", "a_b_2", "fine-1", &"x".repeat(64)]) {
            assert_eq!(names.restored(event(sent)), event(given));
        }
    }

    #[test]
    fn names_stay_as_they_are_unless_the_server_refuses_them() {
        let mut body = Map::from_iter([("tools".to_owned(), json!([{"function": {"name": "a.b"}}]))]);
        WireNames::write(&mut body, Names::AsGiven);
        assert_eq!(body["tools"][0]["function"]["name"], "a.b");
    }
}
