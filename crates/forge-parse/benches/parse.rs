//! How fast text becomes text and calls. Each typical call is parsed, validated and coerced with compiled tools.

use std::sync::Arc;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use forge_parse::{DIALECTS, FinishReason, Parsed, Parser, ParserOptions, ToolSpec, Toolset, parse};
use serde_json::json;

fn main() {
    divan::main();
}

/// Fifty tools, so that names are looked up among others.
fn toolset() -> Arc<Toolset> {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["a"],
    });
    let names = std::iter::once("f".to_owned()).chain((0..50).map(|index| format!("other_tool_{index}")));
    Toolset::compile(names.map(|name| ToolSpec::new(name, "", schema.clone())).collect())
}

fn read(toolset: &Arc<Toolset>, text: &str) -> Parsed {
    parse(toolset, &ParserOptions::default(), text, FinishReason::Stop)
}

fn prose(bytes: usize) -> String {
    let paragraph = "The harbour office keeps two books. One lists the boats that came in; the other says who paid, \
        and when. In \u{201c}quiet\u{201d} years both fit on a shelf, and nobody asks. Use `ls` to see them.\n\n";
    paragraph.repeat(bytes / paragraph.len())
}

#[divan::bench(args = [50_000, 500_000])]
fn prose_without_calls(bencher: Bencher<'_, '_>, bytes: usize) {
    let (toolset, text) = (toolset(), prose(bytes));
    bencher.counter(BytesCount::of_str(&text)).bench(|| read(&toolset, black_box(&text)));
}

/// One call in each dialect of the table.
#[divan::bench(args = DIALECTS.iter().map(|row| row.id))]
fn call(bencher: Bencher<'_, '_>, id: &str) {
    let toolset = toolset();
    let example = DIALECTS.iter().find(|row| row.id == id).map_or("", |row| row.example);
    assert_eq!(read(&toolset, example).calls().count(), 1);
    bencher.bench(|| read(&toolset, black_box(example)));
}

/// A call as models write it: three arguments, one of them to be coerced.
#[divan::bench]
fn typical_call(bencher: Bencher<'_, '_>) {
    let toolset = toolset();
    let text = "I'll look that up.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"reports/2031/quarter-3.csv\", \
        \"limit\": \"20\", \"tags\": [\"open\", \"late\"]}}\n</tool_call>";
    assert_eq!(read(&toolset, text).calls().count(), 1);
    bencher.bench(|| read(&toolset, black_box(text)));
}

const UNITS: &[&str] =
    &["{", "[", "<tool_call>", "[TOOL_CALLS]", "<tool_call>{\"", "<tool_call>{'", "`", "[f(", "<think>"];
const SIZES: &[usize] = &[100_000, 1_000_000];

/// What no model means and somebody might send: the time has to grow with the size and no faster.
#[divan::bench(args = UNITS, consts = [100_000, 1_000_000], sample_count = 5)]
fn hostile<const BYTES: usize>(bencher: Bencher<'_, '_>, unit: &str) {
    assert!(SIZES.contains(&BYTES));
    let (toolset, text) = (toolset(), unit.repeat(BYTES / unit.len()));
    bencher.counter(BytesCount::of_str(&text)).bench(|| read(&toolset, black_box(&text)));
}

/// Pieces of four bytes: prose, and one call with a long argument.
#[divan::bench(args = ["prose", "call"])]
fn streamed(bencher: Bencher<'_, '_>, kind: &str) {
    let toolset = toolset();
    let body = prose(50_000);
    let text = match kind {
        "call" => format!("<tool_call>{}</tool_call>", json!({"name": "f", "arguments": {"a": body}})),
        _ => body,
    };
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut parser = Parser::new(Arc::clone(&toolset), ParserOptions::default());
        let mut rest = text.as_str();
        let mut events = Vec::new();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.ceil_char_boundary(4));
            events.extend(parser.push(piece));
            rest = behind;
        }
        events.extend(parser.finish(FinishReason::Stop));
        Parsed::from_events(events)
    });
}
