//! From a response to what was meant in it. The one place where the engine meets the parser.

use std::sync::Arc;

use forge_parse::{CallSource, End, Parsed, ParserOptions, RawResponse, StructuredCall, Toolset, read_response};

use crate::excerpt::brief;
use crate::{Arguments, CallId, Dialect, Fault, ParsedCall, RawCall, Response, ToolName};
use serde_json::Value;

/// The longest name of a call that is kept as the model wrote it.
const MAX_NAME: usize = 64;

/// A response, read.
pub(crate) struct Reading {
    /// Text for the reader.
    pub(crate) text: String,
    /// The model's thinking.
    pub(crate) reasoning: String,
    /// What was meant as calls, in order.
    pub(crate) attempts: Vec<Attempt>,
}

/// Something that was meant as a call.
pub(crate) enum Attempt {
    /// A valid call of an offered tool.
    Call {
        /// The backend's id.
        id: Option<CallId>,
        /// The call.
        call: ParsedCall,
    },
    /// A call that can't be used; it has a name, so it can stand in a turn and be answered there.
    FaultyCall {
        /// The backend's id.
        id: Option<CallId>,
        /// The name as the model wrote it.
        name: ToolName,
        /// The arguments, where they are an object.
        arguments: Arguments,
        /// What is wrong.
        fault: Fault,
    },
    /// Nothing that could stand in a turn.
    Unreadable(Fault),
}

/// Reads a response.
pub(crate) fn read(toolset: &Arc<Toolset>, response: &Response) -> Reading {
    let calls: Vec<StructuredCall<'_>> =
        response.calls.iter().map(|call| StructuredCall { name: &call.name, arguments: &call.arguments }).collect();
    let raw =
        RawResponse { text: &response.text, reasoning: &response.reasoning, calls: &calls, finish: response.finish };
    attributed(read_response(toolset, &ParserOptions::default(), &raw), response)
}

/// What a reader made of a response, with the ids the backend gave.
pub(crate) fn attributed(parsed: Parsed, response: &Response) -> Reading {
    let attempts = parsed.attempts.into_iter().map(|attempt| {
        let delivered = match attempt.source {
            CallSource::Structured(index) => response.calls.get(index),
            CallSource::Text => None,
        };
        let id = delivered.and_then(|call| call.id.clone());
        match attempt.result {
            Ok(call) => Attempt::Call { id, call },
            Err(fault) => faulty(id, fault, delivered.map(|call| call.arguments.as_str())),
        }
    });
    Reading { attempts: attempts.collect(), text: parsed.text, reasoning: parsed.reasoning }
}

/// Reads a response as a plain loop would: structured calls with the exact name and strict JSON, and text that is text.
pub(crate) fn read_plainly(toolset: &Arc<Toolset>, response: &Response) -> Reading {
    let last = response.calls.len().saturating_sub(1);
    let attempts = response.calls.iter().enumerate().map(|(index, call)| {
        let end = if response.finish.is_cut() && index == last { End::Cut } else { End::Complete };
        match plain_call(toolset, call, end) {
            Ok(read) => Attempt::Call { id: call.id.clone(), call: read },
            Err(fault) => faulty(call.id.clone(), fault, Some(&call.arguments)),
        }
    });
    Reading { attempts: attempts.collect(), text: response.text.clone(), reasoning: response.reasoning.clone() }
}

fn plain_call(toolset: &Toolset, call: &RawCall, end: End) -> Result<ParsedCall, Fault> {
    let Some(spec) = toolset.get(&call.name) else {
        return Err(Fault::UnknownTool { name: call.name.clone(), nearest: Vec::new() });
    };
    let (tool, raw) = (spec.name.clone(), call.arguments.clone());
    let text = if raw.trim().is_empty() { "{}" } else { raw.as_str() };
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => {
            return Err(Fault::MalformedArguments { tool, problem: "they are no object".to_owned(), offset: 0, raw });
        }
        Err(_) if end == End::Cut => return Err(Fault::Truncated { tool: Some(tool), raw }),
        Err(error) => return Err(Fault::MalformedArguments { tool, problem: error.to_string(), offset: 0, raw }),
    };
    let read = toolset.read_call(&call.name, text, Dialect::NATIVE, end)?;
    if read.repairs.iter().any(|repair| repair.kind == "wrapped-arguments") {
        return Err(Fault::InvalidArguments { fields: toolset.validate(&tool, &value), tool, raw });
    }
    Ok(read)
}

fn faulty(id: Option<CallId>, fault: Fault, delivered: Option<&str>) -> Attempt {
    let (name, raw) = match &fault {
        Fault::UnknownTool { name, .. } if name.trim().is_empty() => return Attempt::Unreadable(fault),
        Fault::UnknownTool { name, .. } => (ToolName::from(brief(name, MAX_NAME)), delivered),
        Fault::MalformedArguments { tool, .. } | Fault::Truncated { tool: Some(tool), .. } => (tool.clone(), None),
        Fault::InvalidArguments { tool, raw, .. } => (tool.clone(), Some(raw.as_str())),
        Fault::Truncated { tool: None, .. } | Fault::Unreadable { .. } | Fault::RepeatedText { .. } => {
            return Attempt::Unreadable(fault);
        }
    };
    let arguments = raw.and_then(|raw| Arguments::from_json(raw).ok()).unwrap_or_else(Arguments::empty);
    Attempt::FaultyCall { id, name, arguments, fault }
}
