//! What a trace must show whatever the model said.

use std::collections::BTreeSet;
use std::path::Path;

use forge_core::{CallId, Message, Outcome, ToolName};
use forge_runner::{RunEvent, RunReport};

/// Reads a trace file.
pub(crate) fn read_trace(path: &Path) -> Vec<RunEvent> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The report of the run: the last event, and the only one of its kind.
pub(crate) fn report(events: &[RunEvent]) -> &RunReport {
    let reports: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::Finished { report } => Some(report),
            _ => None,
        })
        .collect();
    assert_eq!(reports.len(), 1, "a run ends once");
    assert!(matches!(events.last(), Some(RunEvent::Finished { .. })), "the end comes last");
    reports[0]
}

/// No terminal tool started before every required step had succeeded.
pub(crate) fn no_terminal_before_required_steps(events: &[RunEvent], terminal: &str) {
    let mut open: BTreeSet<ToolName> = BTreeSet::new();
    for event in events {
        match event {
            RunEvent::Started { required_steps, .. } => open = required_steps.iter().cloned().collect(),
            RunEvent::ToolFinished { call, outcome: Outcome::Success(_), .. } => {
                open.remove(&call.name);
            }
            RunEvent::ToolStarted { call, .. } => {
                assert!(call.name != terminal || open.is_empty(), "{terminal} started with {open:?} open");
            }
            _ => {}
        }
    }
}

/// A tool that requires another with the same argument never started before that one had succeeded with it.
pub(crate) fn prerequisite_with_matching_argument(events: &[RunEvent], tool: &str, requires: &str, argument: &str) {
    let mut seen = BTreeSet::new();
    for event in events {
        match event {
            RunEvent::ToolFinished { call, outcome: Outcome::Success(_), .. } if call.name == requires => {
                seen.insert(call.arguments.to_object().get(argument).cloned().unwrap_or_default().to_string());
            }
            RunEvent::ToolStarted { call, .. } if call.name == tool => {
                let value = call.arguments.to_object().get(argument).cloned().unwrap_or_default().to_string();
                assert!(seen.contains(&value), "{tool} ran for {value} before {requires} had");
            }
            _ => {}
        }
    }
}

/// Every call of the conversation has exactly one result, after it and before the next turn; no result lacks a call.
pub(crate) fn calls_and_results_pair(messages: &[Message]) {
    let mut open: Vec<CallId> = Vec::new();
    let mut all = BTreeSet::new();
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty(), "calls without result before the next turn: {open:?}");
                for call in calls {
                    assert!(all.insert(call.id.clone()), "the id {} was used twice", call.id);
                    open.push(call.id.clone());
                }
            }
            Message::Tool { call_id, .. } => {
                let place = open.iter().position(|id| id == call_id);
                let place = place.unwrap_or_else(|| panic!("the result {call_id} has no open call"));
                open.remove(place);
            }
            Message::System { .. } | Message::User { .. } => {}
        }
    }
    assert!(open.is_empty(), "calls without result at the end: {open:?}");
}

/// There were no more generations than the budget allows, and no generation passed its token limit.
pub(crate) fn generations_are_bounded(events: &[RunEvent], most: u32, most_tokens: u64) {
    let report = report(events);
    assert!(report.generations <= most, "{} generations, at most {most}", report.generations);
    for event in events {
        if let RunEvent::Generated { response, .. } = event
            && let Some(tokens) = response.usage.completion_tokens
        {
            assert!(tokens <= most_tokens, "a generation of {tokens} tokens, at most {most_tokens}");
        }
    }
}
