use super::error::{InvalidContext, check_shares};
use super::strategy::{CompactionStrategy, DEFAULT_KEEP_RECENT, DEFAULT_THRESHOLD, old_messages};
use crate::{Message, UserOrigin};

/// Keeps the last iterations whole and drops those before them: turns of the model with their results, and nudges. What the
/// system and the user said stays. One phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlidingWindow {
    keep_recent: usize,
    threshold: [f64; 1],
}

impl Default for SlidingWindow {
    fn default() -> Self {
        Self { keep_recent: DEFAULT_KEEP_RECENT, threshold: [DEFAULT_THRESHOLD] }
    }
}

impl SlidingWindow {
    /// Keeps the last `keep_recent` iterations, at least 1, once more than this share of the budget is used.
    ///
    /// # Errors
    /// When `keep_recent` is 0 or the share isn't above 0 and at most 1.
    pub fn new(keep_recent: usize, threshold: f64) -> Result<Self, InvalidContext> {
        if keep_recent == 0 {
            return Err(InvalidContext::KeepRecent);
        }
        check_shares("thresholds", &[threshold])?;
        Ok(Self { keep_recent, threshold: [threshold] })
    }
}

impl CompactionStrategy for SlidingWindow {
    fn thresholds(&self) -> &[f64] {
        &self.threshold
    }

    fn compact(&self, _phase: usize, messages: &mut Vec<Message>) {
        let old = old_messages(messages, self.keep_recent);
        let mut position = 0;
        messages.retain(|message| {
            position += 1;
            position > old || stays(message)
        });
    }
}

fn stays(message: &Message) -> bool {
    match message {
        Message::System { .. } => true,
        Message::User { origin, .. } => matches!(origin, UserOrigin::Input | UserOrigin::Summary),
        Message::Assistant { .. } | Message::Tool { .. } => false,
    }
}
