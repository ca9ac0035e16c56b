//! The dialects as data. Adding one that an engine already reads is one row here and one fixture.

use crate::Dialect;

/// The grammars behind the dialects. Each is read by one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// An object with a name and arguments, or a list of them.
    Json,
    /// A name in or after a marker, then the arguments as JSON.
    Named,
    /// A tag with the name, one tag per argument, values as raw text.
    Tagged,
    /// Python calls with keyword arguments, alone or in a list.
    Pythonic,
    /// `call:NAME{key:value}` with the dialect's own string delimiters.
    Braced,
    /// Messages with a header that names channel and recipient.
    Channel,
    /// A line with the name and a line with the input.
    Lines,
    /// `[Calling tool: NAME(…)]`.
    Announcement,
}

impl Engine {
    /// The grammar in a few words, for tables.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Json => "JSON in a tag",
            Self::Named => "name, then JSON arguments",
            Self::Tagged => "tagged arguments",
            Self::Pythonic => "Python calls",
            Self::Braced => "name and braces",
            Self::Channel => "channel messages",
            Self::Lines => "lines",
            Self::Announcement => "announcement",
        }
    }
}

/// One row of the dialect table.
#[derive(Clone, Copy, Debug)]
pub struct DialectRow {
    /// The stable identifier, which a [`ParsedCall`](crate::ParsedCall) carries.
    pub id: &'static str,
    /// The model families that write it.
    pub family: &'static str,
    /// The grammar of what stands between the markers.
    pub engine: Engine,
    /// The markers that open it; none where the call stands by itself. Bars and underscores stand for their
    /// look-alikes too: `|` for `｜` and `‖`, `_` for `▁`.
    pub open: &'static [&'static str],
    /// The markers that close it.
    pub close: &'static [&'static str],
    /// Whether the opening marker is a special token of the model, which ends its thinking.
    pub ends_thinking: bool,
    /// A call of the tool `f` with `{"a": "1"}`.
    pub example: &'static str,
}

impl DialectRow {
    /// The row's identifier as a call carries it.
    pub fn dialect(&self) -> Dialect {
        Dialect::named(self.id)
    }
}

const fn row(
    id: &'static str,
    family: &'static str,
    engine: Engine,
    open: &'static [&'static str],
    close: &'static [&'static str],
    example: &'static str,
) -> DialectRow {
    DialectRow { id, family, engine, open, close, ends_thinking: false, example }
}

impl DialectRow {
    const fn special(mut self) -> Self {
        self.ends_thinking = true;
        self
    }
}

/// All dialects. An opening marker may be followed by any grammar; of the rows that share it, the one with the
/// grammar that was met gives the call its identifier.
pub static DIALECTS: &[DialectRow] = &[
    // JSON in a tag
    row(
        "hermes",
        "Hermes, Qwen 2.5 and 3, Granite 4",
        Engine::Json,
        &["<tool_call>"],
        &["</tool_call>"],
        r#"<tool_call>{"name": "f", "arguments": {"a": "1"}}</tool_call>"#,
    ),
    row(
        "granite",
        "Granite 3",
        Engine::Json,
        &["<|tool_call|>"],
        &["<|/tool_call|>"],
        r#"<|tool_call|>[{"name": "f", "arguments": {"a": "1"}}]"#,
    )
    .special(),
    row(
        "granite-function",
        "Granite 20B",
        Engine::Json,
        &["<function_call>"],
        &["</function_call>"],
        r#"<function_call> {"name": "f", "arguments": {"a": "1"}}"#,
    ),
    row(
        "jamba",
        "Jamba, Hunyuan A13B",
        Engine::Json,
        &["<tool_calls>"],
        &["</tool_calls>"],
        r#"<tool_calls>[{"name": "f", "arguments": {"a": "1"}}]</tool_calls>"#,
    ),
    row(
        "longcat",
        "LongCat",
        Engine::Json,
        &["<longcat_tool_call>"],
        &["</longcat_tool_call>"],
        r#"<longcat_tool_call>{"name": "f", "arguments": {"a": "1"}}</longcat_tool_call>"#,
    ),
    row(
        "internlm",
        "InternLM",
        Engine::Json,
        &["<|action_start|><|plugin|>", "<|action_start|>"],
        &["<|action_end|>"],
        r#"<|action_start|><|plugin|>{"name": "f", "parameters": {"a": "1"}}<|action_end|>"#,
    )
    .special(),
    row(
        "phi4-functools",
        "Phi-4 mini",
        Engine::Json,
        &["functools"],
        &[],
        r#"functools[{"name": "f", "arguments": {"a": "1"}}]"#,
    ),
    row(
        "llama3",
        "Llama 3.x",
        Engine::Json,
        &["<|python_tag|>"],
        &["<|eom_id|>"],
        r#"<|python_tag|>{"name": "f", "parameters": {"a": "1"}}"#,
    )
    .special(),
    row(
        "command-r",
        "Command R and A",
        Engine::Json,
        &["<|start_action|>"],
        &["<|end_action|>"],
        r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": "1"}}]<|END_ACTION|>"#,
    )
    .special(),
    row(
        "nemotron",
        "Nemotron",
        Engine::Json,
        &["<toolcall>"],
        &["</toolcall>"],
        r#"<TOOLCALL>[{"name": "f", "arguments": {"a": "1"}}]</TOOLCALL>"#,
    ),
    row(
        "mistral",
        "Mistral before v11",
        Engine::Json,
        &["[TOOL_CALLS]"],
        &["[/TOOL_CALLS]"],
        r#"[TOOL_CALLS][{"name": "f", "arguments": {"a": "1"}}]"#,
    )
    .special(),
    // Name in a marker, JSON arguments after it
    row(
        "mistral-args",
        "Mistral v11 and later, Ministral, Magistral, Devstral",
        Engine::Named,
        &["[TOOL_CALLS]"],
        &["[/TOOL_CALLS]"],
        r#"[TOOL_CALLS]f[ARGS]{"a": "1"}"#,
    )
    .special(),
    row(
        "deepseek-v3",
        "DeepSeek V3, V3.1 and R1",
        Engine::Named,
        &["<|tool_calls_begin|>", "<|tool_call_begin|>", "<|tool_outputs_begin|>"],
        &["<|tool_call_end|>", "<|tool_calls_end|>", "<|tool_outputs_end|>"],
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": \"1\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    )
    .special(),
    row(
        "kimi-k2",
        "Kimi K2",
        Engine::Named,
        &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
        &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": \"1\"}<|tool_call_end|><|tool_calls_section_end|>",
    )
    .special(),
    row(
        "hunyuan",
        "Hunyuan 3",
        Engine::Named,
        &["<tool_call>"],
        &["<end_of_tool_call>"],
        r#"<tool_call:x>f<tool_sep:x>{"a": "1"}<end_of_tool_call:x>"#,
    ),
    // Tagged arguments
    row(
        "qwen3-coder",
        "Qwen3-Coder, MiMo, Nemotron 3",
        Engine::Tagged,
        &["<tool_call>"],
        &["</tool_call>"],
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    ),
    row(
        "seed-oss",
        "Seed-OSS",
        Engine::Tagged,
        &["<seed:tool_call>"],
        &["</seed:tool_call>"],
        "<seed:tool_call>\n<function=f>\n<parameter=a>1</parameter>\n</function>\n</seed:tool_call>",
    ),
    row(
        "minimax",
        "MiniMax M2",
        Engine::Tagged,
        &["<minimax:tool_call>"],
        &["</minimax:tool_call>"],
        "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    row(
        "anthropic-invoke",
        "Claude-style prompts",
        Engine::Tagged,
        &["<function_calls>"],
        &["</function_calls>"],
        "<function_calls>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\n</invoke>\n</function_calls>",
    ),
    row(
        "deepseek-dsml",
        "DeepSeek V3.2 and V4",
        Engine::Tagged,
        &["<|dsml|function_calls>", "<|dsml|tool_calls>", "<|dsml|tool_call>"],
        &["</|dsml|function_calls>", "</|dsml|tool_calls>", "</|dsml|tool_call>"],
        "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\">1</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
    )
    .special(),
    row(
        "step3",
        "Step 3",
        Engine::Tagged,
        &["<steptml:toolcall>"],
        &["</steptml:toolcall>"],
        "<steptml:invoke name=\"f\"><steptml:parameter name=\"a\">1</steptml:parameter></steptml:invoke>",
    ),
    row(
        "glm",
        "GLM 4.5 to 4.7",
        Engine::Named,
        &["<tool_call>"],
        &["</tool_call>"],
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    ),
    // Pythonic
    row(
        "llama4",
        "Llama 3.2 and 4, xLAM",
        Engine::Pythonic,
        &["<|python_start|>"],
        &["<|python_end|>"],
        r#"<|python_start|>[f(a="1")]<|python_end|>"#,
    )
    .special(),
    row(
        "lfm2",
        "LFM2",
        Engine::Pythonic,
        &["<|tool_call_start|>"],
        &["<|tool_call_end|>"],
        r#"<|tool_call_start|>[f(a="1")]<|tool_call_end|>"#,
    )
    .special(),
    row(
        "olmo3",
        "OLMo 3",
        Engine::Pythonic,
        &["<function_calls>"],
        &["</function_calls>"],
        "<function_calls>f(a=\"1\")</function_calls>",
    ),
    // Own small grammars
    row(
        "functiongemma",
        "FunctionGemma",
        Engine::Braced,
        &["<start_function_call>"],
        &["<end_function_call>"],
        "<start_function_call>call:f{a:<escape>1<escape>}<end_function_call>",
    )
    .special(),
    row(
        "gemma4",
        "Gemma 4",
        Engine::Braced,
        &["<|tool_call>"],
        &["<tool_call|>"],
        "<|tool_call>call:f{a:<|\"|>1<|\"|>}<tool_call|>",
    )
    .special(),
];
