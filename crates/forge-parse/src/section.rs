//! What follows an opening marker: calls of any grammar, list punctuation, closing markers.

use crate::engine::{Attempt, Item, Place, json, named};
use crate::marker::{Lookup, Marker, lookup};

/// A section of calls that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// The row whose marker opened it; none for a call that stands by itself.
    pub(crate) row: Option<usize>,
    /// Whether a call was read in it.
    pub(crate) any: bool,
    /// Whether it is a list that is open.
    list: bool,
}

/// What comes next in a section.
#[derive(Debug)]
pub(crate) enum Next {
    /// More text may change the answer.
    More,
    /// So many bytes of markup and punctuation.
    Skip(usize),
    /// Calls that take so many bytes.
    Read(usize, Vec<Attempt>),
    /// The section is over: other text follows, or none.
    Leave,
}

impl Section {
    /// A section that this row's marker opened.
    pub(crate) fn new(row: Option<usize>) -> Self {
        Self { row, any: false, list: false }
    }

    /// Reads on. A second opening marker ends a section that has calls: the text decides anew whether it is meant.
    pub(crate) fn next(&mut self, text: &str, place: &Place<'_>) -> Next {
        let rest = text.trim_start();
        let blank = text.len() - rest.len();
        if rest.is_empty() {
            return if place.more() { Next::More } else { Next::Leave };
        }
        match lookup(rest, place.more()) {
            Lookup::Prefix => return Next::More,
            Lookup::Found(Marker::Open(row), len) if !self.any => {
                self.row = Some(row);
                return Next::Skip(blank + len);
            }
            Lookup::Found(Marker::Close | Marker::Noise | Marker::Separator, len) => return Next::Skip(blank + len),
            Lookup::Found(Marker::Open(_) | Marker::ThinkOpen(_) | Marker::ThinkClose | Marker::Header, _) => {
                return Next::Leave;
            }
            Lookup::Found(Marker::Tag, _) | Lookup::Nothing => {}
        }
        if let Some(len) = self.punctuation(rest) {
            return Next::Skip(blank + len);
        }
        match self.item(rest, place) {
            Item::More => Next::More,
            Item::Nothing => Next::Leave,
            Item::Read(len, attempts) => {
                self.any = true;
                Next::Read(blank + len, attempts)
            }
        }
    }

    fn punctuation(&mut self, rest: &str) -> Option<usize> {
        match rest.as_bytes().first()? {
            b'[' if !self.list && !self.any => {
                self.list = true;
                Some(1)
            }
            b']' if self.list || self.any => {
                self.list = false;
                Some(1)
            }
            b',' | b';' | b'}' if self.any => Some(1),
            _ => None,
        }
    }

    fn item(&self, rest: &str, place: &Place<'_>) -> Item {
        let place = Place { row: self.row, ..*place };
        [json::read, named::read]
            .iter()
            .map(|engine| engine(rest, &place))
            .find(|item| !matches!(item, Item::Nothing))
            .unwrap_or(Item::Nothing)
    }
}

/// What an opening marker leads to.
#[derive(Debug)]
pub(crate) enum Opened {
    /// More text may change the answer.
    More,
    /// Calls, which with the markers before them take so many bytes; the section goes on.
    Section(usize, Vec<Attempt>, Section),
    /// No call.
    Stray,
}

/// Reads from an opening marker to the first call.
pub(crate) fn open(text: &str, row: Option<usize>, marker: usize, place: &Place<'_>) -> Opened {
    let mut section = Section::new(row);
    let mut at = marker;
    loop {
        match section.next(text.get(at..).unwrap_or_default(), place) {
            Next::More => return Opened::More,
            Next::Skip(len) => at += len,
            Next::Read(len, attempts) => return Opened::Section(at + len, attempts, section),
            Next::Leave => return Opened::Stray,
        }
    }
}
