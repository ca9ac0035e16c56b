use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use crate::peek::peeked;
use crate::{Backend, BackendError, BackendInfo, ChatRequest, ModelStream};

/// How often and how long a request is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, at least 1. Default 3.
    pub tries: u32,
    /// From the first try, no new one begins after this. Default 30 s.
    pub total: Duration,
    /// The longest wait before the second try; it doubles with each. Half of it is left to chance. Default 1 s.
    pub base_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { tries: 3, total: Duration::from_secs(30), base_delay: Duration::from_secs(1) }
    }
}

/// Tries again what failed for a passing reason, as long as nothing was delivered: no connection, an overloaded server,
/// an answer that broke off before its first event. Everything else is handed on at once.
///
/// A server that is still loading its model is asked again for the whole time, without counting tries.
#[derive(Clone, Debug)]
pub struct Retrying<B> {
    inner: B,
    policy: RetryPolicy,
}

impl<B: Backend> Retrying<B> {
    /// Wraps a backend.
    pub fn new(inner: B, policy: RetryPolicy) -> Self {
        Self { inner, policy }
    }

    /// The wrapped backend.
    pub fn inner(&self) -> &B {
        &self.inner
    }

    async fn chat_retrying(&self, request: ChatRequest) -> Result<ModelStream, BackendError> {
        let mut tries = Tries::new(self.policy);
        loop {
            let result = match self.inner.chat(request.clone()).await {
                Ok(stream) => peeked(stream).await,
                Err(error) => Err(error),
            };
            match result {
                Ok(stream) => return Ok(stream),
                Err(error) => tries.wait_after(error).await?,
            }
        }
    }

    async fn info_retrying(&self) -> Result<BackendInfo, BackendError> {
        let mut tries = Tries::new(self.policy);
        loop {
            match self.inner.info().await {
                Ok(info) => return Ok(info),
                Err(error) => tries.wait_after(error).await?,
            }
        }
    }
}

impl<B: Backend> Backend for Retrying<B> {
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        Box::pin(self.chat_retrying(request))
    }

    fn info(&self) -> BoxFuture<'_, Result<BackendInfo, BackendError>> {
        Box::pin(self.info_retrying())
    }
}

/// The tries of one request.
struct Tries {
    policy: RetryPolicy,
    begun: Instant,
    failed: u32,
}

impl Tries {
    fn new(policy: RetryPolicy) -> Self {
        Self { policy, begun: Instant::now(), failed: 0 }
    }

    /// Waits until the next try is due; gives the error back where there is none.
    async fn wait_after(&mut self, error: BackendError) -> Result<(), BackendError> {
        let delay = match transience(&error) {
            Transience::Lasting => return Err(error),
            Transience::Loading => self.policy.base_delay,
            Transience::Passing { retry_after } => {
                self.failed = self.failed.saturating_add(1);
                if self.failed >= self.policy.tries {
                    return Err(error);
                }
                retry_after.unwrap_or_else(|| self.backoff())
            }
        };
        if self.begun.elapsed().saturating_add(delay) > self.policy.total {
            return Err(error);
        }
        tracing::info!(%error, ?delay, "trying again");
        sleep(delay).await;
        Ok(())
    }

    /// Between half of the delay and all of it, so that clients that failed together don't come back together.
    fn backoff(&self) -> Duration {
        let doublings = self.failed.saturating_sub(1).min(16);
        let longest = self.policy.base_delay.saturating_mul(1 << doublings);
        let chance = (RandomState::new().hash_one(self.failed) >> 40) as f64 / f64::from(1_u32 << 24);
        longest.mul_f64(0.5 + chance / 2.0)
    }
}

/// Whether another try can help.
enum Transience {
    Lasting,
    Loading,
    Passing { retry_after: Option<Duration> },
}

fn transience(error: &BackendError) -> Transience {
    match error {
        // llama.cpp's words while it reads the model's file.
        BackendError::Overloaded { status: 503, message, .. } if message.contains("Loading model") => {
            Transience::Loading
        }
        BackendError::Overloaded { retry_after, .. } => Transience::Passing { retry_after: *retry_after },
        BackendError::Unreachable { .. } | BackendError::BrokenOff { .. } => Transience::Passing { retry_after: None },
        BackendError::Timeout { .. }
        | BackendError::Credential { .. }
        | BackendError::UnknownModel { .. }
        | BackendError::ContextOverflow { .. }
        | BackendError::MalformedGeneration { .. }
        | BackendError::Refused { .. }
        | BackendError::Protocol { .. }
        | BackendError::InvalidRequest { .. }
        | BackendError::AnswerTooLong { .. } => Transience::Lasting,
    }
}
