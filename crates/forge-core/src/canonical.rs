//! One text for all JSON values of the same meaning.

use std::fmt::Write;

use serde_json::Value;

/// Floating-point numbers are exact integers below this.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// The value as text, without white space, with sorted keys, and with `2.0` as `2`: equal texts are equal values.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            write_all(text, ['{', '}'], entries, |text, (key, value)| {
                write_scalar(text, &Value::from(key.as_str()));
                text.push(':');
                write_value(text, value);
            });
        }
        Value::Array(elements) => write_all(text, ['[', ']'], elements, write_value),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 && float.abs() < EXACT_INTEGERS => {
                write_scalar(text, &Value::from(float as i64));
            }
            Some(_) | None => write_scalar(text, value),
        },
        Value::Null | Value::Bool(_) | Value::String(_) => write_scalar(text, value),
    }
}

fn write_scalar(text: &mut String, value: &Value) {
    // Writing to a string doesn't fail.
    let _written = write!(text, "{value}");
}

fn write_all<T>(
    text: &mut String,
    [open, close]: [char; 2],
    elements: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    text.push(open);
    for (position, element) in elements.into_iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        write(text, element);
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn key_order_and_integral_floats_make_no_difference() {
        assert_eq!(
            canonical(&json!({"b": [2.0, 2.5], "a": {"d": null, "c": "x\""}})),
            r#"{"a":{"c":"x\"","d":null},"b":[2,2.5]}"#
        );
    }

    #[test]
    fn a_number_and_its_text_differ() {
        assert_ne!(canonical(&json!("2")), canonical(&json!(2)));
    }

    #[test]
    fn large_numbers_keep_every_digit() {
        assert_eq!(canonical(&json!(u64::MAX)), "18446744073709551615");
    }
}
