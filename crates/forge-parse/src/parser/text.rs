//! Text for the reader: prose, code, quotations, and what at the start of a line may be a call.

use super::thinking::Thinking;
use super::{Mode, Parser, Step};
use crate::block::{self, Block};
use crate::context::Fence;
use crate::effort::spend;
use crate::engine::channel::{self, Message};
use crate::engine::lines::{self, Lines};
use crate::engine::named::is_name_char;
use crate::engine::{Item, named};
use crate::marker::{Lookup, Marker, lookup};
use crate::section::Section;

impl Parser {
    pub(super) fn text(&mut self) -> Step {
        if self.context.fence.is_some() {
            return self.in_fence();
        }
        if self.context.at_line_start()
            && let Some(step) = self.line_start()
        {
            return step;
        }
        let trigger = end_of_prose(self.rest(), self.context.any_text);
        let at = trigger.unwrap_or(self.rest().len());
        if let Some(step) = self.name_before(at, trigger.is_some()) {
            return step;
        }
        self.emit_text(at);
        match self.rest().chars().next() {
            None => Step::Wait,
            Some('`') => self.backticks(),
            Some(first @ ('<' | '[' | THINK)) => self.marker(first),
            Some(first) => {
                self.emit_text(first.len_utf8());
                Step::Again
            }
        }
    }

    /// A tool's name that ends at `at`: its arguments may follow behind a separator, the opening marker being lost.
    fn name_before(&mut self, at: usize, trigger: bool) -> Option<Step> {
        if !self.reads_calls() || (trigger && !self.rest().get(at..)?.starts_with(['<', '['])) {
            return None;
        }
        let before = self.rest().get(..at)?;
        let word = before.char_indices().rev().take_while(|(_, c)| is_name_char(*c)).last().map(|(start, _)| start)?;
        if word == 0 && self.context.last_char().is_some_and(is_name_char) {
            return None;
        }
        let name = before.get(word..)?;
        if !self.may_be_name(name, trigger) {
            return None;
        }
        if !trigger {
            self.emit_text(word);
            return self.more().then_some(Step::Wait);
        }
        match lookup(self.rest().get(at..)?, self.more()) {
            Lookup::Prefix => {
                self.emit_text(word);
                Some(Step::Wait)
            }
            Lookup::Found(Marker::Separator, _) => {
                let length = name.len();
                self.emit_text(word);
                Some(self.named(length))
            }
            Lookup::Found(..) | Lookup::Nothing => None,
        }
    }

    /// A name of this length that a separator follows.
    fn named(&mut self, length: usize) -> Step {
        let found = if self.context.shown() { Item::Nothing } else { named::read(self.rest(), &self.place()) };
        match found {
            Item::More => return Step::Wait,
            Item::Nothing => self.emit_text(length),
            Item::Read(len, attempts) => {
                self.emit_attempts(len, attempts);
                self.mode = Mode::Section(Section::standing(true));
            }
        }
        Step::Again
    }

    /// Whether a word is, or with more text may become, an offered name as templates write it.
    fn may_be_name(&self, word: &str, whole: bool) -> bool {
        const PREFIX: &str = "functions.";
        let bare = word.strip_prefix(PREFIX).unwrap_or(word);
        let begins = |name: &str| !whole && name.starts_with(bare);
        let is = |name: &str| {
            let index = bare.strip_prefix(name);
            index.is_some_and(|index| {
                index.is_empty() || index.trim_start_matches(':').bytes().all(|b| b.is_ascii_digit())
            })
        };
        (!whole && PREFIX.starts_with(word)) || self.toolset.names().any(|name| begins(name) || is(name))
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
        let rest = self.rest();
        let end = memchr::memchr(b'\n', rest.as_bytes());
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().trim();
        let marks_only = line.chars().all(|c| c == fence.mark) && self.context.at_line_start();
        if end.is_none() && self.more() && marks_only {
            return Step::Wait;
        }
        let closes = marks_only && line.len() >= fence.length;
        self.emit_text(end.map_or(rest.len(), |end| end + 1));
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
        spend(indent);
        match line.chars().next() {
            None if self.more() => Some(Step::Wait),
            None => {
                self.emit_text(indent);
                Some(Step::Again)
            }
            Some('>' | '|') => {
                self.emit_text(indent + 1);
                self.context.quote_line();
                Some(Step::Again)
            }
            Some('{' | '[' | '`' | '~' | '#') => self.block(indent),
            Some('<') => self.block(indent),
            Some(c) if c.is_alphabetic() || c == '_' => self.words(indent),
            Some(_) => None,
        }
    }

    /// A line that begins with a word.
    fn words(&mut self, indent: usize) -> Option<Step> {
        let whole_message = !self.context.any_text;
        if whole_message && let Some(step) = self.channel_words(indent) {
            return Some(step);
        }
        if !self.reads_calls() {
            return None;
        }
        if lines::may_begin(self.rest().get(indent..)?, self.more()) {
            return self.lines(indent, whole_message);
        }
        self.block(indent)
    }

    /// A channel message's header without its first tokens.
    fn channel_words(&mut self, indent: usize) -> Option<Step> {
        let line = self.rest().get(indent..)?;
        let place = self.place();
        if line.starts_with("to=") || (place.more() && "to=".starts_with(line)) {
            let message = if line.len() < 3 { Message::More } else { channel::read(line, &place) };
            return self.message(message, indent, Thinking::Channel);
        }
        let message = channel::stripped(line, &place, false);
        self.message(message, indent, Thinking::Stripped)
    }

    /// Follows a channel message's header.
    pub(super) fn message(&mut self, message: Message, before: usize, thinking: Thinking) -> Option<Step> {
        match message {
            Message::More => return Some(Step::Wait),
            Message::Nothing => return None,
            Message::Thinking(len) => {
                self.drop_markup(before + len);
                self.mode = Mode::Thinking(thinking);
            }
            Message::Text(len) => {
                self.drop_markup(before + len);
                self.mode = Mode::Text;
            }
            Message::Call(..) if !self.reads_calls() => return None,
            Message::Call(len, attempts) => {
                self.emit_attempts(before + len, attempts);
                self.mode = Mode::Text;
            }
        }
        Some(Step::Again)
    }

    fn lines(&mut self, indent: usize, whole_message: bool) -> Option<Step> {
        let line = self.rest().get(indent..)?;
        match lines::read(line, &self.place(), whole_message) {
            Lines::More => Some(Step::Wait),
            Lines::Nothing => None,
            Lines::Answer { thought, label } => {
                self.emit_reasoning(indent + thought);
                self.drop_markup(label);
                Some(Step::Again)
            }
            Lines::Call { thought, len, attempt } => {
                let behind = line.get(thought + len..).unwrap_or_default();
                let Some(made_up) = lines::made_up(behind, self.more()) else { return Some(Step::Wait) };
                self.emit_reasoning(indent + thought);
                self.emit_attempts(len, vec![attempt]);
                if made_up {
                    self.mode = Mode::MadeUp;
                }
                Some(Step::Again)
            }
        }
    }

    fn block(&mut self, indent: usize) -> Option<Step> {
        let whole_message = !self.context.any_text;
        if !self.reads_calls() || self.options.data_requested || self.context.in_document() {
            return self.fence(indent);
        }
        // The words before are looked at only where there may be a block: that costs more than the rest of the line.
        if !block::may_begin(self.rest().get(indent..)?, &self.place(), whole_message)
            || (!whole_message && self.context.leads_to_example())
        {
            return self.fence(indent);
        }
        let line = self.rest().get(indent..)?;
        let found = block::read(line, &self.place(), &self.toolset, whole_message);
        match found {
            Block::More => Some(Step::Wait),
            Block::Nothing => self.fence(indent),
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

    /// A fence of code that is shown.
    fn fence(&mut self, indent: usize) -> Option<Step> {
        let line = self.rest().get(indent..)?;
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let Some(end) = line.find('\n') else {
            return (self.more() && (length >= 3 || length == line.len())).then_some(Step::Wait);
        };
        let info = line.get(length..end).unwrap_or_default();
        if length < 3 || info.contains('`') {
            return None;
        }
        self.emit_text(indent + end + 1);
        self.context.fence = Some(Fence { mark, length });
        Some(Step::Again)
    }
}

/// The character that opens a marker of thinking, and its first byte, which many punctuation marks share.
const THINK: char = '\u{25c1}';
const FIRST_OF_THINK: u8 = 0xe2;

/// How far one kind of trigger is looked for before the other kind is.
const WINDOW: usize = 1024;

/// The first byte at which prose may end. One search knows three bytes and there are five, so two searches go side by
/// side, a window at a time: a text full of the one kind isn't searched to its end for the other.
fn next_trigger(bytes: &[u8]) -> Option<usize> {
    bytes.chunks(WINDOW).zip(0..).find_map(|(window, number)| {
        let first = memchr::memchr3(b'\n', b'<', b'`', window);
        let before = window.get(..first.unwrap_or(window.len()))?;
        memchr::memchr2(b'[', FIRST_OF_THINK, before).or(first).map(|at| number * WINDOW + at)
    })
}

/// Where something stands that has to be looked at. With text before it, lines that begin like prose are passed over
/// at once.
fn end_of_prose(text: &str, any_text: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += next_trigger(bytes.get(at..)?)?;
        let passed = match bytes.get(at) {
            Some(b'\n') => any_text && bytes.get(at + 1..).is_some_and(begins_like_prose),
            Some(&FIRST_OF_THINK) => !text.get(at..).is_some_and(|rest| rest.starts_with(THINK)),
            Some(_) | None => false,
        };
        if !passed {
            return Some(at);
        }
        at += 1;
    }
}

/// Whether a line's first characters leave nothing else to be decided. Doubtful lines are looked at in full.
fn begins_like_prose(line: &[u8]) -> bool {
    match line.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
        // The letters that begin `Thought:`, `Action:`, `call:` and `functools` are looked at.
        Some(b'T' | b'A' | b'c' | b'f') => false,
        Some(byte) => {
            byte.is_ascii_alphanumeric() || !byte.is_ascii() || matches!(byte, b'-' | b'*' | b'(' | b'"' | b'.')
        }
        None => false,
    }
}
