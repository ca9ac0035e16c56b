//! What a server says about itself.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::errors::{Subject, is_html};
use super::exchange;
use crate::base_url::BaseUrl;
use crate::{BackendError, BackendInfo, Capabilities};

/// The longest answer that is read, in bytes. Lists of hosted services are long.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// llama.cpp's own description of itself, as far as it is of use.
#[derive(Debug, Deserialize)]
struct Props {
    default_generation_settings: Option<GenerationSettings>,
    chat_template: Option<String>,
    chat_template_tool_use: Option<String>,
    chat_template_caps: Option<TemplateCaps>,
    build_info: Option<String>,
}

#[derive(Debug, Deserialize)]
struct GenerationSettings {
    /// The window of one slot.
    n_ctx: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct TemplateCaps {
    supports_tools: Option<bool>,
}

impl Props {
    /// Whether this can't be the answer of another server that happens to have the route.
    fn is_of_llama_cpp(&self) -> bool {
        self.default_generation_settings.is_some() || self.chat_template.is_some() || self.build_info.is_some()
    }

    fn slot_window(&self) -> Option<u64> {
        self.default_generation_settings.as_ref()?.n_ctx
    }

    /// Whether the template describes tools to the model. Templates that don't drop them silently.
    fn takes_tools(&self) -> bool {
        let mentions = |template: &Option<String>| template.as_ref().is_some_and(|text| text.contains("tools"));
        let said = self.chat_template_caps.as_ref().and_then(|caps| caps.supports_tools);
        self.chat_template_tool_use.is_some() || said.unwrap_or_else(|| mentions(&self.chat_template))
    }
}

#[derive(Debug, Default, Deserialize)]
struct Models {
    #[serde(default)]
    data: Vec<Model>,
}

impl Models {
    fn are_of_llama_cpp(&self) -> bool {
        self.data.iter().any(|model| model.owned_by.as_deref() == Some("llamacpp"))
    }
}

#[derive(Debug, Deserialize)]
struct Model {
    #[serde(default)]
    id: String,
    owned_by: Option<String>,
    /// vLLM's name for the window.
    max_model_len: Option<u64>,
    /// The name hosted services use for it.
    context_length: Option<u64>,
}

impl Model {
    fn window(&self) -> Option<u64> {
        self.max_model_len.or(self.context_length)
    }
}

/// Asks a server what it is. Two questions at once, each bounded in time.
///
/// A server without `/props` isn't llama.cpp, and one without a list of models has one all the same: neither is an error.
pub(super) async fn ask(
    client: &reqwest::Client,
    base: &BaseUrl,
    subject: &Subject,
    model: Option<&str>,
    limit: Duration,
) -> Result<BackendInfo, BackendError> {
    let (props, models) = tokio::join!(
        get::<Props>(client, base.server_route("props"), subject, limit),
        get::<Models>(client, base.api_route("models"), subject, limit)
    );
    interpret(props, models, model)
}

fn interpret(
    props: Result<Option<Props>, BackendError>,
    models: Result<Option<Models>, BackendError>,
    model: Option<&str>,
) -> Result<BackendInfo, BackendError> {
    // llama.cpp lists its models without a key, so the key's fault shows in the other answer only.
    let listed_by_llama_cpp = models.as_ref().is_ok_and(|models| models.as_ref().is_some_and(Models::are_of_llama_cpp));
    let props = match props {
        Err(error) if listed_by_llama_cpp => return Err(error),
        Ok(props) => props.filter(Props::is_of_llama_cpp),
        Err(_) => None,
    };
    let models = match models {
        Err(error) if props.is_none() => return Err(error),
        models => models.ok().flatten().unwrap_or_default().data,
    };
    let asked = model.and_then(|name| models.iter().find(|listed| listed.id == name));
    let listed = asked.or(models.first());
    let window = (props.as_ref().and_then(Props::slot_window)).or_else(|| listed.and_then(Model::window));
    Ok(BackendInfo {
        server: server_name(props.is_some(), listed).to_owned(),
        model: model.map(str::to_owned).or_else(|| listed.map(|listed| listed.id.clone())).unwrap_or_default(),
        context_window: window.filter(|tokens| *tokens > 0),
        capabilities: capabilities(props.as_ref()),
    })
}

fn server_name(has_props: bool, listed: Option<&Model>) -> &'static str {
    match listed.and_then(|model| model.owned_by.as_deref()) {
        _ if has_props => "llama.cpp",
        Some("llamacpp") => "llama.cpp",
        Some("vllm") => "vLLM",
        Some("sglang") => "SGLang",
        // The namespace of its own models.
        Some("library") => "Ollama",
        Some(_) | None => "",
    }
}

/// llama.cpp enforces schemas also beside tools, and no required call: it lets text come first. Of other servers no more
/// is assumed than that they take tools.
fn capabilities(llama_cpp: Option<&Props>) -> Capabilities {
    match llama_cpp {
        Some(props) => {
            Capabilities { native_tools: props.takes_tools(), required_tool_choice: false, json_schema: true }
        }
        None => super::GENERIC,
    }
}

/// Asks one question; none where the server has no answer of the kind.
async fn get<T: DeserializeOwned>(
    client: &reqwest::Client,
    url: reqwest::Url,
    subject: &Subject,
    limit: Duration,
) -> Result<Option<T>, BackendError> {
    let exchange = async {
        let response = client.get(url).send().await.map_err(|error| subject.transport_error(&error))?;
        if matches!(response.status().as_u16(), 400 | 404 | 405 | 501) {
            return Ok(None);
        }
        if !response.status().is_success() {
            return Err(exchange::refusal(response, subject, limit).await);
        }
        let body = exchange::read(response, MAX_ANSWER).await.map_err(|error| subject.transport_error(&error))?;
        match serde_json::from_slice(&body) {
            Ok(answer) => Ok(Some(answer)),
            Err(_) if is_html(&String::from_utf8_lossy(&body)) => {
                Err(subject.protocol("answered HTML; is this the model server's URL?".to_owned()))
            }
            Err(_) => Ok(None),
        }
    };
    let silent =
        |_elapsed| BackendError::Timeout { url: subject.url.clone(), after: limit, phase: "when asked what it is" };
    timeout(limit, exchange).await.map_err(silent)?
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(props: Option<Value>, models: Option<Value>, model: Option<&str>) -> BackendInfo {
        let props = props.map(|value| serde_json::from_value(value).unwrap());
        let models = models.map(|value| serde_json::from_value(value).unwrap());
        interpret(Ok(props), Ok(models), model).unwrap()
    }

    fn llama_cpp(template: &str) -> Option<Value> {
        Some(json!({
            "default_generation_settings": {"n_ctx": 8192}, "chat_template": template, "build_info": "b11434-abc",
        }))
    }

    #[test]
    fn llama_cpp_is_known_by_its_props() {
        let models = json!({"data": [{"id": "m.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 32768}}]});
        assert_eq!(
            read(llama_cpp("{% if tools %}"), Some(models), None),
            BackendInfo {
                server: "llama.cpp".to_owned(),
                model: "m.gguf".to_owned(),
                context_window: Some(8192),
                capabilities: Capabilities { native_tools: true, required_tool_choice: false, json_schema: true },
            }
        );
    }

    #[test]
    fn a_template_without_tools_takes_none() {
        assert!(!read(llama_cpp("{{ messages }}"), None, None).capabilities.native_tools);
    }

    #[test]
    fn what_the_server_found_out_about_its_template_counts_more_than_a_word_in_it() {
        let mut props = llama_cpp("{# no tools here #}").unwrap();
        props["chat_template_caps"] = json!({"supports_tools": false});
        assert!(!read(Some(props), None, None).capabilities.native_tools);
    }

    #[test]
    fn a_generic_server_takes_tools_and_promises_nothing_else() {
        let models = json!({"data": [{"id": "a", "owned_by": "vllm", "max_model_len": 40960}]});
        assert_eq!(
            read(None, Some(models), None),
            BackendInfo {
                server: "vLLM".to_owned(),
                model: "a".to_owned(),
                context_window: Some(40960),
                capabilities: Capabilities { native_tools: true, required_tool_choice: false, json_schema: false },
            }
        );
    }

    #[test]
    fn the_window_is_that_of_the_model_asked_for() {
        let models = json!({"data": [{"id": "a", "context_length": 4096}, {"id": "b", "context_length": 8192}]});
        assert_eq!(read(None, Some(models), Some("b")).context_window, Some(8192));
    }

    #[test]
    fn a_server_that_answers_neither_question_is_no_error() {
        assert_eq!(read(None, None, Some("m")).model, "m");
    }
}
