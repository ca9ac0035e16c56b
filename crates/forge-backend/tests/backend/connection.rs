//! Connections: kept for the next request, closed for a cancelled one.

use forge_backend::{Backend, ModelEvent};
use futures_util::StreamExt;

use super::support::{ScriptedServer, Step, request, respond, stream_head, text_chunk};

#[tokio::test]
async fn a_dropped_stream_closes_the_connection() {
    let text = Step::Write(format!("data: {}\n\n", text_chunk("a")).into_bytes());
    let mut server = ScriptedServer::always(vec![stream_head(), text, Step::AwaitClose]).await;
    let backend = server.backend();
    let mut stream = backend.generate(request()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), ModelEvent::Text { text: "a".to_owned() });
    drop(stream);
    server.client_closed().await;
}

#[tokio::test]
async fn a_dropped_request_closes_the_connection() {
    let mut server = ScriptedServer::always(vec![Step::AwaitClose]).await;
    let backend = server.backend();
    let generation = backend.generate(request());
    let arrived = async {
        while server.completions().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = generation => panic!("the server never answers"),
        () = arrived => {}
    }
    server.client_closed().await;
}

#[tokio::test]
async fn answers_that_are_read_to_the_end_leave_the_connection_for_the_next_request() {
    let body = format!("data: {}\n\ndata: [DONE]\n\n", text_chunk("a"));
    let chunked =
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let server = ScriptedServer::always(vec![Step::Write(chunked.into_bytes())]).await;
    let backend = server.backend();
    for _ in 0..3 {
        respond(&backend, request()).await.unwrap();
    }
    assert_eq!((server.completions().len(), server.connections()), (3, 1));
}
