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
    log_where_asked();
    match cli::run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            terminal::error(&error);
            exit::Exit::Failed.into()
        }
    }
}

/// Logs to the standard error what `RUST_LOG` asks for; nothing without it.
fn log_where_asked() {
    if std::env::var_os("RUST_LOG").is_some_and(|filter| !filter.is_empty()) {
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    }
}
