use super::cut::{cut, cut_arguments, replace};
use super::error::{InvalidContext, check_shares};
use super::strategy::{CompactionStrategy, DEFAULT_KEEP_RECENT, DEFAULT_THRESHOLD, old_messages};
use crate::{Message, ResultKind, UserOrigin};

/// Characters that stay of an old result in the first phase.
const KEPT_OF_RESULT: usize = 200;

/// What stays of an answer in the third phase.
const ANSWER_STUB: &str = "[answer dropped]";

/// Three phases, of which each takes more:
///
/// 1. Nudges go, with the refused texts they are about (two turns of a model in a row break templates that alternate).
///    Results are cut to 200 characters, with a mark of how much is missing; of blocked calls a short stub stays.
/// 2. Of every result a short stub stays. Thinking and text stay.
/// 3. Only the calls stay: thinking and text go, long strings in arguments are cut.
///
/// The last iterations are never touched, nor what the system and the user said. Each call keeps its result, and each result
/// its call. What is kept is moved, not copied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TieredCompact {
    keep_recent: usize,
    thresholds: [f64; 3],
}

impl Default for TieredCompact {
    fn default() -> Self {
        Self { keep_recent: DEFAULT_KEEP_RECENT, thresholds: [DEFAULT_THRESHOLD; 3] }
    }
}

impl TieredCompact {
    /// Keeps the last `keep_recent` iterations, at least 1, and goes from phase to phase for as long as more than this share
    /// of the budget is used.
    ///
    /// # Errors
    /// When `keep_recent` is 0 or the share isn't above 0 and at most 1.
    pub fn new(keep_recent: usize, threshold: f64) -> Result<Self, InvalidContext> {
        check_shares("thresholds", &[threshold])?;
        Self::with_thresholds(keep_recent, [threshold; 3])
    }

    /// With a threshold for each phase.
    ///
    /// # Errors
    /// When `keep_recent` is 0, a share isn't above 0 and at most 1, or the shares don't rise.
    pub fn with_thresholds(keep_recent: usize, thresholds: [f64; 3]) -> Result<Self, InvalidContext> {
        if keep_recent == 0 {
            return Err(InvalidContext::KeepRecent);
        }
        check_shares("thresholds", &thresholds)?;
        Ok(Self { keep_recent, thresholds })
    }
}

impl CompactionStrategy for TieredCompact {
    fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    fn compact(&self, phase: usize, messages: &mut Vec<Message>) {
        let old = old_messages(messages, self.keep_recent);
        match phase {
            1 => {
                for message in messages.iter_mut().take(old) {
                    shorten_result(message);
                }
                drop_nudges(messages, old);
            }
            2 => messages.iter_mut().take(old).for_each(drop_result),
            _ => messages.iter_mut().take(old).for_each(keep_skeleton),
        }
    }
}

fn shorten_result(message: &mut Message) {
    match message {
        Message::Tool { content, kind: ResultKind::Blocked, .. } => replace(content, stub(ResultKind::Blocked)),
        Message::Tool { content, .. } => cut(content, KEPT_OF_RESULT),
        Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => {}
    }
}

fn drop_result(message: &mut Message) {
    if let Message::Tool { content, kind, .. } = message {
        replace(content, stub(*kind));
    }
}

fn keep_skeleton(message: &mut Message) {
    let Message::Assistant { content, reasoning, calls } = message else { return };
    reasoning.clear();
    if calls.is_empty() {
        replace(content, ANSWER_STUB);
    } else {
        content.clear();
        calls.iter_mut().for_each(|call| cut_arguments(&mut call.arguments));
    }
}

/// Drops the nudges and hints among the first messages, each with the text without a call right before it.
fn drop_nudges(messages: &mut Vec<Message>, old: usize) {
    let is_nudge =
        |message: &Message| matches!(message, Message::User { origin: UserOrigin::Nudge | UserOrigin::Hint, .. });
    let head = messages.get(..old).unwrap_or_default();
    let Some(first) = head.iter().position(is_nudge) else { return };
    let mut goes = vec![false; head.len()];
    for (index, message) in head.iter().enumerate().skip(first.saturating_sub(1)) {
        let is_refused = || match message {
            Message::Assistant { calls, .. } => calls.is_empty() && head.get(index + 1).is_some_and(is_nudge),
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => false,
        };
        if let Some(goes) = goes.get_mut(index) {
            *goes = is_nudge(message) || is_refused();
        }
    }
    let mut goes = goes.into_iter();
    messages.retain(|_| !goes.next().unwrap_or(false));
}

/// What stays of a result.
fn stub(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Success => "[succeeded; result dropped]",
        ResultKind::Failure => "[failed; message dropped]",
        ResultKind::NoData => "[no such data]",
        ResultKind::TimedOut => "[timed out]",
        ResultKind::Cancelled => "[cancelled]",
        ResultKind::Blocked => "[not run]",
    }
}
