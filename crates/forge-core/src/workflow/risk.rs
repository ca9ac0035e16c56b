use serde::{Deserialize, Serialize};

use crate::Budgets;

/// How bad it is when a tool fails, which decides how often it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// What it does can't be undone: its first failure is the end.
    Destructive,
    /// As often as [`Budgets::failures_per_tool`] says.
    #[default]
    Normal,
    /// It depends on others who may be slow or away: five failures.
    Network,
}

impl Risk {
    /// How many failures of a tool of this risk end a turn.
    pub fn failure_limit(self, budgets: &Budgets) -> u32 {
        match self {
            Self::Destructive => 1,
            Self::Normal => budgets.failures_per_tool,
            Self::Network => 5,
        }
    }
}
