//! Starting and stopping a model server, with a program that stands for llama-server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::support::gone;
use forge_backend::managed::{ManagedServer, Runtime, ServerSpec, StartError, StartPhase};

/// A folder with a model, and a server that behaves like this.
struct Setup {
    folder: tempfile::TempDir,
    spec: ServerSpec,
}

fn behaving(behaviour: &str) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("tiny.gguf");
    std::fs::write(&model, "GGUF").unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake_llama_server.py");
    let spec = ServerSpec {
        extra_arguments: vec![behaviour.into()],
        ..ServerSpec::new(Runtime::LlamaServer { program }, model)
    };
    Setup { folder, spec }
}

impl Setup {
    fn logs(&self) -> PathBuf {
        self.folder.path().join("logs")
    }

    async fn start(&self) -> Result<ManagedServer, StartError> {
        ManagedServer::start(self.spec.clone(), &self.logs(), |_| ()).await
    }

    async fn failure(&self) -> StartError {
        self.start().await.unwrap_err()
    }
}

/// The process id that the stand-in wrote to its log.
fn pid(server: &ManagedServer) -> u32 {
    pid_in(&server.log_tail()).unwrap()
}

fn pid_in(log: &str) -> Option<u32> {
    log.split_whitespace().skip_while(|word| *word != "pid").nth(1)?.parse().ok()
}

#[tokio::test]
async fn a_server_is_ready_once_its_model_is_loaded() {
    let setup = behaving("ready:2");
    let mut phases = Vec::new();
    let server =
        ManagedServer::start(setup.spec.clone(), &setup.logs(), |waiting| phases.push(waiting.phase)).await.unwrap();
    assert_eq!(phases.iter().filter(|phase| **phase == StartPhase::LoadingModel).count(), 2);
    assert!(server.base_url().as_str().starts_with("http://127.0.0.1:"));
    server.stop().await;
}

#[tokio::test]
async fn a_stopped_server_is_gone() {
    let setup = behaving("ready");
    let server = setup.start().await.unwrap();
    let pid = pid(&server);
    server.stop().await;
    gone(pid).await;
}

#[tokio::test]
async fn a_server_that_does_not_end_when_asked_is_killed() {
    let mut setup = behaving("stubborn");
    setup.spec.stop_timeout = Duration::from_millis(50);
    let server = setup.start().await.unwrap();
    let pid = pid(&server);
    server.stop().await;
    gone(pid).await;
}

#[tokio::test]
async fn a_dropped_server_is_killed() {
    let setup = behaving("ready");
    let server = setup.start().await.unwrap();
    let pid = pid(&server);
    drop(server);
    gone(pid).await;
}

#[tokio::test]
async fn a_running_server_has_no_exit_status_and_a_killed_one_has() {
    let setup = behaving("ready");
    let mut server = setup.start().await.unwrap();
    assert_eq!(server.exit_status(), None);
    std::process::Command::new("kill").args(["-KILL", &pid(&server).to_string()]).status().unwrap();
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let status = loop {
        ticks.tick().await;
        if let Some(status) = server.exit_status() {
            break status;
        }
    };
    assert!(!status.success());
}

#[tokio::test]
async fn a_server_that_ends_early_is_an_error_with_its_last_words() {
    let error = behaving("exit:3").failure().await;
    let message = error.to_string();
    assert!(message.contains("ended while it was starting (exit status: 3)"), "{message}");
    assert!(message.ends_with("error: the model is not to my taste"), "{message}");
}

#[tokio::test]
async fn a_server_that_is_not_ready_in_time_is_stopped() {
    let mut setup = behaving("never");
    setup.spec.start_timeout = Duration::from_secs(1);
    let error = setup.failure().await;
    assert!(matches!(&error, StartError::TimedOut { .. }), "{error}");
    // On a busy machine the time may be over before the program says who it is.
    if let Some(pid) = pid_in(&error.to_string()) {
        gone(pid).await;
    }
}

#[tokio::test]
async fn a_missing_model_is_said_before_anything_is_started() {
    let mut setup = behaving("ready");
    setup.spec.model = "/nowhere/tiny.gguf".into();
    let message = setup.failure().await.to_string();
    assert_eq!(message, "there is no model file /nowhere/tiny.gguf; `forge models pull NAME` fetches one");
    assert!(!setup.logs().exists());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_with_its_name() {
    let mut setup = behaving("ready");
    setup.spec.runtime = Runtime::LlamaServer { program: "/nowhere/llama-server".into() };
    let message = setup.failure().await.to_string();
    assert!(message.contains("/nowhere/llama-server"), "{message}");
}

#[tokio::test]
async fn dropping_the_start_kills_the_server() {
    let setup = behaving("never");
    let logs = setup.logs();
    let written = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        loop {
            ticks.tick().await;
            let log = std::fs::read_dir(&logs).ok().and_then(|mut entries| entries.next());
            let text = log.and_then(|entry| std::fs::read_to_string(entry.ok()?.path()).ok()).unwrap_or_default();
            if let Some(pid) = pid_in(&text).filter(|_| text.ends_with('\n')) {
                break pid;
            }
        }
    };
    let pid = tokio::select! {
        result = setup.start() => panic!("{result:?}"),
        pid = written => pid,
    };
    gone(pid).await;
}
