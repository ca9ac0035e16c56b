//! The transition table of `docs/guardrails.md` is the one that the tests run.

use std::fmt::Write;
use std::path::Path;

use crate::transitions::PARTS;

const BEGIN: &str =
    "<!-- Generated from the tests. To renew it: FORGE_UPDATE_REFERENCE=1 cargo test -p forge-core reference -->\n";
const END: &str = "<!-- End of the generated part. -->";

fn table() -> String {
    let mut page = String::new();
    for part in PARTS {
        write!(page, "\n### {}\n\n| rule | the model gives | what follows |\n|---|---|---|\n", part.title).unwrap();
        for (name, workflow, moves) in part.rules {
            let workflow = workflow.split_whitespace().collect::<Vec<_>>().join(" ").replace(" .", ".");
            for (place, (made, line)) in moves.iter().enumerate() {
                let rule = match place {
                    0 => format!("{}: `{workflow}`", name.replace('_', " ")),
                    _ => String::new(),
                };
                writeln!(page, "| {rule} | `{made}` | {line} |").unwrap();
            }
        }
    }
    page.push('\n');
    page
}

#[test]
fn reference_of_the_transitions_is_in_sync() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guardrails.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the generated part");
    let (written, after) = rest.split_once(END).expect("the generated part ends");
    let table = table();
    if std::env::var_os("FORGE_UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        let renew = "FORGE_UPDATE_REFERENCE=1 cargo test -p forge-core reference";
        assert!(written == table, "docs/guardrails.md is out of date: {renew}");
    }
}
