//! `docs/cli.md` is the help of every command, generated. This keeps the two in sync.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory};

use super::Cli;

const HEAD: &str = "\
# The command line

<!-- Generated from the help texts. To renew it: FORGE_UPDATE_REFERENCE=1 cargo test -p forge-cli reference -->

Every command, as `forge help` shows it. Progress and errors go to the standard error, results to the standard output.
";

fn append(page: &mut String, command: &mut Command, path: &str) {
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    write!(page, "\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim()).unwrap();
    for subcommand in command.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let path = format!("{path} {}", subcommand.get_name());
        append(page, subcommand, &path);
    }
}

#[test]
fn reference_is_in_sync_with_the_help() {
    let mut command = Cli::command();
    command.build();
    let mut page = HEAD.to_owned();
    append(&mut page, &mut command, "forge");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("FORGE_UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/cli.md is out of date: FORGE_UPDATE_REFERENCE=1 cargo test -p forge-cli reference");
}

#[test]
fn every_command_has_a_description_and_an_example() {
    let mut command = Cli::command();
    command.build();
    for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = subcommand.get_name();
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty(), "forge {name} says what it does");
        let after = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains(&format!("forge {name}")), "forge {name} has an example");
    }
}
