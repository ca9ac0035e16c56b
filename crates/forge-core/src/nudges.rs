//! What the engine says to the model: from a fault or a result to a rendered text.

use forge_parse::nearest;
use serde::Serialize;
use serde_json::Value;

use crate::example::example_call;
use crate::excerpt::{around, brief};
use crate::legality::Legality;
use crate::templates::Text;
use crate::{
    BlockReason, CallId, Fault, FieldFault, FieldProblem, HintMode, Nudge, NudgeKind, TemplateError, ToolName, Workflow,
};

mod samples;

pub(crate) use samples::render_all;

/// Lists in a text are cut to this many entries.
const MAX_LISTED: usize = 10;

/// Field faults named in a text.
const MAX_FIELDS: usize = 5;

/// Characters of a value, or of a name as the model wrote it.
const MAX_QUOTED: usize = 60;

/// What a response did wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// Nothing came.
    Empty,
    /// Nothing but thinking came.
    ReasoningOnly,
    /// Text came where a call was due.
    Text {
        /// The text was cut off.
        cut: bool,
    },
    /// Text came to end a turn with steps open.
    PrematureText {
        /// The open steps.
        pending: &'a [ToolName],
        /// The attempt's number, from 1.
        attempt: u32,
    },
    /// Something was meant as a call.
    Fault(&'a Fault),
    /// A call wasn't let through.
    Blocked {
        /// The tool.
        tool: &'a ToolName,
        /// Why.
        reason: &'a BlockReason,
    },
}

/// The engine's voice, in one state of a run.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    workflow: &'a Workflow,
    legality: Legality<'a>,
    completed: &'a [ToolName],
}

/// What every text may use: progress, and a call in the right form.
#[derive(Default, Serialize)]
struct Guide<'a> {
    done: &'a [ToolName],
    next: Vec<ToolName>,
    answer: bool,
    example: Option<String>,
}

impl<'a> Voice<'a> {
    pub(crate) fn new(workflow: &'a Workflow, legality: Legality<'a>, completed: &'a [ToolName]) -> Self {
        Self { workflow, legality, completed }
    }

    /// What to say about a fault. Only the last of several texts guides on to the next call.
    pub(crate) fn nudge(self, subject: Subject<'_>, last: bool) -> Result<Nudge, TemplateError> {
        let nudge = self.guiding_nudge(subject, last)?;
        if self.workflow.guardrails().nudges {
            return Ok(nudge);
        }
        Ok(Nudge { text: format!("Error: {}.", in_brief(subject)), ..nudge })
    }

    fn guiding_nudge(self, subject: Subject<'_>, last: bool) -> Result<Nudge, TemplateError> {
        match subject {
            Subject::Empty => self.say(NudgeKind::Empty, &self.guide(last)),
            Subject::ReasoningOnly => self.say(NudgeKind::ReasoningOnly, &self.guide(last)),
            Subject::Text { cut } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    cut: bool,
                    #[serde(flatten)]
                    guide: Guide<'a>,
                }
                self.say(NudgeKind::TextOnly, &Context { cut, guide: self.guide(last) })
            }
            Subject::PrematureText { pending, attempt } => self.premature(None, pending, attempt, last),
            Subject::Fault(fault) => self.fault(fault, last),
            Subject::Blocked { tool, reason } => self.blocked(tool, reason, last),
        }
    }

    /// One line about what is done and what comes next; none where there is nothing to say.
    pub(crate) fn progress(self) -> Result<Option<String>, TemplateError> {
        let line = self.render(Text::Progress, &self.guide(true))?;
        Ok(Some(line).filter(|line| !line.is_empty()))
    }

    /// What stands in the place of what compaction removed.
    pub(crate) fn summary(self) -> Result<Option<String>, TemplateError> {
        let text = self.render(Text::Summary, &self.guide(true))?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// The note on a prompt that fills so much of the context.
    pub(crate) fn context_warning(self, percent: u8) -> Result<String, TemplateError> {
        #[derive(Serialize)]
        struct Context<'a> {
            percent: u8,
            #[serde(flatten)]
            guide: Guide<'a>,
        }
        self.render(Text::ContextWarning, &Context { percent, guide: self.guide(true) })
    }

    /// The note on a result that was the same before.
    pub(crate) fn repeated(self, tool: &ToolName, round: usize) -> Result<String, TemplateError> {
        #[derive(Serialize)]
        struct Context<'a> {
            round: usize,
            #[serde(flatten)]
            guide: Guide<'a>,
        }
        self.render(Text::Repeated, &Context { round, guide: self.guide_away_from(tool, true) })
    }

    /// The answer to a call that was run, in one of the texts for results.
    pub(crate) fn result(self, text: Text, tool: &ToolName, result: &str, left: u32) -> Result<String, TemplateError> {
        #[derive(Serialize)]
        struct Context<'a> {
            tool: &'a ToolName,
            result: &'a str,
            left: u32,
        }
        self.render(text, &Context { tool, result, left })
    }

    fn fault(self, fault: &Fault, last: bool) -> Result<Nudge, TemplateError> {
        match fault {
            Fault::UnknownTool { name, .. } => self.unknown_tool(name, last),
            Fault::MalformedArguments { tool, problem, offset, raw } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    tool: &'a ToolName,
                    problem: &'a str,
                    excerpt: String,
                    example: String,
                }
                let excerpt = around(raw, *offset, MAX_QUOTED / 4);
                self.say(
                    NudgeKind::MalformedArguments,
                    &Context { tool, problem, excerpt, example: self.example(tool) },
                )
            }
            Fault::InvalidArguments { tool, fields, .. } => self.invalid_arguments(tool, fields),
            Fault::Truncated { tool, .. } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    tool: Option<&'a ToolName>,
                    #[serde(flatten)]
                    guide: Guide<'a>,
                }
                self.say(NudgeKind::Truncated, &Context { tool: tool.as_ref(), guide: self.guide(last) })
            }
            Fault::Unreadable { problem, .. } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    problem: &'a str,
                    #[serde(flatten)]
                    guide: Guide<'a>,
                }
                self.say(NudgeKind::Unreadable, &Context { problem, guide: self.guide(last) })
            }
            Fault::RepeatedText { unit, count } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    unit: String,
                    count: usize,
                    #[serde(flatten)]
                    guide: Guide<'a>,
                }
                let unit = brief(unit.trim(), MAX_QUOTED);
                self.say(NudgeKind::RepeatedText, &Context { unit, count: *count, guide: self.guide(last) })
            }
        }
    }

    fn unknown_tool(self, name: &str, last: bool) -> Result<Nudge, TemplateError> {
        #[derive(Serialize)]
        struct Context<'a> {
            name: String,
            nearest: Option<&'a ToolName>,
            tools: Vec<&'a ToolName>,
            #[serde(flatten)]
            guide: Guide<'a>,
        }
        let near = nearest(name, self.workflow.toolset().names().map(ToolName::as_str));
        let nearest = near.and_then(|near| self.workflow.tool(near)).map(|spec| &spec.name);
        let mut guide = self.guide(last);
        if let Some(tool) = nearest.filter(|_| last) {
            guide.example = Some(self.example(tool));
        }
        let tools = self.workflow.toolset().names().take(2 * MAX_LISTED).collect();
        self.say(NudgeKind::UnknownTool, &Context { name: brief(name, MAX_QUOTED), nearest, tools, guide })
    }

    fn invalid_arguments(self, tool: &ToolName, fields: &[FieldFault]) -> Result<Nudge, TemplateError> {
        #[derive(Serialize)]
        struct Context<'a> {
            tool: &'a ToolName,
            fields: Vec<Field<'a>>,
            more: usize,
            example: String,
        }
        self.say(
            NudgeKind::InvalidArguments,
            &Context {
                tool,
                fields: fields.iter().take(MAX_FIELDS).map(Field::from).collect(),
                more: fields.len().saturating_sub(MAX_FIELDS),
                example: self.example(tool),
            },
        )
    }

    fn blocked(self, tool: &ToolName, reason: &BlockReason, last: bool) -> Result<Nudge, TemplateError> {
        match reason {
            BlockReason::Fault { fault } => self.fault(fault, last),
            BlockReason::PrematureTerminal { pending, attempt } => self.premature(Some(tool), pending, *attempt, last),
            BlockReason::StepOrder { due } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    tool: &'a ToolName,
                    due: &'a ToolName,
                    #[serde(flatten)]
                    guide: Guide<'a>,
                }
                self.say(NudgeKind::StepOrder, &Context { tool, due, guide: self.guide(last) })
            }
            BlockReason::Prerequisite { tool: requires, matching } => {
                self.prerequisite(tool, requires, matching.as_ref().map(|(argument, value)| (argument.as_str(), value)))
            }
            BlockReason::Repetition { round, .. } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    tool: &'a ToolName,
                    round: u32,
                    #[serde(flatten)]
                    guide: Guide<'a>,
                }
                self.say(
                    NudgeKind::Repetition,
                    &Context { tool, round: *round, guide: self.guide_away_from(tool, last) },
                )
            }
            BlockReason::SecondTerminal { first } => {
                #[derive(Serialize)]
                struct Context<'a> {
                    tool: &'a ToolName,
                    first: &'a CallId,
                }
                self.say(NudgeKind::SecondTerminal, &Context { tool, first })
            }
        }
    }

    fn premature(
        self,
        tool: Option<&ToolName>,
        pending: &[ToolName],
        attempt: u32,
        last: bool,
    ) -> Result<Nudge, TemplateError> {
        #[derive(Serialize)]
        struct Context<'a> {
            tool: Option<&'a ToolName>,
            pending: &'a [ToolName],
            tier: u32,
            left: u32,
            #[serde(flatten)]
            guide: Guide<'a>,
        }
        let left = self.workflow.budgets().premature_attempts.saturating_sub(attempt);
        let context = Context { tool, pending, tier: attempt.clamp(1, 3), left, guide: self.guide(last) };
        self.say(NudgeKind::PrematureTerminal, &context)
    }

    fn prerequisite(
        self,
        tool: &ToolName,
        requires: &ToolName,
        matching: Option<(&str, &Value)>,
    ) -> Result<Nudge, TemplateError> {
        #[derive(Serialize)]
        struct Context<'a> {
            tool: &'a ToolName,
            requires: &'a ToolName,
            argument: Option<&'a str>,
            value: String,
            first: &'a ToolName,
            example: String,
        }
        let way = self.legality.way_to(requires);
        let first = way.first().unwrap_or(requires);
        // The value belongs to the required tool, not to what that one waits for itself.
        let known = matching.filter(|(_, value)| first == requires && !value.is_null());
        let example = self.workflow.tool(first).map(|spec| example_call(spec, known)).unwrap_or_default();
        let value = matching.map(|(_, value)| brief(&value.to_string(), MAX_QUOTED)).unwrap_or_default();
        let argument = matching.map(|(argument, _)| argument);
        self.say(NudgeKind::Prerequisite, &Context { tool, requires, argument, value, first, example })
    }

    fn guide(self, last: bool) -> Guide<'a> {
        if last { self.guide_to(self.legality.next_tools()) } else { Guide::default() }
    }

    /// A guide away from a tool that is being repeated, where there is anything else to call.
    fn guide_away_from(self, tool: &ToolName, last: bool) -> Guide<'a> {
        if !last {
            return Guide::default();
        }
        let others = |mut tools: Vec<ToolName>| {
            tools.retain(|other| other != tool);
            tools
        };
        let next = self.legality.next_tools();
        if next.is_empty() {
            return self.guide_to(next);
        }
        match (others(next.clone()), others(self.legality.legal_tools())) {
            (on_the_way, _) if !on_the_way.is_empty() => self.guide_to(on_the_way),
            (_, legal) if !legal.is_empty() => self.guide_to(legal),
            (_, _) => self.guide_to(next),
        }
    }

    fn guide_to(self, mut next: Vec<ToolName>) -> Guide<'a> {
        next.truncate(MAX_LISTED);
        Guide {
            done: match self.workflow.hints() {
                HintMode::Never => &[],
                HintMode::WhenNeeded | HintMode::Always => self.completed,
            },
            // Without steps, a call is as good as an answer.
            answer: next.is_empty() && !self.workflow.required_steps().is_empty(),
            example: next.first().map(|tool| self.example(tool)),
            next,
        }
    }

    fn example(self, tool: &ToolName) -> String {
        self.workflow.tool(tool).map(|spec| example_call(spec, None)).unwrap_or_default()
    }

    fn say<C: Serialize>(self, kind: NudgeKind, context: &C) -> Result<Nudge, TemplateError> {
        Ok(Nudge { kind, text: self.render(Text::Nudge(kind), context)? })
    }

    fn render<C: Serialize>(self, text: Text, context: &C) -> Result<String, TemplateError> {
        self.workflow.templates().render(text, context)
    }
}

/// A field fault in words for the model.
#[derive(Serialize)]
struct Field<'a> {
    path: String,
    problem: FieldProblem,
    found: String,
    allowed: &'a str,
    nearest: Option<&'a str>,
}

impl<'a> From<&'a FieldFault> for Field<'a> {
    fn from(fault: &'a FieldFault) -> Self {
        Self {
            path: dotted(&fault.path),
            problem: fault.problem,
            found: fault.found.as_ref().map(|value| brief(&value.to_string(), MAX_QUOTED)).unwrap_or_default(),
            allowed: &fault.allowed,
            nearest: fault.nearest.as_deref(),
        }
    }
}

/// A JSON pointer as small models read it: `/lines/0` is `lines.0`, and the whole is `arguments`.
fn dotted(pointer: &str) -> String {
    let path = pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
    if path.is_empty() { "arguments".to_owned() } else { path }
}

/// A fault in a few words, for the account of an interrupt.
pub(crate) fn in_brief(subject: Subject<'_>) -> String {
    match subject {
        Subject::Empty => "an empty answer".to_owned(),
        Subject::ReasoningOnly => "nothing but thinking".to_owned(),
        Subject::Text { cut: false } => "text instead of a call".to_owned(),
        Subject::Text { cut: true } => "text instead of a call, and cut off".to_owned(),
        Subject::PrematureText { .. } => "an answer before the required steps".to_owned(),
        Subject::Fault(fault) => fault_in_brief(fault),
        Subject::Blocked { tool, reason } => match reason {
            BlockReason::Fault { fault } => fault_in_brief(fault),
            BlockReason::PrematureTerminal { .. }
            | BlockReason::StepOrder { .. }
            | BlockReason::Prerequisite { .. }
            | BlockReason::Repetition { .. }
            | BlockReason::SecondTerminal { .. } => format!("a call of `{tool}` that isn't allowed yet"),
        },
    }
}

fn fault_in_brief(fault: &Fault) -> String {
    match fault {
        Fault::UnknownTool { name, .. } => format!("a call of `{}`, which is no tool", brief(name, MAX_QUOTED)),
        Fault::MalformedArguments { tool, problem, .. } => format!("unreadable arguments of `{tool}`: {problem}"),
        Fault::InvalidArguments { tool, fields, .. } => {
            let paths: Vec<String> = fields.iter().take(MAX_FIELDS).map(|field| dotted(&field.path)).collect();
            format!("invalid arguments of `{tool}`: {}", paths.join(", "))
        }
        Fault::Truncated { tool: Some(tool), .. } => format!("a call of `{tool}` that was cut off"),
        Fault::Truncated { tool: None, .. } => "a call that was cut off".to_owned(),
        Fault::Unreadable { problem, .. } => format!("an unreadable call: {problem}"),
        Fault::RepeatedText { count, .. } => format!("a text that repeats itself {count} times"),
    }
}

#[cfg(test)]
mod tests;
