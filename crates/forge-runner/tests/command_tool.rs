//! Command tools with real processes that behave badly.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic, also outside its own function")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use forge_core::{Arguments, CallId, Outcome};
use forge_runner::{CommandLine, CommandTool, Tool, ToolContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A tool that runs a script of the shell; only tests do that. `{name}` in `arguments` is filled in, the script has
/// `$1`, `$2` ….
fn script(script: &str, arguments: &[&str]) -> CommandTool {
    let line = CommandLine::new("/bin/sh").group(&["-c", &script.replace('{', "{{").replace('}', "}}"), "sh"]);
    let line = arguments.iter().fold(line, |line, element| line?.element(element));
    CommandTool::new(line.unwrap()).timeout(Duration::from_secs(30))
}

async fn call(tool: &CommandTool, arguments: Value) -> Outcome {
    call_with(tool, arguments, &CancellationToken::new()).await
}

async fn call_with(tool: &CommandTool, arguments: Value, cancellation: &CancellationToken) -> Outcome {
    let arguments = Arguments::from_json(&arguments.to_string()).unwrap();
    let context = ToolContext { call_id: CallId::new("call_1"), cancellation: cancellation.clone() };
    tool.call(&arguments, &context).await
}

fn success(text: &str) -> Outcome {
    Outcome::Success(text.to_owned())
}

/// Whether a process is there and not a zombie.
fn is_alive(process: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", process]).output().unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// Waits until a file has a whole line, and gives it.
async fn first_line(path: &Path) -> String {
    loop {
        if let Some((line, _)) = std::fs::read_to_string(path).unwrap_or_default().split_once('\n') {
            return line.to_owned();
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until a process is gone.
async fn gone(process: &str) {
    while is_alive(process) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn arguments_never_meet_a_shell() {
    let tool = script("printf '%s|' \"$@\"", &["{a}", "x={b}"]);
    let outcome = call(&tool, json!({"a": "$(id) `id` ; * \"'", "b": "\n\\"})).await;
    assert_eq!(outcome, success("$(id) `id` ; * \"'|x=\n\\|"));
}

#[tokio::test]
async fn arguments_are_on_standard_input_byte_for_byte() {
    let text = r#"{ "b": 1.0, "a": "é" }"#;
    let context = ToolContext { call_id: CallId::new("c"), cancellation: CancellationToken::new() };
    let outcome = script("cat", &[]).call(&Arguments::from_json(text).unwrap(), &context).await;
    assert_eq!(outcome, success(text));
}

#[tokio::test]
async fn standard_input_is_closed() {
    assert_eq!(call(&script("cat >/dev/null; echo ended", &[]), json!({})).await, success("ended"));
}

#[tokio::test]
async fn a_command_may_ignore_large_input() {
    let outcome = call(&script("echo done", &[]), json!({"text": "x".repeat(5_000_000)})).await;
    assert_eq!(outcome, success("done"));
}

#[tokio::test]
async fn large_input_and_large_output_cross_without_a_deadlock() {
    let tool = script("cat", &[]).output_limit(1000);
    let Outcome::Success(text) = call(&tool, json!({"text": "x".repeat(5_000_000)})).await else { panic!() };
    assert!(text.contains("bytes were cut here"), "{text}");
}

#[tokio::test]
async fn fifty_megabytes_are_read_and_cut() {
    let tool = script("echo head; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo tail", &[]).output_limit(100);
    let Outcome::Success(text) = call(&tool, json!({})).await else { panic!() };
    let expected =
        format!("head\n{}\n[… 49999911 of 50000011 bytes were cut here …]\n{}\ntail", "x".repeat(45), "x".repeat(44));
    assert_eq!(text, expected);
}

#[tokio::test]
async fn invalid_utf8_is_replaced_visibly() {
    assert_eq!(call(&script(r"printf 'a\377b'", &[]), json!({})).await, success("a\u{fffd}b"));
}

#[tokio::test]
async fn no_output_is_an_empty_success() {
    assert_eq!(call(&script(":", &[]), json!({})).await, success(""));
}

#[tokio::test]
async fn exit_66_is_no_data() {
    let cases = [
        ("echo nothing there; exit 66", "nothing there"),
        ("echo nothing there >&2; exit 66", "nothing there"),
        ("exit 66", "there is no such data"),
    ];
    for (text, expected) in cases {
        assert_eq!(call(&script(text, &[]), json!({})).await, Outcome::NoData(expected.to_owned()), "{text}");
    }
}

#[tokio::test]
async fn a_failure_tells_the_code_and_what_was_printed() {
    let cases = [
        ("exit 3", "the command failed with exit code 3; it printed nothing"),
        ("echo why >&2; exit 1", "the command failed with exit code 1:\nwhy"),
        ("echo out; exit 1", "the command failed with exit code 1; its standard output:\nout"),
        (
            "echo out; echo why >&2; exit 1",
            "the command failed with exit code 1; its standard output:\nout\nits error output:\nwhy",
        ),
        ("kill -KILL $$", "the command was killed by signal 9 (SIGKILL); it printed nothing"),
        ("echo why >&2; kill -SEGV $$", "the command was killed by signal 11 (SIGSEGV):\nwhy"),
    ];
    for (text, expected) in cases {
        assert_eq!(call(&script(text, &[]), json!({})).await, Outcome::Failure(expected.to_owned()), "{text}");
    }
}

#[tokio::test]
async fn a_command_that_never_ends_is_stopped_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let tool = script("echo early; (echo $$ >&2; sleep 1000) & echo $! > \"$1\"; wait", &["{pid}"]);
    let tool = tool.timeout(Duration::from_secs(3));
    let Outcome::TimedOut(text) = call(&tool, json!({"pid": pid.to_str().unwrap()})).await else { panic!() };
    assert!(text.starts_with("the command was stopped because it didn't end within 3s"), "{text}");
    assert!(text.contains("early"), "{text}");
    gone(&first_line(&pid).await).await;
}

#[tokio::test]
async fn a_command_that_ignores_the_request_to_end_is_killed() {
    let tool = script("trap '' TERM; while :; do :; done", &[]).timeout(Duration::from_millis(100));
    assert!(matches!(call(&tool, json!({})).await, Outcome::TimedOut(_)));
}

#[tokio::test]
async fn cancellation_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let tool = script("sleep 1000 & echo $! > \"$1\"; wait", &["{pid}"]);
    let cancellation = CancellationToken::new();
    let cancel = async {
        let process = first_line(&pid).await;
        cancellation.cancel();
        process
    };
    let arguments = json!({"pid": pid.to_str().unwrap()});
    let (outcome, process) = tokio::join!(call_with(&tool, arguments, &cancellation), cancel);
    assert_eq!(outcome, Outcome::Cancelled);
    gone(&process).await;
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let tool = script("sleep 1000 & echo $! > \"$1\"; wait", &["{pid}"]);
    let process = tokio::select! {
        _ = call(&tool, json!({"pid": pid.to_str().unwrap()})) => panic!("it ended"),
        process = first_line(&pid) => process,
    };
    gone(&process).await;
}

#[tokio::test]
async fn a_background_process_that_keeps_the_pipe_open_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let tool = script("sleep 1000 & echo $! > \"$1\"; echo done", &["{pid}"]);
    assert_eq!(call(&tool, json!({"pid": pid.to_str().unwrap()})).await, success("done"));
    gone(&first_line(&pid).await).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_with_the_pipe_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let tool = script("setsid sh -c 'echo $$ > \"$1\"; exec sleep 1000' sh \"$1\" & echo done", &["{pid}"]);
    assert_eq!(call(&tool, json!({"pid": pid.to_str().unwrap()})).await, success("done"));
    Command::new("kill").arg(first_line(&pid).await).status().unwrap();
}

#[tokio::test]
async fn no_zombie_is_left() {
    let tool = script("echo $$", &[]);
    let Outcome::Success(process) = call(&tool, json!({})).await else { panic!() };
    assert!(!Path::new("/proc").join(process).exists());
}

#[tokio::test]
async fn the_environment_is_an_allow_list() {
    let tool = script("env | cut -d= -f1 | sort | tr '\\n' ' '", &[]).environment(["CARGO_PKG_NAME".to_owned()]);
    let Outcome::Success(names) = call(&tool, json!({})).await else { panic!() };
    let allowed: Vec<&str> =
        forge_runner::ALWAYS_PASSED.iter().copied().chain(["CARGO_PKG_NAME", "PWD", "_"]).collect();
    for name in names.split_whitespace().filter(|name| !matches!(*name, "SHLVL" | "OLDPWD")) {
        assert!(allowed.contains(&name), "{name} was passed");
    }
    assert!(names.contains("PATH") && names.contains("CARGO_PKG_NAME"), "{names}");
}

#[tokio::test]
async fn the_working_directory_is_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    assert_eq!(call(&script("pwd -P", &[]).workdir(&path), json!({})).await, success(path.to_str().unwrap()));
}

#[tokio::test]
async fn what_no_command_line_can_carry_is_a_failure_in_words() {
    let cases =
        [(json!({"a": "x\0y"}), "NUL character"), (json!({"a": "x".repeat(3_000_000)}), "too long for a command line")];
    for (arguments, expected) in cases {
        let Outcome::Failure(text) = call(&script("echo", &["{a}"]), arguments).await else { panic!() };
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_failure_in_words() {
    let outcome = call(&CommandTool::new(CommandLine::new("/no/such/program")), json!({})).await;
    let Outcome::Failure(text) = outcome else { panic!() };
    assert!(text.starts_with("the command `/no/such/program` could not be run: No such file"), "{text}");
}
