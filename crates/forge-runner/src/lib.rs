//! The workflow loop: drives engine, backend and tools, and tells an observer what happens as it happens.
#![forbid(unsafe_code)]

mod event;
mod tool;

pub use event::{RunEvent, RunOutcome, RunReport};
pub use tool::{Tool, ToolContext};
