//! What a run looks like to a person: each event as it happens, then a summary.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use forge_core::{
    BlockReason, BlockedCall, Compaction, Constraint, Dialect, Fault, Message, Nudge, Outcome, Repair, ToolCall,
    ToolName, UserOrigin,
};
use forge_runner::{Observer, RunEvent, RunOutcome, RunReport, TemplateFolderError, WorkflowFileError};
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
const CALL: Style = AnsiColor::Cyan.on_default().bold();

/// The widest an argument list or a result is shown, in characters.
const BRIEF: usize = 160;

/// Shows a run on the standard error, so that the standard output carries the result alone.
pub(crate) struct Terminal {
    spinner: ProgressBar,
    tail: String,
}

impl Terminal {
    /// A view with a spinner where the standard error is a terminal, plain lines elsewhere.
    pub(crate) fn new() -> Self {
        let spinner = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("    {spinner} {elapsed} {msg:.dim}") {
            spinner.set_style(style);
        }
        Self { spinner, tail: String::new() }
    }

    fn line(&self, text: &str) {
        self.spinner.suspend(|| anstream::eprintln!("{text}"));
    }

    fn started(&self, event: &RunEvent) {
        let RunEvent::Started { workflow, input, tools, required_steps, backend, context_budget } = event else {
            return;
        };
        let server = if backend.server.is_empty() { "model server" } else { &backend.server };
        let window = backend.context_window.map_or(String::new(), |tokens| format!(", window {tokens} tokens"));
        let budget = context_budget.filter(|budget| Some(*budget) != backend.context_window);
        let budget = budget.map_or(String::new(), |tokens| format!(", context budget {tokens} tokens"));
        self.line(&format!("{BOLD}{workflow}{BOLD:#} with {} ({server}{window}{budget})", model_name(&backend.model)));
        self.line(&format!("{DIM}task{DIM:#}     {}", brief(input)));
        self.line(&format!("{DIM}tools{DIM:#}    {}", names(tools)));
        if !required_steps.is_empty() {
            self.line(&format!("{DIM}required{DIM:#} {}", names(required_steps)));
        }
    }

    fn generating(&mut self, iteration: u32, constraint: &Constraint) {
        let note = match constraint {
            Constraint::Free => String::new(),
            Constraint::CallRequired => "  (a call is required)".to_owned(),
            Constraint::Only(tools) => format!("  (constrained to {})", names(tools)),
        };
        self.line(&format!("\n{BOLD}[{iteration}]{BOLD:#}{DIM}{note}{DIM:#}"));
        self.tail.clear();
        self.spinner.set_message("generating");
        self.spinner.enable_steady_tick(Duration::from_millis(120));
    }

    fn compacted(&self, compactions: &[Compaction], budget: u64) {
        let (Some(first), Some(last)) = (compactions.first(), compactions.last()) else { return };
        let phases: Vec<String> = compactions.iter().map(|compaction| compaction.phase.to_string()).collect();
        let phase = if phases.len() == 1 { "phase" } else { "phases" };
        self.line(&format!(
            "\n{WARN}compacted{WARN:#} the conversation: {} → {} of {budget} tokens {DIM}({phase} {}){DIM:#}",
            first.tokens_before,
            last.tokens_after,
            phases.join(", ")
        ));
    }

    fn delta(&mut self, text: &str) {
        self.tail.push_str(&printable(text).replace('\n', " "));
        let excess = self.tail.chars().count().saturating_sub(60);
        self.tail = self.tail.chars().skip(excess).collect();
        self.spinner.set_message(self.tail.clone());
    }

    fn nudged(&self, nudge: &Nudge) {
        let kind = serde_json::to_value(nudge.kind).unwrap_or_default();
        let kind = kind.as_str().unwrap_or("nudge").replace('_', " ");
        self.line(&format!("    {WARN}nudged{WARN:#} ({kind}) {DIM}{}{DIM:#}", brief(&nudge.text)));
    }

    fn blocked(&self, blocked: &BlockedCall) {
        self.line(&format!("    {WARN}blocked{WARN:#} {}: {}", blocked.name, reason(&blocked.reason)));
    }

    fn tool_started(&self, call: &ToolCall, dialect: &Dialect, repairs: &[Repair]) {
        self.line(&format!("    {CALL}{}{CALL:#} {}", call.name, brief(&call.arguments.to_value().to_string())));
        if dialect.is_rescue() {
            self.line(&format!("      {GOOD}rescued{GOOD:#} from {dialect}"));
        }
        for repair in repairs {
            let place = if repair.path.is_empty() { String::new() } else { format!(" at {}", repair.path) };
            self.line(&format!("      {GOOD}repaired{GOOD:#} {}{place}: {}", repair.kind, repair.note));
        }
    }

    fn tool_finished(&self, outcome: &Outcome, elapsed: Duration) {
        let (style, word, content) = match outcome {
            Outcome::Success(content) => (GOOD, "→", content.as_str()),
            Outcome::Failure(content) => (BAD, "failed:", content.as_str()),
            Outcome::NoData(content) => (WARN, "no such data:", content.as_str()),
            Outcome::TimedOut(content) => (BAD, "timed out:", content.as_str()),
            Outcome::Cancelled => (WARN, "cancelled", ""),
        };
        let seconds = elapsed.as_secs_f64();
        self.line(&format!("      {style}{word}{style:#} {} {DIM}({seconds:.1} s){DIM:#}", brief(content)));
    }

    fn finished(&self, report: &RunReport) {
        self.spinner.finish_and_clear();
        self.line("");
        for line in summary(report) {
            self.line(&line);
        }
    }
}

impl Observer for Terminal {
    fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started { .. } => self.started(event),
            RunEvent::Generating { iteration, constraint, .. } => self.generating(*iteration, constraint),
            RunEvent::Compacted { compactions, budget, .. } => self.compacted(compactions, *budget),
            RunEvent::ContextWarning { warning } => self.line(&format!(
                "\n{WARN}context{WARN:#} {} % used: {} of {} tokens",
                warning.percent(),
                warning.tokens,
                warning.budget
            )),
            RunEvent::Delta { text, .. } => self.delta(text),
            RunEvent::Generated { response, elapsed, .. } => {
                self.spinner.disable_steady_tick();
                self.spinner.set_message("");
                let tokens = response.usage.completion_tokens.map_or(String::new(), |n| format!("{n} tokens, "));
                self.line(&format!("    {DIM}{tokens}{:.1} s{DIM:#}", elapsed.as_secs_f64()));
                if response.calls.is_empty() && !response.text.trim().is_empty() {
                    self.line(&format!("    {DIM}wrote: {}{DIM:#}", brief(&response.text)));
                }
            }
            RunEvent::Appended { message } => {
                if let Message::User { content, origin: UserOrigin::Hint } = message {
                    self.line(&format!("    {DIM}hint: {}{DIM:#}", brief(content)));
                }
            }
            RunEvent::Nudged { nudge } => self.nudged(nudge),
            RunEvent::Blocked { blocked } => self.blocked(blocked),
            RunEvent::ToolStarted { call, dialect, repairs } => self.tool_started(call, dialect, repairs),
            RunEvent::ToolFinished { outcome, elapsed, .. } => self.tool_finished(outcome, *elapsed),
            RunEvent::StepCompleted { step, pending } => {
                let left =
                    if pending.is_empty() { "none left".to_owned() } else { format!("left: {}", names(pending)) };
                self.line(&format!("      {GOOD}✓{GOOD:#} step {step} {DIM}({left}){DIM:#}"));
            }
            RunEvent::Finished { report } => self.finished(report),
        }
    }
}

/// The lines that tell how a run ended and what it took.
pub(crate) fn summary(report: &RunReport) -> Vec<String> {
    let mut lines = vec![match &report.outcome {
        RunOutcome::Done { call, .. } => format!("{GOOD}done{GOOD:#} with {}", call.name),
        RunOutcome::Answered { .. } => format!("{GOOD}answered{GOOD:#}"),
        RunOutcome::Interrupted { interrupt } => format!("{BAD}interrupted{BAD:#}: {interrupt}"),
        RunOutcome::BackendFailed { message } => format!("{BAD}the model server failed{BAD:#}: {message}"),
        RunOutcome::EngineFailed { message } => format!("{BAD}the guardrails failed{BAD:#}: {message}"),
        RunOutcome::Cancelled => format!("{WARN}cancelled{WARN:#}"),
    }];
    let steps = report.completed_steps.len();
    let all = steps + report.pending_steps.len();
    if all > 0 {
        let open = if report.pending_steps.is_empty() {
            String::new()
        } else {
            format!(", open: {}", names(&report.pending_steps))
        };
        lines.push(format!("{DIM}steps{DIM:#}       {steps} of {all}{open}"));
    }
    lines.push(format!(
        "{DIM}guardrails{DIM:#}  {} rescued, {} repaired, {} nudged, {} blocked",
        report.rescued, report.repaired, report.nudges, report.blocked
    ));
    let tokens = |count: Option<u64>| count.map_or("unknown".to_owned(), |count| count.to_string());
    lines.push(format!(
        "{DIM}cost{DIM:#}        {} generations, {} tool calls, {} prompt and {} generated tokens, {:.1} s",
        report.generations,
        report.tool_calls,
        tokens(report.usage.prompt_tokens),
        tokens(report.usage.completion_tokens),
        report.elapsed.as_secs_f64()
    ));
    lines
}

fn reason(reason: &BlockReason) -> String {
    match reason {
        BlockReason::Fault { fault } => fault_in_brief(fault),
        BlockReason::PrematureTerminal { pending, attempt } => {
            format!("too early (attempt {attempt}), open: {}", names(pending))
        }
        BlockReason::StepOrder { due } => format!("out of order, {due} is due"),
        BlockReason::Prerequisite { tool, matching: None } => format!("{tool} has to succeed first"),
        BlockReason::Prerequisite { tool, matching: Some((argument, value)) } => {
            format!("{tool} has to succeed first with {argument} = {value}")
        }
        BlockReason::Repetition { round: 1, .. } => "the same call again, its result was the same before".to_owned(),
        BlockReason::Repetition { round, .. } => format!("the same {round} calls again, with the same results"),
        BlockReason::SecondTerminal { .. } => "another call of this answer ends the run".to_owned(),
    }
}

fn fault_in_brief(fault: &Fault) -> String {
    match fault {
        Fault::UnknownTool { name, .. } => format!("no tool is called {name:?}"),
        Fault::MalformedArguments { problem, .. } => format!("unreadable arguments, {problem}"),
        Fault::InvalidArguments { fields, .. } => {
            let paths: Vec<_> = fields.iter().map(|field| field.path.as_str()).collect();
            format!("invalid arguments at {}", paths.join(", "))
        }
        Fault::Truncated { .. } => "cut off".to_owned(),
        Fault::Unreadable { problem, .. } => problem.clone(),
        Fault::RepeatedText { unit, count } => format!("the same words {count} times in a row: {}", brief(unit)),
    }
}

/// llama.cpp's server names a model by the path of its file.
fn model_name(model: &str) -> &str {
    if model.is_empty() {
        return "an unnamed model";
    }
    let file = model.rsplit(['/', '\\']).next().unwrap_or(model);
    if file.ends_with(".gguf") { file } else { model }
}

fn names(tools: &[ToolName]) -> String {
    tools.iter().map(ToolName::as_str).collect::<Vec<_>>().join(", ")
}

/// Says what went wrong, on the standard error.
pub(crate) fn error(error: &dyn std::fmt::Display) {
    anstream::eprintln!("{style}error:{style:#} {error:#}", style = BAD.bold());
}

/// Shows every problem of a workflow file at its place in the file.
pub(crate) fn workflow_error(error: &WorkflowFileError) {
    anstream::eprintln!("{}", error.render(true));
}

/// Shows every problem of a folder of templates at its place.
pub(crate) fn templates_error(error: &TemplateFolderError) {
    anstream::eprintln!("{}", error.render(true));
}

/// Shows one sentence about what went wrong.
pub(crate) fn problem(message: &str) {
    anstream::eprintln!("{BAD}error:{BAD:#} {message}");
}

/// One line of at most [`BRIEF`] characters that says how much more there is.
fn brief(text: &str) -> String {
    let text = printable(text.trim());
    let one_line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ⏎ ");
    let length = one_line.chars().count();
    if length <= BRIEF {
        return one_line;
    }
    let shown: String = one_line.chars().take(BRIEF).collect();
    format!("{shown}… (+{} characters)", length - BRIEF)
}

/// Text that can't drive the terminal: what a model or a tool writes may hold escape sequences.
pub(crate) fn printable(text: &str) -> String {
    let harmless = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    text.chars().map(|character| if harmless(character) { character } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{BRIEF, brief, model_name, printable};

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\tc\n\u{9b}d"), "a\u{fffd}[2Jb\tc\n\u{fffd}d");
    }

    #[test]
    fn a_long_text_says_how_much_was_left_out() {
        let text = "ä".repeat(BRIEF + 7);
        assert!(brief(&text).ends_with("… (+7 characters)"));
    }

    #[test]
    fn a_model_file_is_named_without_its_folder() {
        assert_eq!(model_name("/models/tiny.gguf"), "tiny.gguf");
        assert_eq!(model_name("qwen/qwen3:8b"), "qwen/qwen3:8b");
        assert_eq!(model_name(""), "an unnamed model");
    }

    #[test]
    fn lines_are_joined() {
        assert_eq!(brief("  one\n\n  two\n"), "one ⏎ two");
    }
}
