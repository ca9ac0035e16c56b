use super::Text;
use crate::NudgeKind;

/// One of the texts the engine speaks with, as it comes with the crate.
#[derive(Debug)]
pub struct TemplateInfo {
    /// The name of its file, such as `text_only.md`.
    pub name: &'static str,
    /// When the model reads it.
    pub purpose: &'static str,
    /// The embedded source.
    pub source: &'static str,
    pub(super) text: Text,
    own: &'static [TemplateVariable],
    shared: &'static [TemplateVariable],
}

/// A variable that a text may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateVariable {
    /// The name.
    pub name: &'static str,
    /// What it holds; a variable that may be absent is none (false in a condition) then.
    pub meaning: &'static str,
}

impl TemplateInfo {
    /// The variables the text may use, its own first.
    pub fn variables(&self) -> impl Iterator<Item = TemplateVariable> + use<> {
        self.own.iter().chain(self.shared).copied()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.variables().map(|variable| variable.name.to_owned()).collect()
    }

    /// Whether the text may be empty: one that is left out where there is nothing to say.
    pub(super) fn may_be_empty(&self) -> bool {
        matches!(self.text, Text::Progress | Text::Summary)
    }
}

/// All texts, in the order in which `forge templates list` shows them.
pub(super) fn all() -> &'static [TemplateInfo] {
    &ALL
}

pub(super) fn of(text: Text) -> Option<&'static TemplateInfo> {
    ALL.iter().find(|info| info.text == text)
}

const fn variable(name: &'static str, meaning: &'static str) -> TemplateVariable {
    TemplateVariable { name, meaning }
}

/// What every text that guides on to the next call may use.
const GUIDE: &[TemplateVariable] = &[
    variable("done", "the required steps that are done, a list; empty where hints are switched off"),
    variable("next", "the tools to call next, a list"),
    variable("answer", "whether only an answer in text is left"),
    variable("example", "a call in the right form, if there is one to show"),
];

const NONE: &[TemplateVariable] = &[];

/// What the texts for results may use.
const RESULT: &[TemplateVariable] = &[
    variable("tool", "the tool"),
    variable("result", "what the tool said"),
    variable("left", "how often the tool may still be tried, a number"),
];

const TOOL: TemplateVariable = variable("tool", "the tool");

const ANY_TOOL: TemplateVariable = variable("tool", "the tool, if it is known");

macro_rules! info {
    ($text:expr, $name:literal, $purpose:literal, $own:expr, $shared:expr) => {
        TemplateInfo {
            text: $text,
            name: $name,
            purpose: $purpose,
            source: include_str!(concat!("../../templates/", $name)),
            own: $own,
            shared: $shared,
        }
    };
}

static ALL: [TemplateInfo; 23] = [
    info!(Text::Nudge(NudgeKind::Empty), "empty.md", "The answer was empty, for the second time.", NONE, GUIDE),
    info!(
        Text::Nudge(NudgeKind::ReasoningOnly),
        "reasoning_only.md", "The answer was nothing but thinking.", NONE, GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::TextOnly),
        "text_only.md",
        "Text came where a call was due.",
        &[variable("cut", "whether the text was cut off at the output limit")],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::UnknownTool),
        "unknown_tool.md",
        "A call of a tool that isn't offered.",
        &[
            variable("name", "the name as the model wrote it"),
            variable("nearest", "the tool that was probably meant, if one is near"),
            variable("tools", "the tools that are offered, a list"),
        ],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::MalformedArguments),
        "malformed_arguments.md",
        "Arguments that are no JSON object and can't be repaired.",
        &[
            TOOL,
            variable("problem", "what is wrong"),
            variable("excerpt", "the arguments around the place; may be empty"),
            variable("example", "a call in the right form"),
        ],
        NONE
    ),
    info!(
        Text::Nudge(NudgeKind::InvalidArguments),
        "invalid_arguments.md",
        "Arguments that don't satisfy the tool's schema.",
        &[
            TOOL,
            variable(
                "fields",
                "a list of what is wrong, each with `path`, `problem` (\"missing\", \"unknown\", \"wrong_type\", \
                 \"not_allowed\", \"rule\"), `found`, `allowed` and `nearest`"
            ),
            variable("more", "how many more there are, a number"),
            variable("example", "a call in the right form"),
        ],
        NONE
    ),
    info!(
        Text::Nudge(NudgeKind::Truncated),
        "truncated.md",
        "A call that was cut off at the output limit.",
        &[ANY_TOOL],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::Unreadable),
        "unreadable.md",
        "Markup of a call that can't be read.",
        &[variable("problem", "what is wrong")],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::RepeatedText),
        "repeated_text.md",
        "Text that repeats itself over and over.",
        &[variable("unit", "what is repeated"), variable("count", "how often, a number")],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::PrematureTerminal),
        "premature_terminal.md",
        "An attempt to finish before the required steps are done.",
        &[
            variable("tool", "the terminal tool; none where it was text"),
            variable("pending", "the steps that are open, a list"),
            variable("tier", "how firmly to say it: 1, 2 or 3"),
            variable("left", "how many more attempts the run bears, a number"),
        ],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::StepOrder),
        "step_order.md",
        "A step out of order.",
        &[TOOL, variable("due", "the step that comes first")],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::Prerequisite),
        "prerequisite.md",
        "A call before its prerequisite.",
        &[
            TOOL,
            variable("requires", "the tool that has to succeed first"),
            variable("argument", "the argument that has to be the same in both calls, if any"),
            variable("value", "its value as JSON; may be empty"),
            variable("first", "the tool to call now: `requires`, or what that one waits for itself"),
            variable("example", "a call of `first` in the right form; may be empty"),
        ],
        NONE
    ),
    info!(
        Text::Nudge(NudgeKind::Repetition),
        "repetition.md",
        "A call that only repeats what was done, with the same results.",
        &[TOOL, variable("round", "how many calls the repeated round has, a number")],
        GUIDE
    ),
    info!(
        Text::Nudge(NudgeKind::SecondTerminal),
        "second_terminal.md",
        "A terminal call beside another one of the same answer.",
        &[TOOL, variable("first", "the id of the call that runs")],
        NONE
    ),
    info!(
        Text::Progress,
        "progress.md",
        "What is done and what comes next: included by other texts, and a line of its own in hints.",
        NONE,
        GUIDE
    ),
    info!(Text::Failure, "failure.md", "The result of a tool that failed.", RESULT, NONE),
    info!(Text::TimedOut, "timed_out.md", "The result of a tool that passed its time limit.", RESULT, NONE),
    info!(Text::NoData, "no_data.md", "The result of a right call for data that isn't there.", RESULT, NONE),
    info!(Text::Cancelled, "cancelled.md", "The result of a call that was cancelled.", RESULT, NONE),
    info!(
        Text::EmptyResult,
        "empty_result.md", "The result of a tool that succeeded and printed nothing.", RESULT, NONE
    ),
    info!(
        Text::Repeated,
        "repeated.md",
        "A note on a result that was the same before.",
        &[variable("round", "how many calls the repeated round has, a number")],
        GUIDE
    ),
    info!(
        Text::Summary,
        "summary.md", "In the place of what was shortened or dropped so that the conversation fits.", NONE, GUIDE
    ),
    info!(
        Text::ContextWarning,
        "context_warning.md",
        "A note on one prompt, when a share of the context is used that the workflow wants to be told.",
        &[variable("percent", "how much of the context is used, a number from 1 to 100")],
        GUIDE
    ),
];
