//! Which calls the workflow allows now.

use crate::{BlockReason, Prerequisite, StepOrder, StepTracker, TextPolicy, ToolCall, ToolName, Workflow};

/// The rules of a workflow, applied to what is done.
#[derive(Clone, Copy)]
pub(crate) struct Legality<'a> {
    workflow: &'a Workflow,
    tracker: &'a StepTracker,
}

/// Why the workflow doesn't allow a call now.
pub(crate) enum Obstacle<'a> {
    /// It is terminal and steps are open.
    OpenSteps(Vec<ToolName>),
    /// Another step is due.
    Due(&'a ToolName),
    /// A prerequisite isn't met.
    Unmet(&'a Prerequisite),
}

impl<'a> Legality<'a> {
    pub(crate) fn new(workflow: &'a Workflow, tracker: &'a StepTracker) -> Self {
        Self { workflow, tracker }
    }

    /// What stands in the way of a call, if anything.
    pub(crate) fn obstacle(self, call: &ToolCall) -> Option<Obstacle<'a>> {
        if !self.enforces() {
            return None;
        }
        if self.workflow.is_terminal(&call.name) && !self.steps_are_done() {
            return Some(Obstacle::OpenSteps(self.pending()));
        }
        if let Some(due) = self.due_before(&call.name) {
            return Some(Obstacle::Due(due));
        }
        self.tracker.unmet(self.workflow, call).map(Obstacle::Unmet)
    }

    /// The tools of which a call can be legal now, in the order of the workflow. Never empty: where nothing is
    /// legal, all tools that don't end the run, or else all.
    pub(crate) fn legal_tools(self) -> Vec<ToolName> {
        let names = || self.workflow.tools().iter().map(|spec| &spec.name);
        let legal: Vec<ToolName> = names().filter(|tool| self.is_legal(tool)).cloned().collect();
        if !legal.is_empty() {
            return legal;
        }
        let others: Vec<ToolName> = names().filter(|tool| !self.workflow.is_terminal(tool)).cloned().collect();
        if others.is_empty() { names().cloned().collect() } else { others }
    }

    /// The legal tools that bring the run nearer to its end: open steps, or what they wait for; the terminal tools
    /// once all steps are done; any legal tool where no tool ends the run and text doesn't either. Empty where only text is left.
    pub(crate) fn next_tools(self) -> Vec<ToolName> {
        if !self.enforces() {
            return self.legal_tools();
        }
        let mut goals: Vec<&ToolName> = match self.workflow.step_order() {
            StepOrder::Any => self.tracker.pending(self.workflow).collect(),
            StepOrder::Listed => self.tracker.pending(self.workflow).take(1).collect(),
        };
        if goals.is_empty() {
            goals = self.workflow.terminal_tools().iter().collect();
        }
        if goals.is_empty() && self.workflow.text() == TextPolicy::Nudge {
            // Nothing but a call can be the answer, and no tool is nearer to it than another.
            return self.legal_tools();
        }
        let mut next = Vec::new();
        for goal in goals {
            self.add_legal(goal, &mut next);
        }
        next
    }

    /// The legal tools on the way to one tool: itself, or what it waits for.
    pub(crate) fn way_to(self, tool: &ToolName) -> Vec<ToolName> {
        let mut way = Vec::new();
        self.add_legal(tool, &mut way);
        way
    }

    pub(crate) fn pending(self) -> Vec<ToolName> {
        self.tracker.pending(self.workflow).cloned().collect()
    }

    pub(crate) fn steps_are_done(self) -> bool {
        !self.enforces() || self.tracker.pending(self.workflow).next().is_none()
    }

    /// Whether steps and prerequisites count at all.
    fn enforces(self) -> bool {
        self.workflow.guardrails().steps
    }

    fn is_legal(self, tool: &ToolName) -> bool {
        if !self.enforces() {
            return true;
        }
        let too_early = self.workflow.is_terminal(tool) && !self.steps_are_done();
        !too_early
            && self.due_before(tool).is_none()
            && self.tracker.unmet_by_name(self.workflow, tool).next().is_none()
    }

    /// The step that the order has before a step that is open.
    fn due_before(self, tool: &ToolName) -> Option<&'a ToolName> {
        match self.workflow.step_order() {
            StepOrder::Any => None,
            StepOrder::Listed => {
                let mut pending = self.tracker.pending(self.workflow);
                let due = pending.next().filter(|due| *due != tool)?;
                pending.any(|step| step == tool).then_some(due)
            }
        }
    }

    /// The workflow was refused if its prerequisites went in a circle, so this ends.
    fn add_legal(self, tool: &ToolName, found: &mut Vec<ToolName>) {
        if found.contains(tool) {
            return;
        }
        if self.is_legal(tool) {
            found.push(tool.clone());
            return;
        }
        for required in self.tracker.unmet_by_name(self.workflow, tool) {
            self.add_legal(required, found);
        }
        if let Some(due) = self.due_before(tool) {
            self.add_legal(due, found);
        }
    }
}

impl Obstacle<'_> {
    /// The reason for the model's driver. `attempt` is the number of the premature attempt, if it is one.
    pub(crate) fn into_reason(self, call: &ToolCall, attempt: u32) -> BlockReason {
        match self {
            Self::OpenSteps(pending) => BlockReason::PrematureTerminal { pending, attempt },
            Self::Due(due) => BlockReason::StepOrder { due: due.clone() },
            Self::Unmet(prerequisite) => BlockReason::Prerequisite {
                tool: prerequisite.tool.clone(),
                matching: prerequisite.argument.as_ref().map(|argument| {
                    let value = call.arguments.to_object().get(argument).cloned().unwrap_or_default();
                    (argument.clone(), value)
                }),
            },
        }
    }
}
