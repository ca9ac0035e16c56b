//! Finding out whether a llama.cpp server runs at an address.

use std::time::Duration;

use reqwest::{Client, Url};
use serde::Deserialize;

use crate::http::http_client_builder;

/// A server that runs on this machine answers within this time.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a running server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The address it was found at.
    pub base_url: Url,
    /// The model it serves, as it names it.
    pub model: Option<String>,
    /// The context window of a slot, in tokens.
    pub context: Option<u32>,
    /// Requests it serves at the same time.
    pub slots: Option<u32>,
    /// The build of llama.cpp.
    pub build: Option<String>,
}

#[derive(Deserialize)]
struct Props {
    default_generation_settings: GenerationSettings,
    total_slots: Option<u32>,
    build_info: Option<String>,
    model_alias: Option<String>,
    model_path: Option<String>,
}

#[derive(Deserialize)]
struct GenerationSettings {
    n_ctx: Option<u32>,
}

#[derive(Deserialize)]
struct Models {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// The llama.cpp server at this address, if one runs there and its model is loaded. Anything else that may be there is
/// `None`.
pub async fn probe_running(base_url: &Url) -> Option<ServerIdentity> {
    let client = http_client_builder(base_url).timeout(TIMEOUT).build().ok()?;
    let healthy = client.get(endpoint(base_url, "health")?).send().await.ok()?.status().is_success();
    if !healthy {
        return None;
    }
    let props: Props = json(&client, endpoint(base_url, "props")?).await?;
    let listed: Option<Models> = json(&client, endpoint(base_url, "v1/models")?).await;
    let first = listed.and_then(|models| models.data.into_iter().next()).map(|model| model.id);
    Some(ServerIdentity {
        base_url: base_url.clone(),
        model: first.or(props.model_alias).or(props.model_path),
        context: props.default_generation_settings.n_ctx,
        slots: props.total_slots,
        build: props.build_info,
    })
}

/// The address of a route below the base address, whether or not that ends with a slash or names the API's version.
pub(super) fn endpoint(base_url: &Url, route: &str) -> Option<Url> {
    let base = base_url.as_str().trim_end_matches('/').trim_end_matches("/v1");
    Url::parse(&format!("{base}/{route}")).ok()
}

async fn json<T: for<'de> Deserialize<'de>>(client: &Client, url: Url) -> Option<T> {
    client.get(url).send().await.ok()?.error_for_status().ok()?.json().await.ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    async fn serving(routes: &[(&str, u16, serde_json::Value)]) -> MockServer {
        let server = MockServer::start().await;
        for (route, status, body) in routes {
            let answer = ResponseTemplate::new(*status).set_body_json(body);
            Mock::given(path(*route)).respond_with(answer).mount(&server).await;
        }
        server
    }

    fn props() -> serde_json::Value {
        json!({
            "default_generation_settings": {"n_ctx": 4096},
            "total_slots": 2,
            "build_info": "b11549-abc",
            "model_path": "/models/tiny.gguf"
        })
    }

    #[tokio::test]
    async fn a_llama_server_is_recognised_with_what_it_serves() {
        let server = serving(&[
            ("/health", 200, json!({"status": "ok"})),
            ("/props", 200, props()),
            ("/v1/models", 200, json!({"data": [{"id": "tiny"}]})),
        ])
        .await;
        let url = Url::parse(&format!("{}/v1", server.uri())).unwrap();
        let expected = ServerIdentity {
            base_url: url.clone(),
            model: Some("tiny".to_owned()),
            context: Some(4096),
            slots: Some(2),
            build: Some("b11549-abc".to_owned()),
        };
        assert_eq!(probe_running(&url).await, Some(expected));
    }

    #[tokio::test]
    async fn a_server_without_a_model_list_is_named_by_its_file() {
        let server = serving(&[("/health", 200, json!({"status": "ok"})), ("/props", 200, props())]).await;
        let found = probe_running(&Url::parse(&server.uri()).unwrap()).await.unwrap();
        assert_eq!(found.model.as_deref(), Some("/models/tiny.gguf"));
    }

    #[tokio::test]
    async fn other_servers_and_silence_are_nothing() {
        let loading = serving(&[("/health", 503, json!({"error": "loading"})), ("/props", 200, props())]).await;
        let other = serving(&[("/health", 200, json!({})), ("/props", 200, json!({"hello": "world"}))]).await;
        // The discard port: a port that was free a moment ago may by now be another test's.
        let gone = "http://127.0.0.1:9".to_owned();
        for url in [loading.uri(), other.uri(), gone] {
            assert_eq!(probe_running(&Url::parse(&url).unwrap()).await, None, "{url}");
        }
    }
}
