//! `call:NAME{key:value,…}`, with the dialects' own string delimiters or none.

use serde_json::value::RawValue;

use super::{Attempt, Item, Place, only_property, properties, truncated};
use crate::dialect::Engine;
use crate::marker::{Lookup, lookup};
use crate::python::quoted;
use crate::{Dialect, End};

/// What such a call begins with.
pub(crate) const PREFIX: &str = "call:";
/// What stands around text in these dialects.
const DELIMITERS: &[&str] = &["<|\"|>", "<escape>"];
/// How deep values may nest: each level is a call of this reader.
const MAX_DEPTH: usize = 100;

/// Reads the call at the start of the text.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    let Some(rest) = text.strip_prefix(PREFIX) else {
        return if place.more() && PREFIX.starts_with(text) { Item::More } else { Item::Nothing };
    };
    let rest = rest.trim_start_matches(' ');
    let length = rest
        .char_indices()
        .find(|(_, c)| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')))
        .map_or(rest.len(), |(at, _)| at);
    let (Some(name), Some(body)) = (rest.get(..length), rest.get(length..)) else { return Item::Nothing };
    if name.is_empty() {
        return if place.more() && rest.is_empty() { Item::More } else { Item::Nothing };
    }
    let dialect = place.dialect(Engine::Braced, "gemma4");
    match body.trim_start().chars().next() {
        None if place.more() => Item::More,
        None => Item::Read(text.len(), vec![place.toolset.read_call(name, "{}", dialect, place.end())]),
        Some('{') => fields(name, text, '}', &dialect, place),
        Some('(') => fields(name, text, ')', &dialect, place),
        Some(':') => block_argument(name, text, &dialect, place),
        Some(_) => Item::Nothing,
    }
}

fn fields(name: &str, text: &str, close: char, dialect: &Dialect, place: &Place<'_>) -> Item {
    let keys: Vec<&str> = properties(place.toolset, name).collect();
    let open = text.find(['{', '(']).unwrap_or(text.len());
    let mut reader = Reader { text, at: open + 1, keys, place };
    match reader.object(close, 0) {
        Read::More => Item::More,
        Read::Cut => Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))]),
        Read::Value(json) => {
            let attempt = place.toolset.read_call(name, &json, dialect.clone(), End::Complete);
            Item::Read(reader.at, vec![attempt])
        }
    }
}

/// One value without a key, between `BEGIN_ARG` and `END_ARG` lines.
fn block_argument(name: &str, text: &str, dialect: &Dialect, place: &Place<'_>) -> Item {
    let Some((_, body)) = text.split_once("BEGIN_ARG") else {
        let behind = text.rsplit_once(':').map_or("", |(_, behind)| behind.trim_start());
        let begun = "BEGIN_ARG".starts_with(behind);
        return if begun && place.more() { Item::More } else { Item::Nothing };
    };
    let Some((value, behind)) = body.split_once("END_ARG") else {
        return if place.more() {
            Item::More
        } else {
            Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(name), text))])
        };
    };
    let value = value.strip_prefix('\n').unwrap_or(value);
    let value = value.strip_suffix('\n').unwrap_or(value);
    Item::Read(text.len() - behind.len(), vec![keyless(name, value, dialect, place)])
}

/// A value goes to the only property there is for it; with several the call lacks them all.
pub(crate) fn keyless(name: &str, value: &str, dialect: &Dialect, place: &Place<'_>) -> Attempt {
    let json = match only_property(place.toolset, name) {
        Some(key) => format!("{{{}: {}}}", quoted(key), quoted(value)),
        None => "{}".to_owned(),
    };
    place.toolset.read_call(name, &json, dialect.clone(), End::Complete)
}

enum Read {
    More,
    Cut,
    /// JSON text.
    Value(String),
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// The tool's properties: the keys that end a text without delimiters.
    keys: Vec<&'t str>,
    place: &'t Place<'t>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.at = self.text.len() - self.rest().trim_start_matches(skipped).len();
    }

    fn ended(&self) -> Read {
        if self.place.more() { Read::More } else { Read::Cut }
    }

    /// The delimiter here, if one stands here.
    fn delimiter(&self) -> Option<&'static str> {
        DELIMITERS.iter().copied().find(|mark| self.rest().starts_with(mark))
    }

    /// Keys and values up to the closing bracket; the opening one was read.
    fn object(&mut self, close: char, depth: usize) -> Read {
        let mut fields = Vec::new();
        loop {
            self.skip(|c| c.is_whitespace() || c == ',');
            let rest = self.rest();
            if rest.starts_with(close) {
                self.at += close.len_utf8();
                return Read::Value(format!("{{{}}}", fields.join(", ")));
            }
            let Some(colon) = rest.find([':', '=', close]) else { return self.ended() };
            let key = rest.get(..colon).unwrap_or_default();
            let key = DELIMITERS.iter().fold(key.to_owned(), |key, mark| key.replace(mark, ""));
            let key = key.trim().trim_matches(['"', '\'']);
            self.at += colon;
            if self.rest().starts_with(close) {
                continue;
            }
            self.at += 1;
            match self.value(close, depth) {
                Read::Value(value) => fields.push(format!("{}: {value}", quoted(key))),
                unfinished @ (Read::More | Read::Cut) => return unfinished,
            }
        }
    }

    fn list(&mut self, depth: usize) -> Read {
        let mut items = Vec::new();
        loop {
            self.skip(|c| c.is_whitespace() || c == ',');
            if self.rest().starts_with(']') {
                self.at += 1;
                return Read::Value(format!("[{}]", items.join(", ")));
            }
            if self.rest().is_empty() {
                return self.ended();
            }
            match self.value(']', depth) {
                Read::Value(value) => items.push(value),
                unfinished @ (Read::More | Read::Cut) => return unfinished,
            }
        }
    }

    fn value(&mut self, close: char, depth: usize) -> Read {
        self.skip(|c| matches!(c, ' ' | '\t'));
        if let Some(mark) = self.delimiter() {
            self.at += mark.len();
            let Some(len) = self.rest().find(mark) else { return self.ended() };
            let text = self.rest().get(..len).unwrap_or_default();
            self.at += len + mark.len();
            return Read::Value(quoted(text));
        }
        let rest = self.rest();
        if self.place.more() && DELIMITERS.iter().any(|mark| mark.starts_with(rest)) {
            return Read::More;
        }
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => self.string(quote, close),
            Some('{') if depth < MAX_DEPTH => {
                self.at += 1;
                self.object('}', depth + 1)
            }
            Some('[') if depth < MAX_DEPTH => {
                self.at += 1;
                self.list(depth + 1)
            }
            Some(_) => self.bare(close, depth),
            None => self.ended(),
        }
    }

    /// A text in ordinary quotes. It ends at a quote behind which the value can end; what was escaped as in JSON is
    /// read so, anything else is taken as it is.
    fn string(&mut self, quote: char, close: char) -> Read {
        let rest = self.rest();
        let inner = rest.get(1..).unwrap_or_default();
        for (at, _) in inner.match_indices(quote) {
            let mut behind = inner.get(at + 1..).unwrap_or_default();
            if self.place.more() && DELIMITERS.iter().any(|mark| mark.starts_with(behind)) {
                return Read::More;
            }
            if let Some(mark) = DELIMITERS.iter().find(|mark| behind.starts_with(*mark)) {
                behind = behind.get(mark.len()..).unwrap_or_default();
            }
            let next = behind.trim_start().chars().next();
            if next.is_none() && self.place.more() {
                return Read::More;
            }
            if next.is_none_or(|c| c == ',' || c == close) {
                let text = inner.get(..at).unwrap_or_default();
                self.at = self.text.len() - behind.len();
                let json = format!("\"{text}\"");
                let valid = quote == '"' && serde_json::from_str::<String>(&json).is_ok();
                return Read::Value(if valid { json } else { quoted(text) });
            }
        }
        self.ended()
    }

    /// A number, a word of JSON, or text without delimiters, which ends where another property or the call's end comes.
    fn bare(&mut self, close: char, depth: usize) -> Read {
        let rest = self.rest();
        if let Some(end) = rest.find([',', close, '\n']) {
            let word = rest.get(..end).unwrap_or_default().trim();
            if is_scalar(word) {
                self.at += end;
                return Read::Value(word.to_owned());
            }
        } else if self.place.more() {
            return Read::More;
        }
        let mut end = None;
        for (at, c) in rest.char_indices() {
            let behind = rest.get(at + c.len_utf8()..).unwrap_or_default();
            if c == ',' && (self.key_follows(behind) || depth > 0) {
                end = Some(at);
                break;
            }
            if c == close {
                match self.call_ends(behind, depth) {
                    None => return Read::More,
                    Some(true) => {
                        end = Some(at);
                        break;
                    }
                    Some(false) => {}
                }
            }
        }
        let Some(end) = end else { return self.ended() };
        let text = rest.get(..end).unwrap_or_default();
        self.at += end;
        Read::Value(quoted(text.trim()))
    }

    fn key_follows(&self, behind: &str) -> bool {
        let behind = behind.trim_start();
        self.keys.iter().any(|key| behind.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')))
    }

    /// Whether the end of the call stands before this text. None if it can't be told yet.
    fn call_ends(&self, behind: &str, depth: usize) -> Option<bool> {
        if depth > 0 {
            return Some(true);
        }
        let behind = behind.trim_start();
        if behind.is_empty() {
            return if self.place.more() { None } else { Some(true) };
        }
        match lookup(behind, self.place.more()) {
            Lookup::Found(..) => Some(true),
            Lookup::Prefix => None,
            Lookup::Nothing if self.place.more() && PREFIX.starts_with(behind) => None,
            Lookup::Nothing => Some(behind.starts_with(PREFIX)),
        }
    }
}

fn is_scalar(word: &str) -> bool {
    matches!(word, "true" | "false" | "null")
        || (word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && serde_json::from_str::<&RawValue>(word).is_ok())
}
