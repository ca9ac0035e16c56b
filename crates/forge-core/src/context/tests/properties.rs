//! What every strategy has to hold, over random conversations.

use proptest::prelude::*;

use super::super::strategy::old_messages;
use super::*;

/// One step of a conversation: what the model did, and how long the texts are.
#[derive(Clone, Debug)]
enum Step {
    Input(usize),
    Refused(usize),
    Answered(usize),
    Calls(Vec<(ResultKind, usize)>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        Just(ResultKind::Success),
        Just(ResultKind::Failure),
        Just(ResultKind::NoData),
        Just(ResultKind::TimedOut),
        Just(ResultKind::Cancelled),
        Just(ResultKind::Blocked),
    ];
    let step = prop_oneof![
        1 => (0..400_usize).prop_map(Step::Input),
        2 => (0..400_usize).prop_map(Step::Refused),
        1 => (0..400_usize).prop_map(Step::Answered),
        6 => prop::collection::vec((kind, 0..600_usize), 1..4).prop_map(Step::Calls),
    ];
    prop::collection::vec(step, 0..14)
}

fn build(steps: &[Step]) -> Vec<Message> {
    let mut messages = vec![Message::system("rules"), Message::input("go")];
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Input(length) => messages.push(Message::input("ä".repeat(*length))),
            Step::Refused(length) => messages.extend([turn(&"r".repeat(*length), &[]), Message::nudge("no")]),
            Step::Answered(length) => messages.push(turn(&"ö".repeat(*length), &[])),
            Step::Calls(results) => {
                let ids: Vec<String> = (0..results.len()).map(|index| format!("{number}-{index}")).collect();
                let arguments: Vec<String> =
                    results.iter().map(|(_, length)| format!(r#"{{"text": "{}"}}"#, "a".repeat(*length))).collect();
                let calls: Vec<_> = ids.iter().zip(&arguments).map(|(id, text)| (id.as_str(), text.as_str())).collect();
                messages.push(turn("text", &calls));
                let answer =
                    |(id, (kind, length)): (&String, &(ResultKind, usize))| result(id, &"ß".repeat(*length), *kind);
                messages.extend(ids.iter().zip(results).map(answer));
            }
        }
    }
    messages
}

/// Each call has its result right behind its turn, in order, and there is no other result.
fn assert_paired(messages: &[Message]) {
    let mut open: Vec<CallId> = Vec::new();
    for message in messages {
        match message {
            Message::Tool { call_id, .. } => {
                assert!(!open.is_empty(), "{call_id} has no call");
                assert_eq!(open.remove(0), *call_id);
            }
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty(), "no result for {open:?}");
                open = calls.iter().map(|call| call.id.clone()).collect();
            }
            Message::System { .. } | Message::User { .. } => assert!(open.is_empty(), "no result for {open:?}"),
        }
    }
    assert!(open.is_empty(), "no result for {open:?}");
}

fn said(messages: &[Message]) -> Vec<&Message> {
    let is_said = |message: &&Message| {
        matches!(message, Message::System { .. } | Message::User { origin: UserOrigin::Input, .. })
    };
    messages.iter().filter(is_said).collect()
}

/// The ids of the calls, in order.
fn calls(messages: &[Message]) -> Vec<&CallId> {
    fn of_turn(message: &Message) -> &[ToolCall] {
        match message {
            Message::Assistant { calls, .. } => calls,
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
        }
    }
    messages.iter().flat_map(of_turn).map(|call| &call.id).collect()
}

fn assert_holds(
    strategy: &dyn CompactionStrategy,
    phase: usize,
    keep_recent: usize,
    before: &[Message],
) -> Vec<Message> {
    let mut after = before.to_vec();
    strategy.compact(phase, &mut after);
    assert_paired(&after);
    assert_eq!(said(&after), said(before), "what was said stays");
    let recent = &before[old_messages(before, keep_recent)..];
    assert!(after.ends_with(recent), "the last iterations stay");
    let whole = |messages: &[Message]| messages.iter().map(weight).sum::<u64>();
    assert!(whole(&after) <= whole(before) && after.len() <= before.len(), "it never grows");
    let mut remaining = calls(before).into_iter();
    assert!(calls(&after).into_iter().all(|id| remaining.any(|other| other == id)), "the order stays");
    let mut again = after.clone();
    strategy.compact(phase, &mut again);
    assert_eq!(again, after, "a second time changes nothing");
    after
}

proptest! {
    #[test]
    fn each_phase_of_the_tiers_holds(steps in steps(), keep_recent in 1..4_usize) {
        let strategy = TieredCompact::new(keep_recent, 0.5).unwrap();
        let original = build(&steps);
        let mut messages = original.clone();
        for phase in 1..=3 {
            // Each phase alone, and after those before it.
            assert_holds(&strategy, phase, keep_recent, &original);
            messages = assert_holds(&strategy, phase, keep_recent, &messages);
            prop_assert_eq!(calls(&messages), calls(&original), "no call goes");
        }
    }

    #[test]
    fn the_window_holds(steps in steps(), keep_recent in 1..4_usize) {
        assert_holds(&SlidingWindow::new(keep_recent, 0.5).unwrap(), 1, keep_recent, &build(&steps));
    }

    #[test]
    fn fitted_is_within_the_budget_or_refused_with_numbers(
        steps in steps(),
        budget in 1..3000_u64,
        tiered in any::<bool>(),
        counted in prop::option::of(1..3000_u64),
    ) {
        let mut messages = build(&steps);
        let original = messages.clone();
        let mut context = match tiered {
            true => ContextManager::new(budget, TieredCompact::with_thresholds(2, [0.5, 0.7, 0.9]).unwrap()),
            false => ContextManager::new(budget, SlidingWindow::default()),
        }.unwrap();
        context.recount(&messages);
        context.counted(counted);
        let first = context.fit(&mut messages, Some("so far"));
        match &first {
            Ok(fitted) => prop_assert!(fitted.estimate.tokens <= budget),
            Err(exceeded) => prop_assert!(exceeded.budget == budget && exceeded.estimate > budget),
        }
        assert_paired(&messages);
        prop_assert_eq!(said(&messages), said(&original));
        prop_assert!(messages.ends_with(&original[old_messages(&original, 2)..]));
        let after = messages.clone();
        let second = context.fit(&mut messages, Some("so far"));
        prop_assert_eq!(&messages, &after, "a second time changes nothing");
        prop_assert!(second.as_ref().map_or(true, |fitted| fitted.compactions.is_empty()));
        prop_assert_eq!(second.map(|fitted| fitted.estimate), first.map(|fitted| fitted.estimate));
    }

    #[test]
    fn weighing_what_was_appended_is_weighing_all(steps in steps(), more in steps()) {
        let mut messages = build(&steps);
        let mut context = ContextManager::new(ContextManager::UNBOUNDED, NoCompact).unwrap();
        context.fit(&mut messages, None).unwrap();
        messages.extend(build(&more));
        let appended = context.fit(&mut messages, None).unwrap().estimate;
        context.recount(&messages);
        prop_assert_eq!(appended, context.estimate());
    }
}
