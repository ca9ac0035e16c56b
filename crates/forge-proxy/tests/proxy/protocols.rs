//! The same call, over each protocol, whole and streamed.

use serde_json::{Value, json};

use super::upstream::{Reply, Upstream, text};
use super::{Running, weather};

const CALL: &str = "[TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]";

fn events(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

async fn asked(path: &str, body: Value) -> String {
    let upstream = Upstream::play([Reply::Stream(text(&["Let me look. ", CALL]))]).await;
    let proxy = Running::before(&upstream).await;
    let response = proxy.post(path, &body).await;
    assert_eq!(response.status(), 200);
    let answer = response.text().await.unwrap();
    let sent = upstream.json(0);
    assert_eq!(sent["tools"][0]["function"]["name"], "weather", "{sent}");
    assert!(!answer.contains("TOOL_CALLS"), "{answer}");
    answer
}

#[tokio::test]
async fn chat_completions() {
    let body = |stream| json!({"model": "m", "messages": [{"role": "user", "content": "Oslo?"}], "tools": [weather()], "stream": stream});
    let whole: Value = serde_json::from_str(&asked("/chat/completions", body(false)).await).unwrap();
    assert_eq!(whole["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "weather", "{whole}");
    let chunks = events(&asked("/v1/chat/completions", body(true)).await);
    let deltas: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    let arguments: String =
        deltas.iter().filter_map(|delta| delta["tool_calls"][0]["function"]["arguments"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({"city": "Oslo"}));
    let content: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
    assert_eq!(content.trim(), "Let me look.");
}

#[tokio::test]
async fn anthropic_messages() {
    let tool = json!({"name": "weather", "description": "", "input_schema": weather()["function"]["parameters"]});
    let body = |stream| {
        json!({"model": "m", "max_tokens": 64, "system": "Be brief.", "messages": [{"role": "user", "content": "Oslo?"}],
            "tools": [tool], "stream": stream})
    };
    let whole: Value = serde_json::from_str(&asked("/v1/messages?beta=true", body(false)).await).unwrap();
    assert_eq!(whole["stop_reason"], "tool_use", "{whole}");
    let blocks = whole["content"].as_array().unwrap();
    assert_eq!(blocks.last().unwrap()["input"], json!({"city": "Oslo"}), "{whole}");
    let kinds: Vec<String> = events(&asked("/v1/messages", body(true)).await)
        .iter()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds.first().unwrap(), "message_start");
    assert_eq!(kinds[kinds.len() - 2..], ["message_delta", "message_stop"]);
    let count = |kind: &str| kinds.iter().filter(|known| *known == kind).count();
    assert_eq!((count("content_block_start"), count("content_block_stop")), (2, 2), "{kinds:?}");
}

#[tokio::test]
async fn responses() {
    let mut tool = weather()["function"].clone();
    tool["type"] = json!("function");
    let body = |stream| json!({"model": "m", "input": "Oslo?", "instructions": "Be brief.", "tools": [tool], "stream": stream});
    let whole: Value = serde_json::from_str(&asked("/v1/responses", body(false)).await).unwrap();
    let items = whole["output"].as_array().unwrap();
    assert_eq!(items.last().unwrap()["type"], "function_call", "{whole}");
    assert_eq!(items.last().unwrap()["arguments"], "{\"city\": \"Oslo\"}");
    let events = events(&asked("/v1/responses", body(true)).await);
    let numbers: Vec<_> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["response.created", "response.in_progress"]);
    assert!(kinds.contains(&"response.function_call_arguments.done"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"response.completed"));
}
