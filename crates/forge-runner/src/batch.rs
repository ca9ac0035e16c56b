use std::sync::Arc;
use std::time::{Duration, Instant};

use forge_core::{ApprovedCall, CallId, Outcome, Respond, ToolCall};
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::{BoundWorkflow, Concurrency, Observer, RunEvent, Tool, ToolContext};

/// How long a tool may take to end by itself after its run was cancelled.
const CANCELLATION_GRACE: Duration = Duration::from_secs(2);

/// A call, what became of it, and how long it took.
type Ended = (usize, Outcome, Duration);

/// Runs the calls of a batch: one after the other, and neighbours whose tools allow it at the same time. Gives one
/// outcome for each call, in the order of the calls, and the number of those that were started.
pub(crate) async fn run_batch(
    workflow: &BoundWorkflow,
    calls: &[ApprovedCall],
    cancellation: &CancellationToken,
    observer: &mut dyn Observer,
) -> (Vec<(CallId, Outcome)>, u32) {
    let mut outcomes: Vec<(CallId, Outcome)> =
        calls.iter().map(|approved| (approved.call.id.clone(), Outcome::Cancelled)).collect();
    let mut started = 0;
    let mut first = 0;
    for group in calls.chunk_by(|left, right| may_overlap(workflow, left) && may_overlap(workflow, right)) {
        if cancellation.is_cancelled() {
            break;
        }
        let mut running: FuturesUnordered<BoxFuture<'static, Ended>> = FuturesUnordered::new();
        for (offset, approved) in group.iter().enumerate() {
            observer.event(&RunEvent::ToolStarted {
                call: approved.call.clone(),
                dialect: approved.dialect.clone(),
                repairs: approved.repairs.clone(),
            });
            started += 1;
            running.push(start(workflow, &approved.call, first + offset, cancellation.clone()));
        }
        while let Some((index, outcome, elapsed)) = running.next().await {
            if let (Some(approved), Some(slot)) = (calls.get(index), outcomes.get_mut(index)) {
                let call = approved.call.clone();
                observer.event(&RunEvent::ToolFinished { call, outcome: outcome.clone(), elapsed });
                slot.1 = outcome;
            }
        }
        first += group.len();
    }
    (outcomes, started)
}

fn may_overlap(workflow: &BoundWorkflow, approved: &ApprovedCall) -> bool {
    workflow.tool(&approved.call.name).is_some_and(|tool| match tool.concurrency() {
        Concurrency::Parallel => true,
        Concurrency::Exclusive => false,
    })
}

/// The future of one call.
fn start(
    workflow: &BoundWorkflow,
    call: &ToolCall,
    index: usize,
    cancellation: CancellationToken,
) -> BoxFuture<'static, Ended> {
    let begin = Instant::now();
    let tool = workflow.tool(&call.name).cloned();
    let call = call.clone();
    async move {
        let outcome = match tool {
            Some(tool) => run_tool(tool, call, cancellation).await,
            None => respond(&call),
        };
        (index, outcome, begin.elapsed())
    }
    .boxed()
}

/// The one tool of a bound workflow that has no implementation is the synthetic one.
fn respond(call: &ToolCall) -> Outcome {
    match Respond::message(&call.arguments) {
        Some(message) => Outcome::Success(message),
        None => Outcome::Failure("the response has no message".to_owned()),
    }
}

/// Runs one tool in a task of its own, so that its panic ends nothing else.
async fn run_tool(tool: Arc<dyn Tool>, call: ToolCall, cancellation: CancellationToken) -> Outcome {
    let limit = tool.timeout();
    let context = ToolContext { call_id: call.id, cancellation: cancellation.clone() };
    let mut task = AbortOnDropHandle::new(tokio::spawn(async move { tool.call(&call.arguments, &context).await }));
    let timeout = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        ended = &mut task => ended.unwrap_or_else(broken),
        () = cancellation.cancelled() => {
            // What ended all the same has had its effect, and is told as it was.
            match tokio::time::timeout(CANCELLATION_GRACE, task).await {
                Ok(ended) => ended.unwrap_or_else(broken),
                Err(_) => Outcome::Cancelled,
            }
        }
        () = timeout => Outcome::TimedOut(format!("the tool was stopped because it didn't end within {:?}", limit.unwrap_or_default())),
    }
}

/// What a task that didn't end by itself means.
fn broken(error: JoinError) -> Outcome {
    let Ok(panic) = error.try_into_panic() else { return Outcome::Cancelled };
    let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    Outcome::Failure(match message {
        Some(message) => format!("the tool broke down: {message}"),
        None => "the tool broke down".to_owned(),
    })
}
