//! How a run keeps its conversation within the model's window.

use std::sync::Arc;

use forge_backend::{BackendError, BackendInfo, ReasoningReplay, video_memory};
use forge_core::{ContextBudgetExceeded, ContextManager, EstimateSource, Fitted, Message, Thinking};

use super::{Ended, Run, engine_failed};
use crate::{RunEvent, RunOutcome};

/// The least room for an answer, in tokens: enough for a short call.
const LEAST_ROOM: u64 = 64;

/// What keeps a conversation within a window.
pub(super) struct Context {
    manager: ContextManager,
    /// The server's window in tokens, if it says.
    window: Option<u64>,
}

impl Run<'_> {
    /// Finds out how many tokens the conversation may have. None where nothing limits it.
    pub(super) async fn start_context(&mut self, backend: &BackendInfo) -> Result<Option<u64>, Ended> {
        let workflow = self.workflow.workflow();
        if !workflow.guardrails().compaction {
            return Ok(None);
        }
        let options = &self.runner.options;
        let (budget, info) = (options.context.budget, backend.clone());
        let asked = tokio::task::spawn_blocking(move || budget.tokens(&info, video_memory)).await;
        let tokens = asked.map_err(|error| engine_failed(&error))?;
        let thinking = match options.reasoning {
            ReasoningReplay::None | ReasoningReplay::Last => Thinking::Dropped,
            ReasoningReplay::Full => Thinking::Sent,
        };
        let manager = options.context.manager(tokens).map_err(|error| engine_failed(&error))?;
        let manager = manager.with_tools(workflow.tools()).with_thinking(thinking);
        self.context = Some(Context { manager, window: backend.context_window });
        Ok(tokens)
    }

    /// Makes the conversation fit. What to add to the next prompt, if anything.
    pub(super) fn fit(&mut self) -> Result<Option<String>, Ended> {
        let Some(context) = &mut self.context else { return Ok(None) };
        let summary = self.guardrails.summary().map_err(|error| engine_failed(&error))?;
        let fitted = context.manager.fit(&mut self.messages, summary.as_deref());
        let fitted = fitted.map_err(|exceeded| self.exceeded(exceeded))?;
        self.tell(&fitted, summary);
        self.guardrails.context_note(&fitted).map_err(|error| engine_failed(&error))
    }

    /// Compacts a conversation that the server refused as too long. Whether that changed anything.
    pub(super) fn make_room(&mut self, error: &BackendError) -> Result<bool, Ended> {
        let (Some(context), BackendError::ContextOverflow { prompt_tokens, window, .. }) = (&mut self.context, error)
        else {
            return Ok(false);
        };
        if let Some(window) = *window {
            context.manager.set_budget(window.min(context.manager.budget()));
        }
        context.manager.counted(*prompt_tokens);
        let summary = self.guardrails.summary().map_err(|error| engine_failed(&error))?;
        let fitted = context.manager.compact_fully(&mut self.messages, summary.as_deref());
        let fitted = fitted.map_err(|exceeded| self.exceeded(exceeded))?;
        self.tell(&fitted, summary);
        Ok(!fitted.compactions.is_empty())
    }

    fn exceeded(&mut self, exceeded: ContextBudgetExceeded) -> Ended {
        Ended::from(RunOutcome::Interrupted { interrupt: self.guardrails.exceed_context(exceeded) })
    }

    fn tell(&mut self, fitted: &Fitted, summary: Option<String>) {
        if let (false, Some(context)) = (fitted.compactions.is_empty(), &self.context) {
            let (compactions, budget) = (fitted.compactions.clone(), context.manager.budget());
            self.observer.event(&RunEvent::Compacted { compactions, budget, summary });
        }
        if let Some(warning) = fitted.warning {
            self.observer.event(&RunEvent::ContextWarning { warning });
        }
    }

    /// The messages to send. A note stands at the end of the last one: some templates break on a message of the user behind
    /// results.
    pub(super) fn prompt(&self, note: Option<&str>) -> Arc<[Message]> {
        let Some(note) = note else { return Arc::from(self.messages.as_slice()) };
        let mut messages = self.messages.clone();
        if let Some(Message::Tool { content, .. } | Message::User { content, .. }) = messages.last_mut() {
            content.push_str("\n\n");
            content.push_str(note);
        }
        Arc::from(messages)
    }

    /// The output limit, or what the window leaves where the server has counted: some refuse what can't fit.
    pub(super) fn room_for(&self, max_tokens: u32) -> u32 {
        let room = self.context.as_ref().and_then(|context| {
            let estimate = context.manager.estimate();
            let window = context.window.filter(|_| estimate.source == EstimateSource::Usage)?;
            Some(window.saturating_sub(estimate.tokens).max(LEAST_ROOM))
        });
        let room = room.and_then(|room| u32::try_from(room).ok()).unwrap_or(u32::MAX);
        max_tokens.min(room).max(1)
    }

    /// Takes what the server counted for the last prompt.
    pub(super) fn counted(&mut self, prompt_tokens: Option<u64>) {
        if let Some(context) = &mut self.context {
            context.manager.counted(prompt_tokens);
        }
    }
}
