//! `forge models`: what the catalogue has, and fetching it.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use forge_backend::models::{CacheDirs, Catalog, Fetcher, Model, ToolCalls, Use};

use crate::exit::Exit;
use crate::progress::{FetchProgress, size};
use crate::signals;
use crate::terminal::{self, BOLD, DIM, GOOD};

/// Shows and fetches the models that Forge knows.
///
/// They are kept in the cache folder: $FORGE_CACHE_DIR, else `forge` in the user's own cache folder.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    command: ModelsCommand,
}

const EXAMPLES: &str = "\
Examples:
  forge models list
  forge models pull qwen2.5-coder-1.5b
  llama-server --jinja -m \"$(forge models path qwen2.5-coder-1.5b)\"";

#[derive(Subcommand)]
enum ModelsCommand {
    /// Lists the models: size, memory, licence, how they call tools, and whether they are fetched.
    List,
    /// Prints where a fetched model is; without a name, the folder of the models.
    Path {
        /// The model's name, as the list shows it.
        name: Option<String>,
    },
    /// Fetches a model and prints where it is. What is already there is not fetched again.
    Pull {
        /// The model's name, as the list shows it.
        name: String,
    },
}

/// Runs `forge models`.
pub(crate) async fn run(args: ModelsArgs) -> anyhow::Result<Exit> {
    let catalog = Catalog::builtin()?;
    let dirs = CacheDirs::from_env()?;
    match args.command {
        ModelsCommand::List => {
            anstream::print!("{}", table(&catalog, &dirs));
            Ok(Exit::Done)
        }
        ModelsCommand::Path { name: None } => {
            anstream::println!("{}", dirs.models().display());
            Ok(Exit::Done)
        }
        ModelsCommand::Path { name: Some(name) } => match catalog.model(&name) {
            Ok(model) => Ok(print_path(model, &dirs)),
            Err(unknown) => Ok(failed(&unknown, Exit::Usage)),
        },
        ModelsCommand::Pull { name } => match catalog.model(&name) {
            Ok(model) => pull(model, &dirs).await,
            Err(unknown) => Ok(failed(&unknown, Exit::Usage)),
        },
    }
}

fn print_path(model: &Model, dirs: &CacheDirs) -> Exit {
    if let Some(path) = Fetcher::fetched(model, dirs) {
        anstream::println!("{}", path.display());
        return Exit::Done;
    }
    let name = &model.name;
    failed(
        &format!("{name} is not fetched; `forge models pull {name}` fetches it ({})", size(model.bytes)),
        Exit::Failed,
    )
}

async fn pull(model: &Model, dirs: &CacheDirs) -> anyhow::Result<Exit> {
    let cancelled = signals::cancellation();
    let fetcher = Fetcher::from_env()?;
    let mut progress = FetchProgress::new();
    let result: Option<Result<PathBuf, _>> = tokio::select! {
        result = fetcher.fetch_model(model, dirs, &mut progress) => Some(result),
        () = cancelled.cancelled() => None,
    };
    progress.finish();
    Ok(match result {
        Some(Ok(path)) => {
            anstream::println!("{}", path.display());
            Exit::Done
        }
        Some(Err(error)) => failed(&error, Exit::Provision),
        None => failed(&format!("stopped; `forge models pull {}` goes on from here", model.name), Exit::Cancelled),
    })
}

fn failed(error: &dyn std::fmt::Display, exit: Exit) -> Exit {
    terminal::problem(&error.to_string());
    exit
}

/// The list with a line of headings. Colours and ticks are removed by the stream where they don't fit.
fn table(catalog: &Catalog, dirs: &CacheDirs) -> String {
    let headings = ["NAME", "SIZE", "MEMORY", "TOOL CALLS", "RECOMMENDED FOR", "LICENCE", "FETCHED"].map(str::to_owned);
    let rows = std::iter::once(headings)
        .chain(catalog.models().iter().map(|model| row(model, Fetcher::fetched(model, dirs).is_some())))
        .collect::<Vec<_>>();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths = (0..7).map(width).collect::<Vec<_>>();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let line = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect::<Vec<_>>().join("  ");
        let style = match (number, row.last().map(String::as_str)) {
            (0, _) => BOLD,
            (_, Some("yes")) => GOOD,
            (_, _) => anstyle::Style::new(),
        };
        text.push_str(&format!("{style}{}{style:#}\n", line.trim_end()));
    }
    if std::io::stdout().is_terminal() {
        text.push_str(&format!(
            "\n{DIM}in {}; fetch one with `forge models pull NAME`{DIM:#}\n",
            dirs.models().display()
        ));
    }
    text
}

fn row(model: &Model, fetched: bool) -> [String; 7] {
    [
        model.name.clone(),
        size(model.bytes),
        size(model.memory_bytes),
        match model.tool_calls {
            ToolCalls::Native => "native".to_owned(),
            ToolCalls::InText => "in text, rescued".to_owned(),
            ToolCalls::None => "none".to_owned(),
        },
        model.recommended_for.iter().map(|purpose| recommended_for(*purpose)).collect::<Vec<_>>().join(", "),
        model.license.clone(),
        if fetched { "yes" } else { "no" }.to_owned(),
    ]
}

fn recommended_for(purpose: Use) -> &'static str {
    match purpose {
        Use::Quickstart => "quickstart",
        Use::Evaluation => "evaluation",
        Use::SmokeTest => "smoke tests",
        Use::Memory8Gb => "8 GB",
        Use::Memory12Gb => "12 GB",
        Use::Memory16Gb => "16 GB",
        Use::Memory24Gb => "24 GB",
    }
}
