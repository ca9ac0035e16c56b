//! One [`Backend`] trait in front of model servers, the servers Forge manages, and the models it fetches.
#![forbid(unsafe_code)]

mod backend;
mod base_url;
mod chat;
mod collect;
mod context_budget;
mod error;
mod examine;
pub mod http;
pub mod managed;
pub mod models;
mod openai;
mod peek;
mod retry;
mod secret;
mod sse;
mod video_memory;

pub use backend::{Backend, BackendInfo, Capabilities, ModelEvent, ModelRequest, ModelStream, Sampling, ToolMode};
pub use base_url::{BaseUrl, BaseUrlError};
pub use chat::ChatRequest;
pub use chat::sanitise::{HistoryChange, HistoryChangeKind, Sanitised, sanitise};
pub use chat::shape::{ContentForm, HistoryShape, ReasoningReplay, ReplayedArguments, Turns};
pub use collect::{MAX_ANSWER_BYTES, collect};
pub use context_budget::{ContextBudget, UnknownBudget, ollama_window};
pub use error::BackendError;
pub use examine::{CallForm, Examination, Finding, Means, Recommendation, Thinking, examine};
pub use openai::{
    ConfigError, Frame, FrameStream, Metadata, MetadataRoute, OpenAiCompatible, OpenAiConfig, RawRequest, Timeouts,
};
pub use retry::{RetryPolicy, Retrying};
pub use secret::Secret;
pub use sse::{MAX_EVENT_BYTES, SseDecoder, SseError, SseEvent};
pub use video_memory::video_memory;
