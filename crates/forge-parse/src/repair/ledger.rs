use std::borrow::Cow;

use crate::Repair;

/// How many repairs of one text are written down one by one; the rest is counted.
const MAX_ENTRIES: usize = 32;

/// The kinds of repairs to JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    BackslashSpace,
    BareKey,
    BareWord,
    CodeFence,
    Comment,
    ControlCharacter,
    DoubledBrace,
    DuplicateObject,
    EmptyObject,
    Escape,
    ExtraCloser,
    ExtraComma,
    MismatchedCloser,
    MissingCloser,
    MissingComma,
    NumberForm,
    OverEscaped,
    Punctuation,
    PythonLiteral,
    QuoteMarks,
    SurroundingText,
    TrailingComma,
    UnescapedQuote,
}

impl Kind {
    /// The stable identifier.
    fn identifier(self) -> &'static str {
        match self {
            Self::BackslashSpace => "backslash-space",
            Self::BareKey => "unquoted-key",
            Self::BareWord => "unquoted-string",
            Self::CodeFence => "code-fence",
            Self::Comment => "comment",
            Self::ControlCharacter => "control-character",
            Self::DoubledBrace => "doubled-brace",
            Self::DuplicateObject => "duplicate-object",
            Self::EmptyObject => "empty-object",
            Self::Escape => "invalid-escape",
            Self::ExtraCloser => "extra-closer",
            Self::ExtraComma => "extra-comma",
            Self::MismatchedCloser => "mismatched-closer",
            Self::MissingCloser => "missing-closer",
            Self::MissingComma => "missing-comma",
            Self::NumberForm => "number-form",
            Self::OverEscaped => "over-escaped",
            Self::Punctuation => "full-width-punctuation",
            Self::PythonLiteral => "python-literal",
            Self::QuoteMarks => "quote-marks",
            Self::SurroundingText => "surrounding-text",
            Self::TrailingComma => "trailing-comma",
            Self::UnescapedQuote => "unescaped-quote",
        }
    }

    /// What was done, in words.
    fn note(self) -> &'static str {
        match self {
            Self::BackslashSpace => "a backslash and a letter between values were read as white space",
            Self::BareKey => "a key without quotes was quoted",
            Self::BareWord => "a word without quotes was read as a string",
            Self::CodeFence => "the code fence around the object was removed",
            Self::Comment => "a comment was removed",
            Self::ControlCharacter => "a raw line break or control character in a string was escaped",
            Self::DoubledBrace => "a doubled brace was read as one",
            Self::DuplicateObject => "the same object was written more than once and was read once",
            Self::EmptyObject => "an empty object beside the real one was removed",
            Self::Escape => "a backslash that begins no escape was kept as a backslash",
            Self::ExtraCloser => "a closing bracket that closes nothing was removed",
            Self::ExtraComma => "a comma without a value was removed",
            Self::MismatchedCloser => "a closing bracket of the wrong kind was replaced",
            Self::MissingCloser => "a missing closing bracket was added",
            Self::MissingComma => "a missing comma was added",
            Self::NumberForm => "a number was rewritten in the form that JSON has for it",
            Self::OverEscaped => "backslashes before the quotes of a string were removed",
            Self::Punctuation => "full-width punctuation between values was read as ASCII",
            Self::PythonLiteral => "a Python literal was read as its JSON value",
            Self::QuoteMarks => "other quotes were replaced by double quotes",
            Self::SurroundingText => "text around the object was removed",
            Self::TrailingComma => "a comma before a closing bracket was removed",
            Self::UnescapedQuote => "a quote inside a string was escaped",
        }
    }

    /// Whether the repair only translates a notation that has one meaning, so that nothing about the structure had
    /// to be concluded.
    fn is_notation(self) -> bool {
        match self {
            Self::BackslashSpace
            | Self::ControlCharacter
            | Self::Escape
            | Self::NumberForm
            | Self::PythonLiteral
            | Self::QuoteMarks
            | Self::TrailingComma => true,
            Self::BareKey
            | Self::BareWord
            | Self::CodeFence
            | Self::Comment
            | Self::DoubledBrace
            | Self::DuplicateObject
            | Self::EmptyObject
            | Self::ExtraCloser
            | Self::ExtraComma
            | Self::MismatchedCloser
            | Self::MissingCloser
            | Self::MissingComma
            | Self::OverEscaped
            | Self::Punctuation
            | Self::SurroundingText
            | Self::UnescapedQuote => false,
        }
    }

    /// Whether the repair concludes where something begins or ends, so that together with quotes that had to be
    /// matched by what follows them there is more than one reading.
    fn is_structural(self) -> bool {
        match self {
            Self::BareKey
            | Self::BareWord
            | Self::DoubledBrace
            | Self::ExtraComma
            | Self::MismatchedCloser
            | Self::MissingComma => true,
            Self::BackslashSpace
            | Self::CodeFence
            | Self::Comment
            | Self::ControlCharacter
            | Self::DuplicateObject
            | Self::EmptyObject
            | Self::Escape
            | Self::ExtraCloser
            | Self::MissingCloser
            | Self::NumberForm
            | Self::OverEscaped
            | Self::Punctuation
            | Self::PythonLiteral
            | Self::QuoteMarks
            | Self::SurroundingText
            | Self::TrailingComma
            | Self::UnescapedQuote => false,
        }
    }
}

/// What was repaired so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    entries: Vec<Repair>,
    uncounted: usize,
    beyond_notation: bool,
    structural: bool,
    quotes: bool,
    mismatched: bool,
}

impl Ledger {
    /// Writes a repair down. The path is only asked for where it is kept.
    pub(super) fn add(&mut self, kind: Kind, path: impl FnOnce() -> String) {
        self.beyond_notation |= !kind.is_notation();
        self.structural |= kind.is_structural();
        self.quotes |= kind == Kind::UnescapedQuote;
        self.mismatched |= kind == Kind::MismatchedCloser;
        if self.entries.len() < MAX_ENTRIES {
            let (kind, note) = (Cow::Borrowed(kind.identifier()), kind.note().to_owned());
            self.entries.push(Repair { kind, path: path(), note });
        } else {
            self.uncounted += 1;
        }
    }

    /// Writes down a repair of the whole, once.
    pub(super) fn add_once(&mut self, kind: Kind) {
        if self.entries.iter().all(|entry| entry.kind != kind.identifier()) {
            self.add(kind, String::new);
        }
    }

    /// Whether all repairs were translations of one notation into another.
    pub(super) fn only_notation(&self) -> bool {
        !self.beyond_notation
    }

    /// Whether quotes inside a string were escaped.
    pub(super) fn matched_quotes(&self) -> bool {
        self.quotes
    }

    /// Whether quotes had to be matched in a text whose structure was broken as well.
    pub(super) fn quotes_in_broken_structure(&self) -> bool {
        self.quotes && self.structural
    }

    /// Whether a closing bracket was replaced by one of the other kind.
    pub(super) fn mismatched_closer(&self) -> bool {
        self.mismatched
    }

    /// The entries, with a last one that counts what wasn't written down.
    pub(super) fn into_entries(self) -> Vec<Repair> {
        let mut entries = self.entries;
        if self.uncounted > 0 {
            let note = format!("and {} more repairs", self.uncounted);
            entries.push(Repair { kind: Cow::Borrowed("more"), path: String::new(), note });
        }
        entries
    }
}
