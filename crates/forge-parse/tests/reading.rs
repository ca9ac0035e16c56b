//! Readings of whole responses, in the forms that backends deliver.

use std::sync::Arc;

use forge_parse::{
    CallSource, FinishReason, Outcome, Parser, ParserOptions, RawResponse, StructuredCall, ToolSpec, Toolset, parse,
    read_response,
};
use serde_json::json;

fn toolset() -> Arc<Toolset> {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    Toolset::compile(vec![ToolSpec::new("weather", "Tells the weather.", schema)])
}

fn outcome(text: &str) -> (Outcome, usize) {
    let options = ParserOptions::default();
    let parsed = parse(&toolset(), &options, text, FinishReason::Stop);
    (parsed.outcome(&options), parsed.calls().count())
}

#[test]
fn calls_are_found_in_the_common_notations() {
    for text in [
        r#"<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>"#,
        r#"{"name": "weather", "parameters": {"city": "Oslo"}}"#,
        "```json\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```",
        r#"[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}"#,
        r#"<think>Which city?</think>{"name": "weather", "parameters": {"city": "Oslo"}}"#,
    ] {
        assert_eq!(outcome(text), (Outcome::Calls, 1), "{text}");
    }
}

#[test]
fn a_fenced_example_within_prose_is_text() {
    let text = "A call:\n```json\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```\nThat is all.";
    assert_eq!(outcome(text), (Outcome::Text, 0));
}

#[test]
fn a_call_that_is_cut_does_not_run() {
    let text = r#"<tool_call>{"name": "weather", "arguments": {"city": "Os"#;
    assert_eq!(outcome(text), (Outcome::Nudge, 0));
}

fn files() -> Arc<Toolset> {
    let schema = json!({
        "type": "object",
        "properties": {"file": {"type": "string"}, "text": {"type": "string"}},
        "required": ["file", "text"],
    });
    Toolset::compile(vec![ToolSpec::new("write", "Writes a file.", schema)])
}

#[test]
fn a_text_that_holds_json_with_bare_quotes_is_read_whole() {
    for text in [
        r#"[TOOL_CALLS]write[ARGS]{"file": "x.json", "text": "{"name": "demo", "v": {"n": "1"}}"}"#,
        r#"<tool_call>{"name": "write", "arguments": {"file": "x.json", "text": "{"name": "demo", "v": {"n": "1"}}"}}</tool_call>"#,
    ] {
        let parsed = parse(&files(), &ParserOptions::default(), text, FinishReason::Stop);
        let texts: Vec<_> = parsed.calls().filter_map(|call| call.arguments.to_object().get("text").cloned()).collect();
        assert_eq!(texts, [json!(r#"{"name": "demo", "v": {"n": "1"}}"#)], "{text}: {:?}", parsed.attempts);
    }
}

#[test]
fn a_call_with_two_names_is_a_fault() {
    let text = r#"<tool_call>{"name": "weather", "name": "other", "arguments": {"city": "Oslo"}}</tool_call>"#;
    assert_eq!(outcome(text), (Outcome::Nudge, 0));
}

#[test]
fn each_opening_marker_may_begin_a_list() {
    let text = r#"[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Oslo"}}][TOOL_CALLS][{"name": "weather", "arguments": {"city": "Rome"}}]"#;
    assert_eq!(outcome(text), (Outcome::Calls, 2));
}

#[test]
fn structured_calls_keep_their_place() {
    let calls = [
        StructuredCall { name: "weather", arguments: r#"{"city": "Oslo"}"# },
        StructuredCall { name: "whether", arguments: r#"{"city": "Oslo"}"# },
    ];
    let response = RawResponse { text: "One moment.", calls: &calls, ..RawResponse::default() };
    let parsed = read_response(&toolset(), &ParserOptions::default(), &response);
    let sources: Vec<_> = parsed.attempts.iter().map(|attempt| (attempt.source, attempt.result.is_ok())).collect();
    assert_eq!(sources, [(CallSource::Structured(0), true), (CallSource::Structured(1), false)]);
    assert_eq!(parsed.text, "One moment.");
}

#[test]
fn what_was_not_reported_can_be_taken_back() {
    let mut parser = Parser::new(toolset(), ParserOptions::default());
    parser.push("So: <tool_call>{\"name\"");
    assert_eq!(parser.take_uncommitted(), "<tool_call>{\"name\"");
}
