use std::collections::BTreeMap;

use forge_core::{CallId, RawCall, Response};
use futures_util::StreamExt;

use crate::{BackendError, ModelEvent, ModelStream};

/// The most text, thinking and arguments one answer may hold together, in bytes.
pub const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// The whole response out of a stream; each event is shown to `on_event` as it comes.
///
/// # Errors
/// The stream's error; [`BackendError::BrokenOff`] when it ends without a finish; [`BackendError::AnswerTooLong`] past
/// [`MAX_ANSWER_BYTES`]. What had come by then is lost but for what `on_event` saw.
pub async fn collect(mut stream: ModelStream, mut on_event: impl FnMut(&ModelEvent)) -> Result<Response, BackendError> {
    let mut collector = Collector::default();
    while let Some(event) = stream.next().await {
        let event = event?;
        on_event(&event);
        if collector.take(event)? {
            return Ok(collector.finish());
        }
    }
    Err(BackendError::BrokenOff { reason: "the stream ended without a finish".to_owned() })
}

/// Joins events to a response.
#[derive(Default)]
struct Collector {
    response: Response,
    calls: BTreeMap<usize, RawCall>,
    bytes: usize,
}

impl Collector {
    /// Takes the next event; true for the last one.
    fn take(&mut self, event: ModelEvent) -> Result<bool, BackendError> {
        match event {
            ModelEvent::Text { text } => {
                self.count(text.len())?;
                self.response.text.push_str(&text);
            }
            ModelEvent::Reasoning { text } => {
                self.count(text.len())?;
                self.response.reasoning.push_str(&text);
            }
            ModelEvent::Call { index, id, name, arguments } => {
                self.count(name.len().saturating_add(arguments.len()))?;
                self.take_call(index, id, &name, &arguments);
            }
            ModelEvent::Usage(usage) => self.response.usage = usage,
            ModelEvent::Finish { reason } => {
                self.response.finish = reason;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn take_call(&mut self, index: usize, id: Option<CallId>, name: &str, arguments: &str) {
        let empty = RawCall { id: None, name: String::new(), arguments: String::new() };
        let call = self.calls.entry(index).or_insert(empty);
        call.id = call.id.take().or(id);
        call.name.push_str(name);
        call.arguments.push_str(arguments);
    }

    fn count(&mut self, bytes: usize) -> Result<(), BackendError> {
        // The constant stands for the bookkeeping of a piece, so that a flood of empty pieces ends too.
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(16);
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(BackendError::AnswerTooLong { limit_bytes: MAX_ANSWER_BYTES });
        }
        Ok(())
    }

    fn finish(mut self) -> Response {
        self.response.calls = self.calls.into_values().collect();
        self.response
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{FinishReason, Usage};
    use futures_util::stream;

    use super::*;

    fn text(text: &str) -> Result<ModelEvent, BackendError> {
        Ok(ModelEvent::Text { text: text.to_owned() })
    }

    fn piece(index: usize, id: Option<&str>, name: &str, arguments: &str) -> Result<ModelEvent, BackendError> {
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        Ok(ModelEvent::Call { index, id: id.map(CallId::new), name, arguments })
    }

    async fn collected(events: Vec<Result<ModelEvent, BackendError>>) -> Result<Response, String> {
        collect(stream::iter(events).boxed(), |_event| {}).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn pieces_are_joined_in_their_order() {
        let usage = |prompt| Usage { prompt_tokens: Some(prompt), ..Usage::default() };
        let response = collected(vec![
            Ok(ModelEvent::Reasoning { text: "h".into() }),
            text("a"),
            piece(0, Some("x"), "one", "{"),
            Ok(ModelEvent::Usage(usage(1))),
            piece(1, None, "two", "{}"),
            piece(0, None, "", "}"),
            Ok(ModelEvent::Reasoning { text: "m".into() }),
            text("b"),
            Ok(ModelEvent::Usage(usage(2))),
            Ok(ModelEvent::Finish { reason: FinishReason::ToolCalls }),
            text("after the end"),
        ])
        .await
        .unwrap();
        let call = |id: Option<&str>, name: &str| RawCall {
            id: id.map(CallId::new),
            name: name.to_owned(),
            arguments: "{}".to_owned(),
        };
        let expected = Response {
            text: "ab".into(),
            reasoning: "hm".into(),
            calls: vec![call(Some("x"), "one"), call(None, "two")],
            finish: FinishReason::ToolCalls,
            usage: usage(2),
        };
        assert_eq!(response, expected);
    }

    #[tokio::test]
    async fn each_event_is_shown_as_it_comes() {
        let finish = ModelEvent::Finish { reason: FinishReason::Stop };
        let mut shown = Vec::new();
        let events = stream::iter(vec![text("a"), Ok(finish.clone())]).boxed();
        collect(events, |event| shown.push(event.clone())).await.unwrap();
        assert_eq!(shown, [text("a").unwrap(), finish]);
    }

    #[tokio::test]
    async fn a_stream_without_a_finish_broke_off() {
        assert_eq!(
            collected(vec![text("a")]).await.unwrap_err(),
            "the model server broke off in the middle of its answer: the stream ended without a finish"
        );
    }

    #[tokio::test]
    async fn an_answer_without_end_is_given_up() {
        let events = stream::repeat_with(|| text(&"x".repeat(1 << 20))).boxed();
        let error = collect(events, |_event| {}).await.unwrap_err();
        assert!(matches!(error, BackendError::AnswerTooLong { limit_bytes: MAX_ANSWER_BYTES }), "{error}");
    }
}
