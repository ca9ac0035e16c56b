use std::fmt;

use crate::{TemplateError, ToolName};

/// Everything that is wrong with a declared workflow. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidWorkflow {
    /// The workflow's name.
    pub workflow: String,
    /// The problems, in the order of the declaration.
    pub problems: Vec<WorkflowError>,
}

impl fmt::Display for InvalidWorkflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow `{}` can't work:", self.workflow)?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

impl std::error::Error for InvalidWorkflow {}

/// One thing that is wrong with a declared workflow.
///
/// The message names the value, what is allowed and the fix; [`WorkflowError::field`] says where it stands.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkflowError {
    /// The name is empty.
    #[error("the workflow has no name; give it one")]
    NoName,
    /// The system prompt is no template.
    #[error("the system prompt is no valid template: {error}")]
    SystemPrompt {
        /// What is wrong, with the line in the prompt.
        error: TemplateError,
    },
    /// There is no tool.
    #[error("the workflow has no tools; declare at least one")]
    NoTools,
    /// Nothing can end a run.
    #[error(
        "nothing ends the workflow: name at least one of its tools in `terminal_tools`, add the `respond` tool as a terminal one, or let text end a turn (`text = \"accept\"`)"
    )]
    NoTerminal,
    /// A tool's name can't be used with every model server.
    #[error(
        "`{name}` is no usable tool name: 1 to 64 ASCII letters, digits, `_`, `-` and `.` are allowed; rename the tool"
    )]
    ToolName {
        /// The name.
        name: String,
        /// Which tool of the declaration, from 0.
        index: usize,
    },
    /// Two tools have the same name.
    #[error("tool `{name}` is declared twice; rename or remove one")]
    DuplicateTool {
        /// The name.
        name: ToolName,
        /// The second of them in the declaration, from 0.
        index: usize,
    },
    /// A tool has the name of the synthetic one.
    #[error("`respond` is the name of the built-in tool that this workflow asks for; rename the declared tool")]
    RespondTaken {
        /// Which tool of the declaration, from 0.
        index: usize,
    },
    /// A tool's parameters aren't a JSON Schema of an object.
    #[error("the parameters of tool `{tool}` are no JSON Schema of an object{}: {message}", At(pointer))]
    InvalidSchema {
        /// The tool.
        tool: ToolName,
        /// The JSON pointer of the wrong part; empty for the whole.
        pointer: String,
        /// What is wrong.
        message: String,
    },
    /// A name that no tool has.
    #[error("{place} names `{name}`, which is no tool of this workflow{}; the tools are {}", DidYouMean(nearest.as_ref()), Names(offered))]
    UnknownTool {
        /// Where the name stands.
        place: ToolReference,
        /// The name.
        name: String,
        /// The tool that was probably meant.
        nearest: Option<ToolName>,
        /// All tools.
        offered: Vec<ToolName>,
    },
    /// A step is listed twice.
    #[error("`required_steps` lists `{step}` twice; a step is done once, so remove one")]
    DuplicateStep {
        /// The step.
        step: ToolName,
        /// The second of them in the list, from 0.
        index: usize,
    },
    /// A terminal tool is listed twice.
    #[error("`terminal_tools` lists `{tool}` twice; remove one")]
    DuplicateTerminal {
        /// The tool.
        tool: ToolName,
        /// The second of them in the list, from 0.
        index: usize,
    },
    /// A tool has the same prerequisite twice.
    #[error("tool `{tool}` has the prerequisite `{requires}` twice; remove one")]
    DuplicatePrerequisite {
        /// The tool.
        tool: ToolName,
        /// Its prerequisite.
        requires: ToolName,
        /// The second of them in the list, from 0.
        index: usize,
    },
    /// A terminal tool can't be a step that comes before it.
    #[error(
        "`{tool}` is both a required step and a terminal tool; a terminal tool runs only when all steps are done, so remove it from `required_steps`"
    )]
    TerminalRequired {
        /// The tool.
        tool: ToolName,
        /// Its place among the required steps, from 0.
        index: usize,
    },
    /// Tools that wait for each other.
    #[error("the prerequisites go round in a circle: {}; remove one of them", Path(path))]
    PrerequisiteCycle {
        /// The tools of the circle, each of which requires the next; the last requires the first.
        path: Vec<ToolName>,
    },
    /// The argument of a prerequisite isn't a parameter of both tools.
    #[error(
        "`{tool}` requires `{requires}` with the same `{argument}`, but `{argument}` is no parameter of {}; it has {}",
        Names(missing_in),
        Parameters(known)
    )]
    PrerequisiteArgument {
        /// The tool that has the prerequisite.
        tool: ToolName,
        /// The tool that has to succeed first.
        requires: ToolName,
        /// The argument.
        argument: String,
        /// Those of the two tools that don't have it.
        missing_in: Vec<ToolName>,
        /// The parameters of the first of them.
        known: Vec<String>,
        /// The place among the tool's prerequisites, from 0.
        index: usize,
    },
    /// A tool that can never be called, because what it waits for comes after it.
    #[error("`{tool}` can never be called: it requires `{waits_for}`, {because}; change the prerequisite or the order")]
    NeverLegal {
        /// The tool.
        tool: ToolName,
        /// What it waits for in vain.
        waits_for: ToolName,
        /// Why that is in vain.
        because: NeverBecause,
    },
    /// A budget that bears no run at all.
    #[error("`{budget}` is {value}, but a run needs at least {minimum}")]
    Budget {
        /// The budget's name, as in [`crate::Budgets`].
        budget: &'static str,
        /// Its value.
        value: u32,
        /// The least value.
        minimum: u32,
    },
    /// A tool that may not even be called once.
    #[error("the failure limit of `{tool}` is 0, but it is reached with the first failure at 1; give it at least 1")]
    FailureLimit {
        /// The tool.
        tool: ToolName,
        /// Its place in the declaration, from 0.
        index: usize,
    },
    /// Text is to end a turn and no generation can be text.
    #[error(
        "`constraint = \"eager\"` makes every generation a call, so that text can never end a turn; use `constraint = \"ladder\"` or `text = \"nudge\"`"
    )]
    TextNeverPossible,
    /// A rung of the ladder begins before anything went wrong.
    #[error(
        "`{rung}` is 0, but the ladder begins after a faulty response; give it at least 1, switch it off, or use `constraint = \"eager\"`"
    )]
    LadderRung {
        /// The rung, as in [`crate::Ladder`].
        rung: &'static str,
    },
    /// The stronger rung comes first, so that the weaker is never reached.
    #[error(
        "`only_legal_after` is {only_legal_after}, which is not above `call_required_after`, {call_required_after}; give it a larger number or switch `call_required_after` off"
    )]
    LadderOrder {
        /// After how many faulty responses a call is required.
        call_required_after: u32,
        /// After how many only legal tools can be called.
        only_legal_after: u32,
    },
}

/// Why a prerequisite can't be met in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeverBecause {
    /// It is a terminal tool: its success ends the run.
    Terminal,
    /// It is a required step that is listed later.
    LaterStep,
}

impl fmt::Display for NeverBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminal => "a terminal tool, whose success ends the run",
            Self::LaterStep => "which the listed order allows only after it",
        })
    }
}

/// Where a workflow names a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolReference {
    /// In `required_steps`.
    RequiredSteps {
        /// The place in the list, from 0.
        index: usize,
    },
    /// In `terminal_tools`.
    TerminalTools {
        /// The place in the list, from 0.
        index: usize,
    },
    /// As a tool that has prerequisites.
    PrerequisitesOf,
    /// As a tool with a failure limit or a risk of its own.
    FailureLimit,
    /// As a prerequisite of a tool.
    Prerequisite {
        /// The tool that has the prerequisite.
        tool: ToolName,
        /// The place among its prerequisites, from 0.
        index: usize,
    },
}

impl fmt::Display for ToolReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RequiredSteps { .. } => f.write_str("`required_steps`"),
            Self::TerminalTools { .. } => f.write_str("`terminal_tools`"),
            Self::PrerequisitesOf => f.write_str("`prerequisites`"),
            Self::FailureLimit => f.write_str("a failure limit or risk"),
            Self::Prerequisite { tool, .. } => write!(f, "a prerequisite of `{tool}`"),
        }
    }
}

/// A place in the declaration of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkflowField {
    /// The name.
    Name,
    /// The system prompt.
    SystemPrompt,
    /// The tools as a whole.
    Tools,
    /// One tool, by its place in the declaration, from 0.
    Tool {
        /// The place.
        index: usize,
    },
    /// The parameters of a tool.
    Parameters {
        /// The tool.
        tool: ToolName,
        /// The JSON pointer in them; empty for the whole.
        pointer: String,
    },
    /// One of the required steps, by its place in the list, from 0.
    RequiredStep {
        /// The place.
        index: usize,
    },
    /// The terminal tools as a whole.
    TerminalTools,
    /// One of the terminal tools, by its place in the list, from 0.
    TerminalTool {
        /// The place.
        index: usize,
    },
    /// All prerequisites of a tool.
    Prerequisites {
        /// The tool that has them.
        tool: String,
    },
    /// One of a tool's prerequisites.
    Prerequisite {
        /// The tool that has it.
        tool: ToolName,
        /// The place in the list, from 0.
        index: usize,
    },
    /// A budget.
    Budget {
        /// Its name, as in [`crate::Budgets`].
        name: &'static str,
    },
    /// The constraint mode.
    Constraint,
    /// A rung of the constraint ladder.
    Ladder {
        /// Its name, as in [`crate::Ladder`].
        rung: &'static str,
    },
}

impl WorkflowError {
    /// Where the problem stands in the declaration.
    pub fn field(&self) -> WorkflowField {
        match self {
            Self::NoName => WorkflowField::Name,
            Self::SystemPrompt { .. } => WorkflowField::SystemPrompt,
            Self::NoTools => WorkflowField::Tools,
            Self::NoTerminal => WorkflowField::TerminalTools,
            Self::ToolName { index, .. }
            | Self::DuplicateTool { index, .. }
            | Self::RespondTaken { index }
            | Self::FailureLimit { index, .. } => WorkflowField::Tool { index: *index },
            Self::InvalidSchema { tool, pointer, .. } => {
                WorkflowField::Parameters { tool: tool.clone(), pointer: pointer.clone() }
            }
            Self::UnknownTool { place, name, .. } => match place {
                ToolReference::RequiredSteps { index } => WorkflowField::RequiredStep { index: *index },
                ToolReference::TerminalTools { index } => WorkflowField::TerminalTool { index: *index },
                ToolReference::FailureLimit => WorkflowField::Tools,
                ToolReference::PrerequisitesOf => WorkflowField::Prerequisites { tool: name.clone() },
                ToolReference::Prerequisite { tool, index } => {
                    WorkflowField::Prerequisite { tool: tool.clone(), index: *index }
                }
            },
            Self::DuplicateStep { index, .. } | Self::TerminalRequired { index, .. } => {
                WorkflowField::RequiredStep { index: *index }
            }
            Self::DuplicateTerminal { index, .. } => WorkflowField::TerminalTool { index: *index },
            Self::DuplicatePrerequisite { tool, index, .. } | Self::PrerequisiteArgument { tool, index, .. } => {
                WorkflowField::Prerequisite { tool: tool.clone(), index: *index }
            }
            Self::PrerequisiteCycle { path } => WorkflowField::Prerequisites {
                tool: path.first().map(|tool| tool.as_str().to_owned()).unwrap_or_default(),
            },
            Self::NeverLegal { tool, .. } => WorkflowField::Prerequisites { tool: tool.as_str().to_owned() },
            Self::Budget { budget, .. } => WorkflowField::Budget { name: budget },
            Self::TextNeverPossible => WorkflowField::Constraint,
            Self::LadderRung { rung } => WorkflowField::Ladder { rung },
            Self::LadderOrder { .. } => WorkflowField::Ladder { rung: "only_legal_after" },
        }
    }
}

struct At<'a>(&'a str);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " at `{}`", self.0) }
    }
}

struct DidYouMean<'a>(Option<&'a ToolName>);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, " (did you mean `{name}`?)"))
    }
}

struct Names<'a>(&'a [ToolName]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.0.iter().map(ToolName::as_str), ", ")
    }
}

struct Path<'a>(&'a [ToolName]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.0.iter().chain(self.0.first()).map(ToolName::as_str), " requires ")
    }
}

struct Parameters<'a>(&'a [String]);

impl fmt::Display for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no parameters");
        }
        write_list(f, self.0.iter().map(String::as_str), ", ")
    }
}

fn write_list<'a>(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'a str>, separator: &str) -> fmt::Result {
    names.enumerate().try_for_each(|(position, name)| {
        if position > 0 {
            f.write_str(separator)?;
        }
        write!(f, "`{name}`")
    })
}
