//! The workflow loop: drives engine, backend and tools, and tells an observer what happens as it happens.
#![forbid(unsafe_code)]

mod batch;
mod bound;
mod command;
mod context_options;
mod diagnostic;
mod event;
mod function;
mod generation;
mod observer;
mod options;
mod runner;
mod template_folder;
mod tool;
mod workflow_file;

pub use bound::{BindError, BoundWorkflow, Tools};
pub use command::{ALWAYS_PASSED, CommandLine, CommandTool, NO_DATA_EXIT_CODE, TemplateError, TemplateProblem};
pub use context_options::ContextOptions;
pub use diagnostic::{Diagnostic, WorkflowFileError};
pub use event::{RunEvent, RunOutcome, RunReport};
pub use function::{FunctionTool, ToolError};
pub use observer::{Observer, Silent};
pub use options::{RunnerOptions, Seed};
pub use runner::Runner;
pub use template_folder::{TemplateFolder, TemplateFolderError};
pub use tool::{Concurrency, DEFAULT_TOOL_TIMEOUT, Tool, ToolContext};
pub use workflow_file::{LoadOptions, LoadedWorkflow, WorkflowFile};
