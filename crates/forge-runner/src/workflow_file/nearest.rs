/// The fewest characters of a beginning that stands for the whole name.
const MIN_BEGINNING: usize = 3;

/// The name that was probably meant: at most every third character differs, or one begins with the other.
pub(super) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= limit || is_beginning(name, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn is_beginning(name: &str, candidate: &str) -> bool {
    name.len().min(candidate.len()) >= MIN_BEGINNING && (candidate.starts_with(name) || name.starts_with(candidate))
}

/// Names as prose: `` `a`, `b` ``.
pub(super) fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
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
