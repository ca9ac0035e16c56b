//! No damage to a workflow file makes reading it panic, and each is explained at a place that exists.
#![expect(clippy::unwrap_used, reason = "a test may panic, also outside its own function")]

use std::collections::BTreeMap;
use std::path::Path;

use forge_runner::WorkflowFile;

const INTACT: &str = include_str!("fixtures/good/full.toml");

/// Reads the damaged file in the place of the intact one; where it is refused, the refusal has to be printable.
fn read(folder: &Path, damaged: &str) {
    let path = folder.join("workflow.toml");
    std::fs::write(&path, damaged).unwrap();
    let Err(error) = WorkflowFile::load(&path, &BTreeMap::new()) else { return };
    assert!(!error.diagnostics().is_empty(), "refused without a reason: {damaged}");
    assert!(error.render(false).starts_with("error: "));
    for diagnostic in error.diagnostics().iter().filter(|diagnostic| diagnostic.span().is_some()) {
        let (line, _) = error.position(diagnostic).unwrap();
        assert!(line <= damaged.split('\n').count(), "line {line} of {damaged}");
    }
}

/// A folder with what the file names.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tools")).unwrap();
    for file in ["search.json", "tools/show.sh"] {
        std::fs::copy(Path::new("tests/fixtures/good").join(file), folder.path().join(file)).unwrap();
    }
    folder
}

/// Every so many characters; a sample, because a reading compiles three schemas.
fn each_position(step: usize, damage: impl Fn(&str, &str, usize) -> String) {
    let folder = folder();
    for (index, (position, _)) in INTACT.char_indices().enumerate().step_by(step) {
        let (before, after) = INTACT.split_at(position);
        read(folder.path(), &damage(before, after, index));
    }
}

#[test]
fn cut_anywhere() {
    each_position(5, |before, _, _| before.to_owned());
}

#[test]
fn a_character_lost_anywhere() {
    each_position(3, |before, after, _| format!("{before}{}", after.chars().skip(1).collect::<String>()));
}

#[test]
fn a_character_put_in_anywhere() {
    let characters = ['{', '"', 'é', '\n', '\\', '['];
    each_position(1, |before, after, index| format!("{before}{}{after}", characters[index % characters.len()]));
}

#[test]
fn a_line_lost_anywhere() {
    let folder = folder();
    let lines: Vec<&str> = INTACT.lines().collect();
    for lost in 0..lines.len() {
        let rest: Vec<&str> =
            lines.iter().enumerate().filter(|(index, _)| *index != lost).map(|(_, line)| *line).collect();
        read(folder.path(), &rest.join("\n"));
    }
}
