use super::Guardrails;
use crate::{Constraint, ConstraintMode, ToolName};

/// Faulty responses in a row after which a call is required.
const CALL_REQUIRED: u32 = 2;

/// Faulty responses in a row after which only legal tools are offered.
const ONLY_LEGAL: u32 = 3;

impl Guardrails {
    /// What the next generation may be.
    pub(super) fn constraint(&self) -> Constraint {
        if !self.workflow.guardrails().ladder {
            return Constraint::Free;
        }
        match self.workflow.constraint() {
            ConstraintMode::Free => Constraint::Free,
            ConstraintMode::Eager => Constraint::Only(self.offered()),
            ConstraintMode::Ladder => self.rung(),
        }
    }

    fn rung(&self) -> Constraint {
        match self.state.rung {
            ONLY_LEGAL.. => Constraint::Only(self.offered()),
            // A model that repeats itself is not helped by words: the next call has to be another one.
            _ if self.withdraws() => Constraint::Only(self.offered()),
            CALL_REQUIRED.. => Constraint::CallRequired,
            0..CALL_REQUIRED => Constraint::Free,
        }
    }

    /// The legal tools without the withdrawn one, unless nothing else is left.
    fn offered(&self) -> Vec<ToolName> {
        let mut tools = self.legal_tools();
        if self.withdraws() {
            tools.retain(|tool| Some(tool) != self.state.withdrawn.as_ref());
        }
        tools
    }

    fn withdraws(&self) -> bool {
        let Some(withdrawn) = &self.state.withdrawn else { return false };
        self.legal_tools().iter().any(|tool| tool != withdrawn)
    }
}
