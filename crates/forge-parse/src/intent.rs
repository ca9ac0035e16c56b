//! What the words before a block say about it: a call, or an example of one.

/// Words and parts of sentences that introduce something to look at, not something to do.
const EXAMPLE: &[&str] = &[
    "example",
    "for instance",
    "e.g.",
    "sample",
    "such as",
    "like this",
    "looks like",
    "look like",
    "as follows",
    "would be",
    "would look",
    "format",
    "schema",
    "definition",
    "syntax",
    "template",
    "documentation",
    "you can",
    "you could",
    "you would",
    "paste",
    "transcript",
    "the log",
    "config",
    "settings",
    "not ",
    "n't",
    "n\u{2019}t",
    "never",
    "illustrat",
    "demonstrat",
    "consists of",
    "is a ",
    "are a ",
    "how to",
    "if you",
    "wrote",
    "says",
    "said",
    "reads",
    "quote",
    "contained",
    "contains",
    "returned",
    "instead of",
    "suppose",
    "imagine",
    "structure",
    "shape",
    "below is what",
    "this form",
    "following form",
    "a call is",
    "calls are",
    "is written",
];

/// Whether the paragraph that leads to a block says that it is an example or a quotation.
pub(crate) fn introduces_example(before: &str) -> bool {
    let paragraph = before.trim_end();
    let paragraph = paragraph.rsplit_once("\n\n").map_or(paragraph, |(_, last)| last);
    let lower = paragraph.to_lowercase();
    EXAMPLE.iter().any(|word| lower.contains(word))
}
