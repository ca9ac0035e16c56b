//! The byte sequences that mean something: what opens and closes calls and thinking, found by longest match.

use std::sync::OnceLock;

use crate::dialect::DIALECTS;
use crate::effort::spend;
use crate::think::WRAPPERS;

/// What a marker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// Opens a call in this row of the table, or in another row with the same marker.
    Open(usize),
    /// Closes a call.
    Close,
    /// Begins a tag that names its tool: `<function=`, `<invoke name=`.
    Tag,
    /// Stands between a name and its arguments.
    Separator,
    /// Opens thinking in this wrapper.
    ThinkOpen(usize),
    /// Closes thinking.
    ThinkClose,
    /// A piece of a channel message's header.
    Header,
    /// Ends a message or a turn; never meant to be seen.
    Noise,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// A marker of so many bytes.
    Found(Marker, usize),
    /// What may become a marker with more text.
    Prefix,
    /// No marker.
    Nothing,
}

const TAGS: &[&str] = &["<function=", "<function name=", "<invoke name=", "<|dsml|invoke name="];
const SEPARATORS: &[&str] = &["[ARGS]", "[CALL_ID]", "<|tool_call_argument_begin|>", "<|tool_sep|>", "<tool_sep>"];
const HEADERS: &[&str] =
    &["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|from|>", "<|recipient|>", "<|content|>"];
const NOISE: &[&str] = &[
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|stop|>",
    "<|im_end|>",
    "<|im_start|>assistant",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<|end_of_sentence|>",
    "<|start_response|>",
    "<|end_response|>",
    "</s>",
];
/// Closing tags of the tagged grammars, which may outlive their calls.
const CLOSERS: &[&str] = &["</function>", "</invoke>", "</|dsml|invoke>", "</parameter>", "</arg_value>", "</arg_key>"];

struct Entry {
    text: &'static str,
    marker: Marker,
}

/// The markers by their second character, which tells them apart well enough.
struct Index {
    buckets: Vec<Vec<Entry>>,
}

impl Index {
    fn build() -> Self {
        let mut index = Self { buckets: (0..128).map(|_| Vec::new()).collect() };
        for (row, dialect) in DIALECTS.iter().enumerate() {
            dialect.open.iter().for_each(|text| index.add(text, Marker::Open(row)));
            dialect.close.iter().for_each(|text| index.add(text, Marker::Close));
        }
        for (row, wrapper) in WRAPPERS.iter().enumerate() {
            index.add(wrapper.open, Marker::ThinkOpen(row));
            index.add(wrapper.close, Marker::ThinkClose);
        }
        let lists = [
            (TAGS, Marker::Tag),
            (SEPARATORS, Marker::Separator),
            (HEADERS, Marker::Header),
            (NOISE, Marker::Noise),
            (CLOSERS, Marker::Close),
        ];
        for (texts, marker) in lists {
            texts.iter().for_each(|text| index.add(text, marker));
        }
        index
    }

    /// Of two rows with the same marker the first is kept; the other is found by its grammar.
    fn add(&mut self, text: &'static str, marker: Marker) {
        if let Some(bucket) = self.buckets.get_mut(bucket_of(text))
            && bucket.iter().all(|entry| entry.text != text)
        {
            bucket.push(Entry { text, marker });
        }
    }

    fn bucket(&self, text: &str) -> &[Entry] {
        self.buckets.get(bucket_of(text)).map_or(&[], Vec::as_slice)
    }
}

fn bucket_of(text: &str) -> usize {
    text.chars().nth(1).map_or(0, |second| fold(second) as usize & 127)
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(Index::build)
}

/// Folds what templates write in different ways: case, the full-width and the double bar, the low block.
pub(crate) fn fold(c: char) -> char {
    match c {
        '\u{ff5c}' | '\u{2016}' => '|',
        '\u{2581}' => '_',
        c => c.to_ascii_lowercase(),
    }
}

enum Match {
    Full(usize),
    Prefix,
    No,
}

/// Compares a marker with the start of a text. Markers in square brackets are exact; in a tag a label
/// (`<tool_call:label>`) or blanks may stand before the final bracket.
fn compare(text: &str, marker: &str) -> Match {
    let exact = marker.starts_with('[');
    let mut chars = text.char_indices();
    let mut wanted = marker.chars().peekable();
    while let Some(want) = wanted.next() {
        let Some((place, got)) = chars.next() else { return Match::Prefix };
        if got == want || (!exact && fold(got) == want) {
            continue;
        }
        let last = wanted.peek().is_none();
        return if last && want == '>' { labelled(text, place) } else { Match::No };
    }
    Match::Full(text.len() - chars.as_str().len())
}

/// The longest label that is skipped.
const MAX_LABEL: usize = 24;

fn labelled(text: &str, place: usize) -> Match {
    let rest = text.get(place..).unwrap_or_default();
    if !rest.starts_with([':', ' ', '\n']) {
        return Match::No;
    }
    for (at, c) in rest.char_indices() {
        match c {
            '>' => return Match::Full(place + at + 1),
            _ if at > MAX_LABEL => return Match::No,
            ':' if at == 0 => {}
            ' ' | '\n' if !rest.starts_with(':') => {}
            c if rest.starts_with(':') && (c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) => {}
            _ => return Match::No,
        }
    }
    Match::Prefix
}

/// What stands at the start of `text`. With `more` text may follow, so that a shorter marker waits for a longer one.
pub(crate) fn lookup(text: &str, more: bool) -> Lookup {
    spend(1);
    let mut chars = text.chars();
    let first = chars.next();
    if !first.is_some_and(|c| matches!(c, '<' | '[' | '\u{25c1}' | 'f')) {
        return Lookup::Nothing;
    }
    if chars.next().is_none() {
        return if more { Lookup::Prefix } else { Lookup::Nothing };
    }
    match longest(text, more) {
        Lookup::Nothing => namespaced(text, more),
        found => found,
    }
}

fn longest(text: &str, more: bool) -> Lookup {
    let mut best = Lookup::Nothing;
    for entry in index().bucket(text) {
        match compare(text, entry.text) {
            Match::Full(len) => {
                if !matches!(best, Lookup::Found(_, longest) if longest >= len) {
                    best = Lookup::Found(entry.marker, len);
                }
            }
            Match::Prefix if more => return Lookup::Prefix,
            Match::Prefix | Match::No => {}
        }
    }
    best
}

/// The longest XML namespace that is looked through, as in `<ns:invoke name=`.
const MAX_NAMESPACE: usize = 16;

/// A tag behind a namespace that the table doesn't know.
fn namespaced(text: &str, more: bool) -> Lookup {
    let Some(inner) = text.strip_prefix('<') else { return Lookup::Nothing };
    let (slash, inner) = inner.strip_prefix('/').map_or(("", inner), |inner| ("/", inner));
    let length = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
    let (Some(name), Some(behind)) = (inner.get(..length), inner.get(length..)) else { return Lookup::Nothing };
    if length > MAX_NAMESPACE {
        return Lookup::Nothing;
    }
    let Some(tag) = behind.strip_prefix(':') else {
        return if more && behind.is_empty() { Lookup::Prefix } else { Lookup::Nothing };
    };
    if length == 0 {
        return Lookup::Nothing;
    }
    if tag.is_empty() {
        return if more { Lookup::Prefix } else { Lookup::Nothing };
    }
    let bare: String = ["<", slash, tag.get(..longest_tag(tag)).unwrap_or(tag)].concat();
    let skipped = name.len() + 1;
    match longest(&bare, more && bare.len() <= MAX_TAG) {
        Lookup::Found(
            marker @ (Marker::Open(_) | Marker::Close | Marker::Tag | Marker::ThinkOpen(_) | Marker::ThinkClose),
            len,
        ) => Lookup::Found(marker, len + skipped),
        Lookup::Prefix => Lookup::Prefix,
        Lookup::Found(..) | Lookup::Nothing => Lookup::Nothing,
    }
}

const MAX_TAG: usize = 64;

fn longest_tag(tag: &str) -> usize {
    let mut end = tag.len().min(MAX_TAG);
    while !tag.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(Marker, usize)> {
        match lookup(text, false) {
            Lookup::Found(marker, len) => Some((marker, len)),
            Lookup::Prefix | Lookup::Nothing => None,
        }
    }

    #[test]
    fn look_alikes_are_one_marker() {
        let ascii = found("<|tool_calls_begin|>");
        assert!(matches!(ascii, Some((Marker::Open(_), 20))));
        let special = "<｜tool▁calls▁begin｜>";
        assert_eq!(found(special), ascii.map(|(marker, _)| (marker, special.len())));
        assert!(matches!(found("<‖DSML‖tool_calls>"), Some((Marker::Open(_), _))));
    }

    #[test]
    fn labels_and_namespaces_are_skipped() {
        assert!(matches!(found("<tool_call:opensource>x"), Some((Marker::Open(_), 22))));
        assert!(matches!(found("<end_of_tool_call:opensource>"), Some((Marker::Close, 29))));
        assert!(matches!(found("<ns:invoke name=\"x\">"), Some((Marker::Tag, 16))));
        assert!(matches!(found("</ns:function_calls>"), Some((Marker::Close, 20))));
    }

    #[test]
    fn every_proper_prefix_of_a_marker_waits() {
        for row in DIALECTS {
            for marker in row.open.iter().chain(row.close) {
                for (cut, _) in marker.char_indices().skip(1) {
                    let prefix = marker.get(..cut).unwrap();
                    assert_ne!(lookup(prefix, true), Lookup::Nothing, "{prefix}");
                }
            }
        }
    }

    #[test]
    fn square_brackets_are_exact() {
        assert!(found("[TOOL_CALLS]").is_some());
        assert_eq!(found("[tool_calls]"), None);
    }

    #[test]
    fn ordinary_markup_is_nothing() {
        for text in ["<b>", "<a href='x:y'>", "[1]", "<1", "<|x|>"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
