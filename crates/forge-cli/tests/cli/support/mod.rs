//! What the tests of the binary share.

pub(crate) mod guarantees;
pub(crate) mod model_server;
