//! What the engine costs: one response with its outcomes, and an iteration late in a long run.
//!
//! `cargo bench -p forge-core --bench engine` also prints what an iteration costs at the end of a run of 500, as a multiple
//! of what one costs at its beginning: nothing in the engine may grow with the conversation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use forge_core::{
    Budgets, CallId, ContextManager, FinishReason, Guardrails, Message, Next, Outcome, RawCall, Response,
    TieredCompact, ToolSpec, Verdict, Workflow,
};
use serde_json::json;

fn main() {
    divan::main();
    print_ratio();
}

/// Tools with a schema of a usual size, and as many iterations as wanted.
fn workflow() -> Arc<Workflow> {
    let parameters = json!({
        "type": "object",
        "required": ["file"],
        "additionalProperties": false,
        "properties": {
            "file": {"type": "string", "description": "The file."},
            "lines": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["whole", "head", "tail"]},
        },
    });
    let tools = ["list", "search", "read", "count", "compare", "report"];
    let workflow = Workflow::builder("bench")
        .tools(tools.map(|name| ToolSpec::new(name, "Does it.", parameters.clone())))
        .required_steps(["list", "read"])
        .prerequisite("compare", forge_core::Prerequisite::success_of("read"))
        .terminal_tool("report")
        .budgets(Budgets { iterations: 1_000_000, ..Budgets::default() })
        .build();
    Arc::new(unwrapped(workflow))
}

/// A response of three structured calls.
fn response(number: usize) -> Response {
    let call = |(place, name): (usize, &str)| RawCall {
        id: Some(CallId::new(format!("call_{number}_{place}"))),
        name: name.to_owned(),
        arguments: format!(r#"{{"file": "log-{number}.txt", "lines": 20, "mode": "head"}}"#),
    };
    let calls = ["list", "search", "read"].into_iter().enumerate().map(call).collect();
    Response { calls, finish: FinishReason::ToolCalls, ..Response::default() }
}

fn outcomes(response: &Response, result: &str) -> Vec<(CallId, Outcome)> {
    response.calls.iter().filter_map(|call| Some((call.id.clone()?, Outcome::Success(result.to_owned())))).collect()
}

/// One `check` and one `record`; the messages go into the conversation.
fn iterate(
    guardrails: &mut Guardrails,
    messages: &mut Vec<Message>,
    response: &Response,
    results: &[(CallId, Outcome)],
) {
    let Verdict::Execute(batch) = unwrapped(guardrails.check(response)) else { return };
    messages.push(batch.turn);
    let recorded = unwrapped(guardrails.record(results));
    messages.extend(recorded.messages);
    assert!(matches!(recorded.next, Next::Continue { .. }), "the run goes on");
}

#[divan::bench]
fn check_and_record_three_calls(bencher: Bencher<'_, '_>) {
    let guardrails = Guardrails::new(workflow());
    let response = response(1);
    let outcomes = outcomes(&response, "forty lines");
    bencher.with_inputs(|| (guardrails.clone(), Vec::with_capacity(4))).bench_local_refs(|(guardrails, messages)| {
        iterate(guardrails, messages, black_box(&response), black_box(&outcomes));
    });
}

/// Iterations of a run.
const ITERATIONS: usize = 500;

/// Runs that are timed; of the times of one iteration over all runs the median counts.
const RUNS: usize = 41;

/// The iterations at either end of a run that are compared.
const COMPARED: usize = 20;

/// What each iteration costs: `fit` before a generation, then `check` and `record`.
fn timed_run() -> Vec<Duration> {
    let mut guardrails = Guardrails::new(workflow());
    let mut messages = vec![Message::system("You look into logs."), Message::input("What went wrong?")];
    let strategy = TieredCompact::default();
    let mut context = unwrapped(ContextManager::new(ContextManager::UNBOUNDED, strategy));
    let mut times = Vec::with_capacity(ITERATIONS);
    for number in 0..ITERATIONS {
        let response = response(number);
        let outcomes = outcomes(&response, &"a line of a log\n".repeat(20));
        messages.reserve(4);
        let begin = Instant::now();
        black_box(unwrapped(context.fit(&mut messages, None)));
        iterate(&mut guardrails, &mut messages, &response, &outcomes);
        times.push(begin.elapsed());
    }
    times
}

/// Prints the cost of the last iterations of a run as a multiple of that of the first.
fn print_ratio() {
    let runs: Vec<Vec<Duration>> = (0..RUNS).map(|_| timed_run()).collect();
    let cost = |iterations: std::ops::Range<usize>| {
        let mut times: Vec<Duration> =
            runs.iter().flat_map(|run| run.get(iterations.clone())).flatten().copied().collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    let (first, last) = (cost(0..COMPARED), cost(ITERATIONS - COMPARED..ITERATIONS));
    let ratio = last.as_secs_f64() / first.as_secs_f64();
    println!(
        "an iteration of {ITERATIONS}: {first:.1?} at the beginning, {last:.1?} at the end, {ratio:.2} times as much"
    );
}

/// The value; a bench that can't be set up measures nothing.
#[expect(clippy::panic, reason = "a bench that can't be set up has to say so")]
fn unwrapped<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
