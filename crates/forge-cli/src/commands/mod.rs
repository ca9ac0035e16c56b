//! One module for each subcommand.

pub(crate) mod check;
pub(crate) mod models;
pub(crate) mod parse;
pub(crate) mod quickstart;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod templates;
