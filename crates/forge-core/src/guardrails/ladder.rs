use super::Guardrails;
use crate::{Constraint, ConstraintMode, ToolName};

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
        let ladder = self.workflow.ladder();
        let reached = |rung: Option<u32>| rung.is_some_and(|faults| self.state.rung >= faults);
        // A model that repeats itself is not helped by words: the next call has to be another one.
        let repeats = ladder.only_legal_after.is_some() && self.withdraws();
        if repeats || reached(ladder.only_legal_after) {
            Constraint::Only(self.offered())
        } else if reached(ladder.call_required_after) {
            Constraint::CallRequired
        } else {
            Constraint::Free
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
