//! A small language for responses and outcomes, and one line for each verdict.
//!
//! A response is `text`, `empty`, `think`, or calls joined with `+`. A call is a tool's name with an argument that may be left
//! out (`read(a)`), and what becomes of it if it runs: `=ok` (the default), `=ok:RESULT`, `=fail`, `=none` (no such
//! data), `=late` (timed out), `=stop` (cancelled). `!NAME` is a call of a tool that isn't offered, `!malformed`,
//! `!invalid` and `!cut` are faulty calls of `read`.

use std::fmt::Write;
use std::sync::Arc;

use forge_core::{
    BlockReason, CallId, Constraint, Counts, Fault, FinishReason, Guardrails, InterruptKind, Message, Next, Outcome,
    RawCall, Response, ToolSpec, Verdict, Workflow, WorkflowBuilder,
};
use serde_json::json;

/// Tools `list`, `read`, `edit`, `count`, `report`, `abort`, each with an optional text argument `file`; `report` and
/// `abort` are terminal.
pub(crate) fn builder() -> WorkflowBuilder {
    let parameters =
        json!({"type": "object", "properties": {"file": {"type": "string"}}, "additionalProperties": false});
    let tools = ["list", "read", "edit", "count", "report", "abort"];
    Workflow::builder("triage")
        .tools(tools.map(|name| ToolSpec::new(name, "", parameters.clone())))
        .terminal_tools(["report", "abort"])
}

/// A response, and what becomes of each of its calls.
pub(crate) struct Move {
    pub(crate) response: Response,
    outcomes: Vec<Outcome>,
}

pub(crate) fn parse_move(text: &str) -> Move {
    let response = match text {
        "text" => Response::text("I am thinking about it."),
        "empty" => Response::default(),
        "think" => Response { reasoning: "Hm.".to_owned(), ..Response::default() },
        calls => {
            let (calls, outcomes): (Vec<RawCall>, Vec<Outcome>) = calls.split('+').map(parse_call).unzip();
            let finish = if text.contains("!cut") { FinishReason::Length } else { FinishReason::ToolCalls };
            return Move { response: Response { calls, finish, ..Response::default() }, outcomes };
        }
    };
    Move { response, outcomes: Vec::new() }
}

fn parse_call(text: &str) -> (RawCall, Outcome) {
    let (call, outcome) = text.split_once('=').unwrap_or((text, "ok"));
    let (name, argument) = call.split_once('(').unwrap_or((call, ""));
    let argument = argument.trim_end_matches(')');
    let parameter = if name == "respond" { "message" } else { "file" };
    let arguments = if argument.is_empty() { "{}".to_owned() } else { json!({parameter: argument}).to_string() };
    let (name, arguments) = match name {
        "!malformed" => ("read", "no object".to_owned()),
        "!invalid" => ("read", r#"{"path": 1}"#.to_owned()),
        "!cut" => ("read", r#"{"file": "a"#.to_owned()),
        name => (name.trim_start_matches('!'), arguments),
    };
    (RawCall { id: None, name: name.to_owned(), arguments }, parse_outcome(outcome))
}

fn parse_outcome(text: &str) -> Outcome {
    let (kind, result) = text.split_once(':').unwrap_or((text, "fine"));
    let result = result.to_owned();
    match kind {
        "ok" => Outcome::Success(result),
        "fail" => Outcome::Failure(result),
        "none" => Outcome::NoData(result),
        "late" => Outcome::TimedOut(result),
        "stop" => Outcome::Cancelled,
        other => panic!("no outcome is called {other:?}"),
    }
}

/// Everything a driver does with one response. The conversation grows as a driver would let it.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) guardrails: Guardrails,
    pub(crate) messages: Vec<Message>,
    pub(crate) ended: bool,
}

/// What one move led to.
pub(crate) struct Step {
    pub(crate) verdict: Verdict,
    pub(crate) outcomes: Vec<(CallId, Outcome)>,
    pub(crate) next: Option<Next>,
}

impl Run {
    pub(crate) fn new(workflow: Arc<Workflow>) -> Self {
        Self { guardrails: Guardrails::new(workflow), messages: Vec::new(), ended: false }
    }

    pub(crate) fn step(&mut self, made: &Move) -> Step {
        let verdict = self.guardrails.check(&made.response).unwrap();
        let mut outcomes = Vec::new();
        let mut next = None;
        match &verdict {
            Verdict::Execute(batch) => {
                let Message::Assistant { calls, .. } = &batch.turn else { panic!("{:?}", batch.turn) };
                // Calls stand in the turn in the order of the response.
                for (call, outcome) in calls.iter().zip(&made.outcomes) {
                    if batch.calls.iter().any(|approved| approved.call.id == call.id) {
                        outcomes.push((call.id.clone(), outcome.clone()));
                    }
                }
                self.messages.push(batch.turn.clone());
                self.messages.extend(batch.replies.iter().cloned());
                let recorded = self.guardrails.record(&outcomes).unwrap();
                self.messages.extend(recorded.messages);
                self.ended = !matches!(recorded.next, Next::Continue { .. });
                next = Some(recorded.next);
            }
            Verdict::Reprompt(reprompt) => self.messages.extend(reprompt.messages.iter().cloned()),
            Verdict::Accept { turn } => {
                self.messages.push(turn.clone());
                self.ended = true;
            }
            Verdict::Halt(_) => self.ended = true,
        }
        Step { verdict, outcomes, next }
    }
}

/// A step as one line: what runs, what is refused and why, what comes next, and the counts that aren't zero.
pub(crate) fn line(step: &Step, counts: Counts) -> String {
    let mut line = match &step.verdict {
        Verdict::Execute(batch) => {
            let mut line = "run".to_owned();
            for approved in &batch.calls {
                write!(line, " {}", approved.call.name).unwrap();
            }
            for blocked in &batch.blocked {
                write!(line, ", refuse {} ({})", blocked.name, reason(&blocked.reason)).unwrap();
            }
            line
        }
        Verdict::Reprompt(reprompt) => {
            let kinds: Vec<String> = reprompt.nudges.iter().map(|nudge| name(&nudge.kind)).collect();
            let kinds = if kinds.is_empty() { "silently".to_owned() } else { kinds.join(" ") };
            format!("again {kinds} -> {}", constraint(&reprompt.constraint))
        }
        Verdict::Accept { .. } => "accept".to_owned(),
        Verdict::Halt(interrupt) => format!("halt {}", interrupt_name(&interrupt.kind)),
    };
    match &step.next {
        None => {}
        Some(Next::Continue { constraint: next }) => write!(line, " -> {}", constraint(next)).unwrap(),
        Some(Next::Finished { call, .. }) => write!(line, " -> finished {}", call.name).unwrap(),
        Some(Next::Halt { interrupt }) => write!(line, " -> halt {}", interrupt_name(&interrupt.kind)).unwrap(),
    }
    line + &counted(counts)
}

fn counted(counts: Counts) -> String {
    let named = [
        ("format", counts.format_faults),
        ("failing", counts.failing_batches),
        ("premature", counts.premature_attempts),
        ("violations", counts.prerequisite_violations),
        ("repeated", counts.repetitions),
    ];
    named.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!(" [{name} {count}]")).collect()
}

fn reason(reason: &BlockReason) -> String {
    match reason {
        BlockReason::Fault { fault } => match fault {
            Fault::UnknownTool { .. } => "unknown".to_owned(),
            Fault::MalformedArguments { .. } => "malformed".to_owned(),
            Fault::InvalidArguments { .. } => "invalid".to_owned(),
            Fault::Truncated { .. } => "cut".to_owned(),
            Fault::Unreadable { .. } => "unreadable".to_owned(),
            Fault::RepeatedText { .. } => "repeats itself".to_owned(),
        },
        BlockReason::PrematureTerminal { attempt, .. } => format!("premature {attempt}"),
        BlockReason::StepOrder { due } => format!("due {due}"),
        BlockReason::Prerequisite { tool, matching: None } => format!("needs {tool}"),
        BlockReason::Prerequisite { tool, matching: Some((_, value)) } => format!("needs {tool} {value}"),
        BlockReason::Repetition { round, times } => format!("repeats {round}, {times}"),
        BlockReason::SecondTerminal { .. } => "second".to_owned(),
    }
}

fn constraint(constraint: &Constraint) -> String {
    match constraint {
        Constraint::Free => "free".to_owned(),
        Constraint::CallRequired => "required".to_owned(),
        Constraint::Only(tools) => {
            let tools: Vec<&str> = tools.iter().map(forge_core::ToolName::as_str).collect();
            format!("only {}", tools.join(" "))
        }
    }
}

fn interrupt_name(kind: &InterruptKind) -> String {
    let value = serde_json::to_value(kind).unwrap();
    value["kind"].as_str().unwrap().to_owned()
}

fn name(kind: &impl serde::Serialize) -> String {
    serde_json::to_value(kind).unwrap().as_str().unwrap().to_owned()
}
