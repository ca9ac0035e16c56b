use forge_core::{Arguments, CallId, Outcome};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Something a model can call.
///
/// The arguments have been validated against the tool's schema. A tool that is cancelled should end soon; the
/// runner drops its future when it doesn't.
pub trait Tool: Send + Sync {
    /// Runs the tool once.
    fn call<'a>(&'a self, arguments: &'a Arguments, context: &'a ToolContext) -> BoxFuture<'a, Outcome>;
}

/// What a tool may know about the call it serves.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The call's id.
    pub call_id: CallId,
    /// Fires when the run is cancelled.
    pub cancellation: CancellationToken,
}
