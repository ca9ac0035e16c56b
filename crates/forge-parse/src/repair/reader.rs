//! The structure around the values: containers, keys, commas, closing brackets.

use std::collections::HashSet;

use super::closing::{Role, Surroundings, bare_key, bare_key_length, quoted_key};
use super::cursor::Cursor;
use super::ledger::{Kind, Ledger};
use super::quote::Quote;
use super::{Cut, KnownKeys, MAX_DEPTH, RepairError};
use crate::schema::pointer::{child, element};

/// Reads one object or list, leniently, and writes it as JSON. Iterative, and each byte is looked at a bounded
/// number of times.
pub(super) struct Reader<'t, 'k> {
    pub(super) cursor: Cursor<'t>,
    pub(super) out: String,
    pub(super) ledger: Ledger,
    open: Vec<Container>,
    /// The keys that each open container has so far.
    seen: Vec<HashSet<String>>,
    known: Option<KnownKeys<'k>>,
    quoted_keys: bool,
    unclosed: bool,
}

/// An object or list whose end wasn't read yet.
#[derive(Clone, Copy, Debug)]
struct Container {
    shape: Shape,
    expects: Expects,
    /// How many members were read.
    members: usize,
    /// Whether the last thing read was a comma.
    comma: bool,
    /// Where in the output the last key stands, between its quotes.
    key: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Object,
    List,
    /// The outer one of two braces that mean one.
    Doubled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expects {
    /// A key, an item, or the end.
    Member,
    Colon,
    Value,
    /// A comma or the end.
    Separator,
}

impl<'t, 'k> Reader<'t, 'k> {
    pub(super) fn new(cursor: Cursor<'t>, known: Option<KnownKeys<'k>>) -> Self {
        Self {
            cursor,
            out: String::new(),
            ledger: Ledger::default(),
            open: Vec::new(),
            seen: Vec::new(),
            known,
            quoted_keys: false,
            unclosed: false,
        }
    }

    /// Reads the object or list that opens at the cursor. Says whether its end was missing.
    pub(super) fn read(&mut self) -> Result<bool, RepairError> {
        let Some(opener @ (b'{' | b'[')) = self.cursor.byte() else { return Err(self.unexpected("an object")) };
        self.open_container(opener)?;
        while let Some(top) = self.open.last().copied() {
            self.skip_space();
            let Some(byte) = self.cursor.byte() else {
                self.end_of_text(top)?;
                break;
            };
            match (top.shape, top.expects) {
                (Shape::Object, Expects::Member) => self.read_key(top, byte)?,
                (Shape::Object, Expects::Colon) => self.read_colon(byte)?,
                (Shape::Object, Expects::Value) => self.read_value(byte, Role::Value)?,
                (Shape::List, Expects::Member) => self.read_item(top, byte)?,
                (Shape::Object | Shape::List | Shape::Doubled, _) => self.read_separator(top, byte)?,
            }
        }
        Ok(self.unclosed)
    }

    pub(super) fn note(&mut self, kind: Kind) {
        let (open, out) = (&self.open, &self.out);
        self.ledger.add(kind, || path(open, out));
    }

    pub(super) fn surroundings(&mut self, role: Role) -> Surroundings<'k> {
        let level = self.open.iter().filter(|container| container.shape != Shape::Doubled).count();
        Surroundings {
            role,
            depth: self.open.len(),
            level,
            quoted_keys: self.quoted_keys,
            known: self.known,
            seen: self.take_seen(),
        }
    }

    fn take_seen(&mut self) -> HashSet<String> {
        self.seen.last_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Gives back the keys of the innermost container.
    pub(super) fn keep_seen(&mut self, seen: HashSet<String>) {
        if let Some(last) = self.seen.last_mut() {
            *last = seen;
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> RepairError {
        let found = self.cursor.character().map_or("the end".to_owned(), |found| format!("{found:?}"));
        let problem = format!("{expected} is expected at byte {}, but there is {found}", self.cursor.at);
        RepairError::Unreadable { offset: self.cursor.at, problem }
    }

    fn skip_space(&mut self) {
        loop {
            if let Some(length) = self.cursor.space() {
                if self.cursor.byte() == Some(b'\\') {
                    self.note(Kind::BackslashSpace);
                }
                self.cursor.at += length;
            } else if super::closing::comment(&self.cursor) {
                self.note(Kind::Comment);
                self.cursor.at += comment_length(&self.cursor);
            } else {
                return;
            }
        }
    }

    fn open_container(&mut self, opener: u8) -> Result<(), RepairError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(RepairError::TooDeep { offset: self.cursor.at });
        }
        self.out.push(char::from(opener));
        let shape = if opener == b'{' { Shape::Object } else { Shape::List };
        self.seen.push(HashSet::new());
        self.open.push(Container { shape, expects: Expects::Member, members: 0, comma: false, key: (0, 0) });
        self.cursor.at += 1;
        Ok(())
    }

    /// The second of two opening braces.
    fn double_brace(&mut self) -> Result<(), RepairError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(RepairError::TooDeep { offset: self.cursor.at });
        }
        self.note(Kind::DoubledBrace);
        if let Some(outer) = self.open.last_mut() {
            let inner = *outer;
            outer.shape = Shape::Doubled;
            self.open.push(inner);
            self.seen.push(HashSet::new());
        }
        self.cursor.at += 1;
        Ok(())
    }

    fn read_key(&mut self, top: Container, byte: u8) -> Result<(), RepairError> {
        match byte {
            b'}' => return self.close(top),
            b']' => return self.close_mismatched(byte),
            b',' => {
                self.note(Kind::ExtraComma);
                self.cursor.at += 1;
                return Ok(());
            }
            b'{' if top.members == 0 && !top.comma => return self.double_brace(),
            _ => {}
        }
        let quote = Quote::open(&self.cursor);
        let bare = bare_key_length(&self.cursor);
        if quote.is_none() && bare.is_none() {
            return Err(self.unexpected("a key"));
        }
        if top.members > 0 {
            self.out.push(',');
        }
        let start = self.out.len() + 1;
        match (quote, bare) {
            (Some((quote, length)), _) => {
                self.quoted_keys = true;
                self.read_string(quote, length, Role::Key)?;
            }
            (None, length) => {
                let word = self.cursor.until(self.cursor.at + length.unwrap_or_default());
                self.note(Kind::BareKey);
                self.out.push('"');
                self.out.push_str(word);
                self.out.push('"');
                self.cursor.at += word.len();
            }
        }
        let key = (start, self.out.len() - 1);
        let name = self.out.get(key.0..key.1).unwrap_or_default().to_owned();
        if let Some(seen) = self.seen.last_mut() {
            seen.insert(name);
        }
        self.out.push(':');
        self.set_top(|top| {
            top.key = key;
            top.comma = false;
            top.expects = Expects::Colon;
        });
        Ok(())
    }

    fn read_colon(&mut self, byte: u8) -> Result<(), RepairError> {
        let length = match byte {
            b':' => 1,
            _ if self.cursor.character() == Some('\u{ff1a}') => {
                self.note(Kind::Punctuation);
                3
            }
            _ => return Err(self.unexpected("a colon after the key")),
        };
        self.cursor.at += length;
        self.set_top(|top| top.expects = Expects::Value);
        Ok(())
    }

    fn read_item(&mut self, top: Container, byte: u8) -> Result<(), RepairError> {
        match byte {
            b']' => return self.close(top),
            b'}' => return self.close_mismatched(byte),
            _ => {}
        }
        if top.members > 0 {
            self.out.push(',');
        }
        self.set_top(|top| top.comma = false);
        self.read_value(byte, Role::Item)
    }

    fn read_value(&mut self, byte: u8, role: Role) -> Result<(), RepairError> {
        if let b'{' | b'[' = byte {
            return self.open_container(byte);
        }
        match Quote::open(&self.cursor) {
            Some((quote, length)) => self.read_string(quote, length, role)?,
            None => self.read_bare(role)?,
        }
        self.value_done();
        Ok(())
    }

    /// After a member: a comma, a closing bracket, or a comma that was forgotten.
    fn read_separator(&mut self, top: Container, byte: u8) -> Result<(), RepairError> {
        match (top.shape, byte) {
            (Shape::Object | Shape::Doubled, b'}') | (Shape::List, b']') => self.close(top),
            (_, b'}' | b']') => self.close_mismatched(byte),
            (Shape::Doubled, _) => Err(self.unexpected("the second closing brace")),
            (Shape::Object | Shape::List, b',') => {
                self.cursor.at += 1;
                self.comma();
                Ok(())
            }
            (Shape::Object | Shape::List, _) if self.cursor.character() == Some('\u{ff0c}') => {
                self.note(Kind::Punctuation);
                self.cursor.at += 3;
                self.comma();
                Ok(())
            }
            (Shape::Object, _) if quoted_key(&self.cursor).or_else(|| bare_key(&self.cursor)).is_some() => {
                self.note(Kind::MissingComma);
                self.comma();
                Ok(())
            }
            (Shape::List, b'{' | b'[' | b'-' | b'0'..=b'9') => {
                self.note(Kind::MissingComma);
                self.comma();
                Ok(())
            }
            (Shape::List, _) if Quote::open(&self.cursor).is_some() => {
                self.note(Kind::MissingComma);
                self.comma();
                Ok(())
            }
            (Shape::Object | Shape::List, _) => Err(self.unexpected("a comma or a closing bracket")),
        }
    }

    fn comma(&mut self) {
        self.set_top(|top| {
            top.comma = true;
            top.expects = Expects::Member;
        });
    }

    /// The bracket at the cursor closes the innermost container.
    fn close(&mut self, top: Container) -> Result<(), RepairError> {
        if top.comma {
            self.note(Kind::TrailingComma);
        }
        if self.open.len() == 1 && top.shape == Shape::Object && self.goes_on_after_root() {
            self.note(Kind::ExtraCloser);
            self.cursor.at += 1;
            self.set_top(|top| top.expects = Expects::Separator);
            return Ok(());
        }
        self.cursor.at += 1;
        self.pop();
        Ok(())
    }

    /// Whether the brace at the cursor, which would end the outermost object, is followed by more of its members.
    fn goes_on_after_root(&self) -> bool {
        let after = self.cursor.ahead(1).past_space();
        after.byte() == Some(b',') && quoted_key(&after.ahead(1).past_space()).is_some()
    }

    /// The bracket at the cursor is not the one that the innermost container needs.
    fn close_mismatched(&mut self, byte: u8) -> Result<(), RepairError> {
        let wanted = |shape: Shape| match shape {
            Shape::Object | Shape::Doubled => byte == b'}',
            Shape::List => byte == b']',
        };
        if self.open.iter().any(|container| wanted(container.shape)) {
            self.note(Kind::MissingCloser);
            while self.open.last().is_some_and(|top| !wanted(top.shape)) {
                self.pop();
            }
            return match self.open.last().copied() {
                Some(top) => self.close(top),
                None => Ok(()),
            };
        }
        if self.open.len() == 1 && !only_closers_follow(&self.cursor.ahead(1)) {
            // Replacing it would end the object before its end. The whole run goes at once, or reading it would
            // take quadratic time.
            self.note(Kind::ExtraCloser);
            self.cursor.at += self.cursor.rest().bytes().take_while(|next| *next == byte).count();
            return Ok(());
        }
        self.note(Kind::MismatchedCloser);
        self.pop();
        self.cursor.at += 1;
        Ok(())
    }

    fn pop(&mut self) {
        self.seen.pop();
        match self.open.pop().map(|container| container.shape) {
            Some(Shape::Object) => self.out.push('}'),
            Some(Shape::List) => self.out.push(']'),
            Some(Shape::Doubled) | None => {}
        }
        self.value_done();
    }

    fn value_done(&mut self) {
        self.set_top(|top| {
            top.members += 1;
            top.expects = Expects::Separator;
        });
    }

    fn set_top(&mut self, change: impl FnOnce(&mut Container)) {
        if let Some(top) = self.open.last_mut() {
            change(top);
        }
    }

    /// The text is over before everything is closed.
    fn end_of_text(&mut self, top: Container) -> Result<(), RepairError> {
        let key = self.out.get(top.key.0..top.key.1).unwrap_or_default();
        let cut = match (top.shape, top.expects) {
            (_, Expects::Separator) | (Shape::Doubled, _) => {
                self.close_all();
                return Ok(());
            }
            (Shape::Object, Expects::Member) | (Shape::List, _) if top.comma => Cut::AfterComma,
            (Shape::Object, Expects::Member) | (Shape::List, _) => Cut::AfterOpening,
            (Shape::Object, Expects::Colon | Expects::Value) => Cut::AfterKey(key.to_owned()),
        };
        Err(RepairError::Truncated { offset: self.cursor.at, cut })
    }

    fn close_all(&mut self) {
        if self.open.iter().any(|container| container.shape != Shape::Doubled) {
            self.unclosed = true;
            self.note(Kind::MissingCloser);
        }
        while !self.open.is_empty() {
            self.pop();
        }
    }
}

fn only_closers_follow(cursor: &Cursor<'_>) -> bool {
    let mut cursor = cursor.past_space();
    while let Some(b'}' | b']') = cursor.byte() {
        cursor = cursor.ahead(1).past_space();
    }
    matches!(cursor.byte(), None | Some(b'<' | b'`'))
}

fn comment_length(cursor: &Cursor<'_>) -> usize {
    let rest = cursor.rest();
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |end| end + 2);
    }
    rest.find('\n').unwrap_or(rest.len())
}

/// The JSON pointer of the member that is being read.
fn path(open: &[Container], out: &str) -> String {
    open.iter().fold(String::new(), |parent, container| match (container.shape, container.expects) {
        (Shape::Doubled, _) => parent,
        (Shape::List, Expects::Separator) => element(&parent, container.members.saturating_sub(1)),
        (Shape::List, _) => element(&parent, container.members),
        (Shape::Object, Expects::Member) => parent,
        (Shape::Object, _) => {
            let key = out.get(container.key.0..container.key.1).unwrap_or_default();
            let key: String = serde_json::from_str(&format!("\"{key}\"")).unwrap_or_else(|_| key.to_owned());
            child(&parent, &key)
        }
    })
}
