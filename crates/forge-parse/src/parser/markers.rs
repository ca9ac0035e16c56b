//! What a marker in text leads to: a section of calls, thinking, or nothing.

use super::thinking::Thinking;
use super::{Mode, Parser, Step};
use crate::Event;
use crate::context::TextContext;
use crate::dialect::DIALECTS;
use crate::engine::channel;
use crate::marker::{Lookup, Marker, lookup};
use crate::section::{MarkerRun, Next, Opened, Section, closing_after, open};
use crate::tag::{TagRead, read_tag};

impl Parser {
    /// What a marker at the place leads to; `first` is its first character.
    pub(super) fn marker(&mut self, first: char) -> Step {
        let (marker, len) = match lookup(self.rest(), self.more()) {
            Lookup::Prefix => return Step::Wait,
            Lookup::Nothing => return self.plain(first),
            Lookup::Found(marker, len) => (marker, len),
        };
        if self.is_shown(marker) {
            return self.show(first, marker);
        }
        match marker {
            Marker::ThinkOpen(wrapper) => {
                if self.context.in_sentence() {
                    return self.plain(first);
                }
                self.drop_markup(len);
                self.mode = Mode::Thinking(Thinking::Wrapper(wrapper));
                Step::Again
            }
            Marker::ThinkClose => self.orphan_think_close(first, len),
            Marker::Header => self.header(len),
            Marker::Open(row) => self.open(first, Some(row), len),
            Marker::Tag => self.open(first, None, 0),
            Marker::Close | Marker::Noise | Marker::Separator => self.stray(first, len),
        }
    }

    /// Whether a marker is text here: in a quotation or in code, in an answer or a document of markup, without tools,
    /// or as the end of what was shown.
    fn is_shown(&self, marker: Marker) -> bool {
        let in_markup = self.options.data_requested || self.context.in_document();
        self.context.shown()
            || match marker {
                Marker::ThinkOpen(_) | Marker::ThinkClose | Marker::Header => false,
                Marker::Open(_) | Marker::Tag | Marker::Close | Marker::Separator | Marker::Noise
                    if !self.reads_calls() =>
                {
                    true
                }
                // A special token is no markup that anybody asks for.
                Marker::Open(row) => {
                    self.options.data_requested && !DIALECTS.get(row).is_some_and(|row| row.ends_thinking)
                }
                Marker::Tag => in_markup,
                Marker::Close | Marker::Separator => in_markup || self.context.closes_shown(),
                Marker::Noise => false,
            }
    }

    /// Takes a marker as text, and with it what closes it.
    fn show(&mut self, first: char, marker: Marker) -> Step {
        if matches!(marker, Marker::Open(_) | Marker::Tag) {
            self.context.show_marker();
        }
        self.plain(first)
    }

    /// Takes one character as text; a tag at the start of a line may begin or end a document.
    fn plain(&mut self, first: char) -> Step {
        if first == '<' && !self.context.shown() {
            let at_line_start = self.context.at_line_start();
            match read_tag(self.rest(), self.more()) {
                TagRead::More if at_line_start || self.context.in_document() => return Step::Wait,
                TagRead::Tag(tag) => {
                    let name = tag.name.to_owned();
                    let (closing, empty) = (tag.closing, tag.empty);
                    self.context.element(&name, closing, empty || !at_line_start);
                }
                TagRead::More | TagRead::Nothing => {}
            }
        }
        self.emit_text(first.len_utf8());
        Step::Again
    }

    fn orphan_think_close(&mut self, first: char, len: usize) -> Step {
        if self.context.in_sentence() && self.context.before().ends_with(' ') {
            return self.plain(first);
        }
        self.drop_markup(len);
        if self.any || self.stray {
            self.events.push(Event::WasReasoning);
            self.any = false;
            self.stray = false;
        }
        self.context = TextContext::default();
        self.context.unit_taken();
        Step::Again
    }

    fn header(&mut self, len: usize) -> Step {
        let message = channel::read(self.rest(), &self.place());
        match self.message(message, 0, Thinking::Channel) {
            Some(step) => step,
            None => self.stray('<', len),
        }
    }

    /// A marker that leads to nothing: named in a sentence it is text, otherwise it vanishes.
    fn stray(&mut self, first: char, len: usize) -> Step {
        match self.is_mention(len) {
            None => Step::Wait,
            Some(true) => self.plain(first),
            Some(false) => {
                self.stray = true;
                self.drop_markup(len);
                Step::Again
            }
        }
    }

    /// Whether a marker of this length is a word of a sentence. None if it can't be told yet.
    fn is_mention(&self, len: usize) -> Option<bool> {
        if self.context.in_sentence() && self.context.before().ends_with([' ', '(']) {
            return Some(true);
        }
        let mut behind = self.rest().get(len..).unwrap_or_default().chars();
        match (behind.next(), behind.next()) {
            (None, _) | (Some(' '), None) if self.more() => None,
            (Some(' '), Some(c)) => Some(c.is_lowercase()),
            (Some(_) | None, _) => Some(false),
        }
    }

    fn open(&mut self, first: char, row: Option<usize>, marker: usize) -> Step {
        let special = row.and_then(|row| DIALECTS.get(row)).is_some_and(|row| row.ends_thinking);
        if self.context.in_sentence() && !special {
            return self.open_in_sentence(first, row, marker);
        }
        match open(self.rest(), row, marker, &self.place()) {
            Opened::More => Step::Wait,
            Opened::Section(len, attempts, section) => {
                let unknown = attempts.iter().all(|attempt| matches!(attempt, Err(crate::Fault::UnknownTool { .. })));
                if unknown && self.rest().get(marker..).is_some_and(|behind| behind.starts_with(' ')) && len < 64 {
                    return self.show(first, Marker::Tag);
                }
                self.emit_attempts(len, attempts);
                self.mode = Mode::Section(section);
                Step::Again
            }
            Opened::Stray(run) => self.unreadable(first, marker, run),
        }
    }

    /// A marker without a call behind it, the last of a run of markers that begins at `run`. With a closing marker it
    /// was meant as one; alone it vanishes.
    fn unreadable(&mut self, first: char, marker: usize, run: usize) -> Step {
        match self.is_mention(marker) {
            None => return Step::Wait,
            Some(true) => return self.show(first, Marker::Tag),
            Some(false) => {}
        }
        if run > 0 {
            self.stray = true;
            self.drop_markup(run);
            return Step::Again;
        }
        if marker == 0 {
            // A tag without a call in it is text.
            return self.plain(first);
        }
        match closing_after(self.rest(), marker, self.more()) {
            None => Step::Wait,
            Some(Some(len)) => {
                let raw = self.rest().get(..len).unwrap_or_default().to_owned();
                let problem = "what stands between the markers is no call".to_owned();
                self.emit_attempts(len, vec![Err(crate::Fault::Unreadable { problem, raw })]);
                self.mode = Mode::Section(Section::standing(true));
                Step::Again
            }
            Some(None) => {
                self.stray = true;
                self.drop_markup(marker);
                Step::Again
            }
        }
    }

    /// Calls in plain tags within a sentence: where the sentence goes on behind them they are quoted.
    fn open_in_sentence(&mut self, first: char, row: Option<usize>, marker: usize) -> Step {
        let mut section = Section::new(row);
        let mut run = MarkerRun::default();
        let mut at = marker;
        let mut calls = Vec::new();
        loop {
            let rest = self.rest().get(at..).unwrap_or_default();
            match section.next(rest, &self.place()) {
                Next::More => return Step::Wait,
                Next::Skip(len) => {
                    run.skipped(rest, at);
                    at += len;
                }
                Next::Read(len, attempts) => {
                    at += len;
                    calls.extend(attempts);
                }
                Next::Leave => break,
            }
        }
        if calls.is_empty() {
            return self.unreadable(first, marker, run.last);
        }
        let behind = self.rest().get(at..).unwrap_or_default();
        let same_line = behind.trim_start_matches([' ', '\t']);
        if same_line.chars().next().is_some_and(|c| c.is_alphanumeric() || matches!(c, ',' | ';' | '"' | '\'' | ')')) {
            self.emit_text(at);
        } else {
            self.emit_attempts(at, calls);
            self.mode = Mode::Section(section);
        }
        Step::Again
    }
}
