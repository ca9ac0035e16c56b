use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::DeValue;

use super::table::{integer_of, number_of};

/// A JSON value and, by JSON pointer, where each part of it stands in the file.
#[derive(Debug)]
pub(super) struct Json {
    pub(super) value: Value,
    places: BTreeMap<String, Range<usize>>,
}

impl Json {
    /// A value that stands at one place as a whole.
    pub(super) fn at(value: Value, span: Range<usize>) -> Self {
        Self { value, places: BTreeMap::from([(String::new(), span)]) }
    }

    /// Reads a TOML value. Dates become strings, and so do the numbers that JSON doesn't have.
    pub(super) fn from_toml(value: &Spanned<DeValue<'_>>) -> Self {
        let mut places = BTreeMap::new();
        let value = convert(value, value.span(), &mut String::new(), &mut places);
        Self { value, places }
    }

    /// The place of a part, or else of the nearest part around it.
    pub(super) fn place(&self, pointer: &str) -> Option<Range<usize>> {
        let mut pointer = pointer;
        loop {
            if let Some(span) = self.places.get(pointer) {
                return Some(span.clone());
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// `place` is what stands for the value: for a member of a table its key, because a table of its own has no one place.
fn convert(
    value: &Spanned<DeValue<'_>>,
    place: Range<usize>,
    pointer: &mut String,
    places: &mut BTreeMap<String, Range<usize>>,
) -> Value {
    places.insert(pointer.clone(), place);
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(digits) => match integer_of(value.get_ref()).and_then(Number::from_i128) {
            Some(number) => Value::Number(number),
            None => Value::String(digits.to_string()),
        },
        DeValue::Float(digits) => match number_of(value.get_ref()).and_then(Number::from_f64) {
            Some(number) => Value::Number(number),
            None => Value::String(digits.to_string()),
        },
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(items) => {
            let convert_item = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
                inside(pointer, &index.to_string(), |pointer| convert(item, item.span(), pointer, places))
            };
            Value::Array(items.iter().enumerate().map(convert_item).collect())
        }
        DeValue::Table(table) => {
            let mut object = Map::new();
            for (key, member) in table {
                let place = if member.get_ref().is_table() { key.span() } else { member.span() };
                let step = key.get_ref().replace('~', "~0").replace('/', "~1");
                let member = inside(pointer, &step, |pointer| convert(member, place, pointer, places));
                object.insert(key.get_ref().clone().into_owned(), member);
            }
            Value::Object(object)
        }
    }
}

/// Goes one step down and back.
fn inside(pointer: &mut String, step: &str, visit: impl FnOnce(&mut String) -> Value) -> Value {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(step);
    let value = visit(pointer);
    pointer.truncate(length);
    value
}
