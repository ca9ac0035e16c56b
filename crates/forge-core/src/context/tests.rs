use super::*;
use crate::{Arguments, CallId, Message, ResultKind, ToolCall, UserOrigin};

mod properties;

fn weight(message: &Message) -> u64 {
    estimate::weight(message, Thinking::Dropped)
}

fn turn(content: &str, calls: &[(&str, &str)]) -> Message {
    let call = |(id, arguments): &(&str, &str)| ToolCall {
        id: CallId::new(*id),
        name: "read".into(),
        arguments: Arguments::from_json(arguments).unwrap(),
    };
    Message::Assistant {
        content: content.to_owned(),
        reasoning: "hm".to_owned(),
        calls: calls.iter().map(call).collect(),
    }
}

fn result(id: &str, content: &str, kind: ResultKind) -> Message {
    Message::Tool { call_id: CallId::new(id), name: "read".into(), content: content.to_owned(), kind }
}

/// Everything that old messages can be, then two recent iterations.
fn conversation() -> Vec<Message> {
    vec![
        Message::system("rules"),
        Message::input("go"),
        turn("Let me think.", &[]),
        Message::nudge("Call a tool."),
        turn("I read.", &[("a", "{}"), ("b", "{}")]),
        result("a", &"x".repeat(300), ResultKind::Success),
        result("b", "There is no tool of this name.", ResultKind::Blocked),
        turn("An answer of some length.", &[]),
        Message::input("and now?"),
        turn("", &[("c", "{}")]),
        result("c", &"y".repeat(300), ResultKind::Success),
        turn("Hm.", &[]),
        Message::nudge("Call a tool!"),
    ]
}

/// The messages as role and text.
fn shown(messages: &[Message]) -> Vec<String> {
    let show = |message: &Message| match message {
        Message::System { content } => format!("system {content}"),
        Message::User { content, .. } => format!("user {content}"),
        Message::Assistant { content, reasoning, calls } => {
            let calls: String = calls.iter().map(|call| format!(" {}{}", call.id, call.arguments)).collect();
            format!("model ({reasoning}) {content}{calls}")
        }
        Message::Tool { call_id, content, .. } => format!("{call_id}: {content}"),
    };
    messages.iter().map(show).collect()
}

fn after(phases: usize) -> Vec<String> {
    let mut messages = conversation();
    for phase in 1..=phases {
        TieredCompact::default().compact(phase, &mut messages);
    }
    shown(&messages)
}

/// What the recent messages look like, whatever the phase.
fn recent() -> [String; 4] {
    [
        "model (hm)  c{}".to_owned(),
        format!("c: {}", "y".repeat(300)),
        "model (hm) Hm.".to_owned(),
        "user Call a tool!".to_owned(),
    ]
}

#[test]
fn the_first_phase_drops_nudges_and_cuts_results() {
    let mut expected = vec![
        "system rules".to_owned(),
        "user go".to_owned(),
        "model (hm) I read. a{} b{}".to_owned(),
        format!("a: {}… [100 characters cut]", "x".repeat(200)),
        "b: [not run]".to_owned(),
        "model (hm) An answer of some length.".to_owned(),
        "user and now?".to_owned(),
    ];
    expected.extend(recent());
    assert_eq!(after(1), expected);
}

#[test]
fn the_second_phase_leaves_a_stub_of_each_result() {
    let mut expected = vec![
        "system rules".to_owned(),
        "user go".to_owned(),
        "model (hm) I read. a{} b{}".to_owned(),
        "a: [succeeded; result dropped]".to_owned(),
        "b: [not run]".to_owned(),
        "model (hm) An answer of some length.".to_owned(),
        "user and now?".to_owned(),
    ];
    expected.extend(recent());
    assert_eq!(after(2), expected);
}

#[test]
fn the_third_phase_leaves_the_calls() {
    let mut expected = vec![
        "system rules".to_owned(),
        "user go".to_owned(),
        "model ()  a{} b{}".to_owned(),
        "a: [succeeded; result dropped]".to_owned(),
        "b: [not run]".to_owned(),
        "model () [answer dropped]".to_owned(),
        "user and now?".to_owned(),
    ];
    expected.extend(recent());
    assert_eq!(after(3), expected);
}

#[test]
fn the_third_phase_cuts_long_strings_in_arguments() {
    let arguments = format!(r#"{{"path": "a", "lines": ["{}"]}}"#, "z".repeat(300));
    let mut messages = vec![turn("", &[("a", &arguments)]), result("a", "ok", ResultKind::Success)];
    messages.extend(conversation());
    TieredCompact::default().compact(3, &mut messages);
    let shortened = format!(r#"model ()  a{{"path":"a","lines":["{}… [220 characters cut]"]}}"#, "z".repeat(80));
    assert_eq!(shown(&messages)[0], shortened);
}

#[test]
fn a_window_keeps_what_was_said_and_the_last_iterations() {
    let mut messages = conversation();
    SlidingWindow::default().compact(1, &mut messages);
    let mut expected = vec!["system rules".to_owned(), "user go".to_owned(), "user and now?".to_owned()];
    expected.extend(recent());
    assert_eq!(shown(&messages), expected);
}

#[test]
fn a_cut_counts_characters_and_leaves_what_is_hardly_longer() {
    let cases = [("ä", 210, "ä".repeat(210)), ("ä", 300, format!("{}… [100 characters cut]", "ä".repeat(200)))];
    for (unit, count, expected) in cases {
        let mut text = unit.repeat(count);
        cut::cut(&mut text, 200);
        assert_eq!(text, expected);
    }
}

#[test]
fn an_invalid_configuration_is_refused_with_its_field() {
    let cases = [
        (ContextManager::new(0, NoCompact).unwrap_err(), "`budget` is 0"),
        (TieredCompact::new(0, 0.5).unwrap_err(), "`keep_recent` is 0"),
        (SlidingWindow::new(0, 0.5).unwrap_err(), "`keep_recent` is 0"),
        (TieredCompact::new(1, 0.0).unwrap_err(), "`thresholds` is 0"),
        (SlidingWindow::new(1, f64::NAN).unwrap_err(), "`thresholds` is NaN"),
        (TieredCompact::with_thresholds(1, [0.5, 1.5, 1.6]).unwrap_err(), "`thresholds[1]` is 1.5"),
        (
            TieredCompact::with_thresholds(1, [0.5, 0.8, 0.7]).unwrap_err(),
            "`thresholds[2]` is 0.7, below the 0.8 before it",
        ),
        (ContextManager::new(9, NoCompact).unwrap().warn_at([0.9, 0.5]).unwrap_err(), "`warn_at[1]` is 0.5"),
    ];
    for (error, beginning) in cases {
        assert!(error.to_string().starts_with(beginning), "{error}");
    }
}

#[test]
fn phases_follow_each_other_only_as_far_as_needed() {
    let needed_after = |phases: usize| {
        let mut messages = conversation();
        (1..=phases).for_each(|phase| TieredCompact::default().compact(phase, &mut messages));
        messages.iter().map(weight).sum::<u64>().div_ceil(BYTES_PER_TOKEN)
    };
    for phases in 0..=3 {
        // Three quarters of it are just enough for what these phases leave.
        let budget = (needed_after(phases) * 4).div_ceil(3);
        let mut context = ContextManager::new(budget, TieredCompact::default()).unwrap();
        let fitted = context.fit(&mut conversation(), None).unwrap();
        let applied: Vec<usize> = fitted.compactions.iter().map(|compaction| compaction.phase).collect();
        assert_eq!(applied, (1..=phases).collect::<Vec<_>>(), "{budget}");
    }
}

#[test]
fn each_phase_waits_for_its_own_threshold() {
    let strategy = TieredCompact::with_thresholds(2, [0.5, 0.99, 1.0]).unwrap();
    let needed =
        ContextManager::new(10_000, NoCompact).unwrap().fit(&mut conversation(), None).unwrap().estimate.tokens;
    let fitted = ContextManager::new(needed, strategy).unwrap().fit(&mut conversation(), None).unwrap();
    let [compaction] = fitted.compactions[..] else { panic!("{fitted:?}") };
    assert_eq!((compaction.phase, compaction.messages_before, compaction.messages_after), (1, 13, 11));
    assert_eq!((compaction.tokens_before, compaction.tokens_after), (needed, fitted.estimate.tokens));
}

#[test]
fn what_does_not_fit_after_all_phases_is_told_with_its_numbers() {
    let mut context = ContextManager::new(20, TieredCompact::default()).unwrap();
    let exceeded = context.fit(&mut conversation(), None).unwrap_err();
    assert_eq!(exceeded, ContextBudgetExceeded { budget: 20, estimate: context.estimate().tokens });
    assert!(exceeded.to_string().contains("the context budget is 20"), "{exceeded}");
}

#[test]
fn the_count_of_the_server_goes_before_lengths() {
    let mut context = ContextManager::new(10_000, NoCompact).unwrap();
    let mut messages = vec![Message::input("go")];
    let first = context.fit(&mut messages, None).unwrap().estimate;
    assert_eq!(first, Estimate { tokens: 5, source: EstimateSource::Length });
    context.counted(None);
    context.counted(Some(100));
    messages.push(Message::input("on"));
    let second = context.fit(&mut messages, None).unwrap().estimate;
    assert_eq!(second, Estimate { tokens: 105, source: EstimateSource::Usage });
}

#[test]
fn after_a_compaction_the_count_shrinks_with_the_text() {
    let mut context = ContextManager::new(10_000, TieredCompact::default()).unwrap();
    let mut messages = conversation();
    let by_length = context.fit(&mut messages, None).unwrap().estimate.tokens;
    context.counted(Some(by_length * 2));
    let after = context.compact_fully(&mut messages, None).unwrap().estimate;
    let by_length_after: u64 = messages.iter().map(weight).sum::<u64>().div_ceil(BYTES_PER_TOKEN);
    assert!(after.tokens.abs_diff(2 * by_length_after) <= 2, "{after:?} of twice {by_length_after}");
    messages.push(Message::input("on"));
    assert_eq!(context.fit(&mut messages, None).unwrap().estimate.tokens, after.tokens + 5);
}

#[test]
fn thinking_counts_where_it_is_sent() {
    let estimated = |thinking: Thinking| {
        let mut context = ContextManager::new(10_000, NoCompact).unwrap().with_thinking(thinking);
        context.fit(&mut vec![turn("", &[])], None).unwrap().estimate.tokens
    };
    assert_eq!(estimated(Thinking::Sent), estimated(Thinking::Dropped) + 1);
}

#[test]
fn tools_count() {
    let tool = crate::ToolSpec::new("look", "Looks.", crate::ToolSpec::no_parameters());
    let mut context = ContextManager::new(10_000, NoCompact).unwrap().with_tools(&[tool]);
    let mut messages = vec![Message::input("go")];
    assert!(context.fit(&mut messages, None).unwrap().estimate.tokens > 10);
}

#[test]
fn a_warning_is_given_once_and_again_after_a_compaction() {
    let strategy = TieredCompact::new(1, 0.9).unwrap();
    let mut context = ContextManager::new(400, strategy).unwrap().warn_at([0.25, 0.5]).unwrap();
    let mut messages = vec![Message::input("go")];
    let mut warned = Vec::new();
    for index in 0..8 {
        let id = index.to_string();
        messages.extend([turn("", &[(&id, "{}")]), result(&id, &"z".repeat(225), ResultKind::Success)]);
        let fitted = context.fit(&mut messages, None).unwrap();
        warned.push((fitted.warning.map(|warning| warning.threshold), fitted.compactions.len()));
    }
    let before: Vec<_> = warned.iter().take_while(|(_, compactions)| *compactions == 0).collect();
    assert_eq!(before, [&(None, 0), &(Some(0.25), 0), &(Some(0.5), 0)], "{warned:?}");
    let again = warned.iter().skip(before.len()).filter(|(warning, _)| warning.is_some()).count();
    assert!(again > 0, "{warned:?}");
}

#[test]
fn a_summary_stands_behind_the_first_input_and_takes_the_place_of_the_last() {
    let mut messages = conversation();
    place_summary(&mut messages, "one");
    place_summary(&mut messages, "two");
    assert_eq!(messages.len(), conversation().len() + 1);
    assert_eq!(messages[2], Message::User { content: "two".to_owned(), origin: UserOrigin::Summary });
    for phase in 1..=3 {
        TieredCompact::default().compact(phase, &mut messages);
    }
    assert_eq!(messages[2].content(), "two");
}

#[test]
fn a_summary_without_an_input_stands_behind_the_instructions() {
    let mut messages = vec![Message::system("rules"), turn("", &[])];
    place_summary(&mut messages, "one");
    assert_eq!(shown(&messages), ["system rules", "user one", "model (hm) "]);
}

#[test]
fn a_summary_is_placed_where_something_was_compacted_and_counts() {
    let mut messages = conversation();
    let mut context = ContextManager::new(10_000, TieredCompact::default()).unwrap();
    context.fit(&mut messages, Some("so far")).unwrap();
    assert_eq!(messages, conversation(), "nothing had to go");
    context.compact_fully(&mut messages, Some("so far")).unwrap();
    assert_eq!(messages[2].content(), "so far");
    let with_summary = context.estimate();
    context.recount(&messages);
    assert_eq!(context.estimate(), with_summary);
}

#[test]
fn what_is_recent_stays_also_where_the_model_has_said_little() {
    for strategy in [&TieredCompact::default() as &dyn CompactionStrategy, &SlidingWindow::default()] {
        for messages in [
            vec![Message::input("go"), Message::nudge("The answer was empty.")],
            vec![
                Message::input("go"),
                Message::nudge("empty"),
                turn("", &[("a", "{}")]),
                result("a", "", ResultKind::Blocked),
            ],
        ] {
            let mut compacted = messages.clone();
            (1..=3).for_each(|phase| strategy.compact(phase, &mut compacted));
            assert_eq!(compacted, messages);
        }
    }
}

#[test]
fn a_count_of_a_part_is_passed_over() {
    let mut context = ContextManager::new(10_000, NoCompact).unwrap();
    let mut messages = conversation();
    let by_length = context.fit(&mut messages, None).unwrap().estimate;
    context.counted(Some(10));
    assert_eq!(context.estimate(), by_length);
}

#[test]
fn a_state_survives_being_written_down() {
    let new = || ContextManager::new(200, TieredCompact::default()).unwrap().warn_at([0.2]).unwrap();
    let (mut context, mut messages) = (new(), conversation());
    let _first = context.fit(&mut messages, None);
    context.counted(Some(177));
    let state = serde_json::from_str(&serde_json::to_string(context.state()).unwrap()).unwrap();
    let mut restored = new().with_state(state);
    assert_eq!(restored.state(), context.state());
    messages.push(Message::input("on"));
    assert_eq!(restored.fit(&mut messages.clone(), None), context.fit(&mut messages, None));
}
