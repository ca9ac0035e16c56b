//! What a tool's JSON Schema says about arguments: whether they satisfy it, which field doesn't, and which lossless
//! reading of them would.

mod coerce;
mod compile;
mod faults;
mod format;
mod keys;
mod leak;
pub(crate) mod pointer;
mod shape;
mod words;

pub use compile::{SchemaProblem, check_schema};

pub(crate) use coerce::{coerce, may_be_misspelt};
pub(crate) use compile::CompiledSchema;
pub(crate) use faults::field_faults;
pub use keys::nearest;
pub(crate) use keys::{folded, similarity};
pub(crate) use leak::may_leak;
