//! Everything a text can be given, in samples: what texts of others are tried out with, and what tests look at.

use std::sync::Arc;

use serde_json::json;

use super::{Subject, Voice};
use crate::legality::Legality;
use crate::templates::Text;
use crate::{
    Arguments, BlockReason, CallId, Fault, FieldFault, FieldProblem, HintMode, Prerequisite, StepOrder, StepTracker,
    TemplateError, Templates, TextPolicy, ToolCall, ToolName, ToolSpec, Workflow,
};

/// What ends a sample workflow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// The tool `report`.
    Tool,
    /// Only text.
    Text,
}

/// Each text, rendered in every state that a template may tell apart.
pub(crate) fn render_all(templates: &Arc<Templates>) -> Vec<Result<(Text, String), TemplateError>> {
    let (faults, reasons) = (faults(), reasons());
    let (report, pending) = (ToolName::from("report"), vec![ToolName::from("list")]);
    let subjects = subjects(&faults, &reasons, &report, &pending);
    let mut rendered = Vec::new();
    for workflow in workflows(templates) {
        for tools in [&[] as &[&str], &["list"], &["list", "read", "count"]] {
            let tracker = done(&workflow, tools);
            let voice = Voice::new(&workflow, Legality::new(&workflow, &tracker), tracker.completed());
            for subject in &subjects {
                let nudges = [true, false].map(|last| voice.nudge(*subject, last));
                rendered.extend(nudges.map(|nudge| nudge.map(|nudge| (Text::Nudge(nudge.kind), nudge.text))));
            }
            rendered.push(voice.progress().map(|line| (Text::Progress, line.unwrap_or_default())));
            rendered.extend([1, 3].map(|round| Ok((Text::Repeated, voice.repeated(&"list".into(), round)?))));
            rendered.push(voice.summary().map(|text| (Text::Summary, text.unwrap_or_default())));
            rendered.extend([60, 100].map(|percent| Ok((Text::ContextWarning, voice.context_warning(percent)?))));
            rendered.extend(results(voice));
        }
    }
    rendered
}

fn results(voice: Voice<'_>) -> impl Iterator<Item = Result<(Text, String), TemplateError>> {
    let texts = [Text::Failure, Text::TimedOut, Text::NoData, Text::Cancelled, Text::EmptyResult];
    let tool = ToolName::from("read");
    [0, 1, 5]
        .into_iter()
        .flat_map(move |left| texts.map(|text| Ok((text, voice.result(text, &tool, "no such file", left)?))))
}

/// Every subject; those of faults and reasons borrow them.
fn subjects<'a>(
    faults: &'a [Fault],
    reasons: &'a [BlockReason],
    tool: &'a ToolName,
    pending: &'a [ToolName],
) -> Vec<Subject<'a>> {
    let mut subjects =
        vec![Subject::Empty, Subject::ReasoningOnly, Subject::Text { cut: false }, Subject::Text { cut: true }];
    subjects.extend([1, 2, 3].map(|attempt| Subject::PrematureText { pending, attempt }));
    subjects.extend(faults.iter().map(Subject::Fault));
    subjects.extend(reasons.iter().map(|reason| Subject::Blocked { tool, reason }));
    subjects
}

fn workflows(templates: &Arc<Templates>) -> Vec<Workflow> {
    let mut workflows = Vec::new();
    // A text can't tell `Always` from `WhenNeeded`.
    for hints in [HintMode::Never, HintMode::WhenNeeded] {
        for order in [StepOrder::Any, StepOrder::Listed] {
            for ending in [Ending::Tool, Ending::Text] {
                workflows.push(workflow(hints, order, ending, templates));
            }
        }
    }
    workflows
}

#[expect(clippy::expect_used, reason = "the declaration is fixed, and every test of the texts builds it")]
pub(crate) fn workflow(hints: HintMode, order: StepOrder, ending: Ending, templates: &Arc<Templates>) -> Workflow {
    let builder = Workflow::builder("triage")
        .tools(["list", "read", "count", "report"].map(tool))
        .required_steps(["list", "read", "count"])
        .step_order(order)
        .prerequisite("count", Prerequisite::same_argument("read", "file"))
        .text(TextPolicy::Accept)
        .hints(hints)
        .templates(Arc::clone(templates));
    let builder = match ending {
        Ending::Tool => builder.terminal_tool("report"),
        Ending::Text => builder,
    };
    builder.build().expect("the sample is a valid workflow")
}

fn tool(name: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string"}, "lines": {"type": "integer"}},
    });
    ToolSpec::new(name, "", parameters)
}

/// The state after these tools succeeded.
pub(crate) fn done(workflow: &Workflow, tools: &[&str]) -> StepTracker {
    let mut tracker = StepTracker::default();
    let arguments = Arguments::from_json(r#"{"file": "a.log"}"#).unwrap_or_else(|_| Arguments::empty());
    for tool in tools {
        let call = ToolCall { id: CallId::new("x"), name: (*tool).into(), arguments: arguments.clone() };
        tracker.record_success(workflow, &call);
    }
    tracker
}

pub(crate) fn fields() -> Vec<FieldFault> {
    let fault = |path: &str, problem, found, allowed: &str, nearest: Option<&str>| FieldFault {
        path: path.to_owned(),
        problem,
        found,
        allowed: allowed.to_owned(),
        nearest: nearest.map(str::to_owned),
    };
    vec![
        fault("/file", FieldProblem::Missing, None, "a string", Some("path")),
        fault("/path", FieldProblem::Unknown, Some(json!("a.log")), "file, lines", Some("file")),
        fault("/depth", FieldProblem::Unknown, Some(json!(1)), "file, lines", None),
        fault("/lines", FieldProblem::WrongType, Some(json!("many")), "an integer", None),
        fault("/level", FieldProblem::NotAllowed, Some(json!("x")), "one of \"a\", \"b\"", None),
        fault("", FieldProblem::Rule, Some(json!({"a": 1})), "one of the alternatives", None),
        fault("/more", FieldProblem::Missing, None, "a string", None),
    ]
}

pub(crate) fn faults() -> Vec<Fault> {
    let raw = r#"{"file": "a.log", }}"#.to_owned();
    vec![
        Fault::UnknownTool { name: "lst".to_owned(), nearest: vec!["list".into()] },
        Fault::UnknownTool { name: "?".repeat(300), nearest: Vec::new() },
        Fault::MalformedArguments {
            tool: "read".into(),
            problem: "a stray brace".to_owned(),
            offset: 19,
            raw: raw.clone(),
        },
        Fault::MalformedArguments { tool: "read".into(), problem: "empty".to_owned(), offset: 0, raw: String::new() },
        Fault::InvalidArguments { tool: "read".into(), fields: fields(), raw: raw.clone() },
        Fault::InvalidArguments {
            tool: "read".into(),
            fields: fields().into_iter().take(1).collect(),
            raw: raw.clone(),
        },
        Fault::Truncated { tool: Some("read".into()), raw: raw.clone() },
        Fault::Truncated { tool: None, raw: raw.clone() },
        Fault::RepeatedText { unit: "and so on ".to_owned(), count: 40 },
        Fault::Unreadable { problem: "a tag without a call".to_owned(), raw },
    ]
}

pub(crate) fn reasons() -> Vec<BlockReason> {
    let premature = |attempt| BlockReason::PrematureTerminal { pending: vec!["read".into(), "count".into()], attempt };
    let mut reasons: Vec<BlockReason> = faults().into_iter().map(|fault| BlockReason::Fault { fault }).collect();
    reasons.extend([1, 2, 3, 9].map(premature));
    reasons.extend([
        BlockReason::StepOrder { due: "list".into() },
        BlockReason::Prerequisite { tool: "read".into(), matching: None },
        BlockReason::Prerequisite { tool: "read".into(), matching: Some(("file".to_owned(), json!("a.log"))) },
        BlockReason::Prerequisite { tool: "read".into(), matching: Some(("file".to_owned(), json!(null))) },
        BlockReason::Prerequisite { tool: "gone".into(), matching: None },
        BlockReason::Repetition { round: 1, times: 1 },
        BlockReason::Repetition { round: 3, times: 2 },
        BlockReason::SecondTerminal { first: CallId::new("call_1") },
    ]);
    reasons
}
