//! Whether a quote inside a string ends it. Models forget to escape quotes, so a quote counts as the end only where
//! what follows it continues the structure around the string.

use std::collections::HashSet;

use super::KnownKeys;
use super::cursor::Cursor;
use super::quote::Quote;

/// Keys are looked for no further than this many bytes ahead, so that reading stays linear.
const MAX_KEY: usize = 256;

/// What a string stands for where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A key of an object.
    Key,
    /// The value of a key.
    Value,
    /// An item of a list.
    Item,
}

/// What is known about the place of a string.
pub(super) struct Surroundings<'k> {
    pub(super) role: Role,
    /// How many containers are open.
    pub(super) depth: usize,
    /// How deep that is as a JSON value: of two braces that mean one only one counts.
    pub(super) level: usize,
    /// Whether a quoted key was seen: then a bare word before a colon is more likely text.
    pub(super) quoted_keys: bool,
    /// Which keys the schema knows, where it is known.
    pub(super) known: Option<KnownKeys<'k>>,
    /// Which keys the object has already.
    pub(super) seen: HashSet<String>,
}

impl Surroundings<'_> {
    /// Whether a string may end before `after`. `doubtful` says that a quote of the string was already found to be
    /// part of its text, so that more is asked of what follows.
    pub(super) fn may_end(&self, after: &Cursor<'_>, doubtful: bool) -> bool {
        let next = after.past_space();
        let spaced = next.at > after.at;
        let Some(character) = next.character() else { return !doubtful || self.role == Role::Key };
        match (self.role, character) {
            (Role::Key, ':' | '\u{ff1a}') => true,
            (Role::Key, _) => false,
            (Role::Value | Role::Item, '}' | ']') => self.closers_may_follow(&next, doubtful),
            (Role::Value, ',' | '\u{ff0c}') => {
                self.member_may_follow(&next.ahead(character.len_utf8()).past_space(), doubtful)
            }
            (Role::Item, ',' | '\u{ff0c}') => item_may_follow(&next.ahead(character.len_utf8()).past_space(), doubtful),
            (Role::Value | Role::Item, '/' | '#') => spaced && !doubtful && comment(&next),
            (Role::Value, _) => spaced && quoted_key(&next).is_some_and(|key| !doubtful || self.knows(key)),
            (Role::Item, _) => spaced && !doubtful && Quote::open(&next).is_some() && item_may_follow(&next, true),
        }
    }

    /// Whether a key can be the next one.
    fn knows(&self, key: &str) -> bool {
        !self.seen.contains(key) && self.known.is_none_or(|known| known(self.level, key))
    }

    /// After a comma in an object.
    fn member_may_follow(&self, next: &Cursor<'_>, doubtful: bool) -> bool {
        let Some(character) = next.character() else { return true };
        match character {
            '}' | ',' | '/' | '#' => !doubtful,
            _ if Quote::open(next).is_some() => match quoted_key(next) {
                Some(key) => !doubtful || self.knows(key),
                None => !doubtful && ends_inside_key(next),
            },
            _ => bare_key(next).is_some_and(|key| match self.known {
                Some(known) => known(self.level, key),
                None => !doubtful && !self.quoted_keys,
            }),
        }
    }

    /// A run of closing brackets, and whether what comes after it can follow there.
    fn closers_may_follow(&self, next: &Cursor<'_>, doubtful: bool) -> bool {
        let mut cursor = *next;
        let mut closers = 0_usize;
        while let Some(b'}' | b']') = cursor.byte() {
            closers += 1;
            cursor = cursor.ahead(1).past_space();
        }
        let Some(character) = cursor.character() else { return true };
        let all_closed = closers >= self.depth;
        match character {
            ',' if !all_closed || !doubtful => true,
            ',' => matches!(cursor.ahead(1).past_space().byte(), Some(b'{')),
            '<' | '`' | ';' | ')' | '{' | '[' => all_closed || !doubtful,
            _ => !doubtful,
        }
    }
}

/// After a comma in a list.
fn item_may_follow(next: &Cursor<'_>, doubtful: bool) -> bool {
    let Some(character) = next.character() else { return true };
    if !doubtful {
        return Quote::open(next).is_some()
            || matches!(character, ']' | '{' | '[' | '-' | '/' | '#' | 't' | 'f' | 'n' | 'T' | 'F' | 'N' | '0'..='9');
    }
    let after = quoted(next).map(|(_, after)| after.past_space().character());
    matches!(after, Some(None | Some(',' | ']' | '}')))
}

/// The key that is quoted at the cursor, if a colon follows it.
pub(super) fn quoted_key<'t>(cursor: &Cursor<'t>) -> Option<&'t str> {
    let (key, after) = quoted(cursor)?;
    matches!(after.past_space().character(), Some(':' | '\u{ff1a}')).then_some(key)
}

/// Whether the text ends inside or right after the key that is quoted at the cursor.
fn ends_inside_key(cursor: &Cursor<'_>) -> bool {
    match quoted(cursor) {
        Some((_, after)) => after.past_space().character().is_none(),
        None => cursor.rest().len() <= MAX_KEY,
    }
}

/// A short quoted text at the cursor, and the place behind it.
fn quoted<'t>(cursor: &Cursor<'t>) -> Option<(&'t str, Cursor<'t>)> {
    let (quote, length) = Quote::open(cursor)?;
    let start = cursor.ahead(length);
    let mut place = start;
    while let Some(character) = place.character() {
        if let Some(length) = quote.close(&place) {
            return Some((start.until(place.at), place.ahead(length)));
        }
        if place.at - start.at > MAX_KEY {
            return None;
        }
        let escaped = if character == '\\' && quote.escapes == 0 { place.ahead(1).character() } else { None };
        place = place.ahead(character.len_utf8() + escaped.map_or(0, char::len_utf8));
    }
    None
}

/// The key without quotes at the cursor, if a colon follows it.
pub(super) fn bare_key<'t>(cursor: &Cursor<'t>) -> Option<&'t str> {
    let length = bare_key_length(cursor)?;
    let after = cursor.ahead(length).past_space();
    matches!(after.character(), Some(':' | '\u{ff1a}')).then(|| cursor.until(cursor.at + length))
}

/// The length of an identifier at the cursor.
pub(super) fn bare_key_length(cursor: &Cursor<'_>) -> Option<usize> {
    let first = cursor.character()?;
    if !(first.is_alphabetic() || matches!(first, '_' | '$' | '@')) {
        return None;
    }
    let part = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '-' | '.');
    let length: usize = cursor.rest().chars().take_while(part).map(char::len_utf8).take(MAX_KEY).sum();
    (length <= MAX_KEY).then_some(length)
}

/// Whether a comment begins at the cursor.
pub(super) fn comment(cursor: &Cursor<'_>) -> bool {
    match (cursor.byte(), cursor.byte_ahead(1)) {
        (Some(b'/'), Some(b'/' | b'*')) => true,
        (Some(b'#'), next) => !matches!(next, Some(b'{')),
        _ => false,
    }
}
