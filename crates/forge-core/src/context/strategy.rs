use std::fmt;

use super::{SlidingWindow, TieredCompact};
use crate::Message;

/// The iterations that are never compacted, unless said otherwise.
pub const DEFAULT_KEEP_RECENT: usize = 2;

/// The share of the budget from which a conversation is compacted, unless said otherwise: a quarter stays for the answer and
/// for what the estimate misses.
pub const DEFAULT_THRESHOLD: f64 = 0.75;

/// A way to make a conversation shorter, in phases of which each takes more than the one before.
///
/// What a phase leaves has to hold, because model servers refuse other conversations: each call of a message has exactly one
/// result behind it, each result a call before it, and the order stays. What the system and the user said stays too.
pub trait CompactionStrategy: fmt::Debug + Send + Sync {
    /// For each phase the share of the budget, above 0 and at most 1, beyond which it is applied. Rising; empty where
    /// nothing is ever compacted.
    fn thresholds(&self) -> &[f64];

    /// Applies one phase, counted from 1. Applying it again changes nothing.
    fn compact(&self, phase: usize, messages: &mut Vec<Message>);
}

/// Leaves every conversation as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoCompact;

impl CompactionStrategy for NoCompact {
    fn thresholds(&self) -> &[f64] {
        &[]
    }

    fn compact(&self, _phase: usize, _messages: &mut Vec<Message>) {}
}

/// One of the strategies of this crate: what a setting chooses between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compactor {
    /// Nothing is compacted.
    None,
    /// The last iterations are kept.
    SlidingWindow(SlidingWindow),
    /// Old iterations are shortened in three phases.
    Tiered(TieredCompact),
}

impl Default for Compactor {
    fn default() -> Self {
        Self::Tiered(TieredCompact::default())
    }
}

impl CompactionStrategy for Compactor {
    fn thresholds(&self) -> &[f64] {
        match self {
            Self::None => NoCompact.thresholds(),
            Self::SlidingWindow(window) => window.thresholds(),
            Self::Tiered(tiered) => tiered.thresholds(),
        }
    }

    fn compact(&self, phase: usize, messages: &mut Vec<Message>) {
        match self {
            Self::None => NoCompact.compact(phase, messages),
            Self::SlidingWindow(window) => window.compact(phase, messages),
            Self::Tiered(tiered) => tiered.compact(phase, messages),
        }
    }
}

/// How many messages stand before the last iterations. An iteration begins with a turn of the model, refused or not; where
/// there are fewer, all is recent.
pub(super) fn old_messages(messages: &[Message], keep_recent: usize) -> usize {
    let is_turn = |message: &Message| matches!(message, Message::Assistant { .. });
    let mut turns = messages.iter().enumerate().rev().filter(|(_, message)| is_turn(message));
    turns.nth(keep_recent.saturating_sub(1)).map_or(0, |(first, _)| first)
}
