//! A tag that is itself the tool's name: `<NAME>{…}</NAME>`, `<NAME><KEY>VALUE</KEY></NAME>` or `<NAME KEY="VALUE"/>`.

use serde_json::{Map, Value};

use super::tagged::{Fields, fields};
use super::{Item, Place, properties, resolved, truncated};
use crate::extent::{Extent, object_extent};
use crate::tag::{Tag, TagRead, read_tag};
use crate::{Dialect, End};

const DIALECT: Dialect = Dialect::named("tool-tag");

/// Reads the call whose tag begins the text. Only offered tools and their own properties count.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Item {
    let tag = match read_tag(text, place.more()) {
        TagRead::More if may_begin(text, place) => return Item::More,
        TagRead::More | TagRead::Nothing => return Item::Nothing,
        TagRead::Tag(tag) => tag,
    };
    if tag.closing || tag.value.is_some() || resolved(place.toolset, tag.name).is_none() {
        return Item::Nothing;
    }
    let given = given(&tag, place);
    if tag.empty {
        let Some(given) = given else { return Item::Nothing };
        return Item::Read(tag.len, vec![place.toolset.read_fields(tag.name, given, DIALECT, Vec::new())]);
    }
    let trimmed = text.get(tag.len..).unwrap_or_default().trim_start();
    if trimmed.is_empty() {
        return if place.more() { Item::More } else { cut(text, &tag, place) };
    }
    // Attributes that are no properties, such as an id, say nothing about the arguments inside.
    let given = given.unwrap_or_default();
    if trimmed.starts_with('{') && given.is_empty() {
        object(text, text.len() - trimmed.len(), &tag, place)
    } else {
        children(text, &tag, given, place)
    }
}

/// The arguments in the tag itself; none where anything else stands in it than properties of the tool.
fn given(tag: &Tag<'_>, place: &Place<'_>) -> Option<Map<String, Value>> {
    let attributes = tag.all_attributes()?;
    let is_known = |key: &str| properties(place.toolset, tag.name).any(|property| property == key);
    let given = attributes.into_iter().map(|(key, value)| is_known(key).then(|| (key.to_owned(), value.into())));
    given.collect()
}

/// Whether a tag names an offered tool, or with more text may.
pub(crate) fn may_begin(text: &str, place: &Place<'_>) -> bool {
    let inner = text.strip_prefix('<').unwrap_or_default();
    let end = inner.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '='));
    match end.and_then(|end| inner.get(..end)) {
        // A namespace may stand before the name.
        Some(name) => !name.is_empty() && resolved(place.toolset, name.rsplit(':').next().unwrap_or(name)).is_some(),
        None => place.more() && may_become(inner, place),
    }
}

fn may_become(begun: &str, place: &Place<'_>) -> bool {
    let begun = begun.rsplit(':').next().unwrap_or(begun);
    place.toolset.names().any(|name| starts_ignoring_case(name, begun))
}

fn starts_ignoring_case(name: &str, begun: &str) -> bool {
    name.get(..begun.len()).is_some_and(|head| head.eq_ignore_ascii_case(begun))
}

fn cut(text: &str, tag: &Tag<'_>, place: &Place<'_>) -> Item {
    Item::Read(text.len(), vec![Err(truncated(place.toolset, Some(tag.name), text))])
}

fn object(text: &str, at: usize, tag: &Tag<'_>, place: &Place<'_>) -> Item {
    let body = text.get(at..).unwrap_or_default();
    let len = match object_extent(body, place.more()) {
        Extent::More => return Item::More,
        Extent::Strict(len) | Extent::Sloppy(len) => len,
        Extent::Unfinished { .. } => return cut(text, tag, place),
    };
    let behind = body.get(len..).unwrap_or_default().trim_start();
    let close = match read_tag(behind, place.more()) {
        TagRead::More => return Item::More,
        TagRead::Nothing if behind.is_empty() && place.more() => return Item::More,
        TagRead::Tag(close) if close.closing && close.name == tag.name => close.len,
        TagRead::Nothing | TagRead::Tag(_) => 0,
    };
    let object = body.get(..len).unwrap_or(body);
    let taken = if close == 0 { at + len } else { text.len() - behind.len() + close };
    Item::Read(taken, vec![place.toolset.read_call(tag.name, object, DIALECT, End::Complete)])
}

fn children(text: &str, tag: &Tag<'_>, given: Map<String, Value>, place: &Place<'_>) -> Item {
    match fields(text, tag.len, tag, place) {
        Fields::More => Item::More,
        Fields::Cut => cut(text, tag, place),
        Fields::Junk(_) => Item::Nothing,
        Fields::Read(len, fields) => {
            let known: Vec<_> = properties(place.toolset, tag.name).collect();
            if fields.keys().any(|key| !known.contains(&key.as_str()) || given.contains_key(key)) {
                return Item::Nothing;
            }
            let fields = given.into_iter().chain(fields).collect();
            Item::Read(len, vec![place.toolset.read_fields(tag.name, fields, DIALECT, Vec::new())])
        }
    }
}
