use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forge_parse::schema::check_schema;
use forge_parse::{Toolset, nearest};
use serde_json::Value;

use super::reachability::{Rules, never_legal, prerequisite_cycles};
use super::{
    ConstraintMode, HintMode, InvalidWorkflow, Ladder, Prerequisite, Respond, Risk, StepOrder, TextPolicy,
    ToolReference, Workflow, WorkflowError,
};
use crate::{Budgets, GuardrailSet, Templates, ToolName, ToolSpec, check_template};

/// The longest name that all known model servers take.
const MAX_NAME: usize = 64;

/// How often a tool may fail, as it was declared.
#[derive(Clone, Copy, Debug)]
enum FailureLimit {
    Of(Risk),
    Exactly(u32),
}

impl FailureLimit {
    fn in_numbers(self, budgets: &Budgets) -> u32 {
        match self {
            Self::Of(risk) => risk.failure_limit(budgets),
            Self::Exactly(limit) => limit,
        }
    }
}

/// Declares a [`Workflow`]. Nothing is checked before [`WorkflowBuilder::build`], which reports every problem.
#[derive(Clone, Debug)]
#[must_use]
pub struct WorkflowBuilder {
    name: String,
    description: String,
    system_prompt: String,
    tools: Vec<ToolSpec>,
    required_steps: Vec<ToolName>,
    step_order: StepOrder,
    terminal_tools: Vec<ToolName>,
    prerequisites: Vec<(ToolName, Prerequisite)>,
    failure_limits: Vec<(ToolName, FailureLimit)>,
    text: TextPolicy,
    respond: Option<Respond>,
    budgets: Budgets,
    constraint: ConstraintMode,
    ladder: Ladder,
    hints: HintMode,
    templates: Option<Arc<Templates>>,
    guardrails: GuardrailSet,
}

impl WorkflowBuilder {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            system_prompt: String::new(),
            tools: Vec::new(),
            required_steps: Vec::new(),
            step_order: StepOrder::default(),
            terminal_tools: Vec::new(),
            prerequisites: Vec::new(),
            failure_limits: Vec::new(),
            text: TextPolicy::default(),
            respond: None,
            budgets: Budgets::default(),
            constraint: ConstraintMode::default(),
            ladder: Ladder::default(),
            hints: HintMode::default(),
            templates: None,
            guardrails: GuardrailSet::default(),
        }
    }

    /// What the workflow does, for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The template of the system prompt.
    pub fn system_prompt(mut self, template: impl Into<String>) -> Self {
        self.system_prompt = template.into();
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: ToolSpec) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds steps that have to be done before a terminal tool may run.
    pub fn required_steps<N: Into<ToolName>>(mut self, steps: impl IntoIterator<Item = N>) -> Self {
        self.required_steps.extend(steps.into_iter().map(Into::into));
        self
    }

    /// Sets the order of the steps.
    pub fn step_order(mut self, order: StepOrder) -> Self {
        self.step_order = order;
        self
    }

    /// Adds a tool whose success ends a run.
    pub fn terminal_tool(mut self, tool: impl Into<ToolName>) -> Self {
        self.terminal_tools.push(tool.into());
        self
    }

    /// Adds tools whose success ends a run.
    pub fn terminal_tools<N: Into<ToolName>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.terminal_tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Adds a prerequisite to a tool.
    pub fn prerequisite(mut self, tool: impl Into<ToolName>, prerequisite: Prerequisite) -> Self {
        self.prerequisites.push((tool.into(), prerequisite));
        self
    }

    /// Says how bad it is when a tool fails.
    pub fn risk(mut self, tool: impl Into<ToolName>, risk: Risk) -> Self {
        self.failure_limits.push((tool.into(), FailureLimit::Of(risk)));
        self
    }

    /// Says how many failures of a tool end a turn, at least 1. Of several limits and risks of a tool the last counts.
    pub fn failure_limit(mut self, tool: impl Into<ToolName>, limit: u32) -> Self {
        self.failure_limits.push((tool.into(), FailureLimit::Exactly(limit)));
        self
    }

    /// Says what a generation without a call is.
    pub fn text(mut self, policy: TextPolicy) -> Self {
        self.text = policy;
        self
    }

    /// Adds the synthetic `respond` tool.
    pub fn respond(mut self, respond: Respond) -> Self {
        self.respond = Some(respond);
        self
    }

    /// Sets the budgets.
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Says how reprompts constrain the next generation.
    pub fn constraint(mut self, mode: ConstraintMode) -> Self {
        self.constraint = mode;
        self
    }

    /// Says when the rungs of the constraint ladder are reached, and which there are.
    pub fn ladder(mut self, ladder: Ladder) -> Self {
        self.ladder = ladder;
        self
    }

    /// Says when the model is told about its progress.
    pub fn hints(mut self, mode: HintMode) -> Self {
        self.hints = mode;
        self
    }

    /// Replaces the texts the engine speaks with.
    pub fn templates(mut self, templates: Arc<Templates>) -> Self {
        self.templates = Some(templates);
        self
    }

    /// Switches guardrails off: for measuring what each is worth.
    pub fn guardrails(mut self, guardrails: GuardrailSet) -> Self {
        self.guardrails = guardrails;
        self
    }

    /// Checks the declaration.
    ///
    /// # Errors
    /// Every problem of the declaration, not only the first.
    pub fn build(mut self) -> Result<Workflow, InvalidWorkflow> {
        let mut problems = Vec::new();
        self.check_head(&mut problems);
        self.check_tools(&mut problems);
        self.add_respond();
        self.check_steps(&mut problems);
        self.check_terminal_tools(&mut problems);
        self.check_prerequisites(&mut problems);
        self.check_order(&mut problems);
        self.check_limits(&mut problems);
        if !problems.is_empty() {
            return Err(InvalidWorkflow { workflow: self.name, problems });
        }
        let failure_limits = self.failure_limits.into_iter();
        let failure_limits = failure_limits.map(|(tool, limit)| (tool, limit.in_numbers(&self.budgets))).collect();
        let mut prerequisites: BTreeMap<ToolName, Vec<Prerequisite>> = BTreeMap::new();
        for (tool, prerequisite) in self.prerequisites {
            prerequisites.entry(tool).or_default().push(prerequisite);
        }
        Ok(Workflow {
            name: self.name,
            description: self.description,
            system_prompt: self.system_prompt,
            specs: Arc::from(self.tools.clone()),
            toolset: match self.guardrails.coercion {
                true => Toolset::compile(self.tools),
                false => Toolset::compile_without_coercion(self.tools),
            },
            required_steps: self.required_steps,
            step_order: self.step_order,
            terminal_tools: self.terminal_tools,
            prerequisites,
            failure_limits,
            text: self.text,
            respond: self.respond,
            budgets: self.budgets,
            constraint: self.constraint,
            ladder: self.ladder,
            hints: self.hints,
            templates: self.templates.unwrap_or_else(Templates::embedded),
            guardrails: self.guardrails,
        })
    }

    fn check_head(&self, problems: &mut Vec<WorkflowError>) {
        if self.name.trim().is_empty() {
            problems.push(WorkflowError::NoName);
        }
        if let Err(error) = check_template("system_prompt", &self.system_prompt) {
            problems.push(WorkflowError::SystemPrompt { error });
        }
    }

    fn check_tools(&self, problems: &mut Vec<WorkflowError>) {
        if self.tools.is_empty() && self.respond.is_none() {
            problems.push(WorkflowError::NoTools);
        }
        let mut seen = BTreeSet::new();
        for (index, tool) in self.tools.iter().enumerate() {
            if !is_usable_name(&tool.name) {
                problems.push(WorkflowError::ToolName { name: tool.name.to_string(), index });
            }
            if !seen.insert(&tool.name) {
                problems.push(WorkflowError::DuplicateTool { name: tool.name.clone(), index });
            }
            if self.respond.is_some() && tool.name == Respond::NAME {
                problems.push(WorkflowError::RespondTaken { index });
            }
            if let Err(problem) = check_schema(&tool.parameters) {
                problems.push(WorkflowError::InvalidSchema {
                    tool: tool.name.clone(),
                    pointer: problem.pointer,
                    message: problem.message,
                });
            }
        }
    }

    /// From here on the synthetic tool is a tool like any other.
    fn add_respond(&mut self) {
        let Some(respond) = self.respond else { return };
        if self.tools.iter().any(|tool| tool.name == Respond::NAME) {
            return;
        }
        self.tools.push(Respond::spec());
        match respond {
            Respond::Terminal if !self.terminal_tools.contains(&Respond::name()) => {
                self.terminal_tools.push(Respond::name());
            }
            Respond::Terminal | Respond::Plain => {}
        }
    }

    fn check_steps(&self, problems: &mut Vec<WorkflowError>) {
        for (index, step) in self.required_steps.iter().enumerate() {
            self.check_name(step, ToolReference::RequiredSteps { index }, problems);
            if self.required_steps.iter().take(index).any(|earlier| earlier == step) {
                problems.push(WorkflowError::DuplicateStep { step: step.clone(), index });
            }
            if self.terminal_tools.contains(step) {
                problems.push(WorkflowError::TerminalRequired { tool: step.clone(), index });
            }
        }
    }

    fn check_terminal_tools(&self, problems: &mut Vec<WorkflowError>) {
        match self.text {
            TextPolicy::Nudge if self.terminal_tools.is_empty() => problems.push(WorkflowError::NoTerminal),
            TextPolicy::Nudge | TextPolicy::Accept => {}
        }
        for (index, tool) in self.terminal_tools.iter().enumerate() {
            self.check_name(tool, ToolReference::TerminalTools { index }, problems);
            if self.terminal_tools.iter().take(index).any(|earlier| earlier == tool) {
                problems.push(WorkflowError::DuplicateTerminal { tool: tool.clone(), index });
            }
        }
    }

    fn check_prerequisites(&self, problems: &mut Vec<WorkflowError>) {
        for (position, (tool, prerequisite)) in self.prerequisites.iter().enumerate() {
            let earlier = || self.prerequisites.iter().take(position).filter(|(other, _)| other == tool);
            let index = earlier().count();
            if index == 0 {
                self.check_name(tool, ToolReference::PrerequisitesOf, problems);
            }
            let place = ToolReference::Prerequisite { tool: tool.clone(), index };
            self.check_name(&prerequisite.tool, place, problems);
            if earlier().any(|(_, other)| other == prerequisite) {
                problems.push(WorkflowError::DuplicatePrerequisite {
                    tool: tool.clone(),
                    requires: prerequisite.tool.clone(),
                    index,
                });
            }
            problems.extend(self.argument_problem(tool, prerequisite, index));
        }
    }

    fn argument_problem(&self, tool: &ToolName, prerequisite: &Prerequisite, index: usize) -> Option<WorkflowError> {
        let argument = prerequisite.argument.as_ref()?;
        let both = [self.declared(tool)?, self.declared(&prerequisite.tool)?];
        let without: Vec<&ToolSpec> = both.into_iter().filter(|spec| !has_parameter(spec, argument)).collect();
        let first = without.first()?;
        Some(WorkflowError::PrerequisiteArgument {
            tool: tool.clone(),
            requires: prerequisite.tool.clone(),
            argument: argument.clone(),
            missing_in: without.iter().map(|spec| spec.name.clone()).collect(),
            known: parameters(first).map(str::to_owned).collect(),
            index,
        })
    }

    fn check_order(&self, problems: &mut Vec<WorkflowError>) {
        let rules = Rules {
            required_steps: &self.required_steps,
            step_order: self.step_order,
            terminal_tools: &self.terminal_tools,
            prerequisites: &self.prerequisites,
        };
        problems.extend(prerequisite_cycles(&rules));
        problems.extend(never_legal(&rules));
    }

    fn check_limits(&self, problems: &mut Vec<WorkflowError>) {
        problems.extend(self.budgets.problems());
        for (tool, limit) in &self.failure_limits {
            self.check_name(tool, ToolReference::FailureLimit, problems);
            let index = self.tools.iter().position(|declared| declared.name == *tool);
            if let (FailureLimit::Exactly(0), Some(index)) = (limit, index) {
                problems.push(WorkflowError::FailureLimit { tool: tool.clone(), index });
            }
        }
        problems.extend(self.ladder.problem());
        match (self.text, self.constraint) {
            (TextPolicy::Accept, ConstraintMode::Eager) => problems.push(WorkflowError::TextNeverPossible),
            (TextPolicy::Accept, ConstraintMode::Free | ConstraintMode::Ladder) | (TextPolicy::Nudge, _) => {}
        }
    }

    fn check_name(&self, name: &ToolName, place: ToolReference, problems: &mut Vec<WorkflowError>) {
        if self.declared(name).is_some() {
            return;
        }
        problems.push(WorkflowError::UnknownTool {
            place,
            name: name.as_str().to_owned(),
            nearest: nearest(name, self.tools.iter().map(|tool| tool.name.as_str())).map(ToolName::from),
            offered: self.tools.iter().map(|tool| tool.name.clone()).collect(),
        });
    }

    fn declared(&self, name: &ToolName) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == *name)
    }
}

fn is_usable_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

fn parameters(spec: &ToolSpec) -> impl Iterator<Item = &str> {
    spec.parameters
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|keys| keys.keys().map(String::as_str))
}

/// A schema that says nothing about its properties, or composes them, may still have the parameter.
fn has_parameter(spec: &ToolSpec, argument: &str) -> bool {
    let composed = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| spec.parameters.get(key).is_some());
    composed || parameters(spec).any(|name| name == argument)
}

#[cfg(test)]
mod tests;
