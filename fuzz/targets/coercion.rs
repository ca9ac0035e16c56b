//! Any argument text, against a schema with every means of combination: no panic, and a call that comes out validates.
#![no_main]

use std::sync::{Arc, LazyLock};

use forge_parse::{Dialect, End, ToolSpec, Toolset};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

static TOOLS: LazyLock<Arc<Toolset>> = LazyLock::new(|| {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer", "minimum": 0},
            "ratio": {"type": ["number", "null"]},
            "flag": {"type": "boolean"},
            "unit": {"enum": ["metric", "imperial", 1, null]},
            "fixed": {"const": {"a": [1]}},
            "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"x": {"type": "boolean"}}}]},
            "both": {"allOf": [{"type": "object"}, {"properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}]},
        },
        "required": ["text"],
        "additionalProperties": false,
        "$defs": {"item": {"oneOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/item"}}]}},
    });
    Toolset::compile(vec![ToolSpec::new("f", "", schema)])
});

fuzz_target!(|input: (bool, &str)| {
    let (cut, text) = input;
    let end = if cut { End::Cut } else { End::Complete };
    if let Ok(call) = TOOLS.read_call("f", text, Dialect::NATIVE, end) {
        let faults = TOOLS.validate("f", &call.arguments.to_value());
        assert!(faults.is_empty(), "{text} became {}, which is wrong: {faults:?}", call.arguments);
    }
});
