//! Which bytes of the backend go on as they are.

use bytes::Bytes;
use forge_backend::Frame;

use super::reading::{Reading, Seen};
use crate::piece::Piece;
use crate::protocol::chat::{Naive, Whole};

/// Hands on what is certain: as the backend's own bytes where client and backend speak the same protocol and a client that
/// reads them naively sees what the guardrails saw, in pieces of our own otherwise.
pub(crate) struct Relay {
    /// Whether text may be shown before the end of the generation.
    flows: bool,
    /// Whether text is taken for thinking until its end has come.
    awaits_thought: bool,
    raw: Option<RawRelay>,
    /// What was seen and not yet handed on.
    waiting: Vec<Seen>,
}

/// Bytes that wait until it is certain that nothing in them has to change.
struct RawRelay {
    streams: bool,
    held: Vec<Bytes>,
    /// The text and thinking of the held frames.
    came: String,
    /// What was seen of it.
    seen: String,
    naive: Naive,
}

impl Relay {
    /// Pieces of our own.
    pub(crate) fn encoding(flows: bool) -> Self {
        Self { flows, awaits_thought: false, raw: None, waiting: Vec::new() }
    }

    /// The backend's bytes, as long as they can stay as they are. `streams` says in which form the client expects them.
    pub(crate) fn forwarding(flows: bool, streams: bool) -> Self {
        let raw =
            RawRelay { streams, held: Vec::new(), came: String::new(), seen: String::new(), naive: Naive::default() };
        Self { flows, awaits_thought: false, raw: Some(raw), waiting: Vec::new() }
    }

    /// Shows no text before the end of a thought that had no beginning: a model whose last answer began so may do it again.
    pub(crate) fn awaiting_thought(self, awaits_thought: bool) -> Self {
        Self { awaits_thought, ..self }
    }

    /// Takes the next frame and gives what may go on.
    pub(crate) fn take(&mut self, frame: Frame, reading: &mut Reading, out: &mut Vec<Piece>) {
        let first_seen = self.waiting.len();
        for event in frame.events {
            if let Some(raw) = &mut self.raw {
                raw.note(&event);
            }
            reading.take(event, &mut self.waiting);
        }
        let Some(raw) = &mut self.raw else {
            self.settle_thought();
            self.flow(out);
            return;
        };
        for seen in self.waiting.iter().skip(first_seen) {
            raw.seen.push_str(seen.text());
        }
        self.settle_thought();
        let Some(raw) = &mut self.raw else { return };
        let held_before = !raw.held.is_empty() && !raw.came.is_empty();
        raw.hold(frame.raw);
        if !self.flows || self.awaits_thought || !raw.streams || reading.has_calls() || raw.naive.is_finished() {
            return;
        }
        if raw.is_settled() {
            if !self.waiting.is_empty() {
                self.waiting.clear();
                out.extend(raw.flush());
            }
        } else if !raw.naive.is_regular() || !raw.came.starts_with(&raw.seen) || (held_before && !raw.seen.is_empty()) {
            // Something in these frames is certain and something may be part of a call: what is certain can't wait.
            self.give_up_bytes(out);
            self.flow(out);
        }
    }

    fn flow(&mut self, out: &mut Vec<Piece>) {
        if self.flows && !self.awaits_thought {
            self.flow_all(out);
        }
    }

    fn flow_all(&mut self, out: &mut Vec<Piece>) {
        out.extend(self.waiting.drain(..).filter_map(Seen::into_piece));
    }

    /// Makes thinking of the text that waits before the end of a thought.
    fn settle_thought(&mut self) {
        let Some(end) = self.waiting.iter().rposition(|seen| *seen == Seen::ThoughtEnded) else { return };
        self.awaits_thought = false;
        for seen in self.waiting.iter_mut().take(end) {
            if let Seen::Text(text) = seen {
                *seen = Seen::Reasoning(std::mem::take(text));
            }
        }
        self.waiting.remove(end);
    }

    /// From here on in pieces of our own.
    fn give_up_bytes(&mut self, out: &mut Vec<Piece>) {
        if let Some(raw) = self.raw.take() {
            out.push(Piece::Named(raw.naive.envelope()));
        }
    }

    /// The bytes that are left, if all of the answer can go on as the backend wrote it.
    pub(crate) fn rest_of_bytes(&mut self, whole: &Whole<'_>) -> Option<Vec<Piece>> {
        let raw = self.raw.as_mut()?;
        let same = if raw.streams { raw.naive.reads_as(whole) } else { raw.naive.reads_body_as(&raw.held, whole) };
        same.then(|| raw.flush())
    }

    /// Hands on what still waits, in pieces of our own.
    pub(crate) fn end(mut self, out: &mut Vec<Piece>) {
        self.give_up_bytes(out);
        if self.flows {
            self.flow_all(out);
        }
    }

    /// What has gone on of a text of which `seen` was seen, once the relay has ended.
    pub(crate) fn shown<'a>(&self, seen: &'a str) -> &'a str {
        if self.flows { seen } else { "" }
    }
}

impl RawRelay {
    fn note(&mut self, event: &forge_backend::ModelEvent) {
        use forge_backend::ModelEvent;
        match event {
            ModelEvent::Text { text } | ModelEvent::Reasoning { text } => self.came.push_str(text),
            ModelEvent::Call { .. } | ModelEvent::Usage(_) | ModelEvent::Finish { .. } => {}
        }
    }

    fn hold(&mut self, raw: Bytes) {
        if raw.is_empty() {
            return;
        }
        if self.streams {
            self.naive.take_frame(&raw);
        }
        self.held.push(raw);
    }

    /// Whether a naive reader of the held frames would see what was seen.
    fn is_settled(&self) -> bool {
        self.naive.is_regular() && self.came == self.seen
    }

    fn flush(&mut self) -> Vec<Piece> {
        self.came.clear();
        self.seen.clear();
        self.held.drain(..).map(Piece::Raw).collect()
    }
}

impl Seen {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text,
            Self::ThoughtEnded => "",
        }
    }

    fn into_piece(self) -> Option<Piece> {
        match self {
            Self::Text(text) => Some(Piece::Text(text)),
            Self::Reasoning(text) => Some(Piece::Reasoning(text)),
            Self::ThoughtEnded => None,
        }
    }
}
