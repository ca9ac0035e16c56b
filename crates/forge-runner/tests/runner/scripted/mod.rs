//! A backend that answers by script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use forge_backend::{
    Backend, BackendError, BackendInfo, Capabilities, ChatRequest, ModelEvent, ModelRequest, ModelStream,
};
use forge_core::{CallId, FinishReason};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::{StreamExt, stream};
use tokio::sync::Notify;

/// What the backend does when it is asked.
pub(crate) enum Step {
    /// Streams the events and ends.
    Answer(Vec<ModelEvent>),
    /// Refuses the request.
    Refuse(BackendError),
    /// Streams the events and breaks off.
    BreakOff(Vec<ModelEvent>, BackendError),
    /// Streams the events and then nothing; tells when it is dropped.
    Hang(Vec<ModelEvent>, Arc<Notify>),
}

/// A backend that answers by script, and refuses when the script is at its end.
pub(crate) struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    requests: Mutex<Vec<ModelRequest>>,
    down: Mutex<Option<BackendError>>,
    capabilities: Capabilities,
    window: Option<u64>,
}

impl Scripted {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = Mutex::new(steps.into_iter().collect());
        let capabilities = Capabilities { native_tools: true, ..Capabilities::default() };
        Self { steps, requests: Mutex::default(), down: Mutex::new(None), capabilities, window: None }
    }

    /// One that can do this.
    pub(crate) fn able(self, capabilities: Capabilities) -> Self {
        Self { capabilities, ..self }
    }

    /// One with a window of so many tokens.
    pub(crate) fn with_window(self, tokens: u64) -> Self {
        Self { window: Some(tokens), ..self }
    }

    /// One that can't even be asked what it is.
    pub(crate) fn down(error: BackendError) -> Self {
        Self { down: Mutex::new(Some(error)), ..Self::new([]) }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Backend for Scripted {
    fn chat(&self, _request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        Box::pin(async { Err(BackendError::InvalidRequest { problem: "the script is of typed requests".to_owned() }) })
    }

    fn generate(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        self.requests.lock().unwrap().push(request);
        let ended = || Step::Refuse(BackendError::Refused { status: 410, message: "the script has ended".to_owned() });
        let step = self.steps.lock().unwrap().pop_front().unwrap_or_else(ended);
        let events = |events: Vec<ModelEvent>| stream::iter(events.into_iter().map(Ok));
        let answer: Result<ModelStream, BackendError> = match step {
            Step::Answer(answer) => Ok(events(answer).boxed()),
            Step::Refuse(error) => Err(error),
            Step::BreakOff(answer, error) => Ok(events(answer).chain(stream::iter([Err(error)])).boxed()),
            Step::Hang(answer, dropped) => {
                let guard = NotifyOnDrop(dropped);
                let silence = stream::once(async move {
                    let _guard = guard;
                    std::future::pending().await
                });
                Ok(events(answer).chain(silence).boxed())
            }
        };
        async { answer }.boxed()
    }

    fn info(&self) -> BoxFuture<'_, Result<BackendInfo, BackendError>> {
        let answer = match self.down.lock().unwrap().take() {
            Some(error) => Err(error),
            None => Ok(BackendInfo {
                model: "scripted".to_owned(),
                capabilities: self.capabilities,
                context_window: self.window,
                ..BackendInfo::default()
            }),
        };
        async { answer }.boxed()
    }
}

/// Notifies when it is dropped.
pub(crate) struct NotifyOnDrop(pub(crate) Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// An answer of text.
pub(crate) fn text(text: &str) -> Step {
    let finish = ModelEvent::Finish { reason: FinishReason::Stop };
    Step::Answer(vec![ModelEvent::Text { text: text.to_owned() }, finish])
}

/// An answer of one structured call.
pub(crate) fn call(name: &str, arguments: &str) -> Step {
    calls(&[(name, arguments)])
}

/// An answer of structured calls.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Step {
    let event = |(index, (name, arguments)): (usize, &(&str, &str))| ModelEvent::Call {
        index,
        id: Some(CallId::new(format!("call_{index}"))),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    let mut events: Vec<_> = calls.iter().enumerate().map(event).collect();
    events.push(ModelEvent::Finish { reason: FinishReason::ToolCalls });
    Step::Answer(events)
}
