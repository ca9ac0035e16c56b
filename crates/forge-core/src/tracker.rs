//! What has succeeded so far, as far as steps and prerequisites ask.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canonical::canonical;
use crate::{Prerequisite, ToolCall, ToolName, Workflow};

/// The required steps that are done, and the successful calls that prerequisites refer to.
///
/// It is state, not memory: nothing that happens to the conversation changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTracker {
    completed: Vec<ToolName>,
    succeeded: BTreeSet<ToolName>,
    /// Values of the arguments that prerequisites compare, in canonical form: tool, argument, values.
    values: BTreeMap<ToolName, BTreeMap<String, BTreeSet<String>>>,
}

impl StepTracker {
    /// Notes a successful call. Whether it completed a required step that was open.
    pub fn record_success(&mut self, workflow: &Workflow, call: &ToolCall) -> bool {
        let mut compared = compared_arguments(workflow, &call.name).peekable();
        if compared.peek().is_some() {
            let arguments = call.arguments.to_object();
            let values = self.values.entry(call.name.clone()).or_default();
            for argument in compared {
                values.entry(argument.to_owned()).or_default().insert(value_of(&arguments, argument));
            }
        }
        self.succeeded.insert(call.name.clone());
        let completes = workflow.required_steps().contains(&call.name) && !self.completed.contains(&call.name);
        if completes {
            self.completed.push(call.name.clone());
        }
        completes
    }

    /// The required steps that are done, in the order in which they were.
    pub fn completed(&self) -> &[ToolName] {
        &self.completed
    }

    /// The required steps that are open, in the order of the workflow.
    pub fn pending<'w>(&self, workflow: &'w Workflow) -> impl Iterator<Item = &'w ToolName> {
        workflow.required_steps().iter().filter(|step| !self.completed.contains(step))
    }

    /// Whether a tool has succeeded at least once.
    pub fn has_succeeded(&self, tool: &str) -> bool {
        self.succeeded.contains(tool)
    }

    /// The first prerequisite of a call that isn't met.
    pub fn unmet<'w>(&self, workflow: &'w Workflow, call: &ToolCall) -> Option<&'w Prerequisite> {
        workflow.prerequisites(&call.name).iter().find(|prerequisite| !self.meets(prerequisite, call))
    }

    /// The tools that have to succeed before any call of a tool can be legal, and haven't.
    pub fn unmet_by_name<'w>(&self, workflow: &'w Workflow, tool: &str) -> impl Iterator<Item = &'w ToolName> {
        let required = workflow.prerequisites(tool).iter().map(|prerequisite| &prerequisite.tool);
        required.filter(|required| !self.has_succeeded(required))
    }

    fn meets(&self, prerequisite: &Prerequisite, call: &ToolCall) -> bool {
        match &prerequisite.argument {
            None => self.has_succeeded(&prerequisite.tool),
            Some(argument) => {
                let seen = self.values.get(&prerequisite.tool).and_then(|values| values.get(argument));
                seen.is_some_and(|values| values.contains(&value_of(&call.arguments.to_object(), argument)))
            }
        }
    }
}

/// The arguments of a tool that some prerequisite compares.
fn compared_arguments<'w>(workflow: &'w Workflow, tool: &ToolName) -> impl Iterator<Item = &'w str> {
    let all = workflow.all_prerequisites().values().flatten();
    all.filter(move |prerequisite| prerequisite.tool == *tool)
        .filter_map(|prerequisite| prerequisite.argument.as_deref())
}

/// An argument that isn't given counts as null.
fn value_of(arguments: &Map<String, Value>, argument: &str) -> String {
    canonical(arguments.get(argument).unwrap_or(&Value::Null))
}
