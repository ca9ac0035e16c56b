//! Who may ask, and how much.

use forge_backend::{OpenAiConfig, Secret};
use forge_proxy::{Access, Limits, ProxyConfig};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use super::upstream::{Reply, Upstream, body};
use super::{Running, request, weather};

async fn upstream() -> Upstream {
    Upstream::play([Reply::Json(200, body("hi"))]).await
}

#[tokio::test]
async fn a_page_with_a_name_of_its_own_is_refused() {
    let upstream = upstream().await;
    let proxy = Running::before(&upstream).await;
    let url = format!("{}/v1/chat/completions", proxy.url);
    for (header, value) in [("host", "evil.example"), ("origin", "http://evil.example")] {
        let response = Client::new().post(&url).header(header, value).json(&request(false)).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{header}");
        let said = response.text().await.unwrap();
        assert!(said.contains("evil.example") && said.contains("--allow-"), "{said}");
    }
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn callers_bring_one_of_the_keys() {
    let upstream = upstream().await;
    let access = Access { keys: vec![Secret::new("right-key")], ..Access::default() };
    let config = ProxyConfig { access, ..ProxyConfig::new(OpenAiConfig::new(&upstream.url)) };
    let proxy = Running::with(config).await;
    let url = format!("{}/v1/chat/completions", proxy.url);
    for (name, value, status) in [
        ("x-nothing", "", 401),
        ("authorization", "Bearer wrong-key", 401),
        ("authorization", "Bearer right-key", 200),
        ("x-api-key", "right-key", 200),
    ] {
        let response = Client::new().post(&url).header(name, value).json(&request(false)).send().await.unwrap();
        assert_eq!(response.status(), status, "{name}: {value}");
        assert!(!response.text().await.unwrap().contains("right-key"));
    }
}

#[tokio::test]
async fn what_is_too_much_or_can_not_be_read_is_refused_in_the_clients_own_form() {
    let upstream = upstream().await;
    let limits = Limits { body_bytes: 20_000, tools: 2, ..Limits::default() };
    let config = ProxyConfig { limits, ..ProxyConfig::new(OpenAiConfig::new(&upstream.url)) };
    let proxy = Running::with(config).await;
    let big = json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(30_000)}]}).to_string();
    let tools: Vec<Value> = (0..3).map(|_| weather()).collect();
    let many = json!({"model": "m", "max_tokens": 9, "messages": [], "tools": tools, "input": "x"}).to_string();
    let deep = format!("{{\"messages\": {}{}}}", "[".repeat(500), "]".repeat(500));
    for (text, status, said) in [
        ("{", 400, "JSON"),
        ("[]", 400, "JSON object"),
        (big.as_str(), 413, "20000"),
        (many.as_str(), 400, "3"),
        (deep.as_str(), 400, "128 levels"),
    ] {
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
            let post = Client::new().post(format!("{}{path}", proxy.url)).header("content-type", "application/json");
            let response = post.body(text.to_owned()).send().await.unwrap();
            let got = response.status().as_u16();
            let answer: Value = response.json().await.unwrap();
            assert_eq!(got, status, "{path}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{path}: {answer}");
            assert_eq!(answer["type"] == "error", path == "/v1/messages", "{path}: {answer}");
        }
    }
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_server_that_is_down_is_named() {
    let proxy = Running::with(ProxyConfig::new(OpenAiConfig::new("http://127.0.0.1:9"))).await;
    let response = proxy.chat(&request(false)).await;
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    assert!(response.text().await.unwrap().contains("http://127.0.0.1:9"));
}
