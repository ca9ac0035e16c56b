use proptest::prelude::{any, prop};
use proptest::{prop_assert_eq, proptest};
use serde_json::Value;

use super::*;

fn decoder() -> AnswerDecoder {
    let subject = Subject { url: "u".to_owned(), model: String::new(), secret: None };
    AnswerDecoder::new(subject, ["get_row".into(), "put_row".into()])
}

/// What a body pushed in pieces amounts to: the events and the error after them.
fn outcome<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<ModelEvent>, Option<String>) {
    let mut decoder = decoder();
    let mut events = Vec::new();
    let decoded = pieces.into_iter().try_for_each(|piece| decoder.push(piece, &mut events).map(|_| ()));
    let error = decoded.and_then(|()| decoder.finish(&mut events)).err();
    (events, error.map(|error| error.to_string()))
}

/// The bodies of the recorded answers: streams with each kind of line end, and whole ones.
fn bodies() -> Vec<String> {
    let rows = include_str!("../../../tests/fixtures/wire_rows.jsonl").lines();
    let raw = rows.map(|line| serde_json::from_str::<Value>(line).unwrap()["raw"].take());
    raw.flat_map(|raw| match raw {
        Value::Array(events) => ["\n", "\r\n", "\r"]
            .map(|end| {
                let event = |data: &Value| format!("data: {}{end}{end}", data.as_str().unwrap());
                events.iter().map(event).collect::<String>()
            })
            .to_vec(),
        body => vec![body.as_str().unwrap().to_owned()],
    })
    .collect()
}

#[test]
fn recorded_answers_are_the_same_whole_and_byte_by_byte() {
    for body in bodies() {
        assert_eq!(outcome(body.as_bytes().chunks(1)), outcome([body.as_bytes()]), "{body}");
    }
}

#[test]
fn recorded_answers_are_the_same_cut_anywhere_once() {
    for body in bodies() {
        let whole = outcome([body.as_bytes()]);
        for cut in 0..=body.len() {
            let (head, tail) = body.as_bytes().split_at(cut);
            assert_eq!(outcome([head, tail]), whole, "{body} cut at {cut}");
        }
    }
}

proptest! {
    #[test]
    fn no_body_is_too_odd(
        body in "(data: |\u{feff}| |\\{|\\[|<)?[a-z{}\\[\\]\":, \r\n]{0,60}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = body.as_bytes();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]);
        prop_assert_eq!(outcome(pieces).0, outcome([bytes]).0);
    }
}
