//! Fetching a model from a model hub: what it sends, what it leaves, what it says.

use std::sync::Arc;

use super::support::{Cache, Told, fetcher, hub_source, model, nowhere, sha256};
use forge_backend::models::{CacheDirs, FetchError, Fetcher, Silent, Stage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

const CONTENT: &[u8] = b"the content of a model file";
const FILE: &str = "/owner/repo/resolve/main/tiny.gguf";

/// Serves the content, from an offset where one is asked for.
struct Content(&'static [u8]);

impl Respond for Content {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let Some(range) = request.headers.get("range") else {
            return ResponseTemplate::new(200).set_body_bytes(self.0);
        };
        let offset = range.to_str().unwrap().strip_prefix("bytes=").unwrap().strip_suffix('-').unwrap();
        let offset: usize = offset.parse().unwrap();
        let range = format!("bytes {offset}-{}/{}", self.0.len() - 1, self.0.len());
        ResponseTemplate::new(206).insert_header("content-range", range).set_body_bytes(&self.0[offset..])
    }
}

async fn hub(answer: impl Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("GET")).and(path(FILE)).respond_with(answer).mount(&server).await;
    server
}

/// Fetches from this address and gives the message of the failure.
async fn failure(cache: &Cache, hub: &str) -> String {
    let model = model(CONTENT, vec![hub_source()]);
    let error = fetcher(hub).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap_err();
    assert!(!cache.dirs.models().join("tiny.gguf").exists());
    error.to_string()
}

#[tokio::test]
async fn the_file_is_put_into_the_cache_and_no_part_is_left() {
    let (cache, hub) = (Cache::new(), hub(Content(CONTENT)).await);
    let model = model(CONTENT, vec![hub_source()]);
    let path = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
    assert_eq!(Fetcher::fetched(&model, &cache.dirs), Some(path));
    assert!(!cache.part().exists());
}

#[tokio::test]
async fn what_is_fetched_is_not_fetched_again() {
    let (cache, hub) = (Cache::new(), hub(Content(CONTENT)).await);
    let model = model(CONTENT, vec![hub_source()]);
    for _ in 0..2 {
        fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    }
    assert_eq!(hub.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_of_another_size_is_not_taken_for_the_model() {
    let (cache, hub) = (Cache::new(), hub(Content(CONTENT)).await);
    let model = model(CONTENT, vec![hub_source()]);
    std::fs::create_dir_all(cache.dirs.models()).unwrap();
    std::fs::write(cache.dirs.models().join("tiny.gguf"), "short").unwrap();
    let path = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), CONTENT);
}

#[tokio::test]
async fn two_at_once_fetch_it_once() {
    let (cache, hub) = (Cache::new(), hub(Content(CONTENT)).await);
    let model = model(CONTENT, vec![hub_source()]);
    let fetcher = fetcher(&hub.uri());
    let (mut first, mut second) = (Told::default(), Told::default());
    let (one, other) = tokio::join!(
        fetcher.fetch_model(&model, &cache.dirs, &mut first),
        fetcher.fetch_model(&model, &cache.dirs, &mut second)
    );
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(hub.received_requests().await.unwrap().len(), 1);
    assert_eq!(second.stages, [Stage::WaitingForOtherProcess]);
}

#[tokio::test]
async fn a_redirect_is_followed() {
    let (cache, hub, store) = (Cache::new(), MockServer::start().await, MockServer::start().await);
    let redirect = ResponseTemplate::new(302)
        .insert_header("x-linked-size", CONTENT.len().to_string())
        .insert_header("x-linked-etag", format!("\"{}\"", sha256(CONTENT)))
        .insert_header("location", format!("{}/blob", store.uri()));
    Mock::given(path(FILE)).respond_with(redirect).mount(&hub).await;
    Mock::given(path("/blob")).respond_with(Content(CONTENT)).mount(&store).await;
    let model = model(CONTENT, vec![hub_source()]);
    let path = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), CONTENT);
}

#[tokio::test]
async fn another_file_is_noticed_before_its_body_is_asked_for() {
    for (name, value, message) in [
        ("x-linked-etag", format!("\"{}\"", sha256(b"other")), "its SHA-256 is"),
        ("x-linked-size", "26".to_owned(), "its size is 26, not 27"),
    ] {
        let (cache, hub, store) = (Cache::new(), MockServer::start().await, MockServer::start().await);
        let redirect = ResponseTemplate::new(302)
            .insert_header(name, value)
            .insert_header("location", format!("{}/blob", store.uri()));
        Mock::given(path(FILE)).respond_with(redirect).mount(&hub).await;
        let message_found = failure(&cache, &hub.uri()).await;
        assert!(message_found.contains(message), "{message_found}");
        assert!(store.received_requests().await.unwrap().is_empty(), "{name}");
    }
}

#[tokio::test]
async fn a_git_hash_is_not_taken_for_a_checksum() {
    let answer = ResponseTemplate::new(200)
        .insert_header("x-linked-etag", "\"2fcc22e848744755ba4f9d41f8273cf45813dca3\"")
        .set_body_bytes(CONTENT);
    let (cache, hub) = (Cache::new(), hub(answer).await);
    let model = model(CONTENT, vec![hub_source()]);
    assert!(fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.is_ok());
}

#[tokio::test]
async fn a_partial_file_is_continued() {
    let (cache, hub) = (Cache::new(), MockServer::start().await);
    Mock::given(path(FILE))
        .and(header("range", "bytes=11-"))
        .respond_with(Content(CONTENT))
        .expect(1)
        .mount(&hub)
        .await;
    cache.leave_part(&CONTENT[..11]);
    let model = model(CONTENT, vec![hub_source()]);
    let path = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), CONTENT);
}

#[tokio::test]
async fn a_complete_partial_file_needs_no_request() {
    let cache = Cache::new();
    cache.leave_part(CONTENT);
    let model = model(CONTENT, vec![hub_source()]);
    assert!(fetcher(&nowhere()).fetch_model(&model, &cache.dirs, &mut Silent).await.is_ok());
}

#[tokio::test]
async fn a_server_without_ranges_starts_the_file_over() {
    let (cache, hub) = (Cache::new(), hub(ResponseTemplate::new(200).set_body_bytes(CONTENT)).await);
    cache.leave_part(&CONTENT[..11]);
    let model = model(CONTENT, vec![hub_source()]);
    let path = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), CONTENT);
}

#[tokio::test]
async fn a_damaged_partial_file_is_fetched_anew_once() {
    for left in [b"the damaged".as_slice(), b"something that is longer than the file"] {
        let (cache, hub) = (Cache::new(), hub(Content(CONTENT)).await);
        cache.leave_part(left);
        let model = model(CONTENT, vec![hub_source()]);
        let mut told = Told::default();
        let path = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut told).await.unwrap();
        assert_eq!(std::fs::read(path).unwrap(), CONTENT);
        assert_eq!(told.damaged, usize::from(left.len() < CONTENT.len()));
    }
}

#[tokio::test]
async fn a_wrong_checksum_is_an_error_and_leaves_nothing() {
    let (cache, hub) =
        (Cache::new(), hub(ResponseTemplate::new(200).set_body_bytes(&b"THE content of a model file"[..])).await);
    let message = failure(&cache, &hub.uri()).await;
    let expected = format!("what arrived is damaged: its SHA-256 is {}, not", sha256(b"THE content of a model file"));
    assert!(message.contains(&expected), "{message}");
    assert_eq!(std::fs::read(cache.part()).unwrap(), b"");
}

#[tokio::test]
async fn another_answer_than_the_file_is_an_error_with_its_reason() {
    let page = ResponseTemplate::new(200).set_body_raw("<html>Log in to use this network</html>", "text/html");
    let range = ResponseTemplate::new(206).insert_header("content-range", "bytes 0-3/27").set_body_bytes(b"the ");
    let nowhere = ResponseTemplate::new(302);
    let circle = ResponseTemplate::new(302).insert_header("location", FILE);
    for (answer, message) in [
        (page, "its size is 39 bytes (content type text/html), not 27 bytes"),
        (range, "its size is bytes 0-3/27"),
        (ResponseTemplate::new(404), "tiny.gguf was answered with status 404"),
        (ResponseTemplate::new(500), "tiny.gguf was answered with status 500"),
        (ResponseTemplate::new(416), "its size is less than"),
        (nowhere, "redirects to no usable address"),
        (circle, "redirects to no usable address"),
    ] {
        let (cache, hub) = (Cache::new(), hub(answer).await);
        let found = failure(&cache, &hub.uri()).await;
        assert!(found.contains(message), "{message} in {found}");
    }
}

#[tokio::test]
async fn a_hub_that_is_not_there_is_said_with_the_way_out() {
    let nowhere = nowhere();
    let message = failure(&Cache::new(), &nowhere).await;
    for part in [
        "tiny could not be fetched from any of its sources:\n  - model hub (owner/repo): ",
        &format!("{nowhere} could not be reached (Connection refused"),
        "set HF_ENDPOINT to a mirror",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[tokio::test]
async fn a_cache_folder_that_is_a_file_is_said_before_anything_is_asked() {
    let (cache, hub) = (Cache::new(), hub(Content(CONTENT)).await);
    let file = cache.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let model = model(CONTENT, vec![hub_source()]);
    let error = fetcher(&hub.uri()).fetch_model(&model, &CacheDirs::at(file), &mut Silent).await.unwrap_err();
    assert!(matches!(error, FetchError::Disk(_)), "{error}");
    assert!(hub.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn too_little_room_is_said_with_the_numbers() {
    let (cache, hub) = (Cache::new(), hub(Content(CONTENT)).await);
    let mut model = model(CONTENT, vec![hub_source()]);
    model.bytes = u64::MAX / 2;
    let error = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap_err();
    assert!(matches!(&error, FetchError::NoRoom { needed, free, .. } if needed > free), "{error}");
}

async fn read_request(connection: &mut tokio::net::TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(connection.read_u8().await.unwrap());
    }
    String::from_utf8(request).unwrap().to_lowercase()
}

/// A hub that sends the file in pieces: a connection for each, closed in the middle of the file. Gives the requests.
async fn cut_hub(content: &'static [u8], cuts: &'static [usize]) -> (String, tokio::task::JoinHandle<Vec<String>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut requests = Vec::new();
        let mut start = 0;
        for end in cuts {
            let (mut connection, _) = listener.accept().await.unwrap();
            requests.push(read_request(&mut connection).await);
            let (status, range) = match start {
                0 => ("200 OK", String::new()),
                _ => (
                    "206 Partial Content",
                    format!("content-range: bytes {start}-{}/{}\r\n", content.len() - 1, content.len()),
                ),
            };
            let head = format!("HTTP/1.1 {status}\r\n{range}content-length: {}\r\n\r\n", content.len() - start);
            connection.write_all(head.as_bytes()).await.unwrap();
            connection.write_all(&content[start..*end]).await.unwrap();
            start = *end;
        }
        requests
    });
    (address, serving)
}

#[tokio::test]
async fn a_download_that_breaks_off_goes_on_where_it_was() {
    let (address, serving) = cut_hub(CONTENT, &[10, 20, 27]).await;
    let cache = Cache::new();
    let model = model(CONTENT, vec![hub_source()]);
    let path = fetcher(&address).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), CONTENT);
    let requests = serving.await.unwrap();
    assert!(!requests[0].contains("range:"), "{}", requests[0]);
    assert!(requests[1].contains("range: bytes=10-") && requests[2].contains("range: bytes=20-"), "{requests:?}");
}

#[tokio::test]
async fn a_download_that_stays_broken_says_how_far_it_came_and_keeps_it() {
    let (address, serving) = cut_hub(CONTENT, &[10, 10, 10, 10]).await;
    let cache = Cache::new();
    let message = failure(&cache, &address).await;
    assert!(message.contains("the download broke off at 10 of 27 bytes"), "{message}");
    assert!(message.contains("run the command again to go on from there"), "{message}");
    assert_eq!(std::fs::read(cache.part()).unwrap(), &CONTENT[..10]);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_dropped_fetch_leaves_what_arrived_for_the_next() {
    let large: &'static [u8] = vec![7; 3 * 1024 * 1024].leak();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let stalling = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        read_request(&mut connection).await;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", large.len());
        connection.write_all(head.as_bytes()).await.unwrap();
        connection.write_all(&large[..2 * 1024 * 1024]).await.unwrap();
        std::future::pending::<()>().await;
    };
    let cache = Cache::new();
    let model = model(large, vec![hub_source()]);
    let arrived = Arc::new(tokio::sync::Notify::new());
    let mut observer = NotifyAt(1024 * 1024, Arc::clone(&arrived));
    let stalled = fetcher(&address);
    tokio::select! {
        result = stalled.fetch_model(&model, &cache.dirs, &mut observer) => panic!("{result:?}"),
        () = stalling => {},
        () = arrived.notified() => {},
    }
    let left = std::fs::metadata(cache.part()).unwrap().len();
    assert!(left >= 1024 * 1024, "{left}");

    let hub = hub(Content(large)).await;
    let path = fetcher(&hub.uri()).fetch_model(&model, &cache.dirs, &mut Silent).await.unwrap();
    assert!(std::fs::read(path).unwrap() == large);
    let requests = hub.received_requests().await.unwrap();
    assert_eq!(requests[0].headers["range"].to_str().unwrap(), format!("bytes={left}-"));
}

struct NotifyAt(u64, Arc<tokio::sync::Notify>);

impl forge_backend::models::FetchObserver for NotifyAt {
    fn progress(&mut self, progress: forge_backend::models::Progress<'_>) {
        if progress.done_bytes >= self.0 {
            self.1.notify_one();
        }
    }
}
