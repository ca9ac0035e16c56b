use serde_json::Value;

/// A JSON value whose numbers keep every digit and whose objects keep the order of their keys.
///
/// `serde_json::Value` would round the digits of long numbers, so what is changed between the model and the tool is
/// changed in this form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    /// The number as it was written.
    Number(String),
    String(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Tree {
    /// Parses JSON text; none if it isn't valid, or nests too deep.
    pub(crate) fn parse(json: &str) -> Option<Self> {
        serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
        Self::parse_valid(json)
    }

    /// Parses text that is known to be valid JSON; none if it nests too deep.
    pub(crate) fn parse_valid(json: &str) -> Option<Self> {
        let mut parser = Parser { text: json, at: 0 };
        parser.value(crate::repair::MAX_DEPTH + 1)
    }

    /// How many values it consists of.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => 1,
            Self::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.size()).sum::<usize>(),
        }
    }

    /// The value as JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(bit) => out.push_str(if *bit { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::String(text) => write_string(text, out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bit) => Self::Bool(bit),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::String(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(object) => {
                Self::Object(object.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    // A string always serialises.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Reads text that was checked before, so that it only has to tell values apart.
struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    fn value(&mut self, levels: usize) -> Option<Tree> {
        let levels = levels.checked_sub(1)?;
        self.space();
        match self.byte()? {
            b'{' => self.object(levels),
            b'[' => self.list(levels),
            b'"' => self.string().map(Tree::String),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, levels: usize) -> Option<Tree> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.byte()? {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let key = self.string()?;
                    self.space();
                    self.at += 1;
                    members.push((key, self.value(levels)?));
                }
            }
        }
        self.at += 1;
        Some(Tree::Object(members))
    }

    fn list(&mut self, levels: usize) -> Option<Tree> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.byte()? {
                b']' => break,
                b',' => self.at += 1,
                _ => items.push(self.value(levels)?),
            }
        }
        self.at += 1;
        Some(Tree::List(items))
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let mut escaped = false;
        self.at += 1;
        loop {
            match self.byte()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let literal = self.text.get(start..self.at)?;
        if escaped { serde_json::from_str(literal).ok() } else { literal.get(1..literal.len() - 1).map(str::to_owned) }
    }

    fn scalar(&mut self) -> Option<Tree> {
        let rest = self.text.get(self.at..)?;
        let length = rest.find([',', '}', ']', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
        let word: &'t str = rest.get(..length)?;
        self.at += length;
        match word {
            "null" => Some(Tree::Null),
            "true" => Some(Tree::Bool(true)),
            "false" => Some(Tree::Bool(false)),
            digits => Some(Tree::Number(digits.to_owned())),
        }
    }
}
