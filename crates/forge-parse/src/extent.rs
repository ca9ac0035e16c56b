//! Where a JSON object ends in a text that goes on: strictly, or as nearly as broken JSON lets one say.

use crate::effort::spend;
use crate::marker::{Lookup, Marker, lookup};
use crate::repair::MAX_DEPTH;

/// How far the object at the start of a text reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// More text may change the answer.
    More,
    /// Valid JSON of so many bytes.
    Strict(usize),
    /// So many bytes that aren't valid JSON; after them something else begins.
    Sloppy(usize),
    /// The text ends inside the object. `from_close` is where closing markers begin that end the text, if they do.
    Unfinished {
        /// The length up to the markers, or the whole.
        len: usize,
        /// Whether closing markers follow.
        closed: bool,
    },
}

/// Finds the end of the object that begins with the text's first byte. With `more` text may follow.
pub(crate) fn object_extent(text: &str, more: bool) -> Extent {
    match strict(text.as_bytes()) {
        Strict::Complete(len) => Extent::Strict(len),
        Strict::Incomplete if more => Extent::More,
        Strict::Incomplete | Strict::Invalid => match lenient(text, more) {
            Lenient::More => Extent::More,
            Lenient::Ends(len) => Extent::Sloppy(len),
            Lenient::Open => {
                let len = before_closing_markers(text);
                Extent::Unfinished { len, closed: len < text.trim_end().len() }
            }
        },
    }
}

/// Finds the end of the JSON string that begins with the text's first byte.
pub(crate) fn string_extent(text: &str, more: bool) -> Extent {
    match strict(text.as_bytes()) {
        Strict::Complete(len) => Extent::Strict(len),
        Strict::Incomplete if more => Extent::More,
        Strict::Incomplete | Strict::Invalid => {
            let len = before_closing_markers(text);
            Extent::Unfinished { len, closed: len < text.trim_end().len() }
        }
    }
}

/// The length of the text without the closing markers at its end.
fn before_closing_markers(text: &str) -> usize {
    let mut end = text.trim_end().len();
    while let Some(start) = text.get(..end).and_then(|text| text.rfind(['<', '['])) {
        let tail = text.get(start..end).unwrap_or_default();
        match lookup(tail, false) {
            Lookup::Found(Marker::Close | Marker::Noise, len) if len == tail.len() => {
                end = text.get(..start).unwrap_or_default().trim_end().len();
            }
            Lookup::Found(..) | Lookup::Prefix | Lookup::Nothing => break,
        }
    }
    end
}

enum Strict {
    Complete(usize),
    Incomplete,
    Invalid,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A value, or the end of an array that was just opened.
    ValueOrEnd,
    Value,
    /// A key, or the end of an object that was just opened.
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
}

/// Follows JSON's grammar without keeping values.
fn strict(bytes: &[u8]) -> Strict {
    let mut open: Vec<u8> = Vec::new();
    let mut expect = Expect::Value;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        spend(1);
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            at += 1;
            continue;
        }
        let value_allowed = matches!(expect, Expect::Value | Expect::ValueOrEnd);
        match (byte, expect) {
            (b'{' | b'[', _) if value_allowed => {
                if open.len() >= MAX_DEPTH {
                    return Strict::Invalid;
                }
                open.push(byte);
                expect = if byte == b'{' { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                at += 1;
                continue;
            }
            (b'"', Expect::Key | Expect::KeyOrEnd) => {
                match string_end(bytes, at) {
                    Some(end) => at = end,
                    None => return Strict::Incomplete,
                }
                expect = Expect::Colon;
                continue;
            }
            (b':', Expect::Colon) => expect = Expect::Value,
            (b',', Expect::CommaOrEnd) => {
                expect = if open.last() == Some(&b'{') { Expect::Key } else { Expect::Value };
            }
            (b'}', Expect::KeyOrEnd | Expect::CommaOrEnd) if open.last() == Some(&b'{') => {
                open.pop();
                expect = Expect::CommaOrEnd;
            }
            (b']', Expect::ValueOrEnd | Expect::CommaOrEnd) if open.last() == Some(&b'[') => {
                open.pop();
                expect = Expect::CommaOrEnd;
            }
            (b'"', _) if value_allowed => {
                match string_end(bytes, at) {
                    Some(end) => at = end,
                    None => return Strict::Incomplete,
                }
                expect = Expect::CommaOrEnd;
                if open.is_empty() {
                    return Strict::Complete(at);
                }
                continue;
            }
            (_, _) if value_allowed && !open.is_empty() => {
                match scalar_end(bytes, at) {
                    Scalar::Ends(end) => at = end,
                    Scalar::Incomplete => return Strict::Incomplete,
                    Scalar::Invalid => return Strict::Invalid,
                }
                expect = Expect::CommaOrEnd;
                continue;
            }
            _ => return Strict::Invalid,
        }
        at += 1;
        if open.is_empty() {
            return Strict::Complete(at);
        }
    }
    Strict::Incomplete
}

/// The place behind a string that begins at `at`; raw control characters and unknown escapes are looked over, so
/// that the answer doesn't depend on them.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        let rest = bytes.get(at..)?;
        let offset = memchr::memchr2(b'"', b'\\', rest)?;
        at += offset;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

enum Scalar {
    Ends(usize),
    Incomplete,
    Invalid,
}

fn scalar_end(bytes: &[u8], at: usize) -> Scalar {
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')).count();
    let Some(scalar) = rest.get(..length) else { return Scalar::Invalid };
    if length == rest.len() {
        return if length <= 64 || scalar.iter().all(u8::is_ascii_digit) {
            Scalar::Incomplete
        } else {
            Scalar::Invalid
        };
    }
    match scalar {
        b"true" | b"false" | b"null" => Scalar::Ends(at + length),
        _ if serde_json::from_slice::<&serde_json::value::RawValue>(scalar).is_ok() => Scalar::Ends(at + length),
        _ => Scalar::Invalid,
    }
}

enum Lenient {
    More,
    Ends(usize),
    Open,
}

/// The bracket types that are open; beyond a depth that no repair accepts only their number counts.
#[derive(Default)]
struct Brackets {
    stack: Vec<u8>,
    beyond: usize,
}

impl Brackets {
    fn open(&mut self, byte: u8) {
        if self.stack.len() < 4 * MAX_DEPTH {
            self.stack.push(byte);
        } else {
            self.beyond += 1;
        }
    }

    /// Closes the innermost bracket of this type and what is open within it. False if there is none.
    fn close(&mut self, opener: u8) -> bool {
        if self.beyond > 0 {
            self.beyond -= 1;
            return true;
        }
        match self.stack.iter().rposition(|byte| *byte == opener) {
            Some(place) => {
                self.stack.truncate(place);
                true
            }
            None => false,
        }
    }

    fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }
}

/// Follows brackets and strings of any kind, as broken JSON has them. A marker outside a string ends the object.
fn lenient(text: &str, more: bool) -> Lenient {
    let bytes = text.as_bytes();
    let mut brackets = Brackets::default();
    let mut before = b'{';
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        spend(1);
        match byte {
            b'{' | b'[' => brackets.open(byte),
            b'}' => {
                brackets.close(b'{');
                if brackets.is_empty() {
                    match bytes.get(at + 1) {
                        None if more => return Lenient::More,
                        // The brace stands in a string whose quotes are not escaped: `{"a": "{"b": 1}"}`.
                        Some(b'"') => {
                            brackets.open(b'{');
                            at += 1;
                        }
                        Some(_) | None => return Lenient::Ends(at + 1),
                    }
                }
            }
            b']' => {
                let ends = if brackets.close(b'[') { Tri::No } else { ends_list(text, at + 1, more) };
                match ends {
                    Tri::Yes => return Lenient::Ends(at),
                    Tri::Unknown => return Lenient::More,
                    Tri::No => {}
                }
            }
            b'"' => match quoted_end(bytes, at, more) {
                Quoted::Ends(end) => {
                    at = end;
                    before = b'"';
                    continue;
                }
                Quoted::More => return Lenient::More,
                Quoted::Open => return Lenient::Open,
            },
            b'\'' if matches!(before, b'{' | b'[' | b',' | b':') => match quoted_end(bytes, at, more) {
                Quoted::Ends(end) => {
                    at = end;
                    before = b'"';
                    continue;
                }
                Quoted::More => return Lenient::More,
                Quoted::Open => return Lenient::Open,
            },
            b'<' => match lookup(text.get(at..).unwrap_or_default(), more) {
                Lookup::Found(..) => return Lenient::Ends(at),
                Lookup::Prefix => return Lenient::More,
                Lookup::Nothing => {}
            },
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        at += 1;
    }
    if more { Lenient::More } else { Lenient::Open }
}

enum Tri {
    Yes,
    No,
    Unknown,
}

/// Whether a list ends here: what follows is the end, a marker, or the next bracket that ends a text.
fn ends_list(text: &str, at: usize, more: bool) -> Tri {
    let rest = text.get(at..).unwrap_or_default();
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || matches!(c, ']' | '}'));
    match rest.as_bytes().first() {
        None if more => Tri::Unknown,
        None => Tri::Yes,
        Some(b'<' | b'[') => match lookup(rest, more) {
            Lookup::Found(..) => Tri::Yes,
            Lookup::Prefix => Tri::Unknown,
            Lookup::Nothing => Tri::No,
        },
        Some(_) => Tri::No,
    }
}

enum Quoted {
    Ends(usize),
    More,
    Open,
}

/// The end of a string whose inner quotes may be unescaped: a quote ends it only where JSON's punctuation follows.
fn quoted_end(bytes: &[u8], at: usize, more: bool) -> Quoted {
    let quote = bytes.get(at).copied().unwrap_or(b'"');
    let triple = [quote; 3];
    let is_triple = bytes.get(at..at + 3) == Some(&triple);
    let mut at = if is_triple { at + 3 } else { at + 1 };
    while let Some(offset) = memchr::memchr2(quote, b'\\', bytes.get(at..).unwrap_or_default()) {
        at += offset;
        if bytes.get(at) == Some(&b'\\') {
            at += 2;
            continue;
        }
        if is_triple {
            match bytes.get(at..at + 3) {
                Some(three) if three == triple => return Quoted::Ends(at + 3),
                Some(_) => {}
                None => break,
            }
            at += 1;
            continue;
        }
        let behind = bytes.get(at + 1..).unwrap_or_default().iter().find(|byte| !byte.is_ascii_whitespace());
        match behind {
            Some(b',' | b':' | b'}' | b']') => return Quoted::Ends(at + 1),
            Some(_) => at += 1,
            None => break,
        }
    }
    if more { Quoted::More } else { Quoted::Open }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_objects_end_where_they_end() {
        for (text, len) in [
            ("{}", 2),
            (r#"{"a": [1, 2, {"b": null}]} x"#, 26),
            (r#"{"a": "}</tool_call>"} "#, 22),
            (r#"{"a": "\"}"}{"#, 12),
        ] {
            assert_eq!(object_extent(text, true), Extent::Strict(len), "{text}");
        }
    }

    #[test]
    fn a_quoted_marker_in_an_unfinished_string_ends_nothing() {
        let text = r#"{"a": "<function=f>"#;
        assert_eq!(object_extent(text, true), Extent::More);
        assert_eq!(object_extent(text, false), Extent::Unfinished { len: text.len(), closed: false });
    }

    #[test]
    fn broken_objects_end_at_their_brackets_or_at_a_marker() {
        for (text, len) in [
            ("{'a': 1,} x", 9),
            (r#"{"a": "f("x", "y")"} x"#, 20),
            (r#"{"a": {"b": ["c"]}]</tool_call>"#, 18),
            ("{\"a\": 1 </tool_call>", 8),
            (r#"{"a": "{"b": "c", "d": {"e": "1"}}", "f": 2} x"#, 44),
        ] {
            assert_eq!(object_extent(text, false), Extent::Sloppy(len), "{text}");
        }
    }

    #[test]
    fn closing_markers_at_the_end_are_no_part_of_an_unfinished_object() {
        let text = "{\"a\": \"b}\n</tool_call> ";
        assert_eq!(object_extent(text, false), Extent::Unfinished { len: 9, closed: true });
    }
}
