//! What an adapter finds out about its server, and what it makes of it.

use forge_backend::{Backend, BackendInfo, Capabilities, OpenAiCompatible, OpenAiConfig};
use forge_core::Constraint;
use serde_json::{Value, json};

use super::support::{Script, ScriptedServer, answer, good, json_answer, request, respond};

fn llama_cpp() -> [(&'static str, Script); 2] {
    let props = json!({
        "default_generation_settings": {"n_ctx": 8192},
        "chat_template": "{%- if tools %}…",
        "build_info": "b11434-abc",
    });
    let models = json!({"data": [{"id": "m.gguf", "owned_by": "llamacpp"}]});
    [("/props", json_answer(200, &props)), ("/v1/models", json_answer(200, &models))]
}

/// An adapter that has been told nothing about the server.
fn curious(server: &ScriptedServer) -> OpenAiCompatible {
    OpenAiCompatible::new(OpenAiConfig::new(&server.url)).unwrap()
}

async fn info_of(routes: &[(&str, Script)]) -> Result<BackendInfo, String> {
    let server = ScriptedServer::start([], routes).await;
    curious(&server).info().await.map_err(|error| error.to_string().replace(&server.url, "URL"))
}

#[tokio::test]
async fn llama_cpp_tells_its_model_and_its_window() {
    let info = info_of(&llama_cpp()).await.unwrap();
    let capabilities = Capabilities { native_tools: true, required_tool_choice: false, json_schema: true };
    let expected =
        BackendInfo { server: "llama.cpp".into(), model: "m.gguf".into(), context_window: Some(8192), capabilities };
    assert_eq!(info, expected);
}

#[tokio::test]
async fn a_server_without_props_is_generic() {
    let models = json_answer(200, &json!({"data": [{"id": "a"}, {"id": "b"}]}));
    let info = info_of(&[("/v1/models", models)]).await.unwrap();
    assert_eq!((info.server.as_str(), info.model.as_str(), info.context_window), ("", "a", None));
    assert!(!info.capabilities.json_schema);
}

#[tokio::test]
async fn a_page_where_props_would_be_is_not_llama_cpp() {
    let models = json_answer(200, &json!({"data": [{"id": "a"}]}));
    let info = info_of(&[("/props", answer(200, &[], "<html>")), ("/v1/models", models)]).await.unwrap();
    assert_eq!(info.server, "");
}

#[tokio::test]
async fn a_server_without_either_still_has_an_info() {
    assert!(info_of(&[]).await.is_ok());
}

#[tokio::test]
async fn pages_everywhere_are_an_error() {
    let page = || answer(200, &[], "<!doctype html>");
    assert_eq!(
        info_of(&[("/props", page()), ("/v1/models", page())]).await.unwrap_err(),
        "the server at URL doesn't speak the expected protocol: answered HTML; is this the model server's URL?"
    );
}

#[tokio::test]
async fn a_key_that_only_props_needs_is_missed() {
    let [_, models] = llama_cpp();
    let refused = json_answer(401, &json!({"error": {"message": "Invalid API Key"}}));
    assert_eq!(
        info_of(&[("/props", refused), models]).await.unwrap_err(),
        "the model server at URL rejected the credential (HTTP 401); check --api-key or the key's environment variable"
    );
}

#[tokio::test]
async fn a_server_that_is_loading_says_so() {
    let loading = || json_answer(503, &json!({"error": {"message": "Loading model", "code": 503}}));
    assert_eq!(
        info_of(&[("/props", loading()), ("/v1/models", loading())]).await.unwrap_err(),
        "the model server is overloaded or not ready (HTTP 503): Loading model"
    );
}

#[tokio::test]
async fn the_model_asked_for_is_the_servers_first_where_none_is_given() {
    let server = ScriptedServer::start([good("hi")], &llama_cpp()).await;
    respond(&curious(&server), request()).await.unwrap();
    assert_eq!(server.completions()[0].json()["model"], "m.gguf");
}

#[tokio::test]
async fn a_server_is_asked_what_it_is_only_once() {
    let server = ScriptedServer::start([good("hi")], &llama_cpp()).await;
    let backend = curious(&server);
    for _ in 0..2 {
        respond(&backend, request()).await.unwrap();
    }
    assert_eq!((server.completions().len(), server.received("/props").len()), (2, 1));
}

#[tokio::test]
async fn only_is_a_schema_where_the_server_enforces_it_and_the_tools_stay() {
    let server = ScriptedServer::start([good("hi")], &llama_cpp()).await;
    let backend = curious(&server);
    let mut request = request();
    respond(&backend, request.clone()).await.unwrap();
    request.constraint = Constraint::Only(vec!["look".into()]);
    respond(&backend, request).await.unwrap();
    let [free, only] = &server.completions()[..] else { panic!("two requests") };
    let (mut free, mut only) = (free.json(), only.json());
    let take = |body: &mut Value, key: &str| body.as_object_mut().unwrap().shift_remove(key);
    let schema = take(&mut only, "response_format").unwrap()["json_schema"]["schema"].take();
    assert_eq!(schema["properties"]["name"], json!({"const": "look"}));
    assert_eq!(take(&mut free, "tool_choice"), Some(json!("auto")));
    assert_eq!(only, free);
}

#[tokio::test]
async fn only_names_the_tool_where_schemas_are_not_enforced() {
    let server = ScriptedServer::always(good("hi")).await;
    let mut request = request();
    request.constraint = Constraint::Only(vec!["look".into()]);
    respond(&curious(&server), request).await.unwrap();
    let choice = json!({"type": "function", "function": {"name": "look"}});
    assert_eq!(server.completions()[0].json()["tool_choice"], choice);
}
