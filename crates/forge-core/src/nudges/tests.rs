use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    Guardrails, Outcome, Prerequisite, RawCall, Response, StepOrder, StepTracker, TextPolicy, ToolSpec, Verdict,
};

/// The most words of a text, so that a nudge costs a small model little.
const MAX_WORDS: usize = 80;

fn tool(name: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string"}, "lines": {"type": "integer"}},
    });
    ToolSpec::new(name, "", parameters)
}

fn workflow(hints: HintMode, order: StepOrder) -> Workflow {
    Workflow::builder("triage")
        .tools(["list", "read", "count", "report"].map(tool))
        .required_steps(["list", "read", "count"])
        .step_order(order)
        .prerequisite("count", Prerequisite::same_argument("read", "file"))
        .terminal_tool("report")
        .text(TextPolicy::Accept)
        .hints(hints)
        .build()
        .unwrap()
}

fn done(workflow: &Workflow, tools: &[&str]) -> StepTracker {
    let mut tracker = StepTracker::default();
    for tool in tools {
        let arguments = crate::Arguments::from_json(r#"{"file": "a.log"}"#).unwrap();
        let call = crate::ToolCall { id: CallId::new("x"), name: (*tool).into(), arguments };
        tracker.record_success(workflow, &call);
    }
    tracker
}

fn nudge_in(workflow: &Workflow, tracker: &StepTracker, subject: Subject<'_>, last: bool) -> Nudge {
    let voice = Voice::new(workflow, Legality::new(workflow, tracker), tracker.completed());
    voice.nudge(subject, last).unwrap()
}

/// A nudge after `list` succeeded.
fn nudge(subject: Subject<'_>) -> Nudge {
    let workflow = workflow(HintMode::WhenNeeded, StepOrder::Any);
    nudge_in(&workflow, &done(&workflow, &["list"]), subject, true)
}

fn fields() -> Vec<FieldFault> {
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

fn faults() -> Vec<Fault> {
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

fn reasons() -> Vec<BlockReason> {
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

/// Every nudge in every state that a template may tell apart.
fn every_nudge() -> Vec<Nudge> {
    let (report, pending) = (ToolName::from("report"), vec![ToolName::from("list")]);
    let (faults, reasons) = (faults(), reasons());
    let mut subjects =
        vec![Subject::Empty, Subject::ReasoningOnly, Subject::Text { cut: false }, Subject::Text { cut: true }];
    subjects.extend([1, 2, 3].map(|attempt| Subject::PrematureText { pending: &pending, attempt }));
    subjects.extend(faults.iter().map(Subject::Fault));
    subjects.extend(reasons.iter().map(|reason| Subject::Blocked { tool: &report, reason }));
    let mut nudges = Vec::new();
    for hints in [HintMode::Never, HintMode::WhenNeeded, HintMode::Always] {
        for order in [StepOrder::Any, StepOrder::Listed] {
            let workflow = workflow(hints, order);
            for tools in [&[] as &[&str], &["list"], &["list", "read", "count"]] {
                let tracker = done(&workflow, tools);
                for subject in &subjects {
                    nudges.extend([true, false].map(|last| nudge_in(&workflow, &tracker, *subject, last)));
                }
            }
        }
    }
    nudges
}

#[test]
fn every_text_renders_in_every_context_and_is_short() {
    for nudge in every_nudge() {
        let words = nudge.text.split_whitespace().count();
        assert!((3..=MAX_WORDS).contains(&words), "{:?} has {words} words:\n{}", nudge.kind, nudge.text);
    }
}

#[test]
fn no_text_has_gaps_or_ragged_ends() {
    for Nudge { kind, text } in every_nudge() {
        assert!(!text.contains("\n\n\n") && !text.contains(" \n") && !text.contains("  "), "{kind:?}:\n{text}");
    }
}

#[test]
fn every_kind_is_among_the_rendered_ones() {
    let kinds: std::collections::BTreeSet<NudgeKind> = every_nudge().iter().map(|nudge| nudge.kind).collect();
    assert_eq!(kinds.len(), crate::templates::nudge_kinds().count());
}

#[track_caller]
fn assert_text(subject: Subject<'_>, text: &str) {
    assert_eq!(nudge(subject).text, text);
}

#[test]
fn text_only() {
    assert_text(
        Subject::Text { cut: false },
        "Your answer was text, so nothing was done. Reply with only a tool call.\n\
         Done: list. Next, call read.\n\
         Example: {\"name\":\"read\",\"arguments\":{\"file\":\"<file>\"}}",
    );
}

#[test]
fn unknown_tool() {
    assert_text(
        Subject::Fault(&Fault::UnknownTool { name: "lst".to_owned(), nearest: Vec::new() }),
        "There is no tool `lst`. Did you mean `list`? The tools are: list, read, count, report.\n\
         Done: list. Next, call read.\n\
         Example: {\"name\":\"list\",\"arguments\":{\"file\":\"<file>\"}}",
    );
}

#[test]
fn invalid_arguments() {
    let fields = fields();
    let fields = [&fields[0], &fields[1], &fields[3], &fields[5]].map(FieldFault::clone).to_vec();
    assert_text(
        Subject::Fault(&Fault::InvalidArguments { tool: "read".into(), fields, raw: String::new() }),
        "`read` was not run. Correct its arguments and call it again:\n\
         - `file` is missing: a string\n\
         - `path` is no parameter; use `file`\n\
         - `lines` can't be \"many\"; allowed: an integer\n\
         - `arguments` can't be {\"a\":1}; allowed: one of the alternatives\n\
         Example: {\"name\":\"read\",\"arguments\":{\"file\":\"<file>\"}}",
    );
}

#[test]
fn malformed_arguments() {
    assert_text(
        Subject::Fault(&faults()[2]),
        "`read` was not run: its arguments are no JSON object: a stray brace, near `le\": \"a.log\", }}`.\n\
         Write it like this: {\"name\":\"read\",\"arguments\":{\"file\":\"<file>\"}}",
    );
}

#[test]
fn premature_terminal_escalates() {
    let pending = ["read".into(), "count".into()];
    let texts = [1, 2, 3].map(|attempt| {
        let reason = BlockReason::PrematureTerminal { pending: pending.to_vec(), attempt };
        nudge(Subject::Blocked { tool: &"report".into(), reason: &reason }).text
    });
    assert_eq!(
        texts,
        [
            "`report` was not run: these steps come first: read, count.\n\
         Done: list. Next, call read.",
            "Still too early for `report`. Steps that are not done: read, count. Don't finish; do them.\n\
         Done: list. Next, call read.\n\
         Your next call must be like: {\"name\":\"read\",\"arguments\":{\"file\":\"<file>\"}}",
            "Stop. `report` is refused until read, count succeeded. One more try ends the run as failed.\n\
         Done: list. Next, call read.\n\
         Your next call must be like: {\"name\":\"read\",\"arguments\":{\"file\":\"<file>\"}}",
        ]
    );
}

#[test]
fn a_prerequisite_with_its_value() {
    let matching = Some(("file".to_owned(), json!("b.log")));
    let reason = BlockReason::Prerequisite { tool: "read".into(), matching };
    assert_text(
        Subject::Blocked { tool: &"count".into(), reason: &reason },
        "`count` was not run: `read` has to succeed first, with the same file: \"b.log\". Call `read` now, then \
         `count` again.\n\
         Example: {\"name\":\"read\",\"arguments\":{\"file\":\"b.log\"}}",
    );
}

#[test]
fn hints_can_be_switched_off() {
    let workflow = workflow(HintMode::Never, StepOrder::Any);
    let text = nudge_in(&workflow, &done(&workflow, &["list"]), Subject::Empty, true).text;
    assert!(!text.contains("Done:") && text.contains("Next, call read."), "{text}");
}

#[test]
fn a_pointer_is_read_with_dots() {
    assert_eq!(["", "/a", "/a/0/b~1c"].map(dotted), ["arguments", "a", "a.0.b/c"]);
}

/// Runs one call of `list` with an outcome and gives the content of its result.
fn result_of(outcome: Outcome) -> String {
    let workflow = workflow(HintMode::WhenNeeded, StepOrder::Any);
    let mut guardrails = Guardrails::new(Arc::new(workflow));
    let call = RawCall { id: None, name: "list".to_owned(), arguments: r#"{"file": "a"}"#.to_owned() };
    let verdict = guardrails.check(&Response { calls: vec![call], ..Response::default() }).unwrap();
    let Verdict::Execute(batch) = verdict else { panic!("{verdict:?}") };
    let recorded = guardrails.record(&[(batch.calls[0].call.id.clone(), outcome)]).unwrap();
    recorded.messages[0].content().to_owned()
}

#[test]
fn a_success_is_passed_on_as_it_is() {
    assert_eq!(result_of(Outcome::Success(" a\n".to_owned())), " a\n");
}

#[test]
fn a_success_without_words_says_so() {
    assert_eq!(result_of(Outcome::Success("\n".to_owned())), "(The tool succeeded and printed nothing.)");
}

#[test]
fn a_failure_says_how_often_it_may_be_tried() {
    assert_eq!(
        result_of(Outcome::Failure("no such file".to_owned())),
        "no such file\n\n[`list` failed. Attempts left: 2. Read the error, find its cause and change the approach; the \
         same call fails again.]"
    );
}

#[test]
fn missing_data_is_no_failure() {
    assert_eq!(
        result_of(Outcome::NoData("nothing found".to_owned())),
        "nothing found\n\n[The call was right, but there is no such data. Try other values, or go on without.]"
    );
}
