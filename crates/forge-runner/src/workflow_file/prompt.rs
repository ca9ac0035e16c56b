use std::ops::Range;

use forge_core::{TemplateError, render_prompt};
use forge_parse::nearest;

use super::diagnostic::{Diagnostic, place_in};
use super::prose::list;
use super::source::content_start;
use super::table::At;
use super::variables::Variables;

/// Checks that a system prompt renders with the variables of the run. A prompt that is no template at all is the
/// engine's to report.
pub(super) fn check(prompt: &At<&str>, variables: &Variables, source: &str) -> Option<Diagnostic> {
    match render_prompt(prompt.value, &variables.values) {
        Ok(_) | Err(TemplateError::Syntax { .. }) => None,
        Err(TemplateError::UnknownVariable { name, line, .. }) if variables.declared.contains(&name) => {
            let place = place(prompt, source, line, Some(&name));
            let diagnostic =
                Diagnostic::at(place, format!("the system prompt needs the variable `{name}`, which has no value"));
            let conditional = format!("put it in `{{% if {name} is defined %}}…{{% endif %}}`");
            Some(diagnostic.help(format!("give it a `default` or `--var {name}=VALUE`, or {conditional}")))
        }
        Err(TemplateError::UnknownVariable { name, line, .. }) => {
            let declared = || variables.declared.iter().map(String::as_str);
            let place = place(prompt, source, line, Some(&name));
            let diagnostic =
                Diagnostic::at(place, format!("the system prompt uses the variable `{name}`, which isn't declared"));
            let diagnostic = diagnostic.did_you_mean(nearest(&name, declared()));
            Some(if variables.declared.is_empty() {
                diagnostic.help(format!("declare it: `[variables.{name}]` with a `description` and a `default`"))
            } else {
                diagnostic.help(format!("the variables are {}", list(declared())))
            })
        }
        Err(TemplateError::Render { line, problem, .. }) => {
            let place = place(prompt, source, line, None);
            Some(Diagnostic::at(place, format!("the system prompt can't be rendered: {problem}")))
        }
    }
}

/// The place of a line of the prompt, or of a name in it.
pub(super) fn place(prompt: &At<&str>, source: &str, line: usize, name: Option<&str>) -> Range<usize> {
    let Some(start) = content_start(source, &prompt.span, prompt.value) else { return prompt.span.clone() };
    let place = place_in(prompt.value, line, name);
    start + place.start..start + place.end
}
