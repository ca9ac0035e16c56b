use std::collections::BTreeMap;
use std::ops::ControlFlow;

use forge_backend::{Backend, BackendError, ModelEvent, ModelRequest};
use forge_core::{FinishReason, RawCall, Response, Runaway};
use futures_util::StreamExt;

/// A generation in parts.
#[derive(Default)]
struct Collected {
    response: Response,
    /// By the server's index, which isn't trusted to be dense.
    calls: BTreeMap<usize, RawCall>,
    finish: Option<FinishReason>,
    /// Watches over text and thinking; none where loops are let run.
    watch: Option<Watch>,
}

/// Watches over the two streams of a generation.
#[derive(Default)]
struct Watch {
    text: Runaway,
    reasoning: Runaway,
}

/// What becomes of a generation that does nothing but repeat itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loops {
    /// Its stream is dropped, which ends it on the server.
    Cut,
    /// It runs to its end.
    Run,
}

/// Generates once. Each piece of text or thinking is given to `on_delta` as it comes.
///
/// A generation that does nothing but repeat itself is cut, if loops are to be: the parser then says what was repeated.
///
/// Output that the server could not parse itself is a response: it is parsed here, in every dialect.
///
/// # Errors
/// When the backend fails.
pub(crate) async fn generate(
    backend: &dyn Backend,
    request: ModelRequest,
    loops: Loops,
    on_delta: &mut (dyn FnMut(String, bool) + Send),
) -> Result<Response, BackendError> {
    let watch = match loops {
        Loops::Cut => Some(Watch::default()),
        Loops::Run => None,
    };
    let mut collected = Collected { watch, ..Collected::default() };
    match receive(backend, request, &mut collected, on_delta).await {
        Ok(()) => Ok(collected.into_response()),
        Err(BackendError::MalformedGeneration { text, message }) => match text {
            Some(text) if !text.trim().is_empty() => Ok(Response { text, ..collected.into_response() }),
            _ if !collected.response.text.trim().is_empty() => Ok(collected.into_response()),
            text => Err(BackendError::MalformedGeneration { text, message }),
        },
        Err(error) => Err(error),
    }
}

async fn receive(
    backend: &dyn Backend,
    request: ModelRequest,
    collected: &mut Collected,
    on_delta: &mut (dyn FnMut(String, bool) + Send),
) -> Result<(), BackendError> {
    let mut events = backend.generate(request).await?;
    while let Some(event) = events.next().await {
        if collected.take(event?, on_delta).is_break() {
            break;
        }
    }
    Ok(())
}

impl Collected {
    /// Takes the next event. A break ends the generation.
    fn take(&mut self, event: ModelEvent, on_delta: &mut (dyn FnMut(String, bool) + Send)) -> ControlFlow<()> {
        let looped = match (&mut self.watch, &event) {
            (Some(watch), ModelEvent::Text { text }) => watch.text.push(text).is_some(),
            (Some(watch), ModelEvent::Reasoning { text }) => watch.reasoning.push(text).is_some(),
            (_, _) => false,
        };
        match event {
            ModelEvent::Text { text } => {
                self.response.text.push_str(&text);
                on_delta(text, false);
            }
            ModelEvent::Reasoning { text } => {
                self.response.reasoning.push_str(&text);
                on_delta(text, true);
            }
            ModelEvent::Call { index, id, name, arguments } => {
                let call = self.call(index);
                call.id = call.id.take().or(id);
                call.name.push_str(&name);
                call.arguments.push_str(&arguments);
            }
            ModelEvent::Usage(usage) => self.response.usage = usage,
            ModelEvent::Finish { reason } => self.finish = Some(reason),
        }
        if looped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The call with the server's index, which begins with its first piece.
    fn call(&mut self, index: usize) -> &mut RawCall {
        self.calls.entry(index).or_insert_with(|| RawCall { id: None, name: String::new(), arguments: String::new() })
    }

    /// A stream that ends without saying why was cut.
    fn into_response(self) -> Response {
        let calls = self.calls.into_values().collect();
        Response { calls, finish: self.finish.unwrap_or(FinishReason::Incomplete), ..self.response }
    }
}
