//! The adapter against a real llama.cpp server with a real model. Runs where `FORGE_REAL_MODEL` is set, on
//! a server that each test starts, or where `FORGE_TEST_BACKEND_URL` names one with a single slot that nobody else uses.
//! What a model happens to say is not asserted, only what is guaranteed.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail at any step")]

use std::time::Duration;

use forge_backend::managed::{ManagedServer, ServerSpec, find_or_fetch_runtime};
use forge_backend::models::{CacheDirs, Catalog, Fetcher, Silent, Use};
use forge_backend::{
    Backend, BackendError, CallForm, ChatRequest, Finding, Means, ModelEvent, ModelRequest, OpenAiCompatible,
    OpenAiConfig, ReasoningReplay, RetryPolicy, Retrying, Sampling, ToolMode, collect, examine,
};
use forge_core::{Constraint, FinishReason, Message, Response, ToolSpec};
use futures_util::StreamExt;
use serde_json::{Value, json};

/// The server's tests share one slot, so they take turns.
static SLOT: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A server for one test: the named one, or one that the test starts.
struct Server {
    url: String,
    _started: Option<ManagedServer>,
}

async fn server() -> Option<Server> {
    if let Some(url) = std::env::var("FORGE_TEST_BACKEND_URL").ok().filter(|url| !url.is_empty()) {
        return Some(Server { url, _started: None });
    }
    if std::env::var_os("FORGE_REAL_MODEL").is_none() {
        println!("skipped: set FORGE_REAL_MODEL=1, or run scripts/test real-model");
        return None;
    }
    let (catalog, dirs, fetcher) =
        (Catalog::builtin().unwrap(), CacheDirs::from_env().unwrap(), Fetcher::from_env().unwrap());
    let runtime = find_or_fetch_runtime(&fetcher, &catalog, &dirs, &mut Silent).await.unwrap();
    let model = catalog.recommended(Use::Quickstart).unwrap();
    let model = fetcher.fetch_model(model, &dirs, &mut Silent).await.unwrap();
    let started = ManagedServer::start(ServerSpec::new(runtime, model), &dirs.logs(), |_| ()).await.unwrap();
    Some(Server { url: started.base_url().as_str().trim_end_matches('/').to_owned(), _started: Some(started) })
}

fn backend(url: &str) -> Retrying<OpenAiCompatible> {
    Retrying::new(OpenAiCompatible::new(OpenAiConfig::new(url)).unwrap(), RetryPolicy::default())
}

fn tools() -> Vec<ToolSpec> {
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let search = json!({
        "type": "object",
        "properties": {
            "query": {"$ref": "#/$defs/query"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["query", "limit"],
        "$defs": {"query": {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}},
    });
    vec![
        ToolSpec::new("get_weather", "The weather in a city.", city),
        ToolSpec::new("search_log", "Searches the log.", search),
        ToolSpec::new("finish", "Ends the work.", ToolSpec::no_parameters()),
    ]
}

fn request(input: &str, constraint: Constraint) -> ModelRequest {
    ModelRequest {
        messages: vec![Message::system("You use tools."), Message::input(input)].into(),
        tools: tools().into(),
        tool_mode: ToolMode::Native,
        constraint,
        reasoning: ReasoningReplay::None,
        max_tokens: 160,
        sampling: Sampling { temperature: Some(0.0), seed: Some(7), ..Sampling::default() },
    }
}

async fn respond(backend: &impl Backend, request: ModelRequest) -> Response {
    collect(backend.generate(request).await.unwrap(), |_event| {}).await.unwrap()
}

#[tokio::test]
async fn real_model_the_server_says_what_it_is() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let info = backend(&url).info().await.unwrap();
    assert_eq!(info.server, "llama.cpp");
    assert!(info.context_window.unwrap() >= 512, "{info:?}");
    assert!(info.capabilities.native_tools && info.capabilities.json_schema, "{info:?}");
}

#[tokio::test]
async fn real_model_a_free_generation_ends_within_its_cap_and_says_what_it_cost() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let mut request = request("Write about the sea, at length.", Constraint::Free);
    request.max_tokens = 24;
    let response = respond(&backend(&url), request).await;
    assert!(response.usage.completion_tokens.unwrap() <= 24, "{response:?}");
    assert!(response.usage.prompt_tokens.unwrap() > 0, "{response:?}");
    assert!(!response.text.is_empty() || !response.calls.is_empty(), "{response:?}");
}

#[tokio::test]
async fn real_model_a_required_call_is_accepted_by_the_server() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let response = respond(&backend(&url), request("How is the weather in Oslo?", Constraint::CallRequired)).await;
    assert!(response.usage.completion_tokens.unwrap() > 0, "{response:?}");
}

/// One call as bare JSON, legal and with arguments of the right form.
fn assert_legal_call(response: &Response, legal: &[&str]) {
    let call: Value = serde_json::from_str(&response.text).unwrap_or_else(|error| panic!("{error}: {response:?}"));
    let name = call["name"].as_str().unwrap();
    assert!(legal.contains(&name), "{response:?}");
    let arguments = &call["arguments"];
    match name {
        "get_weather" => assert!(arguments["city"].is_string(), "{response:?}"),
        "search_log" => assert!(arguments["query"]["words"].is_string() && arguments["limit"].is_u64(), "{response:?}"),
        _ => assert!(arguments.as_object().is_some_and(serde_json::Map::is_empty), "{response:?}"),
    }
    assert_eq!(response.finish, FinishReason::Stop, "{response:?}");
}

#[tokio::test]
async fn real_model_only_some_tools_always_gives_a_well_formed_legal_call() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let backend = backend(&url);
    // The last two inputs ask for something else than what is legal.
    for (input, legal) in [
        ("How is the weather in Oslo?", &["get_weather"][..]),
        ("Find disk errors in the log.", &["search_log"]),
        ("How is the weather in Oslo?", &["get_weather", "search_log"]),
        ("Tell me a joke.", &["finish"]),
        ("How is the weather in Oslo?", &["search_log", "finish"]),
    ] {
        let only = Constraint::Only(legal.iter().map(|&name| name.into()).collect());
        assert_legal_call(&respond(&backend, request(input, only)).await, legal);
    }
}

#[tokio::test]
async fn real_model_a_schema_its_grammars_can_not_express_still_gives_a_legal_call() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let mut request = request("Invite ann@example.org.", Constraint::Only(vec!["invite".into()]));
    let who = json!({"type": "string", "format": "email", "pattern": "^(?!-)[a-z]+@[a-z.]+$", "maxLength": 20_000});
    let parameters = json!({"type": "object", "properties": {"who": who}, "required": ["who"]});
    request.tools = vec![ToolSpec::new("invite", "Invites a person.", parameters)].into();
    let response = respond(&backend(&url), request).await;
    let call: Value = serde_json::from_str(&response.text).unwrap_or_else(|error| panic!("{error}: {response:?}"));
    assert!(call["name"] == "invite" && call["arguments"]["who"].is_string(), "{response:?}");
}

#[tokio::test]
async fn real_model_a_constraint_leaves_the_prompt_and_so_the_cache_as_they_are() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let backend = backend(&url);
    let mut free = request("How is the weather in Bergen?", Constraint::Free);
    free.max_tokens = 1;
    let prompt = respond(&backend, free).await.usage.prompt_tokens;
    let only = Constraint::Only(vec!["get_weather".into()]);
    let constrained = respond(&backend, request("How is the weather in Bergen?", only)).await.usage;
    assert_eq!(constrained.prompt_tokens, prompt);
    assert!(constrained.cached_tokens.unwrap() + 8 > prompt.unwrap(), "{constrained:?}");
}

#[tokio::test]
async fn real_model_a_whole_exchange_of_call_and_result_is_replayed() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let call = forge_core::ToolCall {
        id: forge_core::CallId::new("call_1"),
        name: "get_weather".into(),
        arguments: forge_core::Arguments::from_json(r#"{"city":"Oslo"}"#).unwrap(),
    };
    let mut request = request("How is the weather in Oslo?", Constraint::Free);
    request.messages = [
        Message::system("You use tools."),
        Message::input("How is the weather in Oslo?"),
        Message::Assistant { content: String::new(), reasoning: "thoughts".to_owned(), calls: vec![call] },
        Message::Tool {
            call_id: forge_core::CallId::new("call_1"),
            name: "get_weather".into(),
            content: "4 degrees, rain".to_owned(),
            kind: forge_core::ResultKind::Success,
        },
        Message::nudge("Answer in one sentence."),
    ]
    .into();
    assert!(!respond(&backend(&url), request).await.text.is_empty());
}

/// What a careless client sends. The server fails with status 500 before it generates anything.
fn poisoned() -> ChatRequest {
    let body = json!({
        "messages": [
            {"role": "tool", "tool_call_id": "gone", "content": "1 degree"},
            {"role": "user", "content": "How is the weather in Oslo?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Os"}},
                {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{"}},
            ]},
            {"role": "user", "content": "Answer in one sentence."},
            {"role": "tool", "tool_call_id": "a", "content": "4 degrees, rain"},
        ],
        "tools": tools().iter().map(ToolSpec::to_openai).collect::<Vec<_>>(),
        "max_tokens": 24,
    });
    let Value::Object(body) = body else { panic!("no object") };
    let (tool_mode, reasoning) = (ToolMode::Native, ReasoningReplay::None);
    ChatRequest { body, constraint: Constraint::Free, tool_mode, reasoning }
}

#[tokio::test]
async fn real_model_a_poisoned_history_goes_through() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let request = poisoned();
    let raw = reqwest::Client::new().post(format!("{url}/v1/chat/completions")).json(&request.body).send();
    assert_eq!(raw.await.unwrap().status(), 500, "this server takes it as it is: the test shows nothing");
    let response = collect(backend(&url).chat(request).await.unwrap(), |_event| {}).await.unwrap();
    assert!(response.usage.completion_tokens.unwrap() > 0, "{response:?}");
}

#[tokio::test]
async fn real_model_tools_in_the_prompt_are_called_too() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let backend = backend(&url);
    let prompted = |constraint| {
        let request = request("How is the weather in Oslo?", constraint);
        ModelRequest { tool_mode: ToolMode::Prompted, ..request }
    };
    let response = respond(&backend, prompted(Constraint::Free)).await;
    assert!(response.usage.prompt_tokens.unwrap() > 100, "the tools are not in the prompt: {response:?}");
    let only = Constraint::Only(vec!["get_weather".into()]);
    assert_legal_call(&respond(&backend, prompted(only)).await, &["get_weather"]);
    let required = respond(&backend, prompted(Constraint::CallRequired)).await;
    assert_legal_call(&required, &["get_weather", "search_log", "finish"]);
}

#[tokio::test]
async fn real_model_an_examination_finds_what_this_server_enforces() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let mut questions = 0;
    let found = examine(&backend(&url), |_question| questions += 1).await.unwrap();
    assert_eq!(questions, 5);
    assert_eq!(found.json_schema, Finding::Seen(true), "{found:?}");
    assert!(matches!(found.calls, Finding::Seen(CallForm::InText { .. } | CallForm::Structured)), "{found:?}");
    assert_eq!(found.recommendation.enforced_by, Means::JsonSchema);
    assert!(found.tokens_per_second.is_some_and(|speed| speed > 0.1), "{found:?}");
}

#[tokio::test]
async fn real_model_an_overflow_is_recognised_with_its_numbers() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let backend = backend(&url);
    let window = backend.info().await.unwrap().context_window.unwrap();
    let words = "word ".repeat(usize::try_from(window).unwrap() + 100);
    match backend.generate(request(&words, Constraint::Free)).await.map(|_stream| ()) {
        Err(BackendError::ContextOverflow { prompt_tokens: Some(prompt), window: Some(of), .. }) => {
            assert!(of == window && prompt > window, "{prompt} of {of}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn real_model_a_dropped_stream_frees_the_slot() {
    let _turn = SLOT.lock().await;
    let Some(server) = server().await else { return };
    let url = server.url.clone();
    let backend = backend(&url);
    let mut long = request("Count from one to five thousand, in words.", Constraint::Free);
    long.max_tokens = 4_000;
    let mut stream = backend.generate(long).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Text { .. } | ModelEvent::Call { .. }))));
    assert!(is_busy(&url).await);
    drop(stream);
    let freed = async {
        while is_busy(&url).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), freed).await.unwrap();
}

async fn is_busy(url: &str) -> bool {
    let slots: Value = reqwest::get(format!("{url}/slots")).await.unwrap().json().await.unwrap();
    slots.as_array().unwrap().iter().any(|slot| slot["is_processing"] == true)
}
