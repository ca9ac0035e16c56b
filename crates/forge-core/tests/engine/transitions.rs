//! The transition table of the engine as data: for each row a workflow, and for each move of it the line that
//! `support::line` writes.

use std::sync::Arc;

use crate::support::{Run, builder, line, parse_move};
use forge_core::{
    Budgets, ConstraintMode, Prerequisite, Respond, Risk, StepOrder, TextPolicy, Workflow, WorkflowBuilder,
};

fn steps() -> WorkflowBuilder {
    builder().required_steps(["list", "count"])
}

fn listed() -> WorkflowBuilder {
    steps().step_order(StepOrder::Listed)
}

fn read_before_edit() -> WorkflowBuilder {
    builder().prerequisite("edit", Prerequisite::success_of("read"))
}

fn read_same_before_edit() -> WorkflowBuilder {
    builder().prerequisite("edit", Prerequisite::same_argument("read", "file"))
}

fn text_ends() -> WorkflowBuilder {
    steps().text(TextPolicy::Accept)
}

fn mode(mode: ConstraintMode) -> WorkflowBuilder {
    steps().constraint(mode)
}

#[track_caller]
pub(crate) fn assert_moves(workflow: WorkflowBuilder, moves: &[(&str, &str)]) {
    let workflow = workflow.budgets(Budgets { iterations: 40, ..Budgets::default() });
    assert_moves_as_built(workflow.build().unwrap(), moves);
}

#[track_caller]
fn assert_moves_as_built(workflow: Workflow, moves: &[(&str, &str)]) {
    let mut run = Run::new(Arc::new(workflow));
    let mut lines = Vec::new();
    for (made, _) in moves {
        let step = run.step(&parse_move(made));
        lines.push(((*made).to_owned(), line(&step, run.guardrails.state().counts())));
    }
    let expected: Vec<(String, String)> =
        moves.iter().map(|(made, line)| ((*made).to_owned(), (*line).to_owned())).collect();
    assert_eq!(lines, expected);
}

/// One rule: its name, the workflow it holds for, and the moves with what follows each.
pub(crate) type Rule = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// A part of the transition table, as `docs/guardrails.md` shows it.
pub(crate) struct Part {
    pub(crate) title: &'static str,
    pub(crate) rules: &'static [Rule],
}

pub(crate) const PARTS: [&Part; 7] = [&STEPS, &ORDER, &FORM, &TEXT, &FAILURES, &REPETITION, &CONSTRAINTS];

macro_rules! table {
    ($part:ident = $title:literal; $($name:ident: $workflow:expr, [$(($made:literal, $line:literal)),+ $(,)?];)+) => {
        const $part: Part = Part {
            title: $title,
            rules: &[$((stringify!($name), stringify!($workflow), &[$(($made, $line)),+])),+],
        };
        $(#[test] fn $name() { assert_moves($workflow, &[$(($made, $line)),+]); })+
    };
}

table! { STEPS = "Steps and terminal tools";
    a_terminal_tool_ends_a_workflow_without_steps: builder(), [
        ("report", "run report -> finished report"),
    ];
    steps_in_any_order_then_the_terminal_tool: steps(), [
        ("count", "run count -> free"),
        ("list", "run list -> free"),
        ("report", "run report -> finished report"),
    ];
    any_terminal_tool_ends_the_run: builder(), [
        ("abort", "run abort -> finished abort"),
    ];
    premature_attempts_run_out: steps(), [
        ("report", "again premature_terminal -> free [premature 1]"),
        ("report", "again premature_terminal -> required [premature 2]"),
        ("report", "again premature_terminal -> only list read edit count [premature 3]"),
        ("report", "halt premature_terminal [premature 4]"),
    ];
    a_clean_batch_forgives_premature_attempts: steps(), [
        ("report", "again premature_terminal -> free [premature 1]"),
        ("list", "run list -> free"),
        ("report", "again premature_terminal -> free [premature 1]"),
    ];
    a_failing_batch_forgives_nothing: steps(), [
        ("report", "again premature_terminal -> free [premature 1]"),
        ("list=fail", "run list -> free [failing 1] [premature 1]"),
    ];
    a_failed_step_is_not_done: steps(), [
        ("list=fail+count", "run list count -> free [failing 1]"),
        ("report", "again premature_terminal -> free [failing 1] [premature 1]"),
    ];
    a_step_without_data_is_not_done: steps(), [
        ("list=none+count", "run list count -> free"),
        ("report", "again premature_terminal -> free [premature 1]"),
    ];
    a_terminal_call_beside_the_last_step_is_premature_and_not_counted: steps(), [
        ("list", "run list -> free"),
        ("count+report", "run count, refuse report (premature 1) -> free"),
        ("report", "run report -> finished report"),
    ];
    what_stands_beside_the_terminal_call_runs_too: builder(), [
        ("report+read", "run report read -> finished report"),
    ];
    only_the_first_of_two_terminal_calls_runs: builder(), [
        ("report+abort", "run report, refuse abort (second) -> finished report"),
    ];
    a_failed_terminal_call_ends_nothing: builder(), [
        ("report=fail", "run report -> free [failing 1]"),
        ("report", "run report -> finished report"),
    ];
    a_terminal_call_that_succeeds_ends_the_run_beside_a_failure: builder(), [
        ("report+read=fail", "run report read -> finished report [failing 1]"),
    ];
    respond_can_be_the_terminal_tool: steps().respond(Respond::Terminal), [
        ("respond(hello)", "again premature_terminal -> free [premature 1]"),
        ("list+count", "run list count -> free"),
        ("respond(hello)", "run respond -> finished respond"),
    ];
    respond_can_be_a_tool_like_any_other: steps().respond(Respond::Plain), [
        ("respond(hello)", "run respond -> free"),
    ];
}

table! { ORDER = "Order and prerequisites";
    steps_in_the_listed_order: listed(), [
        ("count", "again step_order -> free [violations 1]"),
        ("list", "run list -> free"),
        ("count", "run count -> free"),
        ("report", "run report -> finished report"),
    ];
    a_tool_that_is_no_step_is_legal_at_any_time: listed(), [
        ("read", "run read -> free"),
    ];
    a_step_may_be_called_again: listed(), [
        ("list", "run list -> free"),
        ("list(a)", "run list -> free"),
    ];
    steps_of_one_batch_are_judged_by_what_was_done_before_it: listed(), [
        ("list+count", "run list, refuse count (due list) -> free"),
        ("count", "run count -> free"),
    ];
    violations_run_out: listed(), [
        ("count", "again step_order -> free [violations 1]"),
        ("count", "again step_order -> required [violations 2]"),
        ("count", "halt prerequisite_violations [violations 3]"),
    ];
    violations_of_order_and_prerequisites_share_a_budget: listed().prerequisite("edit", Prerequisite::success_of("read")), [
        ("count", "again step_order -> free [violations 1]"),
        ("edit", "again prerequisite -> required [violations 2]"),
        ("count", "halt prerequisite_violations [violations 3]"),
    ];
    a_prerequisite_by_name: read_before_edit(), [
        ("edit(a)", "again prerequisite -> free [violations 1]"),
        ("read(b)", "run read -> free"),
        ("edit(a)", "run edit -> free"),
    ];
    a_prerequisite_that_failed_is_not_met: read_before_edit(), [
        ("read=fail", "run read -> free [failing 1]"),
        ("edit", "again prerequisite -> free [failing 1] [violations 1]"),
    ];
    a_prerequisite_without_data_is_not_met: read_before_edit(), [
        ("read=none", "run read -> free"),
        ("edit", "again prerequisite -> free [violations 1]"),
    ];
    a_prerequisite_in_the_same_batch_is_not_met_yet: read_before_edit(), [
        ("read+edit", "run read, refuse edit (needs read) -> free"),
        ("edit", "run edit -> free"),
    ];
    a_prerequisite_by_the_value_of_an_argument: read_same_before_edit(), [
        ("read(a)", "run read -> free"),
        ("edit(b)", "again prerequisite -> free [violations 1]"),
        ("edit(a)", "run edit -> free"),
    ];
    an_argument_that_is_left_out_is_a_value_of_its_own: read_same_before_edit(), [
        ("read(a)", "run read -> free"),
        ("edit", "again prerequisite -> free [violations 1]"),
        ("read", "run read -> free"),
        ("edit", "run edit -> free"),
    ];
}

table! { FORM = "Form";
    format_faults_run_out: steps(), [
        ("text", "again text_only -> free [format 1]"),
        ("!nothing", "again unknown_tool -> required [format 2]"),
        ("!invalid", "again invalid_arguments -> only list read edit count [format 3]"),
        ("!malformed", "halt format_retries [format 4]"),
    ];
    a_legal_call_forgives_format_faults: steps(), [
        ("text", "again text_only -> free [format 1]"),
        ("text", "again text_only -> required [format 2]"),
        ("list", "run list -> free"),
        ("text", "again text_only -> free [format 1]"),
    ];
    a_refused_call_in_the_right_form_forgives_format_faults: steps(), [
        ("text", "again text_only -> free [format 1]"),
        ("report", "again premature_terminal -> required [premature 1]"),
    ];
    a_cut_call_never_runs: steps(), [
        ("list+!cut", "run list, refuse read (cut) -> free"),
        ("!cut", "again truncated -> free [format 1]"),
    ];
    a_faulty_call_beside_a_legal_one_is_not_counted: steps(), [
        ("text", "again text_only -> free [format 1]"),
        ("list+!nothing", "run list, refuse nothing (unknown) -> free [format 1]"),
        ("count", "run count -> free"),
    ];
    several_faults_of_one_response_count_once: steps(), [
        ("!nothing+!invalid+report", "again unknown_tool invalid_arguments premature_terminal -> free [format 1] [premature 1]"),
    ];
    an_empty_answer_is_asked_for_again_silently_once: steps(), [
        ("empty", "again silently -> free"),
        ("empty", "again empty -> required [format 1]"),
        ("empty", "again empty -> only list read edit count [format 2]"),
        ("list", "run list -> free"),
        ("empty", "again silently -> free"),
    ];
    thinking_alone_is_told_to_act: steps(), [
        ("think", "again reasoning_only -> free [format 1]"),
    ];
}

table! { TEXT = "Text that ends a turn";
    text_ends_a_turn_when_the_steps_are_done: text_ends(), [
        ("text", "again premature_terminal -> free [premature 1]"),
        ("list+count", "run list count -> free"),
        ("text", "accept"),
    ];
    text_before_the_steps_runs_out: text_ends(), [
        ("text", "again premature_terminal -> free [premature 1]"),
        ("report", "again premature_terminal -> required [premature 2]"),
        ("text", "again premature_terminal -> only list read edit count [premature 3]"),
        ("text", "halt premature_terminal [premature 4]"),
    ];
}

table! { FAILURES = "Tools that fail";
    names_that_were_invented_share_one_count: steps(), [
        ("!a", "again unknown_tool -> free [format 1]"),
        ("list", "run list -> free"),
        ("!b", "again unknown_tool -> free [format 1]"),
        ("count", "run count -> free"),
        ("!c", "halt invented_tools [format 1]"),
    ];
    what_stands_beside_an_invented_name_still_runs: steps(), [
        ("list+!a+!b", "run list, refuse a (unknown), refuse b (unknown) -> free"),
        ("count+!c", "run count, refuse c (unknown) -> free"),
        ("read+!d", "run read, refuse d (unknown) -> halt invented_tools"),
    ];
    one_tool_fails_too_often: steps(), [
        ("list=fail", "run list -> free [failing 1]"),
        ("list=late", "run list -> free [failing 2]"),
        ("list=fail", "run list -> halt tool_failures [failing 3]"),
    ];
    batches_fail_too_often: steps(), [
        ("list=fail", "run list -> free [failing 1]"),
        ("read=fail", "run read -> free [failing 2]"),
        ("edit=fail+count", "run edit count -> halt tool_errors [failing 3]"),
    ];
    failing_twice_in_one_batch_counts_once: steps(), [
        ("list(a)=fail+list(b)=fail", "run list list -> free [failing 1]"),
        ("count", "run count -> free"),
        ("list(a)=fail+list(b)=fail", "run list list -> free [failing 1]"),
        ("count", "run count -> free"),
        ("list(a)=fail+list(b)", "run list list -> halt tool_failures [failing 1]"),
    ];
    a_destructive_tool_fails_once: steps().risk("edit", Risk::Destructive), [
        ("edit=fail", "run edit -> halt tool_failures [failing 1]"),
    ];
    a_tool_with_a_limit_of_its_own: steps().failure_limit("list", 2), [
        ("list=fail", "run list -> free [failing 1]"),
        ("count", "run count -> free"),
        ("list=fail", "run list -> halt tool_failures [failing 1]"),
    ];
    a_tool_that_only_succeeded_is_cleared: steps(), [
        ("list=fail", "run list -> free [failing 1]"),
        ("list", "run list -> free"),
        ("list=fail", "run list -> free [failing 1]"),
        ("list=fail", "run list -> free [failing 2]"),
    ];
    missing_data_is_never_counted: steps(), [
        ("list=fail", "run list -> free [failing 1]"),
        ("list(a)=none", "run list -> free [failing 1]"),
        ("list(b)=none", "run list -> free [failing 1]"),
        ("list(c)=none", "run list -> free [failing 1]"),
        ("list(d)=none", "run list -> free [failing 1]"),
    ];
    missing_data_beside_a_success_is_a_clean_batch: steps(), [
        ("list=fail", "run list -> free [failing 1]"),
        ("list(a)=none+count", "run list count -> free"),
    ];
    a_cancelled_call_is_never_counted: steps(), [
        ("list=fail", "run list -> free [failing 1]"),
        ("list=stop+count", "run list count -> free [failing 1]"),
        ("list=stop", "run list -> free [failing 1]"),
    ];
}

table! { REPETITION = "Repetition";
    the_third_same_call_is_refused_and_the_tool_withdrawn: steps(), [
        ("list", "run list -> free"),
        ("list", "run list -> free"),
        ("list", "again repetition -> only read edit count [repeated 1]"),
        ("count", "run count -> free"),
    ];
    repetitions_run_out: steps(), [
        ("list+list", "run list list -> free"),
        ("list", "again repetition -> only read edit count [repeated 1]"),
        ("list", "again repetition -> only read edit count [repeated 2]"),
        ("list", "again repetition -> only read edit count [repeated 3]"),
        ("list", "halt repetition [repeated 4]"),
    ];
    a_result_that_changes_is_progress: steps(), [
        ("list=ok:1", "run list -> free"),
        ("list=ok:2", "run list -> free"),
        ("list=ok:3", "run list -> free"),
        ("list=ok:3", "run list -> free"),
        ("list=ok:4", "again repetition -> only read edit count [repeated 1]"),
    ];
    other_arguments_are_another_call: steps(), [
        ("list(a)", "run list -> free"),
        ("list(b)", "run list -> free"),
        ("list(c)", "run list -> free"),
    ];
    a_round_of_two_is_refused_when_it_begins_for_the_third_time: steps(), [
        ("read(a)", "run read -> free"),
        ("list", "run list -> free"),
        ("read(a)", "run read -> free"),
        ("list", "run list -> free"),
        ("read(a)", "again repetition -> only list edit count [repeated 1]"),
    ];
    a_failing_call_is_no_repetition: steps(), [
        ("list=fail", "run list -> free [failing 1]"),
        ("list=fail", "run list -> free [failing 2]"),
        ("list", "run list -> free"),
    ];
    repetition_is_found_before_prematurity: builder().required_steps(["edit"]), [
        ("read+read", "run read read -> free"),
        ("read+report", "again repetition premature_terminal -> only list edit count [premature 1] [repeated 1]"),
    ];
    a_repeated_call_beside_a_new_one_is_not_counted: steps(), [
        ("list+list", "run list list -> free"),
        ("list+read", "run read, refuse list (repeats 1, 1) -> free"),
    ];
}

table! { CONSTRAINTS = "Constraints";
    free_never_constrains: mode(ConstraintMode::Free), [
        ("text", "again text_only -> free [format 1]"),
        ("text", "again text_only -> free [format 2]"),
        ("text", "again text_only -> free [format 3]"),
    ];
    eager_always_offers_the_legal_tools: mode(ConstraintMode::Eager), [
        ("text", "again text_only -> only list read edit count [format 1]"),
        ("list", "run list -> only list read edit count"),
        ("list", "run list -> only list read edit count"),
        ("list", "again repetition -> only read edit count [repeated 1]"),
        ("count", "run count -> only list read edit count report abort"),
    ];
    legal_tools_follow_order_and_prerequisites: listed().constraint(ConstraintMode::Eager)
        .prerequisite("edit", Prerequisite::success_of("read")), [
        ("text", "again text_only -> only list read [format 1]"),
        ("list+read", "run list read -> only list read edit count"),
    ];
    only_the_repeated_tool_is_left: builder().required_steps(["list"]).prerequisite("read", Prerequisite::success_of("list"))
        .prerequisite("edit", Prerequisite::success_of("list")).prerequisite("count", Prerequisite::success_of("list")), [
        ("list=none", "run list -> free"),
        ("list=none", "run list -> free"),
        ("list", "again repetition -> free [repeated 1]"),
    ];
}

#[test]
fn eager_begins_with_the_legal_tools() {
    let workflow = mode(ConstraintMode::Eager).build().unwrap();
    let run = Run::new(Arc::new(workflow));
    let expected = ["list", "read", "edit", "count"].map(Into::into).to_vec();
    assert_eq!(run.guardrails.first_constraint(), forge_core::Constraint::Only(expected));
}

#[test]
fn reaching_the_iterations_with_work_left_is_the_end() {
    let workflow = steps().budgets(Budgets { iterations: 2, ..Budgets::default() }).build().unwrap();
    assert_moves_as_built(workflow, &[("list", "run list -> free"), ("count", "run count -> halt iterations")]);
}

#[test]
fn the_last_iteration_may_finish() {
    let workflow = steps().budgets(Budgets { iterations: 2, ..Budgets::default() }).build().unwrap();
    assert_moves_as_built(
        workflow,
        &[("list+count", "run list count -> free"), ("report", "run report -> finished report")],
    );
}

#[test]
fn there_is_no_asking_again_after_the_last_iteration() {
    let workflow = steps().budgets(Budgets { iterations: 1, ..Budgets::default() }).build().unwrap();
    assert_moves_as_built(workflow, &[("empty", "halt iterations")]);
}

#[test]
fn a_budget_of_zero_bears_nothing() {
    let budgets = Budgets {
        format_retries: 0,
        tool_errors: 0,
        premature_attempts: 0,
        prerequisite_violations: 0,
        repetitions: 0,
        ..Budgets::default()
    };
    let rows = [
        ("text", "halt format_retries [format 1]"),
        ("report", "halt premature_terminal [premature 1]"),
        ("edit", "halt prerequisite_violations [violations 1]"),
        ("list=fail", "run list -> halt tool_errors [failing 1]"),
    ];
    for row in rows {
        let workflow = read_before_edit().required_steps(["list"]).budgets(budgets).build().unwrap();
        assert_moves_as_built(workflow, &[row]);
    }
}
