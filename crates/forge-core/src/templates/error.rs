use std::collections::BTreeSet;
use std::fmt;

use minijinja::{Error, ErrorKind};

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It uses a name that isn't given.
    #[error("line {line} of `{template}`: unknown variable `{name}`; {}", Known(known))]
    UnknownVariable {
        /// The template.
        template: String,
        /// The line in it, from 1.
        line: usize,
        /// The name, or the expression with it.
        name: String,
        /// The names that are given.
        known: Vec<String>,
    },
    /// It is no template.
    #[error("line {line} of `{template}`: {problem}")]
    Syntax {
        /// The template.
        template: String,
        /// The line in it, from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// It can't be rendered.
    #[error("line {line} of `{template}`: {problem}")]
    Render {
        /// The template.
        template: String,
        /// The line in it, from 1.
        line: usize,
        /// What went wrong there.
        problem: String,
    },
}

impl TemplateError {
    /// `known` gives the variables of a template by its name.
    pub(super) fn from_minijinja(template: &str, error: &Error, known: &dyn Fn(&str) -> Vec<String>) -> Self {
        let innermost = innermost(error);
        let template = innermost.name().unwrap_or(template).to_owned();
        let line = innermost.line().unwrap_or(1);
        match innermost.kind() {
            ErrorKind::UndefinedError => Self::UnknownVariable {
                name: undefined_expression(innermost).unwrap_or_else(|| "?".to_owned()),
                known: known(&template),
                template,
                line,
            },
            ErrorKind::SyntaxError | ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction => {
                Self::Syntax { template, line, problem: problem(innermost) }
            }
            _ => Self::Render { template, line, problem: problem(innermost) },
        }
    }

    /// An error inside a text that isn't to blame, told as one of the text that included it.
    pub(super) fn blamed_on(self, error: &Error, to_blame: &BTreeSet<String>) -> Self {
        if to_blame.is_empty() || to_blame.contains(self.template()) {
            return self;
        }
        let frame = frames(error).filter(|frame| frame.name().is_some_and(|name| to_blame.contains(name))).last();
        let Some((frame, name)) = frame.and_then(|frame| Some((frame, frame.name()?))) else { return self };
        let problem = match &self {
            Self::UnknownVariable { template, line, name, .. } => {
                format!("what it includes can't be rendered: line {line} of `{template}`: unknown variable `{name}`")
            }
            Self::Syntax { .. } | Self::Render { .. } => format!("what it includes can't be rendered: {self}"),
        };
        Self::Render { template: name.to_owned(), line: frame.line().unwrap_or(1), problem }
    }

    /// The template.
    pub fn template(&self) -> &str {
        match self {
            Self::UnknownVariable { template, .. } | Self::Syntax { template, .. } | Self::Render { template, .. } => {
                template
            }
        }
    }

    /// The line in the template, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::UnknownVariable { line, .. } | Self::Syntax { line, .. } | Self::Render { line, .. } => *line,
        }
    }
}

/// An error inside an included template is the source of the including one's.
fn frames(error: &Error) -> impl Iterator<Item = &Error> {
    std::iter::successors(Some(error), |error| {
        std::error::Error::source(*error).and_then(|source| source.downcast_ref::<Error>())
    })
}

fn innermost(error: &Error) -> &Error {
    frames(error).last().unwrap_or(error)
}

fn problem(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// The source text of the expression that was undefined.
fn undefined_expression(error: &Error) -> Option<String> {
    let range = error.range()?;
    let source = error.template_source()?.get(range)?;
    let expression = source.trim_start_matches(['{', '-']).trim_end_matches(['}', '-']).trim();
    Some(expression.to_owned())
}

struct Known<'a>(&'a [String]);

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no variables are declared");
        }
        f.write_str("the variables are ")?;
        self.0.iter().enumerate().try_for_each(|(position, name)| {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}`{name}`")
        })
    }
}
