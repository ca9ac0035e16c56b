//! Tools that are commands.

mod capture;
mod environment;
mod group;
mod line;
mod process;
mod report;
mod template;
mod tool;

pub use environment::ALWAYS_PASSED;
pub use line::CommandLine;
pub(crate) use template::{ElementTemplate, is_placeholder_name};
pub use template::{TemplateError, TemplateProblem};
pub use tool::{CommandTool, NO_DATA_EXIT_CODE};
