use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ContextBudgetExceeded, ToolName};

/// The typed end of a run whose budget ran out. It carries the whole account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}")]
pub struct Interrupt {
    /// Which budget ran out.
    pub kind: InterruptKind,
    /// The state of the run at that moment.
    pub account: Account,
}

/// Which budget ran out, with its limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InterruptKind {
    /// The model didn't produce a usable call.
    #[error(
        "the model gave no usable call in {attempts} attempts in a row (limit {limit} retries); the last fault: {last_fault}"
    )]
    FormatRetries {
        /// Faulty generations in a row.
        attempts: u32,
        /// The budget.
        limit: u32,
        /// What was wrong with the last one.
        last_fault: String,
    },
    /// Tools kept failing.
    #[error("a tool failed in {batches} batches in a row (limit {limit})")]
    ToolErrors {
        /// Failing batches in a row.
        batches: u32,
        /// The budget.
        limit: u32,
    },
    /// The model kept trying to finish with steps left.
    #[error("the model tried to finish too early {attempts} times (limit {limit})")]
    PrematureTerminal {
        /// Attempts.
        attempts: u32,
        /// The budget.
        limit: u32,
    },
    /// The model kept calling tools whose prerequisites or order weren't met.
    #[error("the model called a tool before its prerequisites {violations} times in a row (limit {limit})")]
    PrerequisiteViolations {
        /// Violations in a row.
        violations: u32,
        /// The budget.
        limit: u32,
    },
    /// The model kept repeating what it had already done.
    #[error("the model repeated calls that bring nothing new {times} times in a row (limit {limit})")]
    Repetition {
        /// Refused repetitions in a row.
        times: u32,
        /// The budget.
        limit: u32,
    },
    /// One tool failed too often. The account has the count of every tool.
    #[error("tool `{tool}` failed {failures} times without a success in between (limit {limit})")]
    ToolFailures {
        /// The tool.
        tool: ToolName,
        /// Its failures since it last succeeded.
        failures: u32,
        /// The budget.
        limit: u32,
    },
    /// The model kept calling tools that don't exist, under whatever names.
    #[error("the model called tools that don't exist in {attempts} answers of the turn (limit {limit})")]
    InventedTools {
        /// Answers with such a call.
        attempts: u32,
        /// The budget, that of one tool's failures.
        limit: u32,
    },
    /// The run took too many generations.
    #[error("the run used all {limit} generations without finishing")]
    Iterations {
        /// The budget.
        limit: u32,
    },
    /// The conversation doesn't fit the context budget, whatever is compacted.
    #[error("{exceeded}")]
    ContextBudgetExceeded {
        /// The numbers.
        #[serde(flatten)]
        exceeded: ContextBudgetExceeded,
    },
}

/// What had happened when a run was interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Generations checked so far.
    pub iterations: u32,
    /// Required steps that were done, in the order of the workflow.
    pub completed_steps: Vec<ToolName>,
    /// Required steps that weren't.
    pub pending_steps: Vec<ToolName>,
    /// Successful calls per tool.
    pub successes: BTreeMap<ToolName, u32>,
    /// Failed calls per tool.
    pub failures: BTreeMap<ToolName, u32>,
    /// The last text of the model, cut to a readable length.
    pub last_response: String,
}
