//! The conversation is kept within the window, by a backend that answers by script.

use std::num::NonZeroU64;
use std::sync::Arc;

use forge_backend::{BackendError, ContextBudget, ModelEvent};
use forge_core::{
    Budgets, Compactor, ContextBudgetExceeded, GuardrailSet, HintMode, InterruptKind, Message, SlidingWindow, Usage,
    UserOrigin,
};
use forge_runner::{
    BoundWorkflow, ContextOptions, RunEvent, RunOutcome, RunReport, Runner, RunnerOptions, Seed, Tools,
};
use tokio_util::sync::CancellationToken;

use crate::scripted::{Scripted, Step, call};
use crate::{answering, assert_paired, bind, builder};

const LONG: &str = "The boat came in at dawn, with nets full of herring, and the gulls behind it. ";

/// A workflow whose tool `look` says so much.
fn workflow(set: GuardrailSet, result: &'static str) -> BoundWorkflow {
    let tools = Tools::new().with("look", answering(result)).with("report", answering("reported"));
    bind(builder().guardrails(set).budgets(Budgets { iterations: 40, ..Budgets::default() }), tools)
}

fn long_result() -> &'static str {
    LONG.repeat(12).leak()
}

/// Looks so often, each time at another place, and reports. The server counts a token for every three bytes it was sent.
fn looks(count: usize) -> Vec<Step> {
    let look = |index: usize| call("look", &format!(r#"{{"at": "place {index}"}}"#));
    (0..count).map(look).chain([call("report", "{}")]).collect()
}

fn tokens(budget: u64) -> ContextBudget {
    ContextBudget::Tokens(NonZeroU64::new(budget).unwrap())
}

/// A run with everything that was asked and told.
struct Told {
    report: RunReport,
    events: Vec<RunEvent>,
    prompts: Vec<Vec<Message>>,
}

async fn run(workflow: &BoundWorkflow, backend: Scripted, context: ContextOptions) -> Told {
    let backend = Arc::new(backend);
    let options = RunnerOptions { context, ..RunnerOptions::default() };
    let mut events = Vec::new();
    let mut observer = |event: &RunEvent| events.push(event.clone());
    let runner = Runner::new(Arc::clone(&backend) as Arc<_>, options);
    let report = runner.run(workflow, Seed::input("watch"), &mut observer, CancellationToken::new()).await;
    let prompts: Vec<Vec<Message>> = backend.requests().iter().map(|request| request.messages.to_vec()).collect();
    prompts.iter().for_each(|prompt| assert_paired(prompt));
    assert_paired(&report.messages);
    Told { report, events, prompts }
}

fn bytes(prompt: &[Message]) -> usize {
    prompt.iter().map(|message| message.content().len()).sum()
}

fn compactions(told: &Told) -> usize {
    told.events.iter().filter(|event| matches!(event, RunEvent::Compacted { .. })).count()
}

#[tokio::test]
async fn a_long_run_stays_within_its_budget() {
    let workflow = workflow(GuardrailSet::REFORGED, long_result());
    let context = ContextOptions::new(tokens(2000), Compactor::default());
    let told = run(&workflow, Scripted::new(looks(20)), context).await;
    assert!(matches!(told.report.outcome, RunOutcome::Done { .. }), "{:?}", told.report.outcome);
    assert!(compactions(&told) > 0, "20 results of 900 bytes don't fit 2000 tokens");
    assert!(told.prompts.iter().all(|prompt| bytes(prompt) < 6000), "a token has three bytes");
    let last = told.prompts.last().unwrap();
    assert_eq!(last[..2], [Message::system("You watch the sea."), Message::input("watch")]);
    let summary = "[Earlier results were shortened or dropped to save space. Done until then: look.]";
    assert_eq!(last[2], Message::User { content: summary.to_owned(), origin: UserOrigin::Summary });
    // Two iterations are whole; the hint behind the last is not kept.
    let whole =
        |message: &&Message| matches!(message, Message::Tool { content, .. } if content.starts_with(long_result()));
    assert!(last.iter().filter(whole).count() >= 2);
}

#[tokio::test]
async fn a_hint_follows_a_compaction_and_is_not_kept() {
    let workflow = workflow(GuardrailSet::REFORGED, long_result());
    let context = ContextOptions::new(tokens(2000), Compactor::default());
    let told = run(&workflow, Scripted::new(looks(8)), context).await;
    let hint = "[Done: look. Next, call report.]";
    let after = |events: &[RunEvent]| {
        let [RunEvent::Compacted { .. }, RunEvent::Generating { note, .. }] = events else { return None };
        Some(note.clone())
    };
    let notes: Vec<_> = told.events.windows(2).filter_map(after).collect();
    assert!(!notes.is_empty() && notes.iter().all(|note| note.as_deref() == Some(hint)), "{notes:?}");
    assert!(told.prompts.iter().any(|prompt| prompt.last().unwrap().content().ends_with(hint)));
    assert!(!told.report.messages.iter().any(|message| message.content().contains(hint)));
}

#[tokio::test]
async fn the_window_of_the_server_is_the_budget() {
    let workflow = workflow(GuardrailSet::REFORGED, long_result());
    let told = run(&workflow, Scripted::new(looks(8)).with_window(2000), ContextOptions::default()).await;
    let RunEvent::Started { context_budget, .. } = &told.events[0] else { panic!("{:?}", told.events[0]) };
    assert_eq!(*context_budget, Some(2000));
    assert!(compactions(&told) > 0);
}

#[tokio::test]
async fn what_does_not_fit_is_an_interrupt_before_the_backend_is_called() {
    let workflow = workflow(GuardrailSet::REFORGED, LONG.repeat(100).leak());
    let context = ContextOptions::new(tokens(2000), Compactor::default());
    let told = run(&workflow, Scripted::new(looks(8)), context).await;
    let RunOutcome::Interrupted { interrupt } = &told.report.outcome else { panic!("{:?}", told.report.outcome) };
    let InterruptKind::ContextBudgetExceeded { exceeded: ContextBudgetExceeded { budget, estimate } } = interrupt.kind
    else {
        panic!("{interrupt:?}")
    };
    assert!(budget == 2000 && estimate > 2000, "{interrupt}");
    assert_eq!(interrupt.account.completed_steps, ["look"]);
    assert_eq!(told.prompts.len(), 1, "the second prompt would not fit");
}

#[tokio::test]
async fn without_compaction_the_conversation_is_sent_as_it_is() {
    for (set, strategy) in [
        (GuardrailSet::preset("no_compact").unwrap(), Compactor::default()),
        (GuardrailSet::BARE, Compactor::SlidingWindow(SlidingWindow::default())),
    ] {
        let workflow = workflow(set, long_result());
        let told = run(&workflow, Scripted::new(looks(8)), ContextOptions::new(tokens(500), strategy)).await;
        assert!(matches!(told.report.outcome, RunOutcome::Done { .. }), "{:?}", told.report.outcome);
        assert_eq!(compactions(&told), 0);
        assert!(bytes(told.prompts.last().unwrap()) > 7000);
    }
}

#[tokio::test]
async fn a_strategy_of_none_ends_the_run_at_the_budget() {
    let workflow = workflow(GuardrailSet::REFORGED, long_result());
    let told = run(&workflow, Scripted::new(looks(8)), ContextOptions::new(tokens(1000), Compactor::None)).await;
    let RunOutcome::Interrupted { interrupt } = &told.report.outcome else { panic!("{:?}", told.report.outcome) };
    assert!(matches!(interrupt.kind, InterruptKind::ContextBudgetExceeded { .. }), "{interrupt}");
    assert_eq!(compactions(&told), 0);
}

#[tokio::test]
async fn the_count_of_the_server_goes_before_the_length() {
    // Each prompt is said to be far longer than it looks.
    let counted = looks(8).into_iter().map(|step| match step {
        Step::Answer(mut events) => {
            let usage = Usage { prompt_tokens: Some(1600), ..Usage::default() };
            events.insert(0, ModelEvent::Usage(usage));
            Step::Answer(events)
        }
        other => other,
    });
    let workflow = workflow(GuardrailSet::REFORGED, long_result());
    let context = ContextOptions::new(tokens(2000), Compactor::default());
    let told = run(&workflow, Scripted::new(counted.collect::<Vec<_>>()), context).await;
    let first = told.events.iter().position(|event| matches!(event, RunEvent::Compacted { .. }));
    let generations = told.events.iter().take(first.unwrap_or(usize::MAX));
    let generations = generations.filter(|event| matches!(event, RunEvent::Generated { .. })).count();
    assert_eq!(generations, 3, "the first iteration that is old is there before the fourth: {first:?}");
}

#[tokio::test]
async fn a_warning_is_told_once_and_not_kept() {
    let workflow = workflow(GuardrailSet::REFORGED, "a ship");
    let context = ContextOptions::new(tokens(700), Compactor::default()).warn_at([0.3]).unwrap();
    let told = run(&workflow, Scripted::new(looks(10)), context).await;
    let warnings = told.events.iter().filter(|event| matches!(event, RunEvent::ContextWarning { .. })).count();
    assert_eq!((warnings, compactions(&told)), (1, 0), "{:?}", told.report.outcome);
    let is_told = |prompt: &&Vec<Message>| prompt.iter().any(|message| message.content().contains("% of the context"));
    assert_eq!(told.prompts.iter().filter(is_told).count(), 1);
}

#[tokio::test]
async fn a_prompt_that_the_server_refuses_as_too_long_is_compacted_and_sent_again() {
    let overflow =
        BackendError::ContextOverflow { prompt_tokens: Some(2400), window: Some(2048), message: "too long".to_owned() };
    let mut steps = looks(6);
    steps.insert(5, Step::Refuse(overflow));
    let workflow = workflow(GuardrailSet::REFORGED, long_result());
    let told = run(&workflow, Scripted::new(steps), ContextOptions::default()).await;
    assert!(matches!(told.report.outcome, RunOutcome::Done { .. }), "{:?}", told.report.outcome);
    assert!(bytes(&told.prompts[6]) < bytes(&told.prompts[5]) / 2, "the same prompt, compacted");
}

#[tokio::test]
async fn a_refusal_that_no_compaction_answers_is_told() {
    let overflow =
        || BackendError::ContextOverflow { prompt_tokens: None, window: None, message: "too long".to_owned() };
    let workflow = workflow(GuardrailSet::REFORGED, "a ship");
    let told = run(&workflow, Scripted::new([Step::Refuse(overflow())]), ContextOptions::default()).await;
    let RunOutcome::BackendFailed { message } = &told.report.outcome else { panic!("{:?}", told.report.outcome) };
    assert!(message.contains("too long"), "{message}");
}

#[tokio::test]
async fn the_answer_gets_the_room_that_the_window_leaves() {
    let counted = |prompt: u64| {
        let Step::Answer(mut events) = call("look", r#"{"at": "x"}"#) else { panic!() };
        events.insert(0, ModelEvent::Usage(Usage { prompt_tokens: Some(prompt), ..Usage::default() }));
        Step::Answer(events)
    };
    let backend = Arc::new(Scripted::new([counted(500), call("report", "{}")]).with_window(1000));
    let runner = Runner::new(Arc::clone(&backend) as Arc<_>, RunnerOptions::default());
    let workflow = workflow(GuardrailSet { nudges: false, ..GuardrailSet::REFORGED }, "a ship");
    runner.run(&workflow, Seed::input("watch"), &mut forge_runner::Silent, CancellationToken::new()).await;
    let limits: Vec<u32> = backend.requests().iter().map(|request| request.max_tokens).collect();
    assert_eq!(limits[0], 1024, "nothing was counted yet");
    assert!((400..500).contains(&limits[1]), "{limits:?}");
}

#[tokio::test]
async fn no_hint_is_given_where_none_is_wanted() {
    let tools = Tools::new().with("look", answering(long_result())).with("report", answering("reported"));
    let workflow = bind(builder().hints(HintMode::Never), tools);
    let context = ContextOptions::new(tokens(2000), Compactor::default());
    let told = run(&workflow, Scripted::new(looks(8)), context).await;
    assert!(compactions(&told) > 0);
    assert!(told.events.iter().all(|event| !matches!(event, RunEvent::Generating { note: Some(_), .. })));
}
