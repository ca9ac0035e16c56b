//! The state machine that judges responses and takes outcomes.

use std::sync::Arc;

use crate::interrupt::Interrupt;
use crate::legality::Legality;
use crate::nudges::Voice;
use crate::{
    Account, CallId, Constraint, ContextBudgetExceeded, Fitted, HintMode, InterruptKind, Message, TemplateError,
    ToolName, Workflow,
};

mod check;
mod ladder;
mod record;
mod replay;
mod state;

pub use replay::{Answer, Replayed, ReplayedCall};
pub use state::{Counts, GuardrailState};

/// The guardrails of one run: a response goes in, a verdict comes out; outcomes go in, what follows comes out.
///
/// ```
/// use std::sync::Arc;
///
/// use forge_core::{Guardrails, Next, Outcome, RawCall, Response, ToolSpec, Verdict, Workflow};
///
/// let tools = ["look", "report"].map(|name| ToolSpec::new(name, "", ToolSpec::no_parameters()));
/// let workflow = Workflow::builder("watch").tools(tools).required_steps(["look"]).terminal_tool("report").build()?;
/// let mut guardrails = Guardrails::new(Arc::new(workflow));
///
/// let call = |name: &str| Response {
///     calls: vec![RawCall { id: None, name: name.to_owned(), arguments: "{}".to_owned() }],
///     ..Response::default()
/// };
/// // Too early: the model is told what comes first.
/// assert!(matches!(guardrails.check(&call("report"))?, Verdict::Reprompt(_)));
/// for (name, is_end) in [("look", false), ("report", true)] {
///     let Verdict::Execute(batch) = guardrails.check(&call(name))? else { panic!() };
///     let outcomes: Vec<_> =
///         batch.calls.iter().map(|approved| (approved.call.id.clone(), Outcome::Success("fine".to_owned()))).collect();
///     let recorded = guardrails.record(&outcomes)?;
///     assert_eq!(matches!(recorded.next, Next::Finished { .. }), is_end);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Guardrails {
    workflow: Arc<Workflow>,
    state: GuardrailState,
}

/// Why a response can't be checked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CheckError {
    /// The outcomes of the last batch are missing.
    #[error("{} calls wait for their outcomes; give them to `record` before the next response is checked", calls.len())]
    BatchOpen {
        /// The calls that wait.
        calls: Vec<CallId>,
    },
    /// A terminal tool succeeded, text was accepted, or a budget ran out.
    #[error("the turn has ended; begin another one with `begin_turn`, or another run with `Guardrails::new`")]
    Ended,
    /// A text of the engine can't be rendered.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// Why outcomes can't be recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// No batch waits for outcomes.
    #[error("no calls wait for outcomes; outcomes follow a verdict to execute, once")]
    NoBatch,
    /// An outcome for a call that isn't in the batch.
    #[error("no call of the batch has the id `{id}`")]
    UnknownCall {
        /// The id.
        id: CallId,
    },
    /// Two outcomes for one call.
    #[error("call `{id}` has two outcomes; give one for each call")]
    DuplicateOutcome {
        /// The id.
        id: CallId,
    },
    /// Calls without an outcome.
    #[error(
        "{} calls have no outcome; a call that was not run to its end is `Outcome::Cancelled` or `Outcome::TimedOut`", calls.len()
    )]
    MissingOutcomes {
        /// The calls.
        calls: Vec<CallId>,
    },
    /// A text of the engine can't be rendered.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl Guardrails {
    /// The guardrails of a new run.
    pub fn new(workflow: Arc<Workflow>) -> Self {
        Self::from_state(workflow, GuardrailState::default())
    }

    /// Goes on from a state of an earlier run of the same workflow.
    pub fn from_state(workflow: Arc<Workflow>, state: GuardrailState) -> Self {
        Self { workflow, state }
    }

    /// The state: all that is needed to go on later.
    pub fn state(&self) -> &GuardrailState {
        &self.state
    }

    /// The workflow.
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    /// Keeps the ids of a conversation that the run goes on from, so that none is given twice.
    pub fn reserve_ids(&mut self, messages: &[Message]) {
        for message in messages {
            match message {
                Message::Assistant { calls, .. } => calls.iter().for_each(|call| self.state.ids.reserve(&call.id)),
                Message::Tool { call_id, .. } => self.state.ids.reserve(call_id),
                Message::System { .. } | Message::User { .. } => {}
            }
        }
    }

    /// Begins another turn of the conversation: budgets and failures start anew; steps that are done stay done.
    ///
    /// # Errors
    /// [`CheckError::BatchOpen`] when the outcomes of the last batch haven't been recorded.
    pub fn begin_turn(&mut self) -> Result<(), CheckError> {
        self.no_batch_is_open()?;
        self.another_turn();
        Ok(())
    }

    fn another_turn(&mut self) {
        let state = std::mem::take(&mut self.state);
        self.state = GuardrailState {
            tracker: state.tracker,
            ids: state.ids,
            successes: state.successes,
            failures: state.failures,
            ..GuardrailState::default()
        };
    }

    fn no_batch_is_open(&self) -> Result<(), CheckError> {
        match &self.state.open {
            None => Ok(()),
            Some(open) => Err(CheckError::BatchOpen { calls: open.calls.iter().map(|call| call.id.clone()).collect() }),
        }
    }

    /// The tools of which a call can be legal now. Never empty.
    pub fn legal_tools(&self) -> Vec<ToolName> {
        self.legality().legal_tools()
    }

    /// The legal tools that bring the run nearer to its end. Empty where only text is left.
    pub fn next_tools(&self) -> Vec<ToolName> {
        self.legality().next_tools()
    }

    /// The required steps that are open, in the order of the workflow.
    pub fn pending_steps(&self) -> Vec<ToolName> {
        self.legality().pending()
    }

    /// The required steps that are done, in the order of the workflow.
    pub fn completed_steps(&self) -> Vec<ToolName> {
        let done = |step: &&ToolName| self.state.tracker.completed().contains(step);
        self.workflow.required_steps().iter().filter(done).cloned().collect()
    }

    /// What the next generation may be: for the first one and after a restored state. Verdicts carry it too.
    pub fn first_constraint(&self) -> Constraint {
        self.constraint()
    }

    /// One line about what is done and what comes next, to put before a model that has lost the thread.
    ///
    /// # Errors
    /// When the text can't be rendered.
    pub fn progress(&self) -> Result<Option<String>, TemplateError> {
        self.voice().progress()
    }

    /// What to put in the place of what compaction removed, for [`ContextManager::fit`](crate::ContextManager::fit). None
    /// where there is nothing to say.
    ///
    /// # Errors
    /// When the text can't be rendered.
    pub fn summary(&self) -> Result<Option<String>, TemplateError> {
        self.voice().summary()
    }

    /// What to add to one prompt, and not to the conversation, after the context was compacted or a share of it was passed:
    /// the hint about progress where the workflow wants hints when they are needed, or the warning. None where there is
    /// nothing to say, or nudges are off.
    ///
    /// # Errors
    /// When the text can't be rendered.
    pub fn context_note(&self, fitted: &Fitted) -> Result<Option<String>, TemplateError> {
        if !self.workflow.guardrails().nudges {
            return Ok(None);
        }
        if let Some(warning) = &fitted.warning {
            return Ok(Some(self.voice().context_warning(warning.percent())?));
        }
        match self.workflow.hints() {
            // With `Always` the last result has it already.
            HintMode::Never | HintMode::Always => Ok(None),
            HintMode::WhenNeeded if fitted.compactions.is_empty() => Ok(None),
            HintMode::WhenNeeded => Ok(self.voice().progress()?.map(|line| format!("[{line}]"))),
        }
    }

    /// Ends the turn because the conversation doesn't fit the context budget.
    pub fn exceed_context(&mut self, exceeded: ContextBudgetExceeded) -> Interrupt {
        self.halt(InterruptKind::ContextBudgetExceeded { exceeded })
    }

    /// What has happened so far.
    pub fn account(&self) -> Account {
        Account {
            iterations: self.state.iterations,
            completed_steps: self.completed_steps(),
            pending_steps: self.pending_steps(),
            successes: self.state.successes.clone(),
            failures: self.state.failures.clone(),
            last_response: self.state.last_response.clone(),
        }
    }

    fn legality(&self) -> Legality<'_> {
        Legality::new(&self.workflow, &self.state.tracker)
    }

    fn voice(&self) -> Voice<'_> {
        let completed = if self.workflow.guardrails().steps { self.state.tracker.completed() } else { &[] };
        Voice::new(&self.workflow, self.legality(), completed)
    }

    fn halt(&mut self, kind: InterruptKind) -> Interrupt {
        self.state.ended = true;
        Interrupt { kind, account: self.account() }
    }
}
