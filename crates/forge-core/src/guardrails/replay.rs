//! The state that a conversation amounts to, for drivers that keep nothing but the conversation.

use std::sync::Arc;

use super::Guardrails;
use crate::{CallId, Message, NudgeKind, Outcome, ResultKind, TextPolicy, ToolCall, UserOrigin, Workflow};

/// One thing that happened in a conversation, in the order in which it did.
#[derive(Clone, Debug, PartialEq)]
pub enum Replayed {
    /// The person spoke: another turn begins, as with [`Guardrails::begin_turn`].
    Input,
    /// An empty generation that was asked for again without a word.
    Silent,
    /// A generation without calls that was no answer. Without a kind it was text that came too early, where text ends
    /// turns, and else text where a call was due.
    Refused(Option<NudgeKind>),
    /// Text that ended a turn.
    Accepted,
    /// A generation with calls.
    Calls {
        /// The calls, in the order of the generation.
        calls: Vec<ReplayedCall>,
        /// What else was wrong with it: markup that could not stand in the turn as a call.
        beside: Vec<NudgeKind>,
    },
}

/// A call and what it was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedCall {
    /// The call. Its arguments are those that ran, or that were refused.
    pub call: ToolCall,
    /// Its answer.
    pub answer: Answer,
}

/// What a call was answered, as far as a conversation says it.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The tool ran; this became of it. The text is what the tool said, without notes of the engine.
    Ran(Outcome),
    /// The tool ran, and whether it succeeded isn't known: it counts as a success.
    Unknown(String),
    /// It was not let through. Without a kind, the reason is what the engine would refuse the call for now; where that is
    /// nothing, its arguments could not be read.
    Blocked(Option<NudgeKind>),
    /// There is no answer: the call was given up.
    Missing,
}

impl Replayed {
    /// What happened in a conversation of the engine.
    ///
    /// Messages say less than was known when they were made: empty generations that were asked for again silently are
    /// not in them, nor the kinds of nudges, and the last result of a batch holds the engine's notes too, so that it
    /// isn't the same as a result without them. A driver that knows better makes the items itself.
    pub fn from_messages(messages: &[Message]) -> Vec<Self> {
        let mut items = Vec::new();
        let mut rest = messages.iter().peekable();
        while let Some(message) = rest.next() {
            let is_refused = rest.peek().is_some_and(|next| is_nudge(next));
            match message {
                Message::User { origin: UserOrigin::Input, .. } => items.push(Self::Input),
                // A nudge after a turn belongs to it; one without a turn is about an empty answer.
                Message::User { origin: UserOrigin::Nudge, .. } => items.push(Self::Refused(Some(NudgeKind::Empty))),
                Message::Assistant { calls, content, reasoning } if calls.is_empty() => {
                    let thought_only = content.trim().is_empty() && !reasoning.is_empty();
                    if is_refused {
                        rest.next();
                        items.push(Self::Refused(thought_only.then_some(NudgeKind::ReasoningOnly)));
                    } else {
                        items.push(Self::Accepted);
                    }
                }
                Message::Assistant { calls, .. } => {
                    let mut answers: Vec<(CallId, Answer)> = Vec::new();
                    while let Some(Message::Tool { call_id, content, kind, .. }) =
                        rest.next_if(|next| matches!(next, Message::Tool { .. }))
                    {
                        answers.push((call_id.clone(), answer(*kind, content)));
                    }
                    let answer_of = |call: &ToolCall| {
                        let found = answers.iter().find(|(id, _)| *id == call.id);
                        found.map_or(Answer::Missing, |(_, answer)| answer.clone())
                    };
                    let calls =
                        calls.iter().map(|call| ReplayedCall { call: call.clone(), answer: answer_of(call) }).collect();
                    items.push(Self::Calls { calls, beside: Vec::new() });
                }
                Message::System { .. }
                | Message::User { origin: UserOrigin::Hint | UserOrigin::Summary, .. }
                | Message::Tool { .. } => {}
            }
        }
        items
    }
}

fn is_nudge(message: &Message) -> bool {
    matches!(message, Message::User { origin: UserOrigin::Nudge, .. })
}

fn answer(kind: ResultKind, content: &str) -> Answer {
    let content = content.to_owned();
    match kind {
        ResultKind::Success => Answer::Ran(Outcome::Success(content)),
        ResultKind::Failure => Answer::Ran(Outcome::Failure(content)),
        ResultKind::NoData => Answer::Ran(Outcome::NoData(content)),
        ResultKind::TimedOut => Answer::Ran(Outcome::TimedOut(content)),
        ResultKind::Cancelled => Answer::Ran(Outcome::Cancelled),
        ResultKind::Blocked => Answer::Blocked(None),
    }
}

impl Guardrails {
    /// Rebuilds the guardrails from what happened in a conversation.
    ///
    /// What comes back depends on how much the items say:
    ///
    /// - with the kinds of what was refused and the results as the tools gave them: the whole state, but for the last
    ///   response of the account and the number that new ids begin with (no id of the conversation is given again);
    /// - without kinds, as a client's transcript has them: all of that too, but the counts of format faults, premature
    ///   attempts, violations and repetitions and the withdrawn tool follow from what the engine would say to the same
    ///   calls. That differs only where arguments that could not be read stand as `{}` in the conversation;
    /// - [from messages](Replayed::from_messages): steps, prerequisites, failures and ids. Iterations lack the silent
    ///   retries, and repetitions those whose results carry a note of the engine.
    ///
    /// What the items leave out counts as if it had not happened: of a conversation that was shortened, fewer steps are
    /// done.
    pub fn replay(workflow: Arc<Workflow>, happened: impl IntoIterator<Item = Replayed>) -> Self {
        let mut guardrails = Self::new(workflow);
        for item in happened {
            guardrails.relive(item);
        }
        guardrails
    }

    fn relive(&mut self, item: Replayed) {
        if item == Replayed::Input {
            self.another_turn();
            return;
        }
        self.state.iterations = self.state.iterations.saturating_add(1);
        self.state.withdrawn = None;
        self.state.empty_retried = matches!(item, Replayed::Silent | Replayed::Refused(Some(NudgeKind::Empty)));
        match item {
            Replayed::Input => {}
            Replayed::Silent => self.state.rung = self.state.rung.saturating_add(1),
            Replayed::Refused(kind) => {
                let kind = kind.unwrap_or_else(|| self.kind_of_refused_text());
                self.count_faulty(&[kind]);
            }
            Replayed::Accepted => self.state.ended = true,
            Replayed::Calls { calls, beside } => self.relive_calls(&calls, beside),
        }
    }

    fn kind_of_refused_text(&self) -> NudgeKind {
        match self.workflow.text() {
            TextPolicy::Accept if !self.legality().steps_are_done() => NudgeKind::PrematureTerminal,
            TextPolicy::Accept | TextPolicy::Nudge => NudgeKind::TextOnly,
        }
    }

    fn relive_calls(&mut self, calls: &[ReplayedCall], beside: Vec<NudgeKind>) {
        let mut ran: Vec<(&ToolCall, Outcome)> = Vec::new();
        let mut refused: Vec<(&ToolCall, NudgeKind)> = Vec::new();
        let mut terminal = None;
        for ReplayedCall { call, answer } in calls {
            self.state.ids.reserve(&call.id);
            let outcome = match answer {
                Answer::Ran(outcome) => outcome.clone(),
                Answer::Unknown(result) => Outcome::Success(result.clone()),
                Answer::Missing => Outcome::Cancelled,
                Answer::Blocked(kind) => {
                    refused.push((call, kind.unwrap_or_else(|| self.kind_of_refused_call(call, terminal))));
                    continue;
                }
            };
            if self.workflow.is_terminal(&call.name) {
                terminal = Some(&call.id);
            }
            ran.push((call, outcome));
        }
        let kinds: Vec<NudgeKind> = refused.iter().map(|(_, kind)| *kind).chain(beside).collect();
        self.note_invented(&kinds);
        if ran.is_empty() {
            self.count_faulty(&kinds);
            let repeated = refused.iter().find(|(_, kind)| *kind == NudgeKind::Repetition);
            self.state.withdrawn = repeated.map(|(call, _)| call.name.clone());
            return;
        }
        self.note_form(&kinds);
        let answered: Vec<(&ToolCall, &Outcome)> = ran.iter().map(|(call, outcome)| (*call, outcome)).collect();
        self.relive_outcomes(&answered, &kinds);
    }

    fn kind_of_refused_call(&self, call: &ToolCall, terminal: Option<&CallId>) -> NudgeKind {
        if self.workflow.tool(&call.name).is_none() {
            return NudgeKind::UnknownTool;
        }
        if !self.workflow.toolset().validate(&call.name, &call.arguments.to_value()).is_empty() {
            return NudgeKind::InvalidArguments;
        }
        self.obstacle(call, terminal).map_or(NudgeKind::MalformedArguments, |reason| reason.kind())
    }
}
