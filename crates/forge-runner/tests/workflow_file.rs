//! What a workflow file becomes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic, also outside its own function")]

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;

use forge_backend::{ContextBudget, ReasoningReplay, Sampling, ToolMode};
use forge_core::{
    Arguments, Budgets, CallId, Compactor, ConstraintMode, HintMode, Ladder, Outcome, Prerequisite, Respond, StepOrder,
    TextPolicy, TieredCompact,
};
use forge_runner::{ContextOptions, LoadedWorkflow, RunnerOptions, ToolContext, WorkflowFile};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn load(variables: &[(&str, &str)]) -> LoadedWorkflow {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    WorkflowFile::load("tests/fixtures/good/full.toml", &variables).unwrap_or_else(|error| panic!("{error}"))
}

/// The lines a tool of the file prints for these arguments.
async fn printed(loaded: &LoadedWorkflow, tool: &str, arguments: Value) -> Vec<String> {
    let context = ToolContext { call_id: CallId::new("call_1"), cancellation: CancellationToken::new() };
    let arguments = Arguments::from_json(&arguments.to_string()).unwrap();
    let Outcome::Success(text) = loaded.workflow.tool(tool).unwrap().call(&arguments, &context).await else { panic!() };
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_key_arrives() {
    let loaded = load(&[]);
    let workflow = loaded.workflow.workflow();
    assert_eq!((workflow.name(), workflow.description()), ("full", "Shows every key."));
    assert_eq!(workflow.required_steps(), ["list", "search"]);
    assert_eq!(workflow.terminal_tools(), ["report"]);
    assert_eq!(workflow.step_order(), StepOrder::Listed);
    assert_eq!(workflow.text(), TextPolicy::Nudge);
    assert_eq!(workflow.respond(), Some(Respond::Plain));
    assert_eq!(workflow.hints(), HintMode::Always);
    assert_eq!(workflow.constraint(), ConstraintMode::Ladder);
    assert_eq!(workflow.ladder(), Ladder { call_required_after: None, only_legal_after: Some(2) });
    assert_eq!(workflow.prerequisites("search"), [Prerequisite::success_of("list")]);
    assert_eq!(workflow.prerequisites("report"), [Prerequisite::same_argument("search", "file")]);
    let budgets = Budgets {
        format_retries: 4,
        tool_errors: 3,
        premature_attempts: 2,
        prerequisite_violations: 1,
        repetitions: 5,
        failures_per_tool: 6,
        iterations: 16,
    };
    assert_eq!(*workflow.budgets(), budgets);
    assert_eq!(["list", "search", "report"].map(|tool| workflow.failure_limit(tool)), [5, 6, 2]);
    let sampling = Sampling { temperature: Some(0.0), top_p: Some(0.9), seed: Some(7) };
    let (tool_mode, reasoning) = (Some(ToolMode::Prompted), ReasoningReplay::Last);
    let context = ContextOptions::new(
        ContextBudget::Tokens(NonZeroU64::new(6000).unwrap()),
        Compactor::Tiered(TieredCompact::with_thresholds(3, [0.5, 0.7, 0.9]).unwrap()),
    );
    let context = context.warn_at([0.8]).unwrap();
    let options =
        RunnerOptions { max_tokens: 400, retry_max_tokens: Some(800), tool_mode, reasoning, sampling, context };
    assert_eq!(loaded.options, options);
}

#[test]
fn tools_and_their_parameters_keep_their_order() {
    let loaded = load(&[]);
    let tools = loaded.workflow.workflow().tools();
    let names: Vec<_> = tools.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["list", "search", "report", "respond"]);
    let expected = r#"{"type":"object","required":["file"],"additionalProperties":false,"properties":{"file":{"type":"string"},"lines":{"type":"array","items":{"type":"integer","minimum":1}}}}"#;
    assert_eq!(tools[2].parameters.to_string(), expected);
}

#[test]
fn the_prompt_has_its_variables() {
    assert_eq!(load(&[]).workflow.system_prompt().trim(), "You look after a web shop.");
    let loaded = load(&[("product", "a bank"), ("owner", "the bank")]);
    assert_eq!(loaded.workflow.system_prompt().trim(), "You look after a bank.\nIt belongs to the bank.");
}

#[cfg(unix)]
#[tokio::test]
async fn variables_stand_in_command_lines() {
    let folder = std::path::absolute("tests/fixtures/good").unwrap().display().to_string();
    assert_eq!(printed(&load(&[]), "list", json!({})).await, [folder.as_str(), "--encoding=utf-8"]);
    let loaded = load(&[("owner", "me"), ("encoding", "latin-1")]);
    assert_eq!(printed(&loaded, "list", json!({})).await, [folder.as_str(), "--encoding=latin-1", "me"]);
}

#[cfg(unix)]
#[tokio::test]
async fn groups_and_braces_are_filled_in() {
    let arguments = json!({"file": "-a.log", "text": "x y"});
    assert_eq!(printed(&load(&[]), "search", arguments).await, ["--max=20", "--", "-a.log", "{x y}"]);
    let arguments = json!({"file": "a", "text": "t", "limit_to": 3});
    assert_eq!(printed(&load(&[]), "search", arguments).await, ["--limit", "3", "--max=20", "--", "a", "{t}"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_script_behind_its_interpreter_is_found() {
    let arguments = json!({"file": "a", "lines": [1, 2]});
    assert_eq!(printed(&load(&[]), "report", arguments).await, ["a", "1", "2"]);
}

#[test]
fn a_path_without_a_folder_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"n\"\nterminal_tool = \"t\"\n[tools.t]\ndescription = \"d\"\ncommand = [\"sh\"]\n";
    std::fs::write(folder.path().join("w.toml"), text).unwrap();
    let loaded = WorkflowFile::load(folder.path().join("w.toml"), &BTreeMap::new()).unwrap();
    assert_eq!(loaded.path, Path::new(&folder.path().join("w.toml")));
}
