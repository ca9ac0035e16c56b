//! Calls that only repeat what was done.
//!
//! A round of one to four calls that was made twice, each time with the same arguments and the same results, brings
//! nothing new a third time. Polling is progress as soon as a result changes, and so is any other call in between.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::canonical::canonical;
use crate::{ToolCall, ToolName};

/// The longest round that is recognised.
const MAX_ROUND: usize = 4;

/// The latest calls that were answered, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecentCalls(VecDeque<Answered>);

/// A call and its result, each as a hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Answered {
    tool: ToolName,
    arguments: u64,
    result: u64,
}

impl RecentCalls {
    /// Notes a call and what it was answered. The number of calls in a round that has now been made twice, if any.
    pub(crate) fn note(&mut self, call: &ToolCall, result: &str) -> Option<usize> {
        self.0.push_back(Answered {
            tool: call.name.clone(),
            arguments: arguments_hash(call),
            result: fnv(result.as_bytes()),
        });
        if self.0.len() > 2 * MAX_ROUND {
            self.0.pop_front();
        }
        (1..=MAX_ROUND).find(|round| self.was_made_twice(*round))
    }

    /// The number of calls in a round that was made twice and that a call would begin again.
    pub(crate) fn round_repeated_by(&self, call: &ToolCall) -> Option<usize> {
        // Most calls name another tool than the ones before: then there is nothing to hash.
        if !self.0.iter().any(|answered| answered.tool == call.name) {
            return None;
        }
        let arguments = arguments_hash(call);
        (1..=MAX_ROUND).find(|round| {
            let first = self.latest(*round);
            first.is_some_and(|first| first.tool == call.name && first.arguments == arguments)
                && self.was_made_twice(*round)
        })
    }

    fn was_made_twice(&self, round: usize) -> bool {
        self.0.len() >= 2 * round && (1..=round).all(|place| self.latest(place) == self.latest(place + round))
    }

    /// 1 is the last.
    fn latest(&self, place: usize) -> Option<&Answered> {
        self.0.len().checked_sub(place).and_then(|index| self.0.get(index))
    }
}

fn arguments_hash(call: &ToolCall) -> u64 {
    fnv(canonical(&call.arguments.to_value()).as_bytes())
}

/// FNV-1a: the same in every process and version, because it is kept in checkpoints.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arguments, CallId};

    fn call(text: &str) -> ToolCall {
        let (name, value) = text.split_once(' ').unwrap_or((text, "0"));
        let arguments = Arguments::from_json(&format!(r#"{{"value": {value}}}"#)).unwrap();
        ToolCall { id: CallId::new("x"), name: name.into(), arguments }
    }

    /// `tool value=result` for each call; then which round `next` would begin again.
    #[track_caller]
    fn assert_round(answered: &[&str], next: &str, round: Option<usize>) {
        let mut recent = RecentCalls::default();
        for entry in answered {
            let (made, result) = entry.split_once('=').unwrap();
            recent.note(&call(made), result);
        }
        assert_eq!(recent.round_repeated_by(&call(next)), round);
    }

    #[test]
    fn the_third_identical_call_repeats() {
        assert_round(&["a 1=x", "a 1=x"], "a 1", Some(1));
    }

    #[test]
    fn the_second_identical_call_does_not() {
        assert_round(&["a 1=x"], "a 1", None);
    }

    #[test]
    fn other_arguments_do_not_repeat() {
        assert_round(&["a 1=x", "a 1=x"], "a 2", None);
    }

    #[test]
    fn a_changing_result_is_progress() {
        assert_round(&["a 1=x", "a 1=y"], "a 1", None);
    }

    #[test]
    fn other_work_in_between_is_progress() {
        assert_round(&["test=red", "edit 1=ok", "test=red", "edit 2=ok"], "test", None);
    }

    #[test]
    fn a_round_of_three_repeats() {
        assert_round(&["a=x", "b=x", "c=x", "a=x", "b=x", "c=x"], "a", Some(3));
    }

    #[test]
    fn a_call_that_leaves_the_round_does_not_repeat() {
        assert_round(&["a=x", "b=x", "a=x", "b=x"], "b", None);
    }

    #[test]
    fn a_round_of_four_is_noticed_when_it_closes_for_the_second_time() {
        let mut recent = RecentCalls::default();
        let noticed: Vec<Option<usize>> =
            ["a", "b", "c", "d", "a", "b", "c", "d"].iter().map(|name| recent.note(&call(name), "x")).collect();
        assert_eq!(noticed, [None, None, None, None, None, None, None, Some(4)]);
    }
}
