//! What servers answer in the place of an answer.

use std::time::Duration;

use forge_backend::{Backend, BackendError, OpenAiCompatible, OpenAiConfig, Secret, Timeouts};
use rstest::rstest;
use serde_json::json;

use super::support::{Script, ScriptedServer, Step, answer, json_answer, request, respond, stream_head, text_chunk};

fn error_of(status: u16, message: &str) -> Script {
    json_answer(status, &json!({"error": {"code": status, "message": message, "type": "some_error"}}))
}

#[rstest]
#[case::bad_key(
    error_of(401, "Invalid API Key"),
    "the model server at URL rejected the credential (HTTP 401); check --api-key or the key's environment variable"
)]
#[case::forbidden(answer(403, &[], "<html>403</html>"),
    "the model server at URL rejected the credential (HTTP 403); check --api-key or the key's environment variable")]
#[case::unknown_model(
    error_of(404, "The model `m` does not exist."),
    r#"the model server doesn't know the model "m": The model `m` does not exist."#
)]
#[case::unknown_model_of_ollama(json_answer(404, &json!({"error": {"message": "model 'm' not found", "type": "api_error"}})),
    r#"the model server doesn't know the model "m": model 'm' not found"#)]
#[case::no_such_route(
    error_of(404, "File Not Found"),
    "the server at URL doesn't speak the expected protocol: has no chat completions (HTTP 404): File Not Found; is the base URL right?"
)]
#[case::page_not_found(answer(404, &[], "<!doctype html><p>model not found"),
    "the server at URL doesn't speak the expected protocol: answered HTML (HTTP 404); is this the model server's URL?")]
#[case::method_not_allowed(answer(405, &[], ""),
    "the server at URL doesn't speak the expected protocol: has no chat completions (HTTP 405): it gave no reason; is the base URL right?")]
#[case::redirected(answer(308, &[("location", "https://example.org/v1")], ""),
    "the server at URL doesn't speak the expected protocol: redirects to https://example.org/v1 (HTTP 308); give that address instead")]
#[case::tools_need_jinja(
    error_of(500, "tools param requires --jinja flag"),
    "the model server refused the request (HTTP 500): tools param requires --jinja flag; start llama-server with --jinja, which lets its chat template describe tools"
)]
#[case::no_tools(
    error_of(400, "registry.ollama.ai/library/m does not support tools"),
    "the model server refused the request (HTTP 400): registry.ollama.ai/library/m does not support tools; choose a model whose chat template takes tools"
)]
#[case::malformed_generation(
    error_of(500, "Failed to parse input at pos 0: <tool_call>x"),
    "the model server could not parse the model's output: Failed to parse input at pos 0: <tool_call>x"
)]
#[case::overflow(
    json_answer(400, &json!({"error": {"code": 400, "message": "request (9030 tokens) exceeds the available context size (8192 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9030, "n_ctx": 8192}})),
    "the prompt doesn't fit the context window: request (9030 tokens) exceeds the available context size (8192 tokens), try increasing it")]
#[case::rate_limit(error_of(429, "slow down"), "the model server is overloaded or not ready (HTTP 429): slow down")]
#[case::loading(
    error_of(503, "Loading model"),
    "the model server is overloaded or not ready (HTTP 503): Loading model"
)]
#[case::gateway_page(answer(502, &[], "<html>Bad Gateway</html>"),
    "the model server is overloaded or not ready (HTTP 502): <html>Bad Gateway</html>")]
#[case::no_quota(json_answer(429, &json!({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})),
    "the model server refused the request (HTTP 429): You exceeded your quota")]
#[case::flat(json_answer(400, &json!({"object": "error", "message": "bad thing", "code": 400})),
    "the model server refused the request (HTTP 400): bad thing")]
#[case::detail(json_answer(422, &json!({"detail": [{"msg": "field required"}]})),
    r#"the model server refused the request (HTTP 422): [{"msg":"field required"}]"#)]
#[case::plain_text(answer(500, &[], "it broke\n"), "the model server refused the request (HTTP 500): it broke")]
#[case::no_words(answer(500, &[], ""), "the model server refused the request (HTTP 500): it gave no reason")]
#[tokio::test]
async fn a_refusal_says_what_it_means(#[case] script: Script, #[case] message: &str) {
    let server = ScriptedServer::always(script).await;
    let error = respond(&server.backend(), request()).await.unwrap_err();
    assert_eq!(error.to_string().replace(&server.url, "URL"), message);
}

/// The numbers of an overflow: of the prompt and of the window.
#[rstest]
#[case::llama_cpp(
    r#"{"error":{"code":400,"message":"request (9030 tokens) exceeds the available context size (8192 tokens)","type":"exceed_context_size_error","n_prompt_tokens":9030,"n_ctx":8192}}"#,
    Some(9030), Some(8192))]
#[case::openai(
    r#"{"error":{"message":"This model's maximum context length is 4,097 tokens. However, your messages resulted in 5,360 tokens.","code":"context_length_exceeded"}}"#,
    Some(5360), Some(4097))]
#[case::vllm(
    r#"{"object":"error","message":"This model's maximum context length is 5000 tokens. However, you requested 5310 tokens (310 in the messages, 5000 in the completion).","code":400}"#,
    Some(310), Some(5000))]
#[case::lm_studio(
    r#"{"error":"Trying to keep the first 4800 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}"#,
    None, Some(4096))]
#[case::anthropic(
    r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
    Some(208_310), Some(200_000))]
#[tokio::test]
async fn an_overflow_carries_its_numbers(#[case] body: &str, #[case] prompt: Option<u64>, #[case] of: Option<u64>) {
    let server = ScriptedServer::always(answer(400, &[], body)).await;
    match respond(&server.backend(), request()).await {
        Err(BackendError::ContextOverflow { prompt_tokens, window, .. }) => {
            assert_eq!((prompt_tokens, window), (prompt, of));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_malformed_generation_carries_its_text() {
    let server = ScriptedServer::always(error_of(500, "Failed to parse input at pos 7: <tool_call>\n{\"a\": 1}")).await;
    match respond(&server.backend(), request()).await {
        Err(BackendError::MalformedGeneration { text, .. }) => {
            assert_eq!(text.as_deref(), Some("<tool_call>\n{\"a\": 1}"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_time_to_come_back_is_handed_on() {
    let script = answer(429, &[("Retry-After", "7")], "");
    let server = ScriptedServer::always(script).await;
    match respond(&server.backend(), request()).await {
        Err(BackendError::Overloaded { retry_after, .. }) => assert_eq!(retry_after, Some(Duration::from_secs(7))),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_that_is_down_is_unreachable() {
    // The discard port: a port that was free a moment ago may by now be another test's.
    let url = "http://127.0.0.1:9";
    let backend = OpenAiCompatible::new(OpenAiConfig::new(url)).unwrap();
    for result in [backend.generate(request()).await.map(|_| ()), backend.info().await.map(|_| ())] {
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with(&format!("can't reach the model server at {url}: ")), "{message}");
    }
}

fn impatient() -> Timeouts {
    let short = Duration::from_millis(100);
    Timeouts { first_token: short, idle: short, info: short, ..Timeouts::default() }
}

#[rstest]
#[case::before_the_head(vec![Step::AwaitClose], "before its first token")]
#[case::after_the_head(vec![stream_head(), Step::AwaitClose], "before its first token")]
#[case::after_an_empty_chunk(
    vec![stream_head(), Step::Write(format!("data: {}\n\n", text_chunk("")).into_bytes()), Step::AwaitClose],
    "before its first token")]
#[case::after_some_text(
    vec![stream_head(), Step::Write(format!("data: {}\n\n", text_chunk("a")).into_bytes()), Step::AwaitClose],
    "in the middle of its answer")]
#[tokio::test]
async fn silence_ends_in_a_timeout_and_the_connection_is_closed(#[case] script: Script, #[case] phase: &str) {
    let mut server = ScriptedServer::always(script).await;
    let backend = OpenAiCompatible::new(OpenAiConfig { timeouts: impatient(), ..server.config() }).unwrap();
    let error = respond(&backend, request()).await.unwrap_err();
    assert_eq!(
        error.to_string().replace(&server.url, "URL"),
        format!("the model server at URL was silent for 100ms {phase}")
    );
    server.client_closed().await;
}

#[tokio::test]
async fn silence_about_itself_ends_in_a_timeout() {
    let silent = || vec![Step::AwaitClose];
    let server = ScriptedServer::start([], &[("/props", silent()), ("/v1/models", silent())]).await;
    let backend = OpenAiCompatible::new(OpenAiConfig { timeouts: impatient(), ..server.config() }).unwrap();
    let message = backend.info().await.unwrap_err().to_string();
    assert!(message.ends_with("was silent for 100ms when asked what it is"), "{message}");
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_not_in_the_error() {
    let server = ScriptedServer::always(error_of(400, "key sk-hunter2 may not do this")).await;
    let config = OpenAiConfig { api_key: Some(Secret::new("sk-hunter2")), ..server.config() };
    let error = respond(&OpenAiCompatible::new(config).unwrap(), request()).await.unwrap_err();
    assert_eq!(error.to_string(), "the model server refused the request (HTTP 400): key *** may not do this");
}

#[tokio::test]
async fn a_placeholder_for_a_key_does_not_take_words_apart() {
    let server = ScriptedServer::always(error_of(400, "exceeds the available context size")).await;
    let config = OpenAiConfig { api_key: Some(Secret::new("x")), ..server.config() };
    let error = respond(&OpenAiCompatible::new(config).unwrap(), request()).await.unwrap_err();
    assert!(matches!(error, BackendError::ContextOverflow { .. }), "{error}");
}
