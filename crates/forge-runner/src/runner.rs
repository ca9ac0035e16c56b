use std::sync::Arc;
use std::time::Instant;

use forge_backend::{Backend, BackendError, BackendInfo, ModelRequest, ToolMode};
use forge_core::{
    Batch, BlockedCall, Constraint, FinishReason, Guardrails, Message, Next, Nudge, NudgeKind, Response, Usage, Verdict,
};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use self::context::Context;
use crate::batch::run_batch;
use crate::generation::{Loops, generate};
use crate::{BoundWorkflow, Observer, RunEvent, RunOutcome, RunReport, RunnerOptions, Seed};

mod context;

/// Drives workflows on a backend.
pub struct Runner {
    backend: Arc<dyn Backend>,
    options: RunnerOptions,
    info: OnceCell<BackendInfo>,
}

impl Runner {
    /// A runner on this backend.
    pub fn new(backend: Arc<dyn Backend>, options: RunnerOptions) -> Self {
        Self { backend, options, info: OnceCell::new() }
    }

    /// Runs a workflow to its end: generates, has the guardrails judge the response, runs the calls they let
    /// through, and so on until a terminal tool succeeds, text ends the turn, a budget runs out, the backend fails or
    /// `cancellation` fires.
    ///
    /// The observer is told each event as it happens. A cancellation is answered at once: the generation's stream
    /// is dropped, and running tools get two seconds to end before theirs are. Whatever happens, each call in the
    /// report's messages has its result.
    ///
    /// Calls of one response run one after the other, in order, except those whose tools say that they may run
    /// [beside others](crate::Concurrency::Parallel). Tools run in tasks of their own, so this has to be called inside
    /// a tokio runtime with time and I/O enabled.
    pub async fn run<W>(
        &self,
        workflow: &W,
        seed: Seed,
        observer: &mut dyn Observer,
        cancellation: CancellationToken,
    ) -> RunReport
    where
        W: AsRef<BoundWorkflow> + Sync + ?Sized,
    {
        let workflow = workflow.as_ref();
        let mut guardrails = Guardrails::new(Arc::clone(workflow.workflow()));
        guardrails.reserve_ids(&seed.earlier);
        let mut run = Run {
            runner: self,
            workflow,
            guardrails,
            messages: Vec::new(),
            tool_mode: ToolMode::default(),
            context: None,
            tally: Tally::default(),
            begin: Instant::now(),
            observer,
            cancellation,
        };
        let outcome = match run.drive(seed).await {
            Ok(outcome) => outcome,
            Err(Ended(outcome)) => *outcome,
        };
        run.finish(outcome)
    }

    async fn info(&self) -> Result<&BackendInfo, BackendError> {
        self.info.get_or_try_init(|| self.backend.info()).await
    }
}

/// What is counted for the report.
#[derive(Default)]
struct Tally {
    generations: u32,
    tool_calls: u32,
    nudges: u32,
    rescued: u32,
    repaired: u32,
    blocked: u32,
    usage: Usage,
}

/// A run that ends before its workflow does.
struct Ended(Box<RunOutcome>);

impl From<RunOutcome> for Ended {
    fn from(outcome: RunOutcome) -> Self {
        Self(Box::new(outcome))
    }
}

impl From<BackendError> for Ended {
    fn from(error: BackendError) -> Self {
        Self::from(RunOutcome::BackendFailed { message: error.to_string() })
    }
}

/// The engine refuses to go on only when one of its texts, which can be overridden, can't be rendered.
fn engine_failed(error: &dyn std::error::Error) -> Ended {
    Ended::from(RunOutcome::EngineFailed { message: error.to_string() })
}

/// One run.
struct Run<'r> {
    runner: &'r Runner,
    workflow: &'r BoundWorkflow,
    guardrails: Guardrails,
    messages: Vec<Message>,
    tool_mode: ToolMode,
    /// None before the start, and where conversations are sent as they are.
    context: Option<Context>,
    tally: Tally,
    begin: Instant,
    observer: &'r mut dyn Observer,
    cancellation: CancellationToken,
}

impl Run<'_> {
    async fn drive(&mut self, seed: Seed) -> Result<RunOutcome, Ended> {
        self.start(seed).await?;
        let mut constraint = self.guardrails.first_constraint();
        loop {
            let response = self.respond(constraint).await?;
            constraint = match self.guardrails.check(&response).map_err(|error| engine_failed(&error))? {
                Verdict::Execute(batch) => match self.execute(batch).await? {
                    Next::Continue { constraint } => constraint,
                    Next::Finished { call, result } => return Ok(RunOutcome::Done { call, result }),
                    Next::Halt { interrupt } => return Ok(RunOutcome::Interrupted { interrupt }),
                },
                Verdict::Reprompt(reprompt) => {
                    let mut messages = reprompt.messages.into_iter();
                    self.append_all(messages.next());
                    self.blocked(reprompt.blocked);
                    self.append_all(messages);
                    reprompt.nudges.into_iter().for_each(|nudge| self.nudged(nudge));
                    reprompt.constraint
                }
                Verdict::Accept { turn } => {
                    let text = turn.content().to_owned();
                    self.append(turn);
                    return Ok(RunOutcome::Answered { text });
                }
                Verdict::Halt(interrupt) => return Ok(RunOutcome::Interrupted { interrupt }),
            };
        }
    }

    /// Asks the backend what it is, and begins the conversation.
    async fn start(&mut self, seed: Seed) -> Result<(), Ended> {
        let input = seed.input.clone();
        self.messages = seed.into_messages(self.workflow.system_prompt());
        let info = self.cancellation.run_until_cancelled(self.runner.info()).await;
        let backend = info.ok_or(Ended::from(RunOutcome::Cancelled))??.clone();
        self.tool_mode = self.runner.options.tool_mode_for(backend.capabilities);
        let context_budget = self.start_context(&backend).await?;
        let workflow = self.workflow.workflow();
        self.observer.event(&RunEvent::Started {
            workflow: workflow.name().to_owned(),
            input,
            tools: workflow.tools().iter().map(|spec| spec.name.clone()).collect(),
            required_steps: workflow.required_steps().to_vec(),
            backend,
            context_budget,
        });
        let system = self.messages.first().filter(|first| matches!(first, Message::System { .. }));
        for message in system.into_iter().chain(self.messages.last()) {
            self.observer.event(&RunEvent::Appended { message: message.clone() });
        }
        Ok(())
    }

    /// Generates, and once more with a larger limit where the options allow that and a call was cut off.
    async fn respond(&mut self, constraint: Constraint) -> Result<Response, Ended> {
        let options = &self.runner.options;
        let response = self.generate(constraint.clone(), options.max_tokens).await?;
        match options.retry_max_tokens {
            Some(larger) if larger > options.max_tokens && self.holds_cut_call(&response) => {
                self.generate(constraint, larger).await
            }
            Some(_) | None => Ok(response),
        }
    }

    /// Whether the output limit cut a call off, as the guardrails would see it.
    fn holds_cut_call(&self, response: &Response) -> bool {
        let is_cut = |kind: NudgeKind| kind == NudgeKind::Truncated;
        response.finish == FinishReason::Length
            && match self.guardrails.clone().check(response) {
                Ok(Verdict::Execute(batch)) => batch.blocked.iter().any(|blocked| is_cut(blocked.reason.kind())),
                Ok(Verdict::Reprompt(reprompt)) => reprompt.nudges.iter().any(|nudge| is_cut(nudge.kind)),
                Ok(Verdict::Accept { .. } | Verdict::Halt(_)) | Err(_) => false,
            }
    }

    /// Generates, with a conversation that fits the context.
    async fn generate(&mut self, constraint: Constraint, max_tokens: u32) -> Result<Response, Ended> {
        let note = self.fit()?;
        match self.attempt(constraint.clone(), max_tokens, note).await? {
            Ok(response) => Ok(response),
            Err(error) if self.make_room(&error)? => Ok(self.attempt(constraint, max_tokens, None).await??),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks the backend once. A note is added to this prompt alone.
    async fn attempt(
        &mut self,
        constraint: Constraint,
        max_tokens: u32,
        note: Option<String>,
    ) -> Result<Result<Response, BackendError>, Ended> {
        self.tally.generations += 1;
        let iteration = self.tally.generations;
        let request = ModelRequest {
            messages: self.prompt(note.as_deref()),
            tools: Arc::clone(self.workflow.workflow().tools()),
            tool_mode: self.tool_mode,
            constraint: constraint.clone(),
            reasoning: self.runner.options.reasoning,
            max_tokens: self.room_for(max_tokens),
            sampling: self.runner.options.sampling,
        };
        let messages = request.messages.len();
        self.observer.event(&RunEvent::Generating { iteration, constraint, messages, note });
        let begin = Instant::now();
        let observer = &mut *self.observer;
        let mut on_delta = |text, reasoning| observer.event(&RunEvent::Delta { text, reasoning });
        let loops = match self.workflow.workflow().guardrails().repetition {
            true => Loops::Cut,
            false => Loops::Run,
        };
        let generated = generate(self.runner.backend.as_ref(), request, loops, &mut on_delta);
        let generated =
            self.cancellation.run_until_cancelled(generated).await.ok_or(Ended::from(RunOutcome::Cancelled))?;
        if let Ok(response) = &generated {
            self.counted(response.usage.prompt_tokens);
            self.tally.usage = self.tally.usage.plus(response.usage);
            let elapsed = begin.elapsed();
            self.observer.event(&RunEvent::Generated { iteration, response: response.clone(), elapsed });
        }
        Ok(generated)
    }

    async fn execute(&mut self, batch: Batch) -> Result<Next, Ended> {
        let Batch { turn, calls, blocked, replies } = batch;
        for approved in &calls {
            self.tally.rescued += u32::from(approved.dialect.is_rescue());
            self.tally.repaired += u32::from(!approved.repairs.is_empty());
        }
        self.append(turn);
        self.blocked(blocked);
        self.append_all(replies);
        let (outcomes, started) = run_batch(self.workflow, &calls, &self.cancellation, self.observer).await;
        self.tally.tool_calls += started;
        let recorded = self.guardrails.record(&outcomes).map_err(|error| engine_failed(&error))?;
        self.append_all(recorded.messages);
        for step in recorded.completed {
            let pending = self.guardrails.pending_steps();
            self.observer.event(&RunEvent::StepCompleted { step, pending });
        }
        match recorded.next {
            Next::Continue { .. } if self.cancellation.is_cancelled() => Err(Ended::from(RunOutcome::Cancelled)),
            next => Ok(next),
        }
    }

    fn append(&mut self, message: Message) {
        self.observer.event(&RunEvent::Appended { message: message.clone() });
        self.messages.push(message);
    }

    fn append_all(&mut self, messages: impl IntoIterator<Item = Message>) {
        messages.into_iter().for_each(|message| self.append(message));
    }

    fn blocked(&mut self, calls: Vec<BlockedCall>) {
        for blocked in calls {
            self.tally.blocked += 1;
            self.observer.event(&RunEvent::Blocked { blocked });
        }
    }

    fn nudged(&mut self, nudge: Nudge) {
        self.tally.nudges += 1;
        self.observer.event(&RunEvent::Nudged { nudge });
    }

    fn finish(self, outcome: RunOutcome) -> RunReport {
        let report = RunReport {
            outcome,
            completed_steps: self.guardrails.completed_steps(),
            pending_steps: self.guardrails.pending_steps(),
            generations: self.tally.generations,
            tool_calls: self.tally.tool_calls,
            nudges: self.tally.nudges,
            rescued: self.tally.rescued,
            repaired: self.tally.repaired,
            blocked: self.tally.blocked,
            usage: self.tally.usage,
            elapsed: self.begin.elapsed(),
            messages: self.messages,
        };
        self.observer.event(&RunEvent::Finished { report: report.clone() });
        report
    }
}
