//! Random runs of random length keep every invariant of the oracle.

use std::sync::Arc;

use forge_core::{Budgets, ConstraintMode, HintMode, Prerequisite, RawCall, Response, StepOrder, TextPolicy, Workflow};
use proptest::prelude::*;

use crate::oracle::Watched;
use crate::support::{builder, parse_move};

const CALLS: [&str; 22] = [
    "list",
    "list=ok:2",
    "list=fail",
    "list=none",
    "read(a)",
    "read(b)",
    "read(a)=fail",
    "edit(a)",
    "edit(b)",
    "edit(b)=late",
    "count",
    "count(a)",
    "count=fail",
    "count=stop",
    "report",
    "report=fail",
    "report=none",
    "abort",
    "!nothing",
    "!invalid",
    "!malformed",
    "!cut",
];

prop_compose! {
    fn budgets()(
        format_retries in 0..5_u32,
        tool_errors in 0..4_u32,
        premature_attempts in 0..4_u32,
        prerequisite_violations in 0..4_u32,
        repetitions in 0..4_u32,
        failures_per_tool in 1..5_u32,
        iterations in 1..40_u32,
    ) -> Budgets {
        Budgets {
            format_retries,
            tool_errors,
            premature_attempts,
            prerequisite_violations,
            repetitions,
            failures_per_tool,
            iterations,
        }
    }
}

prop_compose! {
    fn workflows()(
        budgets in budgets(),
        steps in prop::sample::subsequence(vec!["list", "read", "edit", "count"], 0..=4),
        order in prop_oneof![Just(StepOrder::Any), Just(StepOrder::Listed)],
        by_name in any::<bool>(),
        by_argument in any::<bool>(),
        text in prop_oneof![Just(TextPolicy::Nudge), Just(TextPolicy::Accept)],
        constraint in prop_oneof![Just(ConstraintMode::Free), Just(ConstraintMode::Ladder)],
        hints in prop_oneof![Just(HintMode::Never), Just(HintMode::WhenNeeded), Just(HintMode::Always)],
    ) -> Workflow {
        let mut workflow = builder()
            .required_steps(steps).step_order(order).text(text).constraint(constraint).hints(hints).budgets(budgets);
        if by_name {
            workflow = workflow.prerequisite("read", Prerequisite::success_of("list"));
        }
        if by_argument {
            workflow = workflow.prerequisite("edit", Prerequisite::same_argument("read", "file"));
        }
        workflow.build().unwrap()
    }
}

fn moves() -> impl Strategy<Value = String> {
    let calls = prop::collection::vec(prop::sample::select(CALLS.to_vec()), 1..4).prop_map(|calls| calls.join("+"));
    prop_oneof![
        6 => calls,
        1 => prop::sample::select(vec!["text", "empty", "think"]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_keeps_the_invariants_and_ends(workflow in workflows(), moves in prop::collection::vec(moves(), 1..45)) {
        let mut run = Watched::new(Arc::new(workflow));
        for made in moves {
            if run.has_ended() {
                break;
            }
            run.step(&parse_move(&made));
        }
    }

    #[test]
    fn no_response_makes_the_engine_panic(
        workflow in workflows(),
        text in ".{0,80}",
        reasoning in ".{0,20}",
        calls in prop::collection::vec((prop::option::of("[a-c]{0,2}"), "[a-z]{0,6}|list|read", ".{0,30}|\\{\"file\": \"x\"\\}"), 0..4),
    ) {
        let calls = calls.into_iter().map(|(id, name, arguments)| RawCall {
            id: id.map(forge_core::CallId::new),
            name,
            arguments,
        });
        let response = Response { text, reasoning, calls: calls.collect(), ..Response::default() };
        let mut guardrails = forge_core::Guardrails::new(Arc::new(workflow));
        let _verdict = guardrails.check(&response).unwrap();
    }
}
