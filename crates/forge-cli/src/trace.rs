//! The trace file: one JSON line for each event of a run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use forge_runner::RunEvent;

/// Writes events as JSON lines. The first error is kept and told by [`Trace::close`]; the run goes on.
pub struct Trace {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl Trace {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// When the file can't be created.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("can't create the trace file {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), failed: None })
    }

    /// Writes one event and flushes, so that the trace is whole up to the moment a run dies.
    pub fn write(&mut self, event: &RunEvent) {
        if self.failed.is_some() || matches!(event, RunEvent::Delta { .. }) {
            return;
        }
        let written = serde_json::to_writer(&mut self.file, event)
            .map_err(io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            .and_then(|()| self.file.flush());
        self.failed = written.err();
    }

    /// Tells whether everything was written.
    ///
    /// # Errors
    /// The first error that happened while writing, such as a full disk.
    pub fn close(self) -> anyhow::Result<()> {
        match self.failed {
            None => Ok(()),
            Some(error) => Err(error).with_context(|| {
                format!("the trace file {} is incomplete; the run itself was not affected", self.path.display())
            }),
        }
    }
}
