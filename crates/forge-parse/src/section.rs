//! What follows an opening marker: calls of any grammar, list punctuation, closing markers.

use crate::End;
use crate::effort::spend;
use crate::engine::{Attempt, Item, Place, braced, json, named, pythonic, tagged, tool_tag};
use crate::extent::{Extent, string_extent};
use crate::marker::{Lookup, Marker, lookup};

/// A section of calls that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// The row whose marker opened it; none for a call that stands by itself.
    row: Option<usize>,
    /// Whether a call was read in it.
    any: bool,
    /// Whether it is a list that is open.
    list: bool,
    /// Whether calls may follow; otherwise only markup that ends it.
    ending: bool,
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
        Self { row, any: false, list: false, ending: false }
    }

    /// What is left of a section behind a call that stood by itself: markup that ends it.
    pub(crate) fn standing(any: bool) -> Self {
        Self { row: None, any, list: false, ending: true }
    }

    /// Reads on. A second opening marker ends a section that has calls: the text decides anew whether it is meant.
    pub(crate) fn next(&mut self, text: &str, place: &Place<'_>) -> Next {
        let rest = text.trim_start();
        let blank = text.len() - rest.len();
        spend(1 + blank);
        if rest.is_empty() {
            return if place.more() { Next::More } else { Next::Leave };
        }
        match lookup(rest, place.more()) {
            Lookup::Prefix => return Next::More,
            Lookup::Found(Marker::Open(row), len) if !self.any => {
                // The first marker names the dialect, unless this one is of another grammar's row.
                self.row = self.row.or(Some(row));
                return Next::Skip(blank + len);
            }
            Lookup::Found(Marker::Close | Marker::Noise | Marker::Separator, len) => return Next::Skip(blank + len),
            Lookup::Found(Marker::Open(row), len) if self.row.is_some() && shares_section(self.row, row) => {
                // It begins anew: a list may follow again.
                self.any = false;
                self.list = false;
                return Next::Skip(blank + len);
            }
            Lookup::Found(Marker::Open(_) | Marker::ThinkOpen(_) | Marker::ThinkClose | Marker::Header, _) => {
                return Next::Leave;
            }
            Lookup::Found(Marker::Tag, _) | Lookup::Nothing => {}
        }
        if self.ending {
            return Next::Leave;
        }
        match self.punctuation(rest, place) {
            Punctuation::More => return Next::More,
            Punctuation::Skip(len) => return Next::Skip(blank + len),
            Punctuation::Nothing => {}
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

    fn punctuation(&mut self, rest: &str, place: &Place<'_>) -> Punctuation {
        let byte = rest.as_bytes().first().copied().unwrap_or_default();
        match byte {
            b'[' if !self.list && !self.any => {
                self.list = true;
                Punctuation::Skip(1)
            }
            b']' if self.list || self.any => {
                self.list = false;
                Punctuation::Skip(1)
            }
            b',' | b';' | b'}' | b')' if self.any => Punctuation::Skip(1),
            b'`' => fence_line(rest, place.more()),
            _ => Punctuation::Nothing,
        }
    }

    fn item(&self, rest: &str, place: &Place<'_>) -> Item {
        let place = Place { row: self.row, ..*place };
        match rest.chars().next() {
            Some('{') => json::read(rest, &place),
            Some('"') => written_object(rest, &place),
            Some('<') => first_of(&[tagged::read, tool_tag::read], rest, &place),
            Some(_) => first_of(&[braced::read, pythonic::read, named::read], rest, &place),
            None => Item::Nothing,
        }
    }
}

/// Whether a marker belongs to the section of another: each call of some dialects has a marker within the section's.
fn shares_section(row: Option<usize>, inner: usize) -> bool {
    row == Some(inner) || crate::dialect::DIALECTS.get(inner).is_some_and(|row| row.id == "deepseek-v3")
}

enum Punctuation {
    More,
    Skip(usize),
    Nothing,
}

/// A line that opens or closes a fence within a section.
fn fence_line(rest: &str, more: bool) -> Punctuation {
    let run = rest.bytes().take_while(|byte| *byte == b'`').count();
    let info = rest.get(run..).unwrap_or_default();
    let word = info.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if more && run + word == rest.len() {
        return Punctuation::More;
    }
    if run < 3 { Punctuation::Nothing } else { Punctuation::Skip(run + word) }
}

fn first_of(engines: &[fn(&str, &Place<'_>) -> Item], rest: &str, place: &Place<'_>) -> Item {
    let mut items = engines.iter().map(|engine| engine(rest, place));
    items.find(|item| !matches!(item, Item::Nothing)).unwrap_or(Item::Nothing)
}

/// A call that was written as a JSON string.
fn written_object(rest: &str, place: &Place<'_>) -> Item {
    match string_extent(rest, place.more()) {
        Extent::More => Item::More,
        Extent::Strict(len) => {
            let written = rest.get(..len).and_then(|text| serde_json::from_str::<String>(text).ok());
            match written.filter(|text| text.trim_start().starts_with('{')) {
                Some(object) => Item::Read(len, json::attempts(object.trim(), End::Complete, place)),
                None => Item::Nothing,
            }
        }
        Extent::Sloppy(_) | Extent::Unfinished { .. } => Item::Nothing,
    }
}

/// What an opening marker leads to.
#[derive(Debug)]
pub(crate) enum Opened {
    /// More text may change the answer.
    More,
    /// Calls, which with the markers before them take so many bytes; the section goes on.
    Section(usize, Vec<Attempt>, Section),
    /// No call. Before so many bytes nothing but markers stands, of which none leads to a call.
    Stray(usize),
}

/// Reads from an opening marker to the first call.
pub(crate) fn open(text: &str, row: Option<usize>, marker: usize, place: &Place<'_>) -> Opened {
    let mut section = Section::new(row);
    let mut run = MarkerRun::default();
    let mut at = marker;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match section.next(rest, place) {
            Next::More => return Opened::More,
            Next::Skip(len) => {
                run.skipped(rest, at);
                at += len;
            }
            Next::Read(len, attempts) => return Opened::Section(at + len, attempts, section),
            Next::Leave => return Opened::Stray(run.last),
        }
    }
}

/// The markers that follow an opening one without anything between. All of them lead to what the last one leads to,
/// so a run that leads to nothing is passed over at once: the cost stays linear.
#[derive(Debug, Default)]
pub(crate) struct MarkerRun {
    /// Where the last opening marker of the run begins.
    pub(crate) last: usize,
    ended: bool,
}

impl MarkerRun {
    /// Notes that what begins `rest`, at this place, was skipped.
    pub(crate) fn skipped(&mut self, rest: &str, at: usize) {
        let marker = rest.trim_start();
        match lookup(marker, false) {
            Lookup::Found(Marker::Open(_), _) if !self.ended => self.last = at + rest.len() - marker.len(),
            Lookup::Found(..) => {}
            Lookup::Prefix | Lookup::Nothing => self.ended = true,
        }
    }
}

/// How far a closing marker may be from an opening one that has no call behind it.
const NEAR: usize = 600;

/// Up to and with the closing marker that follows an opening one, if words stand between and it follows soon. None
/// while that can't be told.
pub(crate) fn closing_after(text: &str, marker: usize, more: bool) -> Option<Option<usize>> {
    let end = text.floor_char_boundary(marker + NEAR).min(text.len());
    let near = text.get(..end).unwrap_or(text);
    let behind = near.get(marker..).unwrap_or_default();
    let paragraph = behind.find("\n\n").map_or(end, |blank| marker + blank);
    for (at, _) in behind.match_indices(['<', '[']) {
        let place = marker + at;
        if place > paragraph {
            break;
        }
        match lookup(text.get(place..).unwrap_or_default(), more) {
            Lookup::Prefix => return None,
            Lookup::Found(Marker::Close, len) => {
                let words = !behind.get(..at).unwrap_or_default().trim().is_empty();
                return Some(words.then_some(place + len));
            }
            Lookup::Found(..) => return Some(None),
            Lookup::Nothing => {}
        }
    }
    let decided = paragraph < end || end < text.len() || !more;
    decided.then_some(None)
}
