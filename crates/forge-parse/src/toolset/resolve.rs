use std::borrow::Cow;

use super::Toolset;
use crate::schema::{folded, similarity};
use crate::{Repair, ToolName};

/// Longer than any tool's name: what is longer is debris, and is not compared with the offered names.
const MAX_NAME: usize = 256;

/// What may stand before a name without being part of it, where templates address functions by a path.
const PREFIXES: [&str; 6] = ["functions.", "function.", "default_api.", "tools.", "tool.", "functions:"];

/// Which offered tool a name means.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// The name is offered as it stands.
    Exact(ToolName),
    /// Exactly one offered tool has this name but for a harmless difference.
    Normalised(ToolName, Repair),
    /// No offered tool has it. Similarity is not identity: what is near is a hint for the model, never a call.
    Unknown {
        /// All offered names, the nearest first where any is near.
        nearest: Vec<ToolName>,
    },
}

/// A name without what templates and models disagree about: case, `_`, `-` and `.`.
pub(super) fn folded_name(name: &str) -> String {
    let mut folded = folded(name);
    folded.retain(|c| c != '.');
    folded
}

/// The offered tool that a name means, without a search for near ones.
pub(super) fn find<'t>(toolset: &'t Toolset, raw: &str) -> Option<&'t ToolName> {
    let exact = toolset.get(raw).map(|spec| &spec.name);
    exact.or_else(|| normalised(toolset, raw).filter(|_| raw.len() <= MAX_NAME))
}

pub(super) fn resolve(toolset: &Toolset, raw: &str) -> Resolution {
    if let Some(spec) = toolset.get(raw) {
        return Resolution::Exact(spec.name.clone());
    }
    if raw.len() <= MAX_NAME
        && let Some(name) = normalised(toolset, raw)
    {
        let repair = Repair {
            kind: Cow::Borrowed("tool-name"),
            path: String::new(),
            note: format!("the name {raw:?} was read as the offered tool {:?}", name.as_str()),
        };
        return Resolution::Normalised(name.clone(), repair);
    }
    Resolution::Unknown { nearest: by_nearness(toolset, raw) }
}

fn normalised<'t>(toolset: &'t Toolset, raw: &str) -> Option<&'t ToolName> {
    let cut = without_tokens(raw);
    let bare = without_index(cut);
    offered(toolset, cut).or_else(|| offered(toolset, bare)).or_else(|| {
        let mut name = bare;
        while let Some(rest) = PREFIXES.iter().find_map(|prefix| strip_prefix_ignoring_case(name, prefix)) {
            if let Some(found) = offered(toolset, rest) {
                return Some(found);
            }
            name = rest;
        }
        doubled(toolset, name)
    })
}

fn offered<'t>(toolset: &'t Toolset, name: &str) -> Option<&'t ToolName> {
    if let Some(spec) = toolset.get(name) {
        return Some(&spec.name);
    }
    let index = (*toolset.by_folded.get(&folded_name(name))?)?;
    toolset.tool_at(index)
}

/// An offered name written twice without anything between: deltas that were joined twice.
fn doubled<'t>(toolset: &'t Toolset, name: &str) -> Option<&'t ToolName> {
    let (first, second) = name.split_at_checked(name.len() / 2)?;
    if first != second {
        return None;
    }
    toolset.get(first).map(|spec| &spec.name)
}

/// The name up to the first piece of a template's markup, without quotes and blanks around it.
fn without_tokens(raw: &str) -> &str {
    let end = raw.find(['<', '\u{ff5c}', '[', '(', '{', '\n']).unwrap_or(raw.len());
    let name = raw.split_at_checked(end).map_or(raw, |(name, _)| name);
    name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'))
}

/// The name without a call's index, as in `name:0`.
fn without_index(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((head, index)) if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => head,
        _ => name,
    }
}

fn strip_prefix_ignoring_case<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    let (head, rest) = name.split_at_checked(prefix.len())?;
    (head.eq_ignore_ascii_case(prefix) && !rest.is_empty()).then_some(rest)
}

fn by_nearness(toolset: &Toolset, raw: &str) -> Vec<ToolName> {
    let wanted = raw.chars().take(MAX_NAME).collect::<String>();
    let wanted = folded_name(without_tokens(&wanted));
    let last = raw.rsplit(['.', ':', '/']).next().map(folded_name).unwrap_or_default();
    let mut scored: Vec<(f64, &ToolName)> = toolset
        .names()
        .map(|name| {
            let offered = folded_name(name);
            (similarity(&wanted, &offered).max(similarity(&last, &offered)), name)
        })
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().map(|(_, name)| name.clone()).collect()
}
