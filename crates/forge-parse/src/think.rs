//! The wrappers that models put around their thinking.

/// One pair of markers around thinking.
#[derive(Clone, Copy, Debug)]
pub struct ThinkWrapper {
    /// Opens it; may be missing, because the prompt template wrote it.
    pub open: &'static str,
    /// Closes it.
    pub close: &'static str,
    /// The model families that write it.
    pub family: &'static str,
}

const fn wrapper(open: &'static str, close: &'static str, family: &'static str) -> ThinkWrapper {
    ThinkWrapper { open, close, family }
}

/// All wrappers that stand in the text. Channel messages have their own (see the engine of that name).
pub static WRAPPERS: &[ThinkWrapper] = &[
    wrapper("<think>", "</think>", "DeepSeek R1, Qwen 3, GLM, MiniMax, many"),
    wrapper("<thinking>", "</thinking>", "Claude-style prompts"),
    wrapper("<thought>", "</thought>", "several"),
    wrapper("<reasoning>", "</reasoning>", "several"),
    wrapper("<seed:think>", "</seed:think>", "Seed-OSS"),
    wrapper("[THINK]", "[/THINK]", "Magistral"),
    wrapper("<|start_thinking|>", "<|end_thinking|>", "Command A"),
    wrapper("<|begin_of_thought|>", "<|end_of_thought|>", "several"),
    wrapper("\u{25c1}think\u{25b7}", "\u{25c1}/think\u{25b7}", "Kimi VL"),
];
