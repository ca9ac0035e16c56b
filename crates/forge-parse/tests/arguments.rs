//! Arguments of calls: read as the schema asks where that loses nothing, and refused with the field where it would.
#![expect(clippy::panic, reason = "the functions that tests share fail by panicking")]

use std::sync::Arc;

use forge_parse::{Dialect, End, Fault, ParsedCall, ToolSpec, Toolset};
use serde_json::{Map, Value, json};

fn tool(parameters: Value) -> Arc<Toolset> {
    Toolset::compile(vec![ToolSpec::new("t", "", parameters)])
}

/// A tool with these properties, all optional.
fn properties(properties: Value) -> Arc<Toolset> {
    tool(json!({"type": "object", "properties": properties}))
}

fn read(toolset: &Toolset, raw: &str) -> Result<ParsedCall, Fault> {
    toolset.read_call("t", raw, Dialect::NATIVE, End::Complete)
}

/// The arguments of each row are read as the text behind them, with these repairs.
fn assert_read(properties: Value, rows: &[(&str, &str, &[&str])]) {
    let toolset = self::properties(properties);
    for (raw, expected, repairs) in rows {
        let call = read(&toolset, raw).unwrap_or_else(|fault| panic!("{raw}: {fault:?}"));
        let kinds: Vec<&str> = call.repairs.iter().map(|repair| &*repair.kind).collect();
        assert_eq!((call.arguments.as_str(), kinds.as_slice()), (*expected, *repairs), "{raw}");
    }
}

/// The arguments of each row are refused for exactly these fields.
fn assert_refused(properties: Value, rows: &[(&str, &[&str])]) {
    let toolset = self::properties(properties);
    for (raw, paths) in rows {
        match read(&toolset, raw) {
            Err(Fault::InvalidArguments { fields, .. }) => {
                let found: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
                assert_eq!(found, *paths, "{raw}");
            }
            other => panic!("{raw}: {other:?}"),
        }
    }
}

#[test]
fn scalars_written_as_text() {
    assert_read(
        json!({"i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}, "in": {"type": ["integer", "null"]}}),
        &[
            (r#"{"i": "5"}"#, r#"{"i":5}"#, &["string-to-integer"]),
            (r#"{"i": " -12 "}"#, r#"{"i":-12}"#, &["string-to-integer"]),
            (r#"{"i": "5.0"}"#, r#"{"i":5}"#, &["string-to-integer"]),
            (
                r#"{"i": "123456789012345678901234567890"}"#,
                r#"{"i":123456789012345678901234567890}"#,
                &["string-to-integer"],
            ),
            (r#"{"n": "2.50"}"#, r#"{"n":2.50}"#, &["string-to-number"]),
            (r#"{"n": ".5"}"#, r#"{"n":0.5}"#, &["string-to-number"]),
            (r#"{"b": "true"}"#, r#"{"b":true}"#, &["string-to-boolean"]),
            (r#"{"b": "False"}"#, r#"{"b":false}"#, &["string-to-boolean"]),
            (r#"{"b": True}"#, r#"{"b":true}"#, &["python-literal"]),
            (r#"{"in": "None"}"#, r#"{"in":null}"#, &["string-to-null"]),
            (r#"{"in": "7"}"#, r#"{"in":7}"#, &["string-to-integer"]),
            (r#"{"i": 5.0}"#, r#"{"i": 5.0}"#, &[]),
        ],
    );
}

#[test]
fn scalars_that_would_lose_something() {
    let schema = json!({"i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}});
    assert_refused(
        schema,
        &[
            (r#"{"i": "3.7"}"#, &["/i"]),
            (r#"{"i": 3.7}"#, &["/i"]),
            (r#"{"i": "007"}"#, &["/i"]),
            (r#"{"i": "1e3"}"#, &["/i"]),
            (r#"{"i": "1,000"}"#, &["/i"]),
            (r#"{"i": "five"}"#, &["/i"]),
            (r#"{"i": "0x1f"}"#, &["/i"]),
            (r#"{"n": "50%"}"#, &["/n"]),
            (r#"{"n": NaN}"#, &["/n"]),
            (r#"{"n": -Infinity}"#, &["/n"]),
            (r#"{"b": "yes"}"#, &["/b"]),
            (r#"{"b": 1}"#, &["/b"]),
            (r#"{"i": true}"#, &["/i"]),
            (r#"{"i": "5", "n": "x"}"#, &["/i", "/n"]),
        ],
    );
}

#[test]
fn scalars_where_text_belongs() {
    assert_read(
        json!({"s": {"type": "string"}, "sn": {"type": ["string", "null"]}}),
        &[
            (r#"{"s": 73}"#, r#"{"s":"73"}"#, &["number-to-string"]),
            (r#"{"s": 1.50}"#, r#"{"s":"1.50"}"#, &["number-to-string"]),
            (r#"{"s": 12345678901234567890123}"#, r#"{"s":"12345678901234567890123"}"#, &["number-to-string"]),
            (r#"{"s": false}"#, r#"{"s":"false"}"#, &["boolean-to-string"]),
            (r#"{"s": "5"}"#, r#"{"s": "5"}"#, &[]),
            (r#"{"sn": "null"}"#, r#"{"sn": "null"}"#, &[]),
        ],
    );
    assert_refused(json!({"s": {"type": "string"}}), &[(r#"{"s": ["a"]}"#, &["/s"]), (r#"{"s": {"a": 1}}"#, &["/s"])]);
}

#[test]
fn lists_and_objects_written_as_text() {
    let schema = json!({
        "strings": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "objects": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "object": {"type": "object"},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}]},
    });
    assert_read(
        schema,
        &[
            (r#"{"strings": "['teal', 'rust']"}"#, r#"{"strings":["teal","rust"]}"#, &["json-text"]),
            (r#"{"numbers": "[1, 2]"}"#, r#"{"numbers":[1,2]}"#, &["json-text"]),
            (r#"{"numbers": ["1", 2]}"#, r#"{"numbers":[1,2]}"#, &["string-to-integer"]),
            (
                r#"{"objects": "[{\"n\": \"1\", \"t\": \"2\"}]"}"#,
                r#"{"objects":[{"n":1,"t":"2"}]}"#,
                &["json-text", "string-to-integer"],
            ),
            (r#"{"objects": ["{\"n\": 1}"]}"#, r#"{"objects":[{"n":1}]}"#, &["json-text"]),
            (r#"{"object": "{'a': True, 'b': None}"}"#, r#"{"object":{"a":true,"b":null}}"#, &["json-text"]),
            (r#"{"pair": ["1", "true"]}"#, r#"{"pair":[1,true]}"#, &["string-to-integer", "string-to-boolean"]),
        ],
    );
}

#[test]
fn text_that_is_no_single_list_or_object() {
    let schema = json!({
        "strings": {"type": "array", "items": {"type": "string"}},
        "objects": {"type": "array", "items": {"type": "object"}},
        "object": {"type": "object"},
    });
    assert_refused(
        schema,
        &[
            (r#"{"objects": "[{\"a\": {\"b\": 1}]"}"#, &["/objects"]),
            (r#"{"object": "{\"a\": 1"}"#, &["/object"]),
            (r#"{"object": "{a: 1}"}"#, &["/object"]),
            (r#"{"object": "[1]"}"#, &["/object"]),
            (r#"{"strings": "red, green"}"#, &["/strings"]),
            (r#"{"strings": "[red"}"#, &["/strings"]),
            (r#"{"objects": "a word"}"#, &["/objects"]),
        ],
    );
}

#[test]
fn one_value_where_a_list_belongs() {
    let schema = json!({
        "strings": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "objects": {"type": "array", "items": {"type": "object"}},
    });
    assert_read(
        schema,
        &[
            (r#"{"strings": "rain fall"}"#, r#"{"strings":["rain fall"]}"#, &["single-to-list"]),
            (r#"{"numbers": 4}"#, r#"{"numbers":[4]}"#, &["single-to-list"]),
            (r#"{"numbers": "4"}"#, r#"{"numbers":[4]}"#, &["string-to-integer", "single-to-list"]),
            (r#"{"objects": {"a": 1}}"#, r#"{"objects":[{"a":1}]}"#, &["single-to-list"]),
        ],
    );
}

#[test]
fn an_empty_value_of_an_optional_key_is_left_out() {
    let schema = json!({
        "i": {"type": "integer"}, "s": {"type": "string"}, "list": {"type": "array"}, "e": {"enum": ["a", "b"]},
        "in": {"type": ["integer", "null"]},
        "o": {"type": "object", "properties": {"x": {"type": "number"}}},
    });
    assert_read(
        schema,
        &[
            (r#"{"i": null, "s": "x"}"#, r#"{"s":"x"}"#, &["absent-optional"]),
            (r#"{"i": "", "s": ""}"#, r#"{"s":""}"#, &["absent-optional"]),
            (r#"{"i": "None"}"#, r#"{}"#, &["absent-optional"]),
            (r#"{"s": null, "list": null, "e": ""}"#, r#"{}"#, &["absent-optional"; 3]),
            (r#"{"in": null}"#, r#"{"in": null}"#, &[]),
            (r#"{"o": {"x": null}}"#, r#"{"o":{}}"#, &["absent-optional"]),
        ],
    );
}

#[test]
fn a_required_key_is_never_left_out() {
    let toolset = tool(json!({"properties": {"i": {"type": "integer"}}, "required": ["i"]}));
    for raw in [r#"{"i": null}"#, r#"{"i": ""}"#, r#"{"i": "null"}"#, "{}"] {
        assert!(matches!(read(&toolset, raw), Err(Fault::InvalidArguments { .. })), "{raw}");
    }
}

#[test]
fn keys_that_differ_in_case_and_underscores() {
    assert_read(
        json!({"filePath": {"type": "string"}, "max_rows": {"type": "integer"}, "o": {"type": "object", "properties": {"a-b": {"type": "integer"}}}}),
        &[
            (r#"{"file_path": "x"}"#, r#"{"filePath":"x"}"#, &["key-name"]),
            (
                r#"{"MaxRows": "5", "FilePath": "y"}"#,
                r#"{"max_rows":5,"filePath":"y"}"#,
                &["key-name", "key-name", "string-to-integer"],
            ),
            (r#"{"o": {"a_b": 1}}"#, r#"{"o":{"a-b":1}}"#, &["key-name"]),
            (r#"{"filePath": "x", "file_path": "y"}"#, r#"{"filePath": "x", "file_path": "y"}"#, &[]),
            (r#"{"file_path": "x", "FilePath": "y"}"#, r#"{"file_path": "x", "FilePath": "y"}"#, &[]),
            (r#"{"path": "x"}"#, r#"{"path": "x"}"#, &[]),
        ],
    );
}

#[test]
fn keys_with_two_readings_stay() {
    let toolset = tool(json!({
        "properties": {"a_b": {"type": "string"}, "aB": {"type": "string"}}, "additionalProperties": false,
    }));
    assert!(read(&toolset, r#"{"ab": "x"}"#).is_err());
    let open = tool(json!({"properties": {"a_b": {"type": "string"}}, "additionalProperties": true}));
    assert_eq!(read(&open, r#"{"aB": "x"}"#).unwrap().repairs, []);
}

#[test]
fn options_that_are_spelled_otherwise() {
    assert_read(
        json!({"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}, "level": {"enum": [1, 2]}, "code": {"enum": ["1", "2"]}, "k": {"const": true}}),
        &[
            (r#"{"unit": "Celsius"}"#, r#"{"unit":"celsius"}"#, &["option-spelling"]),
            (r#"{"level": "2"}"#, r#"{"level":2}"#, &["option-spelling"]),
            (r#"{"code": 2}"#, r#"{"code":"2"}"#, &["option-spelling"]),
            (r#"{"k": "True"}"#, r#"{"k":true}"#, &["option-spelling"]),
        ],
    );
    assert_refused(
        json!({"unit": {"enum": ["celsius", "Kelvin", "kelvin"]}}),
        &[(r#"{"unit": "C"}"#, &["/unit"]), (r#"{"unit": "KELVIN"}"#, &["/unit"])],
    );
}

#[test]
fn through_references_and_combined_schemas() {
    let toolset = tool(json!({
        "type": "object",
        "properties": {
            "ref": {"$ref": "#/$defs/count"},
            "optional": {"anyOf": [{"$ref": "#/$defs/count"}, {"type": "null"}]},
            "single": {"anyOf": [{"type": "number"}]},
            "all": {"allOf": [{"$ref": "#/$defs/point"}, {"properties": {"z": {"type": "integer"}}}]},
            "either": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
            "listed": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
            "text": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "shape": {"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
                {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
            ]},
            "tree": {"$ref": "#/$defs/tree"},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "$defs": {
            "count": {"type": "integer"},
            "point": {"type": "object", "properties": {"x": {"type": "number"}}},
            "tree": {"type": "object", "properties": {"value": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
        },
    }));
    for (raw, expected) in [
        (r#"{"ref": "5"}"#, r#"{"ref":5}"#),
        (r#"{"optional": "5"}"#, r#"{"optional":5}"#),
        (r#"{"optional": "null"}"#, r#"{"optional":null}"#),
        (r#"{"single": "5"}"#, r#"{"single":5}"#),
        (r#"{"all": {"x": "1.5", "z": "2"}}"#, r#"{"all":{"x":1.5,"z":2}}"#),
        (r#"{"either": "5"}"#, r#"{"either":5}"#),
        (r#"{"either": "true"}"#, r#"{"either":true}"#),
        (r#"{"listed": "5"}"#, r#"{"listed":5}"#),
        (r#"{"listed": ["5"]}"#, r#"{"listed":[5]}"#),
        (r#"{"text": "5"}"#, r#"{"text": "5"}"#),
        (r#"{"shape": {"kind": "square", "side": "2"}}"#, r#"{"shape":{"kind":"square","side":2}}"#),
        (r#"{"shape": "{\"kind\": \"circle\", \"radius\": 2}"}"#, r#"{"shape":{"kind":"circle","radius":2}}"#),
        (
            r#"{"tree": {"value": "1", "kids": [{"value": "2", "kids": "[]"}]}}"#,
            r#"{"tree":{"value":1,"kids":[{"value":2,"kids":[]}]}}"#,
        ),
        (r#"{"map": {"a": "1"}}"#, r#"{"map":{"a":1}}"#),
    ] {
        let call = read(&toolset, raw).unwrap_or_else(|fault| panic!("{raw}: {fault:?}"));
        assert_eq!(call.arguments.as_str(), expected, "{raw}");
    }
}

#[test]
fn alternatives_with_two_readings_are_left() {
    let toolset = properties(json!({"v": {"anyOf": [
        {"type": "array", "items": {"type": "integer"}},
        {"type": "object", "properties": {"n": {"type": "array", "items": {"type": "integer"}}}, "required": ["n"]},
        {"type": "array", "items": {"type": "string"}},
    ]}}));
    assert!(read(&toolset, r#"{"v": "5"}"#).is_err());
}

#[test]
fn digits_beside_a_coerced_value_are_kept() {
    assert_read(
        json!({"id": {"type": "integer"}, "x": {"type": "number"}, "n": {"type": "integer"}}),
        &[(
            r#"{"id": 98765432109876543210987654321, "x": 0.1000000000000000000000001, "n": "1"}"#,
            r#"{"id":98765432109876543210987654321,"x":0.1000000000000000000000001,"n":1}"#,
            &["string-to-integer"],
        )],
    );
}

#[test]
fn delimiters_that_leaked_into_values() {
    assert_read(
        json!({"s": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}, "n": {"type": "integer"}}),
        &[
            (r#"{"s": "<|\"|>north<|\"|>"}"#, r#"{"s":"north"}"#, &["token-leak"]),
            (
                r#"{"list": ["<|\"|a<|\"|", "<escape>b<escape>"]}"#,
                r#"{"list":["a","b"]}"#,
                &["token-leak", "token-leak"],
            ),
            (r#"{"n": "<escape>5<escape>"}"#, r#"{"n":5}"#, &["token-leak", "string-to-integer"]),
            (r#"{"s": "write <|\"|> around it"}"#, r#"{"s": "write <|\"|> around it"}"#, &[]),
            (r#"{"s": "<escape>"}"#, r#"{"s": "<escape>"}"#, &[]),
        ],
    );
}

#[test]
fn arguments_inside_a_string() {
    assert_read(
        json!({"a": {"type": "integer"}}),
        &[
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#, &["double-encoded"]),
            (r#""{'a': 1}""#, r#"{"a":1}"#, &["double-encoded", "quote-marks"]),
        ],
    );
    let toolset = properties(json!({"a": {"type": "integer"}}));
    for raw in [r#""text""#, r#""{\"a\": 1""#, r#""\"{}\"""#] {
        assert!(matches!(read(&toolset, raw), Err(Fault::MalformedArguments { .. })), "{raw}");
    }
}

#[test]
fn arguments_inside_an_envelope() {
    assert_read(
        json!({"a": {"type": "integer"}}),
        &[
            (r#"{"arguments": {"a": 1.0}}"#, r#"{"a": 1.0}"#, &["wrapped-arguments"]),
            (r#"{"name": "t", "parameters": {"a": "1"}}"#, r#"{"a":1}"#, &["wrapped-arguments", "string-to-integer"]),
            (r#"{"name": "t", "arguments": {}}"#, "{}", &["wrapped-arguments"]),
            // Of another tool, of other keys, beside other keys: no envelope.
            (r#"{"name": "u", "arguments": {"a": 1}}"#, r#"{"name": "u", "arguments": {"a": 1}}"#, &[]),
            (r#"{"arguments": {"b": 1}}"#, r#"{"arguments": {"b": 1}}"#, &[]),
            (r#"{"arguments": {"a": 1}, "a": 2}"#, r#"{"arguments": {"a": 1}, "a": 2}"#, &[]),
        ],
    );
    let schema = json!({"input": {"type": "object", "properties": {"a": {}}}, "a": {}});
    assert_read(schema, &[(r#"{"input": {"a": 1}}"#, r#"{"input": {"a": 1}}"#, &[])]);
}

#[test]
fn no_arguments() {
    assert_read(json!({}), &[("", "{}", &["no-arguments"]), ("null", "{}", &["no-arguments"]), ("{}", "{}", &[])]);
    let toolset = tool(json!({"properties": {"a": {}}, "required": ["a"]}));
    assert!(matches!(read(&toolset, ""), Err(Fault::InvalidArguments { .. })));
}

#[test]
fn what_is_cut_never_runs() {
    let toolset = properties(json!({"a": {"type": "string"}, "b": {"type": "array"}}));
    for (raw, complete, cut) in [
        (r#"{"a": "x"#, false, false),
        ("{", false, false),
        (r#"{"a": "x", "b": [1, 2"#, false, false),
        (r#"{"a": "x", "b": [1, 2]"#, true, false),
        (r#"{"a": "x""#, true, false),
        (r#"{"a": "x"}"#, true, true),
        ("", true, false),
    ] {
        for (end, runs) in [(End::Complete, complete), (End::Cut, cut)] {
            match toolset.read_call("t", raw, Dialect::NATIVE, end) {
                Ok(_) => assert!(runs, "{raw} {end:?}"),
                Err(fault) => {
                    assert!(!runs, "{raw} {end:?} {fault:?}");
                    assert!(matches!(fault, Fault::Truncated { .. }), "{raw} {end:?} {fault:?}");
                }
            }
        }
    }
}

#[test]
fn a_cut_text_is_not_malformed() {
    let toolset = properties(json!({"a": {"type": "string"}}));
    for raw in [r#"{"a": "say "hi" and"#, r#"{"a": "x", "b"#, r#"{"a": "x","#, r#"{"a": "#] {
        let fault = toolset.read_call("t", raw, Dialect::NATIVE, End::Cut).unwrap_err();
        assert!(matches!(fault, Fault::Truncated { .. }), "{raw}: {fault:?}");
    }
}

#[test]
fn malformed_arguments_say_where() {
    let toolset = properties(json!({"a": {"type": "string"}}));
    match read(&toolset, r#"{"a": "x", "b": }"#) {
        Err(Fault::MalformedArguments { problem, offset, .. }) => {
            assert_eq!(problem, "a value for the key is expected at byte 16, but there is '}'");
            assert_eq!(offset, 16);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_calls_in_one_are_refused() {
    let toolset = properties(json!({"a": {"type": "integer"}}));
    assert!(matches!(read(&toolset, r#"{"a": 1}{"a": 2}"#), Err(Fault::MalformedArguments { .. })));
}

#[test]
fn a_key_with_two_values_is_refused() {
    let toolset = properties(json!({"a": {"type": "integer"}}));
    let two = r#"{"a": 1, "a": 2}"#;
    match read(&toolset, two) {
        Err(Fault::MalformedArguments { problem, .. }) => {
            assert_eq!(problem, "the key \"a\" is there twice with different values");
        }
        other => panic!("{other:?}"),
    }
    let same = r#"{"a": 1, "a": 1}"#;
    assert_eq!(read(&toolset, same).unwrap().arguments.as_str(), same);
}

#[test]
fn fields_written_as_text() {
    let toolset = properties(json!({
        "n": {"type": "integer"}, "s": {"type": "string"}, "b": {"type": "boolean"}, "o": {"type": "object"}, "any": {},
    }));
    let fields: Map<String, Value> = [("n", "5"), ("s", "5"), ("b", "True"), ("o", "{\"max\":22}"), ("any", "7")]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    let call = toolset.read_fields("t", fields, Dialect::named("x"), Vec::new()).unwrap();
    assert_eq!(call.arguments.as_str(), r#"{"n":5,"s":"5","b":true,"o":{"max":22},"any":"7"}"#);
}

#[test]
fn deep_arguments_do_not_overflow_the_stack() {
    let toolset = tool(json!({"$ref": "#/$defs/n", "$defs": {"n": {
        "type": "object", "properties": {"k": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "array", "items": {"$ref": "#/$defs/n"}}, {"type": "integer"}]}},
    }}}));
    let object = |depth: usize, leaf: &str| format!("{}{leaf}{}", "{\"k\":".repeat(depth), "}".repeat(depth));
    assert!(read(&toolset, &object(120, "1")).is_ok());
    assert!(read(&toolset, &object(30, "\"1\"")).is_ok());
    assert!(read(&toolset, &object(120, "true")).is_err());
    assert!(matches!(read(&toolset, &object(100_000, "1")), Err(Fault::MalformedArguments { .. })));
    let text = serde_json::to_string(&object(100, "1")).unwrap();
    let nested = object(100, &text);
    assert!(read(&toolset, &nested).is_err());
}

#[test]
fn a_tool_without_a_usable_schema_takes_any_object() {
    let toolset = tool(json!({"type": "objekt"}));
    assert_eq!(toolset.warnings().len(), 1);
    assert_eq!(read(&toolset, r#"{"a": "5"}"#).unwrap().arguments.as_str(), r#"{"a": "5"}"#);
    assert!(read(&toolset, "text").is_err());
}
