//! The texts the engine speaks with: Markdown templates, strict about names, bounded in work.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::NudgeKind;

mod catalogue;
mod error;
mod overrides;
mod prompt;

pub use catalogue::{TemplateInfo, TemplateVariable};
pub use error::TemplateError;
pub use overrides::{InvalidTemplates, OverrideProblem};
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
    /// What stands in the place of what compaction removed.
    Summary,
    /// What is added to a prompt that fills much of the context.
    ContextWarning,
}

/// The texts the engine speaks with.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
    /// The names of the texts that are not the embedded ones.
    overridden: BTreeSet<String>,
}

impl Templates {
    /// The texts that come with the crate. They are compiled once in a process.
    pub fn embedded() -> Arc<Self> {
        static COMPILED: LazyLock<Arc<Templates>> = LazyLock::new(|| Arc::new(Templates::compile()));
        Arc::clone(&COMPILED)
    }

    /// All texts with what they are for, their variables and their embedded sources.
    pub fn catalogue() -> &'static [TemplateInfo] {
        catalogue::all()
    }

    #[expect(clippy::expect_used, reason = "the sources are part of the crate, and a test renders each of them")]
    fn compile() -> Self {
        let mut environment = environment(FUEL);
        // A line with nothing but a block tag leaves no line in the text.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.expect("the usual delimiters are valid"));
        for info in catalogue::all() {
            environment.add_template(info.name, info.source).expect("an embedded template compiles");
        }
        Self { environment, overridden: BTreeSet::new() }
    }

    /// Renders a text.
    pub(crate) fn render<C: Serialize>(&self, text: Text, context: &C) -> Result<String, TemplateError> {
        let info = catalogue::of(text);
        let name = info.map_or("", |info| info.name);
        let rendered = self
            .environment
            .get_template(name)
            .and_then(|template| template.render(Serde(context)))
            .map_err(|error| self.problem(name, &error))?;
        Ok(rendered.trim().to_owned())
    }

    fn problem(&self, name: &str, error: &minijinja::Error) -> TemplateError {
        let known = |name: &str| {
            let info = catalogue::all().iter().find(|info| info.name == name);
            info.map(TemplateInfo::names).unwrap_or_default()
        };
        TemplateError::from_minijinja(name, error, &known).blamed_on(error, &self.overridden)
    }
}

/// The kinds of nudges that have a text.
#[cfg(test)]
pub(crate) fn nudge_kinds() -> impl Iterator<Item = NudgeKind> {
    catalogue::all().iter().filter_map(|info| match info.text {
        Text::Nudge(kind) => Some(kind),
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
