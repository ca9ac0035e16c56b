use std::time::Duration;

use forge_core::{Arguments, CallId, Outcome};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Something a model can call.
///
/// The arguments have been validated against the tool's schema. A tool that is cancelled should end soon; the
/// runner drops its future when it doesn't. A panic is caught and told to the model as a failure.
pub trait Tool: Send + Sync {
    /// Runs the tool once.
    fn call<'a>(&'a self, arguments: &'a Arguments, context: &'a ToolContext) -> BoxFuture<'a, Outcome>;

    /// How long a call may take before the runner drops it as timed out; none where the tool sees to that itself.
    fn timeout(&self) -> Option<Duration> {
        Some(DEFAULT_TOOL_TIMEOUT)
    }

    /// Whether calls may run beside other calls of the same batch.
    fn concurrency(&self) -> Concurrency {
        Concurrency::Exclusive
    }
}

/// How long a tool may take that says nothing else.
pub const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a tool's calls may run beside other calls of the same batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Concurrency {
    /// A call begins when those before it have ended, and those after it begin when it has ended. The safe choice
    /// for whatever has effects.
    #[default]
    Exclusive,
    /// Calls that stand next to each other in a batch run at the same time, if all their tools say so.
    Parallel,
}

/// What a tool may know about the call it serves.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The call's id.
    pub call_id: CallId,
    /// Fires when the run is cancelled.
    pub cancellation: CancellationToken,
}
