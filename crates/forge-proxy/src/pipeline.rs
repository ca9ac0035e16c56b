//! From a request to the pieces of its answer: generate, guard, ask again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_stream::try_stream;
use forge_backend::{BackendError, FrameStream};
use forge_core::{Constraint, FinishReason, ToolName, Usage};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde_json::Value;

use crate::config::{GuardConfig, Limits};
use crate::error::{ClientError, ErrorKind};
use crate::guard::{Correction, Delivery, Judge, Relay, Ruling};
use crate::piece::Piece;
use crate::protocol::chat::Whole;
use crate::turn::{Choice, Turn};
use crate::upstream::Upstream;

/// How often a request is sent again because the backend broke off or could not be reached.
const TRANSIENT_RETRIES: u32 = 1;

/// The smallest context window a server is run with, in tokens.
const SMALLEST_WINDOW: u64 = 512;

/// The pieces of one answer. Dropping it ends the generation on the backend.
pub(crate) type PieceStream = BoxStream<'static, Result<Piece, ClientError>>;

/// What every request shares.
pub(crate) struct Shared {
    pub(crate) upstream: Upstream,
    pub(crate) guard: GuardConfig,
    pub(crate) limits: Limits,
    /// Whether the last text answer began in thinking without saying so, because the chat template opens it.
    pub(crate) begins_in_thought: AtomicBool,
}

/// Answers a request.
///
/// # Errors
/// When it can't be answered whatever the model says. Other errors come in the stream, in the place of the end.
pub(crate) fn answer(shared: Arc<Shared>, turn: Turn) -> Result<PieceStream, ClientError> {
    let mut session = Session::new(shared, turn)?;
    Ok(Box::pin(try_stream! {
        session.look_at_window().await;
        loop {
            session.constrain_where_enforced().await;
            let mut reading = session.judge.reading();
            let mut relay = session.relay();
            let mut out = Vec::new();
            let mut failure = None;
            match session.open().await {
                Err(error) => failure = Some(error),
                Ok(mut frames) => {
                    while let Some(frame) = frames.next().await {
                        match frame {
                            Ok(frame) => relay.take(frame, &mut reading, &mut out),
                            Err(error) => failure = Some(error),
                        }
                        for piece in out.drain(..) {
                            session.note(&piece);
                            yield piece;
                        }
                        if failure.is_some() || reading.is_looped() {
                            break;
                        }
                    }
                }
            }
            session.usage = session.usage.plus(reading.usage());
            session.attempts = session.attempts.saturating_add(1);
            let seen = reading.seen().clone();
            if failure.is_none() && !seen.text.is_empty() {
                session.shared.begins_in_thought.store(reading.began_in_thought(), Ordering::Relaxed);
            }
            let ruling = match failure {
                Some(error) => session.after_failure(&error)?,
                None => {
                    let reported = reading.usage();
                    session.refuse_truncated_prompt(reported).await?;
                    session.judge.rule(&session.turn, reading.finish())
                }
            };
            match ruling {
                Ruling::Again(correction) => session.correct(correction),
                Ruling::GiveUp { text, why } => {
                    for piece in session.last_words(text, &why)? {
                        yield piece;
                    }
                    break;
                }
                Ruling::Deliver(delivery) => {
                    for piece in session.deliver(delivery, relay, &seen.text, &seen.reasoning) {
                        yield piece;
                    }
                    break;
                }
            }
        }
    }))
}

/// One request on its way.
struct Session {
    shared: Arc<Shared>,
    turn: Turn,
    judge: Judge,
    /// What the model is asked next, beside the turn's own body.
    correction: Correction,
    usage: Usage,
    attempts: u32,
    transient_retries: u32,
    /// Whether the next attempt may go out as the client wrote it.
    as_written: bool,
    seems_too_long: bool,
    /// Whether the client has seen anything, of whichever attempt.
    shown_any: bool,
    shown_in_attempt: bool,
}

impl Session {
    fn new(shared: Arc<Shared>, turn: Turn) -> Result<Self, ClientError> {
        let judge = Judge::new(&turn, shared.guard)?;
        let as_written = turn.as_sent.is_some() && shared.upstream.takes_as_written(&turn.body);
        Ok(Self {
            shared,
            turn,
            judge,
            correction: Correction::default(),
            usage: Usage::default(),
            attempts: 0,
            transient_retries: 0,
            as_written,
            seems_too_long: false,
            shown_any: false,
            shown_in_attempt: false,
        })
    }

    /// A prompt that seems too long for the window goes out in our own form, with the count of its tokens asked for, and none
    /// of its answer is shown before that count has come.
    async fn look_at_window(&mut self) {
        let estimate = self.turn.estimated_tokens();
        if estimate < SMALLEST_WINDOW {
            return;
        }
        let window = self.shared.upstream.known().await.window;
        self.seems_too_long = window.is_some_and(|window| estimate > window);
        self.as_written &= !self.seems_too_long;
    }

    fn relay(&mut self) -> Relay {
        self.shown_in_attempt = false;
        // What the client has seen of an earlier attempt stays; the text of another one may only repeat it.
        let flows = self.turn.streams && !self.shown_any && !self.seems_too_long && self.judge.text_may_be_the_answer();
        let relay = match self.as_written {
            true => Relay::forwarding(flows, self.turn.streams),
            false => Relay::encoding(flows),
        };
        relay.awaiting_thought(self.shared.begins_in_thought.load(Ordering::Relaxed))
    }

    /// Where a call is due and the server enforces schemas, no attempt is wasted on words: servers that do so take
    /// `tool_choice` lightly.
    async fn constrain_where_enforced(&mut self) {
        let due = match &self.turn.choice {
            Choice::Auto | Choice::None => return,
            Choice::Required => self.turn.offered.toolset().names().cloned().collect(),
            Choice::Forced(tool) => vec![ToolName::from(tool.as_str())],
        };
        let strict = matches!(self.correction.constraint, Constraint::Only(_));
        if !strict && self.shared.upstream.known().await.enforces_schemas {
            self.correction.constraint = Constraint::Only(due);
            self.as_written = false;
        }
    }

    async fn open(&mut self) -> Result<FrameStream, BackendError> {
        let shared = Arc::clone(&self.shared);
        let offered: Vec<ToolName> = self.turn.offered.toolset().names().cloned().collect();
        if let Some(bytes) = self.turn.as_sent.as_ref().filter(|_| self.as_written) {
            let patience = (!self.turn.streams).then_some(shared.limits.answer_time);
            return shared.upstream.relay(bytes.clone(), offered, patience).await;
        }
        let mut body = self.turn.body.clone();
        if let Some(Value::Array(messages)) = body.get_mut("messages") {
            messages.extend(self.correction.messages.iter().cloned());
        }
        if self.turn.offered.is_empty() && self.turn.offered.chat_tools().as_array().is_none_or(Vec::is_empty)
            || self.correction.without_tools
        {
            for key in ["tools", "tool_choice", "parallel_tool_calls"] {
                body.shift_remove(key);
            }
        } else {
            body.insert("tools".to_owned(), self.turn.offered.chat_tools().clone());
        }
        shared.upstream.chat(body, self.correction.constraint.clone()).await
    }

    fn note(&mut self, piece: &Piece) {
        let shown = match piece {
            Piece::Raw(_) | Piece::Text(_) => true,
            Piece::Named(_) | Piece::Reasoning(_) | Piece::Calls(_) | Piece::End { .. } => false,
        };
        self.shown_any |= shown;
        self.shown_in_attempt |= shown;
    }

    fn correct(&mut self, correction: Correction) {
        let Correction { messages, constraint, without_tools } = correction;
        self.correction.messages.extend(messages);
        self.correction.constraint = constraint;
        self.correction.without_tools |= without_tools;
        // Asked once more in the same words, it may go out as it is once more.
        self.as_written &= self.correction.messages.is_empty() && self.correction.constraint == Constraint::Free;
    }

    fn after_failure(&mut self, error: &BackendError) -> Result<Ruling, ClientError> {
        tracing::debug!(%error, attempt = self.attempts, "the backend gave no usable answer");
        match error {
            BackendError::MalformedGeneration { text, message } => {
                Ok(self.judge.rule_unusable(&self.turn, text.clone(), message))
            }
            BackendError::Unreachable { .. } | BackendError::BrokenOff { .. }
                if !self.shown_in_attempt && self.transient_retries < TRANSIENT_RETRIES =>
            {
                self.transient_retries = self.transient_retries.saturating_add(1);
                Ok(Ruling::Again(Correction {
                    constraint: self.correction.constraint.clone(),
                    ..Correction::default()
                }))
            }
            BackendError::Refused { .. } | BackendError::ContextOverflow { .. }
                if self.as_written && self.shared.upstream.would_adapt(error, &self.turn.body) =>
            {
                self.as_written = false;
                Ok(Ruling::Again(Correction {
                    constraint: self.correction.constraint.clone(),
                    ..Correction::default()
                }))
            }
            other => Err(ClientError::from(other)),
        }
    }

    /// Some servers drop the front of a prompt that doesn't fit and answer what is left. Their count of the prompt tells.
    async fn refuse_truncated_prompt(&self, reported: Usage) -> Result<(), ClientError> {
        let Some(prompt) = reported.prompt_tokens else { return Ok(()) };
        let estimate = self.turn.estimated_tokens();
        if estimate < prompt.saturating_mul(2) {
            return Ok(());
        }
        let Some(window) = self.shared.upstream.known().await.window else { return Ok(()) };
        let whole = prompt.saturating_add(reported.completion_tokens.unwrap_or(0));
        let half = window / 2;
        let cut = (half..=half.saturating_add(4)).contains(&prompt) || prompt >= window || whole == window;
        if estimate <= window || !cut {
            return Ok(());
        }
        let message = format!(
            "the model server read only {prompt} tokens of a prompt of about {estimate}, because its context window is {window} \
             tokens: it dropped the beginning; give the server a larger window (--ctx-size, num_ctx, OLLAMA_CONTEXT_LENGTH) or \
             send less"
        );
        Err(ClientError::overflow(Some(estimate), Some(window), &message))
    }

    fn deliver(&mut self, delivery: Delivery, mut relay: Relay, seen_text: &str, seen_reasoning: &str) -> Vec<Piece> {
        let Delivery { text, reasoning, calls, finish } = delivery;
        let (usage, mut out) = (self.usage, Vec::new());
        let whole = Whole { text: &text, reasoning: &reasoning, calls: &calls, finish };
        if let Some(bytes) = relay.rest_of_bytes(&whole) {
            out.extend(bytes);
            out.push(Piece::End { finish, usage, told: true });
            return out;
        }
        let (shown_text, shown_reasoning) = (relay.shown(seen_text).to_owned(), relay.shown(seen_reasoning).to_owned());
        relay.end(&mut out);
        if let Some(rest) = rest(&reasoning, &shown_reasoning) {
            out.push(Piece::Reasoning(rest.to_owned()));
        }
        if let Some(rest) = rest(&text, &shown_text).filter(|rest| !rest.is_empty()) {
            // An earlier attempt's text stands before it.
            let apart = self.shown_any && !self.shown_in_attempt;
            match (apart, calls.is_empty()) {
                (true, true) => out.push(Piece::Text(format!("\n\n{rest}"))),
                (true, false) => {}
                (false, _) => out.push(Piece::Text(rest.to_owned())),
            }
        }
        if !calls.is_empty() {
            out.push(Piece::Calls(calls));
        }
        out.push(Piece::End { finish, usage, told: false });
        out
    }

    /// The model was asked often enough: its last text is the answer, and an error if there is none.
    fn last_words(&mut self, text: String, why: &str) -> Result<Vec<Piece>, ClientError> {
        let has_text = !text.trim().is_empty();
        let forced = !matches!(self.turn.choice, Choice::Auto | Choice::None);
        if !has_text && (forced || !self.shown_any) {
            let attempts = self.attempts;
            let message = format!("the model gave no usable answer in {attempts} attempts; the last one: {why}");
            return Err(ClientError::new(ErrorKind::Backend, 502, message));
        }
        let mut out = Vec::new();
        if has_text && !self.shown_in_attempt {
            out.push(Piece::Text(if self.shown_any { format!("\n\n{text}") } else { text }));
        }
        out.push(Piece::End { finish: FinishReason::Stop, usage: self.usage, told: false });
        Ok(out)
    }
}

/// What of a text is not shown yet. None where what was shown isn't its beginning.
fn rest<'a>(text: &'a str, shown: &str) -> Option<&'a str> {
    text.strip_prefix(shown).filter(|rest| !rest.is_empty())
}
