//! What needs no change.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::upstream::{Reply, Upstream, body, text};
use super::{Running, request};

#[tokio::test]
async fn what_needs_no_change_passes_byte_for_byte() {
    let (asked, answered) =
        (request(false).to_string().replace("\"m\"", "\"m\",  \"unheard_of\": [1.50]"), body("It rains."));
    let upstream = Upstream::play([Reply::Json(200, answered.clone())]).await;
    let proxy = Running::before(&upstream).await;
    let post = reqwest::Client::new().post(format!("{}/v1/chat/completions", proxy.url)).body(asked.clone());
    let response = post.header("content-type", "application/json").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.text().await.unwrap(), answered);
    assert_eq!(upstream.requests(), [asked.into_bytes()]);
}

#[tokio::test]
async fn a_stream_that_needs_no_change_passes_byte_for_byte() {
    let payloads = text(&["It ", "rains."]);
    let upstream = Upstream::play([Reply::Stream(payloads.clone())]).await;
    let proxy = Running::before(&upstream).await;
    let answer = proxy.chat(&request(true)).await.text().await.unwrap();
    let sent: String = payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect();
    assert_eq!(answer, sent);
}

#[tokio::test]
async fn text_flows_while_the_model_still_writes() {
    let word = Arc::new(Notify::new());
    let (begin, end) = (text(&["It rains ", "in Oslo, "]), text(&["and so on."]));
    let begin = begin.into_iter().take(2).collect();
    let upstream = Upstream::play([Reply::Pause(begin, Arc::clone(&word), end)]).await;
    let proxy = Running::before(&upstream).await;
    let mut bytes = proxy.chat(&request(true)).await.bytes_stream();
    let mut seen = String::new();
    let flowing = async {
        while !seen.contains("It rains ") {
            seen.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
        }
    };
    timeout(Duration::from_secs(10), flowing).await.unwrap();
    word.notify_one();
    while let Some(more) = bytes.next().await {
        seen.push_str(std::str::from_utf8(&more.unwrap()).unwrap());
    }
    assert!(seen.contains("and so on."), "{seen}");
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_the_generation() {
    let gone = Arc::new(Notify::new());
    let payloads = text(&["It rains "]).into_iter().take(1).collect();
    let upstream = Upstream::play([Reply::Hang(payloads, Arc::clone(&gone))]).await;
    let proxy = Running::before(&upstream).await;
    let mut bytes = proxy.chat(&request(true)).await.bytes_stream();
    bytes.next().await.unwrap().unwrap();
    drop(bytes);
    timeout(Duration::from_secs(10), gone.notified()).await.unwrap();
}

#[tokio::test]
async fn a_client_that_hangs_up_before_the_first_word_ends_the_generation_too() {
    let gone = Arc::new(Notify::new());
    let upstream = Upstream::play([Reply::Hang(Vec::new(), Arc::clone(&gone))]).await;
    let proxy = Running::before(&upstream).await;
    for stream in [true, false] {
        let asked = request(stream);
        let waiting = timeout(Duration::from_millis(300), proxy.chat(&asked)).await;
        drop(waiting);
        timeout(Duration::from_secs(10), gone.notified()).await.unwrap();
    }
}

#[tokio::test]
async fn running_answers_come_to_their_end_when_the_proxy_stops() {
    let word = Arc::new(Notify::new());
    let (begin, end) = (text(&["It rains "]).into_iter().take(1).collect(), text(&["to the end."]));
    let upstream = Upstream::play([Reply::Pause(begin, Arc::clone(&word), end)]).await;
    let mut proxy = Running::before(&upstream).await;
    let mut answer = proxy.chat(&request(true)).await;
    answer.chunk().await.unwrap().unwrap();
    proxy.stop.cancel();
    word.notify_one();
    let rest = answer.text().await.unwrap();
    assert!(rest.contains("to the end.") && rest.contains("[DONE]"), "{rest}");
    timeout(Duration::from_secs(10), &mut proxy.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_the_server_says_of_itself_is_handed_on() {
    let upstream = Upstream::play([Reply::Json(200, body("hi"))]).await;
    let proxy = Running::before(&upstream).await;
    let get = async |path: &str| reqwest::get(format!("{}{path}", proxy.url)).await.unwrap();
    let models: serde_json::Value = get("/v1/models").await.json().await.unwrap();
    assert_eq!(models["data"][0]["id"], "m", "{models}");
    assert_eq!(get("/forge/health").await.status(), 200);
    assert_eq!(get("/v1/unheard_of").await.status(), 404);
    assert_eq!(proxy.post("/v1/models", &json!({})).await.status(), 405);
}
