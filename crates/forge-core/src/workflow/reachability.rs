//! Whether every tool can become legal: no prerequisites in a circle, none that come too late.

use std::collections::BTreeSet;

use super::error::NeverBecause;
use super::{Prerequisite, StepOrder, WorkflowError};
use crate::ToolName;

/// The rules between the tools of a declaration.
pub(super) struct Rules<'a> {
    pub(super) required_steps: &'a [ToolName],
    pub(super) step_order: StepOrder,
    pub(super) terminal_tools: &'a [ToolName],
    pub(super) prerequisites: &'a [(ToolName, Prerequisite)],
}

impl<'a> Rules<'a> {
    fn required_by(&self, tool: &'a ToolName) -> impl Iterator<Item = &'a ToolName> {
        self.prerequisites.iter().filter(move |(owner, _)| owner == tool).map(|(_, prerequisite)| &prerequisite.tool)
    }

    fn owners(&self) -> BTreeSet<&'a ToolName> {
        self.prerequisites.iter().map(|(owner, _)| owner).collect()
    }

    fn step(&self, tool: &ToolName) -> Option<usize> {
        self.required_steps.iter().position(|step| step == tool)
    }

    /// Everything a tool waits for, over any number of prerequisites. Ends on circles too.
    fn waits_for(&self, tool: &'a ToolName) -> BTreeSet<&'a ToolName> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&ToolName> = self.required_by(tool).collect();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(self.required_by(next));
            }
        }
        found
    }
}

/// Each circle of prerequisites once, beginning at its first tool by name.
pub(super) fn prerequisite_cycles(rules: &Rules<'_>) -> Vec<WorkflowError> {
    let mut reported: BTreeSet<&ToolName> = BTreeSet::new();
    let mut problems = Vec::new();
    for owner in rules.owners() {
        if reported.contains(owner) {
            continue;
        }
        if let Some(path) = way_back(rules, owner) {
            reported.extend(path.iter().copied());
            problems.push(WorkflowError::PrerequisiteCycle { path: path.into_iter().cloned().collect() });
        }
    }
    problems
}

/// The shortest way from a tool along its prerequisites back to itself.
fn way_back<'a>(rules: &Rules<'a>, start: &'a ToolName) -> Option<Vec<&'a ToolName>> {
    let mut seen = BTreeSet::new();
    let mut ways = std::collections::VecDeque::from([vec![start]]);
    while let Some(way) = ways.pop_front() {
        let last = way.last().copied()?;
        for next in rules.required_by(last) {
            if next == start {
                return Some(way);
            }
            if seen.insert(next) {
                ways.push_back(way.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}

/// Tools with a prerequisite that can't be met before they are due. Only direct prerequisites are reported for
/// terminal tools, so that one mistake is one problem.
pub(super) fn never_legal(rules: &Rules<'_>) -> Vec<WorkflowError> {
    let mut problems = Vec::new();
    for owner in rules.owners() {
        let waits_for = rules.waits_for(owner);
        if waits_for.contains(owner) {
            continue;
        }
        let direct: BTreeSet<&ToolName> = rules.required_by(owner).collect();
        let terminal = direct.iter().find(|tool| rules.terminal_tools.contains(tool));
        if let Some(tool) = terminal {
            problems.push(never(owner, tool, NeverBecause::Terminal));
        }
        if let Some(tool) = later_step(rules, owner, &waits_for) {
            problems.push(never(owner, tool, NeverBecause::LaterStep));
        }
    }
    problems
}

/// For a step, in listed order: a step that it waits for and that is listed after it.
fn later_step<'a>(rules: &Rules<'a>, owner: &ToolName, waits_for: &BTreeSet<&'a ToolName>) -> Option<&'a ToolName> {
    match rules.step_order {
        StepOrder::Any => None,
        StepOrder::Listed => {
            let own = rules.step(owner)?;
            waits_for.iter().copied().find(|tool| rules.step(tool).is_some_and(|place| place > own))
        }
    }
}

fn never(tool: &ToolName, waits_for: &ToolName, because: NeverBecause) -> WorkflowError {
    WorkflowError::NeverLegal { tool: tool.clone(), waits_for: waits_for.clone(), because }
}
