//! Reading the JSON that models write: strictly first, and then with every lossless repair that has one reading.
//!
//! The repairer never invents a value, never drops one, and keeps digits and backslashes as they were written. It
//! reads iteratively and in linear time. What has no reading, or more than one, is refused with the place.
//!
//! | kind of repair | what was written |
//! |---|---|
//! | `trailing-comma`, `missing-comma`, `extra-comma` | `{"a": 1,}`, `{"a": 1 "b": 2}`, `{"a": 1,, "b": 2}` |
//! | `quote-marks` | `{'a': “x”}`, Python's `"""x"""` |
//! | `unquoted-key`, `unquoted-string` | `{a: New York}` |
//! | `python-literal`, `number-form` | `True`, `None`; `.5`, `5.`, `+5` |
//! | `comment` | `// x`, `/* x */`, `# x` |
//! | `control-character`, `invalid-escape` | a raw line break in a string; `"\d+"`, `"C:\Users"` |
//! | `unescaped-quote` | `{"a": "say "hi""}` |
//! | `over-escaped`, `backslash-space` | `{\"a\": 1}`; `{"a": 1,\n "b": 2}` with the escape outside of a string |
//! | `missing-closer`, `extra-closer`, `mismatched-closer` | `{"a": [1}`, `{"a": 1}}`, `{"a": {"b": 1], "c": 2}` |
//! | `doubled-brace` | `{{"a": 1}}` |
//! | `full-width-punctuation` | `{"a"：1，"b"：2}` |
//! | `code-fence`, `surrounding-text` | a fence, or words, around the object |
//! | `duplicate-object`, `empty-object` | the same object again; an empty one beside it |
//! | `more` | more than 32 repairs, counted |
//!
//! Refused are: text that ends inside a string, after a key, a comma, an opening bracket, or the digits of a number;
//! several different objects; anything that is no object; values that stand for none (`undefined`, `...`); quotes
//! that can be told apart in more than one way; more than [`MAX_DEPTH`] levels.

mod bare;
mod closing;
mod cursor;
mod ledger;
mod quote;
mod reader;
mod repeated;
mod strings;
mod surround;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Map, Value};

use crate::Repair;
use crate::tree::Tree;

pub(crate) use bare::number;
pub(crate) use repeated::repeated_key;

/// How deep objects and lists may nest; what is deeper is refused. It is also the depth to which `serde_json` reads.
pub const MAX_DEPTH: usize = 127;

/// Which keys are known to be meant, by nesting depth (1 is the outermost object) and name. It decides where quotes
/// inside a string were not escaped: text that looks like the next key ends a string only if the key is known.
pub type KnownKeys<'k> = &'k dyn Fn(usize, &str) -> bool;

/// An object or list that was read, as JSON text, and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Valid JSON text.
    pub json: String,
    /// What was repaired, in the order of the text; empty where the text was valid as it stood.
    pub repairs: Vec<Repair>,
    /// Whether the text ended before everything was closed. No value was cut: only closing brackets were missing.
    pub unclosed: bool,
    /// Whether all repairs translated a notation with one meaning (Python's literals and quotes, raw line breaks,
    /// invalid escapes, trailing commas), so that nothing about the structure had to be concluded.
    pub only_notation: bool,
}

/// Why a text can't be read as one JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// There is nothing in it.
    #[error("there is no text where a JSON object is expected")]
    Empty,
    /// It is something else.
    #[error("a JSON object is expected, but this is {found}")]
    NotAnObject {
        /// What was found, in words.
        found: &'static str,
    },
    /// It ends inside a value, or before a value that was announced.
    #[error("the text ends {cut}")]
    Truncated {
        /// The byte offset where the value that was cut begins, or where the text ends.
        offset: usize,
        /// Where it ends.
        cut: Cut,
    },
    /// No reading of a string's quotes leads to the end of the object.
    #[error(
        "the end of the string that begins at byte {offset} can't be found: quotes inside it are not escaped, or the \
         last one is"
    )]
    UnmatchedQuote {
        /// The byte offset of the string.
        offset: usize,
    },
    /// There are several different objects, and none may be taken silently.
    #[error("there are several JSON objects where one is expected")]
    SeveralObjects {
        /// The byte offset of the second.
        offset: usize,
    },
    /// It nests deeper than [`MAX_DEPTH`] levels.
    #[error("the JSON nests deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// The byte offset of the first level too many.
        offset: usize,
    },
    /// It isn't JSON, and there is no reading or more than one.
    #[error("{problem}")]
    Unreadable {
        /// The byte offset of the problem.
        offset: usize,
        /// What is wrong, in words.
        problem: String,
    },
}

/// Where a text that is too short ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Inside a string.
    InString,
    /// Inside a value without quotes, or right after one whose end can't be told.
    InValue,
    /// After the opening bracket of an object or list.
    AfterOpening,
    /// After a comma, which announces one more key or item.
    AfterComma,
    /// After a key, before its value.
    AfterKey(String),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InString => f.write_str("inside a string"),
            Self::InValue => f.write_str("inside a value"),
            Self::AfterOpening => f.write_str("after an opening bracket"),
            Self::AfterComma => f.write_str("after a comma"),
            Self::AfterKey(key) => write!(f, "after the key \"{key}\", before its value"),
        }
    }
}

impl RepairError {
    /// The byte offset in the text; 0 where the whole is meant.
    pub fn offset(&self) -> usize {
        match self {
            Self::Empty | Self::NotAnObject { .. } => 0,
            Self::Truncated { offset, .. }
            | Self::UnmatchedQuote { offset }
            | Self::SeveralObjects { offset }
            | Self::TooDeep { offset }
            | Self::Unreadable { offset, .. } => *offset,
        }
    }
}

/// Reads a text as one JSON object. Valid text is returned as it is.
///
/// ```
/// let repaired = forge_parse::repair::repair_object("{'path': \"C:\\Program Files\", 'deep': True,}").unwrap();
/// assert_eq!(repaired.json, r#"{"path":"C:\\Program Files","deep":true}"#);
/// let kinds: Vec<&str> = repaired.repairs.iter().map(|repair| &*repair.kind).collect();
/// assert_eq!(kinds, ["quote-marks", "invalid-escape", "quote-marks", "python-literal", "trailing-comma"]);
/// ```
///
/// # Errors
/// When the text isn't one object and can't be read as one without guessing.
pub fn repair_object(text: &str) -> Result<Repaired, RepairError> {
    repair_object_knowing(text, None)
}

/// Like [`repair_object`], where the keys that the schema knows decide between readings.
///
/// # Errors
/// As [`repair_object`].
pub fn repair_object_knowing(text: &str, known: Option<KnownKeys<'_>>) -> Result<Repaired, RepairError> {
    let trimmed = text.trim();
    if is_strict_object(trimmed) {
        return Ok(Repaired { json: trimmed.to_owned(), repairs: Vec::new(), unclosed: false, only_notation: true });
    }
    repair_broken_object(text, known)
}

/// Reads a text that strict JSON refuses.
pub(crate) fn repair_broken_object(text: &str, known: Option<KnownKeys<'_>>) -> Result<Repaired, RepairError> {
    if text.trim().is_empty() {
        return Err(RepairError::Empty);
    }
    match surround::unescape_whole(text) {
        Some(repaired) => Ok(repaired),
        None => surround::read_one(text, known),
    }
}

/// Reads a text that is one object or list and nothing else, where only the notation may differ from JSON's: Python's
/// quotes and literals, say. A text whose structure is broken is not read.
pub(crate) fn read_notation(text: &str) -> Option<Tree> {
    if let Some(tree) = Tree::parse(text) {
        return Some(tree);
    }
    let read = surround::read_exactly(text)?;
    Tree::parse(&read.json).filter(|_| read.only_notation && !read.unclosed)
}

fn is_strict_object(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
