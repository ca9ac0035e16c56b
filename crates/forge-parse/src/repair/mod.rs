//! Reading the JSON that models write: strict first, then with every lossless repair that has one reading.

use crate::Repair;

/// An object that was read, as JSON text, and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Valid JSON text of an object.
    pub json: String,
    /// What was repaired, in the order of the text; empty where the text was valid as it stood.
    pub repairs: Vec<Repair>,
    /// Whether the text ended before the object was closed. No value was cut: only closers were missing.
    pub unclosed: bool,
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
    #[error("the text ends {place}")]
    Truncated {
        /// The byte offset where the value that was cut begins.
        offset: usize,
        /// Where it ends, in words: `inside a string`, `after the key "x"`.
        place: String,
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

impl RepairError {
    /// The byte offset in the text; 0 where the whole is meant.
    pub fn offset(&self) -> usize {
        match self {
            Self::Empty | Self::NotAnObject { .. } => 0,
            Self::Truncated { offset, .. }
            | Self::SeveralObjects { offset }
            | Self::TooDeep { offset }
            | Self::Unreadable { offset, .. } => *offset,
        }
    }
}

/// How deep arguments may nest.
pub const MAX_DEPTH: usize = 128;

/// Reads a text as one JSON object. Valid text is returned as it is.
///
/// # Errors
/// When the text isn't one object and can't be read as one without guessing.
pub fn repair_object(text: &str) -> Result<Repaired, RepairError> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(RepairError::Empty);
    }
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(trimmed) {
        Ok(_) => Ok(Repaired { json: trimmed.to_owned(), repairs: Vec::new(), unclosed: false }),
        Err(error) if error.is_eof() => {
            Err(RepairError::Truncated { offset: text.len(), place: "before the object is closed".to_owned() })
        }
        Err(error) => Err(RepairError::Unreadable { offset: 0, problem: error.to_string() }),
    }
}
