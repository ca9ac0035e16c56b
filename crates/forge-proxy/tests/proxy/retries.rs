//! What the model gets wrong.

use serde_json::{Value, json};

use super::upstream::{Reply, Upstream, body, text};
use super::{Running, request};

const CALL: &str =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": \"2\"}}\n</tool_call>";

#[tokio::test]
async fn a_call_in_text_reaches_the_client_as_a_call_with_its_arguments_coerced() {
    let upstream = Upstream::play([Reply::Json(200, body(CALL))]).await;
    let proxy = Running::before(&upstream).await;
    let answer: Value = proxy.chat(&request(false)).await.json().await.unwrap();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    let function = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(function["name"], "weather");
    let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"city": "Oslo", "days": 2}));
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_wrong_call_is_asked_for_again_without_the_client_noticing() {
    let wrong = CALL.replace("\"city\": \"Oslo\", ", "");
    let (first, second) = (Reply::Json(200, body(&wrong)), Reply::Stream(text(&[CALL])));
    let upstream = Upstream::play([first, second]).await;
    let proxy = Running::before(&upstream).await;
    let answer: Value = proxy.chat(&request(false)).await.json().await.unwrap();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["usage"]["total_tokens"], 30, "both generations count");
    let again = upstream.json(1);
    let told = again["messages"].as_array().unwrap().last().unwrap();
    assert!(told["role"] == "tool" && told["content"].as_str().unwrap().contains("city"), "{told}");
}

#[tokio::test]
async fn a_model_that_never_gets_it_right_gives_an_error_and_no_call() {
    let upstream = Upstream::play([
        Reply::Json(200, body(&CALL.replace("weather", "wether_of"))),
        Reply::Stream(text(&[&CALL.replace("weather", "wether_of")])),
    ])
    .await;
    let proxy = Running::before(&upstream).await;
    let mut required = request(false);
    required["tool_choice"] = json!("required");
    let response = proxy.chat(&required).await;
    let status = response.status().as_u16();
    let answer: Value = response.json().await.unwrap();
    assert_eq!(status, 502, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("4 attempts"), "{answer}");
    assert_eq!(upstream.requests().len(), 4);
}

#[tokio::test]
async fn a_call_that_is_due_is_enforced_from_the_first_attempt_where_the_server_can() {
    let call = r#"{"name": "weather", "arguments": {"city": "Oslo"}}"#;
    for (choice, can, cannot) in [
        (json!("required"), Value::Null, json!("required")),
        (
            json!({"type": "function", "function": {"name": "weather"}}),
            Value::Null,
            json!({"type": "function", "function": {"name": "weather"}}),
        ),
        (json!("auto"), json!("auto"), json!("auto")),
    ] {
        let mut asked = request(false);
        asked["tool_choice"] = choice.clone();
        for (upstream, sent, schema) in [
            (Upstream::play_llama_cpp([Reply::Stream(text(&[call]))]).await, can, choice != "auto"),
            (Upstream::play([Reply::Stream(text(&[call]))]).await, cannot, false),
        ] {
            let proxy = Running::before(&upstream).await;
            let answer: Value = proxy.chat(&asked).await.json().await.unwrap();
            assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "weather", "{answer}");
            let first = upstream.json(0);
            assert_eq!((&first["tool_choice"], first.get("response_format").is_some()), (&sent, schema), "{choice}");
        }
    }
}

#[tokio::test]
async fn a_poisoned_history_is_made_safe_on_its_way() {
    let upstream = Upstream::play([Reply::Stream(text(&["Rain."]))]).await;
    let proxy = Running::before(&upstream).await;
    let call = json!({"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Os"}});
    let mut poisoned = request(true);
    poisoned["messages"] = json!([
        {"role": "user", "content": "Oslo?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "user", "content": "Well?"},
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
    ]);
    assert!(proxy.chat(&poisoned).await.text().await.unwrap().contains("Rain."));
    let sent = upstream.json(0);
    let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    let arguments = sent["messages"][1]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
}

#[tokio::test]
async fn what_a_refusal_asks_for_is_done_and_remembered() {
    let refusal = json!({"error": {"code": 500, "message": "Jinja Exception: roles must alternate"}}).to_string();
    let upstream =
        Upstream::play([Reply::Json(500, refusal.clone()), Reply::Json(500, refusal), Reply::Stream(text(&["Rain."]))])
            .await;
    let proxy = Running::before(&upstream).await;
    let mut doubled = request(true);
    doubled["messages"] = json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]);
    for _ in 0..2 {
        assert!(proxy.chat(&doubled).await.text().await.unwrap().contains("Rain."));
    }
    let merged = json!([{"role": "user", "content": "a\n\nb"}]);
    let sent: Vec<bool> = (0..4).map(|index| upstream.json(index)["messages"] == merged).collect();
    assert_eq!(sent, [false, false, true, true]);
}

#[tokio::test]
async fn thinking_that_the_template_opened_is_shown_as_thinking_once_it_is_known() {
    let upstream = Upstream::play([Reply::Stream(text(&["Let me see.", " Sun?", "</think>", "It is sunny."]))]).await;
    let proxy = Running::before(&upstream).await;
    let mut shown = Vec::new();
    for _ in 0..2 {
        let body = proxy.chat(&request(true)).await.text().await.unwrap();
        let deltas = body.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
        let (mut said, mut thought) = (String::new(), String::new());
        for delta in deltas.map(|chunk| chunk["choices"][0]["delta"].clone()) {
            said.push_str(delta["content"].as_str().unwrap_or_default());
            thought.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        }
        shown.push((said, thought));
    }
    assert!(shown[0].0.ends_with("It is sunny."), "nobody could know: {shown:?}");
    assert_eq!(shown[1], ("It is sunny.".to_owned(), "Let me see. Sun?".to_owned()));
}
