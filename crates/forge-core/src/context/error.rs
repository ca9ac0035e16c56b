use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a context can't be managed so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidContext {
    /// No prompt fits into nothing.
    #[error("`budget` is 0 tokens; give at least 1, or `ContextManager::UNBOUNDED`")]
    Budget,
    /// The model would never see the result of its last call.
    #[error("`keep_recent` is 0, so that the model would not see the results of its last calls; give at least 1")]
    KeepRecent,
    /// A share of the budget that is none.
    #[error("`{field}` is {value}, but a share of the budget is above 0 and at most 1; the default is 0.75")]
    Share {
        /// The field, such as `thresholds[1]`.
        field: ShareField,
        /// The value.
        value: f64,
    },
    /// A later threshold that comes first.
    #[error("`{field}` is {value}, below the {before} before it; write shares of the budget in rising order")]
    Order {
        /// The field, such as `thresholds[1]`.
        field: ShareField,
        /// The value.
        value: f64,
        /// The one before it.
        before: f64,
    },
}

/// A field that holds shares of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareField {
    /// Its name.
    pub name: &'static str,
    /// Which of several shares, from 0; none where there is one.
    pub index: Option<usize>,
}

impl fmt::Display for ShareField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.index.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

/// A conversation that doesn't fit the budget even after all phases of its strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "the conversation needs about {estimate} tokens after every compaction, and the context budget is {budget}; give a larger budget, shorter results or fewer tools"
)]
pub struct ContextBudgetExceeded {
    /// The budget in tokens.
    pub budget: u64,
    /// What the prompt would need, in tokens.
    pub estimate: u64,
}

/// Checks shares of a budget: each above 0 and at most 1, none below the one before it.
pub(super) fn check_shares(name: &'static str, shares: &[f64]) -> Result<(), InvalidContext> {
    let field = |index: usize| ShareField { name, index: (shares.len() > 1).then_some(index) };
    let mut before = 0.0;
    for (index, &value) in shares.iter().enumerate() {
        if !(value > 0.0 && value <= 1.0) {
            return Err(InvalidContext::Share { field: field(index), value });
        }
        if value < before {
            return Err(InvalidContext::Order { field: field(index), value, before });
        }
        before = value;
    }
    Ok(())
}
