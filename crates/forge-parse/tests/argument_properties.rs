//! What holds for every text and every schema.

use std::sync::Arc;

use forge_parse::repair::{RepairError, repair_object};
use forge_parse::{Dialect, End, ToolSpec, Toolset};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Pieces that JSON and what models make of it consist of.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "{{",
    "}}",
    ",",
    ":",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "`",
    "\\",
    "\\\"",
    "\\\\\"",
    "\\n",
    "\\u00e9",
    "\\ud83d",
    "\\x",
    " ",
    "\n",
    "\t",
    "\u{a0}",
    "“",
    "”",
    "’",
    "，",
    "：",
    "a",
    "key",
    "value",
    "word two",
    "é",
    "true",
    "True",
    "None",
    "null",
    "NaN",
    "1",
    "-2.5",
    "1e9",
    "007",
    ".5",
    "//",
    "/* c */",
    "# c",
    "```json",
    "```",
    "<|\"|>",
    "<escape>",
    "</tool_call>",
    "C:\\new\\x",
    "\"a\":",
    "\"b\": ",
    "\"x\", ",
    "\"x\"}",
    "{\"a\": 1}",
    "[1, 2]",
    "text",
];

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(prop::sample::select(PIECES), 0..40)
            .prop_map(|pieces| format!("{{\"a\": {}", pieces.concat())),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(|number: f64| Value::from(number)),
        "[ -~]{0,8}".prop_map(Value::from),
        prop::sample::select(
            &[
                "",
                "5",
                "5.0",
                "3.7",
                "true",
                "None",
                "null",
                "[1]",
                "['a']",
                "{\"n\": \"1\"}",
                "red",
                "Red",
                "<|\"|>x<|\"|>"
            ][..]
        )
        .prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_key(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop::sample::select(&["n", "file_path", "filePath", "File-Path", "tags", "kind", "x y", "a/b", ""][..])
        .prop_map(str::to_owned)
}

fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((any_key(), any_value()), 0..5).prop_map(|members| members.into_iter().collect())
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(&["string", "integer", "number", "boolean", "null", "array", "object"][..])
            .prop_map(|kind| json!({"type": kind})),
        Just(json!({})),
        Just(json!({"enum": ["red", "green", 5]})),
        Just(json!({"const": true})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"type": "string", "nullable": true, "minLength": 1})),
        Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|branches| json!({"anyOf": branches})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|branches| json!({"oneOf": branches})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({"allOf": parts})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|first| json!({"type": "array", "prefixItems": first})),
            object_schema(inner),
        ]
    })
}

fn object_schema(property: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (prop::collection::vec((any_key(), property), 0..4), any::<bool>(), any::<bool>()).prop_map(
        |(properties, closed, required)| {
            let properties: Map<String, Value> = properties.into_iter().collect();
            let first: Vec<&String> = properties.keys().take(usize::from(required)).collect();
            match closed {
                true => json!({"type": "object", "properties": properties, "required": first, "additionalProperties": false}),
                false => json!({"type": "object", "properties": properties, "required": first}),
            }
        },
    )
}

fn toolset(schema: Value) -> Arc<Toolset> {
    Toolset::compile(vec![ToolSpec::new("t", "", schema)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_is_repaired_is_a_valid_object_and_stays_as_it_is(text in any_text()) {
        if let Ok(repaired) = repair_object(&text) {
            let object: Result<Map<String, Value>, _> = serde_json::from_str(&repaired.json);
            prop_assert!(object.is_ok(), "{}", repaired.json);
            let again = repair_object(&repaired.json).unwrap();
            prop_assert_eq!((again.json, again.repairs), (repaired.json, Vec::new()));
        }
    }

    #[test]
    fn a_refusal_points_into_the_text(text in any_text()) {
        if let Err(error) = repair_object(&text) {
            prop_assert!(error.offset() <= text.len());
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn valid_arguments_are_untouched(object in any_object()) {
        for text in [serde_json::to_string(&object).unwrap(), serde_json::to_string_pretty(&object).unwrap()] {
            let repaired = repair_object(&text).unwrap();
            prop_assert_eq!((repaired.json.as_str(), repaired.repairs.len()), (text.as_str(), 0));
            let call = toolset(json!({})).read_call("t", &text, Dialect::NATIVE, End::Complete).unwrap();
            if call.repairs.is_empty() {
                prop_assert_eq!(call.arguments.as_str(), text.as_str());
            }
        }
    }

    #[test]
    fn python_notation_reads_as_the_same_value(object in any_object()) {
        let text = python(&Value::Object(object.clone()));
        let repaired = repair_object(&text).unwrap();
        let read: Value = serde_json::from_str(&repaired.json).unwrap();
        prop_assert_eq!(read, Value::Object(object), "{}", text);
        prop_assert!(repaired.only_notation);
    }

    #[test]
    fn a_cut_object_is_refused_or_only_lacks_closers(object in any_object(), place in 0.0..1.0) {
        let text = serde_json::to_string(&object).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short text")]
        let cut = text.floor_char_boundary((text.len() as f64 * place) as usize);
        let part = text.get(..cut).unwrap();
        match repair_object(part) {
            Ok(repaired) => {
                prop_assert!(repaired.unclosed);
                let closed: Value = serde_json::from_str(&repaired.json).unwrap();
                prop_assert!(is_part_of(&closed, &Value::Object(object)), "{}", repaired.json);
            }
            Err(error) => {
                // A cut behind an escaped quote also reads as a string whose quotes were escaped wrongly.
                let fitting = matches!(
                    error,
                    RepairError::Truncated { .. } | RepairError::Empty | RepairError::UnmatchedQuote { .. }
                );
                prop_assert!(fitting, "{} {}", part, error);
            }
        }
    }

    #[test]
    fn nothing_is_invented(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..30)) {
        // What has another spelling in JSON is left out of the comparison.
        let text = format!("{{\"a\": {}", pieces.concat()).replace(['N', '.'], "");
        if let Ok(repaired) = repair_object(&text) {
            let value: Value = serde_json::from_str(&repaired.json).unwrap();
            let mut written = text.chars();
            for letter in letters(&repaired.json, &value) {
                prop_assert!(written.any(|next| next.eq_ignore_ascii_case(&letter)), "{} from {}", repaired.json, text);
            }
        }
    }

    #[test]
    fn accepted_arguments_validate(schema in object_schema(any_schema()), object in any_object()) {
        let toolset = toolset(schema);
        let text = serde_json::to_string(&object).unwrap();
        if let Ok(call) = toolset.read_call("t", &text, Dialect::NATIVE, End::Complete) {
            prop_assert_eq!(toolset.validate("t", &call.arguments.to_value()), Vec::new());
            if call.repairs.is_empty() {
                prop_assert_eq!(call.arguments.as_str(), text);
            }
            let again = toolset.read_call("t", call.arguments.as_str(), Dialect::NATIVE, End::Complete).unwrap();
            prop_assert_eq!(again.arguments, call.arguments);
            prop_assert_eq!(again.repairs, Vec::new());
        }
    }

    #[test]
    fn valid_arguments_lose_no_value(schema in object_schema(any_schema()), object in any_object()) {
        let toolset = toolset(schema);
        let value = Value::Object(object);
        if toolset.validate("t", &value).is_empty() {
            let text = value.to_string();
            let call = toolset.read_call("t", &text, Dialect::NATIVE, End::Complete);
            prop_assert!(call.is_ok(), "{:?}", call);
        }
    }

    #[test]
    fn refused_arguments_say_which_fields(schema in object_schema(any_schema()), object in any_object()) {
        let toolset = toolset(schema);
        let value = Value::Object(object);
        for fault in toolset.validate("t", &value) {
            prop_assert!(!fault.allowed.is_empty());
            prop_assert!(fault.path.is_empty() || fault.path.starts_with('/'));
        }
    }

    #[test]
    fn any_text_and_any_name_are_answered(name in any::<String>(), text in any_text()) {
        let toolset = toolset(json!({"properties": {"a": {"type": "integer"}}}));
        let _ = toolset.read_call(&name, &text, Dialect::NATIVE, End::Cut);
        let _ = toolset.read_call("t", &text, Dialect::NATIVE, End::Complete);
        let _ = toolset.resolve(&text);
    }

    #[test]
    fn any_schema_compiles(schema in any_value()) {
        let toolset = toolset(schema);
        let _ = toolset.read_call("t", "{\"n\": 1}", Dialect::NATIVE, End::Complete);
    }
}

/// The value as Python's `repr` writes it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(bit) => if *bit { "True" } else { "False" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n")),
        Value::Array(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let members =
                object.iter().map(|(key, value)| format!("{}: {}", python(&Value::from(key.as_str())), python(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Whether a value is another one cut off: the last list or object may have lost members, the last number digits.
fn is_part_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().enumerate().all(|(index, (key, value))| match whole.get(key) {
                Some(other) if index + 1 == part.len() => is_part_of(value, other),
                Some(other) => value == other,
                None => false,
            })
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len()
                && part.iter().zip(whole).enumerate().all(|(index, (value, other))| {
                    if index + 1 == part.len() { is_part_of(value, other) } else { value == other }
                })
        }
        (Value::Number(_), Value::Number(_)) => true,
        (part, whole) => part == whole,
    }
}

/// The letters and digits of the JSON text as they were meant: escapes read, in order.
fn letters(json: &str, value: &Value) -> Vec<char> {
    fn collect(value: &Value, found: &mut String) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => found.push_str(&value.to_string()),
            Value::String(text) => found.push_str(text),
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Object(object) => {
                for (key, value) in object {
                    found.push_str(key);
                    collect(value, found);
                }
            }
        }
    }
    let mut found = String::new();
    collect(value, &mut found);
    // Numbers that a value can't hold exactly, and keys that stand twice, are not comparable.
    let comparable = serde_json::to_string(value).is_ok_and(|text| text.len() == json.len());
    if comparable { found.chars().filter(char::is_ascii_alphanumeric).collect() } else { Vec::new() }
}

#[test]
fn long_texts_of_any_pattern_are_read() {
    // Nothing is asserted about the time, but a quadratic step in one of these would be felt.
    let size = 20_000;
    let toolset =
        toolset(json!({"properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}}));
    let repeated = |piece: &str| piece.repeat(size / piece.len());
    for start in [
        "",
        "{\"a\": \"",
        "{\"a\": ",
        "{\"b\": [",
        "{'a': 'x",
        "{\"a\": \"x\" ",
        "{\"a\": 1",
        "{\"a\": \"C:\\",
        "{\\\"a\\\": ",
        "{\"a\": \\\"x",
    ] {
        for piece in PIECES.iter().chain(&[
            "{\"a\":",
            "\", \"a\": \"",
            "\", ",
            "\"} ",
            "\"]",
            "\" \"",
            "1 ",
            "1,",
            "x,",
            "b:\\",
            "{\"a\":1}",
            "{} ",
            "]]]",
            "] ",
            "/*",
            "//",
            "\" //",
            "a b ",
            "\"\"\"\"",
            "\\\\",
            "“x” ",
            "\" }",
            "}, \"k\": 1",
            "\", k: ",
            "'s ",
            "{}{",
            "\u{2028}",
        ]) {
            let text = format!("{start}{}", repeated(piece));
            let _ = repair_object(&text).map(|repaired| assert!(serde_json::from_str::<Value>(&repaired.json).is_ok()));
            let _ = toolset.read_call("t", &text, Dialect::NATIVE, End::Cut);
        }
    }
}
