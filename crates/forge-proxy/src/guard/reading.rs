//! One generation as it arrives: what is certain of it, and the whole at its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use forge_backend::ModelEvent;
use forge_core::{Fault, FinishReason, Loop, RawCall, Response, Runaway, Toolset, Usage};
use forge_parse::{Attempt, CallSource, Event, Parsed, ParserOptions, ResponseReader, StructuredCall, ToolChoice};

/// What a reader of the answer may see already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Text for the reader.
    Text(String),
    /// The model's thinking.
    Reasoning(String),
    /// All text so far was thinking: its end came, and no beginning had.
    ThoughtEnded,
}

/// Reads one generation.
pub(crate) struct Reading {
    reader: ResponseReader,
    response: Response,
    calls: BTreeMap<usize, RawCall>,
    finish: Option<FinishReason>,
    seen: SeenSoFar,
    began_in_thought: bool,
    runaway: Runaway,
    looped: Option<Loop>,
}

/// What was seen of a generation, without what turned out to be something else.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenSoFar {
    pub(crate) text: String,
    pub(crate) reasoning: String,
}

/// A generation that has ended.
pub(crate) struct Read {
    /// As the backend gave it.
    pub(crate) response: Response,
    /// What it amounts to.
    pub(crate) parsed: Parsed,
}

impl Reading {
    /// For a generation in which these tools may be called.
    pub(crate) fn guarded(toolset: Arc<Toolset>, options: ParserOptions) -> Self {
        Self::with_reader(ResponseReader::new(toolset, options))
    }

    /// For a generation in which nothing may be called: text is text, whatever it looks like.
    pub(crate) fn open() -> Self {
        let options = ParserOptions { tool_choice: ToolChoice::None, ..ParserOptions::default() };
        Self::with_reader(ResponseReader::new(Toolset::compile(Vec::new()), options))
    }

    fn with_reader(reader: ResponseReader) -> Self {
        Self {
            reader,
            response: Response::default(),
            calls: BTreeMap::new(),
            finish: None,
            seen: SeenSoFar::default(),
            began_in_thought: false,
            runaway: Runaway::new(),
            looped: None,
        }
    }

    /// Takes the next event and gives what has become certain.
    pub(crate) fn take(&mut self, event: ModelEvent, seen: &mut Vec<Seen>) {
        match event {
            ModelEvent::Text { text } => {
                self.response.text.push_str(&text);
                self.looped = self.looped.take().or_else(|| self.runaway.push(&text));
                let events = self.reader.push_text(&text);
                self.report(events, seen);
            }
            ModelEvent::Reasoning { text } => {
                self.response.reasoning.push_str(&text);
                let events = self.reader.push_reasoning(&text);
                self.report(events, seen);
            }
            ModelEvent::Call { index, id, name, arguments } => {
                let empty = RawCall { id: None, name: String::new(), arguments: String::new() };
                let call = self.calls.entry(index).or_insert(empty);
                call.id = call.id.take().or(id);
                call.name.push_str(&name);
                call.arguments.push_str(&arguments);
            }
            ModelEvent::Usage(usage) => self.response.usage = usage,
            ModelEvent::Finish { reason } => self.finish = Some(reason),
        }
    }

    fn report(&mut self, events: Vec<Event>, seen: &mut Vec<Seen>) {
        for event in events {
            match event {
                Event::Text(text) => {
                    self.seen.text.push_str(&text);
                    seen.push(Seen::Text(text));
                }
                Event::Reasoning(text) => {
                    self.seen.reasoning.push_str(&text);
                    seen.push(Seen::Reasoning(text));
                }
                // What was shown can't be taken back; what follows is the answer.
                Event::WasReasoning => {
                    let text = std::mem::take(&mut self.seen.text);
                    self.seen.reasoning.push_str(&text);
                    self.began_in_thought = true;
                    seen.push(Seen::ThoughtEnded);
                }
                Event::Call(_) | Event::Fault(_) => {}
            }
        }
    }

    /// Whether the generation does nothing but repeat itself, so that nothing is gained by reading on.
    pub(crate) fn is_looped(&self) -> bool {
        self.looped.is_some()
    }

    /// Whether the generation began within thinking that had no beginning of its own.
    pub(crate) fn began_in_thought(&self) -> bool {
        self.began_in_thought
    }

    /// What was seen so far.
    pub(crate) fn seen(&self) -> &SeenSoFar {
        &self.seen
    }

    /// What the generation cost so far.
    pub(crate) fn usage(&self) -> Usage {
        self.response.usage
    }

    /// Whether calls have begun to arrive as structured data.
    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Ends the generation.
    pub(crate) fn finish(mut self) -> Read {
        let reason = if self.looped.is_some() { FinishReason::Incomplete } else { self.finish.unwrap_or_default() };
        self.response.finish = reason;
        self.response.calls = self.calls.into_values().collect();
        for call in &self.response.calls {
            self.reader.push_call(StructuredCall { name: &call.name, arguments: &call.arguments });
        }
        let parsed = self.reader.finish(reason);
        let parsed = match self.looped {
            Some(looped) => with_loop(parsed, looped),
            None => parsed,
        };
        Read { response: self.response, parsed }
    }
}

fn with_loop(mut parsed: Parsed, looped: Loop) -> Parsed {
    let known = parsed.faults().any(|fault| matches!(fault, Fault::RepeatedText { .. }));
    if !known {
        let fault = Fault::RepeatedText { unit: looped.unit, count: looped.count };
        parsed.attempts.push(Attempt { source: CallSource::Text, result: Err(fault) });
    }
    parsed
}
