//! The user's Python and its pip, run as child processes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::AsyncReadExt as _;

use super::cache::DiskError;

/// How often a running child is asked how far it is.
const TICK: Duration = Duration::from_millis(100);
/// How much of what a child says on stderr is kept, from its end.
const KEPT_STDERR_BYTES: usize = 16 * 1024;
/// The names to look for on the PATH.
const PROGRAM_NAMES: [&str; 2] = ["python3", "python"];

/// Python or its pip is missing, or pip failed.
#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    /// No Python on the PATH.
    #[error("no python3 is on the PATH; install Python 3 with pip (for example `apt install python3-pip`)")]
    NotFound,
    /// Python is there but could not be started.
    #[error("{} could not be started", .program.display())]
    Start {
        /// The Python that was tried.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Python has no pip.
    #[error(
        "{} has no pip; install it (for example `apt install python3-pip`, or `python3 -m ensurepip --user`)",
        .program.display()
    )]
    NoPip {
        /// The Python that was tried.
        program: PathBuf,
    },
    /// pip could not reach its index.
    #[error(
        "pip could not reach the package index for {package}; check the network and pip's settings (`pip config list`): {said}"
    )]
    NoNetwork {
        /// What was asked for.
        package: String,
        /// The last line of pip's errors.
        said: String,
    },
    /// The index does not have the package for this system.
    #[error("the package index has no {package} for this system and {}: {said}", .program.display())]
    NoSuchPackage {
        /// What was asked for.
        package: String,
        /// The Python that was tried.
        program: PathBuf,
        /// The last line of pip's errors.
        said: String,
    },
    /// Anything else.
    #[error("pip failed for {package} ({status}): {said}")]
    Failed {
        /// What was asked for.
        package: String,
        /// How pip ended.
        status: std::process::ExitStatus,
        /// The last lines of pip's errors.
        said: String,
    },
}

/// Why pip did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum PipError {
    /// It could not write.
    Disk(DiskError),
    /// Anything else.
    Python(PythonError),
}

impl From<PythonError> for PipError {
    fn from(error: PythonError) -> Self {
        Self::Python(error)
    }
}

impl From<DiskError> for PipError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

/// A Python interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Python {
    program: PathBuf,
}

impl Python {
    /// The first Python on the PATH.
    pub(crate) fn find() -> Result<Self, PythonError> {
        PROGRAM_NAMES
            .iter()
            .find_map(|name| which::which(name).ok())
            .map(|program| Self { program })
            .ok_or(PythonError::NotFound)
    }

    /// This very interpreter.
    pub(crate) fn at(program: PathBuf) -> Self {
        Self { program }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs `python -m pip ARGUMENTS` with its temporary files in `temporary`, and calls `tick` some ten times a second.
    /// `package` is what it is about, for errors. Dropping the future kills the process.
    pub(crate) async fn pip(
        &self,
        arguments: &[&OsStr],
        package: &str,
        temporary: &Path,
        mut tick: impl FnMut(),
    ) -> Result<(), PipError> {
        let start = |source| PythonError::Start { program: self.program.clone(), source };
        let mut child = self.spawn_pip(arguments, temporary).map_err(start)?;
        let mut stderr = child.stderr().take();
        let mut said = Vec::new();
        let mut ticks = tokio::time::interval(TICK);
        let status = {
            let reading = async {
                if let Some(stderr) = &mut stderr {
                    read_tail(stderr, &mut said).await;
                }
            };
            let waiting = child.wait();
            tokio::pin!(reading);
            let mut done_reading = false;
            tokio::pin!(waiting);
            loop {
                tokio::select! {
                    () = &mut reading, if !done_reading => done_reading = true,
                    status = &mut waiting, if done_reading => break status.map_err(start)?,
                    _ = ticks.tick() => tick(),
                }
            }
        };
        let said = String::from_utf8_lossy(&said);
        if status.success() {
            Ok(())
        } else if ["No space left on device", "Disk quota exceeded"].iter().any(|text| said.contains(text)) {
            Err(DiskError::on("write", temporary)(std::io::ErrorKind::StorageFull.into()).into())
        } else {
            Err(self.explain(package, status, &said).into())
        }
    }

    fn spawn_pip(&self, arguments: &[&OsStr], temporary: &Path) -> std::io::Result<Box<dyn ChildWrapper>> {
        let mut command = CommandWrap::with_new(&self.program, |command| {
            command
                .args(["-m", "pip"])
                .args(arguments)
                .args(["--no-input", "--disable-pip-version-check"])
                .env("TMPDIR", temporary)
                .env("TEMP", temporary)
                .env("TMP", temporary)
                // Settings of the user that make sense for a project's packages but not for these folders.
                .env("PIP_USER", "0")
                .env("PIP_REQUIRE_VIRTUALENV", "0")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
        });
        command.wrap(KillOnDrop);
        own_group(&mut command);
        command.spawn()
    }

    fn explain(&self, package: &str, status: std::process::ExitStatus, said: &str) -> PythonError {
        let package = package.to_owned();
        let program = self.program.clone();
        let last =
            said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned();
        let says = |texts: &[&str]| texts.iter().any(|text| said.contains(text));
        if says(&["No module named pip"]) {
            PythonError::NoPip { program }
        } else if says(&[
            "connection broken by",
            "Connection to ",
            "Failed to establish",
            "Temporary failure",
            "ProxyError",
        ]) {
            PythonError::NoNetwork { package, said: last }
        } else if says(&["No matching distribution"]) {
            PythonError::NoSuchPackage { package, program, said: last }
        } else {
            PythonError::Failed { package, status, said: last_lines(said, 5) }
        }
    }
}

/// Puts a command in a process group (a job on Windows) of its own, so that a signal from the terminal does not reach it
/// and its own children end with it.
pub(crate) fn own_group(command: &mut CommandWrap) {
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);
}

async fn read_tail(mut from: impl tokio::io::AsyncRead + Unpin, into: &mut Vec<u8>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        into.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let surplus = into.len().saturating_sub(KEPT_STDERR_BYTES);
        into.drain(..surplus);
    }
}

/// The last `count` lines that are not empty, joined by ` / `.
fn last_lines(text: &str, count: usize) -> String {
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(count).collect::<Vec<_>>();
    lines.reverse();
    if lines.is_empty() { "it said nothing".to_owned() } else { lines.join(" / ") }
}
