//! `forge run`: a declared workflow against a model server.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use forge_backend::{Backend, ContextBudget, OpenAiCompatible, OpenAiConfig, RetryPolicy, Retrying, Secret, ToolMode};
use forge_core::GuardrailSet;
use forge_runner::{
    LoadOptions, LoadedWorkflow, Observer, RunEvent, RunOutcome, RunReport, Runner, RunnerOptions, Seed,
    TemplateFolder, WorkflowFile,
};

use tokio_util::sync::CancellationToken;

use crate::exit::Exit;
use crate::signals;
use crate::terminal::{self, Terminal};
use crate::trace::Trace;

/// Runs a workflow file against a model server.
///
/// The workflow file (TOML) declares the tools, the steps that have to be done, their order and prerequisites, and the
/// tool that ends the run. Forge drives the model through it: what happens is shown on the standard error as it
/// happens, and the result goes to the standard output.
#[derive(Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", Exit::HELP))]
pub(crate) struct RunArgs {
    /// The workflow file.
    file: PathBuf,

    /// The task, in words for the model. `-` reads it from the standard input.
    task: String,

    #[command(flatten)]
    server: ServerArgs,

    /// Gives a variable of the workflow's system prompt a value. May be repeated.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,

    /// Texts to speak to the model with, in the place of the embedded ones and of the file's `templates_dir`. See `forge
    /// templates`.
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,

    /// Runs with a named set of guardrails, to see what each is worth: all of them, all but one, or none.
    #[arg(long, value_name = "SET", default_value = "reforged", value_parser = guardrails())]
    guardrails: GuardrailSet,

    /// How the model learns of the tools: by the server's own way, in the prompt, or by the server's where it has one. Comes
    /// before what the file says.
    #[arg(long, value_name = "MODE")]
    tool_mode: Option<ToolModeArg>,

    /// How many tokens the conversation may have before it is shortened, in the place of the file's `[context]`: a number,
    /// `backend` for the window that the server says it has, `full` for the whole window also where Ollama doesn't say it, or
    /// `fast` for half of `full`.
    #[arg(long, value_name = "TOKENS|backend|full|fast")]
    context_budget: Option<ContextBudget>,

    #[command(flatten)]
    output: OutputArgs,
}

/// How tools are offered.
#[derive(Clone, Copy, ValueEnum)]
enum ToolModeArg {
    /// By the server where it has tools, else in the prompt.
    Auto,
    /// In the request's list of tools, which the server describes to the model.
    Native,
    /// In the prompt, with earlier calls and results as text: for models and servers without tools.
    Prompt,
}

/// Which model server answers.
#[derive(Args)]
pub(crate) struct ServerArgs {
    /// The model server's address: anything that speaks OpenAI's chat completions, with or without `/v1`.
    #[arg(long, value_name = "URL", env = "FORGE_BACKEND_URL", default_value = "http://127.0.0.1:8080")]
    backend_url: String,

    /// The model to ask for. Without it the server's first model is used.
    #[arg(long, value_name = "NAME", env = "FORGE_MODEL")]
    model: Option<String>,

    /// The key the server asks for. Prefer the environment variable: a command line is visible to other users.
    #[arg(long, value_name = "KEY", env = "FORGE_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

/// Where a run's account goes.
#[derive(Args)]
pub(crate) struct OutputArgs {
    /// Writes every event of the run to a file, one JSON object a line.
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) trace: Option<PathBuf>,

    /// Prints the whole account of the run as one JSON object instead of the result's text.
    #[arg(long)]
    pub(crate) json: bool,

    /// Shows nothing but the result and errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  Run the example on the server at 127.0.0.1:8080:
    forge run examples/log-triage/workflow.toml \"Find out why customers could not pay\"
  Another server, another product, and a trace to look at later:
    forge run examples/log-triage/workflow.toml \"What went wrong?\" \\
      --backend-url http://127.0.0.1:11434 --model qwen3:8b --var product=\"a bank\" --trace run.jsonl
  Only the account, for a script:
    forge run workflow.toml \"Count the open tickets\" --quiet --json | jq .outcome";

fn guardrails() -> impl TypedValueParser<Value = GuardrailSet> {
    PossibleValuesParser::new(GuardrailSet::PRESETS.map(|(name, _)| name)).try_map(|name| GuardrailSet::preset(&name))
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not of the form NAME=VALUE, such as product=\"a web shop\"")),
    }
}

/// Runs the command.
pub(crate) async fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let templates = match args.templates.map(TemplateFolder::load).transpose() {
        Ok(folder) => folder.map(|folder| Arc::clone(folder.templates())),
        Err(error) => {
            terminal::templates_error(&error);
            return Ok(Exit::BadWorkflow);
        }
    };
    let options =
        LoadOptions { variables: args.variables.into_iter().collect(), templates, guardrails: args.guardrails };
    let mut loaded = match WorkflowFile::load_with(&args.file, &options) {
        Ok(loaded) => loaded,
        Err(error) => {
            terminal::workflow_error(&error);
            return Ok(Exit::BadWorkflow);
        }
    };
    loaded.options.tool_mode = match args.tool_mode {
        None => loaded.options.tool_mode,
        Some(ToolModeArg::Auto) => None,
        Some(ToolModeArg::Native) => Some(ToolMode::Native),
        Some(ToolModeArg::Prompt) => Some(ToolMode::Prompted),
    };
    if let Some(budget) = args.context_budget {
        loaded.options.context.budget = budget;
    }
    let task = task(args.task)?;
    let backend = match connect(&args.server) {
        Ok(backend) => backend,
        Err(error) => {
            terminal::error(&error);
            return Ok(Exit::Usage);
        }
    };
    let (exit, _) = drive(&loaded, task, backend, &args.output, signals::cancellation()).await?;
    Ok(exit)
}

fn task(task: String) -> anyhow::Result<String> {
    if task != "-" {
        return Ok(task);
    }
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        anstream::eprintln!("Reading the task from the keyboard; end it with Ctrl-D.");
    }
    let mut text = String::new();
    stdin.read_to_string(&mut text).context("can't read the task from the standard input")?;
    Ok(text)
}

/// The server of a command line, behind the retries that every command makes.
pub(crate) fn connect(server: &ServerArgs) -> anyhow::Result<Arc<dyn Backend>> {
    let mut config = OpenAiConfig::new(&server.backend_url);
    config.model.clone_from(&server.model);
    config.api_key = server.api_key.clone().map(Secret::new);
    backend(config)
}

/// A server behind the retries that every command makes.
pub(crate) fn backend(config: OpenAiConfig) -> anyhow::Result<Arc<dyn Backend>> {
    Ok(Arc::new(Retrying::new(OpenAiCompatible::new(config)?, RetryPolicy::default())))
}

/// Drives a loaded workflow to its end and shows it. Also the heart of `forge quickstart`.
pub(crate) async fn drive(
    loaded: &LoadedWorkflow,
    task: String,
    backend: Arc<dyn Backend>,
    output: &OutputArgs,
    cancellation: CancellationToken,
) -> anyhow::Result<(Exit, RunReport)> {
    let mut trace = output.trace.as_deref().map(Trace::create).transpose()?;
    let mut view = (!output.quiet).then(Terminal::new);
    let runner = Runner::new(backend, RunnerOptions::from_workflow(loaded));
    let mut observer = |event: &RunEvent| {
        if let Some(view) = &mut view {
            view.event(event);
        }
        if let Some(trace) = &mut trace {
            trace.write(event);
        }
    };
    let report = runner.run(loaded, Seed::input(task), &mut observer, cancellation).await;
    print_result(&report, output)?;
    if let Some(trace) = trace {
        trace.close()?;
    }
    Ok((exit_of(&report.outcome), report))
}

fn print_result(report: &RunReport, output: &OutputArgs) -> anyhow::Result<()> {
    if output.json {
        println!("{}", serde_json::to_string_pretty(report)?);
        return Ok(());
    }
    match &report.outcome {
        RunOutcome::Done { result: text, .. } | RunOutcome::Answered { text } => {
            if std::io::stdout().is_terminal() {
                println!("{}", terminal::printable(text));
            } else {
                println!("{text}");
            }
        }
        RunOutcome::Interrupted { .. }
        | RunOutcome::BackendFailed { .. }
        | RunOutcome::EngineFailed { .. }
        | RunOutcome::Cancelled => {
            if output.quiet {
                for line in terminal::summary(report) {
                    anstream::eprintln!("{line}");
                }
            }
        }
    }
    Ok(())
}

fn exit_of(outcome: &RunOutcome) -> Exit {
    match outcome {
        RunOutcome::Done { .. } | RunOutcome::Answered { .. } => Exit::Done,
        RunOutcome::Interrupted { .. } => Exit::Interrupted,
        RunOutcome::BackendFailed { .. } => Exit::Backend,
        RunOutcome::EngineFailed { .. } => Exit::BadWorkflow,
        RunOutcome::Cancelled => Exit::Cancelled,
    }
}
