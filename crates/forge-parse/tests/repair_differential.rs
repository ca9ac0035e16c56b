//! The repairer beside a published one. Where both read a text they must read the same; where they differ the reason
//! is written down here.
#![expect(clippy::panic, reason = "the functions that tests share fail by panicking")]

use forge_parse::repair::repair_object;
use jsonrepair_rs::jsonrepair;
use proptest::prelude::*;
use serde_json::Value;

fn ours(text: &str) -> Option<Value> {
    let repaired = repair_object(text).ok()?;
    Some(serde_json::from_str(&repaired.json).unwrap_or_else(|error| panic!("{text}: {error}")))
}

fn theirs(text: &str) -> Option<Value> {
    serde_json::from_str(&jsonrepair(text).ok()?).ok()
}

fn json(text: Option<&str>) -> Option<Value> {
    text.map(|text| serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")))
}

#[test]
fn both_read_the_same() {
    for text in [
        r#"{"a": 1, "b": [1, 2,],}"#,
        r#"{"a": 1 "b": "x" "c": [1 2 "y" "z"]}"#,
        r#"{'a': 'x', "b": 'it\'s'}"#,
        r#"{"a": "it's", 'b': "x"}"#,
        r#"{"a": 'x"y'}"#,
        r#"{a: 1, b_c: "x", $e: 2}"#,
        r#"{"a": New York, "b": 1}"#,
        r#"{"u": http://x.y/z, "b": 1}"#,
        r#"{"a": 007}"#,
        r#"{"a": .5, "b": 5., "c": +7}"#,
        r#"{"a": True, "b": False, "c": None}"#,
        "{“a”: “x”, ‘b’: ‘y’}",
        "{\"a\": `x`}",
        "{\"a\":\u{a0}1}",
        "{\"a\": \"x\ny\tz\"}",
        "{\"a\": 1, // one\n \"b\": /* two */ 2}",
        "{\"a\": \"x\", # first\n\"b\": 2}",
        "```json\n{\"a\": 1}\n```",
        r#"callback({"a": 1});"#,
        r#"{\"a\": \"x\"}"#,
        r#"{"a": [1, 2}"#,
        r#"{"a": {"b": 1}"#,
        r#"{"a": [{"b": "x"], "c": 1}"#,
        r#"{"a": 1}}"#,
        r#"{"a": 1}]"#,
    ] {
        let (ours, theirs) = (ours(text), theirs(text));
        assert!(ours.is_some(), "{text}");
        assert_eq!(ours, theirs, "{text}");
    }
}

#[test]
fn both_refuse() {
    for text in [r#"{"a"}"#, r#"{"a": 1}{"a": 2}"#, r#"{"a": "x" y}"#, r#"{"a": 1; "b": 2}"#, r#"{"a": [1,,2]}"#] {
        assert_eq!((ours(text), theirs(text)), (None, None), "{text}");
    }
}

#[test]
fn the_differences_have_reasons() {
    let table: [(&str, &str, Option<&str>, Option<&str>); 26] = [
        (
            "a lost backslash changes a pattern",
            r#"{"re": "\d+\."}"#,
            Some(r#"{"re": "\\d+\\."}"#),
            Some(r#"{"re": "d+."}"#),
        ),
        ("and a path", r#"{"p": "C:\Files\x"}"#, Some(r#"{"p": "C:\\Files\\x"}"#), Some(r#"{"p": "C:Filesx"}"#)),
        ("half of a pair is kept as it was written", r#"{"a": "\ud83d"}"#, Some(r#"{"a": "\\ud83d"}"#), None),
        ("a string that was cut is no value", r#"{"a": "x"#, None, Some(r#"{"a": "x"}"#)),
        ("nor is a word", r#"{"a": tru"#, None, Some(r#"{"a": "tru"}"#)),
        ("nor a number that may lack digits", r#"{"a": 12"#, None, Some(r#"{"a": 12}"#)),
        ("nor is a key without a value null", r#"{"a": "#, None, Some(r#"{"a": null}"#)),
        ("also where the object is closed", r#"{"a": }"#, None, Some(r#"{"a": null}"#)),
        ("a comma announces one more key", r#"{"a": 1,"#, None, Some(r#"{"a": 1}"#)),
        ("what is undefined is not null", r#"{"a": undefined}"#, None, Some(r#"{"a": null}"#)),
        (
            "not a number is not null; the schema refuses it",
            r#"{"a": NaN}"#,
            Some(r#"{"a": "NaN"}"#),
            Some(r#"{"a": null}"#),
        ),
        (
            "an unfinished exponent is not zero",
            r#"{"a": 2e, "b": 1}"#,
            Some(r#"{"a": "2e", "b": 1}"#),
            Some(r#"{"a": 2.0, "b": 1}"#),
        ),
        ("nor is a sign", r#"{"a": -}"#, Some(r#"{"a": "-"}"#), Some(r#"{"a": -0.0}"#)),
        ("an ellipsis stands for values that aren't there", r#"{"a": [1, ...]}"#, None, Some(r#"{"a": [1]}"#)),
        ("a function call is no string", r#"{"a": f(1)}"#, None, Some(r#"{"a": "f(1)"}"#)),
        ("a sum is computed by a program", r#"{"a": "b" + "c"}"#, None, Some(r#"{"a": "bc"}"#)),
        ("prose is no object", "just prose", None, Some(r#""just prose""#)),
        ("nor is a list", r#"[{"a": 1}"#, None, Some(r#"[{"a": 1}]"#)),
        ("an object in prose is one", "Here: {\"a\": 1} ok", Some(r#"{"a": 1}"#), None),
        ("quotes in a text", r#"{"a": "say "hi"", "b": 1}"#, Some(r#"{"a": "say \"hi\"", "b": 1}"#), None),
        ("braces that a template doubled", r#"{{"a": 1}}"#, Some(r#"{"a": 1}"#), None),
        ("escaped quotes around one value", r#"{"a": \\"x\\"}"#, Some(r#"{"a": "x"}"#), None),
        ("an escaped line break between values", r#"{"a": 1, \n "b": 2}"#, Some(r#"{"a": 1, "b": 2}"#), None),
        ("a comma too many", r#"{"a": 1, , "b": 2}"#, Some(r#"{"a": 1, "b": 2}"#), None),
        (
            "a brace too many",
            r#"{"a": {"b": 1}}, "c": 2}"#,
            Some(r#"{"a": {"b": 1}, "c": 2}"#),
            Some(r#"[{"a": {"b": 1}}, "c", ": 2"]"#),
        ),
        (
            "Python's long strings",
            r#"{"a": """x "y" z"""}"#,
            Some(r#"{"a": "x \"y\" z"}"#),
            Some(r#"{"a": "", "x \"y\" z": ""}"#),
        ),
    ];
    for (reason, text, expected, published) in table {
        assert_eq!(ours(text), json(expected), "{reason}: {text}");
        assert_eq!(theirs(text), json(published), "{reason}: {text}");
    }
}

proptest! {
    #[test]
    fn broken_commas_and_quotes_read_the_same(members in prop::collection::vec(("[a-z]{1,6}", "[a-z ]{0,8}", 0..1000_i32), 1..6)) {
        let members: Vec<String> = members.iter().map(|(key, text, number)| format!("'{key}': ['{text}', {number},]")).collect();
        let text = format!("{{{}}}", members.join(" "));
        prop_assert_eq!(ours(&text), theirs(&text), "{}", text);
    }
}
