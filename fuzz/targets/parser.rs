//! Any text, cut anywhere: no panic, and the same reading as in one piece.
#![no_main]

use std::sync::{Arc, LazyLock};

use forge_parse::{FinishReason, Parsed, Parser, ParserOptions, ToolSpec, Toolset, parse};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

static TOOLS: LazyLock<Arc<Toolset>> = LazyLock::new(|| {
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let number = json!({"type": "object", "properties": {"n": {"type": "integer"}, "tags": {"type": "array"}}});
    Toolset::compile(vec![
        ToolSpec::new("f", "", text),
        ToolSpec::new("get_n", "", number),
        ToolSpec::new("stop", "", ToolSpec::no_parameters()),
    ])
});

fuzz_target!(|input: (u8, &str)| {
    let (seed, text) = input;
    let options = ParserOptions { starts_in_reasoning: seed & 1 == 1, ..ParserOptions::default() };
    let finish = if seed & 2 == 0 { FinishReason::Stop } else { FinishReason::Length };
    let whole = parse(&TOOLS, &options, text, finish);

    let step = usize::from(seed >> 2) + 1;
    let mut parser = Parser::new(Arc::clone(&TOOLS), options);
    let mut events = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let cut = (step.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(cut);
        events.extend(parser.push(piece));
        rest = after;
    }
    events.extend(parser.finish(finish));
    assert_eq!(Parsed::from_events(events), whole, "cut into pieces of {step} bytes");
});
