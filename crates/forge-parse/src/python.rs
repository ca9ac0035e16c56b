//! Python literals as JSON text: numbers keep their digits.

use std::fmt::Write as _;

/// Why a literal can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The text ends inside it.
    End,
    /// Something else stands there: a variable, an expression.
    NotLiteral,
}

/// The arguments of a call.
#[derive(Debug, Default)]
pub(crate) struct CallArguments {
    /// Keywords and values as JSON text, in order.
    keywords: Vec<(String, String)>,
    /// Values without a keyword, as JSON text.
    positional: Vec<String>,
}

impl CallArguments {
    /// The arguments as a JSON object. One value without keyword is the only property's, or is itself the object.
    pub(crate) fn to_json(&self, only_property: Option<&str>) -> Option<String> {
        let mut fields = self.keywords.clone();
        match self.positional.as_slice() {
            [] => {}
            [object] if fields.is_empty() && object.starts_with('{') => return Some(object.clone()),
            [value] if fields.is_empty() => fields.push((only_property?.to_owned(), value.clone())),
            _ => return None,
        }
        let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{}: {value}", quoted(key))).collect();
        Some(format!("{{{}}}", fields.join(", ")))
    }
}

/// How deep literals may nest: each level is a call of this reader.
const MAX_DEPTH: usize = 100;

/// A place in Python text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// At the start of a text.
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// How far it came, in bytes.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether the text ends here.
    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Skips blanks within the line.
    pub(crate) fn blanks(&mut self) {
        self.skip(|c| matches!(c, ' ' | '\t'));
    }

    /// Skips white space.
    pub(crate) fn space(&mut self) {
        self.skip(char::is_whitespace);
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.at = self.text.len() - self.rest().trim_start_matches(skipped).len();
    }

    /// Steps over a character if it stands here.
    pub(crate) fn eat(&mut self, c: char) -> bool {
        let here = self.rest().starts_with(c);
        if here {
            self.at += c.len_utf8();
        }
        here
    }

    /// A name, dotted or not.
    pub(crate) fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let length = rest
            .char_indices()
            .find(|(_, c)| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')))
            .map_or(rest.len(), |(at, _)| at);
        let name = rest.get(..length).filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))?;
        self.at += length;
        Some(name)
    }

    /// What stands between the brackets of a call; the opening one was read.
    pub(crate) fn arguments(&mut self) -> Result<CallArguments, Stop> {
        let mut arguments = CallArguments::default();
        loop {
            self.space();
            if self.eat(')') {
                return Ok(arguments);
            }
            let before = self.at;
            match self.keyword() {
                Some(keyword) => {
                    let value = self.value(0)?;
                    arguments.keywords.push((keyword, value));
                }
                None => {
                    self.at = before;
                    arguments.positional.push(self.value(0)?);
                }
            }
            self.space();
            if !self.eat(',') && self.peek() != Some(')') {
                return Err(if self.at_end() { Stop::End } else { Stop::NotLiteral });
            }
        }
    }

    fn keyword(&mut self) -> Option<String> {
        let name = self.name()?.to_owned();
        self.space();
        let assigns = self.rest().starts_with('=') && !self.rest().starts_with("==");
        (assigns && self.eat('=')).then_some(name)
    }

    /// One literal.
    fn value(&mut self, depth: usize) -> Result<String, Stop> {
        self.space();
        if depth > MAX_DEPTH {
            return Err(Stop::NotLiteral);
        }
        match self.peek() {
            None => Err(Stop::End),
            Some('[') => self.list('[', ']', depth),
            Some('(') => self.list('(', ')', depth),
            Some('{') => self.dict(depth),
            Some('"' | '\'') => self.strings(),
            Some('r' | 'b' | 'u') if self.rest().get(1..2).is_some_and(|q| q == "\"" || q == "'") => self.strings(),
            Some('r' | 'b' | 'u') if self.rest().len() == 1 => Err(Stop::End),
            Some(c) if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn list(&mut self, open: char, close: char, depth: usize) -> Result<String, Stop> {
        self.eat(open);
        let mut items = Vec::new();
        loop {
            self.space();
            if self.eat(close) {
                return Ok(format!("[{}]", items.join(", ")));
            }
            items.push(self.value(depth + 1)?);
            self.space();
            if !self.eat(',') && self.peek() != Some(close) {
                return Err(if self.at_end() { Stop::End } else { Stop::NotLiteral });
            }
        }
    }

    fn dict(&mut self, depth: usize) -> Result<String, Stop> {
        self.eat('{');
        let mut items = Vec::new();
        loop {
            self.space();
            if self.eat('}') {
                return Ok(format!("{{{}}}", items.join(", ")));
            }
            let key = self.value(depth + 1)?;
            let key = if key.starts_with('"') { key } else { quoted(&key) };
            self.space();
            if !self.eat(':') {
                return Err(if self.at_end() { Stop::End } else { Stop::NotLiteral });
            }
            let value = self.value(depth + 1)?;
            items.push(format!("{key}: {value}"));
            self.space();
            if !self.eat(',') && self.peek() != Some('}') {
                return Err(if self.at_end() { Stop::End } else { Stop::NotLiteral });
            }
        }
    }

    /// Adjacent strings are one.
    fn strings(&mut self) -> Result<String, Stop> {
        let mut whole = String::new();
        loop {
            whole.push_str(&self.string()?);
            let behind = self.at;
            self.space();
            if !matches!(self.peek(), Some('"' | '\'')) {
                self.at = behind;
                return Ok(quoted(&whole));
            }
        }
    }

    fn string(&mut self) -> Result<String, Stop> {
        let raw = self.eat('r');
        if !raw && !self.eat('b') {
            self.eat('u');
        }
        let quote = self.peek().ok_or(Stop::End)?;
        let rest = self.rest();
        let mark = if rest.starts_with(&String::from_iter([quote; 3])) { 3 } else { 1 };
        if mark == 1 && rest.len() == 2 && rest.ends_with(quote) {
            // Two quotes at the end of the text: an empty string, or the start of a triple quote.
            self.at += 2;
            return if self.at_end() { Ok(String::new()) } else { Err(Stop::End) };
        }
        self.at += mark;
        let closing = String::from_iter(std::iter::repeat_n(quote, mark));
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find([quote, '\\', '\n']).ok_or(Stop::End)?;
            text.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            if self.rest().starts_with(&closing) {
                self.at += mark;
                return Ok(text);
            }
            if self.eat('\\') {
                self.escape(raw, &mut text)?;
            } else if let Some(c) = self.peek() {
                text.push(c);
                self.at += c.len_utf8();
            }
        }
    }

    /// What follows a backslash; unknown escapes keep it, as Python does.
    fn escape(&mut self, raw: bool, text: &mut String) -> Result<(), Stop> {
        let c = self.peek().ok_or(Stop::End)?;
        self.at += c.len_utf8();
        if raw {
            text.push('\\');
            text.push(c);
            return Ok(());
        }
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '0' => text.push('\0'),
            '\\' | '\'' | '"' => text.push(c),
            '\n' => {}
            'x' => self.code_point(2, c, text)?,
            'u' => self.code_point(4, c, text)?,
            'U' => self.code_point(8, c, text)?,
            _ => {
                text.push('\\');
                text.push(c);
            }
        }
        Ok(())
    }

    fn code_point(&mut self, digits: usize, letter: char, text: &mut String) -> Result<(), Stop> {
        let rest = self.rest();
        if rest.len() < digits {
            return Err(Stop::End);
        }
        let code = rest.get(..digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => {
                text.push(c);
                self.at += digits;
            }
            None => {
                text.push('\\');
                text.push(letter);
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<String, Stop> {
        let rest = self.rest();
        let length =
            rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.' | b'_')).count();
        if length == rest.len() {
            return Err(Stop::End);
        }
        let written = rest.get(..length).unwrap_or_default().replace('_', "");
        self.at += length;
        let number = as_json_number(&written).ok_or(Stop::NotLiteral)?;
        Ok(number)
    }

    fn word(&mut self) -> Result<String, Stop> {
        let name = self.name().ok_or(Stop::NotLiteral)?;
        if self.at_end() {
            return Err(Stop::End);
        }
        match name {
            "True" | "true" => Ok("true".to_owned()),
            "False" | "false" => Ok("false".to_owned()),
            "None" | "null" => Ok("null".to_owned()),
            _ => Err(Stop::NotLiteral),
        }
    }
}

/// A Python number in JSON's form with the same digits.
fn as_json_number(written: &str) -> Option<String> {
    let written = written.strip_prefix('+').unwrap_or(written);
    let (sign, digits) = written.strip_prefix('-').map_or(("", written), |digits| ("-", digits));
    let mut json = String::from(sign);
    let whole = digits.split(['.', 'e', 'E']).next().unwrap_or_default();
    if whole.is_empty() {
        json.push('0');
    }
    json.push_str(digits);
    if let Some(dot) = json.find('.')
        && !json.get(dot + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        json.insert(dot + 1, '0');
    }
    serde_json::from_str::<&serde_json::value::RawValue>(&json).is_ok().then_some(json)
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _written = write!(json, "\\u{:04x}", c as u32);
            }
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(arguments: &str) -> Result<String, Stop> {
        let text = format!("{arguments})");
        Cursor::new(&text).arguments().map(|arguments| arguments.to_json(None).unwrap())
    }

    #[test]
    fn literals_keep_their_meaning_and_their_digits() {
        for (python, expected) in [
            ("", "{}"),
            ("a=1, b=-2.50, c=18446744073709551615", r#"{"a": 1, "b": -2.50, "c": 18446744073709551615}"#),
            ("a=1_000, b=.5, c=2.", r#"{"a": 1000, "b": 0.5, "c": 2.0}"#),
            ("a=True, b=None, c=[1, 'x',], d=(1,)", r#"{"a": true, "b": null, "c": [1, "x"], "d": [1]}"#),
            ("a={'k': {'n': [False]}}", r#"{"a": {"k": {"n": [false]}}}"#),
            (r#"a='it\'s', b="\d+", c=r"\n""#, r#"{"a": "it's", "b": "\\d+", "c": "\\n"}"#),
            ("a=\"\"\"two\nlines\"\"\"", r#"{"a": "two\nlines"}"#),
            ("a='x' 'y', b=''", r#"{"a": "xy", "b": ""}"#),
        ] {
            assert_eq!(json(python).as_deref(), Ok(expected), "{python}");
        }
    }

    #[test]
    fn anything_else_is_no_literal() {
        for python in ["a=r", "a=f(x)", "a=1+2", "a=x.y", "a=0x1f", "a=[i for i in b]", "a==1"] {
            assert_eq!(json(python).err(), Some(Stop::NotLiteral), "{python}");
        }
    }
}
