//! Fits a conversation into a model's context window.

mod cut;
mod error;
mod estimate;
mod manager;
mod sliding;
mod strategy;
mod summary;
mod tiered;

#[cfg(test)]
mod tests;

pub use error::{ContextBudgetExceeded, InvalidContext, ShareField};
pub use estimate::{BYTES_PER_TOKEN, Estimate, EstimateSource, Thinking, estimate_message};
pub use manager::{Compaction, ContextManager, ContextState, ContextWarning, Fitted};
pub use sliding::SlidingWindow;
pub use strategy::{CompactionStrategy, Compactor, DEFAULT_KEEP_RECENT, DEFAULT_THRESHOLD, NoCompact};
pub use summary::place_summary;
pub use tiered::TieredCompact;
