//! The loop, driven by a backend that answers by script.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic, also outside its own function")]

mod context;
mod scripted;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use forge_backend::{BackendError, Capabilities, ModelEvent, ToolMode};
use forge_core::{
    Budgets, CallId, Constraint, FinishReason, GuardrailSet, InterruptKind, Message, Outcome, Respond, ResultKind,
    TextPolicy, ToolSpec, Usage, Workflow, WorkflowBuilder,
};
use forge_runner::{
    BindError, BoundWorkflow, Concurrency, FunctionTool, Observer, RunEvent, RunOutcome, RunReport, Runner,
    RunnerOptions, Seed, Silent, ToolError, Tools,
};
use scripted::{Scripted, Step, call, calls, text};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Look (a required step), then report (terminal).
fn builder() -> WorkflowBuilder {
    let spec = |name: &str| {
        let parameters = json!({"type": "object", "properties": {"at": {"type": "string"}}});
        ToolSpec::new(name, format!("Does {name}."), parameters)
    };
    Workflow::builder("watch")
        .system_prompt("You watch {{ place }}.")
        .tools([spec("look"), spec("report")])
        .required_steps(["look"])
        .terminal_tool("report")
}

fn bind(builder: WorkflowBuilder, tools: Tools) -> BoundWorkflow {
    let variables = BTreeMap::from([("place".to_owned(), "the sea".to_owned())]);
    BoundWorkflow::new(builder.build().unwrap(), tools, &variables).unwrap()
}

fn answering(answer: &'static str) -> FunctionTool {
    FunctionTool::new(move |_| async move { Ok(answer.to_owned()) })
}

fn tools() -> Tools {
    Tools::new().with("look", answering("a ship")).with("report", answering("reported"))
}

fn workflow() -> BoundWorkflow {
    bind(builder(), tools())
}

async fn run(workflow: &BoundWorkflow, steps: impl IntoIterator<Item = Step>) -> RunReport {
    run_seeded(workflow, steps, Seed::input("watch"), &mut Silent).await
}

async fn run_seeded(
    workflow: &BoundWorkflow,
    steps: impl IntoIterator<Item = Step>,
    seed: Seed,
    observer: &mut dyn Observer,
) -> RunReport {
    let runner = Runner::new(Arc::new(Scripted::new(steps)), RunnerOptions::default());
    let report = runner.run(workflow, seed, observer, CancellationToken::new()).await;
    assert_paired(&report.messages);
    report
}

/// Each call is answered once, right after its turn; nothing else is answered; ids are unique.
fn assert_paired(messages: &[Message]) {
    let mut open: Vec<CallId> = Vec::new();
    let mut seen: Vec<CallId> = Vec::new();
    for message in messages {
        match message {
            Message::Tool { call_id, .. } => {
                let position = open.iter().position(|id| id == call_id);
                open.remove(position.unwrap_or_else(|| panic!("an orphan result {call_id}")));
            }
            other => {
                assert!(open.is_empty(), "calls without results: {open:?}");
                if let Message::Assistant { calls, .. } = other {
                    for call in calls {
                        assert!(!seen.contains(&call.id), "the id {} is given twice", call.id);
                        seen.push(call.id.clone());
                        open.push(call.id.clone());
                    }
                }
            }
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
}

fn kinds(report: &RunReport) -> Vec<ResultKind> {
    let kind = |message: &Message| match message {
        Message::Tool { kind, .. } => Some(*kind),
        Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => None,
    };
    report.messages.iter().filter_map(kind).collect()
}

#[tokio::test]
async fn a_terminal_tool_ends_the_run() {
    let report = run(&workflow(), [call("look", "{}"), call("report", "{}")]).await;
    let RunOutcome::Done { call, result } = &report.outcome else { panic!("{report:?}") };
    assert_eq!((call.name.as_str(), result.as_str()), ("report", "reported"));
    assert_eq!((report.generations, report.tool_calls, report.nudges, report.blocked), (2, 2, 0, 0));
    assert_eq!((report.completed_steps.len(), report.pending_steps.len()), (1, 0));
}

#[tokio::test]
async fn the_prompt_is_rendered_and_comes_first() {
    let report = run(&workflow(), [call("look", "{}"), call("report", "{}")]).await;
    assert_eq!(report.messages[0], Message::system("You watch the sea."));
    assert_eq!(report.messages[1], Message::input("watch"));
}

#[tokio::test]
async fn text_ends_the_turn_where_it_may() {
    let workflow = bind(builder().text(TextPolicy::Accept), tools());
    let report = run(&workflow, [call("look", "{}"), text("A ship.")]).await;
    assert_eq!(report.outcome, RunOutcome::Answered { text: "A ship.".to_owned() });
    assert_eq!(report.messages.last().unwrap().content(), "A ship.");
}

#[tokio::test]
async fn a_premature_terminal_is_blocked_and_told() {
    let report = run(&workflow(), [call("report", "{}"), call("look", "{}"), call("report", "{}")]).await;
    assert!(matches!(report.outcome, RunOutcome::Done { .. }), "{report:?}");
    assert_eq!(kinds(&report), [ResultKind::Blocked, ResultKind::Success, ResultKind::Success]);
    assert_eq!((report.generations, report.tool_calls, report.nudges, report.blocked), (3, 2, 1, 1));
}

#[tokio::test]
async fn text_without_end_exhausts_the_retries() {
    let report = run(&workflow(), std::iter::repeat_with(|| text("Well.")).take(10)).await;
    let RunOutcome::Interrupted { interrupt } = &report.outcome else { panic!("{report:?}") };
    assert!(matches!(interrupt.kind, InterruptKind::FormatRetries { attempts: 4, .. }), "{interrupt:?}");
    assert_eq!((report.generations, report.nudges), (4, 3));
}

#[tokio::test]
async fn the_iterations_are_limited() {
    let budgets = Budgets { iterations: 3, ..Budgets::default() };
    let workflow = bind(builder().budgets(budgets), tools());
    let steps = (0..10).map(|number| call("look", &format!(r#"{{"at": "{number}"}}"#)));
    let report = run(&workflow, steps).await;
    let RunOutcome::Interrupted { interrupt } = &report.outcome else { panic!("{report:?}") };
    assert_eq!(interrupt.kind, InterruptKind::Iterations { limit: 3 });
    assert_eq!((report.generations, report.tool_calls), (3, 3));
}

#[tokio::test]
async fn failing_tools_end_the_run() {
    let look = FunctionTool::new(|_| async { Err(ToolError::Failed("fog".to_owned())) });
    let workflow = bind(builder(), tools().with("look", look));
    let steps = (0..10).map(|number| call("look", &format!(r#"{{"at": "{number}"}}"#)));
    let report = run(&workflow, steps).await;
    let RunOutcome::Interrupted { interrupt } = &report.outcome else { panic!("{report:?}") };
    assert!(matches!(interrupt.kind, InterruptKind::ToolErrors { .. } | InterruptKind::ToolFailures { .. }));
}

#[tokio::test]
async fn absent_data_is_no_failure() {
    let look = FunctionTool::new(|_| async { Err(ToolError::NoData("no ship today".to_owned())) });
    let workflow = bind(builder(), tools().with("look", look));
    let steps = (0..10).map(|number| call("look", &format!(r#"{{"at": "{number}"}}"#)));
    let report = run(&workflow, steps).await;
    assert!(kinds(&report).iter().all(|kind| *kind == ResultKind::NoData), "{report:?}");
    let RunOutcome::Interrupted { interrupt } = &report.outcome else { panic!("{report:?}") };
    assert_eq!(interrupt.kind, InterruptKind::Iterations { limit: 10 });
}

#[tokio::test]
async fn a_backend_that_fails_ends_the_run_in_words() {
    let failure = || BackendError::BrokenOff { reason: "connection reset".to_owned() };
    let cases = [vec![Step::Refuse(failure())], vec![Step::BreakOff(vec![], failure())]];
    for steps in cases {
        let report = run(&workflow(), steps).await;
        let RunOutcome::BackendFailed { message } = &report.outcome else { panic!("{report:?}") };
        assert!(message.contains("connection reset"), "{message}");
    }
}

#[tokio::test]
async fn a_backend_that_is_down_ends_the_run_before_it_starts() {
    let failure = BackendError::Unreachable { url: "http://x".to_owned(), reason: "refused".to_owned() };
    let runner = Runner::new(Arc::new(Scripted::down(failure)), RunnerOptions::default());
    let mut events = Vec::new();
    let mut observer = |event: &RunEvent| events.push(event.clone());
    let report = runner.run(&workflow(), Seed::input("x"), &mut observer, CancellationToken::new()).await;
    assert!(matches!(report.outcome, RunOutcome::BackendFailed { .. }), "{report:?}");
    assert_eq!(report.generations, 0);
    assert!(matches!(events.as_slice(), [RunEvent::Finished { .. }]), "{events:?}");
}

#[tokio::test]
async fn output_that_the_server_could_not_parse_is_parsed_here() {
    let output = r#"<tool_call>{"name": "look", "arguments": {}}</tool_call>"#.to_owned();
    let malformed = |text| BackendError::MalformedGeneration { text, message: "no parse".to_owned() };
    let streamed = vec![ModelEvent::Text { text: output.clone() }];
    for first in [Step::Refuse(malformed(Some(output))), Step::BreakOff(streamed, malformed(None))] {
        let report = run(&workflow(), [first, call("report", "{}")]).await;
        assert!(matches!(report.outcome, RunOutcome::Done { .. }), "{report:?}");
        assert_eq!(report.rescued, 1);
    }
}

#[tokio::test]
async fn unparsed_output_without_its_text_is_a_failure() {
    let malformed = BackendError::MalformedGeneration { text: None, message: "no parse".to_owned() };
    let report = run(&workflow(), [Step::Refuse(malformed)]).await;
    assert!(matches!(report.outcome, RunOutcome::BackendFailed { .. }), "{report:?}");
}

#[tokio::test]
async fn a_stream_that_ends_inside_a_call_runs_nothing() {
    let cut = vec![ModelEvent::Text { text: r#"<tool_call>{"name": "look", "argum"#.to_owned() }];
    let report = run(&workflow(), [Step::Answer(cut), call("look", "{}"), call("report", "{}")]).await;
    assert_eq!((report.tool_calls, report.nudges), (2, 1));
}

#[tokio::test]
async fn pieces_of_calls_are_put_together() {
    let piece = |index, name: &str, arguments: &str| ModelEvent::Call {
        index,
        id: (!name.is_empty()).then(|| CallId::new(format!("id{index}"))),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    let pieces = vec![
        piece(0, "look", ""),
        piece(0, "", r#"{"at":"#),
        piece(2, "look", ""),
        piece(0, "", r#" "bow"}"#),
        piece(2, "", r#"{"at": "stern"}"#),
    ];
    let report = run(&workflow(), [Step::Answer(pieces), call("report", "{}")]).await;
    let Message::Assistant { calls, .. } = &report.messages[2] else { panic!("{report:?}") };
    let written: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(written, [("id0", r#"{"at": "bow"}"#), ("id2", r#"{"at": "stern"}"#)]);
}

#[tokio::test]
async fn a_panic_is_a_failure_of_its_tool() {
    let look = FunctionTool::new(|_| async { panic!("out of {}", "range") });
    let workflow = bind(builder(), tools().with("look", look));
    let mut outcomes = Vec::new();
    let mut observer = |event: &RunEvent| {
        if let RunEvent::ToolFinished { outcome, .. } = event {
            outcomes.push(outcome.clone());
        }
    };
    let steps = [calls(&[("look", "{}"), ("look", r#"{"at": "x"}"#)])];
    run_seeded(&workflow, steps, Seed::input("x"), &mut observer).await;
    assert_eq!(outcomes, vec![Outcome::Failure("the tool broke down: out of range".to_owned()); 2]);
}

#[tokio::test]
async fn a_blocking_function_is_a_tool() {
    let look = FunctionTool::blocking(|_| Ok("a whale".to_owned()));
    let report = run(&bind(builder(), tools().with("look", look)), [call("look", "{}"), call("report", "{}")]).await;
    assert!(report.messages.iter().any(|message| message.content().contains("a whale")), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_a_time_limit() {
    let look = FunctionTool::new(|_| std::future::pending()).timeout(Duration::from_secs(7));
    let report = run(&bind(builder(), tools().with("look", look)), [call("look", "{}")]).await;
    assert_eq!(kinds(&report), [ResultKind::TimedOut]);
    assert!(report.messages.iter().any(|message| message.content().contains("7s")), "{report:?}");
}

#[tokio::test]
async fn the_synthetic_tool_is_answered_by_the_runner() {
    let workflow = bind(builder().respond(Respond::Terminal), tools());
    let report = run(&workflow, [call("look", "{}"), call("respond", r#"{"message": "A ship!"}"#)]).await;
    let RunOutcome::Done { call, result } = &report.outcome else { panic!("{report:?}") };
    assert_eq!((call.name.as_str(), result.as_str()), ("respond", "A ship!"));
}

#[tokio::test]
async fn calls_run_one_after_the_other() {
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let look = FunctionTool::new(move |arguments| {
        let log = Arc::clone(&log);
        async move {
            let at = arguments.to_object()["at"].to_string();
            log.lock().unwrap().push(format!("begin {at}"));
            tokio::task::yield_now().await;
            log.lock().unwrap().push(format!("end {at}"));
            Ok(at)
        }
    });
    let batch = calls(&[("look", r#"{"at": "1"}"#), ("look", r#"{"at": "2"}"#)]);
    run(&bind(builder(), tools().with("look", look)), [batch]).await;
    assert_eq!(*seen.lock().unwrap(), [r#"begin "1""#, r#"end "1""#, r#"begin "2""#, r#"end "2""#]);
}

/// Two calls that wait for each other can only end when they run at the same time.
#[tokio::test]
async fn parallel_calls_run_together_and_are_answered_in_order() {
    let meeting = Arc::new(tokio::sync::Barrier::new(2));
    let look = FunctionTool::new(move |arguments| {
        let meeting = Arc::clone(&meeting);
        async move {
            meeting.wait().await;
            if arguments.as_str().contains("first") {
                tokio::task::yield_now().await;
            }
            Ok(arguments.as_str().to_owned())
        }
    });
    let look = look.concurrency(Concurrency::Parallel);
    let workflow = bind(builder(), tools().with("look", look));
    let batch = calls(&[("look", r#"{"at": "first"}"#), ("look", r#"{"at": "second"}"#)]);
    let report = run(&workflow, [batch, call("report", "{}")]).await;
    let results: Vec<_> = report.messages.iter().filter(|message| matches!(message, Message::Tool { .. })).collect();
    assert!(results[0].content().contains("first") && results[1].content().contains("second"), "{results:?}");
}

#[tokio::test]
async fn a_run_can_be_cancelled_before_it_starts() {
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let runner = Runner::new(Arc::new(Scripted::new([])), RunnerOptions::default());
    let report = runner.run(&workflow(), Seed::input("x"), &mut Silent, cancellation).await;
    assert_eq!((report.outcome, report.generations), (RunOutcome::Cancelled, 0));
}

#[tokio::test]
async fn a_generation_is_cancelled_by_dropping_its_stream() {
    let dropped = Arc::new(Notify::new());
    let hang = Step::Hang(vec![ModelEvent::Text { text: "Let me".to_owned() }], Arc::clone(&dropped));
    let runner = Runner::new(Arc::new(Scripted::new([call("look", "{}"), hang])), RunnerOptions::default());
    let cancellation = CancellationToken::new();
    let trigger = cancellation.clone();
    let mut observer = move |event: &RunEvent| {
        if matches!(event, RunEvent::Delta { .. }) {
            trigger.cancel();
        }
    };
    let report = runner.run(&workflow(), Seed::input("x"), &mut observer, cancellation).await;
    assert_eq!(report.outcome, RunOutcome::Cancelled);
    dropped.notified().await;
    assert_paired(&report.messages);
}

#[tokio::test]
async fn cancelled_calls_have_results() {
    let cancellation = CancellationToken::new();
    let trigger = cancellation.clone();
    let look = FunctionTool::new(move |arguments| {
        let trigger = trigger.clone();
        async move {
            if arguments.as_str().contains("second") {
                trigger.cancel();
                std::future::pending::<()>().await;
            }
            Ok("seen".to_owned())
        }
    });
    let workflow = bind(builder(), tools().with("look", look));
    let batch =
        calls(&[("look", r#"{"at": "first"}"#), ("look", r#"{"at": "second"}"#), ("look", r#"{"at": "third"}"#)]);
    let runner = Runner::new(Arc::new(Scripted::new([batch])), RunnerOptions::default());
    let report = runner.run(&workflow, Seed::input("x"), &mut Silent, cancellation).await;
    assert_eq!(report.outcome, RunOutcome::Cancelled);
    assert_eq!(kinds(&report), [ResultKind::Success, ResultKind::Cancelled, ResultKind::Cancelled]);
    assert_eq!(report.tool_calls, 2);
    assert_paired(&report.messages);
}

/// A tool that pays no attention to the cancellation.
struct Deaf(Arc<Notify>);

impl forge_runner::Tool for Deaf {
    fn call<'a>(
        &'a self,
        _arguments: &'a forge_core::Arguments,
        context: &'a forge_runner::ToolContext,
    ) -> futures_util::future::BoxFuture<'a, Outcome> {
        Box::pin(async {
            let _guard = scripted::NotifyOnDrop(Arc::clone(&self.0));
            context.cancellation.cancelled().await;
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_the_cancellation_is_dropped() {
    let dropped = Arc::new(Notify::new());
    let workflow = bind(builder(), tools().with("look", Deaf(Arc::clone(&dropped))));
    let cancellation = CancellationToken::new();
    let trigger = cancellation.clone();
    let mut observer = move |event: &RunEvent| {
        if matches!(event, RunEvent::ToolStarted { .. }) {
            trigger.cancel();
        }
    };
    let runner = Runner::new(Arc::new(Scripted::new([call("look", "{}")])), RunnerOptions::default());
    let report = runner.run(&workflow, Seed::input("x"), &mut observer, cancellation).await;
    dropped.notified().await;
    assert_eq!((report.outcome.clone(), kinds(&report)), (RunOutcome::Cancelled, vec![ResultKind::Cancelled]));
}

#[tokio::test]
async fn a_terminal_tool_that_succeeds_all_the_same_ends_the_run() {
    let cancellation = CancellationToken::new();
    let trigger = cancellation.clone();
    let mut observer = move |event: &RunEvent| {
        if matches!(event, RunEvent::ToolFinished { call, .. } if call.name == "report") {
            trigger.cancel();
        }
    };
    let script = Scripted::new([call("look", "{}"), call("report", "{}")]);
    let runner = Runner::new(Arc::new(script), RunnerOptions::default());
    let report = runner.run(&workflow(), Seed::input("x"), &mut observer, cancellation).await;
    assert!(matches!(report.outcome, RunOutcome::Done { .. }), "{report:?}");
}

#[tokio::test]
async fn a_conversation_goes_on() {
    let steps = || [call("look", "{}"), call("report", "{}")];
    let first = run(&workflow(), steps()).await;
    let length = first.messages.len();
    let seed = Seed::following(first.messages.clone(), "And now?");
    let second = run_seeded(&workflow(), steps(), seed, &mut Silent).await;
    assert!(matches!(second.outcome, RunOutcome::Done { .. }), "{second:?}");
    assert_eq!(second.messages[..length], first.messages[..]);
    assert_eq!(second.messages[length], Message::input("And now?"));
}

#[tokio::test]
async fn a_system_prompt_is_replaced_and_not_repeated() {
    let earlier = vec![Message::system("Old."), Message::input("a")];
    let steps = [call("look", "{}"), call("report", "{}")];
    let report = run_seeded(&workflow(), steps, Seed::following(earlier, "b"), &mut Silent).await;
    let systems: Vec<_> = report.messages.iter().filter(|message| matches!(message, Message::System { .. })).collect();
    assert_eq!(systems, [&Message::system("You watch the sea.")]);
}

#[tokio::test]
async fn tokens_are_added_up_and_the_last_count_of_a_generation_counts() {
    let usage = |tokens| ModelEvent::Usage(Usage { completion_tokens: Some(tokens), ..Usage::default() });
    let with_usage = |step, counts: &[u64]| match step {
        Step::Answer(events) => Step::Answer(counts.iter().map(|tokens| usage(*tokens)).chain(events).collect()),
        other => other,
    };
    let steps = [with_usage(call("look", "{}"), &[3, 5]), with_usage(call("report", "{}"), &[7])];
    let report = run(&workflow(), steps).await;
    assert_eq!(report.usage, Usage { completion_tokens: Some(12), ..Usage::default() });
}

#[tokio::test]
async fn requests_carry_the_options_and_the_constraint() {
    let backend = Arc::new(Scripted::new([text("Hm."), text("Hm."), call("look", "{}"), call("report", "{}")]));
    let options = RunnerOptions { max_tokens: 77, ..RunnerOptions::default() };
    let shared: Arc<dyn forge_backend::Backend> = Arc::<Scripted>::clone(&backend);
    Runner::new(shared, options).run(&workflow(), Seed::input("x"), &mut Silent, CancellationToken::new()).await;
    let requests = backend.requests();
    assert!(requests.iter().all(|request| request.max_tokens == 77 && request.tools.len() == 2));
    let constraints: Vec<_> = requests.iter().map(|request| request.constraint.clone()).collect();
    assert_eq!(constraints[0], Constraint::Free);
    assert!(constraints[2] != Constraint::Free, "{constraints:?}");
}

#[tokio::test]
async fn tools_are_offered_by_the_server_where_it_has_them_unless_told_otherwise() {
    let without = Capabilities::default();
    let with = Capabilities { native_tools: true, ..without };
    for (capabilities, tool_mode, expected) in [
        (with, None, ToolMode::Native),
        (without, None, ToolMode::Prompted),
        (with, Some(ToolMode::Prompted), ToolMode::Prompted),
        (without, Some(ToolMode::Native), ToolMode::Native),
    ] {
        let script = Scripted::new([call("look", "{}"), call("report", "{}")]);
        let backend = Arc::new(script.able(capabilities));
        let shared: Arc<dyn forge_backend::Backend> = Arc::<Scripted>::clone(&backend);
        let options = RunnerOptions { tool_mode, ..RunnerOptions::default() };
        Runner::new(shared, options).run(&workflow(), Seed::input("x"), &mut Silent, CancellationToken::new()).await;
        let modes: Vec<_> = backend.requests().iter().map(|request| request.tool_mode).collect();
        assert_eq!(modes, [expected; 2]);
    }
}

#[tokio::test]
async fn events_tell_the_run_in_order() {
    let mut names = Vec::new();
    let mut observer = |event: &RunEvent| {
        let value = serde_json::to_value(event).unwrap();
        let again: RunEvent = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(again, *event, "an event changes on its way through JSON");
        names.push(value["event"].as_str().unwrap().to_owned());
    };
    let steps = [calls(&[("look", "{}"), ("report", "{}")]), call("report", "{}")];
    run_seeded(&workflow(), steps, Seed::input("x"), &mut observer).await;
    let expected = "started appended appended generating generated appended blocked appended tool_started \
         tool_finished appended step_completed generating generated appended tool_started tool_finished appended \
         finished";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn a_tool_without_an_implementation_is_refused() {
    let tools = Tools::new().with("look", answering("x"));
    let error = BoundWorkflow::new(builder().build().unwrap(), tools, &BTreeMap::new()).unwrap_err();
    let expected = "workflow `watch` declares tools that have no implementation: `report`; the implementations given are for `look`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_implementation_without_a_tool_is_refused() {
    let tools = tools().with("lok", answering("x"));
    let error = BoundWorkflow::new(builder().build().unwrap(), tools, &BTreeMap::new()).unwrap_err();
    assert!(matches!(error, BindError::Surplus { .. }), "{error}");
}

#[test]
fn a_prompt_without_its_variables_is_refused() {
    let error = BoundWorkflow::new(builder().build().unwrap(), tools(), &BTreeMap::new()).unwrap_err();
    assert!(matches!(error, BindError::SystemPrompt { .. }), "{error}");
}

/// An answer that the output limit cut inside a call.
fn cut_call() -> Step {
    let event = ModelEvent::Call {
        index: 0,
        id: Some(CallId::new("cut")),
        name: "look".to_owned(),
        arguments: r#"{"at": "the har"#.to_owned(),
    };
    Step::Answer(vec![event, ModelEvent::Finish { reason: FinishReason::Length }])
}

/// The token limits of the requests, and the nudges, of a run whose first answer is a call that was cut off.
async fn limits_after_a_cut(retry_max_tokens: Option<u32>) -> (Vec<u32>, u32) {
    let backend = Arc::new(Scripted::new([cut_call(), call("look", "{}"), call("report", "{}")]));
    let options = RunnerOptions { max_tokens: 100, retry_max_tokens, ..RunnerOptions::default() };
    let runner = Runner::new(backend.clone(), options);
    let report = runner.run(&workflow(), Seed::input("watch"), &mut Silent, CancellationToken::new()).await;
    assert!(matches!(report.outcome, RunOutcome::Done { .. }), "{report:?}");
    (backend.requests().iter().map(|request| request.max_tokens).collect(), report.nudges)
}

#[tokio::test]
async fn a_call_that_was_cut_off_has_one_try_with_a_larger_limit() {
    assert_eq!(limits_after_a_cut(Some(400)).await, (vec![100, 400, 100], 0));
}

#[tokio::test]
async fn without_a_larger_limit_the_model_is_told_that_its_call_was_cut_off() {
    assert_eq!(limits_after_a_cut(None).await, (vec![100, 100, 100], 1));
}

/// A stream of the same sentence without an end, and what is told when it is dropped.
fn endless() -> (Step, Arc<Notify>) {
    let dropped = Arc::new(Notify::new());
    let piece = || ModelEvent::Text { text: "I will now look at the sea. ".to_owned() };
    (Step::Hang(std::iter::repeat_with(piece).take(200).collect(), Arc::clone(&dropped)), dropped)
}

#[tokio::test]
async fn a_generation_that_repeats_itself_is_cut_while_it_streams() {
    let (step, dropped) = endless();
    let report = run(&workflow(), [step, call("look", "{}"), call("report", "{}")]).await;
    dropped.notified().await;
    assert!(matches!(report.outcome, RunOutcome::Done { .. }), "{report:?}");
    let told = report.messages[3].content();
    assert!(told.starts_with("Your text repeated \"I will now look at the sea.\""), "{told}");
    assert!(report.messages[2].content().len() < 300, "the turn is kept short: {:?}", report.messages[2]);
}

#[tokio::test(start_paused = true)]
async fn without_the_guardrail_a_generation_that_repeats_itself_goes_on() {
    let set = GuardrailSet { repetition: false, ..GuardrailSet::REFORGED };
    let workflow = bind(builder().guardrails(set), tools());
    let (step, _dropped) = endless();
    let running = run(&workflow, [step]);
    assert!(tokio::time::timeout(Duration::from_secs(60), running).await.is_err(), "it was cut");
}

#[tokio::test]
async fn a_long_table_is_not_cut() {
    let rows: String = (0..200).map(|row| format!("| {row} | checkout | ERROR | payment refused |\n")).collect();
    let pieces = rows.split_inclusive(' ').map(|piece| ModelEvent::Text { text: piece.to_owned() });
    let finish = ModelEvent::Finish { reason: FinishReason::Stop };
    let report = run(
        &bind(builder().required_steps(Vec::<String>::new()).text(TextPolicy::Accept), tools()),
        [call("look", "{}"), Step::Answer(pieces.chain([finish]).collect())],
    )
    .await;
    assert!(matches!(&report.outcome, RunOutcome::Answered { text } if text.trim() == rows.trim()), "{report:?}");
}
