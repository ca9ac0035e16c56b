//! Every case of the case files that this crate reads, whole and cut at every place.

use forge_parse::cases::Case;
use forge_parse::{Fault, Parsed, Toolset};

fn cases() -> Result<Vec<Case>, serde_json::Error> {
    let files = [include_str!("fixtures/cases.jsonl"), include_str!("fixtures/notations.jsonl")];
    let cases: Result<Vec<Case>, _> = files.iter().flat_map(|file| file.lines()).map(serde_json::from_str).collect();
    cases.map(|cases| cases.into_iter().filter(Case::is_readable).collect())
}

/// The facts a nudge is made of, without its words.
fn told(parsed: &Parsed, toolset: &Toolset) -> String {
    let faults: Vec<_> = parsed.faults().collect();
    let cut = faults.iter().any(|fault| matches!(fault, Fault::Truncated { .. }));
    let names: Vec<_> = toolset.names().collect();
    format!("{faults:?} {names:?} {}", if cut { "cut off" } else { "" })
}

#[test]
fn every_case_is_read_as_expected() {
    let mut failed = Vec::new();
    let cases = cases().unwrap();
    for case in &cases {
        let toolset = case.toolset().unwrap();
        let parsed = case.read(&toolset);
        let faults = case.judge(&parsed, &told(&parsed, &toolset));
        if !faults.is_empty() {
            failed.push(format!("{}: {}", case.id, faults.join("; ")));
        }
    }
    assert!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn no_cut_changes_a_reading() {
    for case in cases().unwrap().iter().filter(|case| case.tool.is_none()) {
        let toolset = case.toolset().unwrap();
        let whole = case.read(&toolset);
        for (cut, _) in case.raw().char_indices() {
            assert_eq!(case.read_split(&toolset, &[cut]), whole, "{} cut at {cut}", case.id);
        }
        let every: Vec<_> = case.raw().char_indices().map(|(at, _)| at).collect();
        assert_eq!(case.read_split(&toolset, &every), whole, "{} character by character", case.id);
    }
}
