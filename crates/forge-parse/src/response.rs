use std::sync::Arc;

use crate::engine::{Item, Place, named};
use crate::{
    CallSource, Dialect, End, Event, Fault, FinishReason, Parsed, ParsedCall, Parser, ParserOptions, ToolChoice,
    Toolset,
};

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
    text: Parser,
    /// Reads thinking that comes apart from the text.
    thinking: Option<Parser>,
    parsed: Parsed,
    /// How many structured calls came.
    structured: usize,
    /// The structured call that came last: whether it is complete shows when something follows.
    last: Option<(String, String)>,
    text_seen: bool,
}

impl ResponseReader {
    /// A reader for one response.
    pub fn new(toolset: Arc<Toolset>, options: ParserOptions) -> Self {
        let text = Parser::new(Arc::clone(&toolset), options.clone());
        let parsed = Parsed::default();
        Self { toolset, options, text, thinking: None, parsed, structured: 0, last: None, text_seen: false }
    }

    /// Takes a piece of the content.
    pub fn push_text(&mut self, piece: &str) -> Vec<Event> {
        if piece.is_empty() {
            return Vec::new();
        }
        let mut events = Vec::new();
        if !piece.trim().is_empty() && !self.text_seen {
            self.text_seen = true;
            events.extend(self.end_thinking());
        }
        events.extend(self.text.push(piece));
        self.keep(&events, CallSource::Text);
        events
    }

    /// Takes a piece of the thinking that came apart from the content.
    pub fn push_reasoning(&mut self, piece: &str) -> Vec<Event> {
        if piece.is_empty() {
            return Vec::new();
        }
        let thinking = self.thinking.get_or_insert_with(|| {
            // The backend takes the thinking out, so the content is outside it.
            self.text.leave_reasoning();
            Parser::for_thinking(Arc::clone(&self.toolset), self.options.clone())
        });
        let events = thinking.push(piece);
        self.keep(&events, CallSource::Text);
        events
    }

    /// Takes a structured call with all of its argument text. What it amounts to is reported when something follows.
    pub fn push_call(&mut self, call: StructuredCall<'_>) -> Vec<Event> {
        let mut events = Vec::new();
        events.extend(self.end_thinking());
        self.keep(&events, CallSource::Text);
        events.extend(self.read_last(End::Complete));
        self.last = Some((call.name.to_owned(), call.arguments.to_owned()));
        events
    }

    /// Ends the response: the whole, with text and calls together.
    pub fn finish(mut self, reason: FinishReason) -> Parsed {
        let end = if reason.is_cut() { End::Cut } else { End::Complete };
        self.read_last(end);
        if let Some(mut thinking) = self.thinking.take() {
            let events = thinking.finish(reason);
            self.keep(&events, CallSource::Text);
        }
        let events = self.text.finish(reason);
        self.keep(&events, CallSource::Text);
        self.drop_doubles();
        self.parsed.settle();
        self.parsed
    }

    /// Thinking that something else follows is over: a call in it was a rehearsal.
    fn end_thinking(&mut self) -> Option<Event> {
        let held = self.thinking.take()?.take_uncommitted();
        (!held.is_empty()).then_some(Event::Reasoning(held))
    }

    fn read_last(&mut self, end: End) -> Option<Event> {
        let (name, arguments) = self.last.take()?;
        let source = CallSource::Structured(self.structured);
        self.structured += 1;
        if self.options.tool_choice == ToolChoice::None {
            return None;
        }
        let call = StructuredCall { name: &name, arguments: &arguments };
        let event = match read_structured(&self.toolset, call, end) {
            Ok(call) => Event::Call(call),
            Err(fault) => Event::Fault(fault),
        };
        self.parsed.add(event.clone(), source);
        Some(event)
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
        let meaning = |call: &crate::ParsedCall| (call.name.clone(), call.arguments.to_value());
        let delivered: Vec<_> = self
            .parsed
            .attempts
            .iter()
            .filter(|attempt| attempt.source != CallSource::Text)
            .filter_map(|attempt| attempt.result.as_ref().ok().map(meaning))
            .collect();
        self.parsed.attempts.retain(|attempt| match &attempt.result {
            Ok(call) => attempt.source != CallSource::Text || !delivered.contains(&meaning(call)),
            Err(_) => true,
        });
    }
}

fn read_structured(toolset: &Toolset, call: StructuredCall<'_>, end: End) -> Result<ParsedCall, Fault> {
    if call.name.trim().is_empty() {
        let raw = call.arguments.to_owned();
        return Err(Fault::Unreadable { problem: "the call has no name".to_owned(), raw });
    }
    if let Some(fused) = fused_pairs(toolset, call) {
        return fused;
    }
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { call.arguments };
    toolset.read_call(call.name, arguments, Dialect::NATIVE, end)
}

/// The arguments that a server left in the name: `NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`.
fn fused_pairs(toolset: &Toolset, call: StructuredCall<'_>) -> Option<Result<ParsedCall, Fault>> {
    if !call.name.contains("<arg_key>") || !matches!(call.arguments.trim(), "" | "{}") {
        return None;
    }
    let place = Place { toolset, row: None, finish: Some(FinishReason::Stop), nested: false };
    match named::read(call.name, &place) {
        Item::Read(_, attempts) => attempts.into_iter().next(),
        Item::More | Item::Nothing => None,
    }
}
