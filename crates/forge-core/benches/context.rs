//! What compaction costs: each phase on a conversation of 1,000 messages, and a look that finds nothing to do.

use divan::{Bencher, black_box};
use forge_core::{
    Arguments, CallId, CompactionStrategy, ContextManager, Message, NoCompact, ResultKind, TieredCompact, ToolCall,
};

fn main() {
    divan::main();
}

/// Turns of one call with a result of 400 characters; every tenth is a refused text with its nudge.
fn conversation(count: usize) -> Vec<Message> {
    let mut messages = vec![Message::system("You read files."), Message::input("Read them all.")];
    for index in 0.. {
        if messages.len() + 2 > count {
            break;
        }
        let pair = if index % 10 == 9 { refused() } else { read(index) };
        messages.extend(pair);
    }
    messages
}

fn refused() -> [Message; 2] {
    let turn = Message::Assistant { content: "I will.".into(), reasoning: String::new(), calls: Vec::new() };
    [turn, Message::nudge("Call a tool.")]
}

fn read(index: usize) -> [Message; 2] {
    let id = CallId::new(format!("call_{index}"));
    let call = ToolCall { id: id.clone(), name: "read_file".into(), arguments: Arguments::empty() };
    let turn = Message::Assistant {
        content: "Next file.".into(),
        reasoning: "One after the other.".into(),
        calls: vec![call],
    };
    let content = "The boat came in at dawn, with nets full. ".repeat(10).chars().take(400).collect();
    [turn, Message::Tool { call_id: id, name: "read_file".into(), content, kind: ResultKind::Success }]
}

#[divan::bench(args = [1, 2, 3])]
fn tiered_1000_messages(bencher: Bencher<'_, '_>, phase: usize) {
    let strategy = TieredCompact::default();
    let mut messages = conversation(1000);
    (1..phase).for_each(|before| strategy.compact(before, &mut messages));
    bencher.with_inputs(|| messages.clone()).bench_local_refs(|messages| strategy.compact(phase, black_box(messages)));
}

/// Before each generation: one iteration was appended, and nothing has to be compacted.
#[divan::bench(args = [10, 100, 1000])]
fn fit_after_one_iteration(bencher: Bencher<'_, '_>, count: usize) {
    let mut messages = conversation(count);
    let mut context = ContextManager::new(ContextManager::UNBOUNDED, NoCompact).ok();
    if let Some(context) = &mut context {
        let _fits = context.fit(&mut messages, None);
    }
    messages.extend(read(count));
    bencher
        .with_inputs(|| context.clone())
        .bench_local_refs(|context| context.as_mut().map(|context| context.fit(black_box(&mut messages), None)));
}
