//! What a driver may do when, and what it is told when it does something else.

use std::sync::Arc;

use forge_core::{
    Answer, CallId, CheckError, Guardrails, Message, Outcome, Prerequisite, RawCall, RecordError, Replayed,
    ReplayedCall, Response, ResultKind, StepOrder, TextPolicy, ToolCall, Verdict,
};

use crate::support::{builder, parse_move};

fn guardrails() -> Guardrails {
    Guardrails::new(Arc::new(builder().build().unwrap()))
}

/// Guardrails with an open batch of two calls, `call_1` and `call_2`.
fn with_open_batch() -> Guardrails {
    let mut guardrails = guardrails();
    guardrails.check(&parse_move("list+count").response).unwrap();
    guardrails
}

fn fine(id: &str) -> (CallId, Outcome) {
    (CallId::new(id), Outcome::Success("fine".to_owned()))
}

#[track_caller]
fn assert_refused(outcomes: &[(CallId, Outcome)], error: RecordError) {
    let mut guardrails = with_open_batch();
    let before = guardrails.state().clone();
    assert_eq!(guardrails.record(outcomes).unwrap_err(), error);
    assert_eq!(guardrails.state(), &before);
}

#[test]
fn a_response_can_not_be_checked_while_a_batch_is_open() {
    let mut guardrails = with_open_batch();
    let error = guardrails.check(&Response::text("hello")).unwrap_err();
    assert_eq!(error, CheckError::BatchOpen { calls: vec![CallId::new("call_1"), CallId::new("call_2")] });
    assert_eq!(guardrails.state().iterations(), 1);
}

#[test]
fn nothing_can_be_checked_after_the_end() {
    let mut guardrails = guardrails();
    guardrails.check(&parse_move("report").response).unwrap();
    guardrails.record(&[fine("call_1")]).unwrap();
    assert_eq!(guardrails.check(&Response::text("hello")).unwrap_err(), CheckError::Ended);
}

#[test]
fn a_new_turn_keeps_the_steps_and_forgives_the_rest() {
    let workflow = builder().required_steps(["list"]).text(TextPolicy::Accept).build().unwrap();
    let mut guardrails = Guardrails::new(Arc::new(workflow));
    guardrails.check(&parse_move("list+count=fail").response).unwrap();
    guardrails.record(&[fine("call_1"), (CallId::new("call_2"), Outcome::Failure("no".to_owned()))]).unwrap();
    guardrails.check(&Response::text("done")).unwrap();
    guardrails.begin_turn().unwrap();
    assert_eq!(guardrails.pending_steps(), Vec::<forge_core::ToolName>::new());
    assert_eq!(guardrails.state().counts().failing_batches, 0);
    assert!(matches!(guardrails.check(&Response::text("again")).unwrap(), Verdict::Accept { .. }));
}

#[test]
fn no_turn_begins_while_a_batch_is_open() {
    assert!(matches!(with_open_batch().begin_turn(), Err(CheckError::BatchOpen { .. })));
}

#[test]
fn outcomes_without_a_batch_are_refused() {
    assert_eq!(guardrails().record(&[]).unwrap_err(), RecordError::NoBatch);
}

#[test]
fn outcomes_can_not_be_recorded_twice() {
    let mut guardrails = with_open_batch();
    guardrails.record(&[fine("call_1"), fine("call_2")]).unwrap();
    assert_eq!(guardrails.record(&[fine("call_1"), fine("call_2")]).unwrap_err(), RecordError::NoBatch);
}

#[test]
fn an_unknown_id_is_refused() {
    assert_refused(&[fine("call_1"), fine("call_7")], RecordError::UnknownCall { id: CallId::new("call_7") });
}

#[test]
fn a_second_outcome_is_refused() {
    let outcomes = [fine("call_1"), fine("call_2"), fine("call_1")];
    assert_refused(&outcomes, RecordError::DuplicateOutcome { id: CallId::new("call_1") });
}

#[test]
fn a_missing_outcome_is_refused() {
    assert_refused(&[fine("call_2")], RecordError::MissingOutcomes { calls: vec![CallId::new("call_1")] });
}

#[test]
fn results_are_in_the_order_of_the_batch() {
    let recorded = with_open_batch().record(&[fine("call_2"), fine("call_1")]).unwrap();
    let names: Vec<&str> = recorded
        .messages
        .iter()
        .map(|message| match message {
            Message::Tool { name, kind: ResultKind::Success, .. } => name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["list", "count"]);
}

#[test]
fn ids_of_an_earlier_conversation_are_not_given_again() {
    let earlier =
        ToolCall { id: CallId::new("call_1"), name: "list".into(), arguments: forge_core::Arguments::empty() };
    let mut guardrails = guardrails();
    guardrails.reserve_ids(&[Message::Assistant {
        content: String::new(),
        reasoning: String::new(),
        calls: vec![earlier],
    }]);
    let Verdict::Execute(batch) = guardrails.check(&parse_move("list").response).unwrap() else { panic!() };
    assert_eq!(batch.calls[0].call.id, CallId::new("call_2"));
}

#[test]
fn the_id_of_a_backend_stands() {
    let call = RawCall { id: Some(CallId::new("abc")), name: "list".to_owned(), arguments: "{}".to_owned() };
    let response = Response { calls: vec![call], ..Response::default() };
    let Verdict::Execute(batch) = guardrails().check(&response).unwrap() else { panic!() };
    assert_eq!(batch.calls[0].call.id, CallId::new("abc"));
}

/// A call of a conversation of which only calls and results are known.
fn happened(name: &str, arguments: &str, answer: Answer) -> Replayed {
    let arguments = forge_core::Arguments::from_json(arguments).unwrap();
    let call = ToolCall { id: CallId::new("x"), name: name.into(), arguments };
    Replayed::Calls { calls: vec![ReplayedCall { call, answer }], beside: Vec::new() }
}

#[test]
fn why_a_call_was_refused_follows_from_the_call() {
    let workflow = builder()
        .required_steps(["list", "count"])
        .step_order(StepOrder::Listed)
        .prerequisite("edit", Prerequisite::success_of("read"));
    let workflow = Arc::new(workflow.build().unwrap());
    let counts = |name: &str, arguments: &str| {
        let item = happened(name, arguments, Answer::Blocked(None));
        let counts = Guardrails::replay(Arc::clone(&workflow), [item]).state().counts();
        (counts.format_faults, counts.premature_attempts, counts.prerequisite_violations)
    };
    assert_eq!(counts("nothing", "{}"), (1, 0, 0), "an unknown tool");
    assert_eq!(counts("read", r#"{"path": 1}"#), (1, 0, 0), "invalid arguments");
    assert_eq!(counts("read", "{}"), (1, 0, 0), "arguments that could not be read");
    assert_eq!(counts("report", "{}"), (0, 1, 0), "a terminal tool too early");
    assert_eq!(counts("count", "{}"), (0, 0, 1), "a step out of order");
    assert_eq!(counts("edit", "{}"), (0, 0, 1), "a prerequisite that isn't met");
}

#[test]
fn a_client_that_knows_only_results_still_has_its_steps_enforced() {
    let workflow = Arc::new(builder().required_steps(["list"]).build().unwrap());
    let report = || parse_move("report").response;
    let with = |items: Vec<Replayed>| Guardrails::replay(Arc::clone(&workflow), items).check(&report()).unwrap();
    assert!(matches!(with(vec![Replayed::Input]), Verdict::Reprompt(_)));
    let listed = happened("list", "{}", Answer::Unknown("a.log".to_owned()));
    assert!(matches!(with(vec![Replayed::Input, listed.clone()]), Verdict::Execute(_)));
    assert!(matches!(with(vec![Replayed::Input, listed, Replayed::Input]), Verdict::Execute(_)), "steps stay done");
    assert!(matches!(with(vec![happened("list", "{}", Answer::Missing)]), Verdict::Reprompt(_)));
}
