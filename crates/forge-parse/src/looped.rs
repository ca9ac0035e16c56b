//! Generations that were caught in a loop: the text ends in one run of words over and over.

/// How often the run must stand in a row.
const TIMES: usize = 6;

/// The words that a text ends in over and over, and how often, at least.
pub(crate) fn repetition(text: &str) -> Option<(String, usize)> {
    let text = text.trim_end();
    let reversed: Vec<u8> = text.bytes().rev().collect();
    let matches = matches_with_start(&reversed);
    // The shortest period first: longer ones are multiples of it.
    let (period, matched) = matches
        .iter()
        .enumerate()
        .skip(1)
        .map(|(at, length)| (at, *length))
        .find(|(at, length)| *length >= at * (TIMES - 1))?;
    let unit = text.get(text.len().checked_sub(period)?..)?;
    let words = unit.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    (words >= 2).then(|| (unit.trim().to_owned(), 1 + matched / period))
}

/// For every place how many bytes from there on are as at the start (the Z function).
fn matches_with_start(bytes: &[u8]) -> Vec<usize> {
    let mut lengths = vec![0; bytes.len()];
    let (mut left, mut right) = (0, 0);
    for at in 1..bytes.len() {
        let mut length = if at < right { lengths.get(at - left).copied().unwrap_or(0).min(right - at) } else { 0 };
        while bytes.get(length).is_some() && bytes.get(length) == bytes.get(at + length) {
            length += 1;
        }
        if at + length > right {
            (left, right) = (at, at + length);
        }
        if let Some(slot) = lengths.get_mut(at) {
            *slot = length;
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_words_that_repeats_to_the_end_is_a_loop() {
        let text = format!("Well. {}", "One moment please. ".repeat(9));
        let (unit, count) = repetition(&text).unwrap();
        assert_eq!((unit.len(), count >= 8), (18, true));
    }

    #[test]
    fn rules_laughter_and_few_repeats_are_none() {
        for text in ["-".repeat(80), "ha ".repeat(30), "| --- ".repeat(20), "Come in. ".repeat(3), String::new()] {
            assert_eq!(repetition(&text), None, "{text}");
        }
    }
}
