//! Ctrl-C and the terminate signal, as a cancellation token.

use tokio_util::sync::CancellationToken;

/// A token that fires at the first Ctrl-C (or terminate signal). A second one ends the process at once.
pub(crate) fn cancellation() -> CancellationToken {
    let token = CancellationToken::new();
    let fired = token.clone();
    tokio::spawn(async move {
        interrupted().await;
        fired.cancel();
        interrupted().await;
        std::process::exit(crate::exit::Exit::Cancelled as i32);
    });
    token
}

#[cfg(unix)]
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

#[cfg(not(unix))]
async fn interrupted() {
    drop(tokio::signal::ctrl_c().await);
}
