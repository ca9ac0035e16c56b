//! The texts the engine speaks with: Markdown templates, strict about names, bounded in work.

use std::sync::{Arc, LazyLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::NudgeKind;

mod error;
mod prompt;

pub use error::TemplateError;
pub use prompt::{check_template, render_prompt};

/// Instructions that one rendering of an engine's text may take.
const FUEL: u64 = 20_000;

/// A text of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Text {
    /// What the model is told about a fault.
    Nudge(NudgeKind),
    /// What is done and what comes next.
    Progress,
    /// The result of a tool that failed.
    Failure,
    /// The result of a tool that passed its time limit.
    TimedOut,
    /// The result of a right call for data that isn't there.
    NoData,
    /// The result of a call that was cancelled.
    Cancelled,
    /// The result of a tool that said nothing.
    EmptyResult,
    /// What is added to a result that was the same before.
    Repeated,
}

/// Each text with the name of its file and the embedded source.
const EMBEDDED: [(Text, &str, &str); 21] = [
    (Text::Nudge(NudgeKind::Empty), "empty.md", include_str!("../templates/empty.md")),
    (Text::Nudge(NudgeKind::ReasoningOnly), "reasoning_only.md", include_str!("../templates/reasoning_only.md")),
    (Text::Nudge(NudgeKind::TextOnly), "text_only.md", include_str!("../templates/text_only.md")),
    (Text::Nudge(NudgeKind::UnknownTool), "unknown_tool.md", include_str!("../templates/unknown_tool.md")),
    (
        Text::Nudge(NudgeKind::MalformedArguments),
        "malformed_arguments.md",
        include_str!("../templates/malformed_arguments.md"),
    ),
    (
        Text::Nudge(NudgeKind::InvalidArguments),
        "invalid_arguments.md",
        include_str!("../templates/invalid_arguments.md"),
    ),
    (Text::Nudge(NudgeKind::Truncated), "truncated.md", include_str!("../templates/truncated.md")),
    (Text::Nudge(NudgeKind::Unreadable), "unreadable.md", include_str!("../templates/unreadable.md")),
    (Text::Nudge(NudgeKind::RepeatedText), "repeated_text.md", include_str!("../templates/repeated_text.md")),
    (
        Text::Nudge(NudgeKind::PrematureTerminal),
        "premature_terminal.md",
        include_str!("../templates/premature_terminal.md"),
    ),
    (Text::Nudge(NudgeKind::StepOrder), "step_order.md", include_str!("../templates/step_order.md")),
    (Text::Nudge(NudgeKind::Prerequisite), "prerequisite.md", include_str!("../templates/prerequisite.md")),
    (Text::Nudge(NudgeKind::Repetition), "repetition.md", include_str!("../templates/repetition.md")),
    (Text::Nudge(NudgeKind::SecondTerminal), "second_terminal.md", include_str!("../templates/second_terminal.md")),
    (Text::Progress, "progress.md", include_str!("../templates/progress.md")),
    (Text::Failure, "failure.md", include_str!("../templates/failure.md")),
    (Text::TimedOut, "timed_out.md", include_str!("../templates/timed_out.md")),
    (Text::NoData, "no_data.md", include_str!("../templates/no_data.md")),
    (Text::Cancelled, "cancelled.md", include_str!("../templates/cancelled.md")),
    (Text::EmptyResult, "empty_result.md", include_str!("../templates/empty_result.md")),
    (Text::Repeated, "repeated.md", include_str!("../templates/repeated.md")),
];

/// The texts the engine speaks with.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    /// The texts that come with the crate. They are compiled once in a process.
    pub fn embedded() -> Arc<Self> {
        static COMPILED: LazyLock<Arc<Templates>> = LazyLock::new(|| Arc::new(Templates::compile()));
        Arc::clone(&COMPILED)
    }

    #[expect(clippy::expect_used, reason = "the sources are part of the crate, and a test renders each of them")]
    fn compile() -> Self {
        let mut environment = environment(FUEL);
        // A line with nothing but a block tag leaves no line in the text.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.expect("the usual delimiters are valid"));
        for (_, name, source) in EMBEDDED {
            environment.add_template(name, source).expect("an embedded template compiles");
        }
        Self { environment }
    }

    /// Renders a text.
    pub(crate) fn render<C: Serialize>(&self, text: Text, context: &C) -> Result<String, TemplateError> {
        let name = EMBEDDED.iter().find(|(other, ..)| *other == text).map_or("", |(_, name, _)| *name);
        let rendered = self
            .environment
            .get_template(name)
            .and_then(|template| template.render(Serde(context)))
            .map_err(|error| TemplateError::from_minijinja(name, &error, &[]))?;
        Ok(rendered.trim().to_owned())
    }
}

/// The kinds of nudges that have a text.
#[cfg(test)]
pub(crate) fn nudge_kinds() -> impl Iterator<Item = NudgeKind> {
    EMBEDDED.iter().filter_map(|(text, ..)| match text {
        Text::Nudge(kind) => Some(*kind),
        _ => None,
    })
}

/// An environment in which an undefined name is an error and no template runs for ever.
fn environment(fuel: u64) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(fuel));
    environment.set_debug(true);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment
}
