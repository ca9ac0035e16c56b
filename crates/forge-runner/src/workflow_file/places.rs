use std::collections::BTreeMap;
use std::ops::Range;

use forge_core::{InvalidWorkflow, TemplateError, ToolName, WorkflowError, WorkflowField};
use forge_parse::nearest;
use serde_json::Value;

use super::diagnostic::Diagnostic;
use super::json::Json;
use super::prose::list;

/// Where the parts of a declaration stand in the file: what turns the engine's problems into diagnostics.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The first key of the file, for what is missing.
    pub(super) file: Range<usize>,
    pub(super) name: Option<Range<usize>>,
    pub(super) system_prompt: Option<Range<usize>>,
    /// The names of the tools, in order.
    pub(super) tools: Vec<Range<usize>>,
    pub(super) parameters: BTreeMap<ToolName, Json>,
    pub(super) required_steps: Vec<Range<usize>>,
    pub(super) terminal_tools: Vec<Range<usize>>,
    /// In the order of the file.
    pub(super) prerequisites: Vec<PrerequisitePlace>,
    pub(super) budgets: BTreeMap<&'static str, Range<usize>>,
    pub(super) constraint: Option<Range<usize>>,
    /// The rungs of the ladder, by the engine's names.
    pub(super) rungs: BTreeMap<&'static str, Range<usize>>,
}

/// The parts of one `[[prerequisites]]`.
#[derive(Debug)]
pub(super) struct PrerequisitePlace {
    pub(super) of: String,
    pub(super) tool: Range<usize>,
    pub(super) requires: Range<usize>,
    pub(super) matching: Option<Range<usize>>,
}

impl Places {
    /// The engine's problems with their places.
    pub(super) fn diagnostics(&self, invalid: InvalidWorkflow) -> impl Iterator<Item = Diagnostic> {
        invalid.problems.into_iter().map(|problem| self.diagnostic(&problem))
    }

    fn diagnostic(&self, problem: &WorkflowError) -> Diagnostic {
        let place = self.place(problem).unwrap_or_else(|| self.file.clone());
        let (message, fix) = split_fix(&problem.to_string());
        let diagnostic = fix.into_iter().fold(Diagnostic::at(place.clone(), message), Diagnostic::help);
        match problem {
            WorkflowError::NoTerminal => Diagnostic::at(place, "nothing ends the workflow").help(
                "name the tool whose success ends it (`terminal_tool = \"…\"`), or let text end it (`text = \"accept\"`)",
            ),
            WorkflowError::PrerequisiteCycle { path } => self.with_circle(diagnostic, path),
            WorkflowError::PrerequisiteArgument { argument, known, .. } => {
                diagnostic.did_you_mean(nearest(argument, known.iter().map(String::as_str)))
            }
            WorkflowError::SystemPrompt { error: TemplateError::Syntax { problem, .. } } => {
                let diagnostic = Diagnostic::at(place, "the system prompt is no valid template").label(problem);
                diagnostic.help("`{{ name }}` stands for a variable; write `{{ \"{{\" }}` for two braces")
            }
            WorkflowError::InvalidSchema { tool, pointer, .. } => self.schema_problem(diagnostic, tool, pointer),
            _ => diagnostic,
        }
    }

    /// Says more about a schema with a type that doesn't exist, which is the usual slip.
    fn schema_problem(&self, diagnostic: Diagnostic, tool: &ToolName, pointer: &str) -> Diagnostic {
        let value = self.parameters.get(tool).and_then(|parameters| parameters.value.pointer(pointer));
        match value.and_then(Value::as_str) {
            Some(kind) if pointer.ends_with("/type") && !JSON_TYPES.contains(&kind) => {
                let place = diagnostic.span().unwrap_or_else(|| self.file.clone());
                let diagnostic = Diagnostic::at(place, format!("`{kind}` is no type of JSON Schema"));
                let diagnostic = diagnostic.did_you_mean(nearest(kind, JSON_TYPES));
                diagnostic.help(format!("the types are {}", list(JSON_TYPES)))
            }
            Some(_) | None => diagnostic,
        }
    }

    /// Shows the other prerequisites of a circle.
    fn with_circle(&self, diagnostic: Diagnostic, path: &[ToolName]) -> Diagnostic {
        let next = path.iter().cycle().skip(1);
        path.iter().zip(next).skip(1).fold(diagnostic, |diagnostic, (tool, requires)| {
            let edge = self.prerequisites.iter().find(|edge| edge.of == tool.as_str());
            match edge {
                Some(edge) => diagnostic.context(edge.requires.clone(), format!("`{tool}` requires `{requires}`")),
                None => diagnostic,
            }
        })
    }

    fn place(&self, problem: &WorkflowError) -> Option<Range<usize>> {
        match problem.field() {
            WorkflowField::Name => self.name.clone(),
            WorkflowField::SystemPrompt => self.system_prompt.clone(),
            WorkflowField::Tools | WorkflowField::TerminalTools => None,
            WorkflowField::Tool { index } => self.tools.get(index).cloned(),
            WorkflowField::Parameters { tool, pointer } => self.parameters.get(&tool)?.place(&pointer),
            WorkflowField::RequiredStep { index } => self.required_steps.get(index).cloned(),
            WorkflowField::TerminalTool { index } => self.terminal_tools.get(index).cloned(),
            WorkflowField::Prerequisites { tool } => Some(self.prerequisite(&tool, 0)?.tool.clone()),
            WorkflowField::Prerequisite { tool, index } => {
                let prerequisite = self.prerequisite(&tool, index)?;
                match problem {
                    WorkflowError::PrerequisiteArgument { .. } => prerequisite.matching.clone(),
                    _ => Some(prerequisite.requires.clone()),
                }
            }
            WorkflowField::Budget { name } => self.budgets.get(name).cloned(),
            WorkflowField::Constraint => self.constraint.clone(),
            // A rung that stands nowhere is too low for one that does.
            WorkflowField::Ladder { rung } => self.rungs.get(rung).or(self.rungs.values().next()).cloned(),
        }
    }

    fn prerequisite(&self, tool: &str, index: usize) -> Option<&PrerequisitePlace> {
        self.prerequisites.iter().filter(|prerequisite| prerequisite.of == tool).nth(index)
    }
}

/// The types of JSON Schema.
const JSON_TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

/// The engine's messages say what is wrong, then after a semicolon what to do about it.
fn split_fix(message: &str) -> (String, Option<String>) {
    match message.split_once("; ") {
        Some((message, fix)) => (message.to_owned(), Some(fix.to_owned())),
        None => (message.to_owned(), None),
    }
}
