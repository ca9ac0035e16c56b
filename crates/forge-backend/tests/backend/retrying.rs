//! What is tried again, how often and when. The clock is tokio's paused one: no test waits.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use forge_backend::{Backend, BackendError, BackendInfo, ChatRequest, ModelEvent, ModelStream, RetryPolicy, Retrying};
use forge_core::FinishReason;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use rstest::rstest;
use tokio::time::Instant;

use super::support::{request, respond};

/// What becomes of one generation.
type Play = fn() -> Result<ModelStream, BackendError>;

/// A backend that plays what it is given, one play for each generation, the last one again at the end.
struct Played {
    plays: Mutex<VecDeque<Play>>,
    tries: Mutex<Vec<Instant>>,
}

impl Played {
    fn new(plays: &[Play]) -> Retrying<Self> {
        let played = Self { plays: Mutex::new(plays.iter().copied().collect()), tries: Mutex::default() };
        Retrying::new(played, RetryPolicy::default())
    }

    fn tries(&self) -> usize {
        self.tries.lock().unwrap().len()
    }

    /// The time from the first try to the last.
    fn lasted(&self) -> Duration {
        let tries = self.tries.lock().unwrap();
        *tries.last().unwrap() - *tries.first().unwrap()
    }
}

impl Backend for Played {
    fn chat(&self, _request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, BackendError>> {
        self.tries.lock().unwrap().push(Instant::now());
        let mut plays = self.plays.lock().unwrap();
        let play = if plays.len() > 1 { plays.pop_front() } else { plays.front().copied() };
        Box::pin(async move { play.unwrap()() })
    }

    fn info(&self) -> BoxFuture<'_, Result<BackendInfo, BackendError>> {
        let outcome = self.generate(request());
        Box::pin(async { outcome.await.map(|_stream| BackendInfo::default()) })
    }
}

fn events(events: Vec<Result<ModelEvent, BackendError>>) -> Result<ModelStream, BackendError> {
    Ok(stream::iter(events).boxed())
}

fn text() -> Result<ModelEvent, BackendError> {
    Ok(ModelEvent::Text { text: "hi".to_owned() })
}

fn broken() -> BackendError {
    BackendError::BrokenOff { reason: "reset".to_owned() }
}

fn well() -> Result<ModelStream, BackendError> {
    events(vec![text(), Ok(ModelEvent::Finish { reason: FinishReason::Stop })])
}

fn down() -> Result<ModelStream, BackendError> {
    Err(BackendError::Unreachable { url: "u".to_owned(), reason: "refused".to_owned() })
}

fn overloaded(status: u16, retry_after: Option<u64>, message: &str) -> Result<ModelStream, BackendError> {
    let retry_after = retry_after.map(Duration::from_secs);
    Err(BackendError::Overloaded { status, retry_after, message: message.to_owned() })
}

#[rstest]
#[case::no_connection(down)]
#[case::rate_limit(|| overloaded(429, None, "slow down"))]
#[case::unavailable(|| overloaded(503, None, "no slot"))]
#[case::broken_before_the_head(|| Err(broken()))]
#[case::broken_before_the_first_event(|| events(vec![Err(broken())]))]
#[case::ended_before_the_first_event(|| events(Vec::new()))]
#[tokio::test(start_paused = true)]
async fn a_passing_fault_is_tried_again(#[case] fault: Play) {
    let backend = Played::new(&[fault, fault, well]);
    assert_eq!(respond(&backend, request()).await.unwrap().text, "hi");
    assert_eq!(backend.inner().tries(), 3);
}

#[rstest]
#[case::timeout(|| Err(BackendError::Timeout { url: String::new(), after: Duration::ZERO, phase: "" }))]
#[case::credential(|| Err(BackendError::Credential { url: String::new(), status: 401 }))]
#[case::model(|| Err(BackendError::UnknownModel { model: String::new(), message: String::new() }))]
#[case::overflow(|| Err(BackendError::ContextOverflow { prompt_tokens: None, window: None, message: String::new() }))]
#[case::malformed(|| Err(BackendError::MalformedGeneration { text: None, message: String::new() }))]
#[case::refused(|| Err(BackendError::Refused { status: 400, message: String::new() }))]
#[case::protocol(|| Err(BackendError::Protocol { url: String::new(), problem: String::new() }))]
#[case::invalid(|| Err(BackendError::InvalidRequest { problem: String::new() }))]
#[case::too_long(|| Err(BackendError::AnswerTooLong { limit_bytes: 1 }))]
#[tokio::test(start_paused = true)]
async fn a_lasting_fault_is_handed_on_at_once(#[case] fault: Play) {
    let backend = Played::new(&[fault, well]);
    assert!(respond(&backend, request()).await.is_err());
    assert_eq!(backend.inner().tries(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_after_the_first_event() {
    let backend = Played::new(&[|| events(vec![text(), Err(broken())]), well]);
    assert!(respond(&backend, request()).await.is_err());
    assert_eq!(backend.inner().tries(), 1);
}

#[tokio::test(start_paused = true)]
async fn tries_are_bounded_and_their_distance_grows() {
    let backend = Played::new(&[down]);
    assert!(respond(&backend, request()).await.is_err());
    assert_eq!(backend.inner().tries(), 3);
    // Half to all of one second, then of two.
    let lasted = backend.inner().lasted();
    assert!((Duration::from_millis(1_500)..=Duration::from_millis(3_005)).contains(&lasted), "{lasted:?}");
}

#[tokio::test(start_paused = true)]
async fn the_server_says_when_to_come_back() {
    let backend = Played::new(&[|| overloaded(429, Some(12), "slow down"), well]);
    respond(&backend, request()).await.unwrap();
    assert_eq!(backend.inner().lasted().as_secs(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_more_time_than_there_is_gets_no_second_try() {
    let backend = Played::new(&[|| overloaded(429, Some(31), "slow down"), well]);
    assert!(respond(&backend, request()).await.is_err());
    assert_eq!(backend.inner().tries(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_loads_its_model_is_waited_for() {
    let mut plays: Vec<Play> = vec![|| overloaded(503, None, "Loading model"); 12];
    plays.push(well);
    let backend = Played::new(&plays);
    assert_eq!(respond(&backend, request()).await.unwrap().text, "hi");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_loads_for_ever_is_given_up() {
    let backend = Played::new(&[|| overloaded(503, None, "Loading model")]);
    assert!(respond(&backend, request()).await.is_err());
    assert_eq!(backend.inner().lasted().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn what_a_server_is_is_asked_again_too() {
    let backend = Played::new(&[down, well]);
    assert!(backend.info().await.is_ok());
}
