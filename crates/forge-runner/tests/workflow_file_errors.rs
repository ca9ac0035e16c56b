//! What a workflow file that can't work is told.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic, also outside its own function")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use forge_runner::{WorkflowFile, WorkflowFileError};

fn refused(path: impl AsRef<Path>) -> WorkflowFileError {
    match WorkflowFile::load(path.as_ref(), &BTreeMap::new()) {
        Ok(loaded) => panic!("{} was accepted: {loaded:?}", path.as_ref().display()),
        Err(error) => error,
    }
}

/// The broken files, by name. Paths in messages are as given, so these are relative.
fn broken_files() -> Vec<PathBuf> {
    let folder = Path::new("tests/fixtures/broken");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    files.sort();
    files
}

/// Absolute paths differ from machine to machine.
fn portable(text: &str) -> String {
    text.replace(env!("CARGO_MANIFEST_DIR"), "[crate]")
}

#[test]
fn each_broken_file_is_explained() {
    for path in broken_files() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        insta::with_settings!({ description => name.clone(), omit_expression => true }, {
            insta::assert_snapshot!(name, portable(&refused(&path).to_string()));
        });
    }
}

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_missing_file_is_said_with_what_is_there() {
    let error = refused("tests/fixtures/good/ful.toml");
    insta::assert_snapshot!("missing-file", error);
}

#[test]
fn a_missing_folder_is_said() {
    insta::assert_snapshot!("missing-folder", refused("tests/no/such/folder/x.toml"));
}

#[test]
fn a_folder_is_no_file() {
    insta::assert_snapshot!("folder", refused("tests/fixtures/good"));
}

#[test]
fn a_variable_that_is_not_declared_is_refused() {
    let error = WorkflowFile::load("tests/fixtures/good/full.toml", &variables(&[("proudct", "x")])).unwrap_err();
    insta::assert_snapshot!("undeclared-variable", error);
}

#[test]
fn problems_have_lines_and_columns() {
    let error = refused("tests/fixtures/broken/terminal-required.toml");
    let positions: Vec<_> = error.diagnostics().iter().map(|diagnostic| error.position(diagnostic)).collect();
    assert_eq!(positions, [Some((4, 3))]);
}

#[test]
fn colours_are_only_where_they_are_asked_for() {
    let error = refused("tests/fixtures/broken/unknown-key.toml");
    assert!(error.render(true).contains('\u{1b}') && !error.render(false).contains('\u{1b}'));
}
