//! Generations that run away: noticed while they stream, so that they end before they have filled the context.

use crate::excerpt::brief;

/// Repeats in a row of one cycle that are a loop.
const TIMES: usize = 12;

/// The shortest stretch, in bytes, that has to consist of nothing but repeats.
const STRETCH: usize = 600;

/// The longest cycle that is looked for, in bytes: a paragraph.
const LONGEST: usize = 400;

/// Bytes between two looks, so that watching costs little.
const STEP: usize = 64;

/// Watches one generation for text that does nothing but repeat itself.
///
/// What repeats has to be the same to the byte, to hold at least two words, to come at least twelve times in a row, and to
/// fill at least 600 bytes: rows of a table, elements of an array or lines of code differ somewhere, and rules and padding
/// have no words. What holds brackets, bars, quotation marks or other signs of data, markup and code is left to the token
/// limit, even where it repeats: an array may hold equal elements.
#[derive(Clone, Debug, Default)]
pub struct Runaway {
    /// The latest text.
    tail: Vec<u8>,
    unseen: usize,
}

/// What a generation did nothing but repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// What is repeated, shortened.
    pub unit: String,
    /// How often in a row it was seen, at least.
    pub count: usize,
}

impl Runaway {
    /// A watch over one stream of text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece. The loop that the text is in, if it is in one.
    pub fn push(&mut self, piece: &str) -> Option<Loop> {
        self.tail.extend_from_slice(piece.as_bytes());
        self.unseen = self.unseen.saturating_add(piece.len());
        let keep = LONGEST * (TIMES + 1);
        if self.tail.len() > 2 * keep {
            self.tail.drain(..self.tail.len() - keep);
        }
        if self.unseen < STEP {
            return None;
        }
        self.unseen = 0;
        self.found()
    }

    fn found(&self) -> Option<Loop> {
        (1..=LONGEST).find_map(|period| {
            let wanted = (period * TIMES).max(STRETCH);
            let stretch = self.tail.get(self.tail.len().checked_sub(wanted)?..)?;
            let repeats = stretch.iter().zip(stretch.iter().skip(period)).all(|(a, b)| a == b);
            if !repeats {
                return None;
            }
            let unit = String::from_utf8_lossy(stretch.get(..period)?).into_owned();
            is_prose(&unit).then(|| Loop { unit: brief(unit.trim(), LONGEST), count: wanted / period })
        })
    }
}

/// What stands in data, tables, markup and code rather than in sentences.
const STRUCTURE: [char; 12] = ['{', '}', '[', ']', '<', '>', '|', '=', ';', '"', '\\', '`'];

/// Whether it has at least two words that are not the same, and nothing of data, markup or code.
fn is_prose(unit: &str) -> bool {
    if unit.contains(STRUCTURE) {
        return false;
    }
    let mut words = unit.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
    let Some(first) = words.next() else { return false };
    words.any(|word| word != first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes a text in pieces of a few bytes, as a model streams it, and gives the place where a loop was seen.
    fn seen_at(text: &str) -> Option<usize> {
        let mut runaway = Runaway::new();
        let mut length = 0;
        for piece in text.split_inclusive(' ') {
            length += piece.len();
            if runaway.push(piece).is_some() {
                return Some(length);
            }
        }
        None
    }

    #[test]
    fn a_sentence_over_and_over_is_cut_early() {
        let text = format!("Let me see. {}", "I will now look at the log. ".repeat(200));
        assert!(seen_at(&text).is_some_and(|place| place < 900), "{:?}", seen_at(&text));
    }

    #[test]
    fn a_paragraph_over_and_over_is_cut() {
        let paragraph =
            "First, list the files.\nThen read each of them, and count the lines.\nThen say what you found.\n\n";
        assert!(seen_at(&paragraph.repeat(40)).is_some());
    }

    #[test]
    fn the_loop_is_told() {
        let mut runaway = Runaway::new();
        let looped = runaway.push(&"go on, ".repeat(200)).unwrap();
        assert_eq!((looped.unit.len() <= 7, looped.count >= TIMES), (true, true), "{looped:?}");
    }

    #[test]
    fn what_only_looks_alike_is_never_cut() {
        let row = |n: usize| format!("| 2026-11-{:02} | checkout | ERROR | payment refused for order {n} |\n", n % 28);
        let table: String = (0..400).map(row).collect();
        let numbers = format!("{{\"values\": [{}]}}", vec!["0, 0, 1,"; 500].join(" "));
        let objects: String =
            (0..300).map(|n| format!("{{\"id\": {n}, \"level\": \"ERROR\", \"file\": \"a.log\"}},\n")).collect();
        let code: String = (0..300).map(|n| format!("    assert_eq!(sum({n}, 1), {});\n", n + 1)).collect();
        let rule = "-".repeat(4000);
        let empty_cells = "| --- ".repeat(600);
        let padding = "\n    \n".repeat(600);
        let laughter = "ha ".repeat(1500);
        let few = "All tests passed. ".repeat(11);
        let equal_rows = "| checkout | ERROR |\n".repeat(300);
        let equal_objects = "{\"x\": 0, \"y\": 0},\n".repeat(300);
        for text in
            [equal_rows, equal_objects, table, numbers, objects, code, rule, empty_cells, padding, laughter, few]
        {
            assert_eq!(seen_at(&text), None, "{}", brief(&text, 80));
        }
    }
}
