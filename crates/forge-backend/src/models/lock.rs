//! One process at a time fetches a file or installs a runtime.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::cache::DiskError;

/// How often a held lock is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(250);

/// An exclusive lock on a file beside the thing to fetch. The system releases it when it is dropped and when the process
/// ends in whatever way, so it can't be left behind.
#[derive(Debug)]
pub(crate) struct FileLock {
    _locked: File,
}

impl FileLock {
    /// Takes the lock, waiting for another process that holds it; `waiting` is called every time it is still held.
    ///
    /// Creating the lock file is also the first write to the folder, so a folder that can't be written is noticed here.
    pub(crate) async fn acquire(path: &Path, mut waiting: impl FnMut()) -> Result<Self, DiskError> {
        let file = File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(path)
            .map_err(DiskError::on("create the lock file", path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _locked: file }),
                Err(TryLockError::WouldBlock) => waiting(),
                Err(TryLockError::Error(source)) => return Err(DiskError::on("lock", path)(source)),
            }
            tokio::time::sleep(RETRY_EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_held_lock_is_waited_for_and_then_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let mut held = Some(FileLock::acquire(&path, || ()).await.unwrap());
        let mut waited = 0;
        FileLock::acquire(&path, || {
            waited += 1;
            held = None;
        })
        .await
        .unwrap();
        assert_eq!(waited, 1);
    }

    #[tokio::test]
    async fn a_missing_folder_is_an_error_with_the_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none").join("lock");
        let error = FileLock::acquire(&path, || ()).await.unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }
}
