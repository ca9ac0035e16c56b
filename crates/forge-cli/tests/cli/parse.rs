//! `forge parse`, driven as somebody who reports a notation would.

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The case files of the parser, which the command has to judge as the parser's own tests do.
const CASES: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../forge-parse/tests/fixtures/cases.jsonl"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../forge-parse/tests/fixtures/notations.jsonl"),
];

fn forge() -> Command {
    let mut command = Command::cargo_bin("forge").unwrap();
    command.arg("parse");
    command
}

/// A folder with `tools.json`: one tool, `weather`, with a required `city` and an optional `days`.
fn tools() -> TempDir {
    let folder = TempDir::new().unwrap();
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    });
    let tools = json!([{"type": "function", "function": {"name": "weather", "parameters": schema}}]);
    std::fs::write(folder.path().join("tools.json"), tools.to_string()).unwrap();
    folder
}

fn report(arguments: &[&str], input: &str) -> Value {
    let folder = tools();
    let output = forge()
        .current_dir(folder.path())
        .args(["--tools", "tools.json"])
        .args(arguments)
        .write_stdin(input)
        .assert()
        .success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn a_call_in_text_is_reported_with_its_notation_and_repairs() {
    let report =
        report(&[], "On it.\n<tool_call>{'name': 'weather', 'arguments': {'city': 'Oslo', 'days': '2'}}</tool_call>");
    assert_eq!((&report["outcome"], &report["nudge"]), (&json!("calls"), &Value::Null));
    let call = &report["calls"][0];
    assert_eq!((&call["name"], &call["dialect"]), (&json!("weather"), &json!("hermes")));
    assert_eq!(call["arguments"], json!({"city": "Oslo", "days": 2}));
    assert!(!call["repairs"].as_array().unwrap().is_empty());
    assert_eq!(report["text"].as_str().unwrap().trim(), "On it.");
}

#[test]
fn pieces_give_the_same_report() {
    let text = "<think>hm</think>[TOOL_CALLS]weather[ARGS]{\"city\": \"Trom\u{f8}\"} ";
    assert_eq!(report(&["--stream-chunks", "19"], text), report(&[], text));
}

#[test]
fn wrong_arguments_are_an_error_that_names_them() {
    let report = report(&["--arguments", "weather"], "{\"days\": \"many\"}");
    assert_eq!(report["outcome"], "tool_error");
    let nudge = report["nudge"].as_str().unwrap();
    assert!(nudge.contains("city") && nudge.contains("days"), "{nudge}");
}

#[test]
fn a_cut_call_is_a_nudge_that_says_so() {
    let report = report(&["--finish-reason", "length"], "{\"name\": \"weather\", \"arguments\": {\"city\": \"Os");
    assert_eq!((&report["outcome"], &report["calls"]), (&json!("nudge"), &json!([])));
    assert!(report["nudge"].as_str().unwrap().contains("cut off"));
}

#[test]
fn a_valid_call_beside_a_faulty_one_is_withheld() {
    let report = report(
        &[],
        "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call><tool_call>{\"name\": \"whether\", \"arguments\": {}}</tool_call>",
    );
    assert_eq!((&report["outcome"], &report["calls"]), (&json!("nudge"), &json!([])));
    assert_eq!(report["withheld"][0]["name"], "weather");
}

#[test]
fn without_tools_everything_is_text() {
    let output = forge().write_stdin("{\"name\": \"weather\", \"arguments\": {}}").assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(report["outcome"], "text");
}

#[test]
fn every_case_of_the_case_files_passes() {
    for file in CASES {
        let output = forge().args(["--cases", file]).assert();
        let shown = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        let failed: Vec<_> = shown.lines().filter(|line| line.starts_with("FAIL")).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        output.success();
    }
}

#[test]
fn a_case_that_fails_ends_with_1_and_says_why() {
    let folder = TempDir::new().unwrap();
    let case = json!({
        "id": "wrong", "kind": "model_text", "tools": [], "raw": "Hello.",
        "expected": {"outcome": "calls", "calls": []},
    });
    std::fs::write(folder.path().join("cases.jsonl"), case.to_string()).unwrap();
    let output = forge().current_dir(folder.path()).args(["--cases", "cases.jsonl"]).assert().code(1);
    let shown = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert_eq!(shown, "FAIL wrong: outcome text where calls is expected\n0 of 1 passed\n");
}

#[test]
fn a_tools_file_that_holds_no_tools_is_refused_with_what_it_must_hold() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("tools.json"), "{}").unwrap();
    let output = forge().current_dir(folder.path()).args(["--tools", "tools.json"]).write_stdin("x").assert().code(1);
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("must hold an array of tools"), "{said}");
}
