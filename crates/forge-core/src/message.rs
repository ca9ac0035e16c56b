use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Arguments, ToolName};

/// Pairs a call with its result. Unique within a conversation. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

impl CallId {
    /// Takes over an id as it is.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call as it stands in a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: CallId,
    /// The name of the tool, as offered; for a call that was blocked as unknown, as the model wrote it.
    pub name: ToolName,
    /// The arguments; `{}` where what the model wrote was no JSON object.
    pub arguments: Arguments,
}

/// Who speaks in the user role, and why: what compaction may drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserOrigin {
    /// The person. Never dropped.
    Input,
    /// The engine, about a fault. The first to be dropped.
    Nudge,
    /// The engine, about progress. Dropped like a nudge.
    Hint,
    /// The engine, in the place of what compaction removed.
    Summary,
}

/// What a tool message says about its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// The tool ran and succeeded.
    Success,
    /// The tool ran and failed.
    Failure,
    /// The call was right and the data isn't there.
    NoData,
    /// The tool passed its time limit.
    TimedOut,
    /// The run was cancelled before the tool ended.
    Cancelled,
    /// The engine didn't let the call run.
    Blocked,
}

/// One message of a conversation, independent of any backend's wire form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Instructions. Never dropped.
    System {
        /// The text.
        content: String,
    },
    /// The user role.
    User {
        /// The text.
        content: String,
        /// Who speaks.
        origin: UserOrigin,
    },
    /// A turn of the model.
    Assistant {
        /// Text for the reader.
        content: String,
        /// Thinking; empty where there was none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// The calls of the turn, each of which is answered by a tool message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The answer to one call.
    Tool {
        /// The call it answers.
        call_id: CallId,
        /// The tool that was called.
        name: ToolName,
        /// The text the model sees.
        content: String,
        /// What the text says about the call.
        kind: ResultKind,
    },
}

impl Message {
    /// A system message.
    pub fn system(content: impl Into<String>) -> Self {
        Self::System { content: content.into() }
    }

    /// A person's message.
    pub fn input(content: impl Into<String>) -> Self {
        Self::User { content: content.into(), origin: UserOrigin::Input }
    }

    /// A message of the engine in the user role about a fault.
    pub fn nudge(content: impl Into<String>) -> Self {
        Self::User { content: content.into(), origin: UserOrigin::Nudge }
    }

    /// The text of the message.
    pub fn content(&self) -> &str {
        match self {
            Self::System { content }
            | Self::User { content, .. }
            | Self::Assistant { content, .. }
            | Self::Tool { content, .. } => content,
        }
    }
}
