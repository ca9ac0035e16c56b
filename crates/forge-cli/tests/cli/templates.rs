//! `forge templates`, and runs that speak with texts from a folder.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::run::{Folder, WORKFLOW, stderr, stdout, well_behaved};
use crate::support::model_server::{ModelServer, Reply};

fn forge(folder: &TempDir, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forge")).arg("templates").args(args).current_dir(folder.path()).output().unwrap()
}

fn write(folder: &Path, name: &str, source: impl AsRef<[u8]>) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), source).unwrap();
}

/// A folder of texts that holds one file, checked.
fn checked(name: &str, source: impl AsRef<[u8]>) -> Output {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("texts"), name, source);
    forge(&folder, &["check", "texts"])
}

#[track_caller]
fn assert_refused(output: &Output, parts: &[&str]) {
    assert_eq!(output.status.code(), Some(1), "{}", stdout(output));
    let said = stderr(output);
    for part in parts {
        assert!(said.contains(part), "{part:?} is missing in: {said}");
    }
}

#[test]
fn the_list_says_what_each_text_is_for_and_its_variables() {
    let said = stdout(&forge(&TempDir::new().unwrap(), &["list"]));
    for part in ["failure.md  The result of a tool that failed.", "    left ", "how often the tool may still be tried"]
    {
        assert!(said.contains(part), "{part:?} is missing in: {said}");
    }
}

#[test]
fn show_prints_the_source() {
    let folder = TempDir::new().unwrap();
    let said = stdout(&forge(&folder, &["show", "failure.md"]));
    assert!(said.starts_with("{{ result }}\n\n[`{{ tool }}` failed."), "{said}");
    assert_eq!(said, stdout(&forge(&folder, &["show", "failure"])));
}

#[test]
fn show_of_an_unknown_name_names_the_nearest() {
    let output = forge(&TempDir::new().unwrap(), &["show", "failed"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `failure.md`?"), "{}", stderr(&output));
}

#[test]
fn what_is_exported_is_sound() {
    let folder = TempDir::new().unwrap();
    let exported = stdout(&forge(&folder, &["export", "a/texts"]));
    let checked = forge(&folder, &["check", "a/texts"]);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    let mut written: Vec<_> = exported.lines().map(|line| line.replace("wrote ", "OK ")).collect();
    written.sort();
    assert!(written.len() > 20, "{exported}");
    assert_eq!(stdout(&checked).lines().collect::<Vec<_>>(), written);
}

#[test]
fn export_overwrites_changed_files_only_when_told() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("texts"), "failure.md", "Mine: {{ result }}");
    let output = forge(&folder, &["export", "texts"]);
    assert_refused(&output, &["nothing was written: failure.md in texts differ", "--force"]);
    assert_eq!(std::fs::read_dir(folder.path().join("texts")).unwrap().count(), 1);
    assert_eq!(forge(&folder, &["export", "texts", "--force"]).status.code(), Some(0));
    assert!(!std::fs::read_to_string(folder.path().join("texts/failure.md")).unwrap().contains("Mine"));
    let again = stdout(&forge(&folder, &["export", "texts"]));
    assert!(again.lines().all(|line| line.starts_with("kept ")), "{again}");
}

#[test]
fn an_unknown_variable_is_refused_with_its_line_and_the_known_ones() {
    let output = checked("no_data.md", "{{ result }}\n{{ reslt }}\n");
    assert_refused(&output, &["texts/no_data.md:2:4", "not given `reslt`", "`tool`, `result`, `left`"]);
}

#[test]
fn a_value_that_is_not_always_there_is_refused_with_the_way_out() {
    let output = checked("text_only.md", "Call {{ next|first }}.");
    assert_refused(&output, &["texts/text_only.md:1:9", "`next|first` has no value in some cases", "{% if"]);
}

#[test]
fn a_syntax_error_is_refused_with_its_line() {
    assert_refused(&checked("empty.md", "Say something.\n{% if %}"), &["texts/empty.md:2:1", "no valid template"]);
}

#[test]
fn a_file_that_is_no_text_of_the_engine_is_refused_with_the_nearest_name() {
    assert_refused(&checked("text-only.md", "x"), &["texts/text-only.md", "did you mean `text_only.md`?"]);
}

#[test]
fn a_file_that_is_not_utf8_is_refused() {
    assert_refused(&checked("empty.md", b"caf\xe9"), &["texts/empty.md:1:4", "UTF-8"]);
}

#[test]
fn a_folder_in_the_place_of_a_text_is_refused() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("texts/empty.md"), "x", "x");
    assert_refused(&forge(&folder, &["check", "texts"]), &["texts/empty.md", "this is a folder, not a template"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_can_not_be_read_is_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("texts")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("texts/empty.md")).unwrap();
    assert_refused(&forge(&folder, &["check", "texts"]), &["texts/empty.md", "can't be read"]);
}

#[test]
fn a_missing_and_an_empty_folder_are_refused() {
    let folder = TempDir::new().unwrap();
    assert_refused(&forge(&folder, &["check", "texts"]), &["there is no folder `texts`"]);
    std::fs::create_dir(folder.path().join("texts")).unwrap();
    assert_refused(&forge(&folder, &["check", "texts"]), &["holds no templates", "export"]);
}

#[test]
fn sound_files_beside_a_broken_one_are_told() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("texts"), "empty.md", "{{ nope }}");
    write(&folder.path().join("texts"), "failure.md", "{{ result }}");
    let output = forge(&folder, &["check", "texts"]);
    assert_refused(&output, &["nope"]);
    assert_eq!(stdout(&output), "OK texts/failure.md\n");
}

/// What the model was told after an answer in text.
fn told(server: &ModelServer) -> String {
    let requests = server.requests();
    let messages = requests[1]["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].to_string()
}

fn talks_first() -> ModelServer {
    let [look_up, greet] = well_behaved();
    ModelServer::play([Reply::Text("Hello!".to_owned()), look_up, greet])
}

#[test]
fn a_run_speaks_with_the_texts_of_its_workflow_file() {
    let (folder, server) = (Folder::new(), talks_first());
    std::fs::write(folder.path("workflow.toml"), format!("templates_dir = \"texts\"\n{WORKFLOW}")).unwrap();
    write(&folder.path("texts"), "text_only.md", "Do call {% if next %}{{ next|first }}{% endif %}, please.");
    let output = folder.forge(&server.url).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(told(&server).contains("Do call look_up, please."), "{}", told(&server));
}

#[test]
fn texts_of_the_command_line_stand_in_the_place_of_the_files() {
    let (folder, server) = (Folder::new(), talks_first());
    std::fs::write(folder.path("workflow.toml"), format!("templates_dir = \"missing\"\n{WORKFLOW}")).unwrap();
    write(&folder.path("other"), "text_only.md", "No words.");
    let output = folder.forge(&server.url).args(["--templates", "other"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(told(&server).contains("No words."), "{}", told(&server));
}

#[test]
fn a_broken_text_is_refused_before_the_model_is_asked() {
    let (folder, server) = (Folder::new(), talks_first());
    std::fs::write(folder.path("workflow.toml"), format!("templates_dir = \"texts\"\n{WORKFLOW}")).unwrap();
    write(&folder.path("texts"), "text_only.md", "x\n{{ tol }}");
    for arguments in [&[] as &[&str], &["--templates", "texts"]] {
        let output = folder.forge(&server.url).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("texts/text_only.md:2:4"), "{}", stderr(&output));
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_missing_folder_of_texts_is_told_at_its_key() {
    let folder = Folder::new();
    std::fs::write(folder.path("workflow.toml"), format!("templates_dir = \"texts\"\n{WORKFLOW}")).unwrap();
    let output = folder.forge("http://127.0.0.1:9").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("workflow.toml:1:17") && said.contains("there is no folder `texts`"), "{said}");
}
