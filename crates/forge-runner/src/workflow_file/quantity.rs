use std::time::Duration;

use toml::de::DeValue;

use super::diagnostic::Diagnostic;
use super::table::{Table, integer_of, number_of};

/// The shortest and the longest time limit of a tool.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The smallest and the largest output limit of a tool, in bytes.
const SMALLEST: usize = 256;
const LARGEST: usize = 16 * 1024 * 1024;

/// Reads a time: a number of seconds, or text such as `"90s"`, `"1.5m"`, `"500ms"`, `"2h"`.
pub(super) fn duration(table: &Table<'_>, key: &str) -> Option<Duration> {
    let value = table.value(key)?;
    let seconds = match value.get_ref() {
        DeValue::String(text) => with_unit(text, &[("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]),
        other => number_of(other),
    };
    let expected = "a number of seconds, or text such as `\"90s\"`, `\"5m\"` or `\"500ms\"`";
    let Some(seconds) = seconds else { return table.wrong_type(key, value, expected) };
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| (SHORTEST..=LONGEST).contains(limit));
    if limit.is_none() {
        let diagnostic = Diagnostic::at(value.span(), format!("`{key}` is out of range"));
        table.problems().report(diagnostic.label("allowed: 100 milliseconds to 24 hours"));
    }
    limit
}

/// Reads an amount of memory: a number of bytes, or text such as `"64KiB"`.
pub(super) fn bytes(table: &Table<'_>, key: &str) -> Option<usize> {
    let value = table.value(key)?;
    let amount = match value.get_ref() {
        DeValue::String(text) => with_unit(text, &[("KiB", 1024.0), ("MiB", 1024.0 * 1024.0), ("B", 1.0)])
            .filter(|amount| amount.fract() == 0.0)
            .and_then(|amount| format!("{amount:.0}").parse().ok()),
        other => integer_of(other),
    };
    let expected = "a number of bytes, or text such as `\"64KiB\"` or `\"1MiB\"`";
    let Some(amount) = amount else { return table.wrong_type(key, value, expected) };
    let limit = usize::try_from(amount).ok().filter(|limit| (SMALLEST..=LARGEST).contains(limit));
    if limit.is_none() {
        let diagnostic = Diagnostic::at(value.span(), format!("`{key}` is out of range"));
        table.problems().report(diagnostic.label("allowed: 256 bytes to 16 MiB"));
    }
    limit
}

/// A number with one of the units; the units are tried in order.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) = units.iter().find_map(|(unit, factor)| Some((text.trim().strip_suffix(unit)?, *factor)))?;
    let number: f64 = number.trim().parse().ok()?;
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0)];
        let cases = [("90s", Some(90.0)), ("500 ms", Some(0.5)), ("1.5m", Some(90.0)), ("90", None), ("s", None)];
        for (text, expected) in cases {
            assert_eq!(with_unit(text, &units), expected, "{text}");
        }
    }
}
