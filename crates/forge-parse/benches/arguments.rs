//! What reading the arguments of a call costs.

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::BytesCount;
use forge_parse::repair::repair_object;
use forge_parse::{Dialect, End, ToolSpec, Toolset, ToolsetCache};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// The schema of a file-editing tool, as agents have them.
fn edit_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "The absolute path of the file."},
            "old_string": {"type": "string", "description": "The text to replace."},
            "new_string": {"type": "string", "description": "The text to put in its place."},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence."},
            "line": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": false,
    })
}

fn nested_schema(index: usize) -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": format!("What to look for in collection {index}.")},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "filter": {
                "type": "object",
                "properties": {
                    "field": {"type": "string", "enum": ["title", "author", "date"]},
                    "any_of": {"type": "array", "items": {"type": "object", "properties": {
                        "op": {"type": "string"}, "value": {"anyOf": [{"type": "string"}, {"type": "number"}]},
                    }}},
                },
            },
            "sort": {"anyOf": [{"$ref": "#/$defs/sort"}, {"type": "null"}]},
        },
        "$defs": {"sort": {"type": "object", "properties": {"by": {"type": "string"}, "down": {"type": "boolean"}}}},
        "required": ["query"],
    })
}

fn hundred_tools() -> Vec<ToolSpec> {
    let description = "Searches one collection and returns the matching records, newest first, with their identifiers.";
    (0..100).map(|index| ToolSpec::new(format!("search_{index}"), description, nested_schema(index))).collect()
}

fn editor() -> Arc<Toolset> {
    Toolset::compile(vec![ToolSpec::new("edit", "Edits a file.", edit_schema())])
}

const CLEAN: &str = r#"{"file_path": "/src/main.rs", "old_string": "let x = 1;\n", "new_string": "let x = 2;\n", "replace_all": false, "line": 12}"#;
const COERCED: &str = r#"{"filePath": "/src/main.rs", "old_string": "let x = 1;\n", "new_string": "let x = 2;\n", "replace_all": "false", "line": "12"}"#;
const BROKEN: &str =
    r#"{'file_path': '/src/main.rs', 'old_string': "print("x")", 'new_string': "y", 'replace_all': True, 'line': 12,}"#;
const WRONG: &str = r#"{"file_path": 5.5, "old_string": ["a"], "line": 0, "more": true}"#;

#[divan::bench(args = [("clean", CLEAN), ("coerced", COERCED), ("broken", BROKEN), ("wrong", WRONG)])]
fn typical_call(bencher: Bencher<'_, '_>, (_, arguments): (&str, &str)) {
    let toolset = editor();
    bencher.bench(|| toolset.read_call("edit", black_box(arguments), Dialect::NATIVE, End::Complete));
}

#[divan::bench]
fn look_up_100_tools(bencher: Bencher<'_, '_>) {
    let (cache, tools) = (ToolsetCache::default(), hundred_tools());
    cache.get_or_compile(&tools);
    bencher.bench(|| cache.get_or_compile(black_box(&tools)));
}

#[divan::bench]
fn compile_100_tools(bencher: Bencher<'_, '_>) {
    let tools = hundred_tools();
    bencher.bench(|| Toolset::compile(black_box(tools.clone())));
}

#[divan::bench(args = ["search_7", "functions.search_7:0", "Search-7", "serch_7"])]
fn resolve_among_100(bencher: Bencher<'_, '_>, name: &str) {
    let toolset = Toolset::compile(hundred_tools());
    bencher.bench(|| toolset.resolve(black_box(name)));
}

/// Texts that made other readers slow, at 100 kB and at 1 MB: the times must be in the proportion of the sizes.
#[divan::bench(args = [("{", 100_000), ("{", 1_000_000), ("[", 100_000), ("[", 1_000_000), ("{\"a\":", 1_000_000),
    ("\"", 100_000), ("\"", 1_000_000), ("\", \"", 100_000), ("\", \"", 1_000_000), ("x ", 100_000), ("x ", 1_000_000)])]
fn hostile(bencher: Bencher<'_, '_>, (piece, size): (&str, usize)) {
    let text = format!("{{\"a\": {}", piece.repeat(size / piece.len()));
    bencher.counter(BytesCount::of_str(&text)).bench(|| repair_object(black_box(&text)).is_ok());
}

/// A file of this many bytes as an argument, valid, and with raw line breaks that have to be repaired.
#[divan::bench(args = [(true, 100_000), (true, 1_000_000), (false, 100_000), (false, 1_000_000)])]
fn long_text(bencher: Bencher<'_, '_>, (valid, size): (bool, usize)) {
    let line = if valid {
        "fn main() { println!(\\\"one line\\\"); }\\n"
    } else {
        "fn main() { println!(\\\"one line\\\"); }\n"
    };
    let text = format!("{{\"content\": \"{}\"}}", line.repeat(size / line.len()));
    bencher.counter(BytesCount::of_str(&text)).bench(|| repair_object(black_box(&text)));
}
