use std::time::Duration;

use forge_backend::BackendInfo;
use forge_core::{
    BlockedCall, Compaction, Constraint, ContextWarning, Dialect, Interrupt, Message, Nudge, Outcome, Repair, Response,
    ToolCall, ToolName, Usage,
};
use serde::{Deserialize, Serialize};

/// What happens in a run, as it happens, in order. One JSON line each in a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run begins. Missing where the backend could not even be asked what it is.
    Started {
        /// The workflow's name.
        workflow: String,
        /// The user's input.
        input: String,
        /// The tools offered.
        tools: Vec<ToolName>,
        /// The steps that have to be done.
        required_steps: Vec<ToolName>,
        /// The model server.
        backend: BackendInfo,
        /// The tokens that the conversation may have; none where nothing limits it.
        #[serde(default)]
        context_budget: Option<u64>,
    },
    /// The conversation was made shorter, so that the next prompt fits.
    Compacted {
        /// The phases that changed something, in order.
        compactions: Vec<Compaction>,
        /// The budget in tokens.
        budget: u64,
        /// What now stands in the place of what was removed.
        summary: Option<String>,
    },
    /// A share of the context is used that the workflow wants to be told.
    ContextWarning {
        /// The numbers.
        warning: ContextWarning,
    },
    /// A generation begins.
    Generating {
        /// Its number, from 1.
        iteration: u32,
        /// What it may be.
        constraint: Constraint,
        /// Messages in the prompt.
        messages: usize,
        /// What is added to the last message of this prompt, and not kept in the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A piece of the model's text or thinking.
    Delta {
        /// The piece.
        text: String,
        /// Whether it is thinking.
        reasoning: bool,
    },
    /// A generation ended.
    Generated {
        /// Its number, from 1.
        iteration: u32,
        /// What came, unparsed.
        response: Response,
        /// How long it took.
        #[serde(with = "seconds")]
        elapsed: Duration,
    },
    /// A message was appended to the conversation.
    Appended {
        /// The message.
        message: Message,
    },
    /// The engine told the model what was wrong.
    Nudged {
        /// The nudge.
        nudge: Nudge,
    },
    /// The engine didn't let a call run.
    Blocked {
        /// The call and the reason.
        blocked: BlockedCall,
    },
    /// A tool begins.
    ToolStarted {
        /// The call.
        call: ToolCall,
        /// The notation it was written in.
        dialect: Dialect,
        /// What was repaired or coerced.
        repairs: Vec<Repair>,
    },
    /// A tool ended.
    ToolFinished {
        /// The call.
        call: ToolCall,
        /// What became of it.
        outcome: Outcome,
        /// How long it took.
        #[serde(with = "seconds")]
        elapsed: Duration,
    },
    /// A required step was done.
    StepCompleted {
        /// The step.
        step: ToolName,
        /// The steps still open.
        pending: Vec<ToolName>,
    },
    /// The run ended. Always the last event.
    Finished {
        /// The account.
        report: RunReport,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    /// A terminal tool succeeded.
    Done {
        /// The terminal call.
        call: ToolCall,
        /// What it answered.
        result: String,
    },
    /// The model's text ended the turn, where the workflow lets it.
    Answered {
        /// The text.
        text: String,
    },
    /// A guardrail's budget ran out.
    Interrupted {
        /// The account.
        interrupt: Interrupt,
    },
    /// The backend failed.
    BackendFailed {
        /// Why, in words.
        message: String,
    },
    /// The guardrail engine couldn't go on, because one of its overridden texts can't be rendered.
    EngineFailed {
        /// Why, in words.
        message: String,
    },
    /// The caller cancelled the run.
    Cancelled,
}

/// The account of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// How it ended.
    pub outcome: RunOutcome,
    /// Required steps that were done.
    pub completed_steps: Vec<ToolName>,
    /// Required steps that weren't.
    pub pending_steps: Vec<ToolName>,
    /// Generations.
    pub generations: u32,
    /// Tool calls that ran.
    pub tool_calls: u32,
    /// Nudges given.
    pub nudges: u32,
    /// Calls that were written in a dialect the server didn't parse.
    pub rescued: u32,
    /// Calls with at least one repair.
    pub repaired: u32,
    /// Calls that were blocked.
    pub blocked: u32,
    /// Tokens of all generations.
    pub usage: Usage,
    /// How long the run took.
    #[serde(with = "seconds")]
    pub elapsed: Duration,
    /// The conversation at the end: the seed of a next turn.
    pub messages: Vec<Message>,
}

/// Durations as seconds with a fraction.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}
