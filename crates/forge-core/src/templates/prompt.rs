use std::collections::BTreeMap;

use minijinja::value::Serde;

use super::{TemplateError, environment};

/// Instructions that one rendering of a prompt may take.
const FUEL: u64 = 1_000_000;

/// Checks that a text is a valid template, without rendering it.
///
/// # Errors
/// [`TemplateError::Syntax`] with the line.
pub fn check_template(name: &str, source: &str) -> Result<(), TemplateError> {
    let environment = environment(FUEL);
    let checked = environment.template_from_named_str(name, source).map(|_| ());
    checked.map_err(|error| TemplateError::from_minijinja(name, &error, &|_| Vec::new()))
}

/// Renders the template of a system prompt with the variables of a run.
///
/// ```
/// use std::collections::BTreeMap;
///
/// let variables = BTreeMap::from([("product".to_owned(), "a web shop".to_owned())]);
/// let prompt = forge_core::render_prompt("You look after {{ product }}.", &variables).unwrap();
/// assert_eq!(prompt, "You look after a web shop.");
/// ```
///
/// # Errors
/// When it uses a variable that isn't given (with its name, line, and the ones that are), when it is no template, or
/// when rendering it takes too long.
pub fn render_prompt(template: &str, variables: &BTreeMap<String, String>) -> Result<String, TemplateError> {
    const NAME: &str = "system_prompt";
    let known: Vec<String> = variables.keys().cloned().collect();
    let environment = environment(FUEL);
    environment
        .render_named_str(NAME, template, Serde(variables))
        .map_err(|error| TemplateError::from_minijinja(NAME, &error, &|_| known.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> BTreeMap<String, String> {
        BTreeMap::from([("city".to_owned(), "Oslo".to_owned()), ("unit".to_owned(), "mm".to_owned())])
    }

    #[test]
    fn a_prompt_keeps_its_lines() {
        let prompt = render_prompt("Rain in {{ city }}.\n\n- in {{ unit }}\n", &variables()).unwrap();
        assert_eq!(prompt, "Rain in Oslo.\n\n- in mm");
    }

    #[test]
    fn an_unknown_variable_is_named_with_its_line_and_the_known_ones() {
        let error = render_prompt("Rain in {{ city }}.\nSince {{ year }}.", &variables()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2 of `system_prompt`: unknown variable `year`; the variables are `city`, `unit`"
        );
    }

    #[test]
    fn a_variable_can_be_optional() {
        let template = "{% if year is defined %}Since {{ year }}.{% else %}Always.{% endif %}";
        assert_eq!(render_prompt(template, &variables()).unwrap(), "Always.");
    }

    #[test]
    fn values_are_not_templates_and_not_escaped() {
        let variables = BTreeMap::from([("city".to_owned(), "{{ unit }} & <b>".to_owned())]);
        assert_eq!(render_prompt("{{ city }}", &variables).unwrap(), "{{ unit }} & <b>");
    }

    #[test]
    fn a_broken_template_says_where() {
        let error = check_template("system_prompt", "a\nb {% if %}").unwrap_err();
        assert_eq!(error.line(), 2);
        assert!(matches!(error, TemplateError::Syntax { .. }), "{error}");
    }

    #[test]
    fn a_template_that_never_ends_is_stopped() {
        let template = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        let error = render_prompt(template, &variables()).unwrap_err();
        assert!(matches!(error, TemplateError::Render { .. }), "{error}");
    }
}
