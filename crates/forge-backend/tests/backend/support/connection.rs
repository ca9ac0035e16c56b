//! One connection of the scripted server.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::{Received, Script, Step, answer};

/// What all connections share.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) scripts: Arc<Mutex<VecDeque<Script>>>,
    pub(crate) routes: Arc<HashMap<String, Script>>,
    pub(crate) received: Arc<Mutex<Vec<Received>>>,
    pub(crate) closed: mpsc::UnboundedSender<()>,
}

impl Scene {
    fn script_for(&self, path: &str) -> Script {
        if path != "/v1/chat/completions" {
            let absent = || answer(404, &[("content-type", "application/json")], r#"{"error":{"code":404}}"#);
            return self.routes.get(path).cloned().unwrap_or_else(absent);
        }
        let mut scripts = self.scripts.lock().unwrap();
        match scripts.len() {
            0 | 1 => scripts.front().cloned().unwrap_or_default(),
            _ => scripts.pop_front().unwrap_or_default(),
        }
    }
}

/// Answers the requests of a connection until it is closed.
pub(crate) async fn serve(socket: TcpStream, scene: Scene) {
    let (read, mut write) = socket.into_split();
    let mut read = BufReader::new(read);
    while let Some(request) = Received::read(&mut read).await {
        let script = scene.script_for(&request.path);
        scene.received.lock().unwrap().push(request);
        for step in script {
            match step {
                Step::Write(bytes) => {
                    if write.write_all(&bytes).await.is_err() || write.flush().await.is_err() {
                        return;
                    }
                }
                Step::AwaitClose => {
                    let mut rest = Vec::new();
                    let _end = read.read_to_end(&mut rest).await;
                    let _test_over = scene.closed.send(());
                    return;
                }
                Step::Close => return,
            }
        }
    }
}
