//! Ids of calls: unique in a conversation, whatever a backend gives.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::CallId;

/// The ids a conversation has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallIds {
    used: BTreeSet<CallId>,
    made: u64,
}

impl CallIds {
    /// The backend's id where it can pair a call with its result, else a new one.
    pub(crate) fn claim(&mut self, given: Option<&CallId>) -> CallId {
        if let Some(given) = given
            && !given.as_str().is_empty()
            && self.used.insert(given.clone())
        {
            return given.clone();
        }
        loop {
            self.made = self.made.wrapping_add(1);
            let id = CallId::new(format!("call_{}", self.made));
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }

    /// Keeps an id of an earlier part of the conversation from being given again.
    pub(crate) fn reserve(&mut self, id: &CallId) {
        self.used.insert(id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_use_of_a_backends_id_stands() {
        let mut ids = CallIds::default();
        let given = [Some("a"), Some("a"), Some(""), None, Some("call_4"), None];
        let claimed: Vec<String> = given.iter().map(|id| ids.claim(id.map(CallId::new).as_ref()).to_string()).collect();
        assert_eq!(claimed, ["a", "call_1", "call_2", "call_3", "call_4", "call_5"]);
    }
}
