//! `forge check` in front of a server that answers by script.

use std::process::{Command, Output};

use serde_json::{Value, json};

use super::run::{stderr, stdout};
use super::support::model_server::{ModelServer, Reply};

fn check(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
    command.args(["check", "--backend-url", url]).args(arguments).env_remove("FORGE_BACKEND_URL").output().unwrap()
}

fn in_text() -> Reply {
    Reply::Text(r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>"#.to_owned())
}

#[test]
fn a_server_that_loses_calls_and_enforces_schemas_is_told_apart() {
    let bare = Reply::Text(r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#.to_owned());
    let server = ModelServer::play([in_text(), Reply::Text("Hello!".to_owned()), bare, in_text()]);
    let output = check(&server.url, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    for line in [
        "model            scripted",
        "context window   8192 tokens",
        "calls            in the text, as hermes; Forge reads them",
        "required call    not enforced",
        "JSON schema      yes",
        "parallel calls   1 of 2",
        "thinking         none",
        "recommended      --tool-mode native; calls are enforced by a JSON schema",
    ] {
        assert!(table.contains(line), "{line}\n{table}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| request["max_tokens"] == 128 && request["tools"].is_array()));
}

#[test]
fn structured_calls_and_ignored_schemas_are_told_apart_as_json() {
    let call = || Reply::Call("get_weather", json!({"city": "Oslo"}));
    let server = ModelServer::play([call(), call(), Reply::Text("Knock, knock.".to_owned()), call()]);
    let output = check(&server.url, &["--json"]);
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["calls"]["seen"]["form"], "structured");
    assert_eq!((&found["required"]["seen"], &found["json_schema"]["seen"]), (&json!(true), &json!(false)));
    assert_eq!(found["recommendation"]["enforced_by"], "tool_choice");
}

#[test]
fn a_question_that_is_refused_is_a_finding() {
    let refusal = json!({"error": {"code": 400, "message": "tools are not supported"}}).to_string();
    let server = ModelServer::play([Reply::Raw(400, "application/json", refusal)]);
    let output = check(&server.url, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    assert!(table.contains("tools are not supported") && table.contains("--tool-mode prompt"), "{table}");
}

#[test]
fn a_server_that_is_down_has_its_own_exit_code() {
    let output = check("http://127.0.0.1:9", &[]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("http://127.0.0.1:9"), "{}", stderr(&output));
}
