//! Connections whose client takes nothing any more.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection that breaks when nothing of what is ready could be written for too long, so that a client that stops
/// reading doesn't hold a generation for ever.
pub(super) struct Stalling<C> {
    connection: C,
    limit: Duration,
    /// Until when the write that waits may wait.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<C> Stalling<C> {
    pub(super) fn new(connection: C, limit: Duration) -> Self {
        Self { connection, limit, deadline: None }
    }

    /// What a write came to, unless it has waited for too long.
    fn within_limit<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + limit)));
        match deadline.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let message = format!("the client took nothing for {limit:?}");
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
            }
        }
    }
}

impl<C: Read + Unpin> Read for Stalling<C> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_read(context, buffer)
    }
}

impl<C: Write + Unpin> Write for Stalling<C> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stalling = self.get_mut();
        let written = Pin::new(&mut stalling.connection).poll_write(context, bytes);
        stalling.within_limit(context, written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stalling = self.get_mut();
        let flushed = Pin::new(&mut stalling.connection).poll_flush(context);
        stalling.within_limit(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stalling = self.get_mut();
        let written = Pin::new(&mut stalling.connection).poll_write_vectored(context, slices);
        stalling.within_limit(context, written)
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (ours, _theirs) = tokio::io::duplex(8);
        let mut stalling = Stalling::new(TokioIo::new(ours), Duration::from_secs(60));
        let mut write = async |bytes: &[u8]| {
            std::future::poll_fn(|context| Pin::new(&mut stalling).poll_write(context, bytes)).await
        };
        assert_eq!(write(b"12345678").await.ok(), Some(8));
        let error = write(b"9").await.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::TimedOut, "the client took nothing for 60s")
        );
    }
}
