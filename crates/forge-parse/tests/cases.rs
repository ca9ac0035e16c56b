//! Every case of the case file that this crate reads, whole and cut at every place.

use forge_parse::cases::Case;

fn cases() -> Vec<Case> {
    let file = include_str!("fixtures/cases.jsonl");
    let cases = file.lines().map(|line| serde_json::from_str::<Case>(line).expect("a case")).collect::<Vec<_>>();
    cases.into_iter().filter(Case::is_readable).collect()
}

#[test]
fn no_cut_changes_a_reading() {
    for case in cases().iter().filter(|case| case.tool.is_none()) {
        let toolset = case.toolset().expect("tools");
        let whole = case.read(&toolset);
        for (cut, _) in case.raw().char_indices() {
            assert_eq!(case.read_split(&toolset, &[cut]), whole, "{} cut at {cut}", case.id);
        }
        let every: Vec<_> = case.raw().char_indices().map(|(at, _)| at).collect();
        assert_eq!(case.read_split(&toolset, &every), whole, "{} character by character", case.id);
    }
}
