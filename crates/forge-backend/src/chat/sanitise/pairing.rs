//! Every call has an id of its own and one result, right behind the turn that calls.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::{Entry, HistoryChange, HistoryChangeKind, calls, role, text_of};

/// The result of a call whose result is gone.
const MISSING: &str = "(There is no result of this call: it did not run, or its result was lost.)";

/// What is said before a result whose call is gone.
const ORPHAN: &str = "(The result of an earlier tool call:)";

/// Pairs calls and results. Linear in the number of messages.
pub(super) fn pair(entries: Vec<Entry>, changes: &mut Vec<HistoryChange>) -> Vec<Entry> {
    let mut pairing = Pairing::of(&entries, changes);
    for entry in entries {
        match role(&entry.message) {
            "assistant" => pairing.turn(entry),
            "tool" => pairing.result(entry),
            _ => pairing.slots.push(Slot::Message(entry)),
        }
    }
    pairing.paired()
}

enum Slot {
    Message(Entry),
    Turn(Turn),
}

/// A turn of the model that calls.
struct Turn {
    entry: Entry,
    calls: Vec<Call>,
    /// In the order in which they came.
    results: Vec<Entry>,
    /// The first call that a result without an id could belong to.
    next_unnamed: usize,
}

struct Call {
    id: String,
    name: String,
    /// Whether some result bears the id it was given.
    named_by_a_result: bool,
    answered: bool,
}

/// Where a call stands: its slot, and which one of the turn it is.
type Place = (usize, usize);

struct Pairing<'c> {
    slots: Vec<Slot>,
    /// The calls that wait for a result, by the id they were given: those of the latest turn last.
    waiting: HashMap<String, Vec<VecDeque<Place>>>,
    last_turn: Option<usize>,
    given_by_calls: HashSet<String>,
    given_by_results: HashSet<String>,
    used: HashSet<String>,
    changes: &'c mut Vec<HistoryChange>,
}

impl<'c> Pairing<'c> {
    fn of(entries: &[Entry], changes: &'c mut Vec<HistoryChange>) -> Self {
        let of_calls = entries.iter().flat_map(|entry| calls(&entry.message)).filter_map(|call| text(call.get("id")));
        let of_results = entries.iter().filter_map(|entry| text(entry.message.get("tool_call_id")));
        Self {
            slots: Vec::with_capacity(entries.len()),
            waiting: HashMap::new(),
            last_turn: None,
            given_by_calls: of_calls.map(str::to_owned).collect(),
            given_by_results: of_results.map(str::to_owned).collect(),
            used: HashSet::new(),
            changes,
        }
    }

    fn turn(&mut self, mut entry: Entry) {
        let given = match entry.message.remove("tool_calls") {
            None => return self.slots.push(Slot::Message(entry)),
            Some(Value::Array(calls)) => calls,
            Some(Value::Null) => Vec::new(),
            Some(other) => vec![other],
        };
        let slot = self.slots.len();
        let (mut written, mut read) = (Vec::with_capacity(given.len()), Vec::with_capacity(given.len()));
        for call in given {
            match self.call(call, &entry, (slot, read.len())) {
                Ok((call, value)) => {
                    read.push(call);
                    written.push(value);
                }
                Err(other) => self.write_as_text(&mut entry, &other),
            }
        }
        if read.is_empty() {
            return self.slots.push(Slot::Message(entry));
        }
        entry.message.insert("tool_calls".to_owned(), written.into());
        self.last_turn = Some(slot);
        self.slots.push(Slot::Turn(Turn { entry, calls: read, results: Vec::new(), next_unnamed: 0 }));
    }

    /// A call with an id of its own, or the value that is none.
    fn call(&mut self, mut value: Value, entry: &Entry, place: Place) -> Result<(Call, Value), Value> {
        let name = value.get("function").and_then(|function| text(function.get("name")));
        let Some(name) = name.map(str::to_owned) else { return Err(value) };
        let Some(call) = value.as_object_mut() else { return Err(value) };
        let given = text(call.get("id")).unwrap_or_default().to_owned();
        let own = !given.is_empty() && self.used.insert(given.clone());
        let id = if own { given.clone() } else { self.fresh_id(place) };
        if !own {
            call.insert("id".to_owned(), id.clone().into());
            let kind = HistoryChangeKind::CallIdGiven { from: given.clone(), to: id.clone() };
            self.changes.push(entry.changed(kind));
        }
        let named_by_a_result = self.given_by_results.contains(&given);
        if !given.is_empty() {
            let turns = self.waiting.entry(given).or_default();
            match turns.last_mut().filter(|turn| turn.back().is_some_and(|&(slot, _)| slot == place.0)) {
                Some(turn) => turn.push_back(place),
                None => turns.push(VecDeque::from([place])),
            }
        }
        Ok((Call { id, name, named_by_a_result, answered: false }, value))
    }

    /// An id that nothing in the conversation bears, the same each time the conversation is sent.
    fn fresh_id(&mut self, (slot, call): Place) -> String {
        let base = format!("call_{slot}_{call}");
        let mut id = base.clone();
        let mut more = 1_usize;
        while self.given_by_calls.contains(&id) || self.given_by_results.contains(&id) || !self.used.insert(id.clone())
        {
            id = format!("{base}_{more}");
            more = more.saturating_add(1);
        }
        id
    }

    fn write_as_text(&mut self, entry: &mut Entry, other: &Value) {
        let said = text_of(entry.message.get("content").unwrap_or(&Value::Null));
        let texts = [said, other.to_string()].into_iter().filter(|text| !text.is_empty());
        entry.message.insert("content".to_owned(), texts.collect::<Vec<_>>().join("\n").into());
        self.changes.push(entry.changed(HistoryChangeKind::CallToText));
    }

    fn result(&mut self, mut entry: Entry) {
        let given = text(entry.message.get("tool_call_id")).unwrap_or_default().to_owned();
        let place = match self.named(&given) {
            Some(place) => Some(place),
            None if self.given_by_calls.contains(&given) => None,
            None => self.unnamed(),
        };
        let is_last = |slot: usize| slot.saturating_add(1) == self.slots.len();
        let behind = place.is_some_and(|(slot, _)| is_last(slot));
        let Some((turn, call)) = place.and_then(|(slot, call)| match self.slots.get_mut(slot) {
            Some(Slot::Turn(turn)) => Some((turn, call)),
            Some(Slot::Message(_)) | None => None,
        }) else {
            return self.orphan(entry, given);
        };
        let Some(call) = turn.calls.get_mut(call) else { return self.orphan(entry, given) };
        call.answered = true;
        if call.id != given {
            entry.message.insert("tool_call_id".to_owned(), call.id.clone().into());
            self.changes.push(entry.changed(HistoryChangeKind::ResultIdGiven { to: call.id.clone() }));
        }
        if !behind {
            self.changes.push(entry.changed(HistoryChangeKind::ResultMoved { call_id: call.id.clone() }));
        }
        turn.results.push(entry);
    }

    /// The call that waits for a result with this id.
    fn named(&mut self, id: &str) -> Option<Place> {
        let turns = self.waiting.get_mut(id)?;
        let turn = turns.last_mut()?;
        let place = turn.pop_front();
        if turn.is_empty() {
            turns.pop();
        }
        place
    }

    /// The next call of the last turn that no result names.
    fn unnamed(&mut self) -> Option<Place> {
        let slot = self.last_turn?;
        let Some(Slot::Turn(turn)) = self.slots.get_mut(slot) else { return None };
        let waits = |call: &Call| !call.answered && !call.named_by_a_result;
        let found = turn.calls.iter().skip(turn.next_unnamed).position(waits)?;
        let call = turn.next_unnamed.saturating_add(found);
        turn.next_unnamed = call.saturating_add(1);
        Some((slot, call))
    }

    fn orphan(&mut self, mut entry: Entry, call_id: String) {
        self.changes.push(entry.changed(HistoryChangeKind::ResultToText { call_id }));
        let content = text_of(entry.message.get("content").unwrap_or(&Value::Null));
        entry.message = Map::from_iter([
            ("role".to_owned(), "user".into()),
            ("content".to_owned(), format!("{ORPHAN}\n{content}").into()),
        ]);
        self.slots.push(Slot::Message(entry));
    }

    fn paired(self) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(self.slots.len());
        for slot in self.slots {
            match slot {
                Slot::Message(entry) => entries.push(entry),
                Slot::Turn(turn) => {
                    let at = turn.entry.at;
                    entries.push(turn.entry);
                    entries.extend(turn.results);
                    for Call { id, name, .. } in turn.calls.into_iter().filter(|call| !call.answered) {
                        let message = json!({"role": "tool", "tool_call_id": id, "name": name, "content": MISSING});
                        let Value::Object(message) = message else { continue };
                        entries.push(Entry { at, message });
                        let kind = HistoryChangeKind::ResultMissing { call_id: id };
                        self.changes.push(HistoryChange { message: at, kind });
                    }
                }
            }
        }
        entries
    }
}

/// A text that isn't empty.
fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}
