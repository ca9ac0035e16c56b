use std::fmt::Write as _;

/// The JSON pointer of a member of what `parent` points at.
pub(crate) fn child(parent: &str, key: &str) -> String {
    let mut pointer = String::with_capacity(parent.len() + key.len() + 1);
    pointer.push_str(parent);
    pointer.push('/');
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
    pointer
}

/// The JSON pointer of an element of the list that `parent` points at.
pub(crate) fn element(parent: &str, index: usize) -> String {
    let mut pointer = parent.to_owned();
    let _ = write!(pointer, "/{index}");
    pointer
}

/// The pointer without its last step.
pub(crate) fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}
