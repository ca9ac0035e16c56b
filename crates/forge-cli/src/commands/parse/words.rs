//! What the engine would tell the model about a response.

use std::sync::Arc;

use forge_core::{Guardrails, RawCall, Response, TextPolicy, Verdict, Workflow};
use forge_parse::{Fault, Outcome, Parsed, ParserOptions, RawResponse, ToolChoice, ToolName, Toolset};

/// The words for the model; none where the response is calls or an answer.
pub(super) fn to_model(
    toolset: &Toolset,
    options: &ParserOptions,
    response: &RawResponse<'_>,
    parsed: &Parsed,
) -> Option<String> {
    match parsed.outcome(options) {
        Outcome::Calls | Outcome::Text => None,
        Outcome::Nudge | Outcome::ToolError => {
            Some(by_engine(toolset, options, response).unwrap_or_else(|| plain(toolset, parsed)))
        }
    }
}

/// The engine's own words in a workflow of these tools; none where there can't be such a workflow, or where it would
/// say nothing.
fn by_engine(toolset: &Toolset, options: &ParserOptions, response: &RawResponse<'_>) -> Option<String> {
    let workflow = Workflow::builder("parse").tools(toolset.specs().to_vec());
    let workflow = match options.tool_choice {
        ToolChoice::Required => workflow.text(TextPolicy::Nudge).terminal_tools(toolset.names().cloned()),
        ToolChoice::Auto | ToolChoice::None => workflow.text(TextPolicy::Accept),
    };
    let calls = response.calls.iter().map(|call| RawCall {
        id: None,
        name: call.name.to_owned(),
        arguments: call.arguments.to_owned(),
    });
    let response = Response {
        text: response.text.to_owned(),
        reasoning: response.reasoning.to_owned(),
        calls: calls.collect(),
        finish: response.finish,
        ..Response::default()
    };
    let words: Vec<String> = match Guardrails::new(Arc::new(workflow.build().ok()?)).check(&response).ok()? {
        Verdict::Reprompt(reprompt) => reprompt.nudges.into_iter().map(|nudge| nudge.text).collect(),
        Verdict::Execute(batch) => batch.replies.iter().map(|reply| reply.content().to_owned()).collect(),
        Verdict::Accept { .. } | Verdict::Halt(_) => Vec::new(),
    };
    (!words.is_empty()).then(|| words.join("\n\n"))
}

/// The faults in plain words.
fn plain(toolset: &Toolset, parsed: &Parsed) -> String {
    let mut words: Vec<String> = parsed.faults().map(Fault::to_string).collect();
    let names: Vec<_> = toolset.names().map(ToolName::as_str).collect();
    if words.is_empty() {
        words.push("There is neither a call nor an answer.".to_owned());
    }
    if !names.is_empty() {
        words.push(format!("The tools are: {}.", names.join(", ")));
    }
    words.join("\n")
}
