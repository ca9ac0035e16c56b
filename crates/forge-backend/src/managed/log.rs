//! The log files of managed servers.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::models::{DiskError, create_dir};

/// Logs that are kept, the new one included.
const KEPT_LOGS: usize = 10;
/// How much of a log's end is looked at.
const TAIL_BYTES: u64 = 16 * 1024;
/// Lines of a log that an error shows.
const TAIL_LINES: usize = 15;

/// The file that a server writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerLog {
    path: PathBuf,
}

impl ServerLog {
    /// Starts a log for the server on this port, and removes the oldest ones.
    pub(super) fn create(folder: &Path, port: u16) -> Result<(Self, File), DiskError> {
        create_dir(folder)?;
        let path = folder.join(format!("server-{port}.log"));
        let file = File::create(&path).map_err(DiskError::on("create the log", &path))?;
        remove_oldest(folder);
        Ok((Self { path }, file))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The last lines.
    pub(super) fn tail(&self) -> String {
        let read = || {
            let mut file = File::open(&self.path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
        let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty()).take(TAIL_LINES).collect::<Vec<_>>();
        lines.reverse();
        lines.join("\n")
    }
}

/// Removes all but the newest logs. Only tidiness: what can't be read or removed stays.
fn remove_oldest(folder: &Path) {
    let mut logs = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("server-") && name.ends_with(".log")
        })
        .map(|entry| {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            (modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path())
        })
        .collect::<Vec<_>>();
    logs.sort();
    let surplus = logs.len().saturating_sub(KEPT_LOGS);
    for (_, path) in logs.into_iter().take(surplus) {
        let _removed = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_lines_without_empty_ones() {
        let folder = tempfile::tempdir().unwrap();
        let (log, _file) = ServerLog::create(folder.path(), 1).unwrap();
        let lines = (0..40).map(|number| format!("line {number}\n\n")).collect::<String>();
        std::fs::write(log.path(), lines).unwrap();
        let tail = log.tail();
        assert_eq!(
            (tail.lines().count(), tail.lines().next(), tail.lines().last()),
            (15, Some("line 25"), Some("line 39"))
        );
    }

    #[test]
    fn only_the_newest_logs_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("other.log"), "").unwrap();
        for port in 1..=15 {
            let (_log, file) = ServerLog::create(folder.path(), port).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(port.into())).unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), KEPT_LOGS + 1);
        assert!(folder.path().join("server-15.log").exists() && !folder.path().join("server-1.log").exists());
    }
}
