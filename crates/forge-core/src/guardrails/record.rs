use std::collections::BTreeMap;

use super::state::{Counts, OpenBatch};
use super::{Guardrails, RecordError};
use crate::templates::Text;
use crate::{
    CallId, HintMode, InterruptKind, Message, Next, NudgeKind, Outcome, Recorded, ResultKind, TemplateError, ToolCall,
    ToolName,
};

/// A call with what became of it.
type Answered<'a> = (&'a ToolCall, &'a Outcome);

impl Guardrails {
    /// Takes what became of the calls of the last batch: one outcome for each, in any order.
    ///
    /// # Errors
    /// When no batch waits, or when an outcome is unknown, given twice or missing; the state is as it was. When an
    /// overridden text can't be rendered; that ends the run.
    pub fn record(&mut self, outcomes: &[(CallId, Outcome)]) -> Result<Recorded, RecordError> {
        let open = self.state.open.take().ok_or(RecordError::NoBatch)?;
        match paired(&open, outcomes) {
            Ok(answered) => {
                let recorded = self.take(&answered, &open);
                self.state.ended |= recorded.is_err();
                Ok(recorded?)
            }
            Err(error) => {
                self.state.open = Some(open);
                Err(error)
            }
        }
    }

    fn take(&mut self, answered: &[Answered<'_>], open: &OpenBatch) -> Result<Recorded, TemplateError> {
        self.count_outcomes(answered, &open.nudged);
        let completed = self.note_successes(answered);
        let messages = self.results(answered, &open.notes)?;
        let next = self.what_follows(answered);
        Ok(Recorded { messages, completed, next })
    }

    /// The same, without words for the model.
    pub(super) fn relive_outcomes(&mut self, answered: &[Answered<'_>], nudged: &[NudgeKind]) {
        self.count_outcomes(answered, nudged);
        self.note_successes(answered);
        for (call, outcome) in answered {
            self.note_repetition(call, outcome);
        }
        self.what_follows(answered);
    }

    fn count_outcomes(&mut self, answered: &[Answered<'_>], nudged: &[NudgeKind]) {
        self.state.failing.note(answered.iter().copied());
        for (call, outcome) in answered {
            match outcome {
                Outcome::Success(_) => add_one(&mut self.state.successes, &call.name),
                Outcome::Failure(_) | Outcome::TimedOut(_) => add_one(&mut self.state.failures, &call.name),
                Outcome::NoData(_) | Outcome::Cancelled => {}
            }
        }
        let counts = &mut self.state.counts;
        match Quality::of(answered) {
            Quality::Failing => counts.failing_batches = counts.failing_batches.saturating_add(1),
            Quality::Clean => counts.forgive(nudged),
            Quality::Neither => {}
        }
    }

    /// The required steps that were completed.
    fn note_successes(&mut self, answered: &[Answered<'_>]) -> Vec<ToolName> {
        let successes = answered.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Success(_)));
        successes
            .filter(|(call, _)| self.state.tracker.record_success(&self.workflow, call))
            .map(|(call, _)| call.name.clone())
            .collect()
    }

    /// One tool message for each outcome; what else there is to say is added to the last.
    fn results(&mut self, answered: &[Answered<'_>], notes: &[String]) -> Result<Vec<Message>, TemplateError> {
        let mut messages = Vec::with_capacity(answered.len());
        let mut repeated = None;
        for (call, outcome) in answered {
            repeated = self.note_repetition(call, outcome).map(|round| (&call.name, round)).or(repeated);
            let (content, kind) = self.result(call, outcome)?;
            messages.push(Message::Tool { call_id: call.id.clone(), name: call.name.clone(), content, kind });
        }
        let mut notes = notes.to_vec();
        if let Some((tool, round)) = repeated {
            notes.push(self.voice().repeated(tool, round)?);
        } else if self.workflow.hints() == HintMode::Always && self.workflow.guardrails().nudges {
            notes.extend(self.voice().progress()?.map(|line| format!("[{line}]")));
        }
        if let Some(Message::Tool { content, .. }) = messages.last_mut() {
            for note in notes {
                content.push_str("\n\n");
                content.push_str(&note);
            }
        }
        Ok(messages)
    }

    /// Only answers are compared: a failure may be worth another try.
    fn note_repetition(&mut self, call: &ToolCall, outcome: &Outcome) -> Option<usize> {
        if !self.workflow.guardrails().repetition {
            return None;
        }
        match outcome {
            Outcome::Success(result) | Outcome::NoData(result) => self.state.recent.note(call, result),
            Outcome::Failure(_) | Outcome::TimedOut(_) | Outcome::Cancelled => None,
        }
    }

    fn result(&self, call: &ToolCall, outcome: &Outcome) -> Result<(String, ResultKind), TemplateError> {
        let say =
            |text: Text, result: &str| self.voice().result(text, &call.name, result, self.attempts_left(&call.name));
        let plain = !self.workflow.guardrails().recovery;
        Ok(match outcome {
            Outcome::Failure(result) if plain => (result.clone(), ResultKind::Failure),
            Outcome::NoData(result) if plain => (result.clone(), ResultKind::NoData),
            Outcome::TimedOut(result) if plain => (result.clone(), ResultKind::TimedOut),
            Outcome::Success(result) if result.trim().is_empty() => {
                (say(Text::EmptyResult, result)?, ResultKind::Success)
            }
            Outcome::Success(result) => (result.clone(), ResultKind::Success),
            Outcome::Failure(result) => (say(Text::Failure, result)?, ResultKind::Failure),
            Outcome::NoData(result) => (say(Text::NoData, result)?, ResultKind::NoData),
            Outcome::TimedOut(result) => (say(Text::TimedOut, result)?, ResultKind::TimedOut),
            Outcome::Cancelled => (say(Text::Cancelled, "")?, ResultKind::Cancelled),
        })
    }

    /// How often a tool may still be tried, if it goes on failing.
    fn attempts_left(&self, tool: &ToolName) -> u32 {
        let budgets = self.workflow.budgets();
        let of_tool = self.workflow.failure_limit(tool).saturating_sub(self.state.failing.of(tool));
        let of_batches = budgets.tool_errors.saturating_add(1).saturating_sub(self.state.counts.failing_batches);
        of_tool.min(of_batches)
    }

    fn what_follows(&mut self, answered: &[Answered<'_>]) -> Next {
        for (call, outcome) in answered {
            if let Outcome::Success(result) = outcome
                && self.workflow.is_terminal(&call.name)
            {
                self.state.ended = true;
                return Next::Finished { call: (*call).clone(), result: result.clone() };
            }
        }
        match self.failed_too_often().or_else(|| self.out_of_iterations()) {
            Some(kind) => Next::Halt { interrupt: self.halt(kind) },
            None => Next::Continue { constraint: self.constraint() },
        }
    }

    fn failed_too_often(&self) -> Option<InterruptKind> {
        if !self.workflow.guardrails().recovery {
            return None;
        }
        let with_limits =
            self.state.failing.all().map(|(tool, failures)| (tool, failures, self.workflow.failure_limit(tool)));
        if let Some((tool, failures, limit)) = with_limits.into_iter().find(|(_, failures, limit)| failures >= limit) {
            return Some(InterruptKind::ToolFailures { tool: tool.clone(), failures, limit });
        }
        let (batches, limit) = (self.state.counts.failing_batches, self.workflow.budgets().tool_errors);
        (batches > limit).then_some(InterruptKind::ToolErrors { batches, limit }).or_else(|| self.invented_too_often())
    }
}

/// What a batch says about the run.
#[derive(Clone, Copy)]
enum Quality {
    /// A tool failed.
    Failing,
    /// A tool succeeded, and nothing went wrong.
    Clean,
    /// Nothing that counts: no data, or cancelled.
    Neither,
}

impl Quality {
    fn of(answered: &[Answered<'_>]) -> Self {
        let any = |wanted: fn(&Outcome) -> bool| answered.iter().any(|(_, outcome)| wanted(outcome));
        if any(|outcome| matches!(outcome, Outcome::Failure(_) | Outcome::TimedOut(_))) {
            return Self::Failing;
        }
        let clean =
            any(|outcome| matches!(outcome, Outcome::Success(_))) && !any(|outcome| *outcome == Outcome::Cancelled);
        if clean { Self::Clean } else { Self::Neither }
    }
}

impl Counts {
    /// A clean batch forgives what its own response didn't do again.
    fn forgive(&mut self, nudged: &[NudgeKind]) {
        let again = |kinds: &[NudgeKind]| nudged.iter().any(|kind| kinds.contains(kind));
        self.failing_batches = 0;
        if !again(&[NudgeKind::PrematureTerminal]) {
            self.premature_attempts = 0;
        }
        if !again(&[NudgeKind::StepOrder, NudgeKind::Prerequisite]) {
            self.prerequisite_violations = 0;
        }
        if !again(&[NudgeKind::Repetition]) {
            self.repetitions = 0;
        }
    }
}

fn add_one(counts: &mut BTreeMap<ToolName, u32>, tool: &ToolName) {
    let count = counts.entry(tool.clone()).or_default();
    *count = count.saturating_add(1);
}

/// Each call of the batch with its outcome, in the order of the batch.
fn paired<'a>(open: &'a OpenBatch, outcomes: &'a [(CallId, Outcome)]) -> Result<Vec<Answered<'a>>, RecordError> {
    let mut by_id = BTreeMap::new();
    for (id, outcome) in outcomes {
        if !open.calls.iter().any(|call| call.id == *id) {
            return Err(RecordError::UnknownCall { id: id.clone() });
        }
        if by_id.insert(id, outcome).is_some() {
            return Err(RecordError::DuplicateOutcome { id: id.clone() });
        }
    }
    let answered: Vec<Answered<'a>> =
        open.calls.iter().filter_map(|call| by_id.get(&call.id).map(|outcome| (call, *outcome))).collect();
    if answered.len() == open.calls.len() {
        return Ok(answered);
    }
    let missing = open.calls.iter().map(|call| &call.id).filter(|id| !by_id.contains_key(id));
    Err(RecordError::MissingOutcomes { calls: missing.cloned().collect() })
}
