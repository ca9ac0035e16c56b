use std::ops::Range;

use toml::de::Error;

use super::diagnostic::Diagnostic;

/// The most syntax errors that are shown: one of them is usually the cause of the others.
const MAX_SHOWN: usize = 3;

/// What is wrong with the TOML of a file: the first error of each of the first lines that have one.
pub(super) fn problems(errors: &[Error], source: &str) -> Vec<Diagnostic> {
    let mut errors: Vec<(usize, &Error)> = errors.iter().map(|error| (line_of(error, source), error)).collect();
    errors.sort_by_key(|(line, error)| (*line, error.span().map_or(0, |span| span.start)));
    errors.dedup_by_key(|(line, _)| *line);
    errors.into_iter().take(MAX_SHOWN).map(|(_, error)| problem(error, source)).collect()
}

fn line_of(error: &Error, source: &str) -> usize {
    let before = error.span().and_then(|span| source.get(..span.start)).unwrap_or_default();
    before.matches('\n').count()
}

fn problem(error: &Error, source: &str) -> Diagnostic {
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let Some(span) = error.span() else { return Diagnostic::new(format!("this is no valid TOML: {message}")) };
    let diagnostic = Diagnostic::at(span.clone(), "this is no valid TOML");
    match bare_word(&span, source) {
        Some(word) => diagnostic.label("text without quotes").help(format!("write it in quotes: `\"{word}\"`")),
        None => diagnostic.label(message),
    }
}

/// A word in the place of a value.
fn bare_word<'s>(span: &Range<usize>, source: &'s str) -> Option<&'s str> {
    let word = source.get(span.clone())?;
    let is_value = source.get(..span.start)?.trim_end_matches(' ').ends_with('=');
    let is_word =
        word.starts_with(char::is_alphabetic) && word.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
    (is_value && is_word).then_some(word)
}
