//! What a run is made of: its tools, the steps it requires and the rules between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use forge_parse::Toolset;
use serde::{Deserialize, Serialize};

use crate::{Budgets, GuardrailSet, Templates, ToolName, ToolSpec};

mod builder;
mod error;
mod reachability;
mod respond;
mod risk;

pub use builder::WorkflowBuilder;
pub use error::{InvalidWorkflow, NeverBecause, ToolReference, WorkflowError, WorkflowField};
pub use respond::Respond;
pub use risk::Risk;

/// A declared workflow that has been checked: every name in it is known and every tool can become legal.
///
/// It is immutable; share it in an [`Arc`] between runs.
#[derive(Clone, Debug)]
pub struct Workflow {
    name: String,
    description: String,
    system_prompt: String,
    specs: Arc<[ToolSpec]>,
    toolset: Arc<Toolset>,
    required_steps: Vec<ToolName>,
    step_order: StepOrder,
    terminal_tools: Vec<ToolName>,
    prerequisites: BTreeMap<ToolName, Vec<Prerequisite>>,
    failure_limits: BTreeMap<ToolName, u32>,
    text: TextPolicy,
    respond: Option<Respond>,
    budgets: Budgets,
    constraint: ConstraintMode,
    ladder: Ladder,
    hints: HintMode,
    templates: Arc<Templates>,
    guardrails: GuardrailSet,
}

/// Whether the required steps have to be done in the order they are listed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOrder {
    /// In any order.
    #[default]
    Any,
    /// As listed: a step is legal once those before it are done.
    Listed,
}

/// What a generation without a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextPolicy {
    /// A fault: the model is told to call a tool.
    #[default]
    Nudge,
    /// The end of the turn, once the required steps are done; before that it is a premature attempt to finish.
    Accept,
}

/// How reprompts constrain the next generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintMode {
    /// Never.
    Free,
    /// Step by step with each faulty response in a row: not at all, a call is required, one of the legal tools.
    #[default]
    Ladder,
    /// Every generation is a call of one of the legal tools.
    Eager,
}

/// After how many faulty responses in a row the rungs of [`ConstraintMode::Ladder`] are reached. None switches a rung off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// A call is required; at least 1. Default 2.
    pub call_required_after: Option<u32>,
    /// Only a call of a legal tool can be generated; at least 1, and above `call_required_after` where that is on. Default 3.
    pub only_legal_after: Option<u32>,
}

impl Default for Ladder {
    fn default() -> Self {
        Self { call_required_after: Some(2), only_legal_after: Some(3) }
    }
}

impl Ladder {
    /// What is wrong with it, if anything.
    pub(crate) fn problem(self) -> Option<WorkflowError> {
        match self {
            Self { call_required_after: Some(0), .. } => {
                Some(WorkflowError::LadderRung { rung: "call_required_after" })
            }
            Self { only_legal_after: Some(0), .. } => Some(WorkflowError::LadderRung { rung: "only_legal_after" }),
            Self { call_required_after: Some(call_required_after), only_legal_after: Some(only_legal_after) }
                if only_legal_after <= call_required_after =>
            {
                Some(WorkflowError::LadderOrder { call_required_after, only_legal_after })
            }
            Self { .. } => None,
        }
    }
}

/// When the model is told what is done and what comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintMode {
    /// Never.
    Never,
    /// With each nudge.
    #[default]
    WhenNeeded,
    /// With each nudge and after every batch.
    Always,
}

/// A tool that has to succeed before another one may be called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prerequisite {
    /// The tool that has to succeed first.
    pub tool: ToolName,
    /// The argument that has to have the same value in both calls; none where any success of the tool will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
}

impl Prerequisite {
    /// Any success of the tool.
    pub fn success_of(tool: impl Into<ToolName>) -> Self {
        Self { tool: tool.into(), argument: None }
    }

    /// A success of the tool with the same value for an argument that both tools have.
    pub fn same_argument(tool: impl Into<ToolName>, argument: impl Into<String>) -> Self {
        Self { tool: tool.into(), argument: Some(argument.into()) }
    }
}

impl Workflow {
    /// Begins the declaration of a workflow.
    pub fn builder(name: impl Into<String>) -> WorkflowBuilder {
        WorkflowBuilder::new(name)
    }

    /// A workflow without rules between its tools, over tools that are compiled already. What comes from elsewhere, such as
    /// the tools of a request that passes through, is taken as it is: nothing about names and schemas is checked.
    pub fn without_rules(toolset: Arc<Toolset>, text: TextPolicy, budgets: Budgets) -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            system_prompt: String::new(),
            specs: Arc::from(toolset.specs()),
            toolset,
            required_steps: Vec::new(),
            step_order: StepOrder::default(),
            terminal_tools: Vec::new(),
            prerequisites: BTreeMap::new(),
            failure_limits: BTreeMap::new(),
            text,
            respond: None,
            budgets,
            constraint: ConstraintMode::default(),
            ladder: Ladder::default(),
            hints: HintMode::default(),
            templates: Templates::embedded(),
            guardrails: GuardrailSet::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, for people; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The template of the system prompt; may be empty. See [`crate::render_prompt`].
    pub fn system_prompt(&self) -> &str {
        &self.system_prompt
    }

    /// The tools to offer, in the order they were declared, the synthetic `respond` last where there is one.
    pub fn tools(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// The compiled tools.
    pub fn toolset(&self) -> &Arc<Toolset> {
        &self.toolset
    }

    /// A tool by its name.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// The steps that have to be done before a terminal tool may run.
    pub fn required_steps(&self) -> &[ToolName] {
        &self.required_steps
    }

    /// The order of the steps.
    pub fn step_order(&self) -> StepOrder {
        self.step_order
    }

    /// The tools whose success ends a run. Empty only where text ends a turn.
    pub fn terminal_tools(&self) -> &[ToolName] {
        &self.terminal_tools
    }

    /// Whether a tool's success ends a run.
    pub fn is_terminal(&self, tool: &str) -> bool {
        self.terminal_tools.iter().any(|terminal| terminal == tool)
    }

    /// What has to have succeeded before a tool may be called.
    pub fn prerequisites(&self, tool: &str) -> &[Prerequisite] {
        self.prerequisites.get(tool).map_or(&[], Vec::as_slice)
    }

    /// All prerequisites, by the tool that has them.
    pub fn all_prerequisites(&self) -> &BTreeMap<ToolName, Vec<Prerequisite>> {
        &self.prerequisites
    }

    /// How many failures of a tool end a turn.
    pub fn failure_limit(&self, tool: &str) -> u32 {
        self.failure_limits.get(tool).copied().unwrap_or(self.budgets.failures_per_tool)
    }

    /// What a generation without a call is.
    pub fn text(&self) -> TextPolicy {
        self.text
    }

    /// The synthetic `respond` tool, if the workflow has one. The driver runs it: see [`Respond`].
    pub fn respond(&self) -> Option<Respond> {
        self.respond
    }

    /// How much misbehaviour a run bears.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// How reprompts constrain the next generation.
    pub fn constraint(&self) -> ConstraintMode {
        self.constraint
    }

    /// When the rungs of the constraint ladder are reached.
    pub fn ladder(&self) -> Ladder {
        self.ladder
    }

    /// When the model is told about its progress.
    pub fn hints(&self) -> HintMode {
        self.hints
    }

    /// Which guardrails are on.
    pub fn guardrails(&self) -> GuardrailSet {
        self.guardrails
    }

    /// The texts the engine speaks with.
    pub fn templates(&self) -> &Arc<Templates> {
        &self.templates
    }
}
