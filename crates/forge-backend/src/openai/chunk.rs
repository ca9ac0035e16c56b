//! The wire form of an answer, whole or in pieces, read as leniently as it can be without guessing.

use std::borrow::Cow;
use std::fmt;

use forge_core::Usage;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

/// One chunk of a stream, or a whole completion.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Chunk<'a> {
    /// None where the object isn't a completion at all.
    #[serde(default, borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    /// What kind of object it says it is.
    #[serde(default, borrow, deserialize_with = "lenient")]
    pub(super) object: Option<Cow<'a, str>>,
    /// What the generation cost so far.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: Option<WireUsage>,
    /// What went wrong, in the place of an answer.
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// One candidate of an answer; only the first is ever asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Choice<'a> {
    /// The next piece.
    #[serde(default, borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// The whole answer, where the server doesn't stream or repeats it at the end.
    #[serde(default, borrow)]
    pub(super) message: Option<Delta<'a>>,
    /// Why it ended.
    #[serde(default, borrow, deserialize_with = "lenient")]
    pub(super) finish_reason: Option<Cow<'a, str>>,
}

/// A piece of a message, or a whole one.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Delta<'a> {
    /// Text for the reader.
    #[serde(default, borrow)]
    pub(super) content: Text<'a>,
    #[serde(default, borrow)]
    reasoning_content: Text<'a>,
    #[serde(default, borrow)]
    reasoning: Text<'a>,
    #[serde(default, borrow)]
    reasoning_text: Text<'a>,
    #[serde(default, borrow)]
    thinking: Text<'a>,
    /// The model's refusal, which some servers deliver apart.
    #[serde(default, borrow)]
    pub(super) refusal: Text<'a>,
    /// Pieces of calls.
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
    /// The older form, with one call at most.
    #[serde(default, borrow)]
    pub(super) function_call: Option<FunctionPiece<'a>>,
    /// Misplaced by some servers.
    #[serde(default, borrow, deserialize_with = "lenient")]
    pub(super) finish_reason: Option<Cow<'a, str>>,
}

impl Delta<'_> {
    /// The thinking, from whichever field holds it. Servers that fill several fill them with the same text.
    pub(super) fn thinking(&self) -> &str {
        [&self.reasoning_content, &self.reasoning, &self.reasoning_text, &self.thinking]
            .into_iter()
            .map(Text::as_str)
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }
}

/// A piece of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct CallPiece<'a> {
    /// Which call, in the server's count.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) index: Option<u64>,
    /// The call's id.
    #[serde(default, borrow, deserialize_with = "lenient")]
    pub(super) id: Option<Cow<'a, str>>,
    /// The rest.
    #[serde(default, borrow)]
    pub(super) function: Option<FunctionPiece<'a>>,
}

/// The name and the arguments of a piece.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct FunctionPiece<'a> {
    /// The tool.
    #[serde(default, borrow, deserialize_with = "lenient")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

impl<'a> FunctionPiece<'a> {
    /// The argument text; an object in the place of text is taken byte for byte.
    pub(super) fn arguments(&self) -> Cow<'a, str> {
        let raw = self.arguments.map_or("null", RawValue::get);
        match serde_json::from_str::<Option<CowStr<'a>>>(raw) {
            Ok(text) => text.map_or(Cow::Borrowed(""), |text| text.0),
            Err(_) => Cow::Borrowed(raw),
        }
    }
}

/// What a generation cost, in the wire form.
#[derive(Debug, Deserialize)]
pub(super) struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        Self {
            prompt_tokens: wire.prompt_tokens,
            completion_tokens: wire.completion_tokens,
            cached_tokens: wire.prompt_tokens_details.and_then(|details| details.cached_tokens),
        }
    }
}

/// Text that may also be null, or an array of parts of which the text counts.
#[derive(Debug, Default)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    /// The text; empty where there was none.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, null or an array of parts")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_bool<E: de::Error>(self, _value: bool) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                // A single part.
                let mut text = Text::default();
                while let Some(key) = map.next_key::<CowStr<'de>>()? {
                    if key.0 == "text" {
                        text = map.next_value()?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(text)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let mut all = String::new();
                while let Some(part) = parts.next_element::<Text<'de>>()? {
                    all.push_str(part.as_str());
                }
                Ok(Text(Cow::Owned(all)))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A string borrowed from the input where it has no escapes. (`Cow<str>` alone always allocates.)
#[derive(Debug, Deserialize)]
struct CowStr<'a>(#[serde(borrow)] Cow<'a, str>);

/// A field that is absent, null or of another type than expected counts as absent.
fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str::<Option<T>>(raw.get()).ok().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(json: &str) -> Delta<'_> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn content_is_read_in_each_form() {
        for (json, text) in [
            (r#"{}"#, ""),
            (r#"{"content":null}"#, ""),
            (r#"{"content":"a\nb"}"#, "a\nb"),
            (r#"{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}"#, "ab"),
            (r#"{"content":["a","b"]}"#, "ab"),
        ] {
            assert_eq!(delta(json).content.as_str(), text, "{json}");
        }
    }

    #[test]
    fn thinking_is_read_once_from_whichever_field() {
        for json in [
            r#"{"reasoning_content":"t"}"#,
            r#"{"reasoning":"t"}"#,
            r#"{"reasoning_text":"t"}"#,
            r#"{"thinking":"t"}"#,
            r#"{"reasoning":"t","reasoning_content":"t","content":null}"#,
        ] {
            assert_eq!(delta(json).thinking(), "t", "{json}");
        }
    }

    #[test]
    fn arguments_are_text_whether_sent_as_text_or_as_an_object() {
        for (json, arguments) in [
            (r#"{}"#, ""),
            (r#"{"arguments":null}"#, ""),
            (r#"{"arguments":"{\"a\": 1.0}"}"#, r#"{"a": 1.0}"#),
            (r#"{"arguments":{"a": 1.0}}"#, r#"{"a": 1.0}"#),
        ] {
            let piece: FunctionPiece<'_> = serde_json::from_str(json).unwrap();
            assert_eq!(piece.arguments(), arguments, "{json}");
        }
    }

    #[test]
    fn a_field_of_the_wrong_type_counts_as_absent() {
        let piece: CallPiece<'_> = serde_json::from_str(r#"{"index":"0","id":7,"function":{"name":null}}"#).unwrap();
        assert_eq!((piece.index, piece.id, piece.function.unwrap().name), (None, None, None));
    }

    #[test]
    fn odd_usage_does_not_spoil_a_chunk() {
        let chunk: Chunk<'_> = serde_json::from_str(r#"{"choices":[],"usage":"none"}"#).unwrap();
        assert!(chunk.usage.is_none());
    }
}
