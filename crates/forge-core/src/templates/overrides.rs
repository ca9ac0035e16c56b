//! Texts in the place of the embedded ones, tried out before they are used.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use forge_parse::nearest;

use super::{TemplateError, TemplateInfo, Templates, catalogue};
use crate::nudges::render_all;

/// Everything that is wrong with the texts that were given in the place of the embedded ones. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InvalidTemplates {
    /// The problems, in the order in which the texts were given.
    pub problems: Vec<OverrideProblem>,
}

impl fmt::Display for InvalidTemplates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problems.iter().enumerate().try_for_each(|(position, problem)| {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")
        })
    }
}

/// One thing that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideProblem {
    /// The engine has no text with this name.
    #[error("no text is called `{name}`{}; the texts are {}", DidYouMean(*nearest), Names)]
    UnknownName {
        /// The name that was given.
        name: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
    },
    /// It is no template, or it uses what isn't given.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// It says nothing where the model has to be told something.
    #[error("`{template}` renders to nothing in some cases; the model would be given an empty message")]
    Empty {
        /// The template.
        template: String,
    },
}

impl OverrideProblem {
    /// The name of the text it is about, as it was given.
    pub fn template(&self) -> &str {
        match self {
            Self::UnknownName { name, .. } => name,
            Self::Template(error) => error.template(),
            Self::Empty { template } => template,
        }
    }
}

struct DidYouMean(Option<&'static str>);

impl fmt::Display for DidYouMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
    }
}

/// The names of all texts.
struct Names;

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        catalogue::all().iter().enumerate().try_for_each(|(position, info)| {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{}", info.name)
        })
    }
}

impl Templates {
    /// The embedded texts, with others in the place of some: pairs of a name, such as `text_only.md`, and a source. Of
    /// several with one name the last counts.
    ///
    /// Each text is tried out with samples of everything that it can be given, so that a run doesn't meet a broken one.
    ///
    /// # Errors
    /// Every problem of the texts: an unknown name, a syntax error, a variable that isn't given, a text that renders to
    /// nothing.
    pub fn with_overrides<N: Into<String>, S: Into<String>>(
        overrides: impl IntoIterator<Item = (N, S)>,
    ) -> Result<Arc<Self>, InvalidTemplates> {
        let mut templates = Self::compile();
        let mut problems = Vec::new();
        for (name, source) in overrides {
            problems.extend(templates.replace(name.into(), source.into()));
        }
        let templates = Arc::new(templates);
        if problems.is_empty() && !templates.overridden.is_empty() {
            problems = templates.tried_out();
        }
        if problems.is_empty() { Ok(templates) } else { Err(InvalidTemplates { problems }) }
    }

    /// Whether a text was given in the place of the embedded one.
    pub fn is_overridden(&self, name: &str) -> bool {
        self.overridden.contains(name)
    }

    fn replace(&mut self, name: String, source: String) -> Option<OverrideProblem> {
        let names = || catalogue::all().iter().map(|info| info.name);
        if !names().any(|known| known == name) {
            let nearest = nearest(&name, names());
            return Some(OverrideProblem::UnknownName { name, nearest });
        }
        let added = self.environment.add_template_owned(name.clone(), source);
        match added {
            Ok(()) => {
                self.overridden.insert(name);
                None
            }
            Err(error) => Some(TemplateError::from_minijinja(&name, &error, &|_| Vec::new()).into()),
        }
    }

    /// What shows when each text is rendered with samples, and what no sample reaches.
    fn tried_out(self: &Arc<Self>) -> Vec<OverrideProblem> {
        let mut problems: Vec<OverrideProblem> = Vec::new();
        for rendered in render_all(self) {
            let problem = match rendered {
                Err(error) => Some(error.into()),
                Ok((text, said)) => catalogue::of(text)
                    .filter(|info| said.is_empty() && !info.may_be_empty() && self.is_overridden(info.name))
                    .map(|info| OverrideProblem::Empty { template: info.name.to_owned() }),
            };
            problems.extend(problem.filter(|problem| !problems.contains(problem)));
        }
        for info in catalogue::all().iter().filter(|info| self.is_overridden(info.name)) {
            let found: BTreeSet<String> = problems.iter().filter_map(unknown_variable).map(str::to_owned).collect();
            let unseen = self.undeclared(info).into_iter().filter(|(name, _)| !found.contains(name));
            problems.extend(unseen.map(|(name, line)| {
                let (template, known) = (info.name.to_owned(), info.names());
                TemplateError::UnknownVariable { template, line, name, known }.into()
            }));
        }
        problems
    }

    /// The variables a text uses in any branch and isn't given, with their lines.
    fn undeclared(&self, info: &TemplateInfo) -> Vec<(String, usize)> {
        let Ok(template) = self.environment.get_template(info.name) else { return Vec::new() };
        let given = |name: &str| {
            info.variables().any(|variable| variable.name == name)
                || self.environment.globals().any(|(global, _)| global == name)
        };
        let mut names: Vec<String> =
            template.undeclared_variables(false).into_iter().filter(|name| !given(name)).collect();
        names.sort_unstable();
        let line = |name: &str| line_of(template.source(), name);
        names
            .into_iter()
            .map(|name| {
                let line = line(&name);
                (name, line)
            })
            .collect()
    }
}

fn unknown_variable(problem: &OverrideProblem) -> Option<&str> {
    match problem {
        OverrideProblem::Template(TemplateError::UnknownVariable { name, .. }) => Some(name),
        OverrideProblem::Template(TemplateError::Syntax { .. } | TemplateError::Render { .. })
        | OverrideProblem::UnknownName { .. }
        | OverrideProblem::Empty { .. } => None,
    }
}

/// The first line, from 1, that holds a name as a whole word and a tag.
fn line_of(source: &str, name: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let holds = |line: &str| line.split(|c: char| !is_word(c)).any(|word| word == name);
    let tagged = |line: &str| line.contains("{{") || line.contains("{%");
    let place = source.lines().position(|line| tagged(line) && holds(line));
    place.or_else(|| source.lines().position(holds)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn problems(overrides: &[(&str, &str)]) -> Vec<String> {
        let invalid = Templates::with_overrides(overrides.iter().copied()).unwrap_err();
        invalid.problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_embedded_texts_hold_what_is_asked_of_others() {
        let all = Templates::catalogue().iter().map(|info| (info.name, info.source));
        assert!(Templates::with_overrides(all).is_ok());
    }

    #[test]
    fn each_text_is_given_the_variables_that_are_told() {
        for info in Templates::catalogue() {
            let used: String = info.variables().map(|variable| format!("{{% set _ = {} %}}", variable.name)).collect();
            let source = format!("{used}said");
            assert_eq!(Templates::with_overrides([(info.name, source)]).err(), None, "{}", info.name);
        }
    }

    /// Variables of one text that another isn't told of are refused there, so the told ones are all there are.
    #[test]
    fn a_text_is_given_nothing_that_is_not_told() {
        let all: BTreeSet<_> =
            Templates::catalogue().iter().flat_map(TemplateInfo::variables).map(|variable| variable.name).collect();
        for info in Templates::catalogue() {
            let told: BTreeSet<_> = info.variables().map(|variable| variable.name).collect();
            let foreign: Vec<_> = all.difference(&told).collect();
            let source: String = foreign.iter().map(|name| format!("{{% set _ = {name} %}}")).collect();
            let invalid = Templates::with_overrides([(info.name, source + "said")]).unwrap_err();
            let found: BTreeSet<_> = invalid.problems.iter().filter_map(unknown_variable).collect();
            assert_eq!(found.len(), foreign.len(), "{}: {found:?}", info.name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let said = problems(&[("text-only.md", "x")]).remove(0);
        assert!(
            said.starts_with(
                "no text is called `text-only.md`; did you mean `text_only.md`?; the texts are empty.md, "
            ),
            "{said}"
        );
    }

    #[test]
    fn an_unknown_variable_is_refused_with_the_known_ones() {
        assert_eq!(
            problems(&[("step_order.md", "First {{ due }}.\nThen {{ tol }}.")]),
            [
                "line 2 of `step_order.md`: unknown variable `tol`; the variables are `tool`, `due`, `done`, `next`, `answer`, `example`"
            ]
        );
    }

    #[test]
    fn a_variable_in_a_branch_that_no_sample_takes_is_refused_too() {
        let said = problems(&[("failure.md", "{{ result }}\n{% if left > 1000000 %}{{ nope }}{% endif %}")]);
        assert_eq!(
            said,
            ["line 2 of `failure.md`: unknown variable `nope`; the variables are `tool`, `result`, `left`"]
        );
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let said = problems(&[("empty.md", "a\n{% if %}")]).remove(0);
        assert!(said.starts_with("line 2 of `empty.md`: syntax error"), "{said}");
    }

    #[test]
    fn an_included_text_that_is_not_given_its_variables_is_told_where_it_is_included() {
        let said = problems(&[("no_data.md", "{{ result }}\n\n{% include \"progress.md\" %}")]);
        assert_eq!(
            said,
            [
                "line 3 of `no_data.md`: what it includes can't be rendered: line 1 of `progress.md`: unknown variable `done`"
            ]
        );
    }

    #[test]
    fn an_overridden_text_that_others_include_is_told_itself() {
        assert_eq!(
            problems(&[("progress.md", "Go on, {{ tool }}.")]),
            ["line 1 of `progress.md`: unknown variable `tool`; the variables are `done`, `next`, `answer`, `example`"]
        );
    }

    #[test]
    fn a_text_that_says_nothing_is_refused() {
        let said = problems(&[("text_only.md", "{% if cut %}Shorter, please.{% endif %}")]);
        assert_eq!(
            said,
            ["`text_only.md` renders to nothing in some cases; the model would be given an empty message"]
        );
    }

    #[test]
    fn a_text_that_never_ends_is_refused() {
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        let said = problems(&[("cancelled.md", endless)]).remove(0);
        assert!(said.contains("fuel"), "{said}");
    }

    #[test]
    fn every_problem_is_told() {
        assert_eq!(problems(&[("a.md", "x"), ("empty.md", "{{"), ("failure.md", "{% x %}")]).len(), 3);
    }
}
