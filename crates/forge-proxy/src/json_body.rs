//! The body of a request, parsed once: everything but the tools.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::ClientError;

/// A request's object. Tools are the largest part of an agent's request and the same in all of them, so their text is kept
/// as it is: it is the key under which what was made of it is found again.
pub(crate) struct JsonBody<'a> {
    /// The fields in their order; in the place of the tools stands null.
    pub(crate) fields: Map<String, Value>,
    /// The text of the tools, if there are any.
    pub(crate) tools: Option<&'a str>,
}

impl<'a> JsonBody<'a> {
    /// Parses a body.
    ///
    /// # Errors
    /// When it is no JSON object, or nested deeper than 128 levels.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, ClientError> {
        serde_json::from_slice(bytes).map_err(|error| {
            let nested = error.to_string().contains("recursion limit");
            let advice = if nested { "; at most 128 levels of nesting are read" } else { "" };
            ClientError::invalid(format!("the request's body can't be read as a JSON object: {error}{advice}"))
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonBody<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = JsonBody<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut body = JsonBody { fields: Map::new(), tools: None };
                while let Some(key) = map.next_key::<String>()? {
                    if key == "tools" {
                        let text = map.next_value::<&'de RawValue>()?.get();
                        body.tools = (!matches!(text, "null" | "[]")).then_some(text);
                        body.fields.insert(key, Value::Null);
                    } else {
                        let value = map.next_value::<Value>()?;
                        body.fields.insert(key, value);
                    }
                }
                Ok(body)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_kept_as_text_and_the_rest_is_parsed() {
        let body = JsonBody::parse(br#"{"model":"m","tools":[{"a": 1.0}],"n":2}"#).ok().unwrap();
        assert_eq!(body.tools, Some(r#"[{"a": 1.0}]"#));
        assert_eq!(body.fields.keys().collect::<Vec<_>>(), ["model", "tools", "n"]);
    }

    #[test]
    fn no_tools_are_none() {
        for text in [r#"{"tools":null}"#, r#"{"tools":[]}"#, "{}"] {
            assert_eq!(JsonBody::parse(text.as_bytes()).ok().unwrap().tools, None, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        for (text, said) in [("[1]", "expected a JSON object"), ("{", "EOF"), (deep.as_str(), "128 levels")] {
            let error = JsonBody::parse(text.as_bytes()).err().unwrap();
            assert!(error.message.contains(said), "{}", error.message);
        }
    }
}
