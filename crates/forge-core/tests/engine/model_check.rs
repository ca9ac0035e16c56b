//! Every run up to a depth, over a small alphabet of responses and outcomes, keeps every invariant of the oracle.
//!
//! Runs that differ only in what can't influence a verdict (ids, the last text, totals) go on as one. The depth is 4, which
//! takes seconds; `FORGE_MODEL_CHECK_DEPTH` sets another one (6 takes minutes).

use std::collections::HashSet;
use std::sync::Arc;

use forge_core::{Budgets, ConstraintMode, Prerequisite, StepOrder, TextPolicy, Workflow};
use serde_json::Value;

use crate::oracle::Watched;
use crate::support::{Move, builder, parse_move};

/// Text, each kind of fault, legal and illegal calls, terminal calls, batches; success, failure, missing data.
const ALPHABET: [&str; 16] = [
    "text",
    "empty",
    "think",
    "!nothing",
    "!invalid",
    "!cut",
    "list",
    "list=fail",
    "list=none",
    "read(a)",
    "edit(a)",
    "edit(b)",
    "edit(a)+report",
    "count+list=fail",
    "report",
    "report=fail",
];

fn depth() -> u32 {
    std::env::var("FORGE_MODEL_CHECK_DEPTH").map_or(4, |depth| depth.parse().unwrap())
}

/// Small enough to be exhausted within the depth.
fn budgets() -> Budgets {
    Budgets {
        format_retries: 1,
        tool_errors: 1,
        premature_attempts: 1,
        prerequisite_violations: 1,
        repetitions: 1,
        failures_per_tool: 2,
        iterations: depth(),
    }
}

/// What the future depends on.
fn essence(run: &Watched) -> String {
    let mut state = serde_json::to_value(run.state()).unwrap();
    if let Value::Object(fields) = &mut state {
        for field in ["ids", "last_response", "successes", "failures"] {
            assert!(fields.remove(field).is_some(), "the state has no field {field}");
        }
    }
    state.to_string()
}

fn explore(name: &str, workflow: Workflow) {
    let alphabet: Vec<Move> = ALPHABET.iter().map(|made| parse_move(made)).collect();
    let mut seen = HashSet::new();
    let mut frontier = vec![Watched::new(Arc::new(workflow))];
    let mut transitions = 0;
    for _ in 0..depth() {
        let mut next = Vec::new();
        for run in &frontier {
            for made in &alphabet {
                let mut run = run.clone();
                run.step(made);
                transitions += 1;
                if seen.insert(essence(&run)) && !run.has_ended() {
                    next.push(run);
                }
            }
        }
        frontier = next;
    }
    println!("model check, {name}: depth {}, {} states, {transitions} transitions", depth(), seen.len());
    assert!(frontier.is_empty(), "a run of {name} goes on beyond its iterations");
    assert!(seen.len() > 1_000, "only {} states of {name} were covered", seen.len());
}

#[test]
fn steps_in_any_order_and_a_prerequisite_by_argument() {
    let workflow = builder()
        .required_steps(["list", "edit"])
        .prerequisite("edit", Prerequisite::same_argument("read", "file"))
        .budgets(budgets());
    explore("any order", workflow.build().unwrap());
}

#[test]
fn steps_in_listed_order_eagerly_constrained() {
    let workflow = builder()
        .required_steps(["list", "edit"])
        .step_order(StepOrder::Listed)
        .prerequisite("edit", Prerequisite::success_of("read"))
        .constraint(ConstraintMode::Eager)
        .budgets(budgets());
    explore("listed order", workflow.build().unwrap());
}

#[test]
fn text_that_ends_a_turn() {
    let workflow = builder().required_steps(["list"]).text(TextPolicy::Accept).budgets(budgets());
    explore("accepted text", workflow.build().unwrap());
}
