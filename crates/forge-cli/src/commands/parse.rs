//! `forge parse`: what becomes of a model's raw output.

mod cases;
mod report;
mod words;

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use forge_parse::{
    FinishReason, Parsed, Parser, ParserOptions, RawResponse, StructuredCall, ToolChoice, ToolSpec, Toolset,
    read_response,
};

use crate::exit::Exit;
use report::Report;

/// Reads a model's raw output and shows the calls in it.
///
/// Text comes from the standard input or a file. The result is one JSON object, or a readable form where the standard
/// output is a terminal. This is the way to report a notation that is read wrongly: attach the text and the tools.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ParseArgs {
    /// Reads this file instead of the standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The offered tools: a JSON array in OpenAI's form, or a request that holds one as `tools`. Without tools
    /// everything is text.
    #[arg(long, value_name = "FILE.json")]
    tools: Option<PathBuf>,

    /// Why the generation ended.
    #[arg(long, value_enum, value_name = "REASON", default_value_t)]
    finish_reason: Reason,

    /// Whether the request asked for a call.
    #[arg(long, value_enum, value_name = "CHOICE", default_value_t)]
    tool_choice: Choice,

    /// The request asked for JSON or other markup, so bare JSON is the answer.
    #[arg(long)]
    data_requested: bool,

    /// The prompt opened the model's thinking, so the output begins within it.
    #[arg(long)]
    starts_in_reasoning: bool,

    /// Gives the text to the parser in so many pieces of about equal length.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    stream_chunks: u32,

    /// Takes the input as the argument text of one structured call to this tool.
    #[arg(long, value_name = "TOOL")]
    arguments: Option<String>,

    /// Runs a file of cases, one JSON object per line, and says which pass. Ends with 1 if any fails.
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["file", "tools", "arguments"])]
    cases: Option<PathBuf>,

    /// Prints JSON also where the standard output is a terminal.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  What is in this answer?
    forge parse --tools tools.json < answer.txt
  Can these arguments be repaired?
    echo \"{'city': 'Oslo',}\" | forge parse --tools tools.json --arguments weather
  Does every case of a file hold?
    forge parse --cases cases.jsonl";

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Reason {
    /// The model ended its turn.
    #[default]
    Stop,
    /// The server says that the turn ended in calls.
    ToolCalls,
    /// The output limit cut the generation.
    Length,
    /// A content filter cut it.
    ContentFilter,
    /// The stream broke off.
    Incomplete,
}

impl From<Reason> for FinishReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Stop => Self::Stop,
            Reason::ToolCalls => Self::ToolCalls,
            Reason::Length => Self::Length,
            Reason::ContentFilter => Self::ContentFilter,
            Reason::Incomplete => Self::Incomplete,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Choice {
    /// Text or calls.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// No call.
    None,
}

impl From<Choice> for ToolChoice {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Auto => Self::Auto,
            Choice::Required => Self::Required,
            Choice::None => Self::None,
        }
    }
}

/// Reads the input and prints what it amounts to.
pub(crate) fn run(args: &ParseArgs) -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    if let Some(file) = &args.cases {
        return cases::run(file, &mut out);
    }
    let toolset = toolset(args.tools.as_deref())?;
    let text = input(args.file.as_deref())?;
    let options = ParserOptions {
        starts_in_reasoning: args.starts_in_reasoning,
        data_requested: args.data_requested,
        tool_choice: args.tool_choice.into(),
    };
    let calls: Vec<_> = args.arguments.iter().map(|tool| StructuredCall { name: tool, arguments: &text }).collect();
    let text = if calls.is_empty() { text.as_str() } else { "" };
    let response = RawResponse { text, calls: &calls, finish: args.finish_reason.into(), ..RawResponse::default() };
    let parsed = if calls.is_empty() {
        in_pieces(&toolset, &options, &response, args.stream_chunks)
    } else {
        read_response(&toolset, &options, &response)
    };
    let words = words::to_model(&toolset, &options, &response, &parsed);
    let report = Report::new(&parsed, parsed.outcome(&options), words.as_deref());
    if args.json || !std::io::stdout().is_terminal() {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        report.show(&mut out)?;
    }
    Ok(Exit::Done)
}

fn in_pieces(toolset: &Arc<Toolset>, options: &ParserOptions, response: &RawResponse<'_>, pieces: u32) -> Parsed {
    let mut parser = Parser::new(Arc::clone(toolset), options.clone());
    let text = response.text;
    let mut events = Vec::new();
    let mut rest = text;
    for left in (1..=pieces as usize).rev() {
        let (piece, behind) =
            rest.split_at_checked(rest.ceil_char_boundary(rest.len().div_ceil(left))).unwrap_or((rest, ""));
        events.extend(parser.push(piece));
        rest = behind;
    }
    events.extend(parser.finish(response.finish));
    Parsed::from_events(events)
}

fn toolset(file: Option<&Path>) -> anyhow::Result<Arc<Toolset>> {
    let Some(file) = file else { return Ok(Toolset::compile(Vec::new())) };
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no valid JSON", file.display()))?;
    let Some(tools) = value.as_array().or_else(|| value.get("tools")?.as_array()) else {
        bail!("{} must hold an array of tools, or an object with one as `tools`", file.display());
    };
    let specs = tools.iter().enumerate().map(|(index, tool)| {
        ToolSpec::from_openai(tool).with_context(|| format!("tool {index} of {} can't be used", file.display()))
    });
    let toolset = Toolset::compile(specs.collect::<anyhow::Result<_>>()?);
    for warning in toolset.warnings() {
        anstream::eprintln!("warning: the arguments of `{}` are not validated: {}", warning.tool, warning.problem);
    }
    Ok(toolset)
}

/// The input as text; bytes that are no UTF-8 are shown as replacement characters, as a server would send them.
fn input(file: Option<&Path>) -> anyhow::Result<String> {
    let bytes = match file {
        Some(file) => std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?,
        None => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).context("failed to read the standard input")?;
            bytes
        }
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
