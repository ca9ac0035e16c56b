//! The trace file: one JSON line for each event of a run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use forge_runner::RunEvent;

/// Writes events as JSON lines. The first error is kept and told by [`Trace::close`]; the run goes on.
pub(crate) struct Trace {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl Trace {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// When the file can't be created.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("can't create the trace file {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), failed: None })
    }

    /// Writes one event and flushes, so that the trace is whole up to the moment a run dies.
    pub(crate) fn write(&mut self, event: &RunEvent) {
        if self.failed.is_some() || matches!(event, RunEvent::Delta { .. }) {
            return;
        }
        let written =
            line(event).and_then(|line| self.file.write_all(line.as_bytes())).and_then(|()| self.file.flush());
        self.failed = written.err();
    }

    /// Tells whether everything was written.
    ///
    /// # Errors
    /// The first error that happened while writing, such as a full disk.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        match self.failed {
            None => Ok(()),
            Some(error) => Err(error).with_context(|| {
                format!("the trace file {} is incomplete; the run itself was not affected", self.path.display())
            }),
        }
    }
}

/// The event as one line. Arguments are kept as the model wrote them, line breaks between their tokens included; in JSON
/// such breaks are white space, those within strings being escaped.
fn line(event: &RunEvent) -> io::Result<String> {
    let mut line = serde_json::to_string(event)?.replace(['\n', '\r'], " ");
    line.push('\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use forge_core::{Arguments, CallId, Dialect, ToolCall};
    use forge_runner::RunEvent;

    use super::line;

    #[test]
    fn arguments_written_over_several_lines_stay_on_one_line() {
        let arguments = Arguments::from_json("{\n  \"text\": \"a\\nb\",\r\n  \"id\": 18446744073709551616\n}").unwrap();
        let call = ToolCall { id: CallId::new("call_1"), name: "save".into(), arguments };
        let event = RunEvent::ToolStarted { call, dialect: Dialect::NATIVE, repairs: Vec::new() };
        let line = line(&event).unwrap();
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.contains(r#""text": "a\nb""#) && line.contains("18446744073709551616"), "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["call"]["arguments"]["text"], "a\nb");
    }
}
