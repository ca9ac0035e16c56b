//! `forge parse --cases`: every case of a file against what has to become of it.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use forge_parse::cases::Case;

use super::words;
use crate::exit::Exit;
use crate::terminal::{BAD, DIM, GOOD};

/// Runs the file and prints a line for each case and a total.
pub(super) fn run(file: &Path, out: &mut impl Write) -> anyhow::Result<Exit> {
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("line {} of {} is no case", index + 1, file.display());
        let case: Case = serde_json::from_str(line).with_context(place)?;
        if !case.is_readable() {
            skipped += 1;
            continue;
        }
        let faults = faults(&case).with_context(place)?;
        if faults.is_empty() {
            passed += 1;
            writeln!(out, "{GOOD}pass{GOOD:#} {}", case.id)?;
        } else {
            failed += 1;
            writeln!(out, "{BAD}FAIL{BAD:#} {}: {}", case.id, faults.join("; "))?;
        }
    }
    let other = if skipped == 0 { String::new() } else { format!(", {skipped} of other kinds skipped") };
    writeln!(out, "{passed} of {} passed{DIM}{other}{DIM:#}", passed + failed)?;
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

fn faults(case: &Case) -> anyhow::Result<Vec<String>> {
    let toolset = case.toolset()?;
    let parsed = case.read(&toolset);
    let calls = case.structured();
    let told = words::to_model(&toolset, &case.options(), &case.response(&calls), &parsed);
    Ok(case.judge(&parsed, told.as_deref().unwrap_or_default()))
}
