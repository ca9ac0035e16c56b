//! The built binary, driven as a user would, and what holds for the whole workspace.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at a surprise"
)]

mod architecture;
mod check;
mod context;
mod models;
mod parse;
mod quickstart;
mod real_model;
mod run;
mod support;
mod templates;
