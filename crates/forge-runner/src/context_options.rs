use forge_backend::ContextBudget;
use forge_core::{Compactor, ContextManager, InvalidContext, NoCompact};

/// How a run keeps its conversation within the model's window. Default: the server's window, compacted in tiers, without
/// warnings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextOptions {
    /// How many tokens a conversation may have.
    pub budget: ContextBudget,
    /// How it is made shorter.
    pub strategy: Compactor,
    warn_at: Vec<f64>,
}

impl ContextOptions {
    /// With this budget and strategy, without warnings.
    pub fn new(budget: ContextBudget, strategy: Compactor) -> Self {
        Self { budget, strategy, warn_at: Vec::new() }
    }

    /// Warns the model, and tells the observer, once when each of these shares of the budget is passed, and again after a
    /// compaction.
    ///
    /// # Errors
    /// When they aren't rising shares above 0 and at most 1.
    pub fn warn_at(mut self, shares: impl Into<Vec<f64>>) -> Result<Self, InvalidContext> {
        self.warn_at = shares.into();
        ContextManager::new(ContextManager::UNBOUNDED, NoCompact)?.warn_at(self.warn_at.as_slice())?;
        Ok(self)
    }

    /// What manages the conversation of one run with so many tokens; none: nothing limits it.
    pub(crate) fn manager(&self, budget: Option<u64>) -> Result<ContextManager, InvalidContext> {
        let budget = budget.unwrap_or(ContextManager::UNBOUNDED);
        ContextManager::new(budget, self.strategy)?.warn_at(self.warn_at.as_slice())
    }
}
