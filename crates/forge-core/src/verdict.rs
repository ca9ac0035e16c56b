use serde::{Deserialize, Serialize};

use crate::{CallId, Constraint, Dialect, Fault, Interrupt, Message, Repair, ToolCall, ToolName};

/// What a driver has to do with a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Run the calls of the batch, then give every outcome to `record`.
    Execute(Batch),
    /// Append the messages and generate again under the constraint.
    Reprompt(Reprompt),
    /// The text ends the turn. Only where the workflow lets text end a turn.
    Accept {
        /// The assistant's message, to append.
        turn: Message,
    },
    /// A budget ran out.
    Halt(Interrupt),
}

/// The calls of one response that may run, and those that may not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The assistant's message with all calls of the turn, to append first.
    pub turn: Message,
    /// The calls to run, in order. Never empty.
    pub calls: Vec<ApprovedCall>,
    /// The calls that don't run; their answers are among `replies`.
    pub blocked: Vec<BlockedCall>,
    /// One tool message for each blocked call, to append after `turn`.
    pub replies: Vec<Message>,
}

/// A call that may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovedCall {
    /// The call.
    pub call: ToolCall,
    /// The notation the model wrote it in.
    pub dialect: Dialect,
    /// What was repaired or coerced.
    pub repairs: Vec<Repair>,
    /// Whether it is a terminal tool: its success ends the run.
    pub terminal: bool,
}

/// A call that was not let through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockedCall {
    /// The call's id.
    pub id: CallId,
    /// The name as the model wrote it.
    pub name: String,
    /// Why.
    pub reason: BlockReason,
}

/// Why a call was not let through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum BlockReason {
    /// Its name or its arguments are wrong.
    Fault {
        /// What is wrong.
        fault: Fault,
    },
    /// It is a terminal tool and required steps are open.
    PrematureTerminal {
        /// The open steps.
        pending: Vec<ToolName>,
        /// The attempt's number, from 1.
        attempt: u32,
    },
    /// The workflow's order has another step first.
    StepOrder {
        /// The step that is due.
        due: ToolName,
    },
    /// A prerequisite isn't met.
    Prerequisite {
        /// The tool that has to succeed first.
        tool: ToolName,
        /// The argument that has to have the same value in both calls, and the value asked for.
        matching: Option<(String, serde_json::Value)>,
    },
    /// It only repeats what was done, and the results were the same.
    Repetition {
        /// How many calls the repeated round has; 1 is the same call again.
        round: u32,
        /// How often in a row such a call was refused, from 1.
        times: u32,
    },
    /// Another terminal call of the same response runs.
    SecondTerminal {
        /// The call that runs.
        first: CallId,
    },
}

impl BlockReason {
    /// What the model was told it is about.
    pub fn kind(&self) -> NudgeKind {
        match self {
            Self::Fault { fault } => match fault {
                Fault::UnknownTool { .. } => NudgeKind::UnknownTool,
                Fault::MalformedArguments { .. } => NudgeKind::MalformedArguments,
                Fault::InvalidArguments { .. } => NudgeKind::InvalidArguments,
                Fault::Truncated { .. } => NudgeKind::Truncated,
                Fault::Unreadable { .. } => NudgeKind::Unreadable,
                Fault::RepeatedText { .. } => NudgeKind::RepeatedText,
            },
            Self::PrematureTerminal { .. } => NudgeKind::PrematureTerminal,
            Self::StepOrder { .. } => NudgeKind::StepOrder,
            Self::Prerequisite { .. } => NudgeKind::Prerequisite,
            Self::Repetition { .. } => NudgeKind::Repetition,
            Self::SecondTerminal { .. } => NudgeKind::SecondTerminal,
        }
    }
}

/// Messages to append before the next generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reprompt {
    /// The assistant's turn and its answers (tool messages for blocked calls, a user message for faulty text), in order.
    pub messages: Vec<Message>,
    /// What was said, for observers: one entry for each fault.
    pub nudges: Vec<Nudge>,
    /// The calls that were not let through; empty where the response had none.
    pub blocked: Vec<BlockedCall>,
    /// What the next generation may be.
    pub constraint: Constraint,
}

/// A nudge that was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nudge {
    /// What it is about.
    pub kind: NudgeKind,
    /// The text the model sees.
    pub text: String,
}

/// What a nudge is about; each kind has its template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NudgeKind {
    /// The answer was empty.
    Empty,
    /// The answer was nothing but thinking.
    ReasoningOnly,
    /// Text where a call was due.
    TextOnly,
    /// A tool that isn't offered.
    UnknownTool,
    /// Arguments that are no JSON object.
    MalformedArguments,
    /// Arguments that don't satisfy the schema.
    InvalidArguments,
    /// The output ended inside a call.
    Truncated,
    /// Markup of a call that can't be read.
    Unreadable,
    /// Text that repeats itself over and over.
    RepeatedText,
    /// A terminal tool before the required steps.
    PrematureTerminal,
    /// A step out of order.
    StepOrder,
    /// A call before its prerequisite.
    Prerequisite,
    /// A call that only repeats what was done.
    Repetition,
    /// A terminal call beside another one.
    SecondTerminal,
}

/// What became of an approved call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "content", rename_all = "snake_case")]
pub enum Outcome {
    /// It worked; the text goes to the model.
    Success(String),
    /// It failed; the text goes to the model and counts against the budget.
    Failure(String),
    /// The call was right and the data isn't there; told to the model, never counted, and the step isn't marked.
    NoData(String),
    /// It passed its time limit; counts as a failure.
    TimedOut(String),
    /// The run was cancelled before it ended; not counted.
    Cancelled,
}

/// What `record` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// One tool message for each outcome, and hints if any, to append.
    pub messages: Vec<Message>,
    /// Required steps that these outcomes completed.
    pub completed: Vec<ToolName>,
    /// How the run goes on.
    pub next: Next,
}

/// How a run goes on after a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "next", rename_all = "snake_case")]
pub enum Next {
    /// Generate again under the constraint.
    Continue {
        /// What the next generation may be.
        constraint: Constraint,
    },
    /// A terminal tool succeeded: the run is done.
    Finished {
        /// The terminal call.
        call: ToolCall,
        /// What the tool answered.
        result: String,
    },
    /// A budget ran out.
    Halt {
        /// The account.
        interrupt: Interrupt,
    },
}
