//! The command line: one definition for the parser, the help and the reference in `docs/cli.md`.

#[cfg(test)]
mod reference;

use clap::{Parser, Subcommand};

use crate::commands::{check, models, parse, quickstart, run, serve, templates};
use crate::exit::Exit;

/// Makes small self-hosted language models dependable at calling tools.
///
/// Forge stands between a model server (llama-server, Ollama, vLLM, LM Studio) and the tools it calls. It reads calls in
/// any notation, repairs and validates their arguments, refuses illegal moves and tells the model why, and ends every
/// run in a typed outcome.
#[derive(Parser)]
#[command(name = "forge", version, propagate_version = true, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  Fetch a small model and see the guardrails at work:
    forge quickstart
  Run a workflow of your own on the server at 127.0.0.1:8080:
    forge run workflow.toml \"Find out why the build is slow\"
  See what the server at 127.0.0.1:8080 and its model can do:
    forge check
  Put guardrails between an agent and the server at 127.0.0.1:8080:
    forge serve --backend-url http://127.0.0.1:8080";

#[derive(Subcommand)]
enum Command {
    Run(run::RunArgs),
    Serve(serve::ServeArgs),
    Check(check::CheckArgs),
    Quickstart(quickstart::QuickstartArgs),
    Models(models::ModelsArgs),
    Parse(parse::ParseArgs),
    Templates(templates::TemplatesArgs),
}

/// Parses the command line and runs the command it names.
pub(crate) fn run() -> anyhow::Result<Exit> {
    match Cli::parse().command {
        Command::Run(args) => block_on(run::run(args)),
        Command::Serve(args) => on_all_cores(serve::run(args)),
        Command::Check(args) => block_on(check::run(args)),
        Command::Quickstart(args) => block_on(quickstart::run(args)),
        Command::Models(args) => block_on(models::run(args)),
        Command::Parse(args) => parse::run(&args),
        Command::Templates(args) => templates::run(&args),
    }
}

/// One thread is enough: a run waits for one model or one tool at a time.
fn block_on(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}

/// A server has many requests at a time.
fn on_all_cores(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}
