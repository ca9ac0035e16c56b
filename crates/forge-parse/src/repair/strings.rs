//! Strings: where they end, and their text as JSON writes it.

use std::fmt::Write as _;

use super::closing::{Role, Surroundings};
use super::cursor::Cursor;
use super::ledger::Kind;
use super::quote::{Mark, Quote};
use super::reader::Reader;
use super::{Cut, RepairError};

/// One string while it is read.
struct Text<'k> {
    quote: Quote,
    around: Surroundings<'k>,
    /// How many quotes were found that belong to the text, without apostrophes.
    inner: usize,
    /// A quote was found that belongs to the text.
    doubtful: bool,
    /// The first of them stands behind a digit, as the sign for inches does.
    inch: bool,
    /// The end of the last Windows path that was looked at.
    path_until: usize,
    /// Whether the backslashes of that path are literal: the model didn't escape them.
    literal_path: bool,
}

impl Text<'_> {
    /// Whether the quotes inside come in pairs, so that the next one can end the string. A single one can be the
    /// sign for inches.
    fn is_balanced(&self) -> bool {
        self.inner.is_multiple_of(2) || (self.inner == 1 && self.inch)
    }

    /// Counts the quote at the cursor as part of the text.
    fn take_in(&mut self, cursor: &Cursor<'_>, length: usize) {
        let (before, after) = (cursor.character_before(), cursor.ahead(length).character());
        let within_word = before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
        if !(within_word && matches!(self.quote.mark, Mark::Single | Mark::SmartSingle)) {
            self.inner += 1;
            self.inch |= self.inner == 1 && before.is_some_and(|before| before.is_ascii_digit());
        }
        self.doubtful = true;
    }
}

impl Reader<'_, '_> {
    /// Reads the string that opens at the cursor and writes it as a JSON string.
    pub(super) fn read_string(&mut self, quote: Quote, length: usize, role: Role) -> Result<(), RepairError> {
        let start = self.cursor.at;
        self.note_quote(quote);
        self.cursor.at += length;
        self.out.push('"');
        let around = self.surroundings(role);
        let mut text =
            Text { quote, around, inner: 0, doubtful: false, inch: false, path_until: 0, literal_path: false };
        self.read_text(&mut text, start)?;
        self.out.push('"');
        self.keep_seen(text.around.seen);
        Ok(())
    }

    /// Reads up to and with the quote that ends the string.
    fn read_text(&mut self, text: &mut Text<'_>, start: usize) -> Result<(), RepairError> {
        let quote = text.quote;
        loop {
            self.copy_plain(quote);
            let Some(byte) = self.cursor.byte() else { return Err(self.unclosed(start, text)) };
            if let Some(length) = quote.close(&self.cursor) {
                let may_end = text.is_balanced() && text.around.may_end(&self.cursor.ahead(length), text.doubtful);
                if may_end || quote.triple {
                    self.cursor.at += length;
                    return Ok(());
                }
                if text.around.role == Role::Key {
                    let problem = format!("the key that begins at byte {start} is not followed by a colon");
                    return Err(RepairError::Unreadable { offset: start, problem });
                }
                if !text.doubtful {
                    if joins_strings(&self.cursor.ahead(length)) {
                        let problem = format!("strings are joined by + at byte {}", self.cursor.at + length);
                        return Err(RepairError::Unreadable { offset: self.cursor.at + length, problem });
                    }
                    self.note(Kind::UnescapedQuote);
                }
                text.take_in(&self.cursor, length);
                self.copy_quote(length);
                continue;
            }
            match byte {
                b'\\' => self.read_escape(text),
                b'"' => {
                    self.out.push_str("\\\"");
                    self.cursor.at += 1;
                }
                byte if byte < 0x20 => {
                    self.note(Kind::ControlCharacter);
                    self.write_control(byte);
                    self.cursor.at += 1;
                }
                _ => self.copy_character(),
            }
        }
    }

    /// Why a string has no end.
    fn unclosed(&self, start: usize, text: &Text<'_>) -> RepairError {
        if text.doubtful || self.cursor.ends_with_escaped_quote() {
            RepairError::UnmatchedQuote { offset: start }
        } else {
            RepairError::Truncated { offset: start, cut: Cut::InString }
        }
    }

    fn note_quote(&mut self, quote: Quote) {
        if quote.escapes > 0 {
            self.note(Kind::OverEscaped);
        }
        if quote.mark != Mark::Double || quote.triple {
            self.note(Kind::QuoteMarks);
        }
    }

    /// Copies up to the next byte that may mean something.
    fn copy_plain(&mut self, quote: Quote) {
        let own = match quote.mark {
            Mark::Double => b'"',
            Mark::Single => b'\'',
            Mark::Backtick => b'`',
            Mark::SmartDouble | Mark::SmartSingle => 0xe2,
            Mark::Delimiter => b'<',
        };
        let special =
            |byte: u8| byte < 0x20 || byte == b'\\' || byte == b'"' || byte == own || (byte == b'\'' && own == 0xe2);
        let rest = self.cursor.rest();
        let length = rest.bytes().position(special).unwrap_or(rest.len());
        // The bytes before an ASCII byte, or before the first byte of a character, are whole characters.
        if let Some(plain) = rest.get(..length) {
            self.out.push_str(plain);
            self.cursor.at += length;
        }
    }

    fn copy_character(&mut self) {
        if let Some(character) = self.cursor.character() {
            self.out.push(character);
            self.cursor.at += character.len_utf8();
        }
    }

    /// Copies a closing quote that belongs to the text.
    fn copy_quote(&mut self, length: usize) {
        let quote = self.cursor.until(self.cursor.at + length);
        for character in quote.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                other => self.out.push(other),
            }
        }
        self.cursor.at += length;
    }

    fn write_control(&mut self, byte: u8) {
        match byte {
            b'\n' => self.out.push_str("\\n"),
            b'\r' => self.out.push_str("\\r"),
            b'\t' => self.out.push_str("\\t"),
            other => {
                let _ = write!(self.out, "\\u{other:04x}");
            }
        }
    }

    fn read_escape(&mut self, text: &mut Text<'_>) {
        if text.quote.mark == Mark::Delimiter {
            self.out.push_str("\\\\");
            self.cursor.at += 1;
            return;
        }
        if self.cursor.at >= text.path_until && self.cursor.follows_drive_letter() {
            let path = rest_of_path(&self.cursor);
            text.path_until = self.cursor.at + path.len();
            text.literal_path = is_unescaped(path);
        }
        let next = self.cursor.byte_ahead(1);
        let literal = text.literal_path && self.cursor.at < text.path_until;
        match next {
            Some(b'"') if !literal || text.quote.mark == Mark::Double => self.copy_escape(2),
            Some(b'\\' | b'/') => self.copy_escape(2),
            Some(b'b' | b'f' | b'n' | b'r' | b't') if !literal => self.copy_escape(2),
            Some(b'u') if !literal && unicode_escape(&self.cursor).is_some() => {
                self.copy_escape(unicode_escape(&self.cursor).unwrap_or(2));
            }
            Some(own) if text.quote.escapes_own(own) => {
                self.out.push(char::from(own));
                self.cursor.at += 2;
            }
            _ => {
                self.note(Kind::Escape);
                self.out.push_str("\\\\");
                self.cursor.at += 1;
            }
        }
    }

    fn copy_escape(&mut self, length: usize) {
        self.out.push_str(self.cursor.until(self.cursor.at + length));
        self.cursor.at += length;
    }
}

/// Whether a sum of strings goes on behind a string's quote, as programs write long texts: nothing that JSON has, and
/// no quote inside a text either.
fn joins_strings(after: &Cursor<'_>) -> bool {
    let next = after.past_space();
    next.byte() == Some(b'+') && Quote::open(&next.ahead(1).past_space()).is_some()
}

/// The length of the `\u` escape at the cursor if it is one character: four digits, and a pair where a pair is due.
fn unicode_escape(cursor: &Cursor<'_>) -> Option<usize> {
    let unit = |cursor: &Cursor<'_>| {
        let digits = cursor.rest().strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    };
    match unit(cursor)? {
        0xd800..=0xdbff => match unit(&cursor.ahead(6))? {
            0xdc00..=0xdfff => Some(12),
            _ => None,
        },
        0xdc00..=0xdfff => None,
        _ => Some(6),
    }
}

/// The rest of a path, from its first backslash at the cursor.
fn rest_of_path<'t>(cursor: &Cursor<'t>) -> &'t str {
    let ends =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '`' | '|' | '<' | '>' | ';' | ',');
    let rest = cursor.rest();
    rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default()
}

/// Whether one of a path's backslashes can't be an escape. Then none of them is one: nobody escapes half of a path.
fn is_unescaped(path: &str) -> bool {
    let mut steps = path.split('\\').skip(1).peekable();
    let mut unescaped = false;
    while let Some(step) = steps.next() {
        match step.chars().next() {
            // Two backslashes in a row: this path is escaped.
            None if steps.peek().is_some() => return false,
            None | Some('b' | 'f' | 'n' | 'r' | 't' | 'u' | '/') => {}
            Some(_) => unescaped = true,
        }
    }
    unescaped
}
