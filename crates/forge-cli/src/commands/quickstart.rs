//! `forge quickstart`: the main job on a real model, from nothing.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use forge_backend::OpenAiConfig;
use forge_backend::managed::{ManagedServer, Runtime, ServerSpec, StartError, find_or_fetch_runtime, probe_running};
use forge_backend::models::{CacheDirs, Catalog, Fetcher, Model, Use};
use forge_runner::{RunOutcome, WorkflowFile};
use tokio_util::sync::CancellationToken;

use crate::commands::run::{self, OutputArgs};
use crate::example;
use crate::exit::Exit;
use crate::progress::{FetchProgress, StartProgress};
use crate::signals;
use crate::terminal::{self, DIM};

/// The task of the demonstration.
const TASK: &str = "Customers could not pay this morning. Find out what went wrong in the checkout and write a report.";

/// Where llama-server listens when nobody tells it otherwise.
const USUAL_ADDRESS: &str = "http://127.0.0.1:8080";

/// Shows the main job on a real model, with nothing prepared.
///
/// Takes a llama-server that is running on 127.0.0.1:8080, else starts one: a llama-server on the PATH or a runtime that
/// is fetched, with a small model that is fetched. What is fetched stays in the cache folder ($FORGE_CACHE_DIR, else
/// `forge` in the user's own cache folder), so that the second time nothing is. The model then looks into log files with
/// four real tools and writes a report. What was started is stopped at the end.
#[derive(Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", Exit::HELP))]
pub(crate) struct QuickstartArgs {
    /// Uses the model server at this address and starts none.
    #[arg(long, value_name = "URL", conflicts_with_all = ["model", "gguf"])]
    backend_url: Option<String>,

    /// Starts a server with this model of the catalogue. `forge models list` shows the names.
    #[arg(long, value_name = "NAME", conflicts_with = "gguf")]
    model: Option<String>,

    /// Starts a server with this model file.
    #[arg(long, value_name = "FILE.gguf")]
    gguf: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  forge quickstart
  forge quickstart --model qwen2.5-coder-1.5b
  forge quickstart --backend-url http://127.0.0.1:1234
  forge quickstart --gguf ~/models/my-model.gguf --trace quickstart.jsonl";

/// Runs the command.
pub(crate) async fn run(args: QuickstartArgs) -> anyhow::Result<Exit> {
    let dirs = CacheDirs::from_env()?;
    let cancellation = signals::cancellation();
    let provided = tokio::select! {
        provided = provide(&args, &dirs) => provided,
        () = cancellation.cancelled() => {
            anstream::eprintln!("stopped; what was fetched so far is kept, and `forge quickstart` goes on from here");
            return Ok(Exit::Cancelled);
        }
    };
    let server = match provided {
        Ok(server) => server,
        Err(error) => {
            terminal::error(&error);
            return Ok(Exit::Provision);
        }
    };
    let result = triage(&args, &dirs, &server, cancellation).await;
    server.stop().await;
    result
}

/// The server that answers, and whether it is ours to stop.
enum Server {
    Found { url: String },
    Started(Box<ManagedServer>),
}

impl Server {
    fn url(&self) -> &str {
        match self {
            Self::Found { url } => url,
            Self::Started(server) => server.base_url().as_str(),
        }
    }

    async fn stop(self) {
        match self {
            Self::Found { .. } => {}
            Self::Started(server) => server.stop().await,
        }
    }
}

/// Finds a server or starts one.
async fn provide(args: &QuickstartArgs, dirs: &CacheDirs) -> anyhow::Result<Server> {
    if let Some(url) = &args.backend_url {
        return Ok(Server::Found { url: url.clone() });
    }
    if args.model.is_none() && args.gguf.is_none() && is_running(USUAL_ADDRESS).await? {
        say(args, &format!("Using the model server that runs at {USUAL_ADDRESS}."));
        return Ok(Server::Found { url: USUAL_ADDRESS.to_owned() });
    }
    let catalog = Catalog::builtin()?;
    let fetcher = Fetcher::from_env()?;
    let mut progress = FetchProgress::new();
    let fetched = fetch(args, dirs, &catalog, &fetcher, &mut progress).await;
    progress.finish();
    let (runtime, model) = fetched?;
    say(args, &format!("Starting {} with {}.", runtime.label(), model.display()));
    start(runtime, model, dirs).await
}

async fn is_running(address: &str) -> anyhow::Result<bool> {
    let address = address.parse().with_context(|| format!("{address} is no address"))?;
    Ok(probe_running(&address).await.is_some())
}

async fn fetch(
    args: &QuickstartArgs,
    dirs: &CacheDirs,
    catalog: &Catalog,
    fetcher: &Fetcher,
    progress: &mut FetchProgress,
) -> anyhow::Result<(Runtime, PathBuf)> {
    let chosen = match (&args.gguf, &args.model) {
        (Some(file), _) if !file.is_file() => return Err(StartError::NoModel(file.clone()).into()),
        (Some(file), _) => Err(file.clone()),
        (None, Some(name)) => Ok(catalog.model(name)?),
        (None, None) => Ok(smallest(catalog)?),
    };
    let runtime = find_or_fetch_runtime(fetcher, catalog, dirs, progress).await?;
    let model = match chosen {
        Err(file) => file,
        Ok(model) => fetcher.fetch_model(model, dirs, progress).await?,
    };
    Ok((runtime, model))
}

fn smallest(catalog: &Catalog) -> anyhow::Result<&Model> {
    catalog.recommended(Use::Quickstart).context("the catalogue names no model for the quickstart; use --model NAME")
}

async fn start(runtime: Runtime, model: PathBuf, dirs: &CacheDirs) -> anyhow::Result<Server> {
    let progress = StartProgress::new();
    let spec = ServerSpec::new(runtime, model);
    let started = ManagedServer::start(spec, &dirs.logs(), |waiting| progress.show(waiting)).await;
    progress.finish();
    Ok(Server::Started(Box::new(started?)))
}

/// Unpacks the example and runs it on the server.
async fn triage(
    args: &QuickstartArgs,
    dirs: &CacheDirs,
    server: &Server,
    cancellation: CancellationToken,
) -> anyhow::Result<Exit> {
    let folder = dirs.root().join("examples").join("log-triage");
    let workflow = example::unpack(&folder)?;
    let loaded = match WorkflowFile::load(&workflow, &Default::default()) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal::workflow_error(&error);
            return Ok(Exit::BadWorkflow);
        }
    };
    let backend = run::backend(OpenAiConfig::new(server.url()))?;
    let (exit, report) = run::drive(&loaded, TASK.to_owned(), backend, &args.output, cancellation).await?;
    match report.outcome {
        RunOutcome::Done { .. } => farewell(args, &folder),
        RunOutcome::BackendFailed { .. } => {
            if let Server::Started(server) = server {
                say(
                    args,
                    &format!("The server's log is {}; it ends with:\n{}", server.log().display(), server.log_tail()),
                );
            }
        }
        RunOutcome::Answered { .. }
        | RunOutcome::Interrupted { .. }
        | RunOutcome::EngineFailed { .. }
        | RunOutcome::Cancelled => {}
    }
    Ok(exit)
}

fn farewell(args: &QuickstartArgs, folder: &Path) {
    let workflow = folder.join("workflow.toml");
    say(args, &format!("{DIM}The workflow is {}: change it and run it with `forge run`.{DIM:#}", workflow.display()));
}

fn say(args: &QuickstartArgs, text: &str) {
    if !args.output.quiet {
        anstream::eprintln!("{text}");
    }
}
