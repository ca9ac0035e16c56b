//! Delimiters of a notation that stayed at both ends of a text it delimits.

/// What some templates write around a string instead of quotes, the longer form first.
const DELIMITERS: [&str; 3] = ["<|\"|>", "<|\"|", "<escape>"];

/// Whether JSON text may have such a delimiter in one of its strings. Cheap: most text has none.
pub(crate) fn may_leak(json: &str) -> bool {
    json.contains("<|\\\"|") || json.contains("<escape>")
}

/// The text between delimiters that stand at both its ends.
pub(crate) fn within_delimiters(text: &str) -> Option<&str> {
    let inner = DELIMITERS.iter().find_map(|delimiter| text.strip_prefix(delimiter))?;
    DELIMITERS.iter().find_map(|delimiter| inner.strip_suffix(delimiter))
}
