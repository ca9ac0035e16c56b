//! Backends against a server that plays faults over real connections.
#![expect(clippy::unwrap_used, reason = "a test may fail at any step")]

mod adapting;
mod config;
mod connection;
mod errors;
mod info;
mod retrying;
mod rows;
mod stream;
mod support;
