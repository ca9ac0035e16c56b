use forge_core::FinishReason;
use rstest::rstest;

use super::*;

const TOOLS: [&str; 3] = ["get_row", "put_row", "get"];

/// The calls a sequence of chunks amounts to, each as `id name arguments`. A chunk is the text of its `tool_calls`.
fn calls(chunks: &[&str]) -> Vec<String> {
    let mut assembler = Assembler::new(TOOLS.map(ToolName::from));
    let mut events = Vec::new();
    for calls in chunks {
        let json = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{calls}]}}}}]}}"#);
        assembler.take(serde_json::from_str(&json).unwrap(), &mut events).unwrap();
    }
    assembler.finish(&mut events);
    joined(&events)
}

/// Joins the pieces as whoever reads the events does, and checks what is promised about them.
fn joined(events: &[ModelEvent]) -> Vec<String> {
    let mut calls: Vec<(Option<CallId>, String, String)> = Vec::new();
    for event in events {
        let ModelEvent::Call { index, id, name, arguments } = event else { continue };
        assert!(*index <= calls.len(), "calls are numbered without gaps: {events:?}");
        if *index == calls.len() {
            calls.push((id.clone(), name.clone(), arguments.clone()));
        } else {
            assert!(id.is_none() && name.is_empty(), "only the first piece has id and name: {events:?}");
            calls[*index].2.push_str(arguments);
        }
    }
    let shown = |(id, name, arguments): (Option<CallId>, String, String)| {
        format!("{} {name} {arguments}", id.as_ref().map_or("-", CallId::as_str))
    };
    calls.into_iter().map(shown).collect()
}

#[rstest]
#[case::in_fragments(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":""}}"#,
    r#"{"index":0,"function":{"arguments":"{\"row\""}}"#,
    r#"{"index":0,"function":{"arguments":":1}"}}"#], &[r#"a get_row {"row":1}"#])]
#[case::two_side_by_side(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{"}},{"index":1,"id":"b","function":{"name":"get_row","arguments":"{"}}"#,
    r#"{"index":1,"function":{"arguments":"\"x\":2}"}},{"index":0,"function":{"arguments":"\"x\":1}"}}"#],
    &[r#"a get_row {"x":1}"#, r#"b get_row {"x":2}"#])]
#[case::name_in_a_later_delta(&[
    r#"{"index":0,"id":"a","function":{"arguments":"{"}}"#,
    r#"{"index":0,"function":{"arguments":"}"}}"#,
    r#"{"index":0,"function":{"name":"get_row"}}"#], &["a get_row {}"])]
#[case::name_in_fragments(&[
    r#"{"index":0,"function":{"name":"get"}}"#,
    r#"{"index":0,"function":{"name":"_row"}}"#,
    r#"{"index":0,"function":{"arguments":"{}"}}"#], &["- get_row {}"])]
#[case::name_from_its_start_each_time(&[
    r#"{"index":0,"function":{"name":"get_"}}"#,
    r#"{"index":0,"function":{"name":"get_row"}}"#,
    r#"{"index":0,"function":{"name":"get_row","arguments":"{}"}}"#], &["- get_row {}"])]
#[case::name_with_each_fragment(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{\"row\""}}"#,
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":":1}"}}"#], &[r#"a get_row {"row":1}"#])]
#[case::another_id_and_the_name_with_each_fragment(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{\"row\""}}"#,
    r#"{"index":0,"id":"b","function":{"name":"get_row","arguments":":1}"}}"#], &[r#"a get_row {"row":1}"#])]
#[case::arguments_again_in_full(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{\"row\""}}"#,
    r#"{"index":0,"function":{"arguments":":1}"}}"#,
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{\"row\":1}"}}"#], &[r#"a get_row {"row":1}"#])]
#[case::arguments_again_in_full_with_other_spacing(&[
    r#"{"index":0,"function":{"name":"get_row","arguments":"{\"row\":1}"}}"#,
    r#"{"index":0,"function":{"arguments":"{ \"row\": 1 }"}}"#], &[r#"- get_row {"row":1}"#])]
#[case::arguments_from_their_start_each_time(&[
    r#"{"index":0,"function":{"name":"get_row","arguments":"{"}}"#,
    r#"{"index":0,"function":{"arguments":"{\"row\":\""}}"#,
    r#"{"index":0,"function":{"arguments":"{\"row\":\"{\"}"}}"#], &[r#"- get_row {"row":"{"}"#])]
#[case::an_object_nested_in_its_own_beginning(&[
    r#"{"index":0,"function":{"name":"get_row","arguments":"{\"a\":"}}"#,
    r#"{"index":0,"function":{"arguments":"{\"a\":1}}"}}"#], &[r#"- get_row {"a":{"a":1}}"#])]
#[case::fragments_that_repeat_by_chance(&[
    r#"{"index":0,"function":{"name":"get_row","arguments":"{\"row\":\"a"}}"#,
    r#"{"index":0,"function":{"arguments":"a"}}"#,
    r#"{"index":0,"function":{"arguments":"a"}}"#,
    r#"{"index":0,"function":{"arguments":"\"}"}}"#], &[r#"- get_row {"row":"aaa"}"#])]
#[case::several_whole_calls_at_index_0_in_one_chunk(&[
    r#"{"index":0,"function":{"name":"get_row","arguments":"{}"}},{"index":0,"function":{"name":"get_row","arguments":"{}"}}"#],
    &["- get_row {}", "- get_row {}"])]
#[case::several_whole_calls_at_index_0_in_their_chunks(&[
    r#"{"index":0,"function":{"name":"get_row","arguments":"{\"row\":1}"}}"#,
    r#"{"index":0,"function":{"name":"get_row","arguments":"{\"row\":2}"}}"#,
    r#"{"index":0,"function":{"name":"put_row","arguments":"{\"row\":2}"}}"#],
    &[r#"- get_row {"row":1}"#, r#"- get_row {"row":2}"#, r#"- put_row {"row":2}"#])]
#[case::equal_calls_at_index_0_that_only_their_ids_tell_apart(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{}"}}"#,
    r#"{"index":0,"id":"b","function":{"name":"get_row","arguments":"{}"}}"#], &["a get_row {}", "b get_row {}"])]
#[case::two_calls_without_arguments_at_index_0(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":""}}"#,
    r#"{"index":0,"id":"b","function":{"name":"put_row","arguments":""}}"#], &["a get_row ", "b put_row "])]
#[case::a_finish_that_repeats_the_name(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{}"}}"#,
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":""}}"#], &["a get_row {}"])]
#[case::no_index(&[
    r#"{"id":"a","function":{"name":"get_row","arguments":"{\"row\""}}"#,
    r#"{"function":{"arguments":":1}"}}"#,
    r#"{"id":"b","function":{"name":"put_row","arguments":"{}"}}"#], &[r#"a get_row {"row":1}"#, "b put_row {}"])]
#[case::no_index_and_fragments_told_apart_by_id(&[
    r#"{"id":"a","function":{"name":"get_row","arguments":"{"}},{"id":"b","function":{"name":"put_row","arguments":"{"}}"#,
    r#"{"id":"a","function":{"arguments":"}"}},{"id":"b","function":{"arguments":"}"}}"#],
    &["a get_row {}", "b put_row {}"])]
#[case::index_from_1(&[r#"{"index":1,"id":"a","function":{"name":"get_row","arguments":"{}"}}"#], &["a get_row {}"])]
#[case::index_far_away(&[
    r#"{"index":18446744073709551615,"function":{"name":"get_row","arguments":"{}"}}"#], &["- get_row {}"])]
#[case::one_id_twice(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{}"}}"#,
    r#"{"index":1,"id":"a","function":{"name":"put_row","arguments":"{}"}}"#], &["a get_row {}", "- put_row {}"])]
#[case::id_in_a_later_delta(&[
    r#"{"index":0,"function":{"name":"get_row","arguments":""}}"#,
    r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#], &["a get_row {}"])]
#[case::no_arguments_at_all(&[r#"{"index":0,"id":"a","function":{"name":"get_row"}}"#], &["a get_row "])]
#[case::no_function_at_all(&[r#"{"index":0,"id":"a"}"#], &["a  "])]
#[case::cut_inside_the_arguments(&[
    r#"{"index":0,"id":"a","function":{"name":"get_row","arguments":"{"}}"#], &["a get_row {"])]
fn calls_are_joined(#[case] chunks: &[&str], #[case] expected: &[&str]) {
    assert_eq!(calls(chunks), expected);
}

#[rstest]
#[case::stop("stop", false, FinishReason::Stop)]
#[case::stop_with_a_call("stop", true, FinishReason::ToolCalls)]
#[case::cut_inside_a_call("length", true, FinishReason::Length)]
#[case::calls_announced_and_none_there("tool_calls", false, FinishReason::ToolCalls)]
#[case::older_word("function_call", true, FinishReason::ToolCalls)]
#[case::filtered("content_filter", false, FinishReason::ContentFilter)]
#[case::given_up("abort", false, FinishReason::Incomplete)]
#[case::another_word("eos", false, FinishReason::Stop)]
fn the_reason_is_told_in_one_vocabulary(#[case] word: &str, #[case] with_call: bool, #[case] reason: FinishReason) {
    let calls = if with_call { r#"{"function":{"name":"get_row","arguments":"{"}}"# } else { "" };
    let json = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{calls}]}},"finish_reason":"{word}"}}]}}"#);
    let mut assembler = Assembler::new([]);
    let mut events = Vec::new();
    assembler.take(serde_json::from_str(&json).unwrap(), &mut events).unwrap();
    assembler.finish(&mut events);
    assert_eq!(events.last(), Some(&ModelEvent::Finish { reason }));
}

#[test]
fn the_first_piece_of_a_call_comes_with_its_first_argument_and_not_at_the_end() {
    let mut assembler = Assembler::new([]);
    let mut events = Vec::new();
    let chunk =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}]}}]}"#;
    assembler.take(serde_json::from_str(chunk).unwrap(), &mut events).unwrap();
    let (id, name, arguments) = (Some(CallId::new("a")), "look".to_owned(), "{".to_owned());
    assert_eq!(events, [ModelEvent::Call { index: 0, id, name, arguments }]);
}

#[test]
fn an_answer_without_end_is_given_up() {
    let mut assembler = Assembler::new([]);
    let chunk = serde_json::json!({"choices": [{"delta": {"content": "x".repeat(1 << 20)}}]}).to_string();
    let mut take = || assembler.take(serde_json::from_str(&chunk).unwrap(), &mut Vec::new());
    let taken = (0..9).try_for_each(|_| take());
    assert_eq!(
        taken.unwrap_err().to_string(),
        "the model server's answer passed the limit of 8388608 bytes and was cut off; lower max_tokens"
    );
}
