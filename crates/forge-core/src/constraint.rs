use serde::{Deserialize, Serialize};

use crate::ToolName;

/// What the next generation may be. A backend maps it to the strongest means it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "constraint", content = "tools", rename_all = "snake_case")]
pub enum Constraint {
    /// Text or calls, as the model likes.
    #[default]
    Free,
    /// At least one call of any offered tool.
    CallRequired,
    /// Exactly one well-formed call of one of these tools, which are the legal ones now. Never empty.
    Only(Vec<ToolName>),
}
