//! How names look in a message.

/// Names as prose: `` `a`, `b` ``.
pub(super) fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
