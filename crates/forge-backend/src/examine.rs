//! What a server and its model truly do, found out with a few small questions.

use std::time::{Duration, Instant};

use forge_core::{Constraint, Response, ToolSpec, Toolset};
use forge_parse::{CallSource, Parsed, ParserOptions, RawResponse, StructuredCall, read_response};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Backend, BackendError, BackendInfo, ChatRequest, ModelEvent, ReasoningReplay, ToolMode, collect};

/// The most tokens of one answer: a call takes 20 to 40.
const MAX_TOKENS: u32 = 128;

/// Fewer tokens say nothing about speed.
const MEASURED_TOKENS: u64 = 8;

/// What was found out about a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Examination {
    /// What the server says about itself.
    pub info: BackendInfo,
    /// How it gives a call it is asked for.
    pub calls: Finding<CallForm>,
    /// Whether `tool_choice: required` forces a call where the question asks for none.
    pub required: Finding<bool>,
    /// Whether a JSON schema for the answer is enforced with tools in the request.
    pub json_schema: Finding<bool>,
    /// How many calls came where two were asked for in one answer.
    pub parallel_calls: Finding<u32>,
    /// Whether answers come piece by piece.
    pub streams: Finding<bool>,
    /// How the model's thinking came, if it thinks.
    pub thinking: Finding<Thinking>,
    /// Tokens generated in a second, after the first; none where the answers were too short to tell.
    pub tokens_per_second: Option<f64>,
    /// What to do with this server.
    pub recommendation: Recommendation,
}

/// What a question showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding<T> {
    /// This.
    Seen(T),
    /// Nothing, because the server gave no answer.
    Failed {
        /// What it said.
        problem: String,
    },
}

/// In what form calls come.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum CallForm {
    /// As structured data.
    Structured,
    /// In the text, where the server left them.
    InText {
        /// The dialect's name.
        dialect: String,
    },
    /// Something was meant as a call and can't be read as one.
    Unreadable,
    /// No call.
    None,
}

/// How thinking comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// There is none.
    None,
    /// Apart from the text.
    Apart,
    /// In the text.
    InText,
}

/// What to do with a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// How to offer tools.
    pub tool_mode: ToolMode,
    /// What can hold the model to a call.
    pub enforced_by: Means,
    /// Why, in sentences.
    pub because: Vec<String>,
}

/// What can hold a model to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// A JSON schema of the legal calls.
    JsonSchema,
    /// The tool choice.
    ToolChoice,
    /// Nothing: words alone.
    Nudges,
}

/// Asks a server and its model four small questions, one after the other; each answer has at most 128 tokens. `on_question`
/// is told what is being asked.
///
/// # Errors
/// When the server can't be asked what it is. A question it doesn't answer is a [`Finding::Failed`].
pub async fn examine(backend: &dyn Backend, mut on_question: impl FnMut(&str)) -> Result<Examination, BackendError> {
    on_question("what the server is");
    let info = backend.info().await?;
    on_question("for a call");
    let call = ask(backend, question("How is the weather in Oslo? Use the tool.", "auto")).await;
    on_question("for a call where none is due");
    let required = ask(backend, question("Say hello to me in one sentence.", "required")).await;
    on_question("for an answer of a given form");
    let mut constrained = question("Tell me a joke.", "auto");
    constrained.body.insert("response_format".to_owned(), schema());
    constrained.body.shift_remove("tool_choice");
    let schema = ask(backend, constrained).await;
    on_question("for two calls at once");
    let two = "How is the weather in Oslo, and how is it in Bergen? Make both calls now, in one answer.";
    let two = ask(backend, question(two, "auto")).await;

    let speeds = [&call, &required, &schema, &two].into_iter().filter_map(|asked| asked.as_ref().ok()?.speed());
    let tokens_per_second = speeds.reduce(f64::max);
    let calls = Finding::of(&call, Asked::form);
    let required = Finding::of(&required, |asked| asked.parsed.calls().next().is_some());
    let json_schema = Finding::of(&schema, Asked::is_the_call);
    let recommendation = recommend(&info, &calls, &required, &json_schema);
    Ok(Examination {
        calls,
        required,
        json_schema,
        parallel_calls: Finding::of(&two, |asked| u32::try_from(asked.parsed.calls().count()).unwrap_or(u32::MAX)),
        streams: Finding::of(&call, |asked| asked.pieces > 2),
        thinking: Finding::of(&call, Asked::thinking),
        tokens_per_second,
        recommendation,
        info,
    })
}

fn weather() -> ToolSpec {
    let city = json!({"type": "string", "description": "The city's name."});
    let parameters =
        json!({"type": "object", "properties": {"city": city}, "required": ["city"], "additionalProperties": false});
    ToolSpec::new("get_weather", "Gets the weather in a city.", parameters)
}

fn question(text: &str, choice: &str) -> ChatRequest {
    let body = Map::from_iter([
        ("messages".to_owned(), json!([{"role": "user", "content": text}])),
        ("tools".to_owned(), json!([weather().to_openai()])),
        ("tool_choice".to_owned(), choice.into()),
        ("max_tokens".to_owned(), MAX_TOKENS.into()),
        ("temperature".to_owned(), 0.into()),
    ]);
    ChatRequest { body, constraint: Constraint::Free, tool_mode: ToolMode::Native, reasoning: ReasoningReplay::None }
}

/// Of a call of the one tool.
fn schema() -> Value {
    let tool = weather();
    let call = json!({
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": tool.parameters},
        "required": ["name", "arguments"],
        "additionalProperties": false,
    });
    json!({"type": "json_schema", "json_schema": {"name": "tool_call", "schema": call}})
}

/// An answer and how it came.
struct Asked {
    response: Response,
    parsed: Parsed,
    pieces: usize,
    /// From the first piece to the last.
    took: Duration,
}

async fn ask(backend: &dyn Backend, request: ChatRequest) -> Result<Asked, BackendError> {
    let (mut first, mut last, mut pieces) = (None, None, 0_usize);
    let on_event = |event: &ModelEvent| {
        if matches!(event, ModelEvent::Text { .. } | ModelEvent::Reasoning { .. } | ModelEvent::Call { .. }) {
            let now = Instant::now();
            first.get_or_insert(now);
            last = Some(now);
            pieces = pieces.saturating_add(1);
        }
    };
    let response = match backend.chat(request).await {
        Ok(stream) => collect(stream, on_event).await?,
        // The server lost a call that it made itself.
        Err(BackendError::MalformedGeneration { text: Some(text), .. }) => Response::text(text),
        Err(error) => return Err(error),
    };
    let calls: Vec<_> =
        response.calls.iter().map(|call| StructuredCall { name: &call.name, arguments: &call.arguments }).collect();
    let raw =
        RawResponse { text: &response.text, reasoning: &response.reasoning, calls: &calls, finish: response.finish };
    let parsed = read_response(&Toolset::compile(vec![weather()]), &ParserOptions::default(), &raw);
    let took = first.zip(last).map(|(first, last)| last.duration_since(first)).unwrap_or_default();
    Ok(Asked { parsed, pieces, took, response })
}

impl Asked {
    fn form(&self) -> CallForm {
        let read =
            self.parsed.attempts.iter().find_map(|attempt| attempt.result.as_ref().ok().map(|call| (attempt, call)));
        match read {
            Some((attempt, _)) if attempt.source != CallSource::Text => CallForm::Structured,
            Some((_, call)) => CallForm::InText { dialect: call.dialect.as_str().to_owned() },
            None if self.parsed.attempts.is_empty() => CallForm::None,
            None => CallForm::Unreadable,
        }
    }

    /// Whether the whole text is a call of the tool, as the schema says.
    fn is_the_call(&self) -> bool {
        let call = serde_json::from_str::<Value>(self.response.text.trim()).unwrap_or_default();
        let named = call.get("name").and_then(Value::as_str) == Some("get_weather");
        named && call.pointer("/arguments/city").is_some_and(Value::is_string)
    }

    fn thinking(&self) -> Thinking {
        if !self.response.reasoning.trim().is_empty() {
            Thinking::Apart
        } else if !self.parsed.reasoning.trim().is_empty() {
            Thinking::InText
        } else {
            Thinking::None
        }
    }

    fn speed(&self) -> Option<f64> {
        let tokens = self.response.usage.completion_tokens.filter(|tokens| *tokens >= MEASURED_TOKENS)?;
        let seconds = self.took.as_secs_f64();
        // The first token is there when the time begins. A server that answers at once can't be measured.
        let after = u32::try_from(tokens.saturating_sub(1)).ok()?;
        (self.pieces > 2 && seconds > 0.0).then(|| f64::from(after) / seconds)
    }
}

impl<T> Finding<T> {
    fn of(asked: &Result<Asked, BackendError>, see: impl FnOnce(&Asked) -> T) -> Self {
        match asked {
            Ok(asked) => Self::Seen(see(asked)),
            Err(error) => Self::Failed { problem: error.to_string() },
        }
    }

    fn seen(&self) -> Option<&T> {
        match self {
            Self::Seen(seen) => Some(seen),
            Self::Failed { .. } => None,
        }
    }
}

fn recommend(
    info: &BackendInfo,
    calls: &Finding<CallForm>,
    required: &Finding<bool>,
    json_schema: &Finding<bool>,
) -> Recommendation {
    let mut because = Vec::new();
    let mut say = |sentence: &str| because.push(sentence.to_owned());
    let tool_mode = match calls {
        Finding::Failed { .. } => {
            say("The server didn't answer a request with tools, so they go into the prompt.");
            ToolMode::Prompted
        }
        Finding::Seen(CallForm::None) if !info.capabilities.native_tools => {
            say("The model's chat template says nothing of tools, so they go into the prompt.");
            ToolMode::Prompted
        }
        Finding::Seen(CallForm::Structured) => {
            say("The server gives calls as structured data.");
            ToolMode::Native
        }
        Finding::Seen(CallForm::InText { .. }) => {
            say("The model calls and the server leaves the call in the text, where Forge reads it.");
            ToolMode::Native
        }
        Finding::Seen(CallForm::Unreadable | CallForm::None) => {
            say("The model knows of the tools and gave no usable call: expect nudges.");
            ToolMode::Native
        }
    };
    let enforced_by = match (json_schema.seen(), required.seen()) {
        (Some(true), _) => {
            say(
                "A JSON schema is enforced beside tools, so the last rung of the ladder always gives a well-formed call.",
            );
            Means::JsonSchema
        }
        (_, Some(true)) => {
            say("A required call was made, so tool choice is worth sending; a schema isn't enforced.");
            Means::ToolChoice
        }
        _ => {
            say("Neither a schema nor a required call is enforced: only nudges help.");
            Means::Nudges
        }
    };
    Recommendation { tool_mode, enforced_by, because }
}
