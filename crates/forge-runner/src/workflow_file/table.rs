use std::cell::RefCell;
use std::ops::Range;

use forge_parse::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::Diagnostic;
use super::keys::{Keys, home_of};
use super::prose::list;

/// A value and where it stands in the file.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

impl<T> At<T> {
    pub(super) fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }
}

/// The problems found so far; shared by all who read the file.
#[derive(Debug, Default)]
pub(super) struct Problems(RefCell<Vec<Diagnostic>>);

impl Problems {
    pub(super) fn report(&self, diagnostic: Diagnostic) {
        self.0.borrow_mut().push(diagnostic);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn into_inner(self) -> Vec<Diagnostic> {
        self.0.into_inner()
    }
}

/// A table of the file whose keys are known. Each reading function gives none both for an absent key and for a value
/// of a wrong type, which it reports.
#[derive(Clone, Copy)]
pub(super) struct Table<'f> {
    entries: &'f DeTable<'f>,
    keys: &'static Keys,
    problems: &'f Problems,
}

impl<'f> Table<'f> {
    /// Takes a table and reports the keys in it that don't belong there.
    pub(super) fn new(entries: &'f DeTable<'f>, keys: &'static Keys, problems: &'f Problems) -> Self {
        for (key, _) in entries.iter().filter(|(key, _)| !keys.contains(key.get_ref())) {
            problems.report(unknown_key(key, keys));
        }
        Self { entries, keys, problems }
    }

    pub(super) fn problems(&self) -> &'f Problems {
        self.problems
    }

    /// Where a key stands.
    pub(super) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.entries.get_key_value(key).map(|(key, _)| key.span())
    }

    /// A value as it is.
    pub(super) fn value(&self, key: &str) -> Option<&'f Spanned<DeValue<'f>>> {
        debug_assert!(self.keys.contains(key), "{key} is read but not among the known keys");
        self.entries.get(key)
    }

    pub(super) fn string(&self, key: &str) -> Option<At<&'f str>> {
        let value = self.value(key)?;
        match value.get_ref().as_str() {
            Some(text) => Some(At::new(text, value.span())),
            None => self.wrong_type(key, value, "a string in quotes"),
        }
    }

    pub(super) fn boolean(&self, key: &str) -> Option<At<bool>> {
        let value = self.value(key)?;
        match value.get_ref().as_bool() {
            Some(flag) => Some(At::new(flag, value.span())),
            None => self.wrong_type(key, value, "`true` or `false`"),
        }
    }

    /// A whole number in a range.
    pub(super) fn integer<N: TryFrom<i128> + Copy>(&self, key: &str, least: i128, most: i128) -> Option<At<N>> {
        let value = self.value(key)?;
        let Some(integer) = integer_of(value.get_ref()) else {
            return self.wrong_type(key, value, "a whole number");
        };
        match N::try_from(integer) {
            Ok(number) if (least..=most).contains(&integer) => Some(At::new(number, value.span())),
            Ok(_) | Err(_) => self.out_of_range(key, value, &format!("{least} to {most}")),
        }
    }

    /// A number, given with or without a fraction.
    pub(super) fn number(&self, key: &str, allowed: &str, is_allowed: impl Fn(f64) -> bool) -> Option<At<f64>> {
        let value = self.value(key)?;
        match number_of(value.get_ref()) {
            Some(number) if is_allowed(number) => Some(At::new(number, value.span())),
            Some(_) => self.out_of_range(key, value, allowed),
            None => self.wrong_type(key, value, "a number"),
        }
    }

    /// Numbers: one alone, or a list. None where the key is absent or a value has a wrong type.
    pub(super) fn numbers(&self, key: &str) -> Option<At<Vec<At<f64>>>> {
        let value = self.value(key)?;
        let number = |item: &Spanned<DeValue<'_>>, name: &str| match number_of(item.get_ref()) {
            Some(number) => Some(At::new(number, item.span())),
            None => self.wrong_type(name, item, "a number"),
        };
        let numbers = match value.get_ref().as_array() {
            Some(items) => {
                let name = format!("an element of `{key}`");
                items.iter().map(|item| number(item, &name)).collect::<Option<Vec<_>>>()?
            }
            None if number_of(value.get_ref()).is_some() => vec![number(value, key)?],
            None => return self.wrong_type(key, value, "a number, or a list of numbers"),
        };
        Some(At::new(numbers, value.span()))
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<At<T>> {
        let text = self.string(key)?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text.value) {
            return Some(At::new(*meaning, text.span));
        }
        let known = || words.iter().map(|(word, _)| *word);
        let message = format!("`{}` is no value of `{key}`", text.value);
        let diagnostic = Diagnostic::at(text.span, message).did_you_mean(nearest(text.value, known()));
        self.problems.report(diagnostic.help(format!("the values of `{key}` are {}", list(known()))));
        None
    }

    /// A list of strings; empty where the key is absent.
    pub(super) fn strings(&self, key: &str) -> Vec<At<&'f str>> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let Some(items) = value.get_ref().as_array() else {
            let expected = match value.get_ref().as_str() {
                Some(text) => format!("a list: write `[\"{text}\"]`"),
                None => "a list of strings such as `[\"a\", \"b\"]`".to_owned(),
            };
            let _none: Option<()> = self.wrong_type(key, value, &expected);
            return Vec::new();
        };
        let string = |item: &'f Spanned<DeValue<'f>>| match item.get_ref().as_str() {
            Some(text) => Some(At::new(text, item.span())),
            None => self.wrong_type(&format!("an element of `{key}`"), item, "a string in quotes"),
        };
        items.iter().filter_map(string).collect()
    }

    /// A table inside this one.
    pub(super) fn table(&self, key: &str) -> Option<(&'f DeTable<'f>, Range<usize>)> {
        let value = self.value(key)?;
        match value.get_ref().as_table() {
            Some(table) => Some((table, self.key_span(key).unwrap_or_else(|| value.span()))),
            None => self.wrong_type(key, value, &format!("a table such as `[{key}]`")),
        }
    }

    /// Reports a value of a wrong type.
    pub(super) fn wrong_type<T>(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> Option<T> {
        let subject = if key.contains('`') { key.to_owned() } else { format!("`{key}`") };
        let found = value.get_ref().type_str();
        let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
        self.problems.report(
            Diagnostic::at(value.span(), format!("{subject} has a wrong type"))
                .label(format!("this is {article} {found}"))
                .help(format!("{subject} is {expected}")),
        );
        None
    }

    fn out_of_range<T>(&self, key: &str, value: &Spanned<DeValue<'_>>, allowed: &str) -> Option<T> {
        let diagnostic = Diagnostic::at(value.span(), format!("`{key}` is out of range"));
        self.problems.report(diagnostic.label(format!("allowed: {allowed}")));
        None
    }
}

/// The integer a value is, if it is one of any size up to 128 bits.
pub(super) fn integer_of(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

/// The number a value is, be it an integer or a float.
pub(super) fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(integer) => integer.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::String(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn unknown_key(key: &Spanned<std::borrow::Cow<'_, str>>, keys: &'static Keys) -> Diagnostic {
    let name = key.get_ref();
    let diagnostic = Diagnostic::at(key.span(), format!("unknown key `{name}` {}", keys.place));
    let diagnostic = diagnostic.did_you_mean(nearest(name, keys.names.iter().copied()));
    let diagnostic = match home_of(name) {
        Some(home) => {
            diagnostic.help(format!("`{name}` is a key {home}, and every key belongs to the last `[table]` above it"))
        }
        None => diagnostic,
    };
    diagnostic.help(format!("the keys {} are {}", keys.place, list(keys.names.iter().copied())))
}
