//! The user's guide says what the code does.

use std::collections::BTreeMap;

use super::WorkflowFile;
use super::keys::ALL;
use crate::ALWAYS_PASSED;

const GUIDE: &str = include_str!("../../../../docs/workflow-files.md");

#[test]
fn each_key_has_a_row() {
    for (keys, key) in ALL.iter().flat_map(|keys| keys.names.iter().map(move |key| (keys, key))) {
        let is_table = ["variables", "tools", "prerequisites", "budgets", "generation", "context"].contains(key);
        let described = if is_table { format!("[{key}") } else { format!("\n| `{key}` |") };
        assert!(GUIDE.contains(&described), "the guide doesn't describe `{key}`, a key {}", keys.place);
    }
}

#[test]
fn each_variable_that_is_always_passed_is_named() {
    for name in ALWAYS_PASSED {
        assert!(GUIDE.contains(&format!("`{name}`")), "the guide doesn't name {name}");
    }
}

#[test]
fn the_example_loads() {
    let (_, rest) = GUIDE.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tools")).unwrap();
    for script in ["list_changes.sh", "read_change.sh", "write_notes.py"] {
        std::fs::write(folder.path().join("tools").join(script), "").unwrap();
    }
    let path = folder.path().join("workflow.toml");
    std::fs::write(&path, example).unwrap();
    if let Err(error) = WorkflowFile::load(&path, &BTreeMap::new()) {
        panic!("{error}");
    }
}
