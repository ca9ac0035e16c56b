//! What happens to a conversation changes nothing the engine decides.

use std::sync::Arc;

use forge_core::{
    Budgets, Compaction, CompactionStrategy, ContextBudgetExceeded, ContextManager, ContextWarning, Estimate,
    EstimateSource, Fitted, GuardrailSet, Guardrails, HintMode, InterruptKind, Message, Prerequisite, Replayed,
    SlidingWindow, TieredCompact, Workflow,
};
use proptest::prelude::*;

use crate::support::{Run, builder, parse_move};

fn workflow() -> Arc<Workflow> {
    let generous = Budgets {
        format_retries: 20,
        tool_errors: 20,
        premature_attempts: 20,
        prerequisite_violations: 20,
        repetitions: 20,
        failures_per_tool: 20,
        iterations: 100,
    };
    let built = builder()
        .required_steps(["list", "read", "count"])
        .prerequisite("edit", Prerequisite::same_argument("read", "file"))
        .prerequisite("count", Prerequisite::success_of("read"))
        .budgets(generous)
        .build();
    Arc::new(built.unwrap())
}

const MOVES: [&str; 14] = [
    "text",
    "empty",
    "think",
    "list",
    "read(a)",
    "read(b)=ok:another",
    "edit(a)",
    "edit(b)=fail",
    "count=none",
    "report",
    "list+read(a)+edit(a)",
    "!frob",
    "!malformed",
    "!invalid",
];

/// Runs the moves. Between them, every phase of the strategy is applied to the conversation.
fn run(moves: &[&str], compactor: Option<&Arc<dyn CompactionStrategy>>) -> (Run, Vec<String>) {
    let mut run = Run::new(workflow());
    run.messages = vec![Message::system("You look into files."), Message::input("Look.")];
    let mut verdicts = Vec::new();
    for text in moves {
        if run.ended {
            break;
        }
        if let Some(strategy) = compactor {
            let mut context = ContextManager::shared(ContextManager::UNBOUNDED, Arc::clone(strategy)).unwrap();
            let summary = run.guardrails.summary().unwrap();
            context.compact_fully(&mut run.messages, summary.as_deref()).unwrap();
        }
        let step = run.step(&parse_move(text));
        verdicts.push(format!("{:?} {:?}", step.verdict, step.next));
    }
    (run, verdicts)
}

fn strategies() -> [Arc<dyn CompactionStrategy>; 2] {
    [Arc::new(TieredCompact::default()), Arc::new(SlidingWindow::default())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn compaction_changes_no_verdict(moves in prop::collection::vec(prop::sample::select(&MOVES[..]), 0..24)) {
        let (plain, verdicts) = run(&moves, None);
        for strategy in strategies() {
            let (compacted, others) = run(&moves, Some(&strategy));
            prop_assert_eq!(&others, &verdicts);
            prop_assert_eq!(compacted.guardrails.state(), plain.guardrails.state());
        }
    }

    /// The tiers keep each call and what became of it, so that a driver which keeps nothing but the conversation knows as
    /// much of steps and prerequisites as before.
    #[test]
    fn the_tiers_keep_what_replay_needs(moves in prop::collection::vec(prop::sample::select(&MOVES[..]), 0..24)) {
        let (plain, _) = run(&moves, None);
        let (compacted, _) = run(&moves, Some(&strategies()[0]));
        let replayed = |messages: &[Message]| Guardrails::replay(workflow(), Replayed::from_messages(messages));
        let (before, after) = (replayed(&plain.messages), replayed(&compacted.messages));
        prop_assert_eq!(after.state().tracker(), before.state().tracker());
        prop_assert_eq!(after.account().failures, before.account().failures);
    }
}

fn fitted(compacted: bool, warned: bool) -> Fitted {
    let compaction =
        Compaction { phase: 1, tokens_before: 90, tokens_after: 50, messages_before: 9, messages_after: 7 };
    Fitted {
        estimate: Estimate { tokens: 50, source: EstimateSource::Length },
        compactions: compacted.then_some(compaction).into_iter().collect(),
        warning: warned.then_some(ContextWarning { threshold: 0.4, tokens: 50, budget: 100 }),
    }
}

#[test]
fn a_note_is_given_where_it_is_needed_and_wanted() {
    let progress = Some("[Next, call one of: list, read.]");
    let warning = Some("[50 % of the context is used");
    let cases = [
        (HintMode::WhenNeeded, GuardrailSet::REFORGED, fitted(false, false), None),
        (HintMode::WhenNeeded, GuardrailSet::REFORGED, fitted(true, false), progress),
        (HintMode::Never, GuardrailSet::REFORGED, fitted(true, false), None),
        (HintMode::Always, GuardrailSet::REFORGED, fitted(true, false), None),
        (HintMode::Never, GuardrailSet::REFORGED, fitted(true, true), warning),
        (HintMode::WhenNeeded, GuardrailSet::BARE, fitted(true, true), None),
    ];
    for (hints, set, fitted, expected) in cases {
        let workflow = builder().required_steps(["list", "read"]).hints(hints).guardrails(set).build().unwrap();
        let note = Guardrails::new(Arc::new(workflow)).context_note(&fitted).unwrap();
        match (&note, expected) {
            (None, None) => {}
            (Some(note), Some(beginning)) => assert!(note.starts_with(beginning), "{note}"),
            (note, expected) => panic!("{note:?}, expected {expected:?} with {hints:?} {fitted:?}"),
        }
    }
}

#[test]
fn a_summary_says_what_is_done() {
    let (run, _) = run(&["list", "read(a)"], None);
    let summary = run.guardrails.summary().unwrap().unwrap();
    assert_eq!(summary, "[Earlier results were shortened or dropped to save space. Done until then: list, read.]");
}

#[test]
fn a_context_that_is_exceeded_ends_the_turn_with_the_account() {
    let (mut run, _) = run(&["list"], None);
    let exceeded = ContextBudgetExceeded { budget: 100, estimate: 250 };
    let interrupt = run.guardrails.exceed_context(exceeded);
    assert_eq!(interrupt.kind, InterruptKind::ContextBudgetExceeded { exceeded });
    assert_eq!(interrupt.account.completed_steps, ["list"]);
    assert!(interrupt.to_string().contains("needs about 250 tokens"), "{interrupt}");
    assert!(run.guardrails.state().has_ended());
    let written = serde_json::to_string(&interrupt).unwrap();
    assert_eq!(serde_json::from_str::<forge_core::Interrupt>(&written).unwrap(), interrupt);
}
