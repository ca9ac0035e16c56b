use serde_json::json;

use super::*;
use crate::WorkflowField;

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", json!({"type": "object", "properties": {"file": {"type": "string"}}}))
}

fn builder() -> WorkflowBuilder {
    Workflow::builder("triage").tools(["list", "read", "edit", "report"].map(tool)).terminal_tool("report")
}

fn problems(builder: WorkflowBuilder) -> Vec<WorkflowError> {
    builder.build().unwrap_err().problems
}

fn only_problem(builder: WorkflowBuilder) -> WorkflowError {
    let mut problems = problems(builder);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

fn assert_problem(builder: WorkflowBuilder, field: WorkflowField, message: &str) {
    let problem = only_problem(builder);
    assert_eq!(problem.to_string(), message);
    assert_eq!(problem.field(), field);
}

#[test]
fn a_sound_workflow_is_built() {
    let workflow = builder()
        .required_steps(["list", "read"])
        .step_order(StepOrder::Listed)
        .prerequisite("read", Prerequisite::success_of("list"))
        .prerequisite("edit", Prerequisite::same_argument("read", "file"))
        .build()
        .unwrap();
    assert_eq!(workflow.required_steps(), ["list", "read"]);
    assert_eq!(workflow.prerequisites("edit"), [Prerequisite::same_argument("read", "file")]);
    assert!(workflow.is_terminal("report"));
}

#[test]
fn every_problem_is_reported() {
    let broken = Workflow::builder(" ")
        .tools([tool("a"), tool("a")])
        .required_steps(["b", "b"])
        .budgets(Budgets { iterations: 0, ..Budgets::default() });
    let kinds: Vec<String> = problems(broken).iter().map(|problem| format!("{:?}", problem.field())).collect();
    assert_eq!(
        kinds,
        [
            "Name",
            "Tool { index: 1 }",
            "RequiredStep { index: 0 }",
            "RequiredStep { index: 1 }",
            "RequiredStep { index: 1 }",
            "TerminalTools",
            "Budget { name: \"iterations\" }",
        ]
    );
}

#[test]
fn no_tools() {
    let kinds = problems(Workflow::builder("empty"));
    assert_eq!(kinds, [WorkflowError::NoTools, WorkflowError::NoTerminal]);
}

#[test]
fn an_unknown_step_is_named_with_the_nearest_tool() {
    assert_problem(
        builder().required_steps(["list", "raed"]),
        WorkflowField::RequiredStep { index: 1 },
        "`required_steps` names `raed`, which is no tool of this workflow (did you mean `read`?); the tools are \
         `list`, `read`, `edit`, `report`",
    );
}

#[test]
fn an_unknown_terminal_tool_is_named() {
    assert_problem(
        builder().terminal_tool("finish"),
        WorkflowField::TerminalTool { index: 1 },
        "`terminal_tools` names `finish`, which is no tool of this workflow; the tools are `list`, `read`, `edit`, \
         `report`",
    );
}

#[test]
fn an_unknown_prerequisite_is_named_with_its_owner() {
    assert_problem(
        builder().prerequisite("edit", Prerequisite::success_of("red")),
        WorkflowField::Prerequisite { tool: "edit".into(), index: 0 },
        "a prerequisite of `edit` names `red`, which is no tool of this workflow (did you mean `read`?); the tools \
         are `list`, `read`, `edit`, `report`",
    );
}

#[test]
fn a_terminal_tool_can_not_be_required() {
    assert_problem(
        builder().required_steps(["report"]),
        WorkflowField::RequiredStep { index: 0 },
        "`report` is both a required step and a terminal tool; a terminal tool runs only when all steps are done, so \
         remove it from `required_steps`",
    );
}

#[test]
fn a_circle_of_prerequisites_is_spelled_out() {
    assert_problem(
        builder()
            .prerequisite("edit", Prerequisite::success_of("read"))
            .prerequisite("read", Prerequisite::success_of("list"))
            .prerequisite("list", Prerequisite::success_of("edit")),
        WorkflowField::Prerequisites { tool: "edit".to_owned() },
        "the prerequisites go round in a circle: `edit` requires `read` requires `list` requires `edit`; remove one \
         of them",
    );
}

#[test]
fn a_tool_can_not_require_itself() {
    let problem = only_problem(builder().prerequisite("edit", Prerequisite::same_argument("edit", "file")));
    assert_eq!(problem, WorkflowError::PrerequisiteCycle { path: vec!["edit".into()] });
}

#[test]
fn a_matching_argument_has_to_be_a_parameter_of_both_tools() {
    assert_problem(
        builder().prerequisite("edit", Prerequisite::same_argument("read", "path")),
        WorkflowField::Prerequisite { tool: "edit".into(), index: 0 },
        "`edit` requires `read` with the same `path`, but `path` is no parameter of `edit`, `read`; it has `file`",
    );
}

#[test]
fn a_step_can_not_wait_for_a_later_one() {
    assert_problem(
        builder()
            .required_steps(["read", "list"])
            .step_order(StepOrder::Listed)
            .prerequisite("edit", Prerequisite::success_of("list"))
            .prerequisite("read", Prerequisite::success_of("edit")),
        WorkflowField::Prerequisites { tool: "read".to_owned() },
        "`read` can never be called: it requires `list`, which the listed order allows only after it; change the \
         prerequisite or the order",
    );
}

#[test]
fn nothing_can_wait_for_a_terminal_tool() {
    assert_problem(
        builder().prerequisite("edit", Prerequisite::success_of("report")),
        WorkflowField::Prerequisites { tool: "edit".to_owned() },
        "`edit` can never be called: it requires `report`, a terminal tool, whose success ends the run; change the \
         prerequisite or the order",
    );
}

#[test]
fn a_schema_problem_has_its_place() {
    let broken = ToolSpec::new("broken", "", json!({"type": "object", "properties": {"n": {"type": "strin"}}}));
    let problem = only_problem(builder().tool(broken));
    assert_eq!(
        problem.field(),
        WorkflowField::Parameters { tool: "broken".into(), pointer: "/properties/n/type".to_owned() }
    );
}

#[test]
fn an_unusable_tool_name_is_refused() {
    assert_problem(
        builder().tool(tool("my tool")),
        WorkflowField::Tool { index: 4 },
        "`my tool` is no usable tool name: 1 to 64 ASCII letters, digits, `_`, `-` and `.` are allowed; rename the tool",
    );
}

#[test]
fn the_system_prompt_has_to_be_a_template() {
    let problem = only_problem(builder().system_prompt("one\n{{ two"));
    assert_eq!(problem.field(), WorkflowField::SystemPrompt);
    assert!(problem.to_string().contains("line 2"), "{problem}");
}

#[test]
fn text_can_not_end_a_turn_that_is_always_a_call() {
    let problem = only_problem(builder().text(TextPolicy::Accept).constraint(ConstraintMode::Eager));
    assert_eq!(problem, WorkflowError::TextNeverPossible);
}

#[test]
fn the_rungs_of_the_ladder_come_one_after_the_other() {
    for (call_required_after, only_legal_after, expected) in [
        (Some(1), Some(2), None),
        (None, Some(1), None),
        (Some(4), None, None),
        (None, None, None),
        (Some(0), Some(3), Some(WorkflowError::LadderRung { rung: "call_required_after" })),
        (Some(2), Some(0), Some(WorkflowError::LadderRung { rung: "only_legal_after" })),
        (Some(3), Some(3), Some(WorkflowError::LadderOrder { call_required_after: 3, only_legal_after: 3 })),
    ] {
        let builder = builder().ladder(Ladder { call_required_after, only_legal_after });
        match expected {
            None => assert!(builder.build().is_ok(), "{call_required_after:?}, {only_legal_after:?}"),
            Some(problem) => assert_eq!(only_problem(builder), problem),
        }
    }
}

#[test]
fn a_workflow_may_end_with_text_alone() {
    let workflow = Workflow::builder("chat").tool(tool("read")).text(TextPolicy::Accept).build().unwrap();
    assert_eq!(workflow.terminal_tools(), &[] as &[ToolName]);
}

#[test]
fn a_tool_has_the_limit_of_its_risk_or_its_own() {
    let workflow = builder()
        .budgets(Budgets { failures_per_tool: 4, ..Budgets::default() })
        .risk("edit", Risk::Destructive)
        .risk("read", Risk::Network)
        .risk("list", Risk::Network)
        .failure_limit("list", 2)
        .build()
        .unwrap();
    let limits = ["edit", "read", "list", "report"].map(|tool| workflow.failure_limit(tool));
    assert_eq!(limits, [1, 5, 2, 4]);
}

#[test]
fn a_failure_limit_of_zero_is_refused() {
    assert_problem(
        builder().failure_limit("edit", 0),
        WorkflowField::Tool { index: 2 },
        "the failure limit of `edit` is 0, but it is reached with the first failure at 1; give it at least 1",
    );
}

#[test]
fn a_risk_of_an_unknown_tool_is_refused() {
    let problem = only_problem(builder().risk("edti", Risk::Destructive));
    assert!(problem.to_string().contains("did you mean `edit`?"), "{problem}");
}

#[test]
fn respond_is_offered_last_and_can_be_the_terminal_tool() {
    let workflow = Workflow::builder("chat").tool(tool("read")).respond(Respond::Terminal).build().unwrap();
    assert_eq!(workflow.tools().last().unwrap().name, "respond");
    assert!(workflow.is_terminal("respond"));
}

#[test]
fn a_declared_tool_can_not_be_named_respond() {
    let problem = only_problem(builder().tool(tool("respond")).respond(Respond::Plain));
    assert_eq!(problem, WorkflowError::RespondTaken { index: 4 });
}
