//! The result of `forge parse`, as JSON and for people.

use std::io::Write;

use forge_parse::{Arguments, Dialect, Fault, Outcome, Parsed, ParsedCall, Repair, ToolName};
use serde::Serialize;

use crate::terminal::{BAD, BOLD, DIM, GOOD, WARN, printable};

/// What a response amounts to.
#[derive(Serialize)]
pub(super) struct Report<'p> {
    #[serde(serialize_with = "as_text")]
    outcome: Outcome,
    /// The calls that may run: none unless all of them may.
    calls: Vec<Call<'p>>,
    text: &'p str,
    reasoning: &'p str,
    faults: Vec<&'p Fault>,
    /// What the model is told.
    nudge: Option<&'p str>,
    /// Valid calls that don't run, because another call of the response is faulty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<Call<'p>>,
}

#[derive(Serialize)]
struct Call<'p> {
    name: &'p ToolName,
    arguments: &'p Arguments,
    dialect: &'p Dialect,
    repairs: &'p [Repair],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn as_text<S: serde::Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.as_str())
}

impl<'p> From<&'p ParsedCall> for Call<'p> {
    fn from(call: &'p ParsedCall) -> Self {
        Self { name: &call.name, arguments: &call.arguments, dialect: &call.dialect, repairs: &call.repairs }
    }
}

impl<'p> Report<'p> {
    pub(super) fn new(parsed: &'p Parsed, outcome: Outcome, nudge: Option<&'p str>) -> Self {
        let valid: Vec<_> = parsed.calls().map(Call::from).collect();
        let (calls, withheld) = if outcome == Outcome::Calls { (valid, Vec::new()) } else { (Vec::new(), valid) };
        let faults = parsed.faults().collect();
        Self { outcome, calls, text: &parsed.text, reasoning: &parsed.reasoning, faults, nudge, withheld }
    }

    /// The readable form.
    pub(super) fn show(&self, out: &mut impl Write) -> std::io::Result<()> {
        let style = match self.outcome {
            Outcome::Calls | Outcome::Text => GOOD,
            Outcome::Nudge | Outcome::ToolError => WARN,
        };
        writeln!(out, "{style}{}{style:#}", self.outcome.as_str())?;
        block(out, "thought", self.reasoning)?;
        block(out, "text", self.text)?;
        for call in &self.calls {
            show_call(out, call, "call")?;
        }
        for call in &self.withheld {
            show_call(out, call, "withheld")?;
        }
        for fault in &self.faults {
            writeln!(out, "{BAD}fault{BAD:#} {}", printable(&fault.to_string()))?;
        }
        block(out, "told to the model", self.nudge.unwrap_or_default())
    }
}

fn show_call(out: &mut impl Write, call: &Call<'_>, word: &str) -> std::io::Result<()> {
    let arguments = printable(call.arguments.as_str());
    writeln!(out, "{word} {BOLD}{}{BOLD:#} {arguments} {DIM}({}){DIM:#}", call.name, call.dialect)?;
    for repair in call.repairs {
        let place = if repair.path.is_empty() { String::new() } else { format!(" at {}", printable(&repair.path)) };
        writeln!(out, "  {GOOD}{}{GOOD:#}{place}: {}", repair.kind, printable(&repair.note))?;
    }
    Ok(())
}

fn block(out: &mut impl Write, title: &str, text: &str) -> std::io::Result<()> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(());
    }
    writeln!(out, "{DIM}{title}{DIM:#}")?;
    for line in printable(text).lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}
