//! How much the reader looks at, counted in its own tests: that this grows no faster than the text is what keeps
//! hostile output from stalling a server, and counts don't depend on the machine.

/// Notes that so many places were looked at.
#[cfg(not(test))]
pub(crate) const fn spend(_places: usize) {}

#[cfg(test)]
thread_local! {
    static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Notes that so many places were looked at.
#[cfg(test)]
pub(crate) fn spend(places: usize) {
    SPENT.with(|spent| spent.set(spent.get() + places));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::SPENT;
    use crate::{DIALECTS, FinishReason, Parser, ParserOptions, ToolSpec, Toolset};

    fn toolset() -> Arc<Toolset> {
        let schema = serde_json::json!({
            "type": "object",
            "properties": { "a": { "type": "string" }, "b": { "type": "integer" } },
            "required": ["a"],
        });
        Toolset::compile(["f", "get_weather"].map(|name| ToolSpec::new(name, "", schema.clone())).to_vec())
    }

    /// The places that are looked at while a text is read in pieces of at most so many bytes.
    fn effort(toolset: &Arc<Toolset>, text: &str, piece: usize) -> usize {
        SPENT.with(|spent| spent.set(0));
        let mut parser = Parser::new(Arc::clone(toolset), ParserOptions::default());
        let mut rest = text;
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.ceil_char_boundary(piece.min(rest.len())));
            parser.push(head);
            rest = tail;
        }
        parser.finish(FinishReason::Stop);
        SPENT.with(std::cell::Cell::get)
    }

    /// What a text may be full of: openers, parts of calls, calls, fences, brackets.
    fn units() -> Vec<&'static str> {
        let mut units = vec![
            "{",
            "[",
            "<",
            "`",
            "\n",
            " ",
            "\"",
            "\\",
            "}",
            "]",
            "(",
            ",",
            ":",
            "'",
            "#",
            "|",
            ">",
            "a",
            "f",
            "\u{201c}",
            "[[\"",
            "{{",
            "[T",
            "</",
            "{\"a\":",
            "{'a':'",
            "\"}",
            "{\"name\":\"f\",",
            "{\"name\":\"f\",\"arguments\":{\"a\":\"",
            "{\"function\":",
            "{\"tool_calls\":[",
            "{\"name\":\"f\",\"arguments\":{\"a\":\"1\"}}\n",
            "[{\"name\":\"f\",\"arguments\":{\"a\":\"1\"}},",
            "f(",
            "f(a=",
            "[f(",
            "f(a=[1,",
            "f[ARGS]",
            "f[CALL_ID]a",
            "function[ARGS]",
            "[TOOL_CALLS]f[ARGS]{",
            "<tool_call>{",
            "<tool_call>x",
            "<tool_call></tool_call>",
            "<tool_call>\n",
            "<f>",
            "<f><a>",
            "<function=f><parameter=a>",
            "<get_weather>\n",
            "<arg_key>",
            "<a:",
            "<!--",
            "<think>",
            "</think>",
            "<think></think>",
            " </think> x",
            "```\n",
            "~~~\n",
            "```json\n{",
            "```xml\n<tool_call>",
            "```xml\n<tool_call>{\"name\":",
            "Action: f\n",
            "Action: f\nAction Input: {",
            "Thought: x\nAction: f\n",
            "> ",
            "- f(",
            "# f\n",
            "[Calling tool: f(",
            "[Calling tool=\"f\" a=\"",
            "functools[",
            "call:f{",
            "call:f{a:[",
            "<|channel|>",
            "<|start|>assistant",
            "to=functions.f ",
            "assistant to=",
            "<|channel|>commentary to=functions.f <|message|>",
            "\"\"\"",
            "//",
            "/*",
        ];
        for row in DIALECTS {
            units.extend(row.open.iter().chain(row.close));
            units.push(row.example);
            let cut = |part: usize| row.example.floor_char_boundary(row.example.len() * part / 4);
            units.extend((1..4).filter_map(|part| row.example.get(..cut(part))).filter(|unit| !unit.is_empty()));
        }
        units
    }

    #[test]
    fn the_effort_grows_no_faster_than_the_text() {
        let toolset = toolset();
        for unit in units() {
            for piece in [usize::MAX, 7] {
                let of = |length: usize| effort(&toolset, &unit.repeat(length / unit.len() + 1), piece);
                let (small, large) = (of(2_000), of(20_000));
                assert!(large < 12 * small.max(2_000), "{unit:?} in pieces of {piece}: {small}, then {large}");
            }
        }
    }

    /// On a thread with a small stack: what is nested thousands of times may not be read by recursion.
    #[test]
    fn the_stack_does_not_grow_with_the_text() {
        let read_all = || {
            let toolset = toolset();
            for unit in units() {
                effort(&toolset, &unit.repeat(50_000 / unit.len() + 1), usize::MAX);
            }
        };
        std::thread::Builder::new().stack_size(256 * 1024).spawn(read_all).unwrap().join().unwrap();
    }
}
