use std::collections::BTreeMap;

use forge_backend::{Backend, BackendError, ModelEvent, ModelRequest};
use forge_core::{FinishReason, RawCall, Response};
use futures_util::StreamExt;

/// A generation in parts.
#[derive(Default)]
struct Collected {
    response: Response,
    /// By the server's index, which isn't trusted to be dense.
    calls: BTreeMap<usize, RawCall>,
    finish: Option<FinishReason>,
}

/// Generates once. Each piece of text or thinking is given to `on_delta` as it comes.
///
/// Output that the server could not parse itself is a response: it is parsed here, in every dialect.
///
/// # Errors
/// When the backend fails.
pub(crate) async fn generate(
    backend: &dyn Backend,
    request: ModelRequest,
    on_delta: &mut (dyn FnMut(String, bool) + Send),
) -> Result<Response, BackendError> {
    let mut collected = Collected::default();
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
        collected.take(event?, on_delta);
    }
    Ok(())
}

impl Collected {
    fn take(&mut self, event: ModelEvent, on_delta: &mut (dyn FnMut(String, bool) + Send)) {
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
