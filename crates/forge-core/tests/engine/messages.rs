//! What a response leaves in the conversation.

use std::sync::Arc;

use forge_core::{Guardrails, HintMode, Message, RawCall, Response, ResultKind, UserOrigin, Verdict, WorkflowBuilder};

use crate::support::{Run, builder, parse_move};

fn messages_after(workflow: WorkflowBuilder, response: &Response) -> Vec<Message> {
    let mut guardrails = Guardrails::new(Arc::new(workflow.build().unwrap()));
    match guardrails.check(response).unwrap() {
        Verdict::Reprompt(reprompt) => reprompt.messages,
        Verdict::Execute(batch) => [vec![batch.turn], batch.replies].concat(),
        other @ (Verdict::Accept { .. } | Verdict::Halt(_)) => panic!("{other:?}"),
    }
}

/// Roles, kinds of results and the calls of a turn.
fn shape(messages: &[Message]) -> Vec<String> {
    let shape = |message: &Message| match message {
        Message::System { .. } => "system".to_owned(),
        Message::User { origin, .. } => format!("user {origin:?}"),
        Message::Assistant { content, reasoning, calls } => {
            let calls: Vec<String> = calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
            format!("assistant {content:?} {reasoning:?} {calls:?}")
        }
        Message::Tool { call_id, name, kind, .. } => format!("tool {call_id} {name} {kind:?}"),
    };
    messages.iter().map(shape).collect()
}

#[track_caller]
fn assert_shape(response: &Response, expected: &[&str]) {
    assert_eq!(shape(&messages_after(builder(), response)), expected);
}

#[test]
fn text_is_answered_in_the_user_role() {
    assert_shape(&Response::text("Let me see."), &["assistant \"Let me see.\" \"\" []", "user Nudge"]);
}

#[test]
fn an_empty_answer_leaves_nothing_at_first() {
    assert_shape(&Response::default(), &[]);
}

#[test]
fn an_empty_answer_leaves_no_turn() {
    let mut run = Run::new(Arc::new(builder().build().unwrap()));
    run.step(&parse_move("empty"));
    run.step(&parse_move("empty"));
    assert_eq!(shape(&run.messages), ["user Nudge"]);
}

#[test]
fn thinking_stays_in_the_turn() {
    let response = Response { reasoning: "Hm.".to_owned(), ..Response::default() };
    assert_shape(&response, &["assistant \"\" \"Hm.\" []", "user Nudge"]);
}

#[test]
fn a_call_in_text_becomes_a_call_of_the_turn() {
    let text = "First <tool_call>{\"name\": \"list\", \"arguments\": {\"file\": \"a\"}}</tool_call>";
    let expected = ["assistant \"First\" \"\" [\"list {\\\"file\\\": \\\"a\\\"}\"]"];
    assert_shape(&Response::text(text), &expected);
}

#[test]
fn refused_calls_are_answered_on_the_tool_channel() {
    let response = parse_move("!nothing(a)+!malformed+list").response;
    assert_shape(
        &response,
        &[
            "assistant \"\" \"\" [\"nothing {\\\"file\\\":\\\"a\\\"}\", \"read {}\", \"list {}\"]",
            "tool call_1 nothing Blocked",
            "tool call_2 read Blocked",
        ],
    );
}

#[test]
fn invalid_arguments_stay_as_the_model_wrote_them() {
    let response = parse_move("!invalid").response;
    assert_shape(&response, &["assistant \"\" \"\" [\"read {\\\"path\\\": 1}\"]", "tool call_1 read Blocked"]);
}

#[test]
fn only_the_last_of_several_answers_says_what_comes_next() {
    let messages = messages_after(builder(), &parse_move("!nothing+!other").response);
    let says: Vec<bool> = messages.iter().map(|message| message.content().contains("Next, call")).collect();
    assert_eq!(says, [false, false, true]);
}

#[test]
fn unreadable_markup_beside_a_refused_call_is_answered_with_it() {
    let call = RawCall { id: None, name: "nothing".to_owned(), arguments: "{}".to_owned() };
    let response = Response { text: "<tool_call>{\"arg".to_owned(), calls: vec![call], ..Response::default() };
    let messages = messages_after(builder(), &response);
    assert!(matches!(messages.last(), Some(Message::Tool { kind: ResultKind::Blocked, .. })), "{messages:?}");
}

#[test]
fn a_hint_after_every_batch_is_part_of_the_last_result() {
    let workflow = builder().required_steps(["list", "count"]).hints(HintMode::Always);
    let mut run = Run::new(Arc::new(workflow.build().unwrap()));
    run.step(&parse_move("list"));
    assert_eq!(run.messages[1].content(), "fine\n\n[Done: list. Next, call count.]");
}

#[test]
fn a_result_that_was_the_same_before_says_so() {
    let workflow = builder().required_steps(["list", "count"]);
    let mut run = Run::new(Arc::new(workflow.build().unwrap()));
    run.step(&parse_move("list"));
    run.step(&parse_move("list"));
    assert_eq!(
        run.messages[3].content(),
        "fine\n\n[This is the same result as before; this call brings nothing new. Done: list. Next, call count.]"
    );
}

#[test]
fn a_step_without_data_is_not_what_comes_next_when_it_is_repeated() {
    let workflow = builder().required_steps(["list"]);
    let mut run = Run::new(Arc::new(workflow.build().unwrap()));
    for made in ["list=none", "list=none", "list"] {
        run.step(&parse_move(made));
    }
    let content = run.messages.last().unwrap().content();
    assert!(content.contains("Next, call one of: read, edit, count."), "{content}");
}

#[test]
fn nudges_and_hints_never_pass_for_the_persons_words() {
    let mut run = Run::new(Arc::new(builder().hints(HintMode::Always).build().unwrap()));
    for made in ["text", "list", "!nothing", "think", "list"] {
        run.step(&parse_move(made));
    }
    let input = |message: &Message| matches!(message, Message::User { origin: UserOrigin::Input, .. });
    assert!(!run.messages.iter().any(input));
}
