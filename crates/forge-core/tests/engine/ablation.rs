//! What each switch of the guardrails changes: the same moves with all of them on, and with one off.

use std::sync::Arc;

use forge_core::{
    GuardrailSet, Guardrails, HintMode, Ladder, Message, Outcome, Prerequisite, RawCall, Response, ToolSpec, Verdict,
    Workflow, WorkflowBuilder,
};
use serde_json::json;

use crate::support::builder;
use crate::transitions::assert_moves;

fn steps(set: GuardrailSet) -> WorkflowBuilder {
    builder().required_steps(["list", "count"]).guardrails(set)
}

const ALL: GuardrailSet = GuardrailSet::REFORGED;
const NO_NUDGES: GuardrailSet = GuardrailSet { nudges: false, ..ALL };
const NO_STEPS: GuardrailSet = GuardrailSet { steps: false, ..ALL };
const NO_RECOVERY: GuardrailSet = GuardrailSet { recovery: false, ..ALL };
const NO_REPETITION: GuardrailSet = GuardrailSet { repetition: false, ..ALL };
const NO_LADDER: GuardrailSet = GuardrailSet { ladder: false, ..ALL };
const NO_RESCUE: GuardrailSet = GuardrailSet { rescue: false, ..ALL };
const NO_COERCION: GuardrailSet = GuardrailSet { coercion: false, ..ALL };

#[test]
fn without_nudges_text_is_the_end() {
    assert_moves(steps(ALL), &[("text", "again text_only -> free [format 1]")]);
    assert_moves(steps(NO_NUDGES), &[("text", "halt premature_terminal [premature 1]")]);
    assert_moves(builder().guardrails(NO_NUDGES), &[("text", "accept")]);
}

#[test]
fn without_nudges_an_empty_answer_is_the_end() {
    assert_moves(steps(ALL), &[("empty", "again silently -> free")]);
    assert_moves(steps(NO_NUDGES), &[("empty", "halt format_retries [format 1]")]);
    assert_moves(steps(NO_NUDGES), &[("think", "halt format_retries [format 1]")]);
}

#[test]
fn without_nudges_a_refused_call_is_answered_plainly() {
    let workflow = steps(NO_NUDGES).hints(HintMode::Always);
    let answers = answers(workflow, &[("report", "{}"), ("nothing", "{}"), ("read", r#"{"path": 1}"#)]);
    assert_eq!(
        answers,
        [
            "Error: a call of `report` that isn't allowed yet.",
            "Error: a call of `nothing`, which is no tool.",
            "Error: invalid arguments of `read`: path."
        ]
    );
}

#[test]
fn without_steps_everything_is_legal() {
    let with = |set| steps(set).prerequisite("edit", Prerequisite::success_of("read"));
    assert_moves(with(ALL), &[("edit", "again prerequisite -> free [violations 1]")]);
    assert_moves(with(NO_STEPS), &[("edit", "run edit -> free"), ("report", "run report -> finished report")]);
}

#[test]
fn without_steps_nothing_is_said_of_them() {
    let told = answers(steps(NO_STEPS), &[("nothing", "{}")]).remove(0);
    assert!(!told.contains("Done:"), "{told}");
}

#[test]
fn without_recovery_failures_are_not_limited() {
    let fail = ("list=fail", "run list -> free [failing 1]");
    let more = |n: u32| format!("run list -> free [failing {n}]");
    assert_moves(
        steps(ALL),
        &[fail, ("list=fail", &more(2)), ("list=fail", "run list -> halt tool_failures [failing 3]")],
    );
    assert_moves(
        steps(NO_RECOVERY),
        &[fail, ("list=fail", &more(2)), ("list=fail", &more(3)), ("list=fail", &more(4))],
    );
}

#[test]
fn without_recovery_a_failure_is_told_as_it_is() {
    let told = |set| {
        let mut guardrails = guardrails(steps(set));
        let Verdict::Execute(batch) = guardrails.check(&calls(&[("list", "{}")])).unwrap() else { panic!() };
        let outcome = (batch.calls[0].call.id.clone(), Outcome::Failure("no such file".to_owned()));
        guardrails.record(&[outcome]).unwrap().messages[0].content().to_owned()
    };
    assert!(told(ALL).contains("Attempts left: 2"));
    assert_eq!(told(NO_RECOVERY), "no such file");
}

#[test]
fn without_repetition_the_same_call_runs_for_ever() {
    let run = ("list", "run list -> free");
    assert_moves(steps(ALL), &[run, run, ("list", "again repetition -> only read edit count [repeated 1]")]);
    assert_moves(steps(NO_REPETITION), &[run, run, run, run]);
    assert_moves(steps(ALL), &[("list+list+list", "run list list -> free")]);
    assert_moves(steps(NO_REPETITION), &[("list+list+list", "run list list list -> free")]);
}

#[test]
fn without_the_ladder_nothing_is_constrained() {
    let first = ("text", "again text_only -> free [format 1]");
    assert_moves(steps(ALL), &[first, ("text", "again text_only -> required [format 2]")]);
    assert_moves(steps(NO_LADDER), &[first, ("text", "again text_only -> free [format 2]")]);
}

#[test]
fn the_rungs_of_the_ladder_can_be_moved_and_left_out() {
    let after =
        |call_required_after, only_legal_after| steps(ALL).ladder(Ladder { call_required_after, only_legal_after });
    let [free, required, only] = ["free", "required", "only list read edit count"];
    for (workflow, expected) in [
        (after(Some(2), Some(3)), [free, required, only]),
        (after(Some(1), Some(2)), [required, only, only]),
        (after(None, Some(2)), [free, only, only]),
        (after(Some(3), None), [free, free, required]),
        (after(None, None), [free, free, free]),
    ] {
        let moves: Vec<_> = expected
            .iter()
            .enumerate()
            .map(|(place, rung)| ("text", format!("again text_only -> {rung} [format {}]", place + 1)))
            .collect();
        assert_moves(workflow, &moves.iter().map(|(given, said)| (*given, said.as_str())).collect::<Vec<_>>());
    }
}

#[test]
fn without_rescue_a_call_in_text_is_text() {
    let text = r#"<tool_call>{"name": "list", "arguments": {}}</tool_call>"#;
    let runs = |set| matches!(guardrails(steps(set)).check(&Response::text(text)), Ok(Verdict::Execute(_)));
    assert_eq!((runs(ALL), runs(NO_RESCUE)), (true, false));
}

#[test]
fn without_rescue_names_and_arguments_are_not_repaired() {
    for call in [("functions.list", "{}"), ("list", "{'file': 'a',}"), ("list", r#"{"arguments": {"file": "a"}}"#)] {
        let runs = |set| matches!(guardrails(steps(set)).check(&calls(&[call])), Ok(Verdict::Execute(_)));
        assert_eq!((runs(ALL), runs(NO_RESCUE)), (true, false), "{call:?}");
    }
    assert_moves(steps(NO_RESCUE), &[("list", "run list -> free"), ("!cut", "again truncated -> free [format 1]")]);
}

#[test]
fn without_coercion_a_number_in_quotes_is_a_fault() {
    let parameters = json!({"type": "object", "properties": {"lines": {"type": "integer"}}});
    let runs = |set: GuardrailSet| {
        let workflow = Workflow::builder("w").tool(ToolSpec::new("head", "", parameters.clone())).terminal_tool("head");
        let mut guardrails = guardrails(workflow.guardrails(set));
        matches!(guardrails.check(&calls(&[("head", r#"{"lines": "5"}"#)])), Ok(Verdict::Execute(_)))
    };
    assert_eq!((runs(ALL), runs(NO_COERCION), runs(NO_RESCUE), runs(GuardrailSet::BARE)), (true, false, true, false));
}

#[test]
fn bare_is_a_plain_loop() {
    let bare = || steps(GuardrailSet::BARE);
    assert_moves(bare(), &[("report", "run report -> finished report")]);
    assert_moves(bare(), &[("list", "run list -> free"), ("text", "accept")]);
    assert_moves(bare(), &[("!nothing", "again unknown_tool -> free [format 1]"), ("list", "run list -> free")]);
}

#[test]
fn a_set_is_data() {
    let text = serde_json::to_string(&GuardrailSet::BARE).unwrap();
    assert_eq!(serde_json::from_str::<GuardrailSet>(&text).unwrap(), GuardrailSet::BARE);
}

fn guardrails(workflow: WorkflowBuilder) -> Guardrails {
    Guardrails::new(Arc::new(workflow.build().unwrap()))
}

fn calls(calls: &[(&str, &str)]) -> Response {
    let call = |(name, arguments): &(&str, &str)| RawCall {
        id: None,
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    Response { calls: calls.iter().map(call).collect(), ..Response::default() }
}

/// What the calls of one response, none of which runs, are answered.
fn answers(workflow: WorkflowBuilder, made: &[(&str, &str)]) -> Vec<String> {
    let Verdict::Reprompt(reprompt) = guardrails(workflow).check(&calls(made)).unwrap() else { panic!() };
    let tool = |message: &Message| matches!(message, Message::Tool { .. }).then(|| message.content().to_owned());
    reprompt.messages.iter().filter_map(tool).collect()
}
