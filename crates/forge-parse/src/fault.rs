use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ParsedCall, ToolName};

/// Why a generation ended, in one vocabulary for all backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model ended its turn.
    #[default]
    Stop,
    /// The backend says that the turn ended in tool calls.
    ToolCalls,
    /// The output limit or the end of the context window cut the generation.
    Length,
    /// A content filter cut it.
    ContentFilter,
    /// The stream broke off without a reason.
    Incomplete,
}

impl FinishReason {
    /// Whether the end of the output may be missing.
    pub fn is_cut(self) -> bool {
        match self {
            Self::Length | Self::ContentFilter | Self::Incomplete => true,
            Self::Stop | Self::ToolCalls => false,
        }
    }
}

/// What the parser reports, in the order of the model's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Text for the reader. Adjacent pieces belong together.
    Text(String),
    /// Text of the model's thinking. Adjacent pieces belong together.
    Reasoning(String),
    /// A valid call.
    Call(ParsedCall),
    /// Something that was meant as a call, or as an answer, and can't be used.
    Fault(Fault),
    /// Everything reported so far was the model's thinking: its closing tag came, and an opening one had not been
    /// written. Text so far is reasoning; calls and faults so far were rehearsals and don't count.
    WasReasoning,
}

/// Something that was meant as a call and can't be executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// The named tool isn't offered.
    UnknownTool {
        /// The name as the model wrote it.
        name: String,
        /// The offered names, nearest first where any is near.
        nearest: Vec<ToolName>,
    },
    /// The arguments could not be read as a JSON object.
    MalformedArguments {
        /// The tool that was called.
        tool: ToolName,
        /// What is wrong, in words.
        problem: String,
        /// Where: the byte offset in `raw`.
        offset: usize,
        /// The arguments as the model wrote them.
        raw: String,
    },
    /// The arguments are an object that doesn't satisfy the tool's schema.
    InvalidArguments {
        /// The tool that was called.
        tool: ToolName,
        /// Each field that is wrong.
        fields: Vec<FieldFault>,
        /// The arguments as the model wrote them.
        raw: String,
    },
    /// The output ended inside a call. Nothing of it runs.
    Truncated {
        /// The tool, if its name was complete.
        tool: Option<ToolName>,
        /// What was read of the call.
        raw: String,
    },
    /// Markup of a call without enough of a call in it to say which was meant.
    Unreadable {
        /// What is wrong, in words.
        problem: String,
        /// What was read.
        raw: String,
    },
    /// The text ends in one run of words that repeats over and over: the generation was caught in a loop.
    RepeatedText {
        /// The words that repeat.
        unit: String,
        /// How often they stand in a row at the end.
        count: usize,
    },
}

impl Fault {
    /// The offered tool that was meant, where the fault says.
    pub fn tool(&self) -> Option<&ToolName> {
        match self {
            Self::MalformedArguments { tool, .. } | Self::InvalidArguments { tool, .. } => Some(tool),
            Self::Truncated { tool, .. } => tool.as_ref(),
            Self::UnknownTool { .. } | Self::Unreadable { .. } | Self::RepeatedText { .. } => None,
        }
    }
}

impl fmt::Display for Fault {
    /// One sentence without its full stop, for a log or a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool { name, nearest } => {
                write!(f, "no tool is called {name:?}")?;
                match nearest.first() {
                    Some(nearest) => write!(f, "; the nearest is `{nearest}`"),
                    None => Ok(()),
                }
            }
            Self::MalformedArguments { tool, problem, offset, .. } => {
                write!(f, "the arguments of `{tool}` can't be read: {problem} (at byte {offset})")
            }
            Self::InvalidArguments { tool, fields, .. } => {
                write!(f, "the arguments of `{tool}` are wrong")?;
                for (index, field) in fields.iter().enumerate() {
                    write!(f, "{} {field}", if index == 0 { ":" } else { ";" })?;
                }
                Ok(())
            }
            Self::Truncated { tool: Some(tool), .. } => write!(f, "a call of `{tool}` was cut off before its end"),
            Self::Truncated { tool: None, .. } => f.write_str("a call was cut off before its end"),
            Self::Unreadable { problem, .. } => f.write_str(problem),
            Self::RepeatedText { unit, count } => write!(f, "the text ends in {unit:?}, {count} times in a row"),
        }
    }
}

impl fmt::Display for FieldFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the whole" } else { &self.path };
        match (self.problem, &self.found) {
            (FieldProblem::Missing, _) => write!(f, "`{path}` is missing ({})", self.allowed)?,
            (FieldProblem::Unknown, _) => write!(f, "`{path}` is no parameter")?,
            (FieldProblem::WrongType | FieldProblem::NotAllowed | FieldProblem::Rule, Some(found)) => {
                write!(f, "`{path}` can't be {found} ({} is allowed)", self.allowed)?;
            }
            (FieldProblem::WrongType | FieldProblem::NotAllowed | FieldProblem::Rule, None) => {
                write!(f, "`{path}` breaks a rule ({} is allowed)", self.allowed)?;
            }
        }
        match &self.nearest {
            Some(nearest) => write!(f, ", perhaps `{nearest}` was meant"),
            None => Ok(()),
        }
    }
}

/// One field of the arguments that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldFault {
    /// JSON pointer of the field; of the parent for a missing one followed by the missing key.
    pub path: String,
    /// What is wrong.
    pub problem: FieldProblem,
    /// The value found; none for a missing field.
    pub found: Option<Value>,
    /// What is allowed there, in words: a type, a list of values, a range, a pattern.
    pub allowed: String,
    /// For an unknown or missing key: the key that was probably meant.
    pub nearest: Option<String>,
}

/// The kinds of field faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldProblem {
    /// A required field isn't there.
    Missing,
    /// The field isn't in the schema, and the schema allows no others.
    Unknown,
    /// The value has another type than allowed.
    WrongType,
    /// The value has the right type and isn't one of those allowed (`enum`, `const`, range, length, pattern, format).
    NotAllowed,
    /// No alternative of `anyOf` / `oneOf` fits, or another rule of the schema is broken.
    Rule,
}
