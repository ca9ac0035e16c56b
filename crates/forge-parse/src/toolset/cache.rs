use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Toolset;
use super::hash::ContentHasher;
use crate::ToolSpec;

/// Compiled tools by their content: agents send the same tools with every request.
///
/// The hash has 128 bits under a key of this cache, so that no client can find two lists of tools with the same one.
/// Holds a bounded number of toolsets; the one unused for longest is dropped first.
#[derive(Debug)]
pub struct ToolsetCache {
    /// Most recently used last.
    entries: Mutex<Vec<Entry>>,
    capacity: usize,
    hasher: ContentHasher,
}

impl Default for ToolsetCache {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}

impl ToolsetCache {
    /// How many toolsets [`ToolsetCache::default`] holds.
    pub const DEFAULT_CAPACITY: usize = 64;

    /// A cache for up to `capacity` toolsets; at least one.
    pub fn new(capacity: usize) -> Self {
        Self { entries: Mutex::new(Vec::new()), capacity: capacity.max(1), hasher: ContentHasher::with_random_key() }
    }

    /// The compiled form of these tools, compiled now if it isn't known.
    pub fn get_or_compile(&self, specs: &[ToolSpec]) -> Arc<Toolset> {
        let hash = self.hasher.hash(specs);
        if let Some(known) = self.find(hash) {
            return known;
        }
        // Compiled outside the lock: others need not wait for it.
        let toolset = Toolset::compile(specs.to_vec());
        let mut entries = self.lock();
        if let Some(entry) = entries.iter().find(|entry| entry.hash == hash) {
            // Somebody else was faster.
            return Arc::clone(&entry.toolset);
        }
        if entries.len() >= self.capacity {
            entries.remove(0);
        }
        entries.push(Entry { hash, toolset: Arc::clone(&toolset) });
        toolset
    }

    /// How many toolsets are held.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn find(&self, hash: u128) -> Option<Arc<Toolset>> {
        let mut entries = self.lock();
        let place = entries.iter().rposition(|entry| entry.hash == hash)?;
        let entry = entries.remove(place);
        let toolset = Arc::clone(&entry.toolset);
        entries.push(entry);
        Some(toolset)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Entry {
    hash: u128,
    toolset: Arc<Toolset>,
}
