//! Makes texts shorter in their place, and says what is missing.

use std::fmt::Write;

use serde_json::Value;

use crate::Arguments;

/// A text is left whole where fewer bytes than these would go: the mark itself has at most 41.
const WORTH_CUTTING: usize = 64;

/// Bytes of arguments that are left whole.
const SHORT_ARGUMENTS: usize = 200;

/// Characters that stay of a long string in arguments.
const KEPT_OF_ARGUMENT: usize = 80;

/// Cuts a text to a number of characters and says how many are missing. Cutting again changes nothing.
pub(super) fn cut(text: &mut String, limit: usize) {
    // A character has at least one byte: most texts are seen to be short without counting.
    if text.len() <= limit.saturating_add(WORTH_CUTTING) {
        return;
    }
    let Some((offset, _)) = text.char_indices().nth(limit) else { return };
    let Some(rest) = text.get(offset..).filter(|rest| rest.len() > WORTH_CUTTING) else { return };
    let missing = rest.chars().count();
    text.truncate(offset);
    let _always_fits = write!(text, "… [{missing} characters cut]");
}

/// Puts a stub in the place of a text, unless that would make it longer.
pub(super) fn replace(text: &mut String, stub: &str) {
    if text.len() > stub.len() {
        text.clear();
        text.push_str(stub);
    }
}

/// Cuts long strings in arguments, so that the form of the call stays: an example without arguments would be imitated.
pub(super) fn cut_arguments(arguments: &mut Arguments) {
    if arguments.as_str().len() <= SHORT_ARGUMENTS {
        return;
    }
    let mut object = arguments.to_object();
    object.values_mut().for_each(cut_strings);
    let shorter = Arguments::from_object(&object);
    if shorter.as_str().len() < arguments.as_str().len() {
        *arguments = shorter;
    }
}

/// The depth is that of JSON that was parsed, which is limited.
fn cut_strings(value: &mut Value) {
    match value {
        Value::String(text) => cut(text, KEPT_OF_ARGUMENT),
        Value::Array(items) => items.iter_mut().for_each(cut_strings),
        Value::Object(fields) => fields.values_mut().for_each(cut_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
