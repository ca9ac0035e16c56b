//! Fetching models and runtimes and managing servers, as a user of the crate does.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at a surprise")]

mod fetch_from_hub;
#[cfg(unix)]
mod fetch_from_packages;
#[cfg(unix)]
mod managed_server;
#[cfg(unix)]
mod python_runtime;
#[cfg(unix)]
mod real_model;
mod support;
