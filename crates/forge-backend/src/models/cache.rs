//! The folder where fetched models, runtimes and logs are kept.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

/// The environment variable that names the cache folder.
pub const CACHE_DIR_VARIABLE: &str = "FORGE_CACHE_DIR";

/// The folders below Forge's cache folder. Nothing is created before it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDirs {
    root: PathBuf,
}

/// The cache folder can't be determined.
#[derive(Debug, thiserror::Error)]
pub enum CacheDirsError {
    /// There is no home folder to put it in.
    #[error("no home folder is known for the cache; set {CACHE_DIR_VARIABLE} to a folder for models and runtimes")]
    NoHome(#[source] etcetera::HomeDirError),
    /// A relative path would be another folder each time the working directory changes.
    #[error("{CACHE_DIR_VARIABLE} is {0:?}, which is not an absolute path; write it in full")]
    NotAbsolute(PathBuf),
}

impl CacheDirs {
    /// The folder that `FORGE_CACHE_DIR` names, else `forge` in the user's cache folder (`$XDG_CACHE_HOME` or `~/.cache` on
    /// Linux and macOS, the local application data on Windows).
    ///
    /// # Errors
    /// The variable holds a relative path, or it is not set and there is no home folder.
    pub fn from_env() -> Result<Self, CacheDirsError> {
        match std::env::var_os(CACHE_DIR_VARIABLE).filter(|value| !value.is_empty()) {
            Some(named) => Self::named(PathBuf::from(named)),
            None => {
                let user = etcetera::choose_base_strategy().map_err(CacheDirsError::NoHome)?;
                Ok(Self::at(user.cache_dir().join("forge")))
            }
        }
    }

    /// The cache at this folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn named(root: PathBuf) -> Result<Self, CacheDirsError> {
        if root.is_absolute() { Ok(Self::at(root)) } else { Err(CacheDirsError::NotAbsolute(root)) }
    }

    /// The cache folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where model files are: each under its own file name, present only when its checksum was right.
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// Where runtimes are: one folder per runtime and version.
    pub fn runtimes(&self) -> PathBuf {
        self.root.join("runtimes")
    }

    /// Where the logs of managed servers are.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }
}

/// A file or folder could not be written or read: a full disk, a read-only folder, a missing permission.
#[derive(Debug)]
pub struct DiskError {
    /// What was to be done, as in "failed to … PATH".
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl DiskError {
    /// Maps an [`io::Error`] of doing `action` to `path`.
    pub(crate) fn on(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path: path.to_owned(), source }
    }

    fn advice(&self) -> String {
        match self.source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("the disk is full: free some space or set {CACHE_DIR_VARIABLE} to a folder on another disk")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                format!(
                    "the folder can't be written: change its permissions or set {CACHE_DIR_VARIABLE} to a folder that can"
                )
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                format!("a file is where a folder is needed: remove it or set {CACHE_DIR_VARIABLE} to another folder")
            }
            _ => format!("check the folder, or set {CACHE_DIR_VARIABLE} to another one"),
        }
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "failed to {} {} ({}); {}", self.action, self.path.display(), self.source, self.advice())
    }
}

impl std::error::Error for DiskError {}

/// Creates a folder of the cache and its parents.
pub(crate) fn create_dir(path: &Path) -> Result<(), DiskError> {
    std::fs::create_dir_all(path).map_err(DiskError::on("create the folder", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_runtimes_and_logs_are_below_the_root() {
        let dirs = CacheDirs::at("/cache/forge");
        assert_eq!(
            [dirs.models(), dirs.runtimes(), dirs.logs()].map(|path| path.to_string_lossy().replace('\\', "/")),
            ["/cache/forge/models", "/cache/forge/runtimes", "/cache/forge/logs"]
        );
    }

    #[test]
    fn a_relative_cache_folder_is_refused() {
        let error = CacheDirs::named(PathBuf::from("cache")).unwrap_err();
        assert_eq!(error.to_string(), "FORGE_CACHE_DIR is \"cache\", which is not an absolute path; write it in full");
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_said_plainly() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("forge");
        std::fs::write(&file, "").unwrap();
        let error = create_dir(&CacheDirs::at(file).models()).unwrap_err();
        assert!(error.to_string().contains("a file is where a folder is needed"), "{error}");
    }

    #[test]
    fn each_kind_of_disk_trouble_has_its_advice() {
        for (kind, advice) in [
            (io::ErrorKind::StorageFull, "the disk is full: free some space"),
            (io::ErrorKind::ReadOnlyFilesystem, "the folder can't be written"),
            (io::ErrorKind::PermissionDenied, "the folder can't be written"),
        ] {
            let error = DiskError::on("write", Path::new("/cache/x"))(io::Error::from(kind)).to_string();
            assert!(error.starts_with("failed to write /cache/x (") && error.contains(advice), "{error}");
        }
    }
}
