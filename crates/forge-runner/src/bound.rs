use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use forge_core::{Respond, TemplateError, ToolName, Workflow, render_prompt};

use crate::Tool;

/// The implementations of a workflow's tools, by name.
#[derive(Clone, Default)]
pub struct Tools(BTreeMap<ToolName, Arc<dyn Tool>>);

impl Tools {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, in the place of one with the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<ToolName>, tool: impl Tool + 'static) -> Self {
        self.insert(name, Arc::new(tool));
        self
    }

    /// Adds a tool, in the place of one with the same name.
    pub fn insert(&mut self, name: impl Into<ToolName>, tool: Arc<dyn Tool>) {
        self.0.insert(name.into(), tool);
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.get(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.0.keys()
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A workflow each of whose tools has an implementation and whose system prompt has its variables: what a
/// [`Runner`](crate::Runner) runs.
#[derive(Clone, Debug)]
pub struct BoundWorkflow {
    workflow: Arc<Workflow>,
    tools: Tools,
    system_prompt: String,
}

/// Why a workflow can't be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// Declared tools without an implementation.
    #[error(
        "workflow `{workflow}` declares tools that have no implementation: {}; the implementations given are for {}",
        Names(missing),
        Names(given)
    )]
    Missing {
        /// The workflow.
        workflow: String,
        /// The tools that lack one.
        missing: Vec<ToolName>,
        /// The implementations that were given.
        given: Vec<ToolName>,
    },
    /// Implementations of tools that aren't declared.
    #[error(
        "there are implementations for tools that workflow `{workflow}` doesn't declare: {}; it declares {}",
        Names(surplus),
        Names(declared)
    )]
    Surplus {
        /// The workflow.
        workflow: String,
        /// The tools that aren't declared.
        surplus: Vec<ToolName>,
        /// The declared ones.
        declared: Vec<ToolName>,
    },
    /// The system prompt can't be rendered with these variables.
    #[error("the system prompt of workflow `{workflow}` can't be rendered: {source}")]
    SystemPrompt {
        /// The workflow.
        workflow: String,
        /// Why, with the line in the prompt.
        source: TemplateError,
    },
}

impl BoundWorkflow {
    /// Puts together a workflow, the implementations of its tools, and the variables of its system prompt. The
    /// synthetic `respond` tool needs no implementation: the runner answers it.
    ///
    /// # Errors
    /// When a tool has no implementation, or an implementation no tool, or the prompt can't be rendered.
    pub fn new(
        workflow: impl Into<Arc<Workflow>>,
        tools: Tools,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self, BindError> {
        let workflow = workflow.into();
        let name = workflow.name().to_owned();
        let declared = || workflow.tools().iter().map(|spec| &spec.name).filter(|name| !is_respond(&workflow, name));
        let missing: Vec<_> = declared().filter(|name| tools.get(name).is_none()).cloned().collect();
        if !missing.is_empty() {
            return Err(BindError::Missing { workflow: name, missing, given: tools.names().cloned().collect() });
        }
        let surplus: Vec<_> = tools.names().filter(|name| !declared().any(|known| known == *name)).cloned().collect();
        if !surplus.is_empty() {
            return Err(BindError::Surplus { workflow: name, surplus, declared: declared().cloned().collect() });
        }
        let system_prompt = render_prompt(workflow.system_prompt(), variables)
            .map_err(|source| BindError::SystemPrompt { workflow: name, source })?;
        Ok(Self { workflow, tools, system_prompt })
    }

    /// The workflow.
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    /// The system prompt, rendered; may be empty.
    pub fn system_prompt(&self) -> &str {
        &self.system_prompt
    }

    /// The implementation of a tool; none for the synthetic `respond`.
    pub fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }
}

impl AsRef<BoundWorkflow> for BoundWorkflow {
    fn as_ref(&self) -> &BoundWorkflow {
        self
    }
}

fn is_respond(workflow: &Workflow, name: &str) -> bool {
    workflow.respond().is_some() && name == Respond::NAME
}

struct Names<'a>(&'a [ToolName]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        self.0.iter().enumerate().try_for_each(|(index, name)| {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}`{name}`")
        })
    }
}
