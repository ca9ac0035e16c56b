//! What servers make of a good answer, and where it stops being one.

use forge_backend::{Backend, BackendError, ModelEvent, collect};
use forge_core::FinishReason;
use rstest::rstest;

use super::support::{
    Script, ScriptedServer, Step, answer, finish_chunk, good, json_answer, request, respond, stream_head, stream_of,
    text_chunk,
};
use serde_json::json;

fn raw(body: &str) -> Script {
    vec![stream_head(), Step::Write(body.as_bytes().to_vec()), Step::Close]
}

fn call_chunk(call: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#)
}

/// A good answer in an unusual form: the text, and the calls as `name arguments`.
#[rstest]
#[case::plain(good("hello"), "hello", "")]
#[case::without_an_end_mark(stream_of(&[&text_chunk("hello"), &finish_chunk("stop")]), "hello", "")]
#[case::finish_with_the_last_text(
    stream_of(&[r#"{"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}"#, "[DONE]"]), "hello", "")]
#[case::no_reason_but_an_end_mark(stream_of(&[&text_chunk("hello"), "[DONE]"]), "hello", "")]
#[case::carriage_returns(
    raw("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\r\n\r\ndata: [DONE]\r\n\r\n"),
    "hi",
    ""
)]
#[case::comments_and_other_fields(
    raw(&format!(": ping\n\nid: 1\nretry: 5\ndata: {}\n\n:\n\ndata: [DONE]\n\n", text_chunk("hi"))), "hi", "")]
#[case::no_space_after_the_colon(raw(&format!("data:{}\n\ndata:[DONE]\n\n", text_chunk("hi"))), "hi", "")]
#[case::no_empty_line_at_the_end(raw(&format!("data: {}\n\ndata: [DONE]", text_chunk("hi"))), "hi", "")]
#[case::a_byte_order_mark(raw(&format!("\u{feff}data: {}\n\ndata: [DONE]\n\n", text_chunk("hi"))), "hi", "")]
#[case::data_in_several_lines(
    raw("data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n"),
    "hi",
    ""
)]
#[case::events_after_the_end_mark(stream_of(&[&text_chunk("hi"), "[DONE]", &text_chunk("more"), "garbage"]), "hi", "")]
#[case::empty_data(stream_of(&["", &text_chunk("hi"), "", "[DONE]"]), "hi", "")]
#[case::unknown_objects_between(stream_of(&[r#"{"type":"ping"}"#, &text_chunk("hi"), "[DONE]"]), "hi", "")]
#[case::an_error_that_is_null(
    stream_of(&[r#"{"error":null,"choices":[{"delta":{"content":"hi"}}]}"#, "[DONE]"]), "hi", "")]
#[case::the_whole_message_again_at_the_end(
    stream_of(&[&text_chunk("hi"), r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#, "[DONE]"]),
    "hi", "")]
#[case::not_streamed_at_all(
    json_answer(200, &json!({"choices": [{"message": {"content": "hi", "tool_calls": [
        {"id": "1", "function": {"name": "look", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]})),
    "hi", "look {}")]
#[case::not_streamed_under_the_type_of_a_stream(
    answer(200, &[("content-type", "text/event-stream")], r#" {"choices":[{"message":{"content":"hi"}}]}"#), "hi", "")]
#[case::empty_pieces_between(stream_of(&[&text_chunk("a"), &text_chunk(""), &text_chunk("b"), "[DONE]"]), "ab", "")]
#[case::the_older_form_of_a_call(
    stream_of(&[
        r#"{"choices":[{"delta":{"function_call":{"name":"look","arguments":""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"{\"at\":1}"}}}]}"#,
        &finish_chunk("function_call")]),
    "", r#"look {"at":1}"#)]
#[case::a_call_beside_text(
    stream_of(&[&text_chunk("hi"), &call_chunk(r#"{"function":{"name":"look","arguments":"{}"}}"#), "[DONE]"]),
    "hi", "look {}")]
#[tokio::test]
async fn a_good_answer_is_read_in_each_form(#[case] script: Script, #[case] text: &str, #[case] calls: &str) {
    let server = ScriptedServer::always(script).await;
    let response = respond(&server.backend(), request()).await.unwrap();
    let read: Vec<_> = response.calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
    assert_eq!((response.text.as_str(), read.join("; ").as_str()), (text, calls));
}

#[tokio::test]
async fn a_character_split_over_two_writes_arrives_whole() {
    let body = format!("data: {}\n\ndata: [DONE]\n\n", text_chunk("naïve 味噌"));
    let mut script = vec![stream_head()];
    // Each byte is a write of its own: however the network joins them, no character may break.
    script.extend(body.bytes().map(|byte| Step::Write(vec![byte])));
    script.push(Step::Close);
    let server = ScriptedServer::always(script).await;
    assert_eq!(respond(&server.backend(), request()).await.unwrap().text, "naïve 味噌");
}

#[tokio::test]
async fn the_usage_after_the_finish_counts() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":165,"completion_tokens":29,"prompt_tokens_details":{"cached_tokens":3}}}"#;
    let server = ScriptedServer::always(stream_of(&[&text_chunk("a"), &finish_chunk("length"), usage, "[DONE]"])).await;
    let response = respond(&server.backend(), request()).await.unwrap();
    let usage = response.usage;
    assert_eq!(
        (response.finish, usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens),
        (FinishReason::Length, Some(165), Some(29), Some(3))
    );
}

#[rstest]
#[case::whole(include_str!("../fixtures/llama_cpp_native_call.sse"), r#"{"city": "Paris"}"#, FinishReason::ToolCalls, 21)]
#[case::cut(include_str!("../fixtures/llama_cpp_cut_call.sse"), "{", FinishReason::Length, 12)]
#[tokio::test]
async fn a_native_call_recorded_from_llama_cpp_is_read(
    #[case] recorded: &str,
    #[case] arguments: &str,
    #[case] finish: FinishReason,
    #[case] tokens: u64,
) {
    let server = ScriptedServer::always(raw(recorded)).await;
    let response = respond(&server.backend(), request()).await.unwrap();
    let [call] = &response.calls[..] else { panic!("{response:?}") };
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("get_weather", arguments));
    assert_eq!((response.finish, response.usage.completion_tokens), (finish, Some(tokens)));
}

#[tokio::test]
async fn text_that_came_with_an_error_is_delivered_before_it() {
    let error = r#"{"error":{"code":503,"message":"gone"}}"#;
    let server = ScriptedServer::always(stream_of(&[&text_chunk("a"), error])).await;
    let mut shown = Vec::new();
    let stream = server.backend().generate(request()).await.unwrap();
    let result = collect(stream, |event| shown.push(event.clone())).await;
    assert!(matches!(result, Err(BackendError::Overloaded { .. })), "{result:?}");
    assert_eq!(shown, [ModelEvent::Text { text: "a".to_owned() }]);
}

/// What ends an answer early, by the words of the error.
#[rstest]
#[case::closed_in_the_middle(
    vec![stream_head(), Step::Write(format!("data: {}\n\n", text_chunk("a")).into_bytes()), Step::Close],
    "the model server broke off in the middle of its answer: the stream ended without saying why")]
#[case::cut_in_the_middle_of_a_body_of_known_length(
    vec![Step::Write(format!("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\ndata: {}\n\n", text_chunk("a")).into_bytes()), Step::Close],
    "the model server broke off in the middle of its answer: end of file before message length reached")]
#[case::cut_in_the_middle_of_a_chunk(
    vec![Step::Write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\ndata: ".to_vec()), Step::Close],
    "the model server broke off in the middle of its answer: end of file before message length reached")]
#[case::closed_before_the_head(
    vec![Step::Close], "the model server broke off in the middle of its answer: connection closed before message completed")]
#[case::nothing_after_the_head(
    vec![stream_head(), Step::Close], "the model server broke off in the middle of its answer: the answer is empty")]
#[case::only_comments(
    raw(": ping\n\n: ping\n\n"),
    "the server at URL doesn't speak the expected protocol: its answer has no `choices`: : ping  : ping"
)]
#[case::an_end_mark_alone(
    stream_of(&["[DONE]"]),
    "the server at URL doesn't speak the expected protocol: its answer has no `choices`: data: [DONE]")]
#[case::garbage_in_the_place_of_events(
    raw("\u{1}\u{2}garbage\n\nmore"),
    "the server at URL doesn't speak the expected protocol: its answer has no `choices`:   garbage  more"
)]
#[case::an_event_that_is_no_json(
    stream_of(&[&text_chunk("a"), r#"{"choices":[{"#]),
    r#"the server at URL doesn't speak the expected protocol: an event of the stream can't be read (EOF while parsing an object at line 1 column 13): {"choices":[{"#)]
#[case::json_that_is_cut(
    answer(200, &[], r#"{"choices":["#),
    r#"the server at URL doesn't speak the expected protocol: the answer can't be read (EOF while parsing a list at line 1 column 12): {"choices":["#)]
#[case::json_without_choices(
    json_answer(200, &json!({"status": "ok"})),
    r#"the server at URL doesn't speak the expected protocol: its answer has no `choices`: {"status":"ok"}"#)]
#[case::a_page(
    answer(200, &[("content-type", "text/html")], "<!DOCTYPE html><html>Welcome</html>"),
    "the server at URL doesn't speak the expected protocol: answered HTML (HTTP 200); is this the model server's URL?")]
#[case::an_error_after_text(
    stream_of(&[&text_chunk("a"), r#"{"error":{"code":500,"message":"Failed to parse input at pos 1: <tool","type":"server_error"}}"#]),
    "the model server could not parse the model's output: Failed to parse input at pos 1: <tool")]
#[case::an_error_in_a_field_of_its_own(
    raw("error: {\"code\":500,\"message\":\"slot unavailable\"}\n\n"),
    "the model server refused the request (HTTP 500): slot unavailable"
)]
#[case::an_event_named_error(
    raw("event: error\ndata: {\"message\":\"out of memory\"}\n\n"),
    "the model server refused the request (HTTP 500): out of memory"
)]
#[case::an_error_in_the_place_of_the_answer(
    json_answer(200, &json!({"error": {"message": "no slot", "code": 503}})),
    "the model server is overloaded or not ready (HTTP 503): no slot")]
#[tokio::test]
async fn a_bad_answer_is_an_error_that_says_what_is_wrong(#[case] script: Script, #[case] message: &str) {
    let server = ScriptedServer::always(script).await;
    let error = respond(&server.backend(), request()).await.unwrap_err();
    assert_eq!(error.to_string().replace(&server.url, "URL"), message);
}
