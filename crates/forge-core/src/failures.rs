//! How often each tool failed since it last only succeeded.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Outcome, ToolCall, ToolName};

/// Failing batches per tool in one turn. A tool that fails several times in a batch has failed once; a tool that only
/// succeeded in a batch is cleared; data that isn't there and cancelled calls change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FailureTracker(BTreeMap<ToolName, u32>);

impl FailureTracker {
    /// Takes the outcomes of a batch.
    pub(crate) fn note<'a>(&mut self, answered: impl IntoIterator<Item = (&'a ToolCall, &'a Outcome)>) {
        let (mut failed, mut succeeded) = (BTreeSet::new(), BTreeSet::new());
        for (call, outcome) in answered {
            match outcome {
                Outcome::Success(_) => succeeded.insert(&call.name),
                Outcome::Failure(_) | Outcome::TimedOut(_) => failed.insert(&call.name),
                Outcome::NoData(_) | Outcome::Cancelled => false,
            };
        }
        for tool in succeeded.difference(&failed) {
            self.0.remove(*tool);
        }
        for tool in failed {
            let count = self.0.entry(tool.clone()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// The failing batches of a tool since it last only succeeded.
    pub(crate) fn of(&self, tool: &str) -> u32 {
        self.0.get(tool).copied().unwrap_or(0)
    }

    /// The tools that failed, with their failing batches.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ToolName, u32)> {
        self.0.iter().map(|(tool, count)| (tool, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arguments, CallId};

    /// Notes batches of `tool outcome` pairs and gives the count of `a`.
    fn count_of_a(batches: &[&[(&str, Outcome)]]) -> u32 {
        let mut failures = FailureTracker::default();
        for batch in batches {
            let calls: Vec<(ToolCall, &Outcome)> = batch
                .iter()
                .map(|(name, outcome)| {
                    let call = ToolCall { id: CallId::new("x"), name: (*name).into(), arguments: Arguments::empty() };
                    (call, outcome)
                })
                .collect();
            failures.note(calls.iter().map(|(call, outcome)| (call, *outcome)));
        }
        failures.of("a")
    }

    fn fine() -> Outcome {
        Outcome::Success(String::new())
    }

    fn failed() -> Outcome {
        Outcome::Failure(String::new())
    }

    #[test]
    fn failing_several_times_in_one_batch_counts_once() {
        assert_eq!(count_of_a(&[&[("a", failed()), ("a", failed())]]), 1);
    }

    #[test]
    fn only_a_success_clears() {
        assert_eq!(count_of_a(&[&[("a", failed())], &[("a", fine())]]), 0);
    }

    #[test]
    fn a_mixed_batch_counts() {
        assert_eq!(count_of_a(&[&[("a", failed())], &[("a", fine()), ("a", failed())]]), 2);
    }

    #[test]
    fn another_tools_success_clears_nothing() {
        assert_eq!(count_of_a(&[&[("a", failed())], &[("b", fine())]]), 1);
    }

    #[test]
    fn missing_data_and_cancelled_calls_change_nothing() {
        let neither = [("a", Outcome::NoData(String::new())), ("a", Outcome::Cancelled)];
        assert_eq!(count_of_a(&[&[("a", failed())], &neither]), 1);
    }

    #[test]
    fn a_timeout_is_a_failure() {
        assert_eq!(count_of_a(&[&[("a", Outcome::TimedOut(String::new()))]]), 1);
    }
}
