//! One [`Backend`] trait in front of model servers.
#![forbid(unsafe_code)]

mod backend;
mod error;

pub use backend::{Backend, BackendInfo, Capabilities, ModelEvent, ModelRequest, ModelStream, Sampling};
pub use error::BackendError;
