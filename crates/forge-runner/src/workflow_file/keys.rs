//! The keys a workflow file has, table by table.

/// The keys of one kind of table.
#[derive(Debug)]
pub(super) struct Keys {
    /// Where, in words that continue "the keys".
    pub(super) place: &'static str,
    /// The keys.
    pub(super) names: &'static [&'static str],
}

impl Keys {
    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.contains(&name)
    }
}

pub(super) const FILE: Keys = Keys {
    place: "at the top of the file",
    names: &[
        "name",
        "description",
        "system_prompt",
        "required_steps",
        "step_order",
        "terminal_tools",
        "terminal_tool",
        "text",
        "respond",
        "hints",
        "templates_dir",
        "variables",
        "tools",
        "prerequisites",
        "budgets",
        "generation",
        "context",
    ],
};

pub(super) const VARIABLE: Keys = Keys { place: "of a variable", names: &["description", "default", "required"] };

pub(super) const TOOL: Keys = Keys {
    place: "of a tool",
    names: &[
        "description",
        "parameters",
        "parameters_file",
        "command",
        "workdir",
        "env",
        "timeout",
        "output_limit",
        "parallel",
        "risk",
        "failure_limit",
    ],
};

pub(super) const PREREQUISITE: Keys = Keys { place: "of a prerequisite", names: &["tool", "requires", "matching"] };

pub(super) const BUDGETS: Keys = Keys {
    place: "of `[budgets]`",
    names: &[
        "format_retries",
        "tool_errors",
        "premature_attempts",
        "prerequisite_violations",
        "repetitions",
        "failures_per_tool",
        "iterations",
    ],
};

pub(super) const GENERATION: Keys = Keys {
    place: "of `[generation]`",
    names: &[
        "max_tokens",
        "retry_max_tokens",
        "tools",
        "reasoning",
        "temperature",
        "top_p",
        "seed",
        "constraint",
        "call_required_after",
        "only_legal_after",
    ],
};

pub(super) const CONTEXT: Keys =
    Keys { place: "of `[context]`", names: &["budget", "strategy", "keep_recent", "thresholds", "warn_at"] };

/// All tables.
pub(super) const ALL: [&Keys; 7] = [&FILE, &VARIABLE, &TOOL, &PREREQUISITE, &BUDGETS, &GENERATION, &CONTEXT];

/// Where a key belongs that stands in a wrong table, if only one kind of table has it.
pub(super) fn home_of(key: &str) -> Option<&'static str> {
    let mut homes = ALL.into_iter().filter(|keys| keys.contains(key));
    let home = homes.next()?;
    homes.next().is_none().then_some(home.place)
}
