//! Case files: one JSON object per line, with a raw output and what has to become of it.
//!
//! A case has an `id`, a `kind` (`model_text`: the content of an answer; `arguments`: the argument text of a structured
//! call to `tool`), the offered `tools` in OpenAI's form, `raw`, an optional `context` (`finish_reason`, `tool_choice`,
//! `response_format`, `last_user`) and `expected`: an `outcome`, the exact `calls`, and optionally `content`, `reasoning`,
//! `mentions` (what the words to the model must contain) and `accept` (other outcomes that are as safe).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    FinishReason, Outcome, Parsed, Parser, ParserOptions, RawResponse, SpecError, StructuredCall, ToolChoice, ToolSpec,
    Toolset, asks_for_data, read_response,
};

/// One line of a case file.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Names the case.
    pub id: String,
    /// What `raw` is; only `model_text` and `arguments` are read by this crate.
    pub kind: String,
    /// The offered tools, in OpenAI's form.
    pub tools: Vec<Value>,
    /// The tool whose arguments `raw` is, for the kind `arguments`.
    pub tool: Option<String>,
    /// The request and how the generation ended.
    #[serde(default)]
    pub context: Option<Map<String, Value>>,
    /// What the model wrote.
    pub raw: Value,
    /// What has to become of it.
    pub expected: Expected,
}

/// What has to become of a case.
#[derive(Clone, Debug, Deserialize)]
pub struct Expected {
    /// `calls`, `text`, `nudge`, `tool_error` or `retry`.
    pub outcome: String,
    /// The exact calls.
    #[serde(default)]
    pub calls: Vec<ExpectedCall>,
    /// The text for the reader, compared without white space around it; not judged if missing.
    pub content: Option<String>,
    /// The thinking, compared in the same way.
    pub reasoning: Option<String>,
    /// What the words to the model must contain.
    #[serde(default)]
    pub mentions: Vec<String>,
    /// Other outcomes that are as safe.
    #[serde(default)]
    pub accept: Vec<String>,
    /// The calls of an accepted outcome `calls`.
    pub accept_calls: Option<Vec<ExpectedCall>>,
}

/// A call that has to come out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ExpectedCall {
    /// The name as offered.
    pub name: String,
    /// The arguments, compared by value.
    pub arguments: Value,
}

impl Case {
    /// Whether this crate reads cases of the kind.
    pub fn is_readable(&self) -> bool {
        matches!(self.kind.as_str(), "model_text" | "arguments")
    }

    /// The offered tools.
    ///
    /// # Errors
    /// When one of them is no tool.
    pub fn toolset(&self) -> Result<Arc<Toolset>, SpecError> {
        let specs: Result<Vec<_>, _> = self.tools.iter().map(ToolSpec::from_openai).collect();
        specs.map(Toolset::compile)
    }

    /// What the context says to the parser.
    pub fn options(&self) -> ParserOptions {
        let field = |key: &str| self.context.as_ref().and_then(|context| context.get(key));
        let format = field("response_format").and_then(|format| format.get("type")).and_then(Value::as_str);
        let asked = field("last_user").and_then(Value::as_str).is_some_and(asks_for_data);
        ParserOptions {
            starts_in_reasoning: false,
            data_requested: asked || matches!(format, Some("json_object" | "json_schema")),
            tool_choice: match field("tool_choice") {
                Some(Value::String(choice)) if choice == "none" => ToolChoice::None,
                Some(Value::String(choice)) if choice == "auto" => ToolChoice::Auto,
                Some(_) => ToolChoice::Required,
                None => ToolChoice::Auto,
            },
        }
    }

    /// Why the generation ended; an end by itself where the context doesn't say.
    pub fn finish(&self) -> FinishReason {
        let reason = self.context.as_ref().and_then(|context| context.get("finish_reason")).and_then(Value::as_str);
        match reason {
            Some("length") => FinishReason::Length,
            Some("tool_calls") => FinishReason::ToolCalls,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(_) | None => FinishReason::Stop,
        }
    }

    /// What the model wrote, as text.
    pub fn raw(&self) -> &str {
        self.raw.as_str().unwrap_or_default()
    }

    /// The structured call whose arguments the case is about; none for a text.
    pub fn structured(&self) -> Vec<StructuredCall<'_>> {
        self.tool.iter().map(|tool| StructuredCall { name: tool, arguments: self.raw() }).collect()
    }

    /// The case as a backend's response, with what [`Case::structured`] gave.
    pub fn response<'r>(&'r self, calls: &'r [StructuredCall<'r>]) -> RawResponse<'r> {
        let text = if calls.is_empty() { self.raw() } else { "" };
        RawResponse { text, calls, finish: self.finish(), ..RawResponse::default() }
    }

    /// Reads the case in one piece.
    pub fn read(&self, toolset: &Arc<Toolset>) -> Parsed {
        let calls = self.structured();
        read_response(toolset, &self.options(), &self.response(&calls))
    }

    /// Reads a text cut into pieces at these byte offsets, which must be in order and between characters.
    pub fn read_split(&self, toolset: &Arc<Toolset>, cuts: &[usize]) -> Parsed {
        let mut parser = Parser::new(Arc::clone(toolset), self.options());
        let mut rest = self.raw();
        let mut taken = 0;
        let mut events = Vec::new();
        for cut in cuts {
            let Some((piece, behind)) = rest.split_at_checked(cut - taken) else { continue };
            events.extend(parser.push(piece));
            rest = behind;
            taken = *cut;
        }
        events.extend(parser.push(rest));
        events.extend(parser.finish(self.finish()));
        Parsed::from_events(events)
    }

    /// What is wrong with a reading; empty if it is as expected. `told` is what the model would be told about it.
    pub fn judge(&self, parsed: &Parsed, told: &str) -> Vec<String> {
        let outcome = parsed.outcome(&self.options());
        let expected = &self.expected;
        let calls: Vec<_> = match outcome {
            Outcome::Calls => parsed.calls().map(|call| (call.name.as_str(), call.arguments.to_value())).collect(),
            Outcome::Text | Outcome::Nudge | Outcome::ToolError => Vec::new(),
        };
        let same_calls = |wanted: &[ExpectedCall]| {
            calls.len() == wanted.len()
                && calls
                    .iter()
                    .zip(wanted)
                    .all(|((name, arguments), wanted)| *name == wanted.name && same_value(arguments, &wanted.arguments))
        };
        if outcome == Outcome::Calls && expected.accept_calls.as_deref().is_some_and(same_calls) {
            return Vec::new();
        }
        let mut faults = Vec::new();
        if !self.allows(outcome) {
            faults.push(format!("outcome {} where {} is expected", outcome.as_str(), expected.outcome));
        } else if outcome.as_str() == expected.outcome && !same_calls(&expected.calls) {
            faults.push(format!("other calls than expected: {calls:?}"));
        }
        let differs = |seen: &str, wanted: &Option<String>| wanted.as_ref().is_some_and(|w| w.trim() != seen.trim());
        if differs(&parsed.text, &expected.content) {
            faults.push(format!("text {:?}", parsed.text));
        }
        if differs(&parsed.reasoning, &expected.reasoning) {
            faults.push(format!("reasoning {:?}", parsed.reasoning));
        }
        if matches!(outcome, Outcome::Nudge | Outcome::ToolError) {
            let missing = expected.mentions.iter().filter(|word| !told.contains(word.as_str()));
            faults.extend(missing.map(|word| format!("{word:?} is not mentioned in {told:?}")));
        }
        faults
    }

    /// To ask again in words and to answer with an error are both a correction; `retry` is either.
    fn allows(&self, outcome: Outcome) -> bool {
        let expected = self.expected.outcome.as_str();
        let correction = matches!(outcome, Outcome::Nudge | Outcome::ToolError);
        outcome.as_str() == expected
            || (expected == "retry" && correction)
            || self.expected.accept.iter().any(|accepted| accepted == outcome.as_str())
    }
}

/// Equality by value: 180 and 180.0 are the same number.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same_value(value, other)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b)),
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}
