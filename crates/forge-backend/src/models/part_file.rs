//! The file that grows while a model is fetched.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::Digest as _;

use super::cache::DiskError;
use super::checksum::Sha256;

const BUFFER_BYTES: usize = 256 * 1024;

/// An append-only file that knows the checksum of what it holds. Any source can continue what another one began, because
/// all sources of a model give the same bytes.
///
/// Clones are the same file. Every method blocks on the disk: async code calls them on the blocking pool.
#[derive(Debug, Clone)]
pub(crate) struct PartFile {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    file: File,
    length: u64,
    hasher: sha2::Sha256,
}

impl PartFile {
    /// Opens or creates the file. `keep` is given the length that is there and says how much of it to continue from (no more
    /// than that is kept); what is kept is read once for its checksum, and `read` is told how much so far.
    pub(crate) fn open(
        path: &Path,
        keep: impl FnOnce(u64) -> u64,
        mut read: impl FnMut(u64),
    ) -> Result<Self, DiskError> {
        let on = |action| DiskError::on(action, path);
        let mut file = File::options()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(path)
            .map_err(on("open the partial file"))?;
        let there = file.metadata().map_err(on("read the partial file"))?.len();
        let length = keep(there).min(there);
        file.set_len(length).map_err(on("shorten the partial file"))?;
        let mut hasher = sha2::Sha256::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut done = 0;
        loop {
            let count = file.read(&mut buffer).map_err(on("read the partial file"))?;
            if count == 0 {
                break;
            }
            hasher.update(buffer.get(..count).unwrap_or_default());
            done += count as u64;
            read(done);
        }
        Ok(Self { path: path.to_owned(), state: Arc::new(Mutex::new(State { file, length, hasher })) })
    }

    /// Bytes in the file.
    pub(crate) fn len(&self) -> u64 {
        self.state().length
    }

    /// Adds bytes at the end.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<(), DiskError> {
        let mut state = self.state();
        if let Err(source) = state.file.write_all(bytes) {
            // What was written of the rest is not in the checksum: drop it, so that the file can be continued. If even that
            // fails, the checksum at the end still tells.
            let length = state.length;
            let _shortened = state.file.set_len(length).and_then(|()| state.file.seek(SeekFrom::Start(length)));
            return Err(DiskError::on("write", &self.path)(source));
        }
        state.hasher.update(bytes);
        state.length += bytes.len() as u64;
        Ok(())
    }

    /// Empties the file.
    pub(crate) fn clear(&self) -> Result<(), DiskError> {
        let mut state = self.state();
        state
            .file
            .set_len(0)
            .and_then(|()| state.file.seek(SeekFrom::Start(0)))
            .map_err(DiskError::on("shorten the partial file", &self.path))?;
        state.length = 0;
        state.hasher = sha2::Sha256::new();
        Ok(())
    }

    /// The checksum of the whole content.
    pub(crate) fn checksum(&self) -> Sha256 {
        Sha256::of(self.state().hasher.clone())
    }

    /// Makes the content the file `target`, at once and for good: a reader sees the whole file or none.
    pub(crate) fn persist(&self, target: &Path) -> Result<(), DiskError> {
        self.state().file.sync_all().map_err(DiskError::on("write", &self.path))?;
        std::fs::rename(&self.path, target).map_err(DiskError::on("create", target))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code of ours panics while it holds the lock, and the worst state it could leave fails its checksum.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that a non-privileged process may still write to the disk of `folder`.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    fs4::available_space(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(bytes: &[u8]) -> Sha256 {
        Sha256::of(sha2::Sha256::new_with_prefix(bytes))
    }

    #[test]
    fn the_checksum_covers_what_was_there_and_what_was_added() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.part");
        std::fs::write(&path, "first ").unwrap();
        let part = PartFile::open(&path, |there| there, |_| ()).unwrap();
        part.append(b"second").unwrap();
        assert_eq!((part.len(), part.checksum()), (12, sha256(b"first second")));
    }

    #[test]
    fn only_what_is_to_be_kept_is_continued() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.part");
        std::fs::write(&path, "first, second").unwrap();
        let part = PartFile::open(&path, |_| 5, |_| ()).unwrap();
        part.append(b"!").unwrap();
        assert_eq!(part.checksum(), sha256(b"first!"));
        assert_eq!(std::fs::read(&path).unwrap(), b"first!");
    }

    #[test]
    fn a_cleared_file_starts_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.part");
        let part = PartFile::open(&path, |there| there, |_| ()).unwrap();
        part.append(b"wrong").unwrap();
        part.clear().unwrap();
        part.append(b"right").unwrap();
        assert_eq!((part.len(), part.checksum()), (5, sha256(b"right")));
        assert_eq!(std::fs::read(&path).unwrap(), b"right");
    }

    #[test]
    fn persisting_renames_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let (path, target) = (directory.path().join("model.part"), directory.path().join("model"));
        let part = PartFile::open(&path, |there| there, |_| ()).unwrap();
        part.append(b"content").unwrap();
        part.persist(&target).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"content");
        assert!(!path.exists());
    }
}
