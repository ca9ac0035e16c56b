//! A chat request is what everything else is brought into, so little has to be done.

use bytes::Bytes;
use forge_core::ToolSpec;
use serde_json::{Map, Value};

use super::encode::ChatEncoder;
use crate::error::ClientError;
use crate::json_body::JsonBody;
use crate::offered::{ClientTool, Offered, ToolKind, ToolShelf};
use crate::protocol::{Request, entries, flag, in_brief};
use crate::turn::{Choice, Turn};

/// Reads a request.
pub(crate) fn decode(bytes: Bytes, shelf: &ToolShelf) -> Result<Request, ClientError> {
    let JsonBody { mut fields, tools } = JsonBody::parse(&bytes)?;
    let offered = shelf.get(tools, 0, read_tool)?;
    let streams = flag(&fields, "stream")?;
    if let Some(count) = fields.get("n").filter(|count| !matches!(count.as_u64(), Some(1)) && !count.is_null()) {
        return Err(ClientError::invalid(format!(
            "`n` is {}; only 1 is possible, because each answer is checked and may be asked for again",
            in_brief(count)
        )));
    }
    let choice = choice(fields.get("tool_choice"), &offered)?;
    let messages = entries(&mut fields, "messages")?;
    offered.names().rename_history(messages);
    let leaves_no_tools = tools.is_none() && remove_tool_fields(&mut fields);
    let as_is = offered.is_intact() && !leaves_no_tools;
    let include_usage = fields.get("stream_options").and_then(|options| options.get("include_usage"));
    let include_usage = include_usage.and_then(Value::as_bool).unwrap_or(false);
    let model = fields.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    let size = bytes.len();
    let turn = Turn { body: fields, as_sent: as_is.then_some(bytes), offered, choice, streams, size };
    Ok(Request { turn, encoder: Box::new(ChatEncoder::new(model, include_usage)) })
}

/// Servers refuse what speaks of tools where there are none. Whether anything was removed.
fn remove_tool_fields(fields: &mut Map<String, Value>) -> bool {
    let before = fields.len();
    for key in ["tools", "tool_choice", "parallel_tool_calls"] {
        fields.shift_remove(key);
    }
    fields.len() != before
}

fn read_tool(value: Value, tools: &mut Vec<ClientTool>) -> Result<(), ClientError> {
    let is_function = value.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "function");
    if !is_function {
        tools.push(ClientTool::Foreign(value));
        return Ok(());
    }
    let spec = ToolSpec::from_openai(&value).map_err(|error| ClientError::invalid(error.to_string()))?;
    tools.push(ClientTool::Known { spec, kind: ToolKind::Function, chat: Some(value) });
    Ok(())
}

fn choice(choice: Option<&Value>, offered: &Offered) -> Result<Choice, ClientError> {
    let named = |value: &Value| match value {
        Value::String(word) => word_choice(word),
        Value::Object(object) => {
            let name = object.get("function").and_then(|function| function.get("name")).or_else(|| object.get("name"));
            match (object.get("type").and_then(Value::as_str), name.and_then(Value::as_str)) {
                (Some("allowed_tools"), _) => {
                    let mode = value.pointer("/allowed_tools/mode").or_else(|| object.get("mode"));
                    word_choice(mode.and_then(Value::as_str).unwrap_or("auto"))
                }
                (_, Some(name)) => Some(Choice::Forced(offered.names().for_backend(name).to_owned())),
                (_, None) => None,
            }
        }
        _ => None,
    };
    match choice {
        None | Some(Value::Null) => Ok(Choice::Auto),
        Some(value) => named(value).ok_or_else(|| {
            ClientError::invalid(format!(
                "`tool_choice` can't be {}; allowed are \"none\", \"auto\", \"required\" and {{\"type\": \"function\", \
                 \"function\": {{\"name\": …}}}}",
                in_brief(value)
            ))
        }),
    }
}

/// A choice in one word.
fn word_choice(word: &str) -> Option<Choice> {
    match word {
        "auto" => Some(Choice::Auto),
        "none" => Some(Choice::None),
        "required" | "any" => Some(Choice::Required),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Result<Turn, String> {
        let shelf = ToolShelf::new(2);
        decode(Bytes::from(text.to_owned()), &shelf).map(|request| request.turn).map_err(|error| error.message)
    }

    const TOOL: &str = r#"{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}"#;

    #[test]
    fn a_plain_request_may_go_on_as_it_is() {
        let turn = decoded(&format!(r#"{{"model":"m","messages":[{{"role":"user"}}],"tools":[{TOOL}]}}"#)).unwrap();
        assert!(turn.as_sent.is_some() && turn.choice == Choice::Auto && !turn.streams);
    }

    #[test]
    fn what_speaks_of_tools_goes_where_there_are_none() {
        let turn = decoded(r#"{"messages":[{"role":"user"}],"tools":[],"tool_choice":"none"}"#).unwrap();
        assert_eq!(turn.body.keys().collect::<Vec<_>>(), ["messages"]);
        assert_eq!(turn.as_sent, None);
    }

    #[test]
    fn an_unsafe_name_is_replaced_everywhere() {
        let turn = decoded(
            r#"{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a.b"}}]}],
                "tools":[{"type":"function","function":{"name":"a.b"}}],
                "tool_choice":{"type":"function","function":{"name":"a.b"}}}"#,
        )
        .unwrap();
        assert_eq!(turn.messages()[0]["tool_calls"][0]["function"]["name"], "a_b");
        assert_eq!(turn.offered.chat_tools()[0]["function"]["name"], "a_b");
        assert_eq!((turn.choice, turn.as_sent), (Choice::Forced("a_b".into()), None));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let three = format!(r#"{{"messages":[{{}}],"tools":[{TOOL},{TOOL},{TOOL}]}}"#);
        for (text, said) in [
            ("{}", "`messages` is missing; give the conversation as an array"),
            (r#"{"messages":[]}"#, "`messages` is empty; at least one entry is needed"),
            (r#"{"messages":"hi"}"#, "`messages` must be an array, not \"hi\""),
            (r#"{"messages":[{}],"stream":"yes"}"#, "`stream` must be true or false, not \"yes\""),
            (r#"{"messages":[{}],"tools":[{}, 3]}"#, "`tools[0]`: a tool needs a non-empty string at `function.name`"),
            (three.as_str(), "`tools` has 3 entries; at most 2 are allowed"),
        ] {
            assert_eq!(decoded(text).unwrap_err(), said, "{text}");
        }
        assert!(decoded(r#"{"messages":[{}],"n":2}"#).unwrap_err().starts_with("`n` is 2; only 1 is possible"));
        assert!(
            decoded(r#"{"messages":[{}],"tool_choice":"maybe"}"#).unwrap_err().starts_with("`tool_choice` can't be")
        );
    }
}
