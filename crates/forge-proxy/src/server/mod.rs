//! The HTTP server: connections, limits, routes.

mod access;
mod body;
mod reply;
mod routes;
mod stall;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forge_backend::OpenAiCompatible;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ProxyConfig;
use crate::offered::ToolShelf;
use crate::pipeline::Shared;
use crate::upstream::Upstream;
use access::Gate;
use stall::Stalling;

/// The smallest buffer hyper takes for the head of a request.
const MIN_HEAD_BYTES: usize = 8192;

/// A proxy, ready to serve.
#[derive(Clone)]
pub struct Proxy {
    server: Arc<Server>,
}

/// What every connection shares.
struct Server {
    shared: Arc<Shared>,
    shelf: ToolShelf,
    gate: Gate,
}

/// Why a proxy can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The model server's configuration can't work.
    #[error(transparent)]
    Backend(#[from] forge_backend::ConfigError),
    /// A name or an origin can't be one.
    #[error("{value:?} can't be {what}")]
    Access {
        /// The value.
        value: String,
        /// What it should be, with an example.
        what: &'static str,
    },
}

impl Proxy {
    /// A proxy for a configuration. Nothing is sent yet.
    ///
    /// # Errors
    /// When the configuration can't work.
    pub fn new(config: ProxyConfig) -> Result<Self, ProxyError> {
        let ProxyConfig { backend, guard, limits, access } = config;
        let gate = Gate::new(access)?;
        let upstream = Upstream::new(OpenAiCompatible::new(backend)?);
        let shelf = ToolShelf::new(limits.tools);
        Ok(Self {
            server: Arc::new(Server {
                shared: Arc::new(Shared { upstream, guard, limits, begins_in_thought: AtomicBool::new(false) }),
                shelf,
                gate,
            }),
        })
    }

    /// Serves until `shutdown` is done; then no connection is taken any more, and answers that are running may come to
    /// their end for as long as [`Limits::drain_time`](crate::Limits::drain_time) says.
    ///
    /// # Errors
    /// When the listener breaks.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let limits = self.server.shared.limits;
        let slots = Arc::new(Semaphore::new(limits.connections.max(1)));
        let graceful = GracefulShutdown::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let slot = Arc::clone(&slots).acquire_owned();
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                accepted = async { (slot.await, listener.accept().await) } => accepted,
            };
            match accepted {
                (Ok(slot), Ok((stream, peer))) => self.connection(stream, peer, slot, &graceful),
                (Err(_closed), _) => break,
                (_, Err(error)) if is_passing(&error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    // Out of file handles, as a rule: some come back.
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
                (_, Err(error)) => return Err(error),
            }
        }
        drop(listener);
        if tokio::time::timeout(limits.drain_time, graceful.shutdown()).await.is_err() {
            tracing::warn!("answers that were still running were cut off");
        }
        Ok(())
    }

    fn connection(&self, stream: TcpStream, peer: SocketAddr, slot: OwnedSemaphorePermit, graceful: &GracefulShutdown) {
        let _best_effort = stream.set_nodelay(true);
        let server = Arc::clone(&self.server);
        let limits = server.shared.limits;
        let service = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { Ok::<_, std::convert::Infallible>(routes::route(server, request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            .max_headers(limits.headers.max(1))
            .max_buf_size(limits.head_bytes.max(MIN_HEAD_BYTES))
            .serve_connection(Stalling::new(TokioIo::new(stream), limits.stall_time), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "a connection ended early");
            }
            drop(slot);
        });
    }
}

/// Whether an error is about one connection or a shortage, and not about the listener.
fn is_passing(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotConnected | io::ErrorKind::Unsupported)
}
