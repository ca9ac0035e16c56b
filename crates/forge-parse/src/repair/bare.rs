//! Values without quotes: numbers, literals, and words that were meant as strings.

use super::closing::Role;
use super::ledger::Kind;
use super::reader::Reader;
use super::{Cut, RepairError};

/// Words that stand for the absence of a value in some language. They are no strings, and reading them as null would
/// be a guess.
const NO_VALUES: [&str; 4] = ["undefined", "nil", "...", "\u{2026}"];

/// Longer runs without quotes are not words.
const MAX_WORD: usize = 200;

impl Reader<'_, '_> {
    /// Reads a value that has no quotes and is no container.
    pub(super) fn read_bare(&mut self, role: Role) -> Result<(), RepairError> {
        let rest = self.cursor.rest();
        let ends = |c: char| {
            matches!(c, ',' | '\u{ff0c}' | '}' | ']' | '{' | '[' | '"' | '\'' | '`' | '\n' | '\\' | '\u{201c}')
        };
        let first_end = rest.find(|c: char| ends(c) || c.is_whitespace()).unwrap_or(rest.len());
        let first = rest.get(..first_end).unwrap_or_default();
        if let Some((json, repair)) = scalar(first) {
            if let Some(kind) = repair {
                self.note(kind);
            }
            // More digits may have been to come.
            if json.ends_with(|c: char| c.is_ascii_digit()) && first.len() == rest.len() {
                return Err(RepairError::Truncated { offset: self.cursor.at, cut: Cut::InValue });
            }
            self.out.push_str(&json);
            self.cursor.at += first.len();
            return Ok(());
        }
        let near = rest.get(..rest.floor_char_boundary(MAX_WORD + 1)).unwrap_or_default();
        let end = near.find(ends);
        let run = near.get(..end.unwrap_or(near.len())).unwrap_or_default();
        if end.is_none() && near.len() == rest.len() && !run.trim().is_empty() {
            return Err(RepairError::Truncated { offset: self.cursor.at, cut: Cut::InValue });
        }
        let word = without_comment(run).trim_end();
        if !is_word(word, rest.get(run.len()..).unwrap_or_default()) {
            return Err(self.unexpected(match role {
                Role::Key => "a key",
                Role::Value => "a value for the key",
                Role::Item => "an item of the list",
            }));
        }
        self.note(Kind::BareWord);
        self.out.push('"');
        self.out.push_str(word);
        self.out.push('"');
        self.cursor.at += word.len();
        Ok(())
    }
}

/// A number or literal as JSON writes it, and how it was written if not so.
fn scalar(word: &str) -> Option<(String, Option<Kind>)> {
    match word {
        "true" | "false" | "null" => Some((word.to_owned(), None)),
        "True" | "TRUE" => Some(("true".to_owned(), Some(Kind::PythonLiteral))),
        "False" | "FALSE" => Some(("false".to_owned(), Some(Kind::PythonLiteral))),
        "None" | "NULL" => Some(("null".to_owned(), Some(Kind::PythonLiteral))),
        _ => number(word).map(|(json, rewritten)| (json, rewritten.then_some(Kind::NumberForm))),
    }
}

/// A number as JSON writes it, with all its digits, and whether it had to be rewritten: `.5`, `5.` and `+5` are
/// numbers, `007`, `0x1f` and `1_000` are none that JSON has.
pub(crate) fn number(word: &str) -> Option<(String, bool)> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(place) => digits.split_at_checked(place)?,
        None => (digits, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(whole, part)| (whole, Some(part)));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.get(1..).unwrap_or_default();
    let power = power.strip_prefix(['+', '-']).unwrap_or(power);
    let valid = all_digits(whole)
        && fraction.is_none_or(all_digits)
        && (!whole.is_empty() || fraction.is_some_and(|part| !part.is_empty()))
        && !(whole.len() > 1 && whole.starts_with('0'))
        && (exponent.is_empty() || (!power.is_empty() && all_digits(power)))
        && word.parse::<f64>().is_ok_and(f64::is_finite);
    if !valid {
        return None;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let json = match fraction {
        Some("") => format!("{sign}{whole}.0{exponent}"),
        Some(part) => format!("{sign}{whole}.{part}{exponent}"),
        None => format!("{sign}{whole}{exponent}"),
    };
    let rewritten = json != word;
    Some((json, rewritten))
}

/// The text before a comment that follows it after a blank. An address such as `http://x` has no blank.
fn without_comment(run: &str) -> &str {
    let comment = [" //", " /*", " #", "\t//", "\t#"].iter().filter_map(|mark| run.find(mark)).min();
    comment.and_then(|place| run.get(..place)).unwrap_or(run)
}

/// Whether text without quotes can have been meant as a string, and only as that.
fn is_word(word: &str, after: &str) -> bool {
    let plain = |c: char| !c.is_control() && !matches!(c, '(' | ')' | '<' | '>' | '=' | ';');
    let begins = word
        .chars()
        .next()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '.' | '~' | '@' | '$'));
    begins
        && word.len() <= MAX_WORD
        && word.chars().all(plain)
        && !(word.contains(':') && word.contains(char::is_whitespace))
        && !word.parse::<f64>().is_ok_and(|number| number.is_infinite() && word.contains(|c: char| c.is_ascii_digit()))
        && !NO_VALUES.contains(&word)
        && !word.starts_with("...")
        && after.chars().next().is_some_and(|c| matches!(c, ',' | '\u{ff0c}' | '}' | ']' | '\n'))
}
