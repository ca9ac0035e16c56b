//! Bodies: those of requests within limits, those of answers whole or as they come.

use std::convert::Infallible;
use std::time::Duration;

use async_stream::stream;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use tokio::time::timeout;

use crate::config::Limits;
use crate::error::{ClientError, ErrorKind};
use crate::piece::Piece;
use crate::pipeline::PieceStream;
use crate::protocol::Encode;

/// The body of an answer.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

/// A body that is all there.
pub(super) fn whole(bytes: impl Into<Bytes>) -> AnswerBody {
    Full::new(bytes.into()).boxed_unsync()
}

/// The body of a request, within the limits of size and time.
pub(super) async fn read(body: Incoming, limits: &Limits) -> Result<Bytes, ClientError> {
    let limit = limits.body_bytes;
    let too_large = || {
        let message = format!("the request's body is longer than the {limit} bytes this server takes");
        ClientError::new(ErrorKind::TooLarge, 413, message)
    };
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    match timeout(limits.body_time, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(ClientError::invalid(format!("the request's body can't be read: {error}"))),
        Err(_) => {
            let message = format!("the request's body did not arrive within {:?}", limits.body_time);
            Err(ClientError::new(ErrorKind::Timeout, 408, message))
        }
    }
}

/// An answer as it comes, never silent for longer than `silence`.
pub(super) fn streamed(
    first: Option<Piece>,
    pieces: PieceStream,
    encoder: Box<dyn Encode>,
    silence: Duration,
) -> AnswerBody {
    let frames = encoded(first, pieces, encoder, silence).map(|bytes| Ok(Frame::data(bytes)));
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

fn encoded(
    first: Option<Piece>,
    mut pieces: PieceStream,
    mut encoder: Box<dyn Encode>,
    silence: Duration,
) -> impl Stream<Item = Bytes> {
    stream! {
        let mut out = Vec::new();
        match first {
            Some(piece) => encoder.piece(piece, &mut out),
            None => encoder.keep_alive(&mut out),
        }
        loop {
            if !out.is_empty() {
                yield Bytes::from(std::mem::take(&mut out));
            }
            match timeout(silence, pieces.next()).await {
                Err(_) => encoder.keep_alive(&mut out),
                Ok(Some(Ok(piece))) => encoder.piece(piece, &mut out),
                Ok(Some(Err(error))) => {
                    encoder.failure(&error, &mut out);
                    yield Bytes::from(std::mem::take(&mut out));
                    break;
                }
                Ok(None) => break,
            }
        }
    }
}
