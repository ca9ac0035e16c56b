use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call_ids::CallIds;
use crate::failures::FailureTracker;
use crate::repetition::RecentCalls;
use crate::{NudgeKind, StepTracker, ToolCall, ToolName};

/// Everything a run of the engine knows: its checkpoint. Serialising and deserialising it changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardrailState {
    pub(super) iterations: u32,
    /// Faulty responses in a row, of any kind: the rung of the constraint ladder.
    pub(super) rung: u32,
    pub(super) counts: Counts,
    /// Whether the last response was empty and was asked for again without a word.
    pub(super) empty_retried: bool,
    /// A tool that the next generation is not offered where it is constrained.
    pub(super) withdrawn: Option<ToolName>,
    pub(super) tracker: StepTracker,
    pub(super) recent: RecentCalls,
    pub(super) ids: CallIds,
    /// Successful calls per tool.
    pub(super) successes: BTreeMap<ToolName, u32>,
    /// Failed calls per tool.
    pub(super) failures: BTreeMap<ToolName, u32>,
    pub(super) failing: FailureTracker,
    /// Responses of this turn that called tools which don't exist, whatever the names.
    pub(super) invented: u32,
    pub(super) open: Option<OpenBatch>,
    pub(super) ended: bool,
    pub(super) last_response: String,
}

/// The counts that budgets limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Format faults in a row.
    pub format_faults: u32,
    /// Failing batches in a row.
    pub failing_batches: u32,
    /// Premature attempts to finish since the last clean batch.
    pub premature_attempts: u32,
    /// Violations of order and prerequisites since the last clean batch.
    pub prerequisite_violations: u32,
    /// Refused repetitions since the last clean batch.
    pub repetitions: u32,
}

/// The calls that run, and what else their response had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenBatch {
    pub(super) calls: Vec<ToolCall>,
    /// What the response was told beside its calls.
    pub(super) nudged: Vec<NudgeKind>,
    /// Texts about what could not be answered on the tool channel, to add to the last result.
    pub(super) notes: Vec<String>,
}

impl GuardrailState {
    /// Responses checked in this turn.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// The counts that budgets limit.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What has succeeded so far, as far as steps and prerequisites ask.
    pub fn tracker(&self) -> &StepTracker {
        &self.tracker
    }

    /// Whether a batch waits for its outcomes.
    pub fn is_batch_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the turn has ended: a terminal tool succeeded, text was accepted, or a budget ran out.
    pub fn has_ended(&self) -> bool {
        self.ended
    }
}
