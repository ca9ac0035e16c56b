//! What the tests of the binary share.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may stop at a surprise")]

pub mod guarantees;
pub mod model_server;
