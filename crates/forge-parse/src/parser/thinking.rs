//! The model's thinking, and calls that are written in it.

use super::{Mode, Parser, Step, parse_part};
use crate::dialect::DIALECTS;
use crate::engine::channel;
use crate::marker::{Lookup, Marker, lookup};
use crate::{Event, Fault, FinishReason};

/// What the thinking is wrapped in, which is what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// A pair of tags: a row of the table of wrappers.
    Wrapper(usize),
    /// A channel message.
    Channel,
    /// A channel message whose tokens were stripped.
    Stripped,
    /// The backend delivered it apart from the text.
    Delivered,
}

/// What was written in open thinking from the first marker of a call on.
#[derive(Clone, Debug, Default)]
pub(super) struct Rehearsal {
    /// None before any marker.
    text: Option<String>,
    /// Where the last marker begins in it.
    last: usize,
    /// Whether anything but white space came before it.
    thought_before: bool,
    /// The character before the current place.
    before: Option<char>,
}

impl Parser {
    pub(super) fn emit_reasoning(&mut self, len: usize) {
        let end = self.taken + len;
        let Some(text) = self.buffer.get(self.taken..end).filter(|text| !text.is_empty()) else { return };
        self.rehearsal.before = text.chars().next_back();
        match &mut self.rehearsal.text {
            None => self.rehearsal.thought_before |= !text.trim().is_empty(),
            Some(rehearsed) => rehearsed.push_str(text),
        }
        match self.events.last_mut() {
            Some(Event::Reasoning(last)) => last.push_str(text),
            _ => self.events.push(Event::Reasoning(text.to_owned())),
        }
        self.taken = end;
    }

    pub(super) fn thinking(&mut self, thinking: Thinking) -> Step {
        let stripped = thinking == Thinking::Stripped;
        let trigger = |byte: u8| matches!(byte, b'<' | b'[' | 0xe2) || (stripped && byte == b'a');
        let at = self.rest().bytes().position(trigger).unwrap_or(self.rest().len());
        self.emit_reasoning(at);
        let Some(first) = self.rest().chars().next() else { return Step::Wait };
        if stripped && first == 'a' {
            let message = channel::stripped(self.rest(), &self.place(), true);
            if let Some(step) = self.message(message, 0, Thinking::Stripped) {
                return step;
            }
        }
        match lookup(self.rest(), self.more()) {
            Lookup::Prefix => Step::Wait,
            Lookup::Found(Marker::ThinkClose, len) if matches!(thinking, Thinking::Wrapper(_)) => self.close(len),
            Lookup::Found(Marker::Noise, len) if thinking == Thinking::Channel => {
                self.end_thinking(len);
                Step::Again
            }
            Lookup::Found(Marker::Header, _) if matches!(thinking, Thinking::Channel | Thinking::Stripped) => {
                self.end_thinking(0);
                Step::Again
            }
            Lookup::Found(Marker::Open(row), len) if self.may_rehearse() => self.marker_in_thinking(row, len),
            Lookup::Found(Marker::Tag, _) if self.may_rehearse() => {
                self.begin_rehearsal(first.len_utf8());
                Step::Again
            }
            Lookup::Found(..) | Lookup::Nothing => {
                self.emit_reasoning(first.len_utf8());
                Step::Again
            }
        }
    }

    fn end_thinking(&mut self, len: usize) {
        self.drop_markup(len);
        self.rehearsal = Rehearsal::default();
        self.mode = Mode::Text;
    }

    fn quoted_in_thinking(&self) -> bool {
        matches!(self.rehearsal.before, Some('`' | '"' | '\'' | '\u{201c}' | '\u{2018}'))
    }

    fn may_rehearse(&self) -> bool {
        self.reads_calls() && !self.quoted_in_thinking()
    }

    fn begin_rehearsal(&mut self, len: usize) {
        self.rehearsal.last = self.rehearsal.text.get_or_insert_default().len();
        self.emit_reasoning(len);
    }

    /// A special token that opens a call ends the thinking, unless a closing tag still comes: then it was a rehearsal.
    fn marker_in_thinking(&mut self, row: usize, len: usize) -> Step {
        if !DIALECTS.get(row).is_some_and(|row| row.ends_thinking) {
            self.begin_rehearsal(len);
            return Step::Again;
        }
        if let Some(at) = find_close(self.rest(), len) {
            self.emit_reasoning(at);
            return Step::Again;
        }
        let Some(reason) = self.finish else { return Step::Wait };
        let part = parse_part(&self.toolset, self.rest(), reason);
        if part.attempts.is_empty() || !part.text.trim().is_empty() {
            self.emit_reasoning(self.rest().len());
            return Step::Again;
        }
        self.end_thinking(0);
        Step::Again
    }

    /// A closing tag. In the middle of a sentence it may be one the thinking talks about: then the last one counts.
    fn close(&mut self, len: usize) -> Step {
        let behind = self.rest().get(len..).unwrap_or_default();
        let mut next = behind.chars();
        let (first, second) = (next.next(), next.next());
        if self.more() && (first.is_none() || (first == Some(' ') && second.is_none())) {
            return Step::Wait;
        }
        let in_sentence =
            self.rehearsal.before == Some(' ') && first == Some(' ') && second.is_some_and(char::is_lowercase);
        let quoted = self.quoted_in_thinking() && first == self.rehearsal.before;
        if in_sentence || quoted {
            if let Some(at) = find_close(self.rest(), len) {
                self.emit_reasoning(at);
                return Step::Again;
            }
            if self.more() {
                return Step::Wait;
            }
        }
        self.end_thinking(len);
        Step::Again
    }

    /// At the end: a call in thinking that never ended. If the thinking is nothing but the call, it is one; after
    /// other thoughts it may be a rehearsal, and only the model can tell.
    pub(super) fn judge_rehearsal(&mut self, reason: FinishReason, events: &mut Vec<Event>) {
        let Mode::Thinking(_) = self.mode else { return };
        let rehearsal = std::mem::take(&mut self.rehearsal);
        let Some(text) = rehearsal.text.filter(|_| !self.nested) else { return };
        let whole = parse_part(&self.toolset, &text, reason);
        let only_calls = |part: &crate::Parsed| !part.attempts.is_empty() && part.text.trim().is_empty();
        if !rehearsal.thought_before && only_calls(&whole) {
            events.extend(whole.attempts.into_iter().map(|attempt| match attempt.result {
                Ok(call) => Event::Call(call),
                Err(fault) => Event::Fault(fault),
            }));
            self.any = true;
            return;
        }
        let last = text.get(rehearsal.last..).unwrap_or_default();
        if only_calls(&whole) || only_calls(&parse_part(&self.toolset, last, reason)) {
            let problem = "the call stands in thinking that was never ended".to_owned();
            events.push(Event::Fault(Fault::Unreadable { problem, raw: last.to_owned() }));
            self.any = true;
        }
    }
}

/// Where the next closing tag of thinking begins, from `from` on.
fn find_close(text: &str, from: usize) -> Option<usize> {
    let behind = text.get(from..)?;
    let places = behind.match_indices(['<', '[', '\u{25c1}']).map(|(at, _)| from + at);
    let mut places = places.filter(|at| {
        matches!(lookup(text.get(*at..).unwrap_or_default(), false), Lookup::Found(Marker::ThinkClose, _))
    });
    places.next()
}
