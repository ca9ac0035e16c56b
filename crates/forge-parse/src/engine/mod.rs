//! The grammars of calls. Each module reads one call at the start of a text, or says that more text is needed.

pub(crate) mod announced;
pub(crate) mod braced;
pub(crate) mod channel;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod named;
pub(crate) mod pythonic;
pub(crate) mod tagged;
pub(crate) mod tool_tag;

use crate::dialect::{DIALECTS, Engine};
use crate::marker::{Lookup, Marker, lookup};
use crate::{Dialect, End, Fault, FinishReason, ParsedCall, Toolset};

/// A call that was read, or why it can't be used.
pub(crate) type Attempt = Result<ParsedCall, Fault>;

/// What stands at the start of a text.
#[derive(Debug)]
pub(crate) enum Item {
    /// More text may change the answer.
    More,
    /// No call of this grammar.
    Nothing,
    /// Calls that take so many bytes. What was read of a call that is cut counts as well.
    Read(usize, Vec<Attempt>),
}

/// What the engines need to know about the place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'t> {
    /// The offered tools.
    pub(crate) toolset: &'t Toolset,
    /// The row whose marker opened the section; none where the call stands by itself.
    pub(crate) row: Option<usize>,
    /// Why the output ended; none while more text may follow.
    pub(crate) finish: Option<FinishReason>,
    /// Whether the text is a part of a message: what stands in a fence, or in thinking that never ended.
    pub(crate) nested: bool,
}

impl Place<'_> {
    /// Whether more text may follow.
    pub(crate) fn more(&self) -> bool {
        self.finish.is_none()
    }

    /// Whether what the text ends with may be cut.
    pub(crate) fn end(&self) -> End {
        if self.finish.is_some_and(FinishReason::is_cut) { End::Cut } else { End::Complete }
    }

    /// The dialect of a call with this grammar: the row that shares the opening marker and has the grammar, else
    /// the one named.
    pub(crate) fn dialect(&self, engine: Engine, otherwise: &'static str) -> Dialect {
        let marker = self.row.and_then(|row| DIALECTS.get(row)).map(|row| (row.open, row));
        let Some((open, own)) = marker else { return Dialect::named(otherwise) };
        if own.engine == engine {
            return own.dialect();
        }
        let shared = DIALECTS.iter().find(|row| row.engine == engine && row.open.iter().any(|m| open.contains(m)));
        shared.map_or(Dialect::named(otherwise), crate::dialect::DialectRow::dialect)
    }
}

/// The fault for a call whose end is missing.
pub(crate) fn truncated(toolset: &Toolset, name: Option<&str>, raw: &str) -> Fault {
    let tool = name.and_then(|name| resolved(toolset, name));
    Fault::Truncated { tool, raw: raw.to_owned() }
}

/// The offered tool that a name means, if one does.
pub(crate) fn resolved(toolset: &Toolset, name: &str) -> Option<crate::ToolName> {
    toolset.find(name).cloned()
}

/// The names of a tool's top-level properties, in order.
pub(crate) fn properties<'t>(toolset: &'t Toolset, name: &str) -> impl Iterator<Item = &'t str> {
    let tool = resolved(toolset, name).and_then(|tool| toolset.get(&tool));
    let properties = tool.and_then(|spec| spec.parameters.get("properties")).and_then(serde_json::Value::as_object);
    properties.into_iter().flat_map(|map| map.keys().map(String::as_str))
}

/// The one property that a value without a key can only belong to: the only one, or the only required one.
pub(crate) fn only_property<'t>(toolset: &'t Toolset, name: &str) -> Option<&'t str> {
    let mut all = properties(toolset, name);
    if let (Some(first), None) = (all.next(), all.next()) {
        return Some(first);
    }
    let tool = resolved(toolset, name).and_then(|tool| toolset.get(&tool))?;
    match tool.parameters.get("required")?.as_array()?.as_slice() {
        [required] => required.as_str(),
        _ => None,
    }
}

/// The text up to the first marker that opens or closes a call; all of it where none comes. None while one may come.
pub(crate) fn up_to_marker<'x>(text: &'x str, place: &Place<'_>) -> Option<&'x str> {
    for (at, _) in text.match_indices(['<', '[']) {
        match lookup(text.get(at..).unwrap_or_default(), place.more()) {
            Lookup::Found(Marker::Open(_) | Marker::Close | Marker::Noise | Marker::Header, _) => {
                return text.get(..at);
            }
            Lookup::Prefix => return None,
            Lookup::Found(..) | Lookup::Nothing => {}
        }
    }
    (!place.more()).then_some(text)
}

/// How many tools a problem lists.
const MAX_LISTED: usize = 10;

/// The fault for arguments that name no tool: it lists the tools there are.
pub(crate) fn nameless(toolset: &Toolset, problem: &str, raw: &str) -> Fault {
    let mut names: Vec<_> = toolset.names().take(MAX_LISTED).map(crate::ToolName::as_str).collect();
    if toolset.specs().len() > MAX_LISTED {
        names.push("\u{2026}");
    }
    Fault::Unreadable { problem: format!("{problem} (the tools are: {})", names.join(", ")), raw: raw.to_owned() }
}
