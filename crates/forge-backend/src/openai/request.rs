//! The body of a request.

use serde_json::{Map, Value, json};

use crate::chat::prepare::Prepared;

/// The model to ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model<'a> {
    /// The one that is asked for whatever the request says.
    pub(super) pinned: Option<&'a str>,
    /// The one that is asked for where the request doesn't say.
    pub(super) known: Option<&'a str>,
}

/// The body of a chat completion request: always streamed, with the usage at its end.
pub(super) fn encode(prepared: &Prepared, model: Model<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    let asked = prepared.body.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
    if let Some(model) = model.pinned.or(asked).or(model.known) {
        body.insert("model".to_owned(), model.into());
    }
    for (key, value) in &prepared.body {
        if key != "model" {
            body.insert(key.clone(), value.clone());
        }
    }
    body.insert("stream".to_owned(), true.into());
    match body.get_mut("stream_options") {
        Some(Value::Object(options)) => {
            options.insert("include_usage".to_owned(), true.into());
        }
        Some(_) | None => {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(body: Value, model: Model<'_>) -> Value {
        let Value::Object(body) = body else { panic!("no object") };
        let (offered, names, changes) = (Vec::new(), Default::default(), Vec::new());
        Value::Object(encode(&Prepared { body, offered, names, changes }, model))
    }

    #[test]
    fn a_request_streams_with_its_usage_at_the_end() {
        for (options, expected) in [
            (json!({}), json!({"include_usage": true})),
            (json!({"stream_options": null}), json!({"include_usage": true})),
            (json!({"stream_options": {"include_usage": false, "a": 1}}), json!({"include_usage": true, "a": 1})),
        ] {
            let body = encoded(options, Model { pinned: None, known: None });
            assert_eq!(body, json!({"stream": true, "stream_options": expected}));
        }
    }

    #[test]
    fn a_pinned_model_comes_before_the_callers_and_that_before_the_servers() {
        let (pinned, known) = (Some("pinned"), Some("known"));
        for (body, model, expected) in [
            (json!({"model": "asked"}), Model { pinned, known }, json!("pinned")),
            (json!({"model": "asked"}), Model { pinned: None, known }, json!("asked")),
            (json!({"model": ""}), Model { pinned: None, known }, json!("known")),
            (json!({}), Model { pinned: None, known }, json!("known")),
            (json!({}), Model { pinned: None, known: None }, Value::Null),
        ] {
            assert_eq!(encoded(body, model)["model"], expected);
        }
    }
}
