//! The body of an answer, decoded without I/O: bytes go in, events come out.

use forge_core::ToolName;

use super::assemble::Assembler;
use super::chunk::Chunk;
use super::errors::{Refusal, Subject, is_html, quoted};
use crate::sse::{MAX_EVENT_BYTES, SseDecoder, SseEvent};
use crate::{BackendError, ModelEvent};

/// The beginning of a body that is kept for error messages, in bytes.
const EXCERPT: usize = 200;

/// Decodes the body of a good answer: a stream of events, or the whole completion where the server doesn't stream.
#[derive(Debug)]
pub(super) struct AnswerDecoder {
    subject: Subject,
    form: Form,
    assembler: Assembler,
    excerpt: Vec<u8>,
    done: bool,
}

/// How the body is written; its first bytes tell, not the content type, because that is wrong too often.
#[derive(Debug)]
enum Form {
    Unknown(Vec<u8>),
    Events(SseDecoder),
    Whole(Vec<u8>),
}

impl AnswerDecoder {
    /// For an answer to a request that offered these tools.
    pub(super) fn new(subject: Subject, offered: impl IntoIterator<Item = ToolName>) -> Self {
        Self {
            subject,
            form: Form::Unknown(Vec::new()),
            assembler: Assembler::new(offered),
            excerpt: Vec::new(),
            done: false,
        }
    }

    /// Whether the stream has said that nothing more comes.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the answer is complete but for its end mark.
    pub(super) fn is_finished(&self) -> bool {
        self.done || self.assembler.is_finished()
    }

    /// Takes the next bytes, cut anywhere, and appends their events. Gives how many events of the wire they completed.
    ///
    /// # Errors
    /// An error the server reports in the body, or a body that isn't what the protocol promises.
    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<usize, BackendError> {
        let missing = EXCERPT.saturating_sub(self.excerpt.len());
        self.excerpt.extend(bytes.iter().take(missing));
        match &mut self.form {
            Form::Unknown(head) => {
                head.extend_from_slice(bytes);
                let head = std::mem::take(head);
                self.take_head(head, events)
            }
            Form::Events(decoder) => {
                decoder.push(bytes).map_err(|error| self.subject.protocol(error.to_string()))?;
                self.take_ready(events)
            }
            Form::Whole(body) => {
                if body.len().saturating_add(bytes.len()) > MAX_EVENT_BYTES {
                    return Err(self.subject.protocol(format!("the answer is longer than {MAX_EVENT_BYTES} bytes")));
                }
                body.extend_from_slice(bytes);
                Ok(0)
            }
        }
    }

    /// Takes the end of the body and appends the last events, of which the very last is the finish.
    ///
    /// # Errors
    /// When the answer isn't complete.
    pub(super) fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), BackendError> {
        match std::mem::replace(&mut self.form, Form::Whole(Vec::new())) {
            Form::Unknown(_) => return Err(BackendError::BrokenOff { reason: "the answer is empty".to_owned() }),
            Form::Whole(body) => self.take_whole(&body, events)?,
            Form::Events(mut decoder) => {
                decoder.finish().map_err(|error| self.subject.protocol(error.to_string()))?;
                self.form = Form::Events(decoder);
                self.take_ready(events)?;
            }
        }
        if !self.assembler.saw_choice() {
            return Err(self.no_answer());
        }
        if !self.is_finished() {
            return Err(BackendError::BrokenOff { reason: "the stream ended without saying why".to_owned() });
        }
        self.assembler.finish(events);
        Ok(())
    }

    /// Decides by the first bytes how the body is written.
    fn take_head(&mut self, head: Vec<u8>, events: &mut Vec<ModelEvent>) -> Result<usize, BackendError> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let text = head.strip_prefix(MARK).unwrap_or(&head);
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
        let undecided = first.is_none() || (text.len() < MARK.len() && MARK.starts_with(text));
        if undecided && head.len() < EXCERPT {
            self.form = Form::Unknown(head);
            return Ok(0);
        }
        if matches!(first, Some(b'{' | b'[' | b'<')) {
            let body = text.to_vec();
            self.form = Form::Whole(Vec::new());
            return self.push_whole(&body);
        }
        let mut decoder = SseDecoder::default();
        decoder.push(&head).map_err(|error| self.subject.protocol(error.to_string()))?;
        self.form = Form::Events(decoder);
        self.take_ready(events)
    }

    fn push_whole(&mut self, body: &[u8]) -> Result<usize, BackendError> {
        if body.first().is_some_and(|byte| *byte == b'<') && is_html(&String::from_utf8_lossy(body)) {
            return Err(self.subject.error_of(Refusal::in_body(&String::from_utf8_lossy(body))));
        }
        self.form = Form::Whole(body.to_vec());
        Ok(0)
    }

    fn take_ready(&mut self, events: &mut Vec<ModelEvent>) -> Result<usize, BackendError> {
        let mut taken = 0_usize;
        while let Form::Events(decoder) = &mut self.form {
            let Some(event) = decoder.next_event().filter(|_| !self.done) else { break };
            taken = taken.saturating_add(1);
            self.take_event(&event, events)?;
        }
        Ok(taken)
    }

    fn take_event(&mut self, event: &SseEvent, events: &mut Vec<ModelEvent>) -> Result<(), BackendError> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.subject.error_of(Refusal::in_body(data)));
        }
        let chunk = serde_json::from_str::<Chunk<'_>>(data).map_err(|error| {
            self.subject.protocol(format!("an event of the stream can't be read ({error}): {}", quoted(data)))
        })?;
        self.refuse_error(&chunk, data)?;
        self.assembler.take(chunk, events)
    }

    fn take_whole(&mut self, body: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), BackendError> {
        let text = String::from_utf8_lossy(body);
        let chunk = serde_json::from_str::<Chunk<'_>>(&text)
            .map_err(|error| self.subject.protocol(format!("the answer can't be read ({error}): {}", quoted(&text))))?;
        self.refuse_error(&chunk, &text)?;
        if chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(match self.subject.error_of(Refusal::in_body(&text)) {
                // The words mean nothing known.
                BackendError::Refused { .. } => self.no_answer(),
                known => known,
            });
        }
        self.done = true;
        self.assembler.take(chunk, events)
    }

    /// Whether the server reports an error in the place of an answer.
    fn refuse_error(&self, chunk: &Chunk<'_>, text: &str) -> Result<(), BackendError> {
        let flat = chunk.choices.is_none() && chunk.object.as_deref() == Some("error");
        if chunk.error.is_some_and(|error| error.get() != "null") || flat {
            return Err(self.subject.error_of(Refusal::in_body(text)));
        }
        Ok(())
    }

    fn no_answer(&self) -> BackendError {
        let excerpt = quoted(&String::from_utf8_lossy(&self.excerpt));
        self.subject.protocol(format!("its answer has no `choices`: {excerpt}"))
    }
}

#[cfg(test)]
mod tests;
