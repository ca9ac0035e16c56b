use super::cursor::{Cursor, MAX_BACKSLASHES};

/// How a string was opened, and so what may close it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    /// The family of quotes.
    pub(super) mark: Mark,
    /// How many backslashes stood before the quote.
    pub(super) escapes: usize,
    /// Whether it was written three times, as in Python.
    pub(super) triple: bool,
}

/// The families of quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Double,
    Single,
    Backtick,
    SmartDouble,
    SmartSingle,
    /// The delimiter `<|"|>` that one notation has instead of quotes, so that texts need no escapes.
    Delimiter,
}

/// How that delimiter is written; its end is sometimes lost.
const DELIMITERS: [&str; 2] = ["<|\"|>", "<|\"|"];

impl Mark {
    fn of(character: char) -> Option<Self> {
        match character {
            '"' => Some(Self::Double),
            '\'' => Some(Self::Single),
            '`' => Some(Self::Backtick),
            '\u{201c}' | '\u{201d}' | '\u{201e}' => Some(Self::SmartDouble),
            '\u{2018}' | '\u{2019}' | '\u{201a}' => Some(Self::SmartSingle),
            _ => None,
        }
    }

    /// Whether a character can close a string that was opened with this.
    fn closed_by(self, character: char) -> bool {
        match (self, Self::of(character)) {
            (Self::SmartDouble, Some(Self::Double)) | (Self::SmartSingle, Some(Self::Single)) => true,
            (mark, other) => other == Some(mark),
        }
    }
}

impl Quote {
    /// The quote at the cursor and its length, if one opens there. Backslashes before it belong to it.
    pub(super) fn open(cursor: &Cursor<'_>) -> Option<(Self, usize)> {
        let escapes = cursor.backslashes();
        if escapes > MAX_BACKSLASHES {
            return None;
        }
        let after = cursor.ahead(escapes);
        if let Some(length) = delimiter(cursor) {
            return Some((Self { mark: Mark::Delimiter, escapes: 0, triple: false }, length));
        }
        let character = after.character()?;
        let mark = Mark::of(character)?;
        if escapes > 0 && mark != Mark::Double && mark != Mark::Single {
            return None;
        }
        let triple = escapes == 0
            && match mark {
                Mark::Double => after.rest().starts_with("\"\"\""),
                Mark::Single => after.rest().starts_with("'''"),
                Mark::Backtick | Mark::SmartDouble | Mark::SmartSingle | Mark::Delimiter => false,
            };
        let length = if triple { 3 } else { character.len_utf8() };
        Some((Self { mark, escapes, triple }, escapes + length))
    }

    /// The length of what would close the string at the cursor, if it stands there.
    pub(super) fn close(&self, cursor: &Cursor<'_>) -> Option<usize> {
        if self.mark == Mark::Delimiter {
            return delimiter(cursor);
        }
        // The quote inside a delimiter that leaked into a text is no end of it.
        if cursor.is_inside_delimiter() || (self.escapes > 0 && cursor.backslashes() != self.escapes) {
            return None;
        }
        let after = cursor.ahead(self.escapes);
        let character = after.character().filter(|character| self.mark.closed_by(*character))?;
        if !self.triple {
            return Some(self.escapes + character.len_utf8());
        }
        // Of four quotes in a row the first belongs to the text.
        let run = after.rest().chars().take(4).take_while(|next| *next == character).count();
        (run == 3).then_some(3)
    }

    /// Whether an escaped character is an escape of this string's own quote.
    pub(super) fn escapes_own(&self, character: u8) -> bool {
        match self.mark {
            Mark::Single | Mark::SmartSingle => character == b'\'',
            Mark::Backtick => character == b'`',
            Mark::Double | Mark::SmartDouble | Mark::Delimiter => false,
        }
    }
}

fn delimiter(cursor: &Cursor<'_>) -> Option<usize> {
    DELIMITERS.iter().find(|delimiter| cursor.rest().starts_with(**delimiter)).map(|delimiter| delimiter.len())
}
