//! `forge run`, driven as a user would drive it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::guarantees;
use crate::support::model_server::{ModelServer, Reply};
use serde_json::{Value, json};

pub(crate) const WORKFLOW: &str = r#"
name = "greeting"
description = "Greets somebody."
system_prompt = "You greet people. The tone is {{ tone }}."
required_steps = ["look_up"]
terminal_tools = ["greet"]

[variables.tone]
default = "friendly"

[budgets]
iterations = 6

[tools.look_up]
description = "Looks a person up."
command = ["python3", "-c", "print('Ada likes tea')"]

[tools.greet]
description = "Greets."
command = ["python3", "-c", "import sys, json; print('Hello, ' + json.load(sys.stdin)['name'])"]
parameters = { type = "object", required = ["name"], properties = { name = { type = "string" } } }
"#;

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("workflow.toml"), WORKFLOW).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn forge(&self, url: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
        command.current_dir(self.0.path()).env_remove("FORGE_API_KEY").env_remove("FORGE_MODEL");
        command.args(["run", "workflow.toml", "Greet Ada", "--backend-url", url]);
        command
    }
}

pub(crate) fn well_behaved() -> [Reply; 2] {
    [Reply::Call("look_up", json!({})), Reply::Call("greet", json!({"name": "Ada"}))]
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_run_that_is_done_prints_the_result_alone_on_the_standard_output() {
    let folder = Folder::new();
    let server = ModelServer::play(well_behaved());
    let output = folder.forge(&server.url).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "Hello, Ada\n");
    let said = stderr(&output);
    for part in ["look_up", "Ada likes tea", "step look_up", "greet", "1 of 1", "2 generations"] {
        assert!(said.contains(part), "{part:?} is missing in: {said}");
    }
}

#[test]
fn a_call_in_a_dialect_is_rescued_and_the_rescue_is_shown() {
    let folder = Folder::new();
    let server = ModelServer::play([
        Reply::Text("Sure.\n<tool_call>\n{\"name\": \"look_up\", \"arguments\": {}}\n</tool_call>".to_owned()),
        Reply::Text("```json\n{\"name\": \"greet\", \"arguments\": {\"name\": \"Ada\"}}\n```".to_owned()),
    ]);
    let output = folder.forge(&server.url).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("rescued from hermes"), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 rescued"), "{}", stderr(&output));
}

#[test]
fn a_premature_terminal_call_is_blocked_and_the_run_still_ends_well() {
    let folder = Folder::new();
    let server = ModelServer::play([
        Reply::Call("greet", json!({"name": "Ada"})),
        Reply::Call("look_up", json!({})),
        Reply::Call("greet", json!({"name": "Ada"})),
    ]);
    let trace = folder.path("run.jsonl");
    let output = folder.forge(&server.url).arg("--trace").arg(&trace).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("blocked greet: too early"), "{}", stderr(&output));
    let events = guarantees::read_trace(&trace);
    guarantees::no_terminal_before_required_steps(&events, "greet");
    guarantees::calls_and_results_pair(&guarantees::report(&events).messages);
}

#[test]
fn a_model_that_never_calls_is_interrupted_with_the_account() {
    let folder = Folder::new();
    let server = ModelServer::play([Reply::Text("I would rather talk about the weather.".to_owned())]);
    let output = folder.forge(&server.url).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("interrupted") && said.contains("open: look_up"), "{said}");
    assert_eq!(stdout(&output), "", "an interrupted run has no result");
}

#[test]
fn the_account_as_json_is_one_object_on_the_standard_output() {
    let folder = Folder::new();
    let server = ModelServer::play(well_behaved());
    let output = folder.forge(&server.url).args(["--json", "--quiet"]).output().unwrap();
    assert_eq!(stderr(&output), "");
    let account: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(account["outcome"]["outcome"], "done");
    assert_eq!(account["outcome"]["result"].as_str().unwrap().trim(), "Hello, Ada");
    assert_eq!(account["generations"], 2);
    assert_eq!(account["usage"]["completion_tokens"], 40);
}

#[test]
fn a_variable_of_the_command_line_reaches_the_model() {
    let folder = Folder::new();
    let server = ModelServer::play(well_behaved());
    folder.forge(&server.url).args(["--var", "tone=grave"]).output().unwrap();
    let requests = server.requests();
    let prompt = requests[0]["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.contains("The tone is grave."), "{prompt}");
}

#[test]
fn tools_go_into_the_prompt_where_that_is_asked_for() {
    let folder = Folder::new();
    for (mode, offered) in [("prompt", false), ("native", true), ("auto", true)] {
        let server = ModelServer::play(well_behaved());
        let output = folder.forge(&server.url).args(["--tool-mode", mode]).output().unwrap();
        assert!(output.status.success(), "{mode}: {}", stderr(&output));
        for request in server.requests() {
            assert_eq!(request.get("tools").is_some(), offered, "{mode}");
            let head = request["messages"][0]["content"].as_str().unwrap();
            assert_eq!(head.contains("# Tools"), !offered, "{mode}: {head}");
        }
    }
    let output = folder.forge("http://127.0.0.1:9").args(["--tool-mode", "magic"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("[possible values: auto, native, prompt]"), "{}", stderr(&output));
}

#[test]
fn every_generation_is_capped() {
    let folder = Folder::new();
    let server = ModelServer::play(well_behaved());
    folder.forge(&server.url).output().unwrap();
    for request in server.requests() {
        assert!(request["max_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{request}");
    }
}

#[test]
fn a_server_that_is_down_is_named_and_the_exit_code_says_so() {
    let folder = Folder::new();
    let output = folder.forge("http://127.0.0.1:9").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("http://127.0.0.1:9"), "{}", stderr(&output));
}

#[test]
fn a_server_that_answers_html_is_no_model_server() {
    let folder = Folder::new();
    let server = ModelServer::play([Reply::Raw(200, "text/html", "<html><body>Welcome!</body></html>".to_owned())]);
    let output = folder.forge(&server.url).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).to_lowercase().contains("html"), "{}", stderr(&output));
}

#[test]
fn a_stream_that_breaks_off_is_an_error_and_no_hang() {
    let folder = Folder::new();
    let server = ModelServer::play([Reply::BreakOff]);
    let output = folder.forge(&server.url).output().unwrap();
    assert_ne!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn a_server_without_tools_says_what_to_do() {
    let folder = Folder::new();
    let body = r#"{"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}"#;
    let server = ModelServer::play([Reply::Raw(500, "application/json", body.to_owned())]);
    let output = folder.forge(&server.url).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("--jinja"), "{}", stderr(&output));
}

#[test]
fn a_broken_workflow_file_has_its_own_exit_code_and_names_file_and_line() {
    let folder = Folder::new();
    let broken = WORKFLOW.replace("required_steps = [\"look_up\"]", "required_steps = [\"lookup\"]");
    std::fs::write(folder.path("workflow.toml"), broken).unwrap();
    let output = folder.forge("http://127.0.0.1:9").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("workflow.toml:5") && said.contains("lookup") && said.contains("look_up"), "{said}");
}

#[test]
fn a_trace_file_that_can_not_be_made_is_named() {
    let folder = Folder::new();
    let server = ModelServer::play(well_behaved());
    let output = folder.forge(&server.url).args(["--trace", "no/such/folder/run.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("no/such/folder/run.jsonl"), "{}", stderr(&output));
    assert!(server.requests().is_empty(), "nothing is generated for a run that can't be recorded");
}

#[test]
fn without_guardrails_text_is_the_result() {
    let folder = Folder::new();
    let server = ModelServer::play([Reply::Text("Hello to whom?".to_owned())]);
    let output = folder.forge(&server.url).args(["--guardrails", "bare"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Hello to whom?\n"), "{}", stderr(&output));
}

#[test]
fn a_set_of_guardrails_without_steps_lets_the_end_come_first() {
    let folder = Folder::new();
    let [_, greet] = well_behaved();
    let server = ModelServer::play([greet]);
    let output = folder.forge(&server.url).args(["--guardrails", "no_steps"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Hello, Ada\n"), "{}", stderr(&output));
}

#[test]
fn an_unknown_set_of_guardrails_is_refused_with_the_known_ones() {
    let folder = Folder::new();
    let output = folder.forge("http://127.0.0.1:9").args(["--guardrails", "no_nudges"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    for name in ["no_nudges", "reforged", "no_rescue", "no_recovery", "no_compact", "bare"] {
        assert!(stderr(&output).contains(name), "{name} is missing in: {}", stderr(&output));
    }
}

#[test]
fn a_variable_without_a_value_is_a_usage_error() {
    let folder = Folder::new();
    let output = folder.forge("http://127.0.0.1:9").args(["--var", "tone"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("NAME=VALUE"), "{}", stderr(&output));
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    let folder = Folder::new();
    let output = folder.forge("localhost:8080/v1").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("localhost:8080/v1"), "{}", stderr(&output));
}

#[test]
fn a_key_never_shows() {
    let folder = Folder::new();
    let server =
        ModelServer::play([Reply::Raw(401, "application/json", r#"{"error": {"message": "bad key"}}"#.to_owned())]);
    let trace = folder.path("run.jsonl");
    let output =
        folder.forge(&server.url).env("FORGE_API_KEY", "sk-very-secret").arg("--trace").arg(&trace).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let all = format!("{}{}{}", stdout(&output), stderr(&output), std::fs::read_to_string(trace).unwrap());
    assert!(!all.contains("very-secret"), "{all}");
}

/// Starts a run whose trace tells when the wanted event has happened, and interrupts it then.
#[cfg(unix)]
fn interrupt_after(folder: &Folder, mut command: Command, event: &str) -> (Output, Duration) {
    let trace = folder.path("run.jsonl");
    let child = command.arg("--trace").arg(&trace).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !std::fs::read_to_string(&trace).is_ok_and(|text| text.contains(event)) {
        assert!(Instant::now() < deadline, "{event} never happened");
        std::thread::sleep(Duration::from_millis(10));
    }
    let interrupted = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    (output, interrupted.elapsed())
}

#[cfg(unix)]
#[test]
fn ctrl_c_during_a_generation_ends_at_once_and_says_what_was_done() {
    let folder = Folder::new();
    let server = ModelServer::play([Reply::Call("look_up", json!({})), Reply::Stall]);
    let (output, _) = interrupt_after(&folder, folder.forge(&server.url), r#""event":"step_completed""#);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("cancelled") && stderr(&output).contains("1 of 1"), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn ctrl_c_during_a_tool_ends_the_tool_too() {
    let folder = Folder::new();
    let endless = WORKFLOW.replace(
        "print('Ada likes tea')",
        "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)",
    );
    std::fs::write(folder.path("workflow.toml"), endless).unwrap();
    let server = ModelServer::play(well_behaved());
    let (output, _) = interrupt_after(&folder, folder.forge(&server.url), r#""event":"tool_started""#);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let events = guarantees::read_trace(&folder.path("run.jsonl"));
    guarantees::calls_and_results_pair(&guarantees::report(&events).messages);
    if let Ok(pid) = std::fs::read_to_string(folder.path("pid")) {
        assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists(), "the tool {pid} lives on");
    }
}
