//! Each way a run can be interrupted, with its whole account: a scripted model misbehaves until the budget runs out.
//!
//! ```console
//! cargo run -p forge-core --example interrupts
//! ```

use std::error::Error;
use std::sync::Arc;

use forge_core::{
    Budgets, Guardrails, Interrupt, Next, Outcome, Prerequisite, RawCall, Response, ToolSpec, Verdict, Workflow,
    WorkflowBuilder,
};
use serde_json::json;

/// Two steps, of which `read` waits for `list`, and an end.
fn workflow() -> WorkflowBuilder {
    let parameters = json!({"type": "object", "properties": {"file": {"type": "string"}}});
    let tools = ["list", "read", "report"].map(|name| ToolSpec::new(name, "", parameters.clone()));
    Workflow::builder("triage")
        .tools(tools)
        .required_steps(["list", "read"])
        .prerequisite("read", Prerequisite::success_of("list"))
        .terminal_tool("report")
}

fn call(name: &str, arguments: &str) -> Response {
    let call = RawCall { id: None, name: name.to_owned(), arguments: arguments.to_owned() };
    Response { calls: vec![call], ..Response::default() }
}

/// Gives the engine one response after another until it halts. Tools whose name `fails` says so fail.
fn run(
    builder: WorkflowBuilder,
    mut respond: impl FnMut(usize) -> Response,
    fails: fn(&str) -> bool,
) -> Result<Interrupt, Box<dyn Error>> {
    let mut guardrails = Guardrails::new(Arc::new(builder.build()?));
    for turn in 0.. {
        let batch = match guardrails.check(&respond(turn))? {
            Verdict::Execute(batch) => batch,
            Verdict::Reprompt(_) => continue,
            Verdict::Accept { .. } => return Err("the text was accepted".into()),
            Verdict::Halt(interrupt) => return Ok(interrupt),
        };
        let outcomes: Vec<_> = batch
            .calls
            .iter()
            .map(|approved| {
                let failure = Outcome::Failure("the disk is full".to_owned());
                let success = Outcome::Success("nothing new".to_owned());
                (approved.call.id.clone(), if fails(&approved.call.name) { failure } else { success })
            })
            .collect();
        match guardrails.record(&outcomes)?.next {
            Next::Halt { interrupt } => return Ok(interrupt),
            Next::Continue { .. } => {}
            Next::Finished { .. } => return Err("the run came to its end".into()),
        }
    }
    Err("the script has ended".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let never = |_: &str| false;
    let file = |turn: usize| json!({"file": turn.to_string()}).to_string();
    let roomy = |budgets: Budgets| workflow().budgets(budgets);
    let interrupts = [
        run(workflow(), |_| Response::text("Let me think about it."), never)?,
        run(roomy(Budgets { failures_per_tool: 9, ..Budgets::default() }), |turn| call("list", &file(turn)), |_| true)?,
        run(
            roomy(Budgets { tool_errors: 9, ..Budgets::default() }),
            |turn| call("list", &file(turn)),
            |name| name == "list",
        )?,
        run(workflow(), |_| call("report", "{}"), never)?,
        run(workflow(), |_| call("read", "{}"), never)?,
        run(workflow(), |_| call("list", "{}"), never)?,
        run(workflow(), |turn| call(&format!("tool_{turn}"), "{}"), never)?,
        run(roomy(Budgets { iterations: 4, ..Budgets::default() }), |turn| call("list", &file(turn)), never)?,
    ];
    for interrupt in interrupts {
        println!("{interrupt}\n{}\n", serde_json::to_string_pretty(&interrupt)?);
    }
    Ok(())
}
