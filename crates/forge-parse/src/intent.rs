//! What the words before a block say about it: a call, or an example of one.

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
    let words = plain_words(paragraph);
    let sentence = plain_words(last_sentence(paragraph));
    let any = |phrases: &[&str], text: &str| phrases.iter().any(|phrase| contains(text, phrase));
    any(EXAMPLE, &words) || any(CONDITION, &sentence) || (any(DESCRIPTION, &sentence) && !any(INTENTION, &sentence))
}

fn last_sentence(text: &str) -> &str {
    let inner = text.trim_end_matches(['.', '!', '?', ':', ' ', '\n']);
    let start = [". ", "! ", "? ", "\n"].iter().filter_map(|end| Some(inner.rfind(end)? + end.len())).max();
    inner.get(start.unwrap_or(0)..).unwrap_or(inner)
}

/// The words in lower case with single blanks between them and around them.
fn plain_words(text: &str) -> String {
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    let words =
        lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '.'))).map(|word| word.trim_matches('.'));
    let mut plain = String::from(" ");
    for word in words.filter(|word| !word.is_empty()) {
        plain.push_str(word);
        plain.push(' ');
    }
    plain
}

fn contains(words: &str, phrase: &str) -> bool {
    words.match_indices(phrase).any(|(at, _)| {
        let before = words.get(..at).is_some_and(|before| before.ends_with(' '));
        before && words.get(at + phrase.len()..).is_some_and(|behind| behind.starts_with(' '))
    })
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
