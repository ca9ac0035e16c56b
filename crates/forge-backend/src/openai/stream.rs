//! The body of an answer as it arrives: reading it, and giving up on silence.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::answer::AnswerDecoder;
use super::config::Timeouts;
use super::errors::Subject;
use crate::{BackendError, ModelEvent, ModelStream};

/// How long the end of a body that is complete already is waited for. Reading to the end lets the connection be used
/// again; a server that keeps it open is not worth more.
const END_GRACE: Duration = Duration::from_millis(250);

/// The events of an answer whose head has come. `asked` is when the request was sent. Dropping the stream closes the
/// connection, which is how the server learns that nobody waits any more.
pub(super) fn events(
    response: reqwest::Response,
    mut decoder: AnswerDecoder,
    subject: Subject,
    timeouts: Timeouts,
    asked: Instant,
) -> ModelStream {
    Box::pin(async_stream::try_stream! {
        let mut body = Body::new(response, subject, asked, timeouts);
        let mut events = Vec::new();
        while !decoder.is_done() {
            let Some(bytes) = body.next(decoder.is_finished()).await? else { break };
            let pushed = decoder.push(&bytes, &mut events);
            body.note(pushed.as_ref().copied().unwrap_or_default(), &events);
            // What came before an error is delivered, however the network joined the two.
            for event in events.drain(..) {
                yield event;
            }
            pushed?;
        }
        if decoder.is_done() {
            body.end().await;
        }
        let finished = decoder.finish(&mut events);
        for event in events.drain(..) {
            yield event;
        }
        finished?;
    })
}

/// Whether the model has begun to speak. Servers send empty chunks long before.
fn is_output(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::Text { .. } | ModelEvent::Reasoning { .. } | ModelEvent::Call { .. } => true,
        ModelEvent::Usage(_) | ModelEvent::Finish { .. } => false,
    }
}

/// The body of a good answer, and how long its silence is borne.
pub(super) struct Body {
    response: reqwest::Response,
    subject: Subject,
    silence: Silence,
}

impl Body {
    /// The body of an answer whose head has come. `asked` is when the request was sent.
    pub(super) fn new(response: reqwest::Response, subject: Subject, asked: Instant, timeouts: Timeouts) -> Self {
        Self { response, subject, silence: Silence::since(asked, timeouts) }
    }

    /// Notes that bytes came which completed so many events of the wire, and these events.
    pub(super) fn note(&mut self, wire_events: usize, events: &[ModelEvent]) {
        self.silence.note(wire_events, events.iter().any(is_output));
    }

    /// Waits a little for the end of a body that is complete already.
    pub(super) async fn end(&mut self) {
        let _end = timeout(END_GRACE, self.drain()).await;
    }

    /// The next bytes; none at the end. A connection that breaks after the answer is complete is its end.
    pub(super) async fn next(&mut self, complete: bool) -> Result<Option<bytes::Bytes>, BackendError> {
        let (deadline, limit, phase) = self.silence.deadline();
        match timeout_at(deadline, self.response.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(_)) if complete => Ok(None),
            Ok(Err(error)) => Err(self.subject.transport_error(&error)),
            Err(_) if complete => Ok(None),
            Err(_) => Err(BackendError::Timeout { url: self.subject.url.clone(), after: limit, phase }),
        }
    }

    async fn drain(&mut self) {
        while let Ok(Some(_)) = self.response.chunk().await {}
    }
}

/// Until when silence is borne.
struct Silence {
    timeouts: Timeouts,
    /// When the last event of the wire came; at first, when the request was sent.
    last_event: Instant,
    /// When the last bytes came, once the model has spoken.
    last_bytes: Option<Instant>,
}

impl Silence {
    fn since(asked: Instant, timeouts: Timeouts) -> Self {
        Self { timeouts, last_event: asked, last_bytes: None }
    }

    /// Notes that bytes came, which completed so many events of the wire.
    fn note(&mut self, wire_events: usize, output: bool) {
        let now = Instant::now();
        if output || self.last_bytes.is_some() {
            self.last_bytes = Some(now);
            if wire_events > 0 {
                self.last_event = now;
            }
        }
    }

    /// Before the first token only that counts. After it, bytes of any kind keep the stream alive, but a server that
    /// sends nothing but comments doesn't do so for ever.
    fn deadline(&self) -> (Instant, Duration, &'static str) {
        const BEFORE: &str = "before its first token";
        const MIDDLE: &str = "in the middle of its answer";
        let Timeouts { first_token, idle, .. } = self.timeouts;
        let by_event = self.last_event + first_token;
        match self.last_bytes.map(|last| last + idle) {
            None => (by_event, first_token, BEFORE),
            Some(by_bytes) if by_bytes <= by_event => (by_bytes, idle, MIDDLE),
            Some(_) => (by_event, first_token, MIDDLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn silence() -> (Silence, Instant) {
        let asked = Instant::now();
        let timeouts = Timeouts { first_token: SECOND * 300, idle: SECOND * 60, ..Timeouts::default() };
        (Silence::since(asked, timeouts), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn before_the_first_token_nothing_but_the_first_token_counts() {
        let (mut silence, asked) = silence();
        tokio::time::advance(SECOND * 200).await;
        silence.note(3, false);
        assert_eq!(silence.deadline(), (asked + SECOND * 300, SECOND * 300, "before its first token"));
    }

    #[tokio::test(start_paused = true)]
    async fn after_it_any_bytes_count() {
        let (mut silence, asked) = silence();
        silence.note(1, true);
        tokio::time::advance(SECOND * 50).await;
        silence.note(0, false);
        assert_eq!(silence.deadline(), (asked + SECOND * 110, SECOND * 60, "in the middle of its answer"));
    }

    #[tokio::test(start_paused = true)]
    async fn comments_do_not_count_for_ever() {
        let (mut silence, asked) = silence();
        silence.note(1, true);
        for _ in 0..29 {
            tokio::time::advance(SECOND * 10).await;
            silence.note(0, false);
        }
        assert_eq!(silence.deadline(), (asked + SECOND * 300, SECOND * 300, "in the middle of its answer"));
    }
}
