//! What becomes of a generation that has ended.

use std::sync::Arc;

use forge_core::{
    Batch, BlockReason, Budgets, Constraint, Fault, FinishReason, Guardrails, Message, NudgeKind, Reprompt, Response,
    ResultKind, TextPolicy, ToolCall, Verdict, Workflow,
};
use forge_parse::{Parsed, ParserOptions};
use serde_json::{Value, json};

use super::reading::{Read, Reading};
use super::unusable;
use crate::config::GuardConfig;
use crate::error::ClientError;
use crate::history;
use crate::piece::FinalCall;
use crate::random;
use crate::turn::{Choice, Turn};

/// Nothing but the number of retries limits a request: the client owns the loop, and its budgets are its own.
const UNLIMITED: Budgets = Budgets {
    format_retries: u32::MAX,
    tool_errors: u32::MAX,
    premature_attempts: u32::MAX,
    prerequisite_violations: u32::MAX,
    repetitions: u32::MAX,
    failures_per_tool: u32::MAX,
    iterations: u32::MAX,
};

/// What is said to a model that calls a tool where none may be called.
const NO_CALLS: &str = "No tool can be called now. Answer in text.";

/// What is said to a model that did nothing but think.
const ONLY_THOUGHTS: &str = "You only thought and gave no answer. Answer now, in a few words, without thinking first.";

/// What a valid call is answered that stood beside one that wasn't.
const BESIDE: &str = "Not run, because another call of the same answer was wrong. Make both calls again in one answer.";

/// What a client is to be given.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<FinalCall>,
    pub(crate) finish: FinishReason,
}

/// What becomes of a generation.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// The client gets it.
    Deliver(Delivery),
    /// The model is asked again.
    Again(Correction),
    /// The model was asked often enough.
    GiveUp {
        /// Its last text, which may be empty.
        text: String,
        /// What was wrong with it.
        why: String,
    },
}

/// How the model is asked again.
#[derive(Debug, Default)]
pub(crate) struct Correction {
    /// Messages to append to the chat.
    pub(crate) messages: Vec<Value>,
    /// What the next generation may be.
    pub(crate) constraint: Constraint,
    /// Whether the tools are left out.
    pub(crate) without_tools: bool,
}

/// Judges the generations of one request.
pub(crate) struct Judge {
    mode: Mode,
    /// Made when it is first needed: most answers need none.
    guardrails: Option<Guardrails>,
    retries_left: u32,
    repetition_told: bool,
    thinking_told: bool,
}

enum Mode {
    /// Nothing may be called.
    Open,
    /// These tools may be called.
    Guarded { workflow: Arc<Workflow>, options: ParserOptions },
}

impl Judge {
    /// For the answers to a request.
    ///
    /// # Errors
    /// When the request forces a tool that it doesn't offer.
    pub(crate) fn new(turn: &Turn, config: GuardConfig) -> Result<Self, ClientError> {
        let mode = if turn.offered.is_empty() || turn.choice == Choice::None {
            Mode::Open
        } else {
            let options = ParserOptions { data_requested: turn.data_requested(), ..ParserOptions::default() };
            Mode::Guarded { workflow: workflow(turn)?, options }
        };
        Ok(Self {
            mode,
            guardrails: None,
            retries_left: config.max_retries,
            repetition_told: false,
            thinking_told: false,
        })
    }

    /// A reader for the next generation.
    pub(crate) fn reading(&self) -> Reading {
        match &self.mode {
            Mode::Open => Reading::open(),
            Mode::Guarded { workflow, options } => Reading::guarded(Arc::clone(workflow.toolset()), options.clone()),
        }
    }

    /// Whether text can be an answer, so that it may be shown before the end of the generation.
    pub(crate) fn text_may_be_the_answer(&self) -> bool {
        match &self.mode {
            Mode::Open => true,
            Mode::Guarded { workflow, .. } => workflow.text() == TextPolicy::Accept,
        }
    }

    /// Judges a generation.
    pub(crate) fn rule(&mut self, turn: &Turn, read: Read) -> Ruling {
        let ruling = match self.mode {
            Mode::Open => self.open(read.response, read.parsed),
            Mode::Guarded { .. } => self.guarded(turn, &read.response, read.parsed),
        };
        self.limited(ruling)
    }

    /// Judges a generation that the backend reported as an error.
    pub(crate) fn rule_unusable(&mut self, turn: &Turn, text: Option<String>, message: &str) -> Ruling {
        match &self.mode {
            // The fault is the sample's: another one may have none.
            Mode::Open => self.limited(Judged::refused(Correction::default(), String::new(), message.to_owned())),
            Mode::Guarded { workflow, options } => {
                let read = unusable(workflow.toolset(), options, text, message);
                self.rule(turn, read)
            }
        }
    }

    /// Nothing may be called: text is text, and a call is dropped.
    fn open(&mut self, response: Response, parsed: Parsed) -> Judged {
        if let Some(loops) = parsed.faults().find(|fault| matches!(fault, Fault::RepeatedText { .. })) {
            return Judged::refused(Correction::default(), parsed.text.clone(), loops.to_string());
        }
        if !parsed.text.trim().is_empty() {
            let finish = if response.calls.is_empty() { response.finish } else { FinishReason::Stop };
            return Judged::Deliver(text_delivery(parsed.text, parsed.reasoning, finish));
        }
        if !response.calls.is_empty() {
            let correction =
                Correction { messages: vec![user(NO_CALLS)], without_tools: true, ..Correction::default() };
            return Judged::refused(correction, String::new(), "it called a tool where none may be called".to_owned());
        }
        let thought = !parsed.reasoning.trim().is_empty();
        if thought && std::mem::replace(&mut self.thinking_told, true) && response.finish == FinishReason::Length {
            // It was told, and its limit is too small for its thoughts: the client hears of the limit.
            return Judged::Deliver(text_delivery(String::new(), parsed.reasoning, FinishReason::Length));
        }
        let messages = if thought { vec![user(ONLY_THOUGHTS)] } else { Vec::new() };
        Judged::refused(Correction { messages, ..Correction::default() }, String::new(), "it was empty".to_owned())
    }

    fn limited(&mut self, ruling: Judged) -> Ruling {
        match ruling {
            Judged::Deliver(delivery) => Ruling::Deliver(delivery),
            Judged::Refuse { correction, text, why } => match self.retries_left.checked_sub(1) {
                Some(left) => {
                    tracing::info!(why, left, "the model is asked again");
                    self.retries_left = left;
                    Ruling::Again(correction)
                }
                None => Ruling::GiveUp { text, why },
            },
        }
    }

    fn guarded(&mut self, turn: &Turn, response: &Response, parsed: Parsed) -> Judged {
        let is_text = parsed.attempts.is_empty() && !parsed.text.trim().is_empty();
        if is_text && self.text_may_be_the_answer() {
            return Judged::Deliver(text_delivery(parsed.text, parsed.reasoning, response.finish));
        }
        let mixed = parsed.calls().next().is_some() && parsed.faults().next().is_some();
        let (text, reasoning) = (parsed.text.clone(), parsed.reasoning.clone());
        let guardrails = match (&mut self.guardrails, &self.mode) {
            (Some(guardrails), _) => guardrails,
            (none, Mode::Guarded { workflow, .. }) => {
                let happened = history::since_last_input(turn.messages());
                none.insert(Guardrails::replay(Arc::clone(workflow), happened))
            }
            (None, Mode::Open) => return Judged::Deliver(text_delivery(text, reasoning, response.finish)),
        };
        let verdict = match guardrails.check_parsed(response, parsed) {
            Ok(verdict) => verdict,
            Err(error) => return Judged::refused(Correction::default(), text, error.to_string()),
        };
        match verdict {
            Verdict::Execute(batch) if mixed || !batch.blocked.is_empty() => refuse_batch(guardrails, batch, text),
            Verdict::Execute(batch) => {
                let calls: Vec<ToolCall> = batch.calls.into_iter().map(|approved| approved.call).collect();
                Judged::Deliver(calls_delivery(turn, response, &calls, text, reasoning))
            }
            Verdict::Accept { .. } => Judged::Deliver(text_delivery(text, reasoning, response.finish)),
            Verdict::Halt(interrupt) => Judged::refused(Correction::default(), text, interrupt.to_string()),
            Verdict::Reprompt(reprompt) => {
                let only_repeats = !reprompt.blocked.is_empty()
                    && reprompt.blocked.iter().all(|blocked| matches!(blocked.reason, BlockReason::Repetition { .. }));
                if only_repeats && std::mem::replace(&mut self.repetition_told, true) {
                    // It was told, and means it: waiting for something looks like this too.
                    let calls = calls_of(&reprompt.messages);
                    return Judged::Deliver(calls_delivery(turn, response, &calls, text, reasoning));
                }
                Judged::reprompted(turn, reprompt, text)
            }
        }
    }
}

/// A ruling before it is known how often the model may still be asked.
enum Judged {
    Deliver(Delivery),
    Refuse { correction: Correction, text: String, why: String },
}

impl Judged {
    fn refused(correction: Correction, text: String, why: String) -> Self {
        Self::Refuse { correction, text, why }
    }

    fn reprompted(turn: &Turn, reprompt: Reprompt, text: String) -> Self {
        let why = reprompt.nudges.last().map_or("the answer was empty", |nudge| nudge.text.as_str()).to_owned();
        // Where text is an answer too, only a model that clearly means to call something is held to it.
        let means_a_call = reprompt.nudges.iter().any(|nudge| match nudge.kind {
            NudgeKind::Empty | NudgeKind::ReasoningOnly | NudgeKind::Repetition | NudgeKind::RepeatedText => false,
            NudgeKind::TextOnly
            | NudgeKind::UnknownTool
            | NudgeKind::MalformedArguments
            | NudgeKind::InvalidArguments
            | NudgeKind::Truncated
            | NudgeKind::Unreadable
            | NudgeKind::PrematureTerminal
            | NudgeKind::StepOrder
            | NudgeKind::Prerequisite
            | NudgeKind::SecondTerminal => true,
        });
        let constraint = match turn.choice {
            Choice::Auto if !means_a_call => Constraint::Free,
            _ => reprompt.constraint,
        };
        let correction =
            Correction { messages: history::to_chat(&reprompt.messages), constraint, without_tools: false };
        Self::refused(correction, text, why)
    }
}

fn workflow(turn: &Turn) -> Result<Arc<Workflow>, ClientError> {
    match &turn.choice {
        Choice::Auto | Choice::None => Ok(turn.offered.workflow(TextPolicy::Accept, UNLIMITED)),
        Choice::Required => Ok(turn.offered.workflow(TextPolicy::Nudge, UNLIMITED)),
        Choice::Forced(tool) => turn.offered.workflow_of(tool, UNLIMITED).ok_or_else(|| {
            let name = turn.offered.names().for_client(tool);
            ClientError::invalid(format!("`tool_choice` names {name:?}, which is not among `tools`"))
        }),
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn text_delivery(text: String, reasoning: String, finish: FinishReason) -> Delivery {
    let finish = match finish {
        FinishReason::ToolCalls => FinishReason::Stop,
        other => other,
    };
    Delivery { text, reasoning, calls: Vec::new(), finish }
}

fn calls_delivery(turn: &Turn, response: &Response, calls: &[ToolCall], text: String, reasoning: String) -> Delivery {
    let given = |id: &str| response.calls.iter().any(|call| call.id.as_ref().is_some_and(|given| given.as_str() == id));
    let offered = &turn.offered;
    let calls = calls.iter().map(|call| FinalCall {
        // The engine's own ids count from one in each request; a client's conversation is longer than that.
        id: if given(call.id.as_str()) { call.id.to_string() } else { random::id("call_") },
        name: offered.names().for_client(&call.name).to_owned(),
        arguments: call.arguments.clone(),
        kind: offered.kind(&call.name),
    });
    Delivery { text, reasoning, calls: calls.collect(), finish: FinishReason::ToolCalls }
}

/// Some calls of an answer are right and some are not: nothing runs, and nothing is dropped without a word.
fn refuse_batch(guardrails: &mut Guardrails, batch: Batch, text: String) -> Judged {
    let outcomes: Vec<_> =
        batch.calls.iter().map(|approved| (approved.call.id.clone(), forge_core::Outcome::Cancelled)).collect();
    let mut messages = vec![batch.turn];
    messages.extend(batch.replies);
    messages.extend(batch.calls.iter().map(|approved| Message::Tool {
        call_id: approved.call.id.clone(),
        name: approved.call.name.clone(),
        content: BESIDE.to_owned(),
        kind: ResultKind::Blocked,
    }));
    // The engine's state has to be closed before the next answer is checked; its texts are for calls that did run.
    if let Err(error) = guardrails.record(&outcomes) {
        return Judged::refused(Correction::default(), text, error.to_string());
    }
    let why = "some of its calls were wrong".to_owned();
    Judged::refused(Correction { messages: history::to_chat(&messages), ..Correction::default() }, text, why)
}

fn calls_of(messages: &[Message]) -> Vec<ToolCall> {
    let calls = messages.iter().find_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls.clone()),
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => None,
    });
    calls.unwrap_or_default()
}
