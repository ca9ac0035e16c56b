//! `dialects.md` beside this file is the table of the dialects, generated. This keeps the two in sync.

use std::fmt::Write as _;

use crate::DIALECTS;

fn code(text: &str) -> String {
    let text = text.replace('|', "\\|").replace('\n', "\u{21b5}");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

fn page() -> String {
    let mut page = "\
<!-- Generated from the table in the code. To renew it: FORGE_UPDATE_REFERENCE=1 cargo test -p forge-parse reference -->
# Dialects

Each row is one notation: what a call carries as its [`Dialect`], who writes it, its grammar, and a call of the tool `f`
with `{\"a\": \"1\"}`. Bars and underscores in markers stand for their look-alikes as well (`\u{ff5c}`, `\u{2581}`); `\u{21b5}` is a
line break. A dialect that is JSON in a tag takes one row of [`DIALECTS`] and one fixture.

| dialect | written by | grammar | example |
|---|---|---|---|
"
    .to_owned();
    for row in DIALECTS {
        let example = code(row.example);
        writeln!(page, "| `{}` | {} | {} | {example} |", row.id, row.family, row.engine.describe()).unwrap();
    }
    page
}

#[test]
fn reference_is_in_sync_with_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialects.md");
    if std::env::var_os("FORGE_UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let renew = "FORGE_UPDATE_REFERENCE=1 cargo test -p forge-parse reference";
    assert!(written == page(), "src/dialects.md is out of date: {renew}");
}
