//! From a model's text and raw arguments to validated tool calls.
//!
//! This crate does no I/O, knows no clock and holds no global state: text goes in, ordered
//! [`Event`]s come out.
#![forbid(unsafe_code)]

mod call;
mod fault;
mod name;
pub mod repair;
pub mod schema;
mod spec;
mod toolset;

pub use call::{Arguments, Dialect, ParsedCall, Repair};
pub use fault::{Event, Fault, FieldFault, FieldProblem, FinishReason};
pub use name::ToolName;
pub use spec::{SpecError, ToolSpec};
pub use toolset::{End, Resolution, SchemaWarning, Toolset, ToolsetCache};
