//! What the words before a block say about it: a call, or an example of one.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Words that anywhere in the paragraph introduce something to look at.
const EXAMPLE: &[&str] =
    &["example", "examples", "for instance", "e.g", "sample", "illustration", "hypothetical", "hypothetically"];

/// Words that do so in the sentence that leads to the block, whatever else it says.
const CONDITION: &[&str] = &[
    "would",
    "could",
    "not",
    "never",
    "don't",
    "didn't",
    "doesn't",
    "won't",
    "wouldn't",
    "cannot",
    "can't",
    "if you",
    "you can",
    "instead of",
];

/// Words that do so in that sentence unless it says what the model is about to do.
const DESCRIPTION: &[&str] = &[
    "such as",
    "like this",
    "like so",
    "look like",
    "looks like",
    "as follows",
    "can use",
    "format",
    "formatted",
    "schema",
    "definition",
    "syntax",
    "template",
    "documentation",
    "docs",
    "paste",
    "transcript",
    "log",
    "config",
    "configuration",
    "settings",
    "consists of",
    "how to",
    "wrote",
    "writes",
    "says",
    "said",
    "reads",
    "quoted",
    "quote",
    "contains",
    "contained",
    "returned",
    "returns",
    "structure",
    "structured",
    "shape",
    "form",
    "below is what",
    "is written",
    "are written",
    "means",
    "describes",
    "described",
    "defined",
    "defines",
    "accepts",
    "expects",
    "shows",
    "page",
    "file",
    "email",
    "message",
    "document",
    "snippet",
    "demo",
    "usage",
    "tutorial",
    "pattern",
    "body",
    "was",
    "were",
    "is a",
    "is an",
    "are",
];

/// Words that say what the model is about to do.
const INTENTION: &[&str] = &[
    "i'll",
    "i will",
    "let me",
    "let's",
    "i need",
    "we need",
    "i am going",
    "i'm going",
    "i want",
    "i should",
    "i must",
    "i have to",
    "calling",
    "checking",
];

/// Whether the paragraph that leads to a block says that it is an example or a quotation.
pub(crate) fn introduces_example(before: &str) -> bool {
    let paragraph = before.trim_end();
    let paragraph = paragraph.rsplit_once("\n\n").map_or(paragraph, |(_, last)| last);
    if said(&plain_words(paragraph)).example {
        return true;
    }
    let sentence = said(&plain_words(last_sentence(paragraph)));
    sentence.condition || (sentence.description && !sentence.intention)
}

/// What kinds of phrases a text has.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    example: bool,
    condition: bool,
    description: bool,
    intention: bool,
}

type Note = fn(&mut Said);

/// The phrases by their first word, with what they say.
fn phrases() -> &'static HashMap<&'static str, Vec<(&'static str, Note)>> {
    static PHRASES: LazyLock<HashMap<&'static str, Vec<(&'static str, Note)>>> = LazyLock::new(|| {
        let lists: [(&[&str], Note); 4] = [
            (EXAMPLE, |said| said.example = true),
            (CONDITION, |said| said.condition = true),
            (DESCRIPTION, |said| said.description = true),
            (INTENTION, |said| said.intention = true),
        ];
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for (list, note) in lists {
            for phrase in list {
                let first = phrase.split(' ').next().unwrap_or(phrase);
                index.entry(first).or_default().push((*phrase, note));
            }
        }
        index
    });
    &PHRASES
}

/// Finds all phrases in one pass over the words, which stand between single blanks.
fn said(words: &str) -> Said {
    let index = phrases();
    let mut found = Said::default();
    let mut rest = words.trim_start_matches(' ');
    while let Some((word, behind)) = rest.split_once(' ') {
        for (phrase, note) in index.get(word).into_iter().flatten() {
            if rest.strip_prefix(phrase).is_some_and(|behind| behind.starts_with(' ')) {
                note(&mut found);
            }
        }
        rest = behind;
    }
    found
}

fn last_sentence(text: &str) -> &str {
    let inner = text.trim_end_matches(['.', '!', '?', ':', ' ', '\n']);
    let start = [". ", "! ", "? ", "\n"].iter().filter_map(|end| Some(inner.rfind(end)? + end.len())).max();
    inner.get(start.unwrap_or(0)..).unwrap_or(inner)
}

/// The words in lower case with single blanks between them and around them.
fn plain_words(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '\u{2019}' | '.');
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches('.'));
    let mut plain = String::from(" ");
    for word in words.filter(|word| !word.is_empty()) {
        for c in word.chars() {
            match c {
                '\u{2019}' => plain.push('\''),
                c if c.is_ascii() => plain.push(c.to_ascii_lowercase()),
                c => plain.extend(c.to_lowercase()),
            }
        }
        plain.push(' ');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_lead_to_a_call() {
        for before in [
            "I'll look that up.",
            "Sure! Here is the function call to get the weather:",
            "Before I can quote the fare on 3 May I need the calendar and the tariff.",
            "I'll read the file first:",
            "The page says nothing about it. Let me search:",
            "To get the weather in Paris, I will call the function:",
        ] {
            assert!(!introduces_example(before), "{before}");
        }
    }

    #[test]
    fn words_that_lead_to_an_example() {
        for before in [
            "Here is an example of a call:",
            "For example, a call of it. It goes so:",
            "A tool call looks like this:",
            "The host expects this:",
            "You can paste it into the settings:",
            "I would not run this:",
            "Your log reads:",
        ] {
            assert!(introduces_example(before), "{before}");
        }
    }
}
