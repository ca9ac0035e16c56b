//! How far the text of a JSON object has come, tracked piece by piece.

/// Tells whether the text pushed so far is a whole JSON object, without parsing anything twice.
///
/// Only braces, brackets and strings are looked at: what is inside them is the parser's business.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjectProgress {
    depth: usize,
    in_string: bool,
    escaped: bool,
    whole: bool,
    /// Something was closed that wasn't open.
    overshot: bool,
}

impl ObjectProgress {
    /// Takes the next piece of the text.
    pub(super) fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            self.take(byte);
        }
    }

    /// Whether everything that was opened is closed, and something was, and nothing else.
    pub(super) fn is_whole(self) -> bool {
        self.whole && !self.overshot
    }

    /// How far it would have come with another piece.
    pub(super) fn with(mut self, piece: &str) -> Self {
        self.push(piece);
        self
    }

    fn take(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.whole = false;
            }
            b'}' | b']' => {
                self.overshot |= self.depth == 0;
                self.depth = self.depth.saturating_sub(1);
                self.whole = self.depth == 0;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_whole_when_its_last_brace_is_there() {
        for (text, whole) in [
            ("", false),
            ("  ", false),
            ("{", false),
            ("{}", true),
            (r#"{"a":{"b":[1]}"#, false),
            (r#"{"a":{"b":[1]}}"#, true),
            (r#"{"a":"}"#, false),
            (r#"{"a":"\"}"#, false),
            (r#"{"a":"\\"}"#, true),
            ("{}\n", true),
            ("{}}", false),
        ] {
            let mut progress = ObjectProgress::default();
            text.chars().for_each(|char| progress.push(char.encode_utf8(&mut [0; 4])));
            assert_eq!(progress.is_whole(), whole, "{text}");
        }
    }
}
