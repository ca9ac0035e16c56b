//! What holds for any text: no panic, the same reading however it is cut, and calls that survive being written again.

use std::sync::Arc;

use forge_parse::{DIALECTS, FinishReason, Parsed, Parser, ParserOptions, ToolSpec, Toolset, parse};
use proptest::prelude::*;
use serde_json::json;

fn toolset() -> Arc<Toolset> {
    let f = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let g = json!({"type": "object", "properties": {"n": {"type": "integer"}, "note": {"type": "string"}}});
    Toolset::compile(vec![ToolSpec::new("f", "", f), ToolSpec::new("get_n", "", g)])
}

/// Pieces that mean something to the parser, and some that don't.
fn pieces() -> Vec<String> {
    let own = [
        "f",
        "get_n",
        "name",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\"",
        "'",
        ":",
        ",",
        "=",
        "\n",
        "\n\n",
        " ",
        "`",
        "```",
        "```json\n",
        "```python\n",
        "```xml\n",
        "> ",
        "| ",
        "~~~",
        "Action: f\n",
        "Action Input: ",
        "Thought: so\n",
        "Observation:",
        "Final Answer: 1",
        "call:",
        "print(",
        "default_api.",
        "functools[",
        "[ARGS]",
        "<think>",
        "</think>",
        "[THINK]",
        "[/THINK]",
        "<function=f>",
        "<parameter=a>",
        "</parameter>",
        "</function>",
        "<invoke name=\"f\">",
        "<parameter name=\"a\">",
        "</invoke>",
        "<arg_key>a</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<|channel|>",
        "analysis",
        "commentary to=functions.f ",
        "final",
        "<|message|>",
        "<|end|>",
        "<|call|>",
        "<|start|>assistant",
        "assistantfinal",
        "assistantcommentary to=functions.f json",
        "to=f",
        "<|recipient|>f\n<|content|>",
        "{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}",
        "{\"name\": \"get_n\", \"parameters\": {\"n\": 3}}",
        "{\"a\": \"1\"}",
        "f(a=\"1\")",
        "get_n(n=2, note='</tool_call>')",
        "[Calling tool: f({\"a\": \"1\"})]",
        "[Calling tool=\"f\" a=\"x\"]",
        "<f><a>1</a></f>",
        "<doc>",
        "</doc>",
        "Let me see. ",
        "an example:\n",
        "not ",
        "\u{e9}",
        "\u{25c1}think\u{25b7}",
        "\\",
        "<|\"|>",
        "<escape>",
        "BEGIN_ARG\n",
        "END_ARG",
        "]<]minimax[>[",
        "# Tool code\n",
        "<toolcall>",
        "<tool_call:x>",
        "<tool_sep:x>",
        "</s>",
        "<",
        "</",
        "<|",
        "One moment please. ",
    ];
    let markers = DIALECTS.iter().flat_map(|row| row.open.iter().chain(row.close)).map(|marker| (*marker).to_owned());
    let examples = DIALECTS.iter().map(|row| row.example.to_owned());
    own.iter().map(|piece| (*piece).to_owned()).chain(markers).chain(examples).collect()
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces()), 0..10).prop_map(|pieces| pieces.concat())
}

fn options() -> impl Strategy<Value = ParserOptions> {
    (any::<bool>(), any::<bool>()).prop_map(|(starts_in_reasoning, data_requested)| ParserOptions {
        starts_in_reasoning,
        data_requested: data_requested && starts_in_reasoning,
        ..ParserOptions::default()
    })
}

fn reason() -> impl Strategy<Value = FinishReason> {
    prop::sample::select(vec![FinishReason::Stop, FinishReason::Length])
}

fn in_pieces(text: &str, size: usize, options: &ParserOptions, reason: FinishReason) -> Parsed {
    let mut parser = Parser::new(toolset(), options.clone());
    let chars: Vec<char> = text.chars().collect();
    let mut events: Vec<_> =
        chars.chunks(size.max(1)).flat_map(|piece| parser.push(&piece.iter().collect::<String>())).collect();
    events.extend(parser.finish(reason));
    Parsed::from_events(events)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000.max(ProptestConfig::default().cases), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_cut_changes_a_reading(text in text(), options in options(), reason in reason(), size in 1usize..6) {
        let whole = parse(&toolset(), &options, &text, reason);
        let pieces = in_pieces(&text, size, &options, reason);
        prop_assert_eq!(pieces, whole, "{:?}", text);
    }

    #[test]
    fn any_characters_are_read(text in "\\PC*", size in 1usize..4) {
        let options = ParserOptions::default();
        let whole = parse(&toolset(), &options, &text, FinishReason::Stop);
        prop_assert_eq!(in_pieces(&text, size, &options, FinishReason::Stop), whole);
    }

    #[test]
    fn without_tools_only_thinking_is_taken_out(text in text()) {
        let none = Toolset::compile(Vec::new());
        let parsed = parse(&none, &ParserOptions::default(), &text, FinishReason::Stop);
        prop_assert!(parsed.calls().next().is_none());
    }

    #[test]
    fn what_is_written_again_is_read_again(text in text()) {
        let options = ParserOptions::default();
        let first = parse(&toolset(), &options, &text, FinishReason::Stop);
        let again: String = first
            .calls()
            .map(|call| format!("<tool_call>{{\"name\": \"{}\", \"arguments\": {}}}</tool_call>\n", call.name, call.arguments))
            .collect();
        let second = parse(&toolset(), &options, &again, FinishReason::Stop);
        let meaning = |parsed: &Parsed| parsed.calls().map(|c| (c.name.clone(), c.arguments.clone())).collect::<Vec<_>>();
        prop_assert_eq!(meaning(&second), meaning(&first));
    }
}

/// Texts that fuzzing found to be read one way whole and another way in pieces, before that was mended.
const FOUND: &[&str] = &[
    "```json\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n```\u{b}\u{b} goes on\"}",
    "```json\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n```  and more",
    "```json\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}``` \t x",
    "```\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n```\u{b}",
    "~~~json\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n~~~ \u{b}y\n~~~\n",
];

#[test]
fn what_fuzzing_found_is_read_the_same_in_pieces() {
    for text in FOUND {
        for reason in [FinishReason::Stop, FinishReason::Length] {
            let options = ParserOptions::default();
            let whole = parse(&toolset(), &options, text, reason);
            for size in 1..text.chars().count() {
                assert_eq!(in_pieces(text, size, &options, reason), whole, "{text:?} in pieces of {size}");
            }
        }
    }
}
