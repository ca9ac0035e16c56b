//! What a fetch tells while it runs.

use super::fetch::SourceFailure;

/// What a fetch is doing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Another process fetches the same thing; this one waits for it to end.
    WaitingForOtherProcess,
    /// Looking for the source. No bytes yet.
    Connecting,
    /// Bytes arrive.
    Downloading,
    /// Bytes that are on the disk already are read again to check them.
    Verifying,
    /// A runtime is being unpacked into its folder.
    Installing,
}

/// How far a fetch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// What is fetched: a model's name or a runtime's.
    pub item: &'a str,
    /// Where from, in words for people; empty while that is not decided.
    pub source: &'a str,
    /// What is happening.
    pub stage: Stage,
    /// Bytes done in this stage. For packages this is scaled to the size of what they contain.
    pub done_bytes: u64,
    /// Bytes in all, from the catalogue.
    pub total_bytes: u64,
}

/// Receives what a fetch tells. Called on the task that fetches, up to some ten times a second for progress: implementations
/// must not block.
pub trait FetchObserver: Send {
    /// The fetch went on.
    fn progress(&mut self, progress: Progress<'_>);

    /// What an earlier fetch left turned out to be damaged: it was deleted, and the same source is fetched from the beginning.
    fn damaged(&mut self, item: &str) {
        let _ = item;
    }

    /// A source failed and the next one is tried. The failure of the last source is not told here: it is in the error.
    fn source_failed(&mut self, item: &str, failure: &SourceFailure) {
        let _ = (item, failure);
    }
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl FetchObserver for Silent {
    fn progress(&mut self, _progress: Progress<'_>) {}
}

/// Fills in the fields of [`Progress`] that stay the same for one source.
pub(crate) struct Reporter<'a> {
    pub(crate) observer: &'a mut dyn FetchObserver,
    pub(crate) item: &'a str,
    pub(crate) source: &'a str,
    pub(crate) total_bytes: u64,
}

impl Reporter<'_> {
    pub(crate) fn report(&mut self, stage: Stage, done_bytes: u64) {
        self.observer.progress(Progress {
            item: self.item,
            source: self.source,
            stage,
            done_bytes,
            total_bytes: self.total_bytes,
        });
    }
}
