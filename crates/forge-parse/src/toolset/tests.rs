use std::sync::Arc;

use serde_json::{Value, json};

use super::{End, Resolution, Toolset, ToolsetCache};
use crate::{Dialect, Fault, FieldProblem, ToolSpec};

fn toolset(parameters: Value) -> Arc<Toolset> {
    Toolset::compile(vec![ToolSpec::new("t", "", parameters)])
}

fn named(names: &[&str]) -> Arc<Toolset> {
    Toolset::compile(names.iter().map(|name| ToolSpec::new(*name, "", ToolSpec::no_parameters())).collect())
}

fn resolved(offered: &[&str], raw: &str) -> Option<String> {
    match named(offered).resolve(raw) {
        Resolution::Exact(name) | Resolution::Normalised(name, _) => Some(name.to_string()),
        Resolution::Unknown { .. } => None,
    }
}

#[test]
fn names_that_mean_one_offered_tool() {
    for (offered, raw, expected) in [
        (&["get_row"][..], "get_row", "get_row"),
        (&["get_row"], "functions.get_row", "get_row"),
        (&["get_row"], "functions.get_row:0", "get_row"),
        (&["get_row"], "default_api.get_row", "get_row"),
        (&["get_row"], "tool.get_row", "get_row"),
        (&["get_row"], "GetRow", "get_row"),
        (&["get-row"], "get_row", "get-row"),
        (&["get_row"], "get_row<|channel|>commentary", "get_row"),
        (&["get_row"], "get_row</arg_value>", "get_row"),
        (&["get_row"], "get_row[ARGS]", "get_row"),
        (&["get_row"], " \"get_row\" ", "get_row"),
        (&["get_row"], "get_rowget_row", "get_row"),
        (&["get_row", "GetRow"], "GetRow", "GetRow"),
        (&["a.b_c"], "a.b_c", "a.b_c"),
        (&["functions.get"], "functions.get", "functions.get"),
    ] {
        assert_eq!(resolved(offered, raw).as_deref(), Some(expected), "{raw:?}");
    }
}

#[test]
fn names_that_mean_no_offered_tool() {
    for (offered, raw) in [
        (&["get_invoice"][..], "retrieve_invoice_pdf"),
        (&["mcp__Notes__list_tags"], "notes:list_tags"),
        (&["mcp__desk__open_tab"], "open_tab"),
        (&["fetch_note"], "fetch_note.noteId"),
        (&["crop-crop"], "crop"),
        (&["view_bin"], "veiw_bin"),
        (&["get_row"], "\"}"),
        (&["get_row"], ""),
        (&["get_row", "GetRow"], "getrow"),
    ] {
        assert_eq!(resolved(offered, raw), None, "{raw:?}");
    }
}

#[test]
fn the_nearest_name_comes_first() {
    for (raw, nearest) in
        [("open_tab", "mcp__desk__open_tab"), ("fetch_note.noteId", "fetch_note"), ("veiw_bin", "view_bin")]
    {
        let toolset = named(&["roll_call", "view_bin", "mcp__desk__open_tab", "fetch_note"]);
        let Resolution::Unknown { nearest: names } = toolset.resolve(raw) else { panic!("{raw} is unknown") };
        assert_eq!(names.first().map(ToString::to_string).as_deref(), Some(nearest), "{raw}");
        assert_eq!(names.len(), 4);
    }
}

#[test]
fn valid_arguments_are_kept_byte_for_byte() {
    let raw = "{ \"id\" : 12345678901234567890123,\n\"x\":0.10, \"s\":\"\\u00e9\\/\" }";
    let call = toolset(json!({"type": "object"})).read_call("t", raw, Dialect::NATIVE, End::Complete).unwrap();
    assert_eq!((call.arguments.as_str(), call.repairs.len()), (raw, 0));
}

#[test]
fn an_unknown_tool_is_a_fault() {
    let fault = named(&["a_tool"]).read_call("b", "{}", Dialect::NATIVE, End::Complete).unwrap_err();
    assert!(matches!(fault, Fault::UnknownTool { name, .. } if name == "b"));
}

fn faults(parameters: Value, arguments: Value) -> Vec<(String, FieldProblem, String, Option<String>)> {
    let faults = toolset(parameters).validate("t", &arguments);
    faults.into_iter().map(|fault| (fault.path, fault.problem, fault.allowed, fault.nearest)).collect()
}

fn fault(
    path: &str,
    problem: FieldProblem,
    allowed: &str,
    nearest: Option<&str>,
) -> (String, FieldProblem, String, Option<String>) {
    (path.to_owned(), problem, allowed.to_owned(), nearest.map(str::to_owned))
}

#[test]
fn each_wrong_field_is_reported() {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "mode": {"enum": ["r", "w"]},
            "file": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "at": {"anyOf": [{"type": "object", "properties": {"x/y": {"type": "number"}}, "required": ["x/y"]}, {"type": "null"}]},
        },
        "required": ["file", "count"],
        "additionalProperties": false,
    });
    let arguments = json!({"count": 12, "mode": "x", "flie": "a", "tags": ["a", 5], "at": {}});
    let mut found = faults(schema, arguments);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        found,
        [
            fault("/at/x~1y", FieldProblem::Missing, "a number", None),
            fault("/count", FieldProblem::NotAllowed, "an integer from 1 to 9", None),
            fault("/file", FieldProblem::Missing, "a string", Some("flie")),
            fault(
                "/flie",
                FieldProblem::Unknown,
                "the key must be one of `count`, `mode`, `file`, `tags`, `at`",
                Some("file")
            ),
            fault("/mode", FieldProblem::NotAllowed, "one of \"r\", \"w\"", None),
            fault("/tags/1", FieldProblem::WrongType, "a string", None),
        ]
    );
}

#[test]
fn a_schema_that_cannot_be_used_switches_validation_off_with_one_warning() {
    for (parameters, pointer) in [
        (json!({"type": "object", "properties": {"a": {"type": "strin"}}}), "/properties/a/type"),
        (json!({"properties": {"a": {"$ref": "https://example.org/a.json"}}}), "/properties/a/$ref"),
        (json!({"properties": {"a": {"$ref": "#/$defs/none"}}}), "/properties/a/$ref"),
        (json!("object"), ""),
    ] {
        let toolset = toolset(parameters.clone());
        let warned: Vec<_> = toolset.warnings().iter().map(|warning| warning.problem.pointer.as_str()).collect();
        assert_eq!(warned, [pointer], "{parameters}");
        assert!(toolset.read_call("t", r#"{"a": 1}"#, Dialect::NATIVE, End::Complete).is_ok(), "{parameters}");
    }
}

#[test]
fn the_notation_of_older_drafts_is_understood() {
    let toolset = toolset(json!({"properties": {"p": {"type": "array", "items": [{"type": "integer"}]}}}));
    assert_eq!(toolset.warnings(), []);
    assert_eq!(toolset.validate("t", &json!({"p": ["x"]})).len(), 1);
}

#[test]
fn nullable_allows_null() {
    let toolset = toolset(json!({"properties": {"p": {"type": "string", "enum": ["a"], "nullable": true}}}));
    assert_eq!(toolset.validate("t", &json!({"p": null})), []);
}

#[test]
fn cached_by_content() {
    let cache = ToolsetCache::default();
    let specs = |text: &str| vec![ToolSpec::new("t", text, ToolSpec::no_parameters())];
    let first = cache.get_or_compile(&specs("a"));
    assert!(Arc::ptr_eq(&first, &cache.get_or_compile(&specs("a"))));
    assert!(!Arc::ptr_eq(&first, &cache.get_or_compile(&specs("b"))));
}

#[test]
fn the_cache_is_bounded_and_keeps_what_is_used() {
    let cache = ToolsetCache::new(2);
    let specs = |text: &str| vec![ToolSpec::new("t", text, ToolSpec::no_parameters())];
    let first = cache.get_or_compile(&specs("a"));
    cache.get_or_compile(&specs("b"));
    cache.get_or_compile(&specs("a"));
    cache.get_or_compile(&specs("c"));
    assert_eq!(cache.len(), 2);
    assert!(Arc::ptr_eq(&first, &cache.get_or_compile(&specs("a"))));
}

#[test]
fn the_content_hash_sees_order_and_every_part() {
    let hash = |name: &str, text: &str, schema: Value| {
        Toolset::compile(vec![ToolSpec::new(name, text, schema)]).content_hash()
    };
    let all = [
        hash("a", "b", json!({"x": 1, "y": 2})),
        hash("a", "b", json!({"y": 2, "x": 1})),
        hash("ab", "", json!({"x": 1, "y": 2})),
        hash("a", "b", json!({"x": -1, "y": 2})),
        hash("a", "b", json!({"x": [1], "y": 2})),
    ];
    let distinct: std::collections::HashSet<u128> = all.into_iter().collect();
    assert_eq!(distinct.len(), all.len());
}
