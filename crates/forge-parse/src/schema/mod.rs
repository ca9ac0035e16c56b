//! What a tool's JSON Schema says about arguments: whether they satisfy it, which field doesn't, and which lossless
//! reading of them would.

mod compile;
mod faults;
mod keys;
pub(crate) mod pointer;
mod words;

pub use compile::{SchemaProblem, check_schema};

pub(crate) use compile::CompiledSchema;
pub(crate) use faults::field_faults;
pub(crate) use keys::{folded, similarity};
