use std::fmt;
use std::time::Duration;

use forge_core::{Arguments, Outcome};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::tool::DEFAULT_TOOL_TIMEOUT;
use crate::{Concurrency, Tool, ToolContext};

/// Why a function gave no result. The text goes to the model: say what it can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// It didn't work. Counts as a failure of the tool.
    #[error("{0}")]
    Failed(String),
    /// The call was right and the data isn't there. Never counted as a failure.
    #[error("{0}")]
    NoData(String),
}

type Function = dyn Fn(Arguments) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync;

/// A tool that is a Rust function.
///
/// ```
/// use forge_runner::{FunctionTool, ToolError};
///
/// let tool = FunctionTool::new(|arguments| async move {
///     let city = arguments.to_object();
///     match city.get("city").and_then(|city| city.as_str()) {
///         Some("Paris") => Ok("18 °C".to_owned()),
///         _ => Err(ToolError::NoData("there is no station in that city".to_owned())),
///     }
/// });
/// # let _ = tool;
/// ```
pub struct FunctionTool {
    function: Box<Function>,
    timeout: Duration,
    concurrency: Concurrency,
}

impl FunctionTool {
    /// A tool that is an asynchronous function. Its future is dropped at the time limit and when the run is
    /// cancelled.
    pub fn new<F, Fut>(function: F) -> Self
    where
        F: Fn(Arguments) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        Self {
            function: Box::new(move |arguments| function(arguments).boxed()),
            timeout: DEFAULT_TOOL_TIMEOUT,
            concurrency: Concurrency::Exclusive,
        }
    }

    /// A tool that is a function that blocks its thread: it runs on a thread of its own. At the time limit and when
    /// the run is cancelled nobody waits for it any longer, but a thread can't be stopped: it runs to its end.
    pub fn blocking<F>(function: F) -> Self
    where
        F: Fn(Arguments) -> Result<String, ToolError> + Send + Sync + 'static,
    {
        let function = std::sync::Arc::new(function);
        Self::new(move |arguments| {
            let function = std::sync::Arc::clone(&function);
            async move {
                match tokio::task::spawn_blocking(move || function(arguments)).await {
                    Ok(result) => result,
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => std::panic::resume_unwind(panic),
                        Err(error) => Err(ToolError::Failed(error.to_string())),
                    },
                }
            }
        })
    }

    /// Ends a call after this time; 60 seconds if nothing is said.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Whether calls may run beside others of the same batch; not, if nothing is said.
    #[must_use]
    pub fn concurrency(self, concurrency: Concurrency) -> Self {
        Self { concurrency, ..self }
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("timeout", &self.timeout)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

impl Tool for FunctionTool {
    fn call<'a>(&'a self, arguments: &'a Arguments, context: &'a ToolContext) -> BoxFuture<'a, Outcome> {
        async {
            let result = context.cancellation.run_until_cancelled((self.function)(arguments.clone())).await;
            match result {
                Some(Ok(result)) => Outcome::Success(result),
                Some(Err(ToolError::Failed(reason))) => Outcome::Failure(reason),
                Some(Err(ToolError::NoData(reason))) => Outcome::NoData(reason),
                None => Outcome::Cancelled,
            }
        }
        .boxed()
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.timeout)
    }

    fn concurrency(&self) -> Concurrency {
        self.concurrency
    }
}
