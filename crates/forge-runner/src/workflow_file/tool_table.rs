use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use forge_core::{Risk, ToolSpec};
use forge_parse::nearest;
use serde_json::{Value, json};
use toml::Spanned;
use toml::de::DeValue;

use super::diagnostic::Diagnostic;
use super::json::Json;
use super::program::{find_program, missing_script};
use super::prose::list;
use super::quantity;
use super::source::inside_string;
use super::table::{At, Table};
use super::variables::{Variables, WORKFLOW_DIR};
use crate::command::{CommandLine, CommandTool, ElementTemplate};
use crate::{Concurrency, TemplateError};

/// The most failures of a tool that can be allowed.
const MAX_FAILURE_LIMIT: i128 = 1000;

/// What a tool's declaration is read against.
pub(super) struct Surroundings<'a> {
    pub(super) source: &'a str,
    pub(super) folder: &'a Path,
    pub(super) variables: &'a Variables,
}

/// A tool as it was declared.
pub(super) struct DeclaredTool {
    pub(super) spec: ToolSpec,
    /// The parameters with their places.
    pub(super) parameters: Json,
    /// What it runs; none where that has a problem.
    pub(super) command: Option<CommandTool>,
    /// How often it may fail, where that is said.
    pub(super) tolerance: Option<Tolerance>,
}

/// How often a tool may fail.
#[derive(Clone, Copy)]
pub(super) enum Tolerance {
    /// As its risk allows.
    Risk(Risk),
    /// So often.
    Limit(u32),
}

/// A reader of one `[tools.NAME]`.
pub(super) struct ToolReader<'a, 'f> {
    name: &'a str,
    name_span: Range<usize>,
    table: Table<'f>,
    surroundings: &'a Surroundings<'a>,
}

/// An element of `command` that was read.
struct Element<'f> {
    text: At<&'f str>,
    template: ElementTemplate,
}

impl<'a, 'f> ToolReader<'a, 'f> {
    pub(super) fn new(
        name: &'a str,
        name_span: Range<usize>,
        table: Table<'f>,
        surroundings: &'a Surroundings<'a>,
    ) -> Self {
        Self { name, name_span, table, surroundings }
    }

    pub(super) fn read(&self) -> DeclaredTool {
        let description = self.description();
        let parameters = self.parameters();
        let command = self.command(parameters.as_ref().and_then(|parameters| parameter_names(&parameters.value)));
        let parameters = parameters.unwrap_or_else(|| Json::at(unknown_parameters(), self.name_span.clone()));
        let spec = ToolSpec::new(self.name, description, parameters.value.clone());
        DeclaredTool { spec, parameters, command, tolerance: self.tolerance() }
    }

    fn report(&self, diagnostic: Diagnostic) {
        self.table.problems().report(diagnostic);
    }

    fn description(&self) -> String {
        let Some(description) = self.table.string("description") else {
            if self.table.value("description").is_none() {
                let message = format!("tool `{}` has no `description`", self.name);
                let help = "say what it does and when to use it: the model knows nothing else about it";
                self.report(Diagnostic::at(self.name_span.clone(), message).help(help));
            }
            return String::new();
        };
        description.value.trim().to_owned()
    }

    fn tolerance(&self) -> Option<Tolerance> {
        let risks = [("destructive", Risk::Destructive), ("normal", Risk::Normal), ("network", Risk::Network)];
        let risk = self.table.word("risk", &risks);
        let limit = self.table.integer("failure_limit", 1, MAX_FAILURE_LIMIT);
        if let (Some(risk), Some(_)) = (&risk, &limit) {
            let diagnostic = Diagnostic::at(risk.span.clone(), "there are both `risk` and `failure_limit`");
            self.report(diagnostic.help("keep one of them: a risk stands for a limit"));
        }
        risk.map(|risk| Tolerance::Risk(risk.value)).or(limit.map(|limit| Tolerance::Limit(limit.value)))
    }

    /// The schema of the parameters; none where it can't be read.
    fn parameters(&self) -> Option<Json> {
        let json = match (self.table.table("parameters"), self.table.string("parameters_file")) {
            (Some(_), Some(file)) => {
                let diagnostic = Diagnostic::at(file.span, "there are both `parameters` and `parameters_file`");
                self.report(diagnostic.help("keep one of them"));
                return None;
            }
            (Some(_), None) => Json::from_toml(self.table.value("parameters")?),
            (None, Some(file)) => self.parameters_file(&file)?,
            (None, None) if self.table.value("parameters").or(self.table.value("parameters_file")).is_some() => {
                return None;
            }
            (None, None) => Json::at(ToolSpec::no_parameters(), self.name_span.clone()),
        };
        self.check_fields(&json).then_some(json)
    }

    fn parameters_file(&self, file: &At<&str>) -> Option<Json> {
        let path = self.surroundings.folder.join(file.value);
        let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        match read.and_then(|text| serde_json::from_str(&text).map_err(|error| format!("no valid JSON: {error}"))) {
            Ok(value) => Some(Json::at(value, file.span.clone())),
            Err(reason) => {
                let message = format!("`parameters_file` can't be used: {reason}");
                let help = "it is a JSON file with a JSON Schema; its path is relative to the workflow file";
                self.report(Diagnostic::at(file.span.clone(), message).help(help));
                None
            }
        }
    }

    /// Finds what is a valid schema by the letter and can't be what was meant. Whether the parameters can be told.
    fn check_fields(&self, json: &Json) -> bool {
        let Some(schema) = json.value.as_object() else { return true };
        let place = |pointer: &str| json.place(pointer).unwrap_or_else(|| self.name_span.clone());
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            let field = schema.iter().find(|(_, value)| value.get("type").is_some_and(Value::is_string));
            if let (Some((field, _)), false) = (field, is_composed(&json.value)) {
                let diagnostic = Diagnostic::at(place(&format!("/{field}")), "this parameter is in the wrong table");
                let help = format!("declare it in `[tools.{}.parameters.properties]`", self.name);
                self.report(diagnostic.help(help));
                return false;
            }
            return true;
        };
        if is_composed(&json.value) {
            return true;
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for (index, name) in required.enumerate().filter_map(|(index, name)| Some((index, name.as_str()?))) {
            if !properties.contains_key(name) {
                let message = format!("`required` names `{name}`, which is no parameter of tool `{}`", self.name);
                let diagnostic = Diagnostic::at(place(&format!("/required/{index}")), message);
                let known = || properties.keys().map(String::as_str);
                let diagnostic = diagnostic.did_you_mean(nearest(name, known()));
                self.report(diagnostic.help(format!("its parameters are {}", list(known()))));
            }
        }
        true
    }

    /// What the tool runs. `parameters` are the names that placeholders may have; none where any will do.
    fn command(&self, parameters: Option<Vec<String>>) -> Option<CommandTool> {
        let timeout = quantity::duration(&self.table, "timeout");
        let output_limit = quantity::bytes(&self.table, "output_limit");
        let parallel = self.table.boolean("parallel").is_some_and(|parallel| parallel.value);
        let environment = self.environment();
        let workdir = self.workdir();
        let line = self.command_line(parameters.as_deref(), workdir.as_deref())?;
        let concurrency = if parallel { Concurrency::Parallel } else { Concurrency::Exclusive };
        Some(
            CommandTool::new(line)
                .workdir(workdir?)
                .environment(environment)
                .timeout(timeout.unwrap_or(CommandTool::DEFAULT_TIMEOUT))
                .output_limit(output_limit.unwrap_or(CommandTool::DEFAULT_OUTPUT_LIMIT))
                .concurrency(concurrency),
        )
    }

    fn environment(&self) -> Vec<String> {
        let names = self.table.strings("env");
        for name in names.iter().filter(|name| name.value.is_empty() || name.value.contains(['=', '\0'])) {
            let diagnostic = Diagnostic::at(name.span.clone(), "this is no name of an environment variable");
            self.report(diagnostic.help("`env` lists the names that are passed on; the values come from Forge's own"));
        }
        names.into_iter().map(|name| name.value.to_owned()).collect()
    }

    /// The working directory; none where it can't be used.
    fn workdir(&self) -> Option<PathBuf> {
        let folder = self.surroundings.folder;
        let Some(text) = self.table.string("workdir") else {
            return self.table.value("workdir").is_none().then(|| folder.to_owned());
        };
        let template = self.filled_by_variables(&text, "`workdir`")?;
        let Some(path) = template.literal().map(|literal| folder.join(literal)) else {
            self.report(Diagnostic::at(text.span, "`workdir` needs a variable that has no value"));
            return None;
        };
        if path.is_dir() {
            return Some(path);
        }
        let message = if path.exists() { "`workdir` is not a folder" } else { "`workdir` doesn't exist" };
        let diagnostic = Diagnostic::at(text.span, message).label(format!("this is {}", path.display()));
        self.report(diagnostic.help("its path is relative to the workflow file"));
        None
    }

    fn command_line(&self, parameters: Option<&[String]>, workdir: Option<&Path>) -> Option<CommandLine> {
        let Some(value) = self.table.value("command") else {
            let message = format!("tool `{}` has no `command`", self.name);
            let help = "say what it runs, as in `command = [\"python3\", \"tools/search.py\", \"{text}\"]`";
            self.report(Diagnostic::at(self.name_span.clone(), message).help(help));
            return None;
        };
        let Some(items) = value.get_ref().as_array() else {
            let expected =
                "a list of the program and its arguments such as `[\"grep\", \"-c\", \"{text}\"]`; no shell runs it";
            return self.table.wrong_type("command", value, expected);
        };
        let Some((program, arguments)) = items.split_first() else {
            let diagnostic = Diagnostic::at(value.span(), "`command` is empty");
            self.report(diagnostic.help("its first element is the program, the others are the program's arguments"));
            return None;
        };
        let program = self.program(program);
        let groups: Vec<_> = arguments.iter().map(|item| self.group(item)).collect();
        let complete: Vec<_> = groups.into_iter().flatten().collect();
        let mut known = complete.len() == arguments.len();
        for element in complete.iter().flatten() {
            known &= self.check_placeholders(element, parameters);
        }
        let program = program?;
        if let (Some(workdir), true) = (workdir, known) {
            self.check_script(&program, &complete, workdir);
        }
        if !known {
            return None;
        }
        let mut line = CommandLine::new(program);
        for group in complete {
            line.push(group.into_iter().map(|element| element.template).collect());
        }
        Some(line.with_variables(&self.variables()))
    }

    /// The path of the program.
    fn program(&self, item: &Spanned<DeValue<'_>>) -> Option<PathBuf> {
        let Some(text) = item.get_ref().as_str() else {
            return self.table.wrong_type("the program in `command`", item, "a string in quotes");
        };
        let text = At::new(text, item.span());
        let template = self.filled_by_variables(&text, "the program")?;
        let Some(program) = template.literal() else {
            self.report(Diagnostic::at(text.span, "the program needs a variable that has no value"));
            return None;
        };
        match find_program(program, self.surroundings.folder) {
            Ok(program) => Some(program),
            Err(problem) => {
                self.report(Diagnostic::at(text.span, problem.message).help(problem.help));
                None
            }
        }
    }

    /// The elements that stand together: one, or those of an inner list.
    fn group(&self, item: &'f Spanned<DeValue<'f>>) -> Option<Vec<Element<'f>>> {
        match item.get_ref().as_array() {
            Some(inner) => {
                let elements: Vec<_> = inner.iter().map(|item| self.element(item)).collect();
                elements.into_iter().collect()
            }
            None => Some(vec![self.element(item)?]),
        }
    }

    fn element(&self, item: &'f Spanned<DeValue<'f>>) -> Option<Element<'f>> {
        let Some(text) = item.get_ref().as_str() else {
            return self.table.wrong_type("an element of `command`", item, "a string in quotes");
        };
        let text = At::new(text, item.span());
        Some(Element { template: self.template(&text)?, text })
    }

    /// A text in which only variables can stand, with their values.
    fn filled_by_variables(&self, text: &At<&str>, what: &str) -> Option<ElementTemplate> {
        let variables = self.variables();
        let template = self.template(text)?;
        let declared = &self.surroundings.variables.declared;
        let unknown = |name: &&str| *name != WORKFLOW_DIR && !declared.iter().any(|variable| variable == name);
        if let Some(name) = template.placeholders().find(unknown) {
            let names = || declared.iter().map(String::as_str).chain([WORKFLOW_DIR]);
            let diagnostic = Diagnostic::at(self.placeholder_span(text, name), format!("`{name}` is no variable"));
            let diagnostic = diagnostic.did_you_mean(nearest(name, names()));
            self.report(
                diagnostic.help(format!("{what} is the same for every call: only {} can stand in it", list(names()))),
            );
            return None;
        }
        Some(template.substitute(|name| variables.get(name).map(String::as_str)))
    }

    fn placeholder_span(&self, text: &At<&str>, name: &str) -> Range<usize> {
        let written = format!("{{{name}}}");
        let start = text.value.find(&written).unwrap_or_default();
        inside_string(self.surroundings.source, &text.span, text.value, start..start + written.len())
    }

    fn template(&self, text: &At<&str>) -> Option<ElementTemplate> {
        match ElementTemplate::parse(text.value) {
            Ok(template) => Some(template),
            Err(TemplateError { element, offset, problem }) => {
                let length = element.get(offset..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
                let span = inside_string(self.surroundings.source, &text.span, text.value, offset..offset + length);
                self.report(Diagnostic::at(span, "a placeholder can't be read").label(problem.to_string()));
                None
            }
        }
    }

    /// Reports placeholders that name nothing, or two things; says whether there were none.
    fn check_placeholders(&self, element: &Element<'_>, parameters: Option<&[String]>) -> bool {
        let variables = &self.surroundings.variables.declared;
        let mut fine = true;
        for name in element.template.placeholders() {
            let is_variable = name == WORKFLOW_DIR || variables.iter().any(|variable| variable == name);
            let Some(parameters) = parameters else { continue };
            let is_parameter = parameters.iter().any(|parameter| parameter == name);
            let diagnostic = match (is_parameter, is_variable) {
                (true, false) | (false, true) => continue,
                (true, true) => {
                    Diagnostic::new(format!("`{{{name}}}` is both a parameter of tool `{}` and a variable", self.name))
                        .help("rename one of them")
                }
                (false, false) => self.unknown_placeholder(name, parameters),
            };
            fine = false;
            let span = self.placeholder_span(&element.text, name);
            let known = parameters.iter().chain(variables).map(String::as_str).chain([WORKFLOW_DIR]);
            self.report(diagnostic.place(span).did_you_mean(nearest(name, known).filter(|near| *near != name)));
        }
        fine
    }

    fn unknown_placeholder(&self, name: &str, parameters: &[String]) -> Diagnostic {
        let variables = &self.surroundings.variables.declared;
        let diagnostic = Diagnostic::new(format!(
            "placeholder `{{{name}}}` names no parameter of tool `{}` and no variable",
            self.name
        ));
        let diagnostic = match parameters {
            [] => diagnostic,
            names => diagnostic.help(format!("its parameters are {}", list(names.iter().map(String::as_str)))),
        };
        let variables = variables.iter().map(String::as_str).chain([WORKFLOW_DIR]);
        diagnostic.help(format!("the variables are {}; a literal brace is written `{{{{`", list(variables)))
    }

    fn check_script(&self, program: &Path, groups: &[Vec<Element<'_>>], workdir: &Path) {
        let variables = self.variables();
        let elements: Vec<&Element<'_>> = groups.iter().flatten().collect();
        let literals: Vec<ElementTemplate> = elements
            .iter()
            .map(|element| element.template.substitute(|name| variables.get(name).map(String::as_str)))
            .collect();
        let program = program.to_str().unwrap_or_default();
        let missing = missing_script(program, literals.iter().map(ElementTemplate::literal), workdir);
        if let Some((index, problem)) = missing
            && let Some(element) = elements.get(index)
        {
            self.report(Diagnostic::at(element.text.span.clone(), problem.message).help(problem.help));
        }
    }

    /// What placeholders can stand for besides parameters.
    fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = self.surroundings.variables.values.clone();
        variables.insert(WORKFLOW_DIR.to_owned(), self.surroundings.folder.display().to_string());
        variables
    }
}

/// A schema in the place of one that can't be read. That is reported; what names its parameters must not be
/// reported as well, and an open composition may have any.
pub(super) fn unknown_parameters() -> Value {
    json!({"type": "object", "anyOf": [{}]})
}

/// The names of a schema's properties; none where they can't be told.
fn parameter_names(schema: &Value) -> Option<Vec<String>> {
    if is_composed(schema) {
        return None;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    Some(properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect())
}

fn is_composed(schema: &Value) -> bool {
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"].iter().any(|key| schema.get(key).is_some())
}
