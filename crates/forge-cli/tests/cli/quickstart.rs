//! `forge quickstart`, as far as it can be driven without a model; `real_model.rs` has the rest.

use std::process::{Command, Output};

fn quickstart(arguments: &[&str]) -> Output {
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
    command.env("FORGE_CACHE_DIR", cache.path()).env("HF_ENDPOINT", "http://127.0.0.1:9");
    command.arg("quickstart").args(arguments).output().unwrap()
}

#[test]
fn a_model_file_that_is_not_there_is_named_before_anything_is_fetched() {
    let output = quickstart(&["--gguf", "no/such.gguf"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("no/such.gguf") && !said.contains("MB of"), "{said}");
}

#[test]
fn a_server_that_is_down_is_named() {
    let output = quickstart(&["--backend-url", "http://127.0.0.1:9"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("http://127.0.0.1:9"), "{said}");
}

#[test]
fn two_sources_of_a_model_are_a_usage_error() {
    let output = quickstart(&["--gguf", "a.gguf", "--model", "qwen3-8b"]);
    assert_eq!(output.status.code(), Some(2));
}
