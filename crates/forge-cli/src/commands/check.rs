//! `forge check`: what a model server and its model truly do.

use anstyle::Style;
use clap::Args;
use forge_backend::{CallForm, Examination, Finding, Means, Thinking, ToolMode, examine};

use crate::commands::run::{ServerArgs, connect};
use crate::exit::Exit;
use crate::terminal;

/// Asks a model server what it is and what it truly does.
///
/// Four small questions to the model show in what form its calls come, what the server enforces and how fast it is. Takes
/// seconds on a GPU and up to a minute on a processor. Nothing is changed on the server.
#[derive(Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", Exit::HELP))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// Prints what was found as one JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  The server at 127.0.0.1:8080:
    forge check
  Another server and one of its models:
    forge check --backend-url http://127.0.0.1:11434 --model qwen3:8b
  Whether a schema is enforced, for a script:
    forge check --json | jq .json_schema.seen";

/// Runs the command.
pub(crate) async fn run(args: CheckArgs) -> anyhow::Result<Exit> {
    let backend = match connect(&args.server) {
        Ok(backend) => backend,
        Err(error) => {
            terminal::error(&error);
            return Ok(Exit::Usage);
        }
    };
    let asking = |question: &str| anstream::eprintln!("asking {question}");
    let examination = match examine(backend.as_ref(), asking).await {
        Ok(examination) => examination,
        Err(error) => {
            terminal::error(&anyhow::Error::new(error));
            return Ok(Exit::Backend);
        }
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&examination)?);
    } else {
        let name = Style::new().bold();
        for (row, found) in table(&examination) {
            anstream::println!("{name}{row:<16}{name:#} {}", terminal::printable(&found));
        }
    }
    Ok(Exit::Done)
}

fn table(examination: &Examination) -> Vec<(&'static str, String)> {
    let info = &examination.info;
    let or_unknown = |text: &str| if text.is_empty() { "not said".to_owned() } else { text.to_owned() };
    let yes = |seen: &bool| if *seen { "yes" } else { "no" }.to_owned();
    let recommendation = &examination.recommendation;
    let tools = match recommendation.tool_mode {
        ToolMode::Native => "--tool-mode native",
        ToolMode::Prompted => "--tool-mode prompt",
    };
    let means = match recommendation.enforced_by {
        Means::JsonSchema => "calls are enforced by a JSON schema",
        Means::ToolChoice => "calls are asked for by tool choice",
        Means::Nudges => "nothing enforces calls",
    };
    let mut rows = vec![
        ("reachable", "yes".to_owned()),
        ("server", or_unknown(&info.server)),
        ("model", or_unknown(&info.model)),
        ("context window", info.context_window.map_or_else(|| or_unknown(""), |window| format!("{window} tokens"))),
        ("native tools", yes(&info.capabilities.native_tools)),
        ("calls", found(&examination.calls, form)),
        ("required call", found(&examination.required, |made| yes(made).replace("no", "not enforced"))),
        ("JSON schema", found(&examination.json_schema, |kept| yes(kept).replace("no", "not enforced"))),
        ("parallel calls", found(&examination.parallel_calls, |count| format!("{count} of 2"))),
        ("streams", found(&examination.streams, |pieces| yes(pieces).replace("no", "no, whole answers"))),
        ("thinking", found(&examination.thinking, |thinking| thought(*thinking).to_owned())),
        (
            "speed",
            examination
                .tokens_per_second
                .map_or_else(|| "too short to tell".to_owned(), |speed| format!("{speed:.1} tokens/s")),
        ),
        ("recommended", format!("{tools}; {means}")),
    ];
    rows.extend(recommendation.because.iter().map(|sentence| ("", sentence.clone())));
    rows
}

fn found<T>(finding: &Finding<T>, say: impl FnOnce(&T) -> String) -> String {
    match finding {
        Finding::Seen(seen) => say(seen),
        Finding::Failed { problem } => format!("failed: {problem}"),
    }
}

fn form(form: &CallForm) -> String {
    match form {
        CallForm::Structured => "as structured data".to_owned(),
        CallForm::InText { dialect } => format!("in the text, as {dialect}; Forge reads them"),
        CallForm::Unreadable => "in the text, in no form that can be read".to_owned(),
        CallForm::None => "none was made".to_owned(),
    }
}

fn thought(thinking: Thinking) -> &'static str {
    match thinking {
        Thinking::None => "none",
        Thinking::Apart => "in a field of its own",
        Thinking::InText => "in the text",
    }
}
