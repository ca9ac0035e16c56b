//! A response that writes the same call over and over is caught in a loop, not asking for the same thing many times.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Repair;
use crate::canonical::canonical;
use crate::reading::Attempt;

/// How often one call may stand in one response: twice can be meant (two coins thrown, two steps to the right).
const MAX_COPIES: usize = 2;

/// Drops the third and every further copy of a call (the same tool with arguments of the same meaning). What was dropped
/// is told as a repair of the last copy that stays.
pub(crate) fn collapse(attempts: Vec<Attempt>) -> Vec<Attempt> {
    if attempts.len() <= MAX_COPIES {
        return attempts;
    }
    let mut places: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut kept: Vec<Attempt> = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        if let Attempt::Call { call, .. } = &attempt {
            let key = format!("{} {}", call.name, canonical(&call.arguments.to_value()));
            let (copies, place) = places.entry(key).or_default();
            *copies += 1;
            if *copies > MAX_COPIES {
                continue;
            }
            *place = kept.len();
        }
        kept.push(attempt);
    }
    for (copies, place) in places.into_values().filter(|(copies, _)| *copies > MAX_COPIES) {
        if let Some(Attempt::Call { call, .. }) = kept.get_mut(place) {
            call.repairs.push(Repair {
                kind: Cow::Borrowed("repeated-call"),
                path: String::new(),
                note: format!("the response held this call {copies} times; {MAX_COPIES} were kept"),
            });
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arguments, Dialect, ParsedCall};

    fn attempts(calls: &[(&str, &str)]) -> Vec<Attempt> {
        let call = |(name, arguments): &(&str, &str)| Attempt::Call {
            id: None,
            call: ParsedCall {
                name: (*name).into(),
                arguments: Arguments::from_json(arguments).unwrap(),
                dialect: Dialect::NATIVE,
                repairs: Vec::new(),
            },
        };
        calls.iter().map(call).collect()
    }

    fn names_and_repairs(attempts: &[Attempt]) -> Vec<(String, usize)> {
        let described = attempts.iter().map(|attempt| match attempt {
            Attempt::Call { call, .. } => (call.name.to_string(), call.repairs.len()),
            Attempt::FaultyCall { .. } | Attempt::Unreadable(_) => panic!("only calls here"),
        });
        described.collect()
    }

    #[test]
    fn two_copies_stay() {
        let kept = collapse(attempts(&[("step", "{}"), ("step", "{}"), ("look", "{}")]));
        assert_eq!(names_and_repairs(&kept), [("step".into(), 0), ("step".into(), 0), ("look".into(), 0)]);
    }

    #[test]
    fn the_third_copy_goes_and_the_second_tells() {
        let kept = collapse(attempts(&[("a", "{}"), ("b", "{}"), ("a", "{}"), ("a", "{}"), ("a", " { } ")]));
        assert_eq!(names_and_repairs(&kept), [("a".into(), 0), ("b".into(), 0), ("a".into(), 1)]);
    }

    #[test]
    fn other_arguments_are_another_call() {
        let calls = [("a", r#"{"x": 1}"#), ("a", r#"{"x": 2}"#), ("a", r#"{"x": 3}"#)];
        assert_eq!(collapse(attempts(&calls)).len(), 3);
    }

    #[test]
    fn the_order_of_keys_and_white_space_do_not_make_another_call() {
        let calls = [("a", r#"{"x": 1, "y": 2}"#), ("a", r#"{"y":2,"x":1}"#), ("a", r#"{"x":1.0,"y":2}"#)];
        assert_eq!(collapse(attempts(&calls)).len(), 2);
    }
}
