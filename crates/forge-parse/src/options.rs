use serde::{Deserialize, Serialize};

/// Whether the model has to call a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// Text or calls.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// No call: whatever looks like one is text.
    None,
}

/// What the parser has to know about the request. The default is a plain request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParserOptions {
    /// Whether the prompt template opened the model's thinking, so that the output begins within it.
    pub starts_in_reasoning: bool,
    /// Whether JSON or other markup was asked for, by a response format or in words: then bare and fenced JSON is the
    /// answer and no call. See [`asks_for_data`].
    pub data_requested: bool,
    /// Whether a call is due.
    pub tool_choice: ToolChoice,
}

/// Words that ask for a document rather than an action.
const DATA_WORDS: [&str; 6] = ["json", "xml", "yaml", "toml", "csv", "html"];

/// Whether a user's message asks for data in a notation that could be taken for a call: it names the notation as a
/// word. A hint for [`ParserOptions::data_requested`].
pub fn asks_for_data(message: &str) -> bool {
    message
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| DATA_WORDS.iter().any(|data| word.eq_ignore_ascii_case(data)))
}
