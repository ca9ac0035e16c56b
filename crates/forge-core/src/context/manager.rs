use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{ContextBudgetExceeded, InvalidContext, check_shares};
use super::estimate::{Counted, Estimate, Thinking, estimate, weight, weight_of_tools};
use super::strategy::CompactionStrategy;
use super::summary::place_summary;
use crate::{Message, ToolSpec};

/// Keeps a conversation within a budget of tokens.
///
/// ```
/// use forge_core::{ContextManager, Message, TieredCompact};
///
/// let mut context = ContextManager::new(4096, TieredCompact::default())?;
/// let mut messages = vec![Message::system("You watch the sea."), Message::input("What do you see?")];
/// let fitted = context.fit(&mut messages, None)?;
/// assert!(fitted.compactions.is_empty() && fitted.estimate.tokens < 50);
/// // After the generation: what the server counted is better than any estimate.
/// context.counted(Some(31));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContextManager {
    budget: u64,
    strategy: Arc<dyn CompactionStrategy>,
    warn_at: Vec<f64>,
    /// Bytes of what is in every prompt beside the messages.
    fixed: u64,
    thinking: Thinking,
    state: ContextState,
}

/// What a manager knows about one conversation: its checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextState {
    /// The last prompt that the server counted.
    counted: Option<Counted>,
    /// Messages whose weight is known, and their weight in bytes.
    weighed: usize,
    bytes: u64,
    /// How many of the warnings were given since the last compaction.
    warned: usize,
}

/// What was done to make a conversation fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// What the prompt needs now.
    pub estimate: Estimate,
    /// The phases that were applied and changed something, in order.
    pub compactions: Vec<Compaction>,
    /// A threshold that was passed for the first time since the last compaction.
    pub warning: Option<ContextWarning>,
}

/// A phase that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The phase, from 1.
    pub phase: usize,
    /// Tokens before, estimated.
    pub tokens_before: u64,
    /// Tokens after, estimated.
    pub tokens_after: u64,
    /// Messages before.
    pub messages_before: usize,
    /// Messages after.
    pub messages_after: usize,
}

/// A share of the budget is used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextWarning {
    /// The share that was passed.
    pub threshold: f64,
    /// Tokens used, estimated.
    pub tokens: u64,
    /// The budget in tokens.
    pub budget: u64,
}

impl ContextWarning {
    /// How much of the budget is used, in whole percent.
    pub fn percent(&self) -> u8 {
        let percent = u128::from(self.tokens) * 100 / u128::from(self.budget.max(1));
        u8::try_from(percent).unwrap_or(100).min(100)
    }
}

impl ContextManager {
    /// A budget that nothing exceeds, for a window of unknown size.
    pub const UNBOUNDED: u64 = u64::MAX;

    /// Keeps conversations within so many tokens of prompt.
    ///
    /// # Errors
    /// When the budget is 0, or the strategy's thresholds aren't rising shares above 0 and at most 1.
    pub fn new(budget: u64, strategy: impl CompactionStrategy + 'static) -> Result<Self, InvalidContext> {
        Self::shared(budget, Arc::new(strategy))
    }

    /// The same with a strategy that others use too.
    ///
    /// # Errors
    /// As [`ContextManager::new`].
    pub fn shared(budget: u64, strategy: Arc<dyn CompactionStrategy>) -> Result<Self, InvalidContext> {
        if budget == 0 {
            return Err(InvalidContext::Budget);
        }
        check_shares("thresholds", strategy.thresholds())?;
        Ok(Self {
            budget,
            strategy,
            warn_at: Vec::new(),
            fixed: 0,
            thinking: Thinking::default(),
            state: ContextState::default(),
        })
    }

    /// Warns once when each of these shares of the budget is passed, and again after a compaction.
    ///
    /// # Errors
    /// When they aren't rising shares above 0 and at most 1.
    pub fn warn_at(mut self, shares: impl Into<Vec<f64>>) -> Result<Self, InvalidContext> {
        self.warn_at = shares.into();
        check_shares("warn_at", &self.warn_at)?;
        Ok(self)
    }

    /// Counts the schemas of the tools that every prompt offers.
    #[must_use]
    pub fn with_tools(mut self, tools: &[ToolSpec]) -> Self {
        self.fixed = weight_of_tools(tools);
        self
    }

    /// Says whether the model's earlier thinking is in its prompts; it isn't by default.
    #[must_use]
    pub fn with_thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = thinking;
        self
    }

    /// Goes on from an earlier state.
    #[must_use]
    pub fn with_state(mut self, state: ContextState) -> Self {
        self.state = state;
        self
    }

    /// What is known about the conversation.
    pub fn state(&self) -> &ContextState {
        &self.state
    }

    /// The budget in tokens.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Gives another budget, such as the window that a server named when a prompt overflowed it. 0 counts as 1.
    pub fn set_budget(&mut self, budget: u64) {
        self.budget = budget.max(1);
    }

    /// Takes what the server counted for the prompt that was fitted last; none where it didn't say. A count that can't be of
    /// the whole prompt is passed over: some servers leave out what they had in their cache.
    pub fn counted(&mut self, prompt_tokens: Option<u64>) {
        let counted = prompt_tokens.map(|tokens| Counted { tokens, bytes: self.total() });
        if let Some(counted) = counted.filter(Counted::is_plausible) {
            self.state.counted = Some(counted);
        }
    }

    /// Compacts a conversation, phase by phase, while more than the threshold of the next phase is used. To be called before
    /// each generation; messages may have been appended since, and otherwise be as this left them ([`recount`] if not).
    ///
    /// A summary, such as [`Guardrails::summary`], is put in the place of what was removed, as [`place_summary`] does.
    ///
    /// [`recount`]: ContextManager::recount
    /// [`Guardrails::summary`]: crate::Guardrails::summary
    ///
    /// # Errors
    /// When the conversation doesn't fit the budget even so. It is compacted all the same.
    pub fn fit(&mut self, messages: &mut Vec<Message>, summary: Option<&str>) -> Result<Fitted, ContextBudgetExceeded> {
        self.weigh(messages);
        let strategy = Arc::clone(&self.strategy);
        let mut compactions = Vec::new();
        for (index, share) in strategy.thresholds().iter().enumerate() {
            if !self.is_beyond(*share) {
                break;
            }
            compactions.extend(self.apply(index + 1, messages, summary));
        }
        self.fitted(compactions)
    }

    /// Applies every phase, whatever the thresholds: for a server that refused a prompt as too long.
    ///
    /// # Errors
    /// When the conversation doesn't fit the budget even so. It is compacted all the same.
    pub fn compact_fully(
        &mut self,
        messages: &mut Vec<Message>,
        summary: Option<&str>,
    ) -> Result<Fitted, ContextBudgetExceeded> {
        self.weigh(messages);
        let phases = self.strategy.thresholds().len();
        let compactions = (1..=phases).filter_map(|phase| self.apply(phase, messages, summary)).collect();
        self.fitted(compactions)
    }

    /// Weighs every message anew, after messages were changed, removed or inserted by others.
    pub fn recount(&mut self, messages: &[Message]) {
        self.state.weighed = 0;
        self.state.bytes = 0;
        self.weigh(messages);
    }

    /// What the prompt needs as it was weighed last.
    pub fn estimate(&self) -> Estimate {
        estimate(self.total(), self.state.counted)
    }

    fn total(&self) -> u64 {
        self.fixed.saturating_add(self.state.bytes)
    }

    /// Weighs what was appended: the cost doesn't depend on the length of the conversation.
    fn weigh(&mut self, messages: &[Message]) {
        let Some(added) = messages.get(self.state.weighed..) else { return self.recount(messages) };
        self.state.bytes =
            added.iter().map(|message| weight(message, self.thinking)).fold(self.state.bytes, u64::saturating_add);
        self.state.weighed = messages.len();
    }

    #[expect(clippy::cast_precision_loss, reason = "a share of a number of tokens needs no more than 52 bits")]
    fn is_beyond(&self, share: f64) -> bool {
        self.estimate().tokens as f64 > share * self.budget as f64
    }

    /// Applies a phase. None where it changed nothing that counts.
    fn apply(&mut self, phase: usize, messages: &mut Vec<Message>, summary: Option<&str>) -> Option<Compaction> {
        let (tokens_before, messages_before, bytes_before) = (self.estimate().tokens, messages.len(), self.state.bytes);
        self.strategy.compact(phase, messages);
        self.recount(messages);
        if self.state.bytes == bytes_before && messages.len() == messages_before {
            return None;
        }
        if let Some(summary) = summary {
            place_summary(messages, summary);
            self.recount(messages);
        }
        let tokens_after = self.estimate().tokens;
        // What is appended from here on is added to what is left, not to what was counted.
        if self.state.counted.is_some() {
            self.state.counted = Some(Counted { tokens: tokens_after, bytes: self.total() });
        }
        self.state.warned = 0;
        Some(Compaction { phase, tokens_before, tokens_after, messages_before, messages_after: messages.len() })
    }

    fn fitted(&mut self, compactions: Vec<Compaction>) -> Result<Fitted, ContextBudgetExceeded> {
        let estimate = self.estimate();
        if estimate.tokens > self.budget {
            return Err(ContextBudgetExceeded { budget: self.budget, estimate: estimate.tokens });
        }
        Ok(Fitted { estimate, compactions, warning: self.warning() })
    }

    /// The highest share that was passed, if it wasn't told before.
    fn warning(&mut self) -> Option<ContextWarning> {
        let passed = self.warn_at.iter().take_while(|share| self.is_beyond(**share)).count();
        let is_new = passed > self.state.warned;
        self.state.warned = self.state.warned.max(passed);
        let threshold = *self.warn_at.get(passed.checked_sub(1)?).filter(|_| is_new)?;
        Some(ContextWarning { threshold, tokens: self.estimate().tokens, budget: self.budget })
    }
}
