//! The one form every request passes through: the body of a chat completion.
//!
//! A typed [`ModelRequest`](crate::ModelRequest) becomes such a body in [`write`]; a caller that has one already, a proxy
//! say, gives it as it is. [`prepare`] makes it fit for a server: the history safe ([`sanitise`]), the tools as the server
//! takes them ([`tools`], [`prompted`]), the constraint by the means it has ([`constraint`]). What a refusal teaches about
//! a server is in [`shape`]. Adapters of other protocols translate from this form.

mod constraint;
mod names;
pub(crate) mod prepare;
mod prompted;
pub(crate) mod sanitise;
mod schema_walk;
pub(crate) mod shape;
mod tools;
mod write;

use forge_core::Constraint;
use serde_json::{Map, Value};

use crate::ToolMode;

/// What to generate, in the form of the chat-completions API.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// The body: `messages`, `tools`, `max_tokens`, sampling, and whatever else the caller sends. Fields Forge knows nothing
    /// of go on to the server where its protocol has them. `stream` is the adapter's.
    pub body: Map<String, Value>,
    /// What the generation may be.
    pub constraint: Constraint,
    /// How the tools are offered.
    pub tool_mode: ToolMode,
    /// Which earlier thinking is sent.
    pub reasoning: shape::ReasoningReplay,
}
