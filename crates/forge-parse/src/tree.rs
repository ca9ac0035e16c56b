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
    /// Parses text that is valid JSON; none if it isn't, or nests too deep for `serde_json`.
    pub(crate) fn parse(json: &str) -> Option<Self> {
        serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
        let mut parser = Parser { text: json, at: 0 };
        parser.value(crate::repair::MAX_DEPTH + 1)
    }

    /// Whether an object in it has a key twice.
    pub(crate) fn has_repeated_key(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => false,
            Self::List(items) => items.iter().any(Self::has_repeated_key),
            Self::Object(members) => {
                let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
                keys.sort_unstable();
                keys.windows(2).any(|pair| pair.first() == pair.last())
                    || members.iter().any(|(_, value)| value.has_repeated_key())
            }
        }
    }
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
