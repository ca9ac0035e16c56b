//! A model server that Forge started and stops.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use reqwest::{Client, StatusCode, Url};
use tokio::process::{ChildStdin, Command};
use tokio::time::Instant;

use super::log::ServerLog;
use super::probe::endpoint;
use super::runtime::Runtime;
use super::spec::ServerSpec;
use crate::http::{HttpClientError, http_client_builder};
use crate::models::DiskError;
use crate::models::python::own_group;

/// How often a starting server is asked whether it is ready.
const POLL_EVERY: Duration = Duration::from_millis(100);
/// How long one such question may take.
const POLL_TIMEOUT: Duration = Duration::from_secs(2);

/// A running model server. It is killed when this is dropped, and ends by itself when the process that holds this ends in
/// whatever way.
#[derive(Debug)]
pub struct ManagedServer {
    process: ServerProcess,
    base_url: Url,
    log: ServerLog,
    stop_timeout: Duration,
}

/// How far a starting server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StartPhase {
    /// It does not answer yet.
    Starting,
    /// It answers that it loads its model.
    LoadingModel,
}

/// What is told while a server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// How far it is.
    pub phase: StartPhase,
    /// How long it has been starting.
    pub elapsed: Duration,
}

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such model file.
    #[error("there is no model file {}; `forge models pull NAME` fetches one", .0.display())]
    NoModel(PathBuf),
    /// The runtime takes no further arguments.
    #[error("the Python runtime takes no further arguments ({0}); they are for a llama-server on the PATH")]
    ExtraArguments(String),
    /// The log can't be written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// No port is free, or loopback can't be used.
    #[error("no free port on 127.0.0.1 ({0})")]
    NoPort(#[source] std::io::Error),
    /// The HTTP client could not be made.
    #[error(transparent)]
    Client(#[from] HttpClientError),
    /// The program could not be started.
    #[error("{runtime} could not be started ({source})")]
    Spawn {
        /// The runtime.
        runtime: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The program ended before it was ready.
    #[error("the model server ended while it was starting ({status}); the end of its log {}:\n{tail}", .log.display())]
    Exited {
        /// How it ended.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The program took too long.
    #[error(
        "the model server was not ready after {} seconds and was stopped; the end of its log {}:\n{tail}",
        .after.as_secs(), .log.display()
    )]
    TimedOut {
        /// How long it was waited for.
        after: Duration,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
}

impl ManagedServer {
    /// Starts a server on a free loopback port and waits until its model is loaded, calling `waiting` some ten times a second.
    /// Its output goes to a file in `logs`. Dropping the future kills what was started.
    ///
    /// # Errors
    /// The model file is missing, the program can't be started, ends early or is not ready in time.
    pub async fn start(
        spec: ServerSpec,
        logs: &Path,
        mut waiting: impl FnMut(Waiting) + Send,
    ) -> Result<Self, StartError> {
        check(&spec)?;
        let port = free_port().map_err(StartError::NoPort)?;
        let (log, output) = ServerLog::create(logs, port)?;
        let base_url = address(port)?;
        let client = http_client_builder(&base_url)
            .timeout(POLL_TIMEOUT)
            .build()
            .map_err(|source| HttpClientError { url: base_url.clone(), source })?;
        let process = ServerProcess::spawn(spec.runtime.command(&spec, port), output)
            .map_err(|source| StartError::Spawn { runtime: spec.runtime.label(), source })?;
        let mut server = Self { process, base_url, log, stop_timeout: spec.stop_timeout };
        server.wait_until_ready(&client, spec.start_timeout, &mut waiting).await?;
        Ok(server)
    }

    /// The address of the server, without a path: `http://127.0.0.1:PORT/`.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// The file with everything the server wrote.
    pub fn log(&self) -> &Path {
        self.log.path()
    }

    /// The last lines the server wrote.
    pub fn log_tail(&self) -> String {
        self.log.tail()
    }

    /// How the server ended, if it has: to tell a crash from an answer that takes long.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.process.exited().now_or_never().and_then(Result::ok)
    }

    /// Asks the server to end, and kills it if it has not ended in [`ServerSpec::stop_timeout`].
    pub async fn stop(mut self) {
        self.process.stop(self.stop_timeout).await;
    }

    async fn wait_until_ready(
        &mut self,
        client: &Client,
        timeout: Duration,
        waiting: &mut (dyn FnMut(Waiting) + Send),
    ) -> Result<(), StartError> {
        let started = Instant::now();
        let mut phase = StartPhase::Starting;
        let mut ticks = tokio::time::interval(POLL_EVERY);
        loop {
            tokio::select! {
                status = self.process.exited() => {
                    let spawn = |source| StartError::Spawn { runtime: "the model server".to_owned(), source };
                    return Err(self.exited_early(status.map_err(spawn)?));
                },
                () = tokio::time::sleep_until(started + timeout) => return Err(self.timed_out(timeout)),
                _ = ticks.tick() => {},
            }
            match health(client, &self.base_url).await {
                Some(StatusCode::OK) => return Ok(()),
                Some(_) => phase = StartPhase::LoadingModel,
                None => {}
            }
            waiting(Waiting { phase, elapsed: started.elapsed() });
        }
    }

    fn exited_early(&self, status: ExitStatus) -> StartError {
        StartError::Exited { status, log: self.log().to_owned(), tail: self.log_tail() }
    }

    fn timed_out(&self, after: Duration) -> StartError {
        StartError::TimedOut { after, log: self.log().to_owned(), tail: self.log_tail() }
    }
}

/// The process and the pipe whose end ends it.
#[derive(Debug)]
struct ServerProcess {
    child: Box<dyn ChildWrapper>,
    /// Kept apart from the child, which would close it when it is waited for.
    _stdin: Option<ChildStdin>,
    ended: bool,
}

impl ServerProcess {
    fn spawn(command: std::process::Command, output: std::fs::File) -> std::io::Result<Self> {
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output);
        let mut command = CommandWrap::from(command);
        command.wrap(KillOnDrop);
        own_group(&mut command);
        let mut child = command.spawn()?;
        let stdin = child.stdin().take();
        Ok(Self { child, _stdin: stdin, ended: false })
    }

    async fn exited(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.ended = true;
        Ok(status)
    }

    async fn stop(&mut self, timeout: Duration) {
        self.ask_to_end();
        if tokio::time::timeout(timeout, self.exited()).await.is_err() {
            // Dropping kills it as well, but does not wait for it.
            let _gone_already = self.child.start_kill();
            let _ended = self.exited().await;
        }
    }

    #[cfg(unix)]
    fn ask_to_end(&mut self) {
        const SIGTERM: i32 = 15;
        let _gone_already = self.child.signal(SIGTERM);
    }

    /// There is no such request on this system.
    #[cfg(not(unix))]
    fn ask_to_end(&mut self) {
        let _gone_already = self.child.start_kill();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The whole group; the child alone is what dropping it would kill. The group's number may be another's once it ended.
        if !self.ended {
            let _gone_already = self.child.start_kill();
        }
    }
}

fn check(spec: &ServerSpec) -> Result<(), StartError> {
    if !spec.model.is_file() {
        return Err(StartError::NoModel(spec.model.clone()));
    }
    match spec.runtime {
        Runtime::PythonPackage(_) if !spec.extra_arguments.is_empty() => {
            let arguments = spec.extra_arguments.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>();
            Err(StartError::ExtraArguments(arguments.join(" ")))
        }
        Runtime::PythonPackage(_) | Runtime::LlamaServer { .. } => Ok(()),
    }
}

/// A port that nothing listens on. Another process may take it before the server does; then the server ends with an error
/// that says so.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn address(port: u16) -> Result<Url, StartError> {
    // Can't fail, but there is no other way to make an address.
    Url::parse(&format!("http://127.0.0.1:{port}/"))
        .map_err(|error| StartError::NoPort(std::io::Error::other(error.to_string())))
}

async fn health(client: &Client, base_url: &Url) -> Option<StatusCode> {
    Some(client.get(endpoint(base_url, "health")?).send().await.ok()?.status())
}
