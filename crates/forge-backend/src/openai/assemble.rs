//! From chunks to events: one [`ModelEvent`] vocabulary out of what servers make of the same protocol.

use std::borrow::Cow;
use std::collections::HashSet;

use forge_core::{CallId, FinishReason, ToolName, Usage};
use serde_json::Value;

use super::chunk::{CallPiece, Chunk, Delta};
use super::progress::ObjectProgress;
use crate::{BackendError, MAX_ANSWER_BYTES, ModelEvent};

/// Joins the chunks of one answer.
///
/// What it guarantees to whoever reads the events: calls are numbered from 0 without gaps in the order they began;
/// the first piece of a call carries its whole name; no text and no argument is delivered twice; a call that never got
/// a name is delivered with an empty one, so that it is seen.
#[derive(Debug)]
pub(super) struct Assembler {
    offered: HashSet<ToolName>,
    calls: Vec<OpenCall>,
    chunks: u64,
    bytes: usize,
    spoke: bool,
    saw_choice: bool,
    finish: Option<FinishReason>,
}

/// A call whose pieces are still coming.
#[derive(Debug)]
struct OpenCall {
    wire_index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    progress: ObjectProgress,
    announced: bool,
    /// The number of the chunk that last touched it.
    touched: u64,
}

/// A piece of a call with blanks removed.
struct Piece<'a> {
    index: Option<u64>,
    id: Option<Cow<'a, str>>,
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl Assembler {
    /// For an answer to a request that offered these tools. Their names tell a name that comes in pieces from the
    /// name of another call.
    pub(super) fn new(offered: impl IntoIterator<Item = ToolName>) -> Self {
        Self {
            offered: offered.into_iter().collect(),
            calls: Vec::new(),
            chunks: 0,
            bytes: 0,
            spoke: false,
            saw_choice: false,
            finish: None,
        }
    }

    /// Whether a reason for the end has come, so that nothing but usage is outstanding.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether anything came that belongs to an answer.
    pub(super) fn saw_choice(&self) -> bool {
        self.saw_choice
    }

    /// Takes the next chunk and appends its events.
    ///
    /// # Errors
    /// When the answer as a whole has become longer than [`MAX_ANSWER_BYTES`].
    pub(super) fn take(&mut self, chunk: Chunk<'_>, events: &mut Vec<ModelEvent>) -> Result<(), BackendError> {
        self.chunks = self.chunks.saturating_add(1);
        if let Some(choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) {
            self.saw_choice = true;
            // A whole message after deltas repeats them.
            let message = choice.message.filter(|_| !self.spoke);
            let delta = choice.delta.or(message).unwrap_or_default();
            let reason = choice.finish_reason.as_deref().or(delta.finish_reason.as_deref());
            if let Some(reason) = reason.and_then(finish_reason) {
                self.finish = Some(reason);
            }
            self.take_delta(delta, events)?;
        }
        let usage = chunk.usage.map(Usage::from).filter(|usage| *usage != Usage::default());
        events.extend(usage.map(ModelEvent::Usage));
        Ok(())
    }

    /// Takes the end of the stream: what was held back comes out, then the finish.
    pub(super) fn finish(&mut self, events: &mut Vec<ModelEvent>) {
        for index in 0..self.calls.len() {
            self.announce(index, events);
        }
        let reason = match self.finish.unwrap_or_default() {
            FinishReason::Stop if !self.calls.is_empty() => FinishReason::ToolCalls,
            reason => reason,
        };
        events.push(ModelEvent::Finish { reason });
    }

    fn take_delta(&mut self, delta: Delta<'_>, events: &mut Vec<ModelEvent>) -> Result<(), BackendError> {
        let thinking = delta.thinking();
        if !thinking.is_empty() {
            self.count(thinking)?;
            events.push(ModelEvent::Reasoning { text: thinking.to_owned() });
        }
        for text in [delta.content.as_str(), delta.refusal.as_str()] {
            if !text.is_empty() {
                self.count(text)?;
                events.push(ModelEvent::Text { text: text.to_owned() });
            }
        }
        let older = delta.function_call.map(|function| CallPiece { function: Some(function), ..CallPiece::default() });
        for piece in delta.tool_calls.into_iter().flatten().chain(older) {
            let function = piece.function.unwrap_or_default();
            let arguments = function.arguments();
            self.count(&arguments)?;
            let piece = Piece {
                index: piece.index,
                id: piece.id.filter(|id| !id.trim().is_empty()),
                name: function.name.unwrap_or_default(),
                arguments,
            };
            self.take_piece(&piece, events);
        }
        Ok(())
    }

    fn count(&mut self, text: &str) -> Result<(), BackendError> {
        self.spoke = true;
        // The constant stands for the bookkeeping of a piece, so that a flood of empty pieces ends too.
        self.bytes = self.bytes.saturating_add(text.len()).saturating_add(16);
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(BackendError::AnswerTooLong { limit_bytes: MAX_ANSWER_BYTES });
        }
        Ok(())
    }

    fn take_piece(&mut self, piece: &Piece<'_>, events: &mut Vec<ModelEvent>) {
        let known = self.call_of(piece).filter(|&index| !self.starts_another(index, piece));
        let index = known.unwrap_or_else(|| self.open(piece, events));
        let chunk = self.chunks;
        let Some(call) = self.calls.get_mut(index) else { return };
        call.touched = chunk;
        if call.id.is_none() {
            call.id = piece.id.as_deref().map(str::to_owned);
        }
        call.take_name(&piece.name);
        let new = call.take_arguments(&piece.arguments);
        if call.announced {
            if !new.is_empty() {
                events.push(ModelEvent::Call { index, id: None, name: String::new(), arguments: new });
            }
        } else if !call.name.is_empty() && !call.arguments.is_empty() {
            self.announce(index, events);
        }
    }

    /// The call a piece seems to belong to.
    fn call_of(&self, piece: &Piece<'_>) -> Option<usize> {
        if piece.index.is_some() {
            return self.calls.iter().rposition(|call| call.wire_index == piece.index);
        }
        let same_id =
            piece.id.as_ref().and_then(|id| self.calls.iter().rposition(|call| call.id.as_deref() == Some(id)));
        let new_id = piece.id.is_some() && same_id.is_none() && !piece.name.is_empty();
        same_id.or_else(|| self.calls.len().checked_sub(1).filter(|_| !new_id))
    }

    /// Whether a piece that points at a call begins another one all the same.
    fn starts_another(&self, index: usize, piece: &Piece<'_>) -> bool {
        let Some(call) = self.calls.get(index) else { return true };
        if piece.name.is_empty() || call.name.is_empty() {
            return false;
        }
        let same_name = call.name == piece.name;
        let same_chunk = call.touched == self.chunks;
        let other_id = matches!((&call.id, &piece.id), (Some(one), Some(other)) if one != other);
        if call.progress.is_whole() {
            let same_id = call.id.is_some() && piece.id.is_some() && !other_id;
            let repeats = same_name && (piece.arguments.trim().is_empty() || call.repeats(&piece.arguments));
            return same_chunk || other_id || !(same_id || repeats);
        }
        let both_offered = self.is_offered(&call.name) && self.is_offered(&piece.name);
        if call.arguments.is_empty() {
            return same_chunk || (!same_name && (other_id || both_offered));
        }
        !same_name && both_offered
    }

    fn is_offered(&self, name: &str) -> bool {
        self.offered.contains(name)
    }

    /// Begins a call; the one before it gets no more pieces of its name.
    fn open(&mut self, piece: &Piece<'_>, events: &mut Vec<ModelEvent>) -> usize {
        if let Some(last) = self.calls.len().checked_sub(1) {
            self.announce_if_named(last, events);
        }
        self.calls.push(OpenCall {
            wire_index: piece.index,
            id: None,
            name: String::new(),
            arguments: String::new(),
            progress: ObjectProgress::default(),
            announced: false,
            touched: self.chunks,
        });
        self.calls.len().saturating_sub(1)
    }

    fn announce_if_named(&mut self, index: usize, events: &mut Vec<ModelEvent>) {
        if self.calls.get(index).is_some_and(|call| !call.name.is_empty()) {
            self.announce(index, events);
        }
    }

    fn announce(&mut self, index: usize, events: &mut Vec<ModelEvent>) {
        let Some(call) = self.calls.get(index).filter(|call| !call.announced) else { return };
        // Two calls with one id can't be told apart by their answers: only the first keeps it.
        let taken = self.calls.iter().take(index).any(|earlier| earlier.id == call.id);
        events.push(ModelEvent::Call {
            index,
            id: call.id.as_deref().filter(|_| !taken).map(CallId::new),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        if let Some(call) = self.calls.get_mut(index) {
            call.announced = true;
        }
    }
}

impl OpenCall {
    /// Joins the pieces of a name; a name that is repeated, or sent again from its start, is taken once.
    fn take_name(&mut self, name: &str) {
        if self.announced || name.is_empty() || name == self.name {
            return;
        }
        if name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else {
            self.name.push_str(name);
        }
    }

    /// Joins the pieces of the arguments and gives what is new; arguments that are repeated, or sent again from their
    /// start with each piece, are taken once.
    fn take_arguments(&mut self, arguments: &str) -> String {
        let repeated_whole = self.progress.is_whole() && (arguments.trim().is_empty() || self.repeats(arguments));
        if repeated_whole {
            return String::new();
        }
        let new = self.without_what_came(arguments).unwrap_or(arguments);
        self.progress.push(new);
        self.arguments.push_str(new);
        new.to_owned()
    }

    /// What is new in arguments that are sent again from their start; none where they aren't.
    ///
    /// An object can begin with the text it is nested in (`{"a":` and then `{"a":1}}`): what makes the whole an object
    /// decides.
    fn without_what_came<'a>(&self, arguments: &'a str) -> Option<&'a str> {
        let open = !self.progress.is_whole() && self.arguments.trim_start().starts_with('{');
        let new = arguments.strip_prefix(self.arguments.as_str()).filter(|_| open)?;
        let nested = self.progress.with(arguments).is_whole() && !self.progress.with(new).is_whole();
        (!nested).then_some(new)
    }

    /// Whether the text is the same object as the arguments so far, which are whole.
    fn repeats(&self, arguments: &str) -> bool {
        if arguments == self.arguments {
            return true;
        }
        let value = |text| serde_json::from_str::<Value>(text).ok();
        value(arguments).is_some_and(|again| Some(again) == value(&self.arguments))
    }
}

/// The protocol's word for the end of a generation; none where it is blank.
fn finish_reason(word: &str) -> Option<FinishReason> {
    match word {
        "" => None,
        "tool_calls" | "function_call" | "tool_use" => Some(FinishReason::ToolCalls),
        "length" | "max_tokens" | "model_length" => Some(FinishReason::Length),
        "content_filter" => Some(FinishReason::ContentFilter),
        "error" | "abort" | "cancelled" => Some(FinishReason::Incomplete),
        // `stop` and the words servers use for it.
        _ => Some(FinishReason::Stop),
    }
}

#[cfg(test)]
mod tests;
