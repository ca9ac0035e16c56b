//! The `format` keyword, as far as it is asserted.
//!
//! JSON Schema leaves it open whether a format is checked. Here those are that tools refuse for sure, and no more
//! strictly than tools do: a time without an offset is a time. All others are descriptions.

/// Formats that only describe a value; the validator would check them otherwise.
pub(super) const DESCRIPTIONS: [&str; 11] = [
    "duration",
    "hostname",
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "uri-reference",
    "uri-template",
];

/// An example of a format, for those that need one.
pub(super) fn example(format: &str) -> Option<&'static str> {
    match format {
        "date" => Some("2030-01-31"),
        "date-time" => Some("2030-01-31T09:30:00Z"),
        "email" => Some("name@example.org"),
        "time" => Some("09:30:00"),
        "uri" => Some("https://example.org/page"),
        "uuid" => Some("123e4567-e89b-12d3-a456-426614174000"),
        "ipv4" => Some("192.0.2.1"),
        _ => None,
    }
}

/// A calendar date: `2030-01-31`.
pub(super) fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (digits(parts.next(), 4), digits(parts.next(), 2), digits(parts.next(), 2), parts.next())
    else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A time of day, with or without seconds, fraction and offset.
pub(super) fn is_time(text: &str) -> bool {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(place) => text.split_at_checked(place).unwrap_or((text, "")),
        None => (text, ""),
    };
    is_clock(clock) && is_offset(offset)
}

/// A date and a time, joined by `T` or a blank.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    is_date(date) && rest.strip_prefix(['T', 't', ' ']).is_some_and(is_time)
}

/// An absolute address: a scheme and something after it, without blanks.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(part)
        && !rest.is_empty()
        && !rest.contains(char::is_whitespace)
}

fn is_clock(text: &str) -> bool {
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let hour = digits(parts.next(), 2).is_some_and(|hour| hour < 24);
    let minute = digits(parts.next(), 2).is_some_and(|minute| minute < 60);
    // 60 is a leap second.
    let second = parts.next().map(|second| digits(Some(second), 2).is_some_and(|second| second <= 60));
    hour && minute
        && second.unwrap_or(fraction.is_none())
        && parts.next().is_none()
        && fraction.is_none_or(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_offset(text: &str) -> bool {
    match text.strip_prefix(['+', '-']) {
        Some(offset) => {
            let digits = offset.replacen(':', "", 1);
            digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
        None => matches!(text, "" | "Z" | "z"),
    }
}

fn digits(part: Option<&str>, length: usize) -> Option<u32> {
    let part = part.filter(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit()))?;
    part.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{is_date, is_date_time, is_time, is_uri};

    #[test]
    fn formats() {
        type Check = fn(&str) -> bool;
        let table: [(Check, &[&str], &[&str]); 4] = [
            (
                is_date,
                &["2030-01-31", "2028-02-29"],
                &["2030-02-29", "2030-13-01", "2030-1-1", "tomorrow", "2030-01-31T"],
            ),
            (
                is_time,
                &["09:30", "09:30:00", "23:59:60Z", "09:30:00.25+02:00", "09:30-0500"],
                &["9:30", "25:00", "noon", "09:30:", "09:30.5"],
            ),
            (
                is_date_time,
                &["2030-01-31T09:30:00Z", "2030-01-31 09:30", "2030-01-31T09:30:00.1"],
                &["2030-01-31", "2030-01-31T", "now", "2030-02-31T09:30:00Z"],
            ),
            (
                is_uri,
                &["https://example.org/ü?a=b", "mailto:a@example.org"],
                &["example.org", "/path", "https://a b", "1a:b", "a:"],
            ),
        ];
        for (check, right, wrong) in table {
            right.iter().for_each(|text| assert!(check(text), "{text}"));
            wrong.iter().for_each(|text| assert!(!check(text), "{text}"));
        }
    }
}
