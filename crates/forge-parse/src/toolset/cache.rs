use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Toolset;
use super::hash::{content_hash, same_specs};
use crate::ToolSpec;

/// Compiled tools by their content: agents send the same tools with every request.
///
/// Holds a bounded number of toolsets; the one unused for longest is dropped first.
#[derive(Debug)]
pub struct ToolsetCache {
    /// Most recently used last.
    toolsets: Mutex<Vec<Arc<Toolset>>>,
    capacity: usize,
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
        Self { toolsets: Mutex::new(Vec::new()), capacity: capacity.max(1) }
    }

    /// The compiled form of these tools, compiled now if it isn't known.
    pub fn get_or_compile(&self, specs: &[ToolSpec]) -> Arc<Toolset> {
        let hash = content_hash(specs);
        if let Some(known) = self.find(hash, specs) {
            return known;
        }
        // Compiled outside the lock: others need not wait for it.
        let compiled = Arc::new(Toolset::compile_hashed(specs.to_vec(), hash));
        let mut toolsets = self.lock();
        if toolsets.len() >= self.capacity {
            toolsets.remove(0);
        }
        toolsets.push(Arc::clone(&compiled));
        compiled
    }

    /// How many toolsets are held.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn find(&self, hash: u128, specs: &[ToolSpec]) -> Option<Arc<Toolset>> {
        let mut toolsets = self.lock();
        let place = toolsets.iter().rposition(|known| known.content_hash == hash && same_specs(&known.specs, specs))?;
        let known = toolsets.remove(place);
        toolsets.push(Arc::clone(&known));
        Some(known)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Toolset>>> {
        self.toolsets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
