mod markers;
mod text;
mod thinking;

use std::sync::Arc;

use crate::context::TextContext;
use crate::effort::spend;
use crate::engine::{Attempt, Place};
use crate::looped::repetition;
use crate::noise::BoundaryFilter;
use crate::section::{Next, Section};
use crate::{Event, Fault, FinishReason, Parsed, ParserOptions, ToolChoice, Toolset};
use thinking::{Rehearsal, Thinking};

/// Reads one generation as it arrives.
///
/// What comes out does not depend on how the text was cut into pieces: the events of any division, put together by
/// [`Parsed::from_events`], are the same.
///
/// ```
/// use forge_parse::{Event, FinishReason, Parser, ParserOptions, ToolSpec, Toolset};
///
/// let toolset = Toolset::compile(vec![ToolSpec::new("now", "Tells the time.", ToolSpec::no_parameters())]);
/// let mut parser = Parser::new(toolset, ParserOptions::default());
/// assert_eq!(parser.push("Let me see. <tool_"), [Event::Text("Let me see. ".to_owned())]);
/// assert_eq!(parser.push("call>{\"name\": \"now\", \"arguments\": "), []);
/// assert!(matches!(parser.push("{}}</tool_call>").as_slice(), [Event::Call(call)] if call.name == "now"));
/// assert_eq!(parser.finish(FinishReason::Stop), []);
/// ```
#[derive(Debug)]
pub struct Parser {
    toolset: Arc<Toolset>,
    options: ParserOptions,
    filter: BoundaryFilter,
    /// Text that was pushed and not yet reported.
    buffer: String,
    /// What of the buffer was reported.
    taken: usize,
    mode: Mode,
    context: TextContext,
    events: Vec<Event>,
    /// Whether markup was taken out of the text that led to nothing.
    stray: bool,
    /// Whether a call, a fault or visible text was reported.
    any: bool,
    /// A call that was written in thinking that is still open.
    rehearsal: Rehearsal,
    finish: Option<FinishReason>,
    /// Whether the text is a part of a message that another parser reads.
    nested: bool,
    /// How many bytes may be read again, earned by the bytes that arrive.
    credit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Text,
    Thinking(Thinking),
    Section(Section),
    /// What follows a call that the model answered itself.
    MadeUp,
}

/// Whether the parser can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Again,
    Wait,
}

/// Up to this length what is held is read again with every piece.
const SHORT: usize = 1024;
/// How often each byte may be read again while a long call arrives in small pieces.
const READINGS: usize = 16;

impl Parser {
    /// A parser for one generation.
    pub fn new(toolset: Arc<Toolset>, options: ParserOptions) -> Self {
        let mode = if options.starts_in_reasoning { Mode::Thinking(Thinking::Wrapper(0)) } else { Mode::Text };
        Self {
            toolset,
            options,
            filter: BoundaryFilter::default(),
            buffer: String::new(),
            taken: 0,
            mode,
            context: TextContext::default(),
            events: Vec::new(),
            stray: false,
            any: false,
            rehearsal: Rehearsal::default(),
            finish: None,
            nested: false,
            credit: 0,
        }
    }

    /// A parser for thinking that a backend delivers apart from the text: nothing closes it.
    pub(crate) fn for_thinking(toolset: Arc<Toolset>, options: ParserOptions) -> Self {
        let mut parser = Self::new(toolset, options);
        parser.mode = Mode::Thinking(Thinking::Delivered);
        parser
    }

    /// Takes the next piece and returns what has become certain.
    pub fn push(&mut self, piece: &str) -> Vec<Event> {
        self.filter.push(piece, &mut self.buffer);
        self.credit = self.credit.saturating_add(piece.len().saturating_mul(READINGS));
        if self.buffer.len() > SHORT {
            // What waits for its end is not read again for each of very many pieces: the cost stays linear.
            if self.credit < self.buffer.len() {
                return Vec::new();
            }
            self.credit -= self.buffer.len();
        }
        self.run()
    }

    /// Ends the generation and returns the rest. Afterwards the parser reads nothing more.
    pub fn finish(&mut self, reason: FinishReason) -> Vec<Event> {
        self.filter.finish(&mut self.buffer);
        self.finish = Some(reason);
        let mut events = self.run();
        self.judge_rehearsal(reason, &mut events);
        events.extend(self.last_fault());
        events
    }

    /// Takes back the text that was pushed and not yet reported, and forgets it.
    pub fn take_uncommitted(&mut self) -> String {
        self.filter.finish(&mut self.buffer);
        self.taken = 0;
        std::mem::take(&mut self.buffer)
    }

    /// Says that the text begins outside thinking after all, because the thinking came apart from it.
    pub(crate) fn leave_reasoning(&mut self) {
        if self.buffer.is_empty() {
            self.mode = Mode::Text;
        }
    }

    fn run(&mut self) -> Vec<Event> {
        while self.step() == Step::Again {}
        self.buffer.drain(..self.taken);
        self.taken = 0;
        std::mem::take(&mut self.events)
    }

    fn rest(&self) -> &str {
        self.buffer.get(self.taken..).unwrap_or_default()
    }

    fn more(&self) -> bool {
        self.finish.is_none()
    }

    fn reads_calls(&self) -> bool {
        self.options.tool_choice != ToolChoice::None && !self.toolset.specs().is_empty()
    }

    fn place(&self) -> Place<'_> {
        Place { toolset: &self.toolset, row: None, finish: self.finish, nested: self.nested }
    }

    fn step(&mut self) -> Step {
        spend(1);
        if self.rest().is_empty() {
            return Step::Wait;
        }
        match self.mode {
            Mode::Text => self.text(),
            Mode::Thinking(thinking) => self.thinking(thinking),
            Mode::Section(section) => self.section(section),
            Mode::MadeUp => {
                self.taken = self.buffer.len();
                Step::Wait
            }
        }
    }

    fn section(&mut self, mut section: Section) -> Step {
        match section.next(self.rest(), &self.place()) {
            Next::More => return Step::Wait,
            Next::Skip(len) => self.drop_markup(len),
            Next::Read(len, attempts) => self.emit_attempts(len, attempts),
            Next::Leave => {
                self.mode = Mode::Text;
                return Step::Again;
            }
        }
        self.mode = Mode::Section(section);
        Step::Again
    }

    // --- events

    fn emit_text(&mut self, len: usize) {
        let end = self.taken + len;
        let Some(text) = self.buffer.get(self.taken..end).filter(|text| !text.is_empty()) else { return };
        self.context.advance(text);
        self.any |= self.context.any_text;
        match self.events.last_mut() {
            Some(Event::Text(last)) => last.push_str(text),
            _ => self.events.push(Event::Text(text.to_owned())),
        }
        self.taken = end;
    }

    fn drop_markup(&mut self, len: usize) {
        self.taken += len;
        self.context.unit_taken();
    }

    fn emit_attempts(&mut self, len: usize, attempts: Vec<Attempt>) {
        self.drop_markup(len);
        self.any |= !attempts.is_empty();
        self.events.extend(attempts.into_iter().map(|attempt| match attempt {
            Ok(call) => Event::Call(call),
            Err(fault) => Event::Fault(fault),
        }));
    }

    /// What can only be said at the end: that nothing but markup came, or that the text ran into a loop.
    fn last_fault(&self) -> Option<Event> {
        if self.nested {
            return None;
        }
        if self.stray && !self.any {
            let problem = "there is markup of a call and no call in it".to_owned();
            return Some(Event::Fault(Fault::Unreadable { problem, raw: String::new() }));
        }
        let (unit, count) = repetition(self.context.before())?;
        Some(Event::Fault(Fault::RepeatedText { unit, count }))
    }
}

/// Reads a whole text: one push, one finish.
pub fn parse(toolset: &Arc<Toolset>, options: &ParserOptions, text: &str, reason: FinishReason) -> Parsed {
    let mut parser = Parser::new(Arc::clone(toolset), options.clone());
    let mut events = parser.push(text);
    events.extend(parser.finish(reason));
    Parsed::from_events(events)
}

/// Reads a part of a message: what stands in a fence, or in thinking that never ended.
pub(crate) fn parse_part(toolset: &Arc<Toolset>, text: &str, reason: FinishReason) -> Parsed {
    let mut parser = Parser::new(Arc::clone(toolset), ParserOptions::default());
    parser.nested = true;
    let mut events = parser.push(text);
    events.extend(parser.finish(reason));
    Parsed::from_events(events)
}
