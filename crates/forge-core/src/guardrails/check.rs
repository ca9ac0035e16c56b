use forge_parse::Parsed;

use super::state::OpenBatch;
use super::{CheckError, Guardrails};
use crate::collapse::collapse;
use crate::excerpt::brief;
use crate::nudges::{Subject, in_brief};
use crate::reading::{Attempt, Reading, attributed, read, read_plainly};
use crate::{
    ApprovedCall, Batch, BlockReason, BlockedCall, CallId, Constraint, Dialect, Fault, InterruptKind, Message, Nudge,
    NudgeKind, ParsedCall, Reprompt, Response, ResultKind, TemplateError, TextPolicy, ToolCall, Verdict,
};

/// Characters of a response that an account keeps.
const MAX_LAST_RESPONSE: usize = 500;

/// Characters that are kept of a text that repeats itself.
const MAX_REPEATED_TEXT: usize = 200;

/// The calls of one response, sorted into those that run and those that don't.
#[derive(Default)]
struct Sorted {
    turn: Vec<ToolCall>,
    approved: Vec<ApprovedCall>,
    blocked: Vec<(ToolCall, BlockedCall)>,
    unreadable: Vec<Fault>,
}

impl Guardrails {
    /// Judges a response. Each check is an iteration, whatever comes of it.
    ///
    /// # Errors
    /// When the outcomes of the last batch haven't been recorded, and when the turn has ended; the state is as it was.
    /// When an overridden text can't be rendered; that ends the run.
    pub fn check(&mut self, response: &Response) -> Result<Verdict, CheckError> {
        let reading = self.read(response);
        self.check_reading(response, reading)
    }

    /// Judges a response that was read while it arrived: `parsed` is what a [`ResponseReader`](forge_parse::ResponseReader)
    /// with the workflow's [toolset](crate::Workflow::toolset) made of it. Apart from that the same as
    /// [`Guardrails::check`].
    ///
    /// # Errors
    /// As for [`Guardrails::check`].
    pub fn check_parsed(&mut self, response: &Response, parsed: Parsed) -> Result<Verdict, CheckError> {
        let reading = self.without_switched_off(attributed(parsed, response));
        self.check_reading(response, reading)
    }

    fn check_reading(&mut self, response: &Response, reading: Reading) -> Result<Verdict, CheckError> {
        self.no_batch_is_open()?;
        if self.state.ended {
            return Err(CheckError::Ended);
        }
        let verdict = self.judge(response, reading);
        self.state.ended |= verdict.is_err();
        Ok(verdict?)
    }

    fn judge(&mut self, response: &Response, mut reading: Reading) -> Result<Verdict, TemplateError> {
        if matches!(self.constraint(), Constraint::Only(_)) {
            name_constrained(&mut reading.attempts);
        }
        self.state.iterations = self.state.iterations.saturating_add(1);
        self.state.withdrawn = None;
        self.state.last_response = in_short(response);
        if reading.attempts.is_empty() {
            self.judge_text(response, reading)
        } else {
            self.judge_calls(response, reading)
        }
    }

    /// The response, with what switched-off guardrails would not see.
    fn read(&self, response: &Response) -> Reading {
        if !self.workflow.guardrails().rescue {
            return read_plainly(self.workflow.toolset(), response);
        }
        self.without_switched_off(read(self.workflow.toolset(), response))
    }

    fn without_switched_off(&self, mut reading: Reading) -> Reading {
        if !self.workflow.guardrails().repetition {
            let is_loop = |attempt: &Attempt| matches!(attempt, Attempt::Unreadable(Fault::RepeatedText { .. }));
            reading.attempts.retain(|attempt| !is_loop(attempt));
        }
        reading
    }

    fn judge_text(&mut self, response: &Response, reading: Reading) -> Result<Verdict, TemplateError> {
        let has_text = !reading.text.trim().is_empty();
        let has_thought = !reading.reasoning.trim().is_empty();
        let nudges = self.workflow.guardrails().nudges;
        let first_empty = !has_text && !has_thought && !self.state.empty_retried && nudges;
        self.state.empty_retried = !has_text && !has_thought;
        if first_empty {
            self.state.rung = self.state.rung.saturating_add(1);
            return Ok(self.reprompt(Vec::new(), Vec::new(), Vec::new()));
        }
        let turn = assistant(reading.text, reading.reasoning, Vec::new());
        if !has_text {
            let (subject, turn) =
                if has_thought { (Subject::ReasoningOnly, Some(turn)) } else { (Subject::Empty, None) };
            return self.refuse_text(turn, subject);
        }
        // Nobody is there to say that text was no answer.
        let policy = if nudges { self.workflow.text() } else { TextPolicy::Accept };
        match policy {
            TextPolicy::Nudge => self.refuse_text(Some(turn), Subject::Text { cut: response.finish.is_cut() }),
            TextPolicy::Accept if self.legality().steps_are_done() => {
                self.state.ended = true;
                Ok(Verdict::Accept { turn })
            }
            TextPolicy::Accept => {
                let pending = self.pending_steps();
                let attempt = self.state.counts.premature_attempts.saturating_add(1);
                self.refuse_text(Some(turn), Subject::PrematureText { pending: &pending, attempt })
            }
        }
    }

    /// Answers a response without calls in the user role.
    fn refuse_text(&mut self, turn: Option<Message>, subject: Subject<'_>) -> Result<Verdict, TemplateError> {
        let nudge = self.voice().nudge(subject, true)?;
        self.count_faulty(&[nudge.kind]);
        let last_fault = in_brief(subject);
        if let Some(kind) = self.exhausted(&last_fault).or_else(|| self.unanswered(nudge.kind, last_fault)) {
            return Ok(Verdict::Halt(self.halt(kind)));
        }
        let messages = turn.into_iter().chain([Message::nudge(nudge.text.clone())]).collect();
        Ok(self.reprompt(messages, vec![nudge], Vec::new()))
    }

    fn judge_calls(&mut self, response: &Response, reading: Reading) -> Result<Verdict, TemplateError> {
        self.state.empty_retried = false;
        let attempts = match self.workflow.guardrails().repetition {
            true => collapse(reading.attempts),
            false => reading.attempts,
        };
        let sorted = self.sort(attempts);
        // Where no call stands in the turn, the text is kept as the model wrote it: it is all there is.
        let text = match sorted.unreadable.first() {
            // More of the same would only lead the model on.
            Some(Fault::RepeatedText { .. }) => brief(&reading.text, MAX_REPEATED_TEXT),
            Some(_) if sorted.turn.is_empty() => response.text.clone(),
            Some(_) | None => reading.text.trim_end().to_owned(),
        };
        let turn = assistant(text, reading.reasoning, sorted.turn.clone());
        if sorted.approved.is_empty() { self.refuse_calls(turn, &sorted) } else { self.approve(turn, sorted) }
    }

    fn sort(&mut self, attempts: Vec<Attempt>) -> Sorted {
        let mut sorted = Sorted::default();
        let mut terminal: Option<CallId> = None;
        for attempt in attempts {
            match attempt {
                Attempt::Unreadable(fault) => sorted.unreadable.push(fault),
                Attempt::FaultyCall { id, name, arguments, fault } => {
                    let call = ToolCall { id: self.state.ids.claim(id.as_ref()), name, arguments };
                    sorted.block(call, BlockReason::Fault { fault });
                }
                Attempt::Call { id, call } => {
                    let ParsedCall { name, arguments, dialect, repairs } = call;
                    let call = ToolCall { id: self.state.ids.claim(id.as_ref()), name, arguments };
                    if let Some(reason) = self.obstacle(&call, terminal.as_ref()) {
                        sorted.block(call, reason);
                        continue;
                    }
                    let is_terminal = self.workflow.is_terminal(&call.name);
                    if is_terminal {
                        terminal = Some(call.id.clone());
                    }
                    sorted.turn.push(call.clone());
                    sorted.approved.push(ApprovedCall { call, dialect, repairs, terminal: is_terminal });
                }
            }
        }
        sorted
    }

    /// Why a valid call may not run, judged by what was done before its response.
    pub(super) fn obstacle(&self, call: &ToolCall, terminal: Option<&CallId>) -> Option<BlockReason> {
        // Nothing is noted where repetition is off.
        if let Some(round) = self.state.recent.round_repeated_by(call) {
            let times = self.state.counts.repetitions.saturating_add(1);
            return Some(BlockReason::Repetition { round: u32::try_from(round).unwrap_or(u32::MAX), times });
        }
        if let Some(obstacle) = self.legality().obstacle(call) {
            let attempt = self.state.counts.premature_attempts.saturating_add(1);
            return Some(obstacle.into_reason(call, attempt));
        }
        let first = terminal.filter(|_| self.workflow.is_terminal(&call.name))?;
        Some(BlockReason::SecondTerminal { first: first.clone() })
    }

    /// Something of the response runs: that is progress, and what was wrong beside it is answered but not counted.
    fn approve(&mut self, turn: Message, sorted: Sorted) -> Result<Verdict, TemplateError> {
        let (nudges, replies) = self.answer(&sorted, false)?;
        let notes = self.notes(&sorted)?;
        let nudged: Vec<NudgeKind> = nudges.iter().chain(&notes).map(|nudge| nudge.kind).collect();
        self.note_form(&nudged);
        self.note_invented(&nudged);
        self.state.open = Some(OpenBatch {
            calls: sorted.approved.iter().map(|approved| approved.call.clone()).collect(),
            nudged,
            notes: notes.into_iter().map(|nudge| nudge.text).collect(),
        });
        let blocked = sorted.blocked.into_iter().map(|(_, blocked)| blocked).collect();
        Ok(Verdict::Execute(Batch { turn, calls: sorted.approved, blocked, replies }))
    }

    /// Invented names share one count: otherwise a model could try another name each time.
    pub(super) fn note_invented(&mut self, nudged: &[NudgeKind]) {
        let invents = nudged.contains(&NudgeKind::UnknownTool);
        self.state.invented = self.state.invented.saturating_add(u32::from(invents));
    }

    pub(super) fn invented_too_often(&self) -> Option<InterruptKind> {
        let (attempts, limit) = (self.state.invented, self.workflow.budgets().failures_per_tool);
        let limited = self.workflow.guardrails().recovery;
        (limited && attempts >= limit).then_some(InterruptKind::InventedTools { attempts, limit })
    }

    /// A response that runs and has nothing wrong with it forgives faults of form.
    pub(super) fn note_form(&mut self, nudged: &[NudgeKind]) {
        if nudged.is_empty() {
            self.state.counts.format_faults = 0;
            self.state.rung = 0;
        }
    }

    /// Nothing of the response runs.
    fn refuse_calls(&mut self, turn: Message, sorted: &Sorted) -> Result<Verdict, TemplateError> {
        let (mut nudges, replies) = self.answer(sorted, sorted.unreadable.is_empty())?;
        let notes = self.notes(sorted)?;
        let kinds: Vec<NudgeKind> = nudges.iter().chain(&notes).map(|nudge| nudge.kind).collect();
        self.count_faulty(&kinds);
        self.note_invented(&kinds);
        self.state.withdrawn = sorted.repeated().cloned();
        let last_fault = sorted.unreadable.last().map(Subject::Fault).or_else(|| sorted.last_blocked());
        let last_fault = last_fault.map(in_brief).unwrap_or_default();
        let answerless = notes.last().filter(|_| sorted.turn.is_empty()).map(|nudge| nudge.kind);
        let unanswered = || answerless.and_then(|kind| self.unanswered(kind, last_fault.clone()));
        if let Some(kind) = self.exhausted(&last_fault).or_else(|| self.invented_too_often()).or_else(unanswered) {
            return Ok(Verdict::Halt(self.halt(kind)));
        }
        let mut messages = vec![turn];
        messages.extend(replies);
        add_notes(&mut messages, notes.iter().map(|note| note.text.as_str()));
        nudges.extend(notes);
        let blocked = sorted.blocked.iter().map(|(_, blocked)| blocked.clone()).collect();
        Ok(self.reprompt(messages, nudges, blocked))
    }

    /// One tool message for each blocked call.
    fn answer(&self, sorted: &Sorted, guide: bool) -> Result<(Vec<Nudge>, Vec<Message>), TemplateError> {
        let count = sorted.blocked.len();
        let mut nudges = Vec::with_capacity(count);
        let mut replies = Vec::with_capacity(count);
        for (position, (call, blocked)) in sorted.blocked.iter().enumerate() {
            let last = guide && position + 1 == count;
            let subject = Subject::Blocked { tool: &call.name, reason: &blocked.reason };
            let nudge = self.voice().nudge(subject, last)?;
            replies.push(Message::Tool {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: nudge.text.clone(),
                kind: ResultKind::Blocked,
            });
            nudges.push(nudge);
        }
        Ok((nudges, replies))
    }

    /// What to say about markup that can't be answered as a call.
    fn notes(&self, sorted: &Sorted) -> Result<Vec<Nudge>, TemplateError> {
        let count = sorted.unreadable.len();
        let guide = sorted.approved.is_empty();
        let faults = sorted.unreadable.iter().enumerate();
        faults
            .map(|(position, fault)| self.voice().nudge(Subject::Fault(fault), guide && position + 1 == count))
            .collect()
    }

    /// Counts a response of which nothing can run.
    pub(super) fn count_faulty(&mut self, kinds: &[NudgeKind]) {
        let counts = &mut self.state.counts;
        let count = |count: &mut u32, fault: fn(NudgeKind) -> bool| {
            let found = kinds.iter().any(|kind| fault(*kind));
            *count = count.saturating_add(u32::from(found));
            found
        };
        if !count(&mut counts.format_faults, NudgeKind::is_format) {
            counts.format_faults = 0;
        }
        count(&mut counts.premature_attempts, |kind| kind == NudgeKind::PrematureTerminal);
        count(&mut counts.prerequisite_violations, NudgeKind::is_violation);
        count(&mut counts.repetitions, |kind| kind == NudgeKind::Repetition);
        self.state.rung = self.state.rung.saturating_add(1);
    }

    /// The first budget that a faulty response exhausted.
    fn exhausted(&self, last_fault: &str) -> Option<InterruptKind> {
        let (counts, budgets) = (self.state.counts, self.workflow.budgets());
        if counts.format_faults > budgets.format_retries {
            return Some(InterruptKind::FormatRetries {
                attempts: counts.format_faults,
                limit: budgets.format_retries,
                last_fault: last_fault.to_owned(),
            });
        }
        if counts.premature_attempts > budgets.premature_attempts {
            return Some(InterruptKind::PrematureTerminal {
                attempts: counts.premature_attempts,
                limit: budgets.premature_attempts,
            });
        }
        if counts.prerequisite_violations > budgets.prerequisite_violations {
            return Some(InterruptKind::PrerequisiteViolations {
                violations: counts.prerequisite_violations,
                limit: budgets.prerequisite_violations,
            });
        }
        (counts.repetitions > budgets.repetitions)
            .then_some(InterruptKind::Repetition { times: counts.repetitions, limit: budgets.repetitions })
    }

    /// The end of a run whose faulty text nobody answers, because nudges are off.
    fn unanswered(&self, kind: NudgeKind, last_fault: String) -> Option<InterruptKind> {
        if self.workflow.guardrails().nudges {
            return None;
        }
        let counts = self.state.counts;
        Some(match kind {
            NudgeKind::PrematureTerminal => {
                InterruptKind::PrematureTerminal { attempts: counts.premature_attempts, limit: 0 }
            }
            _ => InterruptKind::FormatRetries { attempts: counts.format_faults, limit: 0, last_fault },
        })
    }

    /// Asks again, if a generation is left.
    fn reprompt(&mut self, messages: Vec<Message>, nudges: Vec<Nudge>, blocked: Vec<BlockedCall>) -> Verdict {
        match self.out_of_iterations() {
            Some(kind) => Verdict::Halt(self.halt(kind)),
            None => Verdict::Reprompt(Reprompt { messages, nudges, blocked, constraint: self.constraint() }),
        }
    }

    pub(super) fn out_of_iterations(&self) -> Option<InterruptKind> {
        let limit = self.workflow.budgets().iterations;
        (self.state.iterations >= limit).then_some(InterruptKind::Iterations { limit })
    }
}

impl Sorted {
    fn block(&mut self, call: ToolCall, reason: BlockReason) {
        let blocked = BlockedCall { id: call.id.clone(), name: call.name.as_str().to_owned(), reason };
        self.turn.push(call.clone());
        self.blocked.push((call, blocked));
    }

    fn last_blocked(&self) -> Option<Subject<'_>> {
        self.blocked.last().map(|(call, blocked)| Subject::Blocked { tool: &call.name, reason: &blocked.reason })
    }

    /// The tool of a call that only repeats.
    fn repeated(&self) -> Option<&crate::ToolName> {
        let repeats = |blocked: &BlockedCall| matches!(blocked.reason, BlockReason::Repetition { .. });
        self.blocked.iter().find(|(_, blocked)| repeats(blocked)).map(|(call, _)| &call.name)
    }
}

impl NudgeKind {
    /// Whether it is about the form of a response rather than about what the workflow allows.
    fn is_format(self) -> bool {
        match self {
            Self::Empty
            | Self::ReasoningOnly
            | Self::TextOnly
            | Self::UnknownTool
            | Self::MalformedArguments
            | Self::InvalidArguments
            | Self::Truncated
            | Self::Unreadable
            | Self::RepeatedText => true,
            Self::PrematureTerminal
            | Self::StepOrder
            | Self::Prerequisite
            | Self::Repetition
            | Self::SecondTerminal => false,
        }
    }

    fn is_violation(self) -> bool {
        matches!(self, Self::StepOrder | Self::Prerequisite)
    }
}

/// Adds texts to the last tool message, or a user message where there is none: a user message after tool results
/// breaks the templates of some models.
fn add_notes<'a>(messages: &mut Vec<Message>, notes: impl Iterator<Item = &'a str>) {
    let notes = notes.collect::<Vec<_>>().join("\n\n");
    if notes.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(Message::Tool { content, .. }) => {
            content.push_str("\n\n");
            content.push_str(&notes);
        }
        Some(Message::System { .. } | Message::User { .. } | Message::Assistant { .. }) | None => {
            messages.push(Message::nudge(notes));
        }
    }
}

/// A bare JSON call is what a generation held to a schema consists of: nothing was rescued there.
fn name_constrained(attempts: &mut [Attempt]) {
    for attempt in attempts {
        if let Attempt::Call { call, .. } = attempt
            && call.dialect.as_str() == "bare-json"
        {
            call.dialect = Dialect::CONSTRAINED;
        }
    }
}

fn assistant(content: String, reasoning: String, calls: Vec<ToolCall>) -> Message {
    Message::Assistant { content, reasoning, calls }
}

/// The response for a person who reads an account.
fn in_short(response: &Response) -> String {
    let parts = [response.text.trim(), response.reasoning.trim()];
    let calls: Vec<String> = response.calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
    let text = parts.into_iter().find(|part| !part.is_empty()).unwrap_or_default();
    let whole = if calls.is_empty() { text.to_owned() } else { format!("{text} {}", calls.join(" ")) };
    brief(whole.trim(), MAX_LAST_RESPONSE)
}
