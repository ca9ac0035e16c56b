//! The guardrail engine: messages, workflows, verdicts, budgets and nudges.
//!
//! The engine does no I/O and knows no clock: a model's [`Response`] goes in, a [`Verdict`] comes out; the
//! [`Outcome`]s of the tools go in, a [`Recorded`] comes out.
#![forbid(unsafe_code)]

mod budgets;
mod call_ids;
mod canonical;
mod collapse;
mod constraint;
mod context;
mod example;
mod excerpt;
mod failures;
mod guardrail_set;
mod guardrails;
mod interrupt;
mod legality;
mod message;
mod nudges;
mod reading;
mod repetition;
mod response;
mod runaway;
mod templates;
mod tracker;
mod verdict;
mod workflow;

pub use budgets::Budgets;
pub use constraint::Constraint;
pub use context::{
    BYTES_PER_TOKEN, Compaction, CompactionStrategy, Compactor, ContextBudgetExceeded, ContextManager, ContextState,
    ContextWarning, DEFAULT_KEEP_RECENT, DEFAULT_THRESHOLD, Estimate, EstimateSource, Fitted, InvalidContext,
    NoCompact, ShareField, SlidingWindow, Thinking, TieredCompact, estimate_message, place_summary,
};
pub use forge_parse::{
    Arguments, Dialect, Fault, FieldFault, FieldProblem, FinishReason, ParsedCall, Repair, ToolName, ToolSpec, Toolset,
};
pub use guardrail_set::{GuardrailSet, UnknownPreset};
pub use guardrails::{Answer, CheckError, Counts, GuardrailState, Guardrails, RecordError, Replayed, ReplayedCall};
pub use interrupt::{Account, Interrupt, InterruptKind};
pub use message::{CallId, Message, ResultKind, ToolCall, UserOrigin};
pub use response::{RawCall, Response, Usage};
pub use runaway::{Loop, Runaway};
pub use templates::{
    InvalidTemplates, OverrideProblem, TemplateError, TemplateInfo, TemplateVariable, Templates, check_template,
    render_prompt,
};
pub use tracker::StepTracker;
pub use verdict::{
    ApprovedCall, Batch, BlockReason, BlockedCall, Next, Nudge, NudgeKind, Outcome, Recorded, Reprompt, Verdict,
};
pub use workflow::{
    ConstraintMode, HintMode, InvalidWorkflow, Ladder, NeverBecause, Prerequisite, Respond, Risk, StepOrder,
    TextPolicy, ToolReference, Workflow, WorkflowBuilder, WorkflowError, WorkflowField,
};
