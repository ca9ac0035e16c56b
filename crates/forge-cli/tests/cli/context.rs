//! `forge run` on a small window.

use std::process::Output;

use serde_json::json;

use crate::run::{Folder, WORKFLOW, stderr};
use crate::support::guarantees;
use crate::support::model_server::{ModelServer, Reply};

/// A folder in which looking a person up brings long answers. The file ends with the given lines.
fn talkative(lines: &str) -> Folder {
    let folder = Folder::new();
    let workflow = WORKFLOW
        .replace("print('Ada likes tea')", "import random; print(random.random(), 'Ada likes tea. ' * 60)")
        .replace("iterations = 6", "iterations = 20");
    std::fs::write(folder.path("workflow.toml"), format!("{workflow}\n{lines}\n")).unwrap();
    folder
}

/// Looks a person up eight times, then greets.
fn server() -> ModelServer {
    let look = || Reply::Call("look_up", json!({}));
    ModelServer::play((0..8).map(|_| look()).chain([Reply::Call("greet", json!({"name": "Ada"}))]))
}

fn run(folder: &Folder, arguments: &[&str]) -> Output {
    folder.forge(&server().url).args(arguments).output().unwrap()
}

#[test]
fn the_flag_keeps_a_run_within_its_budget_and_shows_it() {
    let folder = talkative("");
    let trace = folder.path("run.jsonl");
    let output = run(&folder, &["--context-budget", "1500", "--trace", trace.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    let shown = said.lines().find(|line| line.contains("compacted")).unwrap_or_else(|| panic!("{said}"));
    assert!(shown.contains("of 1500 tokens (phase"), "{shown}");
    assert!(said.contains("context budget 1500 tokens"), "{said}");
    let events = guarantees::read_trace(&trace);
    let compacted = events.iter().filter(|event| matches!(event, forge_runner::RunEvent::Compacted { .. })).count();
    assert!(compacted > 0);
    guarantees::calls_and_results_pair(&guarantees::report(&events).messages);
}

#[test]
fn the_file_sets_the_budget_and_the_flag_goes_before_it() {
    let folder = talkative("[context]\nbudget = 1500\nstrategy = \"sliding_window\"");
    let said = stderr(&run(&folder, &[]));
    assert!(said.contains("compacted") && said.contains("of 1500 tokens"), "{said}");
    let said = stderr(&run(&folder, &["--context-budget", "backend"]));
    assert!(!said.contains("compacted") && said.contains("done"), "{said}");
}

#[test]
fn a_budget_that_is_too_small_is_an_interrupt_with_the_numbers() {
    let output = run(&talkative(""), &["--context-budget", "100"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("the context budget is 100"), "{}", stderr(&output));
}

#[test]
fn a_budget_that_is_none_is_refused() {
    let output = run(&talkative(""), &["--context-budget", "4k"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`4k` is no context budget; give a number of tokens"), "{}", stderr(&output));
}

#[test]
fn a_table_that_is_wrong_is_refused_with_its_place() {
    let output = run(&talkative("[context]\nthresholds = [0.9, 0.5, 1.0]"), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("`thresholds[1]` is 0.5, below the 0.9 before it") && said.contains("workflow.toml:"),
        "{said}"
    );
}
