use std::fmt;
use std::str::FromStr;

use forge_parse::nearest;
use serde::{Deserialize, Serialize};

/// Which guardrails are on: for measuring what each of them is worth. All are on by default.
///
/// What is off behaves as a plain loop without Forge would; `docs/guardrails.md` says what that is for each. Whatever
/// is off, each call in a conversation still has its result, truncated calls never run, and iterations are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardrailSet {
    /// Calls in text are read in every dialect, and broken names and arguments are repaired. Off: only structured calls
    /// with the exact name and strict JSON count; all else is text or a fault.
    pub rescue: bool,
    /// What went wrong is told with what to do about it, and faulty text is answered. Off: a call that can't run is
    /// answered with one plain line, and an answer without a call ends the run.
    pub nudges: bool,
    /// Required steps, their order and prerequisites are enforced. Off: every tool is legal at any time.
    pub steps: bool,
    /// Failing results say how often a tool may still be tried and how, and failures are limited. Off: the model sees
    /// the plain result, and only iterations are limited.
    pub recovery: bool,
    /// Whoever drives the engine may shorten a conversation that outgrows the context; the engine itself never does. Off: it
    /// is sent as it is.
    pub compaction: bool,
    /// Arguments of another type that can be read in one lossless way are read so. Off: they are faults.
    pub coercion: bool,
    /// Repeated calls are pointed out, refused and withdrawn, and text caught in a loop is cut. Off: they run.
    pub repetition: bool,
    /// Generations are constrained step by step after faults, or always. Off: they are free.
    pub ladder: bool,
}

impl Default for GuardrailSet {
    fn default() -> Self {
        Self::REFORGED
    }
}

/// A name that no preset has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no set of guardrails is called `{name}`{}; the sets are {}", DidYouMean(*nearest), Names)]
pub struct UnknownPreset {
    /// The name.
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<&'static str>,
}

impl GuardrailSet {
    /// All guardrails.
    pub const REFORGED: Self = Self {
        rescue: true,
        nudges: true,
        steps: true,
        recovery: true,
        compaction: true,
        coercion: true,
        repetition: true,
        ladder: true,
    };

    /// None: a plain loop.
    pub const BARE: Self = Self {
        rescue: false,
        nudges: false,
        steps: false,
        recovery: false,
        compaction: false,
        coercion: false,
        repetition: false,
        ladder: false,
    };

    /// The sets that have a name.
    pub const PRESETS: [(&'static str, Self); 7] = [
        ("reforged", Self::REFORGED),
        ("no_rescue", Self { rescue: false, ..Self::REFORGED }),
        ("no_nudge", Self { nudges: false, ..Self::REFORGED }),
        ("no_steps", Self { steps: false, ..Self::REFORGED }),
        ("no_recovery", Self { recovery: false, ..Self::REFORGED }),
        ("no_compact", Self { compaction: false, ..Self::REFORGED }),
        ("bare", Self::BARE),
    ];

    /// The set with a name.
    ///
    /// # Errors
    /// [`UnknownPreset`], with the names there are.
    pub fn preset(name: &str) -> Result<Self, UnknownPreset> {
        let found = Self::PRESETS.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, set)| set).ok_or_else(|| UnknownPreset {
            name: name.to_owned(),
            nearest: nearest(name, Self::PRESETS.map(|(known, _)| known)),
        })
    }
}

impl FromStr for GuardrailSet {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        Self::preset(name)
    }
}

struct DidYouMean(Option<&'static str>);

impl fmt::Display for DidYouMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
    }
}

struct Names;

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        GuardrailSet::PRESETS.iter().enumerate().try_for_each(|(position, (name, _))| {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}`{name}`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        assert_eq!(
            "no_nudges".parse::<GuardrailSet>().unwrap_err().to_string(),
            "no set of guardrails is called `no_nudges`; did you mean `no_nudge`?; the sets are `reforged`, `no_rescue`, \
             `no_nudge`, `no_steps`, `no_recovery`, `no_compact`, `bare`"
        );
    }

    #[test]
    fn what_is_not_said_is_on() {
        let set: GuardrailSet = serde_json::from_str(r#"{"steps": false}"#).unwrap();
        assert_eq!(Ok(set), GuardrailSet::preset("no_steps"));
    }

    #[test]
    fn an_unknown_switch_is_refused() {
        assert!(serde_json::from_str::<GuardrailSet>(r#"{"step": false}"#).is_err());
    }
}
