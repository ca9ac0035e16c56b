use futures_util::{StreamExt, stream};

use crate::{BackendError, ModelStream};

/// Waits for the first event, so that an error in its place is seen before anything was delivered.
pub(crate) async fn peeked(mut stream: ModelStream) -> Result<ModelStream, BackendError> {
    match stream.next().await {
        Some(Ok(first)) => Ok(stream::once(async { Ok(first) }).chain(stream).boxed()),
        Some(Err(error)) => Err(error),
        None => Err(BackendError::BrokenOff { reason: "the stream ended before its first event".to_owned() }),
    }
}
