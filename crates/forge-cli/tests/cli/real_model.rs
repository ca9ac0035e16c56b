//! The main job on a real llama.cpp server with a real small model: what the guardrails guarantee, not what a model
//! happens to say. Runs where `FORGE_REAL_MODEL` is set; `scripts/test real-model` sets it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::guarantees;
use forge_runner::{RunEvent, RunOutcome};

/// The generations that `examples/log-triage/workflow.toml` allows.
const ITERATIONS: u32 = 16;
/// The tokens that a generation of it may have.
const TOKENS: u64 = 400;

fn wanted() -> bool {
    let wanted = std::env::var_os("FORGE_REAL_MODEL").is_some();
    if !wanted {
        println!("skipped: set FORGE_REAL_MODEL=1, or run scripts/test real-model");
    }
    wanted
}

/// The release binary where the test script built one: the model is slow enough.
fn forge() -> Command {
    let built = std::env::var_os("FORGE_BINARY").map(PathBuf::from).filter(|path| path.is_file());
    Command::new(built.unwrap_or_else(|| env!("CARGO_BIN_EXE_forge").into()))
}

fn quickstart(folder: &Path, trace: &str) -> (Output, Vec<RunEvent>) {
    let trace = folder.join(trace);
    let output = forge().arg("quickstart").arg("--trace").arg(&trace).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(trace.is_file(), "no trace; quickstart said: {said}");
    (output, guarantees::read_trace(&trace))
}

#[test]
fn real_model_quickstart_keeps_every_guarantee_and_downloads_once() {
    if !wanted() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_, first) = quickstart(folder.path(), "first.jsonl");
    let (second, events) = quickstart(folder.path(), "second.jsonl");
    for events in [&first, &events] {
        guarantees::no_terminal_before_required_steps(events, "write_report");
        guarantees::prerequisite_with_matching_argument(events, "count_levels", "search_log", "file");
        guarantees::generations_are_bounded(events, ITERATIONS, TOKENS);
        guarantees::calls_and_results_pair(&guarantees::report(events).messages);
    }
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!said.contains(" MB of "), "the second run must not download: {said}");
    let report = guarantees::report(&events);
    match &report.outcome {
        RunOutcome::Done { call, result } => {
            assert_eq!(second.status.code(), Some(0));
            assert_eq!(call.name, "write_report");
            let path = result.trim().strip_prefix("Report written to ").unwrap();
            assert!(Path::new(path).is_file(), "the report is where the tool says: {path}");
            assert!(report.pending_steps.is_empty());
        }
        RunOutcome::Interrupted { interrupt } => {
            assert_eq!(second.status.code(), Some(5), "{interrupt}");
        }
        other => panic!("a run on a working server ends done or interrupted, not {other:?}"),
    }
}
