//! Ids that nobody has given before.

use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// A new id: a prefix and 24 hexadecimal digits.
pub(crate) fn id(prefix: &str) -> String {
    // Each state has keys of its own, so the hash of nothing is different each time.
    let (high, low) = (RandomState::new().hash_one(1_u8), RandomState::new().hash_one(2_u8));
    format!("{prefix}{high:016x}{:08x}", low >> 32)
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
