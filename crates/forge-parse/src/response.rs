use std::sync::Arc;

use crate::{CallSource, Dialect, End, Event, Fault, FinishReason, Parsed, Parser, ParserOptions, ToolChoice, Toolset};

/// A call as a backend delivered it, unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructuredCall<'r> {
    /// The name as it came; pieces of a template may be fused into it.
    pub name: &'r str,
    /// The argument text as it came; supposed to be a JSON object. Empty means none.
    pub arguments: &'r str,
}

/// A whole response as a backend delivered it, unread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawResponse<'r> {
    /// The content; may hold calls in any dialect.
    pub text: &'r str,
    /// The thinking that came apart from the content.
    pub reasoning: &'r str,
    /// The calls that came as structured data.
    pub calls: &'r [StructuredCall<'r>],
    /// Why the generation ended.
    pub finish: FinishReason,
}

/// Reads a whole response.
pub fn read_response(toolset: &Arc<Toolset>, options: &ParserOptions, response: &RawResponse<'_>) -> Parsed {
    let mut reader = ResponseReader::new(Arc::clone(toolset), options.clone());
    reader.push_reasoning(response.reasoning);
    reader.push_text(response.text);
    for call in response.calls {
        reader.push_call(*call);
    }
    reader.finish(response.finish)
}

/// Reads a response as it arrives. Each push returns what has become certain; [`ResponseReader::finish`] returns the
/// whole.
#[derive(Debug)]
pub struct ResponseReader {
    toolset: Arc<Toolset>,
    options: ParserOptions,
    parser: Parser,
    parsed: Parsed,
    reasoning: String,
    structured: usize,
    text_seen: bool,
}

impl ResponseReader {
    /// A reader for one response.
    pub fn new(toolset: Arc<Toolset>, options: ParserOptions) -> Self {
        let parser = Parser::new(Arc::clone(&toolset), options.clone());
        Self {
            toolset,
            options,
            parser,
            parsed: Parsed::default(),
            reasoning: String::new(),
            structured: 0,
            text_seen: false,
        }
    }

    /// Takes a piece of the content.
    pub fn push_text(&mut self, text: &str) -> Vec<Event> {
        if text.is_empty() {
            return Vec::new();
        }
        self.text_seen = self.text_seen || !text.trim().is_empty();
        let events = self.parser.push(text);
        self.keep(&events, CallSource::Text);
        events
    }

    /// Takes a piece of the thinking that came apart from the content.
    pub fn push_reasoning(&mut self, reasoning: &str) -> Vec<Event> {
        if reasoning.is_empty() {
            return Vec::new();
        }
        if self.reasoning.is_empty() {
            // The backend takes the thinking out, so the content is outside it.
            self.parser.leave_reasoning();
        }
        self.reasoning.push_str(reasoning);
        let events = vec![Event::Reasoning(reasoning.to_owned())];
        self.keep(&events, CallSource::Text);
        events
    }

    /// Takes a structured call that is complete.
    pub fn push_call(&mut self, call: StructuredCall<'_>) -> Vec<Event> {
        self.push_call_ending(call, End::Complete)
    }

    /// Takes the structured call that the output ended in.
    fn push_call_ending(&mut self, call: StructuredCall<'_>, end: End) -> Vec<Event> {
        let source = CallSource::Structured(self.structured);
        self.structured += 1;
        if self.options.tool_choice == ToolChoice::None {
            return Vec::new();
        }
        let events = vec![match read_structured(&self.toolset, call, end) {
            Ok(call) => Event::Call(call),
            Err(fault) => Event::Fault(fault),
        }];
        self.keep(&events, source);
        events
    }

    /// Ends the response: the whole, with text and calls together.
    pub fn finish(mut self, reason: FinishReason) -> Parsed {
        let events = self.parser.finish(reason);
        self.keep(&events, CallSource::Text);
        self.drop_doubles();
        self.parsed.settle();
        self.parsed
    }

    fn keep(&mut self, events: &[Event], source: CallSource) {
        for event in events {
            self.parsed.add(event.clone(), source);
        }
    }

    /// Where the backend delivered calls, the text may hold the same once more.
    fn drop_doubles(&mut self) {
        if self.structured == 0 {
            return;
        }
        let delivered: Vec<_> = self
            .parsed
            .attempts
            .iter()
            .filter(|attempt| attempt.source != CallSource::Text)
            .filter_map(|attempt| attempt.result.as_ref().ok())
            .map(|call| (call.name.clone(), call.arguments.to_value()))
            .collect();
        self.parsed.attempts.retain(|attempt| match &attempt.result {
            Ok(call) if attempt.source == CallSource::Text => {
                !delivered.contains(&(call.name.clone(), call.arguments.to_value()))
            }
            Ok(_) | Err(_) => true,
        });
    }
}

fn read_structured(toolset: &Toolset, call: StructuredCall<'_>, end: End) -> Result<crate::ParsedCall, Fault> {
    if call.name.trim().is_empty() {
        let raw = call.arguments.to_owned();
        return Err(Fault::Unreadable { problem: "the call has no name".to_owned(), raw });
    }
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { call.arguments };
    toolset.read_call(call.name, arguments, Dialect::NATIVE, end)
}
