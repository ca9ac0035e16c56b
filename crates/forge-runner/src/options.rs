use forge_backend::{Capabilities, ReasoningReplay, Sampling, ToolMode};
use forge_core::Message;

use crate::{ContextOptions, LoadedWorkflow};

/// How a [`Runner`](crate::Runner) generates.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnerOptions {
    /// The most tokens of one generation; at least 1. Default 1024: small models ramble to the end of the context
    /// if nothing stops them.
    pub max_tokens: u32,
    /// The most tokens of a second try, where a call was cut off at the limit. None, the default: the model is told to
    /// split the work.
    pub retry_max_tokens: Option<u32>,
    /// How tools are offered. None, the default: by the server where it has tools, else in the prompt.
    pub tool_mode: Option<ToolMode>,
    /// Which earlier thinking is sent. Default: none.
    pub reasoning: ReasoningReplay,
    /// How to sample. Default: as the server does.
    pub sampling: Sampling,
    /// How the conversation is kept within the model's window.
    pub context: ContextOptions,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self {
            max_tokens: 1024,
            retry_max_tokens: None,
            tool_mode: None,
            reasoning: ReasoningReplay::default(),
            sampling: Sampling::default(),
            context: ContextOptions::default(),
        }
    }
}

impl RunnerOptions {
    /// What a workflow file says about generations, with the defaults for the rest.
    pub fn from_workflow(loaded: &LoadedWorkflow) -> Self {
        loaded.options.clone()
    }

    /// How tools are offered to a server that can do this.
    pub(crate) fn tool_mode_for(&self, capabilities: Capabilities) -> ToolMode {
        let own = if capabilities.native_tools { ToolMode::Native } else { ToolMode::Prompted };
        self.tool_mode.unwrap_or(own)
    }
}

/// What a run begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seed {
    /// The conversation so far, such as the messages of an earlier run's report; empty for a first turn. System
    /// messages at its head are replaced by the workflow's system prompt.
    pub earlier: Vec<Message>,
    /// What the user says now.
    pub input: String,
}

impl Seed {
    /// A first turn.
    pub fn input(input: impl Into<String>) -> Self {
        Self { earlier: Vec::new(), input: input.into() }
    }

    /// A further turn of a conversation. Steps, prerequisites and budgets begin anew with each turn.
    pub fn following(earlier: Vec<Message>, input: impl Into<String>) -> Self {
        Self { earlier, input: input.into() }
    }

    /// The messages of the first prompt.
    pub(crate) fn into_messages(self, system_prompt: &str) -> Vec<Message> {
        let system = (!system_prompt.trim().is_empty()).then(|| Message::system(system_prompt));
        let earlier = self.earlier.into_iter().skip_while(|message| matches!(message, Message::System { .. }));
        system.into_iter().chain(earlier).chain([Message::input(self.input)]).collect()
    }
}
