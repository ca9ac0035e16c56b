//! Prints a small conversation before and after each phase of `TieredCompact`:
//! `cargo run -p forge-core --example compaction`.

use forge_core::{
    Arguments, CallId, CompactionStrategy, ContextManager, Message, NoCompact, ResultKind, TieredCompact, ToolCall,
    UserOrigin, place_summary,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut messages = conversation()?;
    show("before", &messages)?;
    let strategy = TieredCompact::default();
    let titles = [
        "after phase 1: nudges went, old results are cut",
        "after phase 2: of old results a stub stays",
        "after phase 3: of old turns the calls stay",
    ];
    for (phase, title) in (1..).zip(titles) {
        strategy.compact(phase, &mut messages);
        // What `Guardrails::summary` says.
        place_summary(
            &mut messages,
            "[Earlier results were shortened or dropped to save space. Done until then: list.]",
        );
        show(title, &messages)?;
    }
    Ok(())
}

/// Four iterations: a refused text and two reads, which are old, and two that are recent.
fn conversation() -> Result<Vec<Message>, Box<dyn std::error::Error>> {
    let log = "09:14:02 ERROR checkout: card declined by gateway (timeout after 30 s)\n".repeat(8);
    let draft = "The checkout failed because the payment gateway did not answer. ".repeat(4);
    let mut messages = vec![
        Message::system("You look into logs and write a report."),
        Message::input("Why could customers not pay this morning?"),
    ];
    messages.extend([
        Message::Assistant {
            content: "I will have a look at the logs.".to_owned(),
            reasoning: String::new(),
            calls: Vec::new(),
        },
        Message::nudge("You wrote text, but this job needs a tool call. Next, call list."),
    ]);
    messages.extend(iteration("1", "list", "{}", "checkout.log, gateway.log, search.log")?);
    messages.extend(iteration("2", "note", &format!(r#"{{"text": "{draft}"}}"#), "saved")?);
    messages.extend(iteration("3", "read", r#"{"file": "checkout.log"}"#, &log)?);
    messages.extend(iteration("4", "read", r#"{"file": "gateway.log"}"#, &log)?);
    messages.extend(iteration("5", "read", r#"{"file": "search.log"}"#, "nothing of note")?);
    Ok(messages)
}

/// A turn with one call, and its result.
fn iteration(id: &str, tool: &str, arguments: &str, result: &str) -> Result<[Message; 2], Box<dyn std::error::Error>> {
    let call = ToolCall { id: CallId::new(id), name: tool.into(), arguments: Arguments::from_json(arguments)? };
    let turn = Message::Assistant {
        content: format!("Now I call {tool}."),
        reasoning: "One thing after the other.".to_owned(),
        calls: vec![call],
    };
    let answer = Message::Tool {
        call_id: CallId::new(id),
        name: tool.into(),
        content: result.to_owned(),
        kind: ResultKind::Success,
    };
    Ok([turn, answer])
}

fn show(title: &str, messages: &[Message]) -> Result<(), Box<dyn std::error::Error>> {
    let mut context = ContextManager::new(ContextManager::UNBOUNDED, NoCompact)?;
    let tokens = context.fit(&mut messages.to_vec(), None)?.estimate.tokens;
    println!("── {title}: {} messages, about {tokens} tokens", messages.len());
    for message in messages {
        println!("{}", line(message));
    }
    println!();
    Ok(())
}

fn line(message: &Message) -> String {
    let text = message.content().replace('\n', " ⏎ ");
    match message {
        Message::System { .. } => format!("  system   {text}"),
        Message::User { origin, .. } => {
            let who = match origin {
                UserOrigin::Input => "user",
                UserOrigin::Nudge => "nudge",
                UserOrigin::Hint => "hint",
                UserOrigin::Summary => "summary",
            };
            format!("  {who:8} {text}")
        }
        Message::Assistant { reasoning, calls, .. } => {
            let thought = if reasoning.is_empty() { String::new() } else { format!("({reasoning}) ") };
            let calls: Vec<String> = calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
            format!("  model    {thought}{text} {}", calls.join(", ")).trim_end().to_owned()
        }
        Message::Tool { .. } => format!("  result   {text}"),
    }
}
