//! The parser beside a published one, which knows the dialects and neither the offered tools nor what is quoted.
//!
//! Every row of the case files goes through each of its parsers. Where it finds calls, and so do we, they are the
//! same calls once its arguments are read by the schema as ours are. [`Difference`] lists the exceptions and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use forge_parse::cases::Case;
use forge_parse::{Dialect, End, ParsedCall, Toolset, read_response};
use serde_json::{Value, json};
use tool_parser::{
    CohereParser, DeepSeek31Parser, DeepSeekParser, Gemma4Parser, Glm4MoeParser, JsonParser, KimiK2Parser, LlamaParser,
    MinimaxM2Parser, MistralParser, PythonicParser, QwenParser, Step3Parser, ToolCall, ToolParser,
};

/// Why the two differ on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// It takes for calls what is shown, quoted, asked for as data, cut, made up, or thought and dropped again.
    NoCallIsMeant,
    /// Its GLM parser takes any text between the tags for a call, whose name is then empty.
    NameIsEmpty,
    /// It stops after the first of several calls.
    OnlyTheFirst,
    /// It knows one key for arguments and drops what stands under another.
    ArgumentsDropped,
    /// In a notation with delimiters of its own it keeps quotes as part of a text, and takes numbers for text.
    TextAndNumbers,
}

fn parsers() -> Vec<(&'static str, Box<dyn ToolParser>)> {
    vec![
        ("cohere", Box::new(CohereParser::new())),
        ("deepseek", Box::new(DeepSeekParser::new())),
        ("deepseek31", Box::new(DeepSeek31Parser::new())),
        ("gemma4", Box::new(Gemma4Parser::new())),
        ("glm", Box::new(Glm4MoeParser::glm45())),
        ("json", Box::new(JsonParser::new())),
        ("kimik2", Box::new(KimiK2Parser::new())),
        ("llama", Box::new(LlamaParser::new())),
        ("minimax", Box::new(MinimaxM2Parser::new())),
        ("mistral", Box::new(MistralParser::new())),
        ("pythonic", Box::new(PythonicParser::new())),
        ("qwen", Box::new(QwenParser::new())),
        ("step3", Box::new(Step3Parser::new())),
    ]
}

fn rows() -> Vec<Case> {
    let files = ["cases", "notations"].map(|name| format!("../crates/forge-parse/tests/fixtures/{name}.jsonl"));
    let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
    let lines = texts.iter().flat_map(|text| text.lines().filter(|line| !line.trim().is_empty()));
    lines.map(|line| serde_json::from_str(line).unwrap()).filter(|case: &Case| case.kind == "model_text").collect()
}

fn plain(call: &ParsedCall) -> Value {
    json!([call.name.as_str(), call.arguments.to_object()])
}

/// One of its calls, as the offered tools read it.
fn by_schema(toolset: &Arc<Toolset>, call: &ToolCall) -> Value {
    let function = &call.function;
    match toolset.read_call(&function.name, &function.arguments, Dialect::named("other"), End::Complete) {
        Ok(call) => plain(&call),
        Err(_) => json!([function.name, serde_json::from_str::<Value>(&function.arguments).unwrap_or_default()]),
    }
}

fn difference(ours: &[Value], theirs: &[Value]) -> Option<Difference> {
    let dropped = |(ours, theirs): (&Value, &Value)| ours[0] == theirs[0] && theirs[1] == json!({});
    let unquoted = |value: &Value| value.to_string().replace(['\\', '"'], "");
    if theirs.iter().any(|call| call[0] == "") {
        Some(Difference::NameIsEmpty)
    } else if ours.is_empty() {
        Some(Difference::NoCallIsMeant)
    } else if ours.starts_with(theirs) {
        Some(Difference::OnlyTheFirst)
    } else if ours.len() == theirs.len() && ours.iter().zip(theirs).all(dropped) {
        Some(Difference::ArgumentsDropped)
    } else if ours.iter().map(unquoted).eq(theirs.iter().map(unquoted)) {
        Some(Difference::TextAndNumbers)
    } else {
        None
    }
}

#[test]
fn the_same_calls_are_read() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut same = 0;
    let mut different = BTreeMap::<Difference, usize>::new();
    for case in rows() {
        let toolset = case.toolset().unwrap();
        let parsed = read_response(&toolset, &case.options(), &case.response(&[]));
        let faulty = parsed.faults().next().is_some();
        let ours: Vec<Value> = parsed.calls().filter(|_| !faulty).map(plain).collect();
        for (name, parser) in parsers() {
            let raw = case.raw.as_str().unwrap_or_default();
            let Ok((_, theirs)) = runtime.block_on(parser.parse_complete(raw)) else { continue };
            let theirs: Vec<Value> = theirs.iter().map(|call| by_schema(&toolset, call)).collect();
            if theirs.is_empty() {
                continue;
            }
            if ours == theirs {
                same += 1;
                continue;
            }
            let reason = difference(&ours, &theirs);
            let reason = reason.unwrap_or_else(|| panic!("{} by {name}: {ours:?}, not {theirs:?}", case.id));
            // What has no call for us must be expected to have none.
            let none_expected =
                case.expected.outcome != "calls" || case.expected.accept.iter().any(|also| also != "calls");
            assert!(reason != Difference::NoCallIsMeant || none_expected, "{} by {name}: {theirs:?}", case.id);
            *different.entry(reason).or_default() += 1;
        }
    }
    println!("the same calls {same} times; {different:?}");
    assert!(same >= 70, "only {same} rows are read by both");
}
