use std::path::Path;
use std::sync::Arc;

use forge_backend::{ReasoningReplay, Sampling, ToolMode};
use forge_core::{
    Budgets, ConstraintMode, HintMode, InvalidWorkflow, Ladder, Prerequisite, Respond, StepOrder, TemplateError,
    Templates, TextPolicy, ToolSpec, Workflow, WorkflowBuilder, WorkflowError,
};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::Diagnostic;
use super::keys::{BUDGETS, CONTEXT, FILE, GENERATION, PREREQUISITE, TOOL};
use super::places::{Places, PrerequisitePlace};
use super::table::{At, Problems, Table};
use super::tool_table::{Surroundings, Tolerance, ToolReader, unknown_parameters};
use super::variables::Variables;
use super::{FilePlace, LoadOptions};
use super::{context_table, prompt};
use crate::{BindError, BoundWorkflow, ContextOptions, RunnerOptions, TemplateFolder, Tools};

/// Reads the declarations of a file, keeping where each stands.
pub(super) struct Declaration<'f> {
    file: Table<'f>,
    source: &'f str,
    problems: &'f Problems,
    places: Places,
    builder: WorkflowBuilder,
    tools: Tools,
}

impl<'f> Declaration<'f> {
    pub(super) fn new(root: &'f DeTable<'f>, source: &'f str, problems: &'f Problems) -> Self {
        let file = Table::new(root, &FILE, problems);
        let first = root.keys().map(Spanned::span).min_by_key(|span| span.start).unwrap_or(0..0);
        Self {
            file,
            source,
            problems,
            places: Places { file: first, ..Places::default() },
            builder: Workflow::builder("workflow"),
            tools: Tools::new(),
        }
    }

    /// Reads everything. None where there was a problem, which has been reported.
    pub(super) fn read(
        mut self,
        place: FilePlace<'_>,
        options: &LoadOptions,
    ) -> Option<(BoundWorkflow, RunnerOptions)> {
        let variables = Variables::read(&self.file, &options.variables);
        self.read_head();
        let prompt = self.read_prompt(&variables);
        self.read_tools(&Surroundings { source: self.source, folder: place.folder, variables: &variables });
        self.read_steps();
        self.read_prerequisites();
        self.read_policies();
        self.declare(|builder| builder.guardrails(options.guardrails));
        self.read_templates(place.path, options.templates.as_ref());
        self.read_budgets();
        let mut generation = self.read_generation();
        generation.context = self.read_context();
        let workflow = self.build(prompt.as_ref())?;
        if !self.problems.is_empty() {
            return None;
        }
        match BoundWorkflow::new(workflow, self.tools, &variables.values) {
            Ok(bound) => Some((bound, generation)),
            Err(error) => {
                self.problems.report(bind_problem(&error));
                None
            }
        }
    }

    fn declare(&mut self, change: impl FnOnce(WorkflowBuilder) -> WorkflowBuilder) {
        let builder = std::mem::replace(&mut self.builder, Workflow::builder(""));
        self.builder = change(builder);
    }

    fn read_head(&mut self) {
        if self.file.value("name").is_none() {
            let diagnostic = Diagnostic::at(self.places.file.clone(), "the workflow has no `name`");
            self.problems.report(diagnostic.help("begin the file with a line such as `name = \"log-triage\"`"));
        }
        if let Some(name) = self.file.string("name") {
            self.places.name = Some(name.span);
            let description = self.file.string("description").map_or("", |description| description.value);
            self.builder = Workflow::builder(name.value).description(description.trim());
        } else {
            let _checked = self.file.string("description");
        }
    }

    fn read_prompt(&mut self, variables: &Variables) -> Option<At<&'f str>> {
        let prompt = self.file.string("system_prompt")?;
        self.places.system_prompt = Some(prompt.span.clone());
        self.declare(|builder| builder.system_prompt(prompt.value));
        if let Some(diagnostic) = prompt::check(&prompt, variables, self.source) {
            self.problems.report(diagnostic);
        }
        Some(prompt)
    }

    fn read_tools(&mut self, surroundings: &Surroundings<'_>) {
        let Some((tools, _)) = self.file.table("tools") else { return };
        for (key, value) in tools {
            let name: &str = key.get_ref();
            self.places.tools.push(key.span());
            let Some(table) = value.get_ref().as_table() else {
                let _none: Option<()> = self.file.wrong_type(name, value, &format!("a table: `[tools.{name}]`"));
                self.declare(|builder| builder.tool(ToolSpec::new(name, "", unknown_parameters())));
                continue;
            };
            let table = Table::new(table, &TOOL, self.problems);
            let tool = ToolReader::new(name, key.span(), table, surroundings).read();
            self.places.parameters.insert(tool.spec.name.clone(), tool.parameters);
            if let Some(command) = tool.command {
                self.tools = std::mem::take(&mut self.tools).with(tool.spec.name.clone(), command);
            }
            let name = tool.spec.name.clone();
            self.declare(|builder| match tool.tolerance {
                Some(Tolerance::Risk(risk)) => builder.tool(tool.spec).risk(name, risk),
                Some(Tolerance::Limit(limit)) => builder.tool(tool.spec).failure_limit(name, limit),
                None => builder.tool(tool.spec),
            });
        }
    }

    fn read_steps(&mut self) {
        let steps = self.file.strings("required_steps");
        self.places.required_steps = steps.iter().map(|step| step.span.clone()).collect();
        self.declare(|builder| builder.required_steps(steps.iter().map(|step| step.value)));

        let mut terminal = self.file.strings("terminal_tools");
        if let Some(single) = self.file.string("terminal_tool") {
            if self.file.value("terminal_tools").is_some() {
                let diagnostic = Diagnostic::at(single.span, "there are both `terminal_tool` and `terminal_tools`");
                self.problems.report(diagnostic.help("keep one of them"));
            } else {
                terminal.push(single);
            }
        }
        self.places.terminal_tools = terminal.iter().map(|tool| tool.span.clone()).collect();
        self.declare(|builder| builder.terminal_tools(terminal.iter().map(|tool| tool.value)));
    }

    fn read_prerequisites(&mut self) {
        let Some(value) = self.file.value("prerequisites") else { return };
        let expected = "a list of tables: `[[prerequisites]]` with `tool` and `requires`";
        let Some(items) = value.get_ref().as_array() else {
            let _none: Option<()> = self.file.wrong_type("prerequisites", value, expected);
            return;
        };
        for item in items {
            match item.get_ref().as_table() {
                Some(table) => self.read_prerequisite(item, Table::new(table, &PREREQUISITE, self.problems)),
                None => {
                    let _none: Option<()> = self.file.wrong_type("an element of `prerequisites`", item, expected);
                }
            }
        }
    }

    fn read_prerequisite(&mut self, item: &Spanned<DeValue<'_>>, table: Table<'f>) {
        for key in ["tool", "requires"].into_iter().filter(|key| table.value(key).is_none()) {
            let diagnostic = Diagnostic::at(item.span(), format!("this prerequisite has no `{key}`"));
            self.problems.report(diagnostic.help("write both: `tool` may be called only after `requires` succeeded"));
        }
        let matching = table.string("matching");
        let (Some(tool), Some(requires)) = (table.string("tool"), table.string("requires")) else { return };
        let prerequisite = match &matching {
            Some(argument) => Prerequisite::same_argument(requires.value, argument.value),
            None => Prerequisite::success_of(requires.value),
        };
        self.declare(|builder| builder.prerequisite(tool.value, prerequisite));
        self.places.prerequisites.push(PrerequisitePlace {
            of: tool.value.to_owned(),
            tool: tool.span,
            requires: requires.span,
            matching: matching.map(|matching| matching.span),
        });
    }

    fn read_policies(&mut self) {
        let order = self.file.word("step_order", &[("any", StepOrder::Any), ("listed", StepOrder::Listed)]);
        let text = self.file.word("text", &[("nudge", TextPolicy::Nudge), ("accept", TextPolicy::Accept)]);
        let respond = self.file.word("respond", &[("terminal", Respond::Terminal), ("plain", Respond::Plain)]);
        let hints = [("never", HintMode::Never), ("when_needed", HintMode::WhenNeeded), ("always", HintMode::Always)];
        let hints = self.file.word("hints", &hints);
        self.declare(|builder| {
            let builder = builder
                .step_order(order.map(|order| order.value).unwrap_or_default())
                .text(text.map(|text| text.value).unwrap_or_default())
                .hints(hints.map(|hints| hints.value).unwrap_or_default());
            match respond {
                Some(respond) => builder.respond(respond.value),
                None => builder,
            }
        });
    }

    fn read_templates(&mut self, file: &Path, given: Option<&Arc<Templates>>) {
        let named = self.file.string("templates_dir");
        let templates = match (given, named) {
            (Some(given), _) => Arc::clone(given),
            (None, None) => return,
            (None, Some(named)) => {
                let folder = file.parent().unwrap_or(Path::new("")).join(named.value);
                match TemplateFolder::load(&folder) {
                    Ok(folder) => Arc::clone(folder.templates()),
                    Err(error) => {
                        for diagnostic in error.into_diagnostics() {
                            let unplaced = diagnostic.is_without_place();
                            self.problems.report(if unplaced {
                                diagnostic.place(named.span.clone())
                            } else {
                                diagnostic
                            });
                        }
                        return;
                    }
                }
            }
        };
        self.declare(|builder| builder.templates(templates));
    }

    fn read_budgets(&mut self) {
        let Some((table, _)) = self.file.table("budgets") else { return };
        let table = Table::new(table, &BUDGETS, self.problems);
        let mut budgets = Budgets::default();
        let fields = [
            ("format_retries", &mut budgets.format_retries),
            ("tool_errors", &mut budgets.tool_errors),
            ("premature_attempts", &mut budgets.premature_attempts),
            ("prerequisite_violations", &mut budgets.prerequisite_violations),
            ("repetitions", &mut budgets.repetitions),
            ("failures_per_tool", &mut budgets.failures_per_tool),
            ("iterations", &mut budgets.iterations),
        ];
        for (key, field) in fields {
            if let Some(limit) = table.integer(key, 0, 1_000_000) {
                *field = limit.value;
                self.places.budgets.insert(key, limit.span);
            }
        }
        self.declare(|builder| builder.budgets(budgets));
    }

    fn read_generation(&mut self) -> RunnerOptions {
        let mut options = RunnerOptions::default();
        let Some((table, _)) = self.file.table("generation") else { return options };
        let table = Table::new(table, &GENERATION, self.problems);
        let modes =
            [("free", ConstraintMode::Free), ("ladder", ConstraintMode::Ladder), ("eager", ConstraintMode::Eager)];
        if let Some(constraint) = table.word("constraint", &modes) {
            self.places.constraint = Some(constraint.span);
            self.declare(|builder| builder.constraint(constraint.value));
        }
        let mut ladder = Ladder::default();
        for (key, field) in [
            ("call_required_after", &mut ladder.call_required_after),
            ("only_legal_after", &mut ladder.only_legal_after),
        ] {
            if let Some(after) = table.integer(key, 0, 1_000_000) {
                *field = Some(after.value).filter(|after| *after > 0);
                self.places.rungs.insert(key, after.span);
            }
        }
        self.declare(|builder| builder.ladder(ladder));
        if let Some(max_tokens) = table.integer("max_tokens", 1, 1_000_000) {
            options.max_tokens = max_tokens.value;
        }
        if let Some(retry) = table.integer("retry_max_tokens", 1, 1_000_000) {
            if retry.value <= options.max_tokens {
                let limit = options.max_tokens;
                let diagnostic = Diagnostic::at(retry.span, "`retry_max_tokens` gives a second try no more room");
                self.problems.report(diagnostic.label(format!("it has to be above `max_tokens`, which is {limit}")));
            }
            options.retry_max_tokens = Some(retry.value);
        }
        let tools = [("auto", None), ("native", Some(ToolMode::Native)), ("prompt", Some(ToolMode::Prompted))];
        if let Some(mode) = table.word("tools", &tools) {
            options.tool_mode = mode.value;
        }
        let replays =
            [("none", ReasoningReplay::None), ("last", ReasoningReplay::Last), ("full", ReasoningReplay::Full)];
        if let Some(replay) = table.word("reasoning", &replays) {
            options.reasoning = replay.value;
        }
        options.sampling = Sampling {
            temperature: table.number("temperature", "0 to 2", |value| (0.0..=2.0).contains(&value)).map(|at| at.value),
            top_p: table.number("top_p", "above 0, at most 1", |value| value > 0.0 && value <= 1.0).map(|at| at.value),
            seed: table.integer("seed", 0, i128::from(u32::MAX)).map(|at| at.value),
        };
        options
    }

    fn read_context(&self) -> ContextOptions {
        match self.file.table("context") {
            Some((table, _)) => context_table::read(&Table::new(table, &CONTEXT, self.problems)),
            None => ContextOptions::default(),
        }
    }

    /// A terminal tool that was named in a wrong place or way is one problem, not two.
    fn drop_consequences(&self, invalid: &mut InvalidWorkflow) {
        let was_named = !self.problems.is_empty() && self.source.contains("terminal");
        let has_tools = !invalid.problems.contains(&WorkflowError::NoTools);
        invalid.problems.retain(|problem| *problem != WorkflowError::NoTerminal || (has_tools && !was_named));
    }

    /// Has the engine check the declaration.
    fn build(&mut self, prompt: Option<&At<&str>>) -> Option<Workflow> {
        let builder = std::mem::replace(&mut self.builder, Workflow::builder(""));
        match builder.build() {
            Ok(workflow) => Some(workflow),
            Err(mut invalid) => {
                self.drop_consequences(&mut invalid);
                let line = invalid.problems.iter().find_map(|problem| match problem {
                    WorkflowError::SystemPrompt { error: TemplateError::Syntax { line, .. } } => Some(*line),
                    _ => None,
                });
                if let (Some(prompt), Some(line)) = (prompt, line) {
                    self.places.system_prompt = Some(prompt::place(prompt, self.source, line, None));
                }
                for diagnostic in self.places.diagnostics(invalid) {
                    self.problems.report(diagnostic);
                }
                None
            }
        }
    }
}

/// Reading gives each tool a command or reports why not, so this is a defect of the reader; it must still be said.
fn bind_problem(error: &BindError) -> Diagnostic {
    Diagnostic::new(error.to_string())
}
