//! What must hold in every run, judged from the trace alone and counted anew each time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forge_core::{
    BlockReason, CallId, Constraint, Counts, Fault, GuardrailState, Guardrails, InterruptKind, Message, Next,
    NudgeKind, Outcome, Response, StepOrder, ToolCall, ToolName, Verdict, Workflow,
};

use crate::support::{Move, Run};

/// One response of a run and all that followed from it.
#[derive(Clone)]
struct Entry {
    /// What the model was told about: of a reprompt its nudges, of a batch its refusals.
    told: Vec<NudgeKind>,
    /// The calls that ran, with their outcomes.
    ran: Vec<(ToolCall, Outcome)>,
}

/// A run that checks itself.
#[derive(Clone)]
pub(crate) struct Watched {
    workflow: Arc<Workflow>,
    run: Run,
    trace: Vec<Entry>,
}

impl Watched {
    pub(crate) fn new(workflow: Arc<Workflow>) -> Self {
        Self { run: Run::new(Arc::clone(&workflow)), workflow, trace: Vec::new() }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.run.ended
    }

    pub(crate) fn state(&self) -> &GuardrailState {
        self.run.guardrails.state()
    }

    /// Makes a move and asserts every invariant.
    pub(crate) fn step(&mut self, made: &Move) {
        let restored = self.restored();
        let step = self.run.step(made);
        self.assert_restored_agrees(restored, &made.response, &step.verdict, &step.outcomes, step.next.as_ref());
        let mut entry = Entry { told: Vec::new(), ran: Vec::new() };
        match &step.verdict {
            Verdict::Execute(batch) => {
                assert!(!batch.calls.is_empty());
                assert_eq!(batch.blocked.len(), batch.replies.len());
                entry.told = batch.blocked.iter().map(|blocked| kind(&blocked.reason)).collect();
                for (approved, (id, outcome)) in batch.calls.iter().zip(&step.outcomes) {
                    assert_eq!(&approved.call.id, id);
                    self.assert_may_run(&approved.call);
                    entry.ran.push((approved.call.clone(), outcome.clone()));
                }
                let terminal = batch.calls.iter().filter(|approved| approved.terminal).count();
                assert!(terminal <= 1, "two terminal calls run");
            }
            Verdict::Reprompt(reprompt) => {
                entry.told = reprompt.nudges.iter().map(|nudge| nudge.kind).collect();
                self.assert_constraint(&reprompt.constraint);
            }
            Verdict::Accept { .. } => {
                assert!(self.pending().is_empty(), "text was accepted with steps open");
            }
            Verdict::Halt(interrupt) => self.assert_exhausted(&interrupt.kind),
        }
        let halted = matches!(step.verdict, Verdict::Halt(_));
        self.trace.push(entry);
        match &step.next {
            Some(Next::Continue { constraint }) => self.assert_constraint(constraint),
            Some(Next::Halt { interrupt }) => self.assert_exhausted(&interrupt.kind),
            Some(Next::Finished { call, .. }) => assert!(self.workflow.is_terminal(&call.name)),
            None => {}
        }
        if !halted {
            assert_eq!(self.run.guardrails.state().counts(), self.counted());
            self.assert_paired();
        }
        self.assert_account();
    }

    fn restored(&self) -> Guardrails {
        let json = serde_json::to_string(self.run.guardrails.state()).unwrap();
        let state: GuardrailState = serde_json::from_str(&json).unwrap();
        assert_eq!(&state, self.run.guardrails.state());
        Guardrails::from_state(Arc::clone(&self.workflow), state)
    }

    /// A run that is stored and loaded before and in the middle of each move goes the same way.
    fn assert_restored_agrees(
        &self,
        mut restored: Guardrails,
        response: &Response,
        verdict: &Verdict,
        outcomes: &[(CallId, Outcome)],
        next: Option<&Next>,
    ) {
        assert_eq!(&restored.check(response).unwrap(), verdict);
        if let Some(next) = next {
            let json = serde_json::to_string(restored.state()).unwrap();
            let state = serde_json::from_str(&json).unwrap();
            let mut restored = Guardrails::from_state(Arc::clone(&self.workflow), state);
            assert_eq!(&restored.record(outcomes).unwrap().next, next);
            assert_eq!(restored.state(), self.run.guardrails.state());
        }
    }

    fn successes(&self) -> impl Iterator<Item = &ToolCall> {
        let ran = self.trace.iter().flat_map(|entry| &entry.ran);
        ran.filter(|(_, outcome)| matches!(outcome, Outcome::Success(_))).map(|(call, _)| call)
    }

    fn succeeded(&self) -> BTreeSet<&ToolName> {
        self.successes().map(|call| &call.name).collect()
    }

    fn pending(&self) -> Vec<&ToolName> {
        let done = self.succeeded();
        self.workflow.required_steps().iter().filter(|step| !done.contains(step)).collect()
    }

    /// Judged by what had succeeded before the response.
    fn assert_may_run(&self, call: &ToolCall) {
        let pending = self.pending();
        assert!(pending.is_empty() || !self.workflow.is_terminal(&call.name), "{} ran with open steps", call.name);
        if self.workflow.step_order() == StepOrder::Listed {
            let place = pending.iter().position(|step| **step == call.name);
            assert!(place.is_none_or(|place| place == 0), "{} ran out of order", call.name);
        }
        for prerequisite in self.workflow.prerequisites(&call.name) {
            let value = |call: &ToolCall| {
                let argument = prerequisite.argument.as_ref()?;
                call.arguments.to_object().get(argument).cloned()
            };
            let met =
                self.successes().any(|earlier| earlier.name == prerequisite.tool && value(earlier) == value(call));
            assert!(met, "{} ran without {prerequisite:?}", call.name);
        }
    }

    fn assert_constraint(&self, constraint: &Constraint) {
        let Constraint::Only(tools) = constraint else { return };
        assert!(!tools.is_empty());
        let legal = self.run.guardrails.legal_tools();
        assert!(tools.iter().all(|tool| legal.contains(tool)), "{tools:?} are offered, {legal:?} are legal");
        let pending = self.pending();
        assert!(pending.is_empty() || !tools.iter().any(|tool| self.workflow.is_terminal(tool)));
    }

    fn assert_exhausted(&self, kind: &InterruptKind) {
        let budgets = self.workflow.budgets();
        let (count, limit, reached) = match kind {
            InterruptKind::FormatRetries { attempts, limit, .. } => (*attempts, *limit, budgets.format_retries + 1),
            InterruptKind::ToolErrors { batches, limit } => (*batches, *limit, budgets.tool_errors + 1),
            InterruptKind::PrematureTerminal { attempts, limit } => (*attempts, *limit, budgets.premature_attempts + 1),
            InterruptKind::PrerequisiteViolations { violations, limit } => {
                (*violations, *limit, budgets.prerequisite_violations + 1)
            }
            InterruptKind::Repetition { times, limit } => (*times, *limit, budgets.repetitions + 1),
            InterruptKind::ToolFailures { failures, limit, .. } => (*failures, limit - 1, *limit),
            InterruptKind::Iterations { limit } => (*limit, limit - 1, budgets.iterations),
        };
        assert_eq!((count, count), (reached, limit + 1), "{kind:?}");
    }

    /// The counts, from the end of the trace back to where each was last forgiven.
    fn counted(&self) -> Counts {
        let silent = |entry: &Entry| entry.told.is_empty() && entry.ran.is_empty();
        let refused = |entry: &Entry, kinds: &[NudgeKind]| {
            entry.ran.is_empty() && entry.told.iter().any(|kind| kinds.contains(kind))
        };
        let mut format = 0;
        for entry in self.trace.iter().rev() {
            if refused(entry, &FORM) {
                format += 1;
            } else if !silent(entry) && (entry.ran.is_empty() || entry.told.is_empty()) {
                break;
            }
        }
        let since_clean = |kinds: &[NudgeKind]| {
            let mut count = 0;
            for entry in self.trace.iter().rev() {
                if is_clean(entry) && !entry.told.iter().any(|kind| kinds.contains(kind)) {
                    break;
                }
                count += u32::from(refused(entry, kinds));
            }
            count
        };
        let batches = self.trace.iter().rev().filter(|entry| !entry.ran.is_empty());
        let failing = batches.take_while(|entry| !is_clean(entry)).filter(|entry| has_failed(entry)).count();
        Counts {
            format_faults: format,
            failing_batches: u32::try_from(failing).unwrap(),
            premature_attempts: since_clean(&[NudgeKind::PrematureTerminal]),
            prerequisite_violations: since_clean(&[NudgeKind::StepOrder, NudgeKind::Prerequisite]),
            repetitions: since_clean(&[NudgeKind::Repetition]),
        }
    }

    /// Every call of a turn is answered once before the next turn, and no id stands for two calls.
    fn assert_paired(&self) {
        let mut ids = BTreeSet::new();
        let mut open: BTreeSet<&CallId> = BTreeSet::new();
        for message in &self.run.messages {
            match message {
                Message::Assistant { calls, .. } => {
                    assert!(open.is_empty(), "{open:?} have no answer");
                    open = calls.iter().map(|call| &call.id).collect();
                    assert_eq!(open.len(), calls.len());
                    assert!(calls.iter().all(|call| ids.insert(&call.id)), "an id was given twice");
                }
                Message::Tool { call_id, .. } => assert!(open.remove(call_id), "{call_id} was answered and not asked"),
                Message::System { .. } | Message::User { .. } => {}
            }
        }
        assert!(open.is_empty(), "{open:?} have no answer");
    }

    fn assert_account(&self) {
        let account = self.run.guardrails.account();
        assert_eq!(usize::try_from(account.iterations).unwrap(), self.trace.len());
        assert!(account.iterations <= self.workflow.budgets().iterations, "the run goes on without end");
        let mut successes: BTreeMap<ToolName, u32> = BTreeMap::new();
        for call in self.successes() {
            *successes.entry(call.name.clone()).or_default() += 1;
        }
        assert_eq!(account.successes, successes);
        assert_eq!(account.pending_steps.iter().collect::<Vec<_>>(), self.pending());
    }
}

const FORM: [NudgeKind; 9] = [
    NudgeKind::Empty,
    NudgeKind::ReasoningOnly,
    NudgeKind::TextOnly,
    NudgeKind::UnknownTool,
    NudgeKind::MalformedArguments,
    NudgeKind::InvalidArguments,
    NudgeKind::Truncated,
    NudgeKind::Unreadable,
    NudgeKind::RepeatedText,
];

fn has_failed(entry: &Entry) -> bool {
    entry.ran.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failure(_) | Outcome::TimedOut(_)))
}

fn is_clean(entry: &Entry) -> bool {
    let has = |wanted: fn(&Outcome) -> bool| entry.ran.iter().any(|(_, outcome)| wanted(outcome));
    has(|outcome| matches!(outcome, Outcome::Success(_)))
        && !has(|outcome| *outcome == Outcome::Cancelled)
        && !has_failed(entry)
}

fn kind(reason: &BlockReason) -> NudgeKind {
    match reason {
        BlockReason::Fault { fault } => match fault {
            Fault::UnknownTool { .. } => NudgeKind::UnknownTool,
            Fault::MalformedArguments { .. } => NudgeKind::MalformedArguments,
            Fault::InvalidArguments { .. } => NudgeKind::InvalidArguments,
            Fault::Truncated { .. } => NudgeKind::Truncated,
            Fault::Unreadable { .. } => NudgeKind::Unreadable,
            Fault::RepeatedText { .. } => NudgeKind::RepeatedText,
        },
        BlockReason::PrematureTerminal { .. } => NudgeKind::PrematureTerminal,
        BlockReason::StepOrder { .. } => NudgeKind::StepOrder,
        BlockReason::Prerequisite { .. } => NudgeKind::Prerequisite,
        BlockReason::Repetition { .. } => NudgeKind::Repetition,
        BlockReason::SecondTerminal { .. } => NudgeKind::SecondTerminal,
    }
}
