use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::chat::shape::{ContentForm, ReplayedArguments};

fn call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}})
}

fn turn(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn result(id: &str, content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn said(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

fn missing(id: &str) -> Value {
    let content = "(There is no result of this call: it did not run, or its result was lost.)";
    json!({"role": "tool", "tool_call_id": id, "name": "look", "content": content})
}

fn shaped(messages: &[Value], shape: HistoryShape) -> (Vec<Value>, Vec<String>) {
    let Sanitised { messages, changes } = sanitise(messages.to_vec(), shape);
    (messages, changes.iter().map(ToString::to_string).collect())
}

/// Under the shape that most servers take.
fn safe(messages: &[Value]) -> (Vec<Value>, Vec<String>) {
    shaped(messages, HistoryShape::default())
}

#[test]
fn a_sound_history_stays_as_it_is() {
    let messages = [
        said("system", "Be brief."),
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}], "name": "x"}),
        turn(&[call("a", r#"{"at": 1.0}"#), call("b", "{}")]),
        result("b", "sea"),
        result("a", "sand"),
        said("assistant", "done"),
        said("user", "more"),
        said("user", "please"),
    ];
    assert_eq!(safe(&messages), (messages.to_vec(), Vec::new()));
}

#[test]
fn results_stand_behind_their_calls_and_every_call_has_one() {
    let (user, one) = (said("user", "hurry"), turn(&[call("a", "{}")]));
    for (name, given, expected) in [
        (
            "what slipped between goes behind",
            vec![one.clone(), user.clone(), result("a", "x")],
            vec![one.clone(), result("a", "x"), user.clone()],
        ),
        ("a lost result is told", vec![one.clone(), user.clone()], vec![one.clone(), missing("a"), user.clone()]),
        ("also at the end", vec![user.clone(), one.clone()], vec![user.clone(), one.clone(), missing("a")]),
        (
            "a result without a call is text",
            vec![user.clone(), result("z", "x")],
            vec![user.clone(), said("user", "(The result of an earlier tool call:)\nx")],
        ),
        (
            "so is a second result",
            vec![one.clone(), result("a", "x"), result("a", "y")],
            vec![one.clone(), result("a", "x"), said("user", "(The result of an earlier tool call:)\ny")],
        ),
        (
            "a result before its call is none",
            vec![result("a", "x"), one.clone()],
            vec![said("user", "(The result of an earlier tool call:)\nx"), one.clone(), missing("a")],
        ),
        ("no calls are no turn of calls", vec![turn(&[]), user.clone()], vec![user.clone()]),
    ] {
        let (messages, changes) = safe(&given);
        assert_eq!(messages, expected, "{name}");
        assert!(!changes.is_empty(), "{name}");
    }
}

#[test]
fn ids_are_there_and_occur_once() {
    let given = [
        turn(&[call("a", "{}"), call("a", "{}"), call("", "{}")]),
        result("a", "1"),
        result("a", "2"),
        json!({"role": "tool", "content": "3"}),
        turn(&[call("a", "{}")]),
        result("a", "4"),
        turn(&[call("mine", "{}")]),
        result("theirs", "5"),
    ];
    let (messages, changes) = safe(&given);
    let expected = [
        turn(&[call("a", "{}"), call("call_0_1", "{}"), call("call_0_2", "{}")]),
        result("a", "1"),
        result("call_0_1", "2"),
        json!({"role": "tool", "tool_call_id": "call_0_2", "content": "3"}),
        turn(&[call("call_1_0", "{}")]),
        result("call_1_0", "4"),
        turn(&[call("mine", "{}")]),
        result("mine", "5"),
    ];
    assert_eq!(messages, expected);
    assert_eq!(
        changes,
        [
            r#"message 0: the call "a" got the id "call_0_1""#,
            r#"message 0: the call "" got the id "call_0_2""#,
            r#"message 2: the result got the id "call_0_1" of its call"#,
            r#"message 3: the result got the id "call_0_2" of its call"#,
            r#"message 4: the call "a" got the id "call_1_0""#,
            r#"message 5: the result got the id "call_1_0" of its call"#,
            r#"message 7: the result got the id "mine" of its call"#,
        ]
    );
}

#[test]
fn arguments_are_a_json_object() {
    for (given, text) in [
        (json!(r#"{"a": 1.0}"#), r#"{"a": 1.0}"#),
        (json!(""), "{}"),
        (json!(null), "{}"),
        (json!("null"), "{}"),
        (json!({"a": 1}), r#"{"a":1}"#),
        (json!("{'a': True}"), r#"{"a":true}"#),
        (json!("\"{\\\"a\\\": 1}\""), r#"{"a": 1}"#),
        (json!("{"), r#"{"unreadable_arguments":"{"}"#),
        (json!("[1]"), r#"{"unreadable_arguments":"[1]"}"#),
        (json!([1]), r#"{"unreadable_arguments":"[1]"}"#),
        (json!("take this"), r#"{"unreadable_arguments":"take this"}"#),
    ] {
        let call = |arguments: &Value| json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}});
        let history = [turn(&[call(&given)]), result("a", "x")];
        let (messages, changes) = safe(&history);
        assert_eq!(messages[0], turn(&[call(&text.into())]));
        assert_eq!(changes.is_empty(), given == text, "{given}");
        let objects = HistoryShape { arguments: ReplayedArguments::Object, ..HistoryShape::default() };
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(shaped(&history, objects).0[0], turn(&[call(&value)]));
    }
}

#[test]
fn roles_and_content_are_those_of_the_protocol() {
    let old_call = json!({"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}});
    let given = [
        said("developer", "Be brief."),
        json!("hello"),
        json!({"role": "human", "content": 7}),
        json!({"role": "user"}),
        old_call,
        json!({"role": "function", "name": "look", "content": {"text": "sand"}}),
        json!({"role": "assistant", "content": null}),
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": "x"}]}),
    ];
    let (messages, changes) = safe(&given);
    let expected = [
        said("system", "Be brief."),
        said("user", "hello"),
        said("user", "7"),
        said("user", ""),
        json!({"role": "assistant", "tool_calls": [
            {"type": "function", "function": {"name": "look", "arguments": "{}"}, "id": "call_4_0"}
        ]}),
        json!({"role": "tool", "name": "look", "content": r#"{"text":"sand"}"#, "tool_call_id": "call_4_0"}),
        said("assistant", r#"{"id":"x"}"#),
    ];
    assert_eq!(messages, expected);
    assert_eq!(changes.len(), 11, "{changes:#?}");
}

#[test]
fn content_is_one_text_where_the_server_takes_nothing_else() {
    let parts = json!([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}, "b"]);
    let shape = HistoryShape { content: ContentForm::Text, ..HistoryShape::default() };
    let (messages, changes) = shaped(&[json!({"role": "user", "content": parts})], shape);
    assert_eq!((messages, changes.len()), (vec![said("user", "a\n\n[image_url left out]\n\nb")], 1));
}

#[test]
fn roles_alternate_where_the_template_wants_it() {
    let given = [
        said("system", "a"),
        said("system", "b"),
        said("assistant", "hello"),
        said("user", "c"),
        json!({"role": "user", "content": [{"type": "text", "text": "d"}]}),
        said("system", "e"),
        turn(&[call("a", "{}"), call("b", "{}")]),
        result("a", "x"),
        result("b", "y"),
        said("assistant", "f"),
        said("assistant", "g"),
    ];
    let talk = [
        said("assistant", "hello"),
        json!({"role": "user", "content": [
            {"type": "text", "text": "c"}, {"type": "text", "text": "d"}, {"type": "text", "text": "e"},
        ]}),
        turn(&[call("a", "{}"), call("b", "{}")]),
        result("a", "x"),
        result("b", "y"),
        said("assistant", "f\n\ng"),
    ];
    let opening = "(The conversation before this is left out.)";
    let alternating = HistoryShape { turns: Turns::Alternating, ..HistoryShape::default() };
    let head = vec![said("system", "a\n\nb"), said("user", opening)];
    assert_eq!(shaped(&given, alternating).0, [head, talk.to_vec()].concat());
    let without = HistoryShape { turns: Turns::WithoutSystem, ..HistoryShape::default() };
    let head = vec![said("user", "a\n\nb")];
    assert_eq!(shaped(&given, without).0, [head, talk.to_vec()].concat());
}

#[test]
fn thinking_is_replayed_as_asked() {
    let thought = |text: &str| json!({"role": "assistant", "content": text, "reasoning_content": "hm"});
    let given = [said("user", "go"), thought("a"), said("user", "on"), thought("b")];
    let plain = |text: &str| said("assistant", text);
    for (reasoning, first, last) in [
        (ReasoningReplay::None, plain("a"), plain("b")),
        (ReasoningReplay::Last, plain("a"), thought("b")),
        (ReasoningReplay::Full, thought("a"), thought("b")),
    ] {
        let (messages, _) = shaped(&given, HistoryShape { reasoning, ..HistoryShape::default() });
        assert_eq!((&messages[1], &messages[3]), (&first, &last), "{reasoning:?}");
    }
    let (messages, _) = safe(&[json!({"role": "assistant", "content": "", "reasoning": "only thoughts"})]);
    assert_eq!(messages, [] as [Value; 0]);
}

fn any_message() -> impl Strategy<Value = Value> {
    let id = prop::sample::select(vec![json!("a"), json!("b"), json!("call_0_0"), json!(""), json!(null), json!(7)]);
    let arguments = prop::sample::select(vec![json!("{}"), json!("{"), json!({"x": 1}), json!(null), json!("[]")]);
    let content = prop::sample::select(vec![
        json!("hi"),
        json!(""),
        json!(null),
        json!([{"type": "text", "text": "hi"}]),
        json!(1),
    ]);
    let any_call = (id.clone(), arguments).prop_map(|(id, arguments)| match &arguments {
        Value::Null => json!({"id": id}),
        _ => json!({"id": id, "function": {"name": "look", "arguments": arguments}}),
    });
    let role = prop::sample::select(vec!["system", "user", "assistant", "tool", "tool", "developer", "", "ai"]);
    (role, content, id, prop::collection::vec(any_call, 0..3), any::<bool>()).prop_map(
        |(role, content, id, calls, acts)| match (role, acts) {
            ("assistant", true) => json!({"role": role, "content": content, "tool_calls": calls}),
            ("tool", _) => json!({"role": role, "content": content, "tool_call_id": id}),
            (role, true) => json!({"role": role, "content": content}),
            (_, false) => content,
        },
    )
}

fn any_shape() -> impl Strategy<Value = HistoryShape> {
    (
        prop::sample::select(vec![Turns::AsWritten, Turns::Alternating, Turns::WithoutSystem]),
        prop::sample::select(vec![ReplayedArguments::Text, ReplayedArguments::Object]),
        prop::sample::select(vec![ContentForm::Parts, ContentForm::Text]),
    )
        .prop_map(|(turns, arguments, content)| HistoryShape {
            turns,
            arguments,
            content,
            ..HistoryShape::default()
        })
}

/// What is wrong with a history, by the rules of the strictest servers.
fn fault(messages: &[Value], shape: HistoryShape) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for message in messages {
        let role = message["role"].as_str()?;
        if role == "tool" {
            let id = message["tool_call_id"].as_str()?;
            let Some(at) = open.iter().position(|open| *open == id) else { return Some(format!("orphan {id}")) };
            open.remove(at);
            continue;
        }
        if !open.is_empty() {
            return Some(format!("no result of {open:?}"));
        }
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            open.push(call["id"].as_str()?);
            if !seen.insert(call["id"].as_str()?) {
                return Some(format!("{} twice", call["id"]));
            }
            let arguments = &call["function"]["arguments"];
            let sound = match shape.arguments {
                ReplayedArguments::Text => serde_json::from_str::<Map<String, Value>>(arguments.as_str()?).is_ok(),
                ReplayedArguments::Object => arguments.is_object(),
            };
            if !sound {
                return Some(format!("arguments {arguments}"));
            }
        }
    }
    if !open.is_empty() {
        return Some(format!("no result of {open:?}"));
    }
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    let talk: Vec<&str> = roles.iter().copied().filter(|role| *role != "system").collect();
    match shape.turns {
        Turns::AsWritten => None,
        Turns::WithoutSystem if roles.contains(&"system") => Some("a system turn".to_owned()),
        Turns::Alternating | Turns::WithoutSystem => {
            let late = roles.iter().skip(1).any(|role| *role == "system");
            let doubled = talk.windows(2).any(|pair| pair[0] == pair[1] && pair[0] != "tool");
            let opened = talk.first().is_none_or(|first| *first == "user");
            (late || doubled || !opened).then(|| format!("roles {roles:?}"))
        }
    }
}

proptest! {
    #[test]
    fn whatever_was_given_can_be_sent(messages in prop::collection::vec(any_message(), 0..12), shape in any_shape()) {
        let sent = sanitise(messages, shape);
        prop_assert_eq!(fault(&sent.messages, shape), None, "{:#?}", sent.messages);
        let again = sanitise(sent.messages.clone(), shape);
        prop_assert_eq!(again, Sanitised { messages: sent.messages, changes: Vec::new() });
    }
}
