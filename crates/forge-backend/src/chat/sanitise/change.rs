use std::fmt;

use serde::Serialize;

/// One thing that was changed in a conversation before it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryChange {
    /// The place of the message in the conversation that was given, from 0.
    pub message: usize,
    /// What was changed.
    #[serde(flatten)]
    pub kind: HistoryChangeKind,
}

/// What was changed in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum HistoryChangeKind {
    /// Its role isn't one of the protocol's, and another took its place.
    RoleRenamed {
        /// The role as given; empty where there was none.
        from: String,
        /// The role as sent.
        to: &'static str,
    },
    /// A call without an id of its own got one.
    CallIdGiven {
        /// The id as given; empty where there was none.
        from: String,
        /// The id as sent.
        to: String,
    },
    /// What stood among the calls and was none became text.
    CallToText,
    /// A result got the id of the call it answers.
    ResultIdGiven {
        /// The id.
        to: String,
    },
    /// A result was moved right behind the turn that calls.
    ResultMoved {
        /// The id of its call.
        call_id: String,
    },
    /// A result without a call became text.
    ResultToText {
        /// The id as given; empty where there was none.
        call_id: String,
    },
    /// A call without a result got one that says so.
    ResultMissing {
        /// The id of the call.
        call_id: String,
    },
    /// The arguments of a call were repaired.
    ArgumentsRepaired {
        /// The id of the call.
        call_id: String,
    },
    /// The arguments of a call can't be read; they became an object that holds their text.
    ArgumentsWrapped {
        /// The id of the call.
        call_id: String,
    },
    /// The arguments of a call were written in the form the server takes.
    ArgumentsRewritten {
        /// The id of the call.
        call_id: String,
    },
    /// The content became one text.
    ContentFlattened,
    /// A message with nothing in it was left out.
    EmptyLeftOut,
    /// Thinking of an earlier turn was left out.
    ReasoningLeftOut,
    /// A message of the system was moved or merged.
    SystemMoved,
    /// Neighbouring turns of one role became one.
    TurnsMerged,
    /// A turn of the user was put before a conversation that begins with the model's.
    OpeningAdded,
}

impl fmt::Display for HistoryChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {}: {}", self.message, self.kind)
    }
}

impl fmt::Display for HistoryChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoleRenamed { from, to } => write!(f, "the role {from:?} became {to:?}"),
            Self::CallIdGiven { from, to } => write!(f, "the call {from:?} got the id {to:?}"),
            Self::CallToText => f.write_str("what stood among the calls and was none became text"),
            Self::ResultIdGiven { to } => write!(f, "the result got the id {to:?} of its call"),
            Self::ResultMoved { call_id } => write!(f, "the result of {call_id:?} was moved behind its call"),
            Self::ResultToText { call_id } => write!(f, "the result of {call_id:?}, which no turn calls, became text"),
            Self::ResultMissing { call_id } => {
                write!(f, "the call {call_id:?} has no result, which its result now says")
            }
            Self::ArgumentsRepaired { call_id } => write!(f, "the arguments of {call_id:?} were repaired"),
            Self::ArgumentsWrapped { call_id } => {
                write!(f, "the arguments of {call_id:?} can't be read and became an object that holds their text")
            }
            Self::ArgumentsRewritten { call_id } => {
                write!(f, "the arguments of {call_id:?} were written in the server's form")
            }
            Self::ContentFlattened => f.write_str("the content became one text"),
            Self::EmptyLeftOut => f.write_str("it is empty and was left out"),
            Self::ReasoningLeftOut => f.write_str("its thinking was left out"),
            Self::SystemMoved => f.write_str("the system's text was moved or merged"),
            Self::TurnsMerged => f.write_str("it was merged with its neighbour of the same role"),
            Self::OpeningAdded => f.write_str("a turn of the user was put before it"),
        }
    }
}
