use serde::{Deserialize, Serialize};

use crate::WorkflowError;

/// How much misbehaviour a run bears. A budget is exhausted when its count *exceeds* the limit; 0 bears none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// Format faults in a row: text where a call was due, unknown tools, malformed or invalid arguments. Default 3.
    pub format_retries: u32,
    /// Batches in a row in which a tool failed. Default 2.
    pub tool_errors: u32,
    /// Attempts to finish before the required steps are done. Default 3.
    pub premature_attempts: u32,
    /// Calls in a row whose step order or prerequisites were not met. Default 2.
    pub prerequisite_violations: u32,
    /// Calls refused in a row because they only repeat what was done, with the same results. Default 3.
    pub repetitions: u32,
    /// Failures of one tool since it last succeeded, at least 1. Default 3; *reaching* it is the end. Calls of tools that
    /// don't exist share one such count, which nothing clears within a turn.
    pub failures_per_tool: u32,
    /// Generations of the whole run, at least 1. Default 10; reaching it with work left is the end.
    pub iterations: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            format_retries: 3,
            tool_errors: 2,
            premature_attempts: 3,
            prerequisite_violations: 2,
            repetitions: 3,
            failures_per_tool: 3,
            iterations: 10,
        }
    }
}

impl Budgets {
    /// Budgets that no run can live with.
    pub(crate) fn problems(&self) -> impl Iterator<Item = WorkflowError> {
        [("failures_per_tool", self.failures_per_tool), ("iterations", self.iterations)]
            .into_iter()
            .filter(|(_, value)| *value == 0)
            .map(|(budget, value)| WorkflowError::Budget { budget, value, minimum: 1 })
    }
}
