//! Answers of real servers, kept in `fixtures/wire_rows.jsonl` with the reason each is a case, and what the adapter makes
//! of them. What is inside text, names and arguments is not the adapter's business: it hands them on as they came.

use std::fmt::Write;

use forge_backend::{BackendError, ModelRequest};
use forge_core::{Response, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use self::part::{ADAPTED, ALIASES, CLIENT, ENGINE, ESTIMATE, FAMILY, HISTORY, NAMES, PARSED, WHOLE};
use super::support::{Script, ScriptedServer, answer, request, respond, stream_of};

#[derive(Deserialize)]
struct Row {
    id: String,
    tools: Vec<Value>,
    #[serde(default = "good_status")]
    status: u16,
    raw: Raw,
}

fn good_status() -> u16 {
    200
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Raw {
    Body(String),
    Events(Vec<String>),
}

impl Row {
    fn script(&self) -> Script {
        match &self.raw {
            Raw::Body(body) => answer(self.status, &[("content-type", "application/json")], body),
            Raw::Events(events) => stream_of(&events.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }

    fn request(&self) -> ModelRequest {
        let tools = self.tools.iter().map(|tool| ToolSpec::from_openai(tool).unwrap()).collect();
        ModelRequest { tools, ..request() }
    }

    async fn outcome(&self) -> String {
        let server = ScriptedServer::always(self.script()).await;
        match respond(&server.backend(), self.request()).await {
            Ok(response) => shown(&response),
            Err(error) => kind(&error),
        }
    }
}

fn shown(response: &Response) -> String {
    let mut shown = format!("{:?}", response.finish);
    for (key, text) in [("text", &response.text), ("thinking", &response.reasoning)] {
        if !text.is_empty() {
            write!(shown, " | {key} {text:?}").unwrap();
        }
    }
    for call in &response.calls {
        let id = call.id.as_ref().map_or("-", |id| id.as_str());
        write!(shown, " | call {id} {:?} {}", call.name, call.arguments).unwrap();
    }
    shown
}

/// The kind of an error and what it carries, without the server's words.
fn kind(error: &BackendError) -> String {
    match error {
        BackendError::ContextOverflow { prompt_tokens, window, .. } => {
            format!("ContextOverflow {prompt_tokens:?} of {window:?}")
        }
        BackendError::MalformedGeneration { text, .. } => format!("MalformedGeneration {text:?}"),
        BackendError::Refused { status, .. } => format!("Refused {status}"),
        other => {
            let debug = format!("{other:?}");
            debug.split(' ').next().unwrap().to_owned()
        }
    }
}

fn rows() -> Vec<Row> {
    let lines = include_str!("../fixtures/wire_rows.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}
/// Who has to do something with the outcome before a row's case is closed.
mod part {
    /// Nobody: the outcome is what the row asks for.
    pub(super) const WHOLE: &str = "";
    /// The parser: calls stand in text, thinking or an error's text, or are cut.
    pub(super) const PARSED: &str = "forge-parse reads text, thinking and the text of malformed generations";
    /// The parser: names are handed on as they came.
    pub(super) const NAMES: &str = "forge-parse resolves names";
    /// The engine: an unusable sample is its to nudge about, within its budgets.
    pub(super) const ENGINE: &str = "forge-core nudges about unusable samples";
    /// What a client may see is not for a backend to decide.
    pub(super) const CLIENT: &str = "who serves a client strips what it must not see";
    /// The request that got this answer can't be made with this adapter's history.
    pub(super) const HISTORY: &str = "`history` never sends what was refused";
    /// The same refusal comes again and again here; what a single one leads to is in `adapting`.
    pub(super) const ADAPTED: &str = "the request is sent again in another form";
    /// Another protocol.
    pub(super) const FAMILY: &str = "belongs to the adapter of another protocol";
    /// To notice that a prompt was cut silently takes an estimate of its length.
    pub(super) const ESTIMATE: &str = "takes an estimate of the prompt";
    /// Names that a hosted service doesn't take.
    pub(super) const ALIASES: &str = "tools have no aliases yet";
}

/// Each row's id, who closes its case, and the outcome.
#[rustfmt::skip]
const OUTCOMES: [(&str, &str, &str); 77] = [
    ("dialect-llama-cpp-500-01", PARSED, r#"MalformedGeneration Some("<tool_call>\n<function=append_note>\n<parameter=file>\nday.md\n</parameter>\n</function>\n</tool_call><tool_call>\n<function=append_note>\n<parameter=file>\nday.md\n</parameter>\n<parameter=line>\nbuy salt\n</parameter>\n</function>\n</tool_call>")"#),
    ("dialect-bare-json-02", PARSED, r#"Stop | text "{\"name\": \"find_recipe\", \"arguments\": {\"dish\": \"味噌ラーメン\"}}""#),
    ("streaming-garbled-name-01", NAMES, r#"ToolCalls | call - "\"}" [ARGS]{""#),
    ("dialect-lfm2-escaping-01", WHOLE, r#"ToolCalls | call c7 "run_snippet" {"source":"say('up')\\nsay('down')"}"#),
    ("streaming-split-marker-01", PARSED, r#"Stop | text "Shelves are fine. <‖DSML‖tool_calls>All racks are full.""#),
    ("error-envelope-01", WHOLE, "Protocol"),
    ("dialect-glm-arg-key-01", NAMES, r#"ToolCalls | call g1 "show_chart<arg_key>series</arg_key><arg_value>rain/2031/may</arg_value>" {}"#),
    ("name-token-leak-01", NAMES, r#"ToolCalls | call t0 "step_9</arg_value>" {}"#),
    ("reasoning-call-in-think-01", PARSED, r#"Stop | thinking "<invoke name=\"press_button\">\n  <button>floor 3</button>\n  <why>guest waiting</why>\n</invoke>""#),
    ("streaming-id-per-chunk-01", WHOLE, r#"ToolCalls | call call_Qa1 "moon_phase" {"date": "tonight"}"#),
    ("name-harmony-token-01", NAMES, r#"ToolCalls | call h1 "fill_basket<|channel|>commentary" {"item":"soap"}"#),
    ("error-backend-500-01", ENGINE, "MalformedGeneration None"),
    ("reasoning-call-in-think-02", PARSED, r#"Stop | thinking "I need the roster.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_roster:0<|tool_call_argument_begin|>{\"week\":\"W19\"}<|tool_call_end|><|tool_calls_section_end|>""#),
    ("dialect-minimax-invoke-01", FAMILY, "Protocol"),
    ("history-tool-id-01", HISTORY, "Refused 400"),
    ("streaming-whole-call-then-append-01", WHOLE, r#"ToolCalls | call Kq8LmN2Px "uv_index" { "beach": "Longsands" }"#),
    ("wire-args-object-01", FAMILY, "Protocol"),
    ("name-namespaced-01", NAMES, r#"ToolCalls | call w0 "notes:list_tags" {}"#),
    ("name-bare-for-namespaced-01", NAMES, r#"ToolCalls | call w0 "open_tab" {"address":"https://example.org/a"}"#),
    ("name-doubled-01", NAMES, r#"ToolCalls | call w0 "play_trackplay_track" {"track":"t-5"}"#),
    ("name-param-suffix-01", NAMES, r#"ToolCalls | call w0 "fetch_note.noteId" {"noteId":"n/12"}"#),
    ("name-underscore-01", NAMES, r#"ToolCalls | call w0 "list_write" {"rows":[]}"#),
    ("name-short-01", NAMES, r#"ToolCalls | call w0 "crop" {"image":"https://example.org/i.png"}"#),
    ("schema-name-01", ALIASES, "Refused 400"),
    ("empty-reasoning-only-01", ENGINE, r#"Length | thinking "(many lines of weighing options)""#),
    ("empty-reasoning-only-02", ENGINE, r#"Length | thinking "Step one: restate. Step two: restate …""#),
    ("reasoning-answer-in-reasoning-01", ENGINE, r#"Stop | thinking "Outline:\n1. Who asks? a guest\n2. Tone: warm\nResult: Welcome aboard, what may I bring you""#),
    ("reasoning-field-name-01", WHOLE, r#"Stop | text "12" | thinking "three times four""#),
    ("wire-blank-content-01", PARSED, r#"ToolCalls | text "\n\n" | call b1 "roll_call" {}"#),
    ("wire-empty-tool-calls-01", ENGINE, "ToolCalls"),
    ("overflow-llama-cpp-01", WHOLE, "ContextOverflow Some(9120) of Some(6144)"),
    ("overflow-llama-cpp-02", WHOLE, "ContextOverflow Some(2090) of Some(512)"),
    ("overflow-llama-cpp-03", WHOLE, "ContextOverflow Some(88410) of Some(81920)"),
    ("overflow-vllm-01", WHOLE, "ContextOverflow Some(40961) of Some(40960)"),
    ("overflow-vllm-02", ADAPTED, "ContextOverflow Some(24577) of Some(32768)"),
    ("overflow-vllm-03", ADAPTED, "ContextOverflow Some(310) of Some(5000)"),
    ("overflow-nim-01", WHOLE, "ContextOverflow Some(131900) of Some(131000)"),
    ("overflow-ollama-silent-01", ESTIMATE, r#"Stop | text "Fine, what next?""#),
    ("overflow-ollama-silent-02", ESTIMATE, "Length"),
    ("overflow-ollama-500-01", WHOLE, "ContextOverflow None of None"),
    ("streaming-no-id-index0-01", WHOLE, r#"ToolCalls | call - "get_row" {"row":"r0"} | call - "put_row" {"row":"r1"} | call - "get_row" {"row":"r2"}"#),
    ("streaming-blank-id-continuation-01", WHOLE, r#"ToolCalls | call call_5e0b "sweep" {"room": "den"}"#),
    ("streaming-no-id-01", WHOLE, r#"ToolCalls | call - "view_map" {"tile":"n54/e18"}"#),
    ("streaming-index-from-1-01", WHOLE, r#"ToolCalls | call tu_Xk "list_timers" {}"#),
    ("streaming-finish-stop-01", WHOLE, r#"ToolCalls | call e1 "air_quality" {"town":"Fernley"}"#),
    ("streaming-cut-mid-args-01", PARSED, r#"ToolCalls | call save_0 "save_log" {"name":"d.log","text":"08:00 start\n08:1"#),
    ("streaming-finish-chunk-strips-name-01", NAMES, r#"ToolCalls | call - "" {"box":"k"}"#),
    ("streaming-id-missing-index-0-01", WHOLE, r#"ToolCalls | call call_m "gauge" {"pipe":"P1"} | call - "gauge" {"pipe":"P2"}"#),
    ("streaming-error-in-stream-01", ADAPTED, "Refused 500"),
    ("template-roles-alternate-01", ADAPTED, "Refused 500"),
    ("template-second-system-01", HISTORY, "Refused 400"),
    ("template-args-string-01", ADAPTED, "Refused 500"),
    ("anthropic-usage-cache-fields-01", FAMILY, "Protocol"),
    ("responses-tool-type-01", FAMILY, "Refused 400"),
    ("responses-sse-type-01", FAMILY, "Protocol"),
    ("models-name-404-01", WHOLE, "UnknownModel"),
    ("error-backend-500-02", ENGINE, r#"MalformedGeneration Some("du -sh .\n")"#),
    ("error-backend-500-rescue-01", ENGINE, r#"MalformedGeneration Some("{\"body\":\"+++ Start\\n+ rice\\n- oats\\n+++ Stop\"}]")"#),
    ("error-backend-500-03", ENGINE, "MalformedGeneration None"),
    ("error-wrong-shape-01", ENGINE, "MalformedGeneration None"),
    ("error-backend-500-04", ENGINE, "MalformedGeneration None"),
    ("dialect-llama-cpp-500-02", PARSED, r#"MalformedGeneration Some("<|tool_call_start|>[find_gear(text='dry bag, 20 l', maxItems=3)]<|tool_call_end|>")"#),
    ("dialect-llama-cpp-500-03", PARSED, r#"MalformedGeneration Some("<tool_call>\n<function=grab_page>\n<parameter=link>\nhttps://example.org/menu/\n</parameter>\n<parameter=kinds>\n[\"text\"]\n</parameter>\n<parameter=bodyOnly>\nTrue\n</parameter>\n</function>\n</tool_call>")"#),
    ("dialect-llama-cpp-500-04", PARSED, r#"MalformedGeneration Some("</tool_call>")"#),
    ("error-llama-cpp-opaque-500-01", ENGINE, "MalformedGeneration None"),
    ("history-poisoned-args-01", HISTORY, "MalformedGeneration None"),
    ("json-truncated-at-cap-01", ENGINE, "MalformedGeneration None"),
    ("schema-grammar-pattern-01", ADAPTED, "Refused 400"),
    ("schema-grammar-lookahead-01", ADAPTED, "Refused 400"),
    ("schema-grammar-repetition-01", ADAPTED, "Refused 400"),
    ("schema-grammar-size-01", ADAPTED, "Refused 400"),
    ("tool-choice-required-empty-01", ENGINE, "Stop"),
    ("tool-choice-forced-ignored-01", ENGINE, r#"Stop | text "Hi there 🌱 What shall we plant?""#),
    ("tool-choice-none-ignored-01", CLIENT, r#"ToolCalls | call o1 "season_now" {}"#),
    ("anthropic-parallel-results-01", HISTORY, "Refused 400"),
    ("parallel-mixed-validity-01", NAMES, r#"ToolCalls | call m1 "view_bin" {"bin":"1"} | call m2 "veiw_bin" {"bin":"2"}"#),
    ("parallel-respond-mixed-01", CLIENT, r#"ToolCalls | call r1 "view_bin" {"bin":"9"} | call r2 "respond" {"message":"Looking into bin 9"}"#),
];

#[tokio::test]
async fn each_row_has_its_outcome() {
    for (row, (id, _, outcome)) in rows().iter().zip(OUTCOMES) {
        assert_eq!((row.id.as_str(), row.outcome().await.as_str()), (id, outcome));
    }
}

#[test]
fn each_row_is_listed() {
    let ids: Vec<_> = rows().into_iter().map(|row| row.id).collect();
    assert_eq!(ids, OUTCOMES.map(|(id, _, _)| id));
}
