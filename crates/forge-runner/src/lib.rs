//! The workflow loop: drives engine, backend and tools, and tells an observer what happens as it happens.
#![forbid(unsafe_code)]

mod command;
mod event;
mod function;
mod observer;
mod tool;

pub use command::{ALWAYS_PASSED, CommandLine, CommandTool, NO_DATA_EXIT_CODE, TemplateError, TemplateProblem};
pub use event::{RunEvent, RunOutcome, RunReport};
pub use function::{FunctionTool, ToolError};
pub use observer::{Observer, Silent};
pub use tool::{Concurrency, DEFAULT_TOOL_TIMEOUT, Tool, ToolContext};
