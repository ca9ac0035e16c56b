use std::path::PathBuf;
use std::time::Duration;

use forge_core::{Arguments, Outcome};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::process::Command;

use super::environment::allowed_environment;
use super::line::CommandLine;
use super::process;
use super::report::outcome_of;
use crate::{Concurrency, Tool, ToolContext};

/// The exit code by which a command says "the call was right, and there is no such data".
pub const NO_DATA_EXIT_CODE: i32 = 66;

/// A tool that runs a command, never by way of a shell.
///
/// The command gets its arguments by the placeholders of its [`CommandLine`] and, all of them, as a JSON object and a
/// line end on its standard input. Its standard output is the result.
///
/// | how it ends | outcome |
/// |---|---|
/// | exit code 0 | [`Outcome::Success`] with its standard output |
/// | exit code [66](NO_DATA_EXIT_CODE) | [`Outcome::NoData`] with its standard output, or else its error output |
/// | another exit code, a signal | [`Outcome::Failure`] with the code or signal and both outputs |
/// | the time limit | [`Outcome::TimedOut`] with its outputs until then |
/// | the run's cancellation | [`Outcome::Cancelled`] |
///
/// On Unix a command leads its own process group. At the time limit or a cancellation the whole group is asked to
/// end (`SIGTERM`) and half a second later killed; what a command leaves in the background is killed when the
/// command ends.
#[derive(Clone, Debug)]
pub struct CommandTool {
    line: CommandLine,
    workdir: Option<PathBuf>,
    environment: Vec<String>,
    timeout: Duration,
    output_limit: usize,
    concurrency: Concurrency,
}

impl CommandTool {
    /// The time limit of a command that sets none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

    /// The bytes kept of each output of a command that sets no limit.
    pub const DEFAULT_OUTPUT_LIMIT: usize = 16 * 1024;

    /// A tool that runs this command line in the current directory with the defaults.
    pub fn new(line: CommandLine) -> Self {
        Self {
            line,
            workdir: None,
            environment: Vec::new(),
            timeout: Self::DEFAULT_TIMEOUT,
            output_limit: Self::DEFAULT_OUTPUT_LIMIT,
            concurrency: Concurrency::Exclusive,
        }
    }

    /// Runs the command in this directory.
    #[must_use]
    pub fn workdir(self, directory: impl Into<PathBuf>) -> Self {
        Self { workdir: Some(directory.into()), ..self }
    }

    /// Passes these environment variables on, where they are set, besides those that are [always
    /// passed](super::ALWAYS_PASSED). The command sees no others.
    #[must_use]
    pub fn environment(self, names: impl IntoIterator<Item = String>) -> Self {
        Self { environment: names.into_iter().collect(), ..self }
    }

    /// Ends the command after this time.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Keeps at most so many bytes of each of its two outputs: the first half and the last half, with a line
    /// between them that says how much was cut.
    #[must_use]
    pub fn output_limit(self, bytes: usize) -> Self {
        Self { output_limit: bytes, ..self }
    }

    /// Lets the command run beside other tools of the same batch.
    #[must_use]
    pub fn concurrency(self, concurrency: Concurrency) -> Self {
        Self { concurrency, ..self }
    }

    async fn run(&self, arguments: &Arguments, context: &ToolContext) -> Outcome {
        let mut command = Command::new(self.line.program());
        command.args(self.line.fill_in(&arguments.to_object()));
        command.env_clear().envs(allowed_environment(&self.environment));
        if let Some(directory) = &self.workdir {
            command.current_dir(directory);
        }
        let input = format!("{arguments}\n");
        match process::run(command, input.as_bytes(), self.timeout, self.output_limit, &context.cancellation).await {
            Ok(finished) => outcome_of(finished, self.timeout),
            Err(error) => Outcome::Failure(self.not_started(&error)),
        }
    }

    fn not_started(&self, error: &std::io::Error) -> String {
        let program = self.line.program().display();
        let reason = match error.kind() {
            std::io::ErrorKind::ArgumentListTooLong => "an argument is too long for a command line; make it shorter",
            std::io::ErrorKind::InvalidInput => "an argument holds a NUL character, which no command line can carry",
            _ => return format!("the command `{program}` could not be run: {error}"),
        };
        format!("the command `{program}` could not be run: {reason}")
    }
}

impl Tool for CommandTool {
    fn call<'a>(&'a self, arguments: &'a Arguments, context: &'a ToolContext) -> BoxFuture<'a, Outcome> {
        self.run(arguments, context).boxed()
    }

    /// None: the command's own limit ends it together with its processes and keeps its output.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    fn concurrency(&self) -> Concurrency {
        self.concurrency
    }
}
