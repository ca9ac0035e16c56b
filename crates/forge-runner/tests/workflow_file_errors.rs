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
