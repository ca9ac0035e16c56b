//! Which of the known names was probably meant.

use crate::ToolName;

/// How alike a name must be to be worth naming; 1 is equal.
const NEAR: f64 = 0.75;

/// Longer names are debris; comparing takes time by length squared.
const MAX_COMPARED: usize = 64;

/// The candidate most like the name, if any is alike enough.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c ToolName>) -> Option<&'c ToolName> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let name = name.to_lowercase();
    candidates
        .filter(|candidate| candidate.len() <= MAX_COMPARED)
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(score, _)| *score >= NEAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
