use std::sync::Arc;

use crate::block::{self, Block};
use crate::context::{Fence, TextContext};
use crate::engine::{Attempt, Place};
use crate::intent::introduces_example;
use crate::marker::{Lookup, Marker, lookup};
use crate::section::{Next, Opened, Section, open};
use crate::think::WRAPPERS;
use crate::{Event, FinishReason, Parsed, ParserOptions, ToolChoice, Toolset};

/// Reads one generation as it arrives.
///
/// What comes out does not depend on how the text was cut into pieces: the events of any division, put together by
/// [`Parsed::from_events`], are the same.
#[derive(Debug)]
pub struct Parser {
    toolset: Arc<Toolset>,
    options: ParserOptions,
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
    finish: Option<FinishReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Text,
    Thinking(usize),
    Section(Section),
}

/// Whether the parser can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Again,
    Wait,
}

impl Parser {
    /// A parser for one generation.
    pub fn new(toolset: Arc<Toolset>, options: ParserOptions) -> Self {
        let mode = if options.starts_in_reasoning { Mode::Thinking(0) } else { Mode::Text };
        Self {
            toolset,
            options,
            buffer: String::new(),
            taken: 0,
            mode,
            context: TextContext::default(),
            events: Vec::new(),
            stray: false,
            any: false,
            finish: None,
        }
    }

    /// Takes the next piece and returns what has become certain.
    pub fn push(&mut self, piece: &str) -> Vec<Event> {
        self.buffer.push_str(piece);
        self.run()
    }

    /// Ends the generation and returns the rest. Afterwards the parser reads nothing more.
    pub fn finish(&mut self, reason: FinishReason) -> Vec<Event> {
        self.finish = Some(reason);
        self.run()
    }

    /// Takes back the text that was pushed and not yet reported, and forgets it.
    pub fn take_uncommitted(&mut self) -> String {
        let rest = self.rest().to_owned();
        self.buffer.clear();
        self.taken = 0;
        rest
    }

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
        Place { toolset: &self.toolset, row: None, finish: self.finish }
    }

    fn step(&mut self) -> Step {
        if self.rest().is_empty() {
            return Step::Wait;
        }
        match self.mode {
            Mode::Text => self.text(),
            Mode::Thinking(wrapper) => self.thinking(wrapper),
            Mode::Section(section) => self.section(section),
        }
    }

    // --- events

    fn emit_text(&mut self, len: usize) {
        let end = self.taken + len;
        let Some(text) = self.buffer.get(self.taken..end) else { return };
        self.context.advance(text);
        self.any |= !text.trim().is_empty();
        match self.events.last_mut() {
            Some(Event::Text(last)) => last.push_str(text),
            _ => self.events.push(Event::Text(text.to_owned())),
        }
        self.taken = end;
    }

    fn emit_reasoning(&mut self, len: usize) {
        let end = self.taken + len;
        let Some(text) = self.buffer.get(self.taken..end) else { return };
        if text.is_empty() {
            return;
        }
        match self.events.last_mut() {
            Some(Event::Reasoning(last)) => last.push_str(text),
            _ => self.events.push(Event::Reasoning(text.to_owned())),
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

    // --- text

    fn text(&mut self) -> Step {
        if self.context.fence.is_some() {
            return self.in_fence();
        }
        if self.context.at_line_start()
            && let Some(step) = self.line_start()
        {
            return step;
        }
        let Some(at) = self.rest().bytes().position(is_trigger) else {
            self.emit_text(self.rest().len());
            return Step::Wait;
        };
        self.emit_text(at);
        match self.rest().chars().next() {
            Some('`') => self.backticks(),
            Some(first @ ('<' | '[' | '\u{25c1}')) => self.marker(first),
            Some(first) => {
                self.emit_text(first.len_utf8());
                Step::Again
            }
            None => Step::Wait,
        }
    }

    fn backticks(&mut self) -> Step {
        let run = self.rest().bytes().take_while(|byte| *byte == b'`').count();
        if self.more() && run == self.rest().len() {
            return Step::Wait;
        }
        self.emit_text(run);
        self.context.backticks(run);
        Step::Again
    }

    fn in_fence(&mut self) -> Step {
        let Some(fence) = self.context.fence else { return Step::Again };
        let Some(end) = memchr::memchr(b'\n', self.rest().as_bytes()) else {
            let line = self.rest().trim();
            let may_close = line.is_empty() || line.chars().all(|c| c == fence.mark);
            if self.more() && may_close && self.context.at_line_start() {
                return Step::Wait;
            }
            if may_close && line.len() >= fence.length {
                self.context.fence = None;
            }
            self.emit_text(self.rest().len());
            return Step::Wait;
        };
        let line = self.rest().get(..end).unwrap_or_default().trim();
        let closes =
            self.context.at_line_start() && line.len() >= fence.length && line.chars().all(|c| c == fence.mark);
        self.emit_text(end + 1);
        if closes {
            self.context.fence = None;
        }
        Step::Again
    }

    /// What only counts at the start of a line; none where the line begins like any other.
    fn line_start(&mut self) -> Option<Step> {
        let rest = self.rest();
        let line = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let indent = rest.len() - line.len();
        match line.chars().next() {
            None if self.more() => Some(Step::Wait),
            None => None,
            Some('>' | '|') => {
                self.emit_text(indent + 1);
                self.context.quote_line();
                Some(Step::Again)
            }
            Some('{' | '[' | '`' | '~') => self.block(indent),
            Some(_) => None,
        }
    }

    fn block(&mut self, indent: usize) -> Option<Step> {
        let whole_message = !self.context.any_text;
        let gate = self.reads_calls() && !self.options.data_requested;
        let gate = gate && (whole_message || !introduces_example(self.context.before()));
        let line = self.rest().get(indent..).unwrap_or_default();
        let found = if gate { block::read(line, &self.place(), whole_message) } else { Block::Nothing };
        match found {
            Block::More => Some(Step::Wait),
            Block::Nothing => self.fence_or_marker(indent),
            Block::Text(len) => {
                self.emit_text(indent + len);
                Some(Step::Again)
            }
            Block::Calls(len, attempts) => {
                self.emit_attempts(indent + len, attempts);
                Some(Step::Again)
            }
        }
    }

    fn fence_or_marker(&mut self, indent: usize) -> Option<Step> {
        let line = self.rest().get(indent..).unwrap_or_default();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let Some(end) = line.find('\n') else {
            if self.more() && (length >= 3 || length == line.len()) {
                return Some(Step::Wait);
            }
            return None;
        };
        let info = line.get(length..end).unwrap_or_default();
        if length < 3 || info.contains('`') {
            return None;
        }
        self.emit_text(indent + end + 1);
        self.context.fence = Some(Fence { mark, length });
        Some(Step::Again)
    }

    fn marker(&mut self, first: char) -> Step {
        let (marker, len) = match lookup(self.rest(), self.more()) {
            Lookup::Prefix => return Step::Wait,
            Lookup::Found(marker, len) if !self.context.shown() => (marker, len),
            Lookup::Found(..) | Lookup::Nothing => {
                self.emit_text(first.len_utf8());
                return Step::Again;
            }
        };
        match marker {
            Marker::ThinkOpen(wrapper) => {
                self.drop_markup(len);
                self.mode = Mode::Thinking(wrapper);
                Step::Again
            }
            Marker::ThinkClose => {
                self.drop_markup(len);
                if self.any {
                    self.events.push(Event::WasReasoning);
                    self.context = TextContext::default();
                    self.any = false;
                }
                Step::Again
            }
            Marker::Open(_) | Marker::Tag | Marker::Close | Marker::Noise | Marker::Separator | Marker::Header
                if !self.reads_calls() =>
            {
                self.emit_text(first.len_utf8());
                Step::Again
            }
            Marker::Open(row) => self.open(Some(row), len),
            Marker::Tag => self.open(None, 0),
            Marker::Close | Marker::Noise | Marker::Separator | Marker::Header => {
                self.stray = true;
                self.drop_markup(len);
                Step::Again
            }
        }
    }

    fn open(&mut self, row: Option<usize>, marker: usize) -> Step {
        match open(self.rest(), row, marker, &self.place()) {
            Opened::More => Step::Wait,
            Opened::Section(len, attempts, section) => {
                self.emit_attempts(len, attempts);
                self.mode = Mode::Section(section);
                Step::Again
            }
            Opened::Stray => {
                self.stray = true;
                self.drop_markup(marker.max(1));
                Step::Again
            }
        }
    }

    fn section(&mut self, mut section: Section) -> Step {
        let next = section.next(self.rest(), &self.place());
        match next {
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

    // --- thinking

    fn thinking(&mut self, wrapper: usize) -> Step {
        let close = WRAPPERS.get(wrapper).map_or("</think>", |wrapper| wrapper.close);
        let first = close.chars().next().unwrap_or('<');
        let Some(at) = self.rest().find(first) else {
            self.emit_reasoning(self.rest().len());
            return Step::Wait;
        };
        self.emit_reasoning(at);
        match lookup(self.rest(), self.more()) {
            Lookup::Prefix => Step::Wait,
            Lookup::Found(Marker::ThinkClose, len) => {
                self.drop_markup(len);
                self.mode = Mode::Text;
                Step::Again
            }
            Lookup::Found(..) | Lookup::Nothing => {
                self.emit_reasoning(first.len_utf8());
                Step::Again
            }
        }
    }
}

fn is_trigger(byte: u8) -> bool {
    matches!(byte, b'\n' | b'`' | b'<' | b'[' | 0xe2)
}

/// Reads a whole text: one push, one finish.
pub fn parse(toolset: &Arc<Toolset>, options: &ParserOptions, text: &str, reason: FinishReason) -> Parsed {
    let mut parser = Parser::new(Arc::clone(toolset), options.clone());
    let mut events = parser.push(text);
    events.extend(parser.finish(reason));
    Parsed::from_events(events)
}
