//! One [`Backend`] trait in front of model servers, the servers Forge manages, and the models it fetches.
#![forbid(unsafe_code)]

mod backend;
mod error;
pub mod http;
pub mod managed;
pub mod models;

pub use backend::{Backend, BackendInfo, Capabilities, ModelEvent, ModelRequest, ModelStream, Sampling};
pub use error::BackendError;
