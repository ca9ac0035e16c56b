/// How alike a key must be to be named as the one that was probably meant; 1 is equal.
const NEAR: f64 = 0.72;

/// Longer names are not compared: the comparison takes time by length squared, and no key is that long.
const MAX_COMPARED: usize = 64;

/// A key without what writers disagree about: case, `_`, `-` and blanks.
pub(crate) fn folded(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The candidate most like a name, if any is alike enough to be worth naming as what was probably meant. Case, `_` and `-`
/// make no difference; names over 64 bytes are like none.
pub fn nearest<'c>(key: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let folded_key = folded(key);
    candidates
        .into_iter()
        .map(|candidate| (similarity(&folded_key, &folded(candidate)), candidate))
        .filter(|(score, _)| *score >= NEAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// How alike two folded names are, from 0 to 1. A name that begins or ends with the other is near.
pub(crate) fn similarity(a: &str, b: &str) -> f64 {
    if a.is_empty() || b.is_empty() || a.len() > MAX_COMPARED || b.len() > MAX_COMPARED {
        return 0.0;
    }
    if a == b {
        return 1.0;
    }
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let contained = if short.len() >= 3 && (long.ends_with(short) || long.starts_with(short)) { 0.9 } else { 0.0 };
    strsim::jaro_winkler(a, b).min(0.95).max(contained)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_differs_by_a_slip() {
        let candidates = ["required_steps", "step_order", "name", "env"];
        let cases = [
            ("requierd_steps", Some("required_steps")),
            ("required_step", Some("required_steps")),
            ("requiredSteps", Some("required_steps")),
            ("Name", Some("name")),
            ("envs", Some("env")),
            ("required", Some("required_steps")),
            ("command", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, candidates), expected, "{name}");
        }
    }
}
