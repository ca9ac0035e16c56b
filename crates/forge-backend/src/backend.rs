use std::sync::Arc;

use forge_core::{CallId, Constraint, FinishReason, Message, Usage};
use forge_parse::ToolSpec;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::{BackendError, ChatRequest, ReasoningReplay};

/// A model server. Dropping a future or a stream cancels the generation.
pub trait Backend: Send + Sync {
    /// Starts a generation from a request in the form of the chat-completions API. The stream ends after one
    /// [`ModelEvent::Finish`] or one error.
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>>;

    /// Starts a generation from a typed request.
    fn generate(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        self.chat(ChatRequest::from(&request))
    }

    /// Asks the server what it is: model, context window, capabilities. Cheap; callers keep the answer.
    fn info(&self) -> BoxFuture<'_, Result<BackendInfo, BackendError>>;
}

impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        (**self).chat(request)
    }

    fn generate(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        (**self).generate(request)
    }

    fn info(&self) -> BoxFuture<'_, Result<BackendInfo, BackendError>> {
        (**self).info()
    }
}

/// The events of one generation, in order.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, BackendError>>;

/// What to generate.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The conversation.
    pub messages: Arc<[Message]>,
    /// The tools offered, always in the same order so that the server's prompt cache holds.
    pub tools: Arc<[ToolSpec]>,
    /// How the tools are offered.
    pub tool_mode: ToolMode,
    /// What the generation may be.
    pub constraint: Constraint,
    /// Which earlier thinking is sent.
    pub reasoning: ReasoningReplay,
    /// The most tokens to generate; at least 1.
    pub max_tokens: u32,
    /// How to sample.
    pub sampling: Sampling,
}

/// How tools are offered to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolMode {
    /// By the server: in the request's `tools`, described to the model by its chat template.
    #[default]
    Native,
    /// In the prompt, with earlier calls and results as text: for models and servers without tools of their own.
    Prompted,
}

/// How to sample. A field that is none is left to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// 0 is greedy; usual range 0 to 2.
    pub temperature: Option<f64>,
    /// Nucleus sampling; above 0, at most 1.
    pub top_p: Option<f64>,
    /// The random seed.
    pub seed: Option<u64>,
}

/// One event of a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ModelEvent {
    /// A piece of the content.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of the thinking, where the server delivers it apart.
    Reasoning {
        /// The piece.
        text: String,
    },
    /// A piece of a structured call. The first piece of an index carries the name.
    Call {
        /// Which call of the turn, from 0.
        index: usize,
        /// The server's id, with the first piece.
        id: Option<CallId>,
        /// A piece of the name.
        name: String,
        /// A piece of the argument text.
        arguments: String,
    },
    /// What the generation cost. May come more than once; the last counts.
    Usage(Usage),
    /// The end.
    Finish {
        /// Why.
        reason: FinishReason,
    },
}

/// What a server said about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendInfo {
    /// The server's software, such as `llama.cpp`; empty where it doesn't say.
    pub server: String,
    /// The model that answers.
    pub model: String,
    /// The context window in tokens, if the server says.
    pub context_window: Option<u64>,
    /// What the server can do.
    pub capabilities: Capabilities,
}

/// What a server truly enforces, declared or probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// It takes `tools` and describes them to the model.
    pub native_tools: bool,
    /// `tool_choice: required` forces a call.
    pub required_tool_choice: bool,
    /// A JSON schema for the content is enforced, also with tools present.
    pub json_schema: bool,
}
