//! One tag of the tagged grammars, read tolerantly: any namespace, `=value` or attributes, a lost final bracket.

use crate::effort::spend;
use crate::marker::fold;

/// A tag at the start of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'t> {
    /// Whether it closes.
    pub(crate) closing: bool,
    /// Whether it closes itself: `<name/>`.
    pub(crate) empty: bool,
    /// The namespace, or nothing.
    pub(crate) namespace: &'t str,
    /// The name without its namespace.
    pub(crate) name: &'t str,
    /// The value of `<name=value>`.
    pub(crate) value: Option<&'t str>,
    /// What stands between name and bracket.
    attributes: &'t str,
    /// Bytes the tag takes.
    pub(crate) len: usize,
}

/// What stands at a place where a tag may.
#[derive(Debug)]
pub(crate) enum TagRead<'t> {
    More,
    Nothing,
    Tag(Tag<'t>),
}

/// Tags that are longer are no tags.
const MAX_TAG: usize = 512;
const DSML: &str = "|dsml|";

impl<'t> Tag<'t> {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'t str> {
        let mut rest = self.attributes;
        while let Some(at) = rest.find(name) {
            let behind = rest.get(at + name.len()..)?;
            let starts = rest.get(..at).is_none_or(|before| before.is_empty() || before.ends_with(char::is_whitespace));
            if let Some(value) = behind.trim_start().strip_prefix('=').filter(|_| starts) {
                return Some(unquoted(value.trim_start()));
            }
            rest = behind;
        }
        None
    }

    /// All attributes with quoted values, in order; none if anything else stands between name and bracket.
    pub(crate) fn all_attributes(&self) -> Option<Vec<(&'t str, &'t str)>> {
        let mut found = Vec::new();
        let mut rest = self.attributes.trim_end_matches('/').trim();
        while !rest.is_empty() {
            let (key, behind) = rest.split_once('=')?;
            let key = Some(key.trim()).filter(|key| !key.is_empty() && !key.contains(char::is_whitespace))?;
            let quoted = behind.trim_start();
            let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, behind) = quoted.get(1..)?.split_once(quote)?;
            found.push((key, value));
            rest = behind.trim_start();
        }
        Some(found)
    }

    /// What the tag names: `<name=value>`, or the attribute `name`.
    pub(crate) fn names(&self) -> Option<&'t str> {
        self.value.or_else(|| self.attribute("name")).filter(|name| !name.is_empty())
    }
}

fn unquoted(value: &str) -> &str {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = value.get(1..).unwrap_or_default();
            inner.split_once(quote).map_or(inner, |(value, _)| value)
        }
        _ => value.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next().unwrap_or_default(),
    }
}

/// Reads the tag at the start of the text.
pub(crate) fn read_tag(text: &str, more: bool) -> TagRead<'_> {
    spend(1);
    let Some(inner) = text.strip_prefix('<') else { return TagRead::Nothing };
    let (closing, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
    let Some((namespace, inner)) = namespace(inner, more) else { return TagRead::More };
    let length = name_length(inner);
    let (Some(name), Some(behind)) = (inner.get(..length), inner.get(length..)) else { return TagRead::Nothing };
    if behind.is_empty() && more && inner.len() < MAX_TAG {
        return TagRead::More;
    }
    if name.is_empty() {
        return TagRead::Nothing;
    }
    let before = text.len() - behind.len();
    let tag = Tag { closing, empty: false, namespace, name, value: None, attributes: "", len: 0 };
    if let Some(value) = behind.strip_prefix('=') {
        return valued(tag, value, before + 1, more);
    }
    if !behind.starts_with(['>', '/']) && !behind.starts_with(char::is_whitespace) {
        return TagRead::Nothing;
    }
    match end_of_attributes(behind) {
        Some(end) => {
            let attributes = behind.get(..end).unwrap_or_default();
            let empty = attributes.ends_with('/');
            TagRead::Tag(Tag { attributes, empty, len: before + end + 1, ..tag })
        }
        None if more && behind.len() < MAX_TAG => TagRead::More,
        None => TagRead::Nothing,
    }
}

/// `<name=value>`; a line's end ends the value as well.
fn valued<'t>(tag: Tag<'t>, value: &'t str, start: usize, more: bool) -> TagRead<'t> {
    match value.find(['>', '\n']) {
        Some(end) if end <= MAX_TAG => {
            // The line's end is part of what follows.
            let bracket = usize::from(value.as_bytes().get(end) == Some(&b'>'));
            let value = value.get(..end).unwrap_or_default().trim().trim_matches(['"', '\'']);
            TagRead::Tag(Tag { value: Some(value), len: start + end + bracket, ..tag })
        }
        None if more && value.len() < MAX_TAG => TagRead::More,
        Some(_) | None => TagRead::Nothing,
    }
}

/// The namespace and what follows it; none where more text is needed.
fn namespace(inner: &str, more: bool) -> Option<(&str, &str)> {
    let mut matched = 0;
    let mut wanted = DSML.chars();
    for (at, c) in inner.char_indices() {
        match wanted.next() {
            Some(want) if fold(c) == want => matched = at + c.len_utf8(),
            Some(_) => break,
            None => return Some((inner.get(..matched)?, inner.get(matched..)?)),
        }
    }
    if matched == inner.len() && matched > 0 && more {
        return None;
    }
    let length = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
    match inner.get(length..) {
        Some(behind) if length > 0 && behind.starts_with(':') => Some((inner.get(..length)?, behind.get(1..)?)),
        _ => Some(("", inner)),
    }
}

fn name_length(text: &str) -> usize {
    text.char_indices()
        .find(|(_, c)| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$')))
        .map_or(text.len(), |(at, _)| at)
}

/// The place of the bracket that ends a tag; quoted values may hold brackets.
fn end_of_attributes(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate().take(MAX_TAG) {
        match (byte, quote) {
            (b'>', None) => return Some(at),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> Tag<'_> {
        match read_tag(text, false) {
            TagRead::Tag(tag) => tag,
            TagRead::More | TagRead::Nothing => panic!("no tag in {text}"),
        }
    }

    #[test]
    fn names_of_every_form() {
        for (text, name, named) in [
            ("<function=get_tide>", "function", Some("get_tide")),
            ("<parameter=valveId\nV", "parameter", Some("valveId")),
            ("<invoke name=\"f\">", "invoke", Some("f")),
            ("<ns:parameter name='k'>", "parameter", Some("k")),
            ("<｜DSML｜parameter name=\"k\" string=\"true\">", "parameter", Some("k")),
            ("</invoke>", "invoke", None),
        ] {
            let tag = tag(text);
            assert_eq!((tag.name, tag.names()), (name, named), "{text}");
        }
    }

    #[test]
    fn a_line_end_in_the_place_of_the_bracket_belongs_to_the_value() {
        assert_eq!(tag("<parameter=valveId\nV").len, 18);
    }

    #[test]
    fn what_is_no_tag() {
        for text in ["< b", "<1>", "<", "a", "<a<b>"] {
            assert!(matches!(read_tag(text, false), TagRead::Nothing | TagRead::Tag(Tag { name: "1", .. })), "{text}");
        }
    }
}
