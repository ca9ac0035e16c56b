//! What a client is given, piece by piece, in no protocol's form.

use bytes::Bytes;
use forge_core::{Arguments, FinishReason, Usage};

use crate::offered::ToolKind;

/// A piece of an answer.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Bytes of the backend's answer, for a client of the same protocol.
    Raw(Bytes),
    /// What the answer calls itself, for pieces that follow bytes of the backend.
    Named(Envelope),
    /// Text for the reader.
    Text(String),
    /// The model's thinking.
    Reasoning(String),
    /// The calls, all of them valid. At most once.
    Calls(Vec<FinalCall>),
    /// The end. The last piece, unless bytes of the backend told the end.
    End {
        /// Why.
        finish: FinishReason,
        /// What it cost, all attempts together.
        usage: Usage,
        /// Whether bytes of the backend have already told the end.
        told: bool,
    },
}

/// What a chat answer calls itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// The answer's id.
    pub(crate) id: Option<String>,
    /// The model that answers.
    pub(crate) model: Option<String>,
    /// When it was made, in seconds since 1970.
    pub(crate) created: Option<u64>,
}

/// A call for the client to run.
#[derive(Clone, Debug)]
pub(crate) struct FinalCall {
    /// Pairs it with its result.
    pub(crate) id: String,
    /// The tool, by the client's name.
    pub(crate) name: String,
    /// Valid arguments.
    pub(crate) arguments: Arguments,
    /// How the client calls it.
    pub(crate) kind: ToolKind,
}

/// A whole answer, put together.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The backend's own bytes, where they are the whole answer.
    pub(crate) raw: Option<Bytes>,
    pub(crate) envelope: Envelope,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<FinalCall>,
    pub(crate) finish: FinishReason,
    pub(crate) usage: Usage,
}

impl Answer {
    /// Adds a piece.
    pub(crate) fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Raw(bytes) => self.raw = Some(bytes),
            Piece::Named(envelope) => self.envelope = envelope,
            Piece::Text(text) => self.text.push_str(&text),
            Piece::Reasoning(text) => self.reasoning.push_str(&text),
            Piece::Calls(calls) => self.calls = calls,
            Piece::End { finish, usage, .. } => (self.finish, self.usage) = (finish, usage),
        }
    }
}
