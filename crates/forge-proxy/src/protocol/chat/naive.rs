//! What a client sees that reads a chat answer without any leniency. Where that is what the guardrails saw, the backend's
//! bytes can go on as they are.

use std::borrow::Cow;

use bytes::Bytes;
use forge_core::FinishReason;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::encode::finish_reason;
use crate::piece::{Envelope, FinalCall};

/// What a client is to see.
#[derive(Debug)]
pub(crate) struct Whole<'a> {
    pub(crate) text: &'a str,
    pub(crate) reasoning: &'a str,
    pub(crate) calls: &'a [FinalCall],
    pub(crate) finish: FinishReason,
}

/// A naive reader of one answer.
#[derive(Debug, Default)]
pub(crate) struct Naive {
    envelope: Envelope,
    text: String,
    reasoning: String,
    calls: Vec<NaiveCall>,
    finish: Option<String>,
    done: bool,
    irregular: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct NaiveCall {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    created: Option<u64>,
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(default, borrow, alias = "message")]
    delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(default, borrow)]
    content: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    reasoning: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
    #[serde(default)]
    function_call: Option<IgnoredAny>,
    #[serde(default, borrow)]
    refusal: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default)]
    index: Option<usize>,
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(default, borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    arguments: Option<Cow<'a, str>>,
}

impl Naive {
    /// Reads one event of a stream.
    pub(crate) fn take_frame(&mut self, frame: &[u8]) {
        let Ok(text) = std::str::from_utf8(frame) else {
            self.irregular = true;
            return;
        };
        for line in text.lines() {
            let Some(data) = line.strip_prefix("data:") else {
                self.irregular |= !(line.is_empty() || line.starts_with(':'));
                continue;
            };
            match data.trim() {
                "[DONE]" => self.done = true,
                data => self.take(data.as_bytes(), true),
            }
        }
    }

    fn take(&mut self, json: &[u8], in_stream: bool) {
        let Ok(object) = serde_json::from_slice::<Object<'_>>(json) else {
            self.irregular = true;
            return;
        };
        let Object { id, model, created, choices, error } = object;
        self.irregular |= error.is_some() || choices.len() > 1 || self.done;
        if self.envelope == Envelope::default() {
            self.envelope = Envelope { id: id.map(Cow::into_owned), model: model.map(Cow::into_owned), created };
        }
        for choice in choices {
            self.irregular |= choice.index != 0;
            if let Some(finish) = choice.finish_reason.filter(|finish| !finish.is_empty()) {
                self.finish = Some(finish.into_owned());
            }
            let Some(delta) = choice.delta else { continue };
            self.irregular |= delta.function_call.is_some() || delta.refusal.is_some_and(|text| !text.is_empty());
            self.text.push_str(&delta.content.unwrap_or_default());
            self.reasoning.push_str(&delta.reasoning_content.or(delta.reasoning).unwrap_or_default());
            for call in delta.tool_calls.into_iter().flatten() {
                self.take_call(call, in_stream);
            }
        }
    }

    fn take_call(&mut self, call: Call<'_>, in_stream: bool) {
        let index = if in_stream { call.index } else { Some(self.calls.len()) };
        let Some(index) = index.filter(|index| *index <= self.calls.len()) else {
            self.irregular = true;
            return;
        };
        if index == self.calls.len() {
            self.calls.push(NaiveCall::default());
        }
        let Some(known) = self.calls.get_mut(index) else { return };
        let id = call.id.unwrap_or_default();
        self.irregular |= !id.is_empty() && !known.id.is_empty() && known.id != id;
        if known.id.is_empty() {
            known.id = id.into_owned();
        }
        if let Some(function) = call.function {
            known.name.push_str(&function.name.unwrap_or_default());
            known.arguments.push_str(&function.arguments.unwrap_or_default());
        }
    }

    /// Whether nothing came yet that a naive reader stumbles over.
    pub(crate) fn is_regular(&self) -> bool {
        !self.irregular
    }

    /// Whether the end was told.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish.is_some() || self.done
    }

    /// What the answer calls itself.
    pub(crate) fn envelope(&self) -> Envelope {
        self.envelope.clone()
    }

    /// Whether a reader of the stream has seen just this.
    pub(crate) fn reads_as(&self, whole: &Whole<'_>) -> bool {
        self.done && self.is(whole)
    }

    /// Whether a reader of the body sees just this.
    pub(crate) fn reads_body_as(&mut self, body: &[Bytes], whole: &Whole<'_>) -> bool {
        let [body] = body else { return false };
        self.take(body, false);
        self.is(whole)
    }

    fn is(&self, whole: &Whole<'_>) -> bool {
        let blank = self.text.trim().is_empty() && whole.text.trim().is_empty();
        let same_calls = self.calls.len() == whole.calls.len()
            && self.calls.iter().zip(whole.calls).all(|(seen, call)| {
                seen.id == call.id && seen.name == call.name && seen.arguments == call.arguments.as_str()
            });
        self.is_regular()
            && same_calls
            && (blank || self.text == whole.text)
            && self.reasoning == whole.reasoning
            && self.finish.as_deref() == Some(finish_reason(whole.finish, !whole.calls.is_empty()))
    }
}
