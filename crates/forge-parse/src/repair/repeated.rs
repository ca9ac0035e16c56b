//! Keys that an object has twice with different values. JSON allows them and parsers disagree about which one counts,
//! so a validator and a tool could see different arguments.

/// Up to this many keys of one object are compared pairwise, more are sorted.
const FEW: usize = 12;

/// A key and its value as they are written.
#[derive(Clone, Copy)]
struct Member<'t> {
    key: &'t str,
    /// Where the value begins; then the value.
    start: usize,
    value: &'t str,
}

/// The first key that an object in valid JSON text has twice with different values.
pub(crate) fn repeated_key(json: &str) -> Option<&str> {
    let mut scan = Scan { json, at: 0, members: Vec::new(), open: Vec::new() };
    while let Some(byte) = scan.byte() {
        match byte {
            b'{' => scan.open.push(Some(scan.members.len())),
            b'[' => scan.open.push(None),
            b'}' | b']' => {
                if let Some(key) = scan.close() {
                    return Some(key);
                }
            }
            b',' => scan.end_of_value(),
            b'"' => {
                scan.string();
                continue;
            }
            _ => {}
        }
        scan.at += 1;
    }
    None
}

struct Scan<'t> {
    json: &'t str,
    at: usize,
    /// The members of all open objects, innermost last.
    members: Vec<Member<'t>>,
    /// Of each open object where its members begin; none for a list.
    open: Vec<Option<usize>>,
}

impl<'t> Scan<'t> {
    fn byte(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    /// Passes over a string, and takes it down if it is a key.
    fn string(&mut self) {
        let start = self.at + 1;
        self.at = start;
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let key = self.json.get(start..self.at).unwrap_or_default();
        self.at += 1;
        let after = self.json.get(self.at..).unwrap_or_default();
        let blank = after.len() - after.trim_start().len();
        if after.as_bytes().get(blank) == Some(&b':') {
            self.at += blank + 1;
            self.members.push(Member { key, start: self.at, value: "" });
        }
    }

    fn end_of_value(&mut self) {
        let inside_object = matches!(self.open.last(), Some(Some(first)) if *first < self.members.len());
        if let Some(member) = self.members.last_mut().filter(|_| inside_object) {
            member.value = self.json.get(member.start..self.at).unwrap_or_default().trim();
        }
    }

    fn close(&mut self) -> Option<&'t str> {
        self.end_of_value();
        let first = self.open.pop()??;
        let repeated = self.members.get_mut(first..).and_then(first_repeated);
        self.members.truncate(first);
        repeated
    }
}

fn first_repeated<'t>(members: &mut [Member<'t>]) -> Option<&'t str> {
    let differ = |a: &Member<'_>, b: &Member<'_>| a.key == b.key && a.value != b.value;
    if members.len() <= FEW {
        let mut rest = &*members;
        while let Some((member, others)) = rest.split_first() {
            if others.iter().any(|other| differ(member, other)) {
                return Some(member.key);
            }
            rest = others;
        }
        return None;
    }
    members.sort_unstable_by_key(|member| member.key);
    members.windows(2).find_map(|pair| match pair {
        [a, b] if differ(a, b) => Some(a.key),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::repeated_key;

    #[test]
    fn keys_with_two_values() {
        for (json, expected) in [
            (r#"{"a": 1, "b": 2}"#, None),
            (r#"{"a": 1, "a": 1}"#, None),
            (r#"{"a": 1, "a": 2}"#, Some("a")),
            (r#"{"a": {"b": [1, 2]}, "b": 1, "c": {"a": 3}}"#, None),
            (r#"{"x": [{"a": "1,2", "a" : "1"}]}"#, Some("a")),
            (r#"{"a": "x\"}", "a": "x\"]"}"#, Some("a")),
            (r#"{"a": ["b", "b"], "c": "a:"}"#, None),
            (r#"{"a": {"k": 1}, "a": {"k": 2}}"#, Some("a")),
            (r#"[[], {}, "a", {"": 1}]"#, None),
        ] {
            assert_eq!(repeated_key(json), expected, "{json}");
        }
        let many: String = (0..40).map(|index| format!("\"k{index}\": {index},")).collect();
        assert_eq!(repeated_key(&format!("{{{many} \"k7\": 8}}")), Some("k7"));
        assert_eq!(repeated_key(&format!("{{{many} \"k7\": 7}}")), None);
    }
}
