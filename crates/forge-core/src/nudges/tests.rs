use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::samples::{Ending, done, faults, fields, render_all, workflow};
use super::*;
use crate::templates::nudge_kinds;
use crate::{Guardrails, Outcome, RawCall, Response, StepOrder, StepTracker, Templates, Verdict};

/// The most words of a text, so that a nudge costs a small model little.
const MAX_WORDS: usize = 80;

fn sample(hints: HintMode) -> Workflow {
    workflow(hints, StepOrder::Any, Ending::Tool, &Templates::embedded())
}

fn nudge_in(workflow: &Workflow, tracker: &StepTracker, subject: Subject<'_>) -> Nudge {
    Voice::new(workflow, Legality::new(workflow, tracker), tracker.completed()).nudge(subject, true).unwrap()
}

/// Every text in every state that a template may tell apart.
fn every_text() -> Vec<(Text, String)> {
    render_all(&Templates::embedded()).into_iter().map(Result::unwrap).collect()
}

fn nudges_only(texts: Vec<(Text, String)>) -> impl Iterator<Item = (NudgeKind, String)> {
    texts.into_iter().filter_map(|(text, said)| match text {
        Text::Nudge(kind) => Some((kind, said)),
        _ => None,
    })
}

/// A nudge after `list` succeeded.
fn nudge(subject: Subject<'_>) -> Nudge {
    let workflow = sample(HintMode::WhenNeeded);
    nudge_in(&workflow, &done(&workflow, &["list"]), subject)
}

#[test]
fn every_nudge_is_short() {
    for (kind, said) in nudges_only(every_text()) {
        let words = said.split_whitespace().count();
        assert!((3..=MAX_WORDS).contains(&words), "{kind:?} has {words} words:\n{said}");
    }
}

#[test]
fn no_text_has_gaps_or_ragged_ends() {
    for (kind, said) in nudges_only(every_text()) {
        assert!(!said.contains("\n\n\n") && !said.contains(" \n") && !said.contains("  "), "{kind:?}:\n{said}");
    }
}

#[test]
fn every_text_is_among_the_rendered_ones() {
    let rendered: BTreeSet<Text> = every_text().into_iter().map(|(text, _)| text).collect();
    assert_eq!(rendered.len(), Templates::catalogue().len());
    assert!(nudge_kinds().all(|kind| rendered.contains(&Text::Nudge(kind))));
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
    let workflow = sample(HintMode::Never);
    let text = nudge_in(&workflow, &done(&workflow, &["list"]), Subject::Empty).text;
    assert!(!text.contains("Done:") && text.contains("Next, call read."), "{text}");
}

#[test]
fn a_pointer_is_read_with_dots() {
    assert_eq!(["", "/a", "/a/0/b~1c"].map(dotted), ["arguments", "a", "a.0.b/c"]);
}

/// Runs one call of `list` with an outcome and gives the content of its result.
fn result_of(outcome: Outcome) -> String {
    let workflow = sample(HintMode::WhenNeeded);
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
