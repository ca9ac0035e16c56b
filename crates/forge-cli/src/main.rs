//! The `forge` command.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod example;
mod exit;
mod progress;
mod signals;
mod terminal;
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            terminal::error(&error);
            exit::Exit::Failed.into()
        }
    }
}
