//! Requests that are sent again in the form a refusal asks for.

use forge_core::{Arguments, CallId, Constraint, Message, ResultKind, ToolCall, ToolSpec};
use serde_json::{Value, json};

use super::support::{Script, ScriptedServer, good, json_answer, request, respond};

fn refusal(status: u16, message: &str) -> Script {
    json_answer(status, &json!({"error": {"code": status, "message": message}}))
}

/// The bodies of two requests to a server that refuses the first.
async fn bodies_after(refusals: Vec<Script>, request: forge_backend::ModelRequest) -> Vec<Value> {
    let server = ScriptedServer::start(refusals.into_iter().chain([good("hi")]), &[]).await;
    let backend = server.backend();
    for _ in 0..2 {
        respond(&backend, request.clone()).await.unwrap();
    }
    server.completions().iter().map(super::support::Received::json).collect()
}

#[tokio::test]
async fn a_template_that_wants_alternating_roles_gets_them_from_then_on() {
    let mut request = request();
    request.messages = vec![Message::input("go"), Message::nudge("call a tool")].into();
    let message = "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...";
    let bodies = bodies_after(vec![refusal(500, message)], request).await;
    let sent: Vec<_> = bodies.iter().map(|body| &body["messages"]).collect();
    let merged = json!([{"role": "user", "content": "go\n\ncall a tool"}]);
    assert_eq!(sent[1..], [&merged, &merged]);
}

#[tokio::test]
async fn a_template_that_fails_inside_the_stream_gets_them_too() {
    let message = r#"{"error":{"message":"roles must alternate between user and assistant","type":"server_error"}}"#;
    let refusal = super::support::stream_of(&[message, "[DONE]"]);
    assert_eq!(bodies_after(vec![refusal], request()).await.len(), 3);
}

#[tokio::test]
async fn a_template_that_wants_objects_gets_them_from_then_on() {
    let mut request = request();
    let id = CallId::new("c1");
    let arguments = Arguments::from_json(r#"{"pct": 40}"#).unwrap();
    let call = ToolCall { id: id.clone(), name: "look".into(), arguments };
    request.messages = vec![
        Message::input("go"),
        Message::Assistant { content: String::new(), reasoning: String::new(), calls: vec![call] },
        Message::Tool { call_id: id, name: "look".into(), content: "ok".into(), kind: ResultKind::Success },
    ]
    .into();
    let message = "FilterExpression, line 31: Unknown (built-in) filter 'items' for type String";
    let bodies = bodies_after(vec![refusal(500, message)], request).await;
    let sent: Vec<_> =
        bodies.iter().map(|body| &body["messages"][1]["tool_calls"][0]["function"]["arguments"]).collect();
    assert_eq!(sent, [&json!(r#"{"pct": 40}"#), &json!({"pct": 40}), &json!({"pct": 40})]);
}

fn with_pattern(constraint: Constraint) -> forge_backend::ModelRequest {
    let parameters = json!({
        "type": "object",
        "properties": {"pattern": {"type": "string", "pattern": "^(?!x)", "maxLength": 20_000}},
    });
    forge_backend::ModelRequest { tools: vec![ToolSpec::new("look", "", parameters)].into(), constraint, ..request() }
}

#[tokio::test]
async fn a_schema_the_grammar_engine_refuses_is_simplified_from_then_on() {
    let refusal = refusal(400, "Failed to initialize samplers: failed to parse grammar");
    let bodies = bodies_after(vec![refusal], with_pattern(Constraint::Free)).await;
    let sent: Vec<_> = bodies.iter().map(|body| &body["tools"][0]["function"]["parameters"]["properties"]).collect();
    assert_eq!(sent[1..], [&json!({"pattern": {"type": "string"}}), &json!({"pattern": {"type": "string"}})]);
}

#[tokio::test]
async fn where_no_grammar_is_taken_the_tools_are_told_in_the_prompt() {
    let refusals = vec![
        refusal(400, "JSON schema conversion failed:\nPattern must start with a caret"),
        refusal(400, "failed to parse grammar"),
        refusal(400, "failed to parse grammar"),
    ];
    let bodies = bodies_after(refusals, with_pattern(Constraint::Only(vec!["look".into()]))).await;
    let means: Vec<_> =
        bodies.iter().map(|body| ["response_format", "tools"].map(|key| body.get(key).is_some())).collect();
    assert_eq!(means, [[true; 2], [true; 2], [true; 2], [false; 2], [false; 2]]);
    let head = bodies[3]["messages"][0]["content"].as_str().unwrap();
    assert!(head.contains("<tool_call>") && head.contains(r#"{"name":"look""#), "{head}");
}

#[tokio::test]
async fn a_cap_that_does_not_fit_beside_the_prompt_is_lowered_for_that_request() {
    let overflow = "The maximum context length is 1000 tokens. You requested 64 output tokens while the prompt contains \
        at least 950 input tokens (sum 1014).";
    let bodies = bodies_after(vec![refusal(400, overflow)], request()).await;
    let caps: Vec<_> = bodies.iter().map(|body| body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(caps, [64, 50, 64]);
}

#[tokio::test]
async fn a_prompt_that_leaves_almost_no_room_is_an_overflow() {
    let overflow = "The maximum context length is 1000 tokens. You requested 64 output tokens while the prompt contains \
        at least 990 input tokens (sum 1054).";
    let server = ScriptedServer::start([refusal(400, overflow), good("hi")], &[]).await;
    assert!(respond(&server.backend(), request()).await.is_err());
}
