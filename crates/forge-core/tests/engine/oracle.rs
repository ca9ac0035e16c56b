//! What must hold in every run, judged from the trace alone and counted anew each time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forge_core::{
    Answer, BlockedCall, CallId, Constraint, Counts, GuardrailState, Guardrails, InterruptKind, Message, Next,
    NudgeKind, Outcome, Replayed, ReplayedCall, Response, StepOrder, ToolCall, ToolName, Verdict, Workflow,
};

use crate::support::{Move, Run, Step};

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
    happened: Vec<Replayed>,
}

impl Watched {
    pub(crate) fn new(workflow: Arc<Workflow>) -> Self {
        Self { run: Run::new(Arc::clone(&workflow)), workflow, trace: Vec::new(), happened: Vec::new() }
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
                entry.told = batch.blocked.iter().map(|blocked| blocked.reason.kind()).collect();
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
            self.happened.push(happened(&step));
            let invents = self.trace.iter().filter(|entry| entry.told.contains(&NudgeKind::UnknownTool)).count();
            let limit = usize::try_from(self.workflow.budgets().failures_per_tool).unwrap();
            assert!(self.run.ended || invents < limit, "{invents} answers invented tools, and the run goes on");
            self.assert_replayed();
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

    /// The guardrails that relive a run are those that lived through it; told less, they still know what was done.
    fn assert_replayed(&self) {
        let live = comparable(self.state());
        let replayed = |happened: Vec<Replayed>| Guardrails::replay(Arc::clone(&self.workflow), happened);
        assert_eq!(comparable(replayed(self.happened.clone()).state()), live, "{:?}", self.happened);
        let without_kinds = self.happened.iter().cloned().map(forget_kinds).collect();
        let without_kinds = comparable(replayed(without_kinds).state());
        for field in ["tracker", "recent", "failing", "successes", "failures", "ids", "iterations", "rung", "ended"] {
            assert_eq!(without_kinds[field], live[field], "{field} without kinds: {:?}", self.happened);
        }
        let from_messages = comparable(replayed(Replayed::from_messages(&self.run.messages)).state());
        for field in ["tracker", "failing", "successes", "failures", "ids"] {
            assert_eq!(from_messages[field], live[field], "{field} from messages: {:?}", self.run.messages);
        }
        for replayed in [without_kinds, from_messages] {
            assert_eq!(replayed["counts"]["failing_batches"], live["counts"]["failing_batches"]);
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
            InterruptKind::InventedTools { attempts, limit } => {
                let invents = |entry: &&Entry| entry.told.contains(&NudgeKind::UnknownTool);
                let counted = u32::try_from(self.trace.iter().filter(invents).count()).unwrap();
                assert!(*attempts == counted || *attempts == counted + 1, "{attempts} of {counted}");
                (*attempts, limit - 1, *limit)
            }
            InterruptKind::Iterations { limit } => (*limit, limit - 1, budgets.iterations),
            InterruptKind::ContextBudgetExceeded { .. } => panic!("the engine knows no context"),
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

/// What a step was, for guardrails that relive it.
fn happened(step: &Step) -> Replayed {
    let calls_of = |turn: &Message, blocked: &[BlockedCall]| {
        let Message::Assistant { calls, .. } = turn else { panic!("{turn:?}") };
        let answer = |call: &ToolCall| {
            let refused = blocked.iter().find(|blocked| blocked.id == call.id);
            let ran = || step.outcomes.iter().find(|(id, _)| *id == call.id).unwrap().1.clone();
            refused.map_or_else(|| Answer::Ran(ran()), |blocked| Answer::Blocked(Some(blocked.reason.kind())))
        };
        calls.iter().map(|call| ReplayedCall { call: call.clone(), answer: answer(call) }).collect()
    };
    match &step.verdict {
        Verdict::Execute(batch) => Replayed::Calls { calls: calls_of(&batch.turn, &batch.blocked), beside: Vec::new() },
        Verdict::Reprompt(reprompt) if !reprompt.blocked.is_empty() => {
            Replayed::Calls { calls: calls_of(&reprompt.messages[0], &reprompt.blocked), beside: Vec::new() }
        }
        Verdict::Reprompt(reprompt) => match reprompt.nudges.first() {
            Some(nudge) => Replayed::Refused(Some(nudge.kind)),
            None => Replayed::Silent,
        },
        Verdict::Accept { .. } => Replayed::Accepted,
        Verdict::Halt(_) => panic!("a halted run has nothing to go on from"),
    }
}

/// What a driver knows that has only calls and results.
fn forget_kinds(item: Replayed) -> Replayed {
    match item {
        Replayed::Calls { mut calls, beside } => {
            for call in &mut calls {
                if let Answer::Blocked(kind) = &mut call.answer {
                    *kind = None;
                }
            }
            Replayed::Calls { calls, beside }
        }
        other => other,
    }
}

/// A state without what no conversation says and no verdict depends on.
fn comparable(state: &GuardrailState) -> serde_json::Value {
    let mut state = serde_json::to_value(state).unwrap();
    state["last_response"] = serde_json::Value::Null;
    state["ids"]["made"] = serde_json::Value::Null;
    state
}

fn has_failed(entry: &Entry) -> bool {
    entry.ran.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failure(_) | Outcome::TimedOut(_)))
}

fn is_clean(entry: &Entry) -> bool {
    let has = |wanted: fn(&Outcome) -> bool| entry.ran.iter().any(|(_, outcome)| wanted(outcome));
    has(|outcome| matches!(outcome, Outcome::Success(_)))
        && !has(|outcome| *outcome == Outcome::Cancelled)
        && !has_failed(entry)
}
