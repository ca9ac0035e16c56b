/// More backslashes than this before a quote or a letter are no slip. Counting must not take quadratic time.
pub(super) const MAX_BACKSLASHES: usize = 8;

/// A place in a text, and what can be seen from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// The byte offset; always at a character's boundary.
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    /// The next byte.
    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte `ahead` bytes after the next one.
    pub(super) fn byte_ahead(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// The next character.
    pub(super) fn character(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The character before this place.
    pub(super) fn character_before(&self) -> Option<char> {
        self.text.get(..self.at)?.chars().next_back()
    }

    /// All text from here on.
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text from here to an offset.
    pub(super) fn until(&self, end: usize) -> &'t str {
        self.text.get(self.at..end).unwrap_or_default()
    }

    /// A cursor further on.
    pub(super) fn ahead(&self, bytes: usize) -> Self {
        Self { text: self.text, at: self.at + bytes }
    }

    /// A cursor behind white space, without looking at comments: what can be decided from a quote's surroundings
    /// must not depend on far-away text.
    pub(super) fn past_space(&self) -> Self {
        let mut cursor = *self;
        while let Some(length) = cursor.space() {
            cursor.at += length;
        }
        cursor
    }

    /// The length of the white space here, if any: blanks that JSON or Unicode knows, and an escape such as `\n`
    /// that was written between values.
    pub(super) fn space(&self) -> Option<usize> {
        match self.byte()? {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => Some(1),
            b'\\' => {
                let backslashes = self.backslashes();
                let letter = matches!(self.byte_ahead(backslashes), Some(b'n' | b'r' | b't'));
                (letter && backslashes <= MAX_BACKSLASHES).then_some(backslashes + 1)
            }
            byte if byte >= 0x80 => {
                let character = self.character()?;
                let blank = character.is_whitespace() || matches!(character, '\u{feff}' | '\u{200b}');
                blank.then(|| character.len_utf8())
            }
            _ => None,
        }
    }

    /// How many backslashes follow each other here, counted no further than [`MAX_BACKSLASHES`] and one.
    pub(super) fn backslashes(&self) -> usize {
        self.rest().bytes().take(MAX_BACKSLASHES + 1).take_while(|byte| *byte == b'\\').count()
    }

    /// Whether the quote at the cursor is the middle of the delimiter `<|"|>`.
    pub(super) fn is_inside_delimiter(&self) -> bool {
        self.byte_ahead(1) == Some(b'|') && self.text.get(..self.at).is_some_and(|before| before.ends_with("<|"))
    }

    /// Whether the text ends as an object does whose last quote is escaped: `\"}`.
    pub(super) fn ends_with_escaped_quote(&self) -> bool {
        let end = self.text.trim_end();
        let inside = end.trim_end_matches(['}', ']', ' ', '\n']);
        inside.len() < end.len() && inside.ends_with("\\\"")
    }

    /// Whether a drive letter and a colon stand before the cursor, at the beginning of a word.
    pub(super) fn follows_drive_letter(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        let mut backwards = before.chars().rev();
        backwards.next() == Some(':')
            && backwards.next().is_some_and(|letter| letter.is_ascii_alphabetic())
            && backwards.next().is_none_or(|before| !before.is_alphanumeric())
    }
}
