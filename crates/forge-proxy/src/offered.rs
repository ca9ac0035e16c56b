//! The tools of a request, compiled once for all requests that offer the same.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forge_core::{Budgets, TextPolicy, ToolSpec, Toolset, Workflow};
use serde_json::{Value, json};

use crate::error::ClientError;
use crate::names::Names;

/// How a tool is called in the client's protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolKind {
    /// With arguments, as JSON.
    #[default]
    Function,
    /// With one text; the backend knows it as a function with one argument, `input`.
    Custom,
    /// With one change to one file, in the Responses protocol's own form.
    ApplyPatch,
}

/// A tool as a protocol module read it.
pub(crate) enum ClientTool {
    /// It goes to the backend as a function.
    Known {
        /// The tool, under the client's name.
        spec: ToolSpec,
        /// How it is called.
        kind: ToolKind,
        /// The tool's element of a chat request, where the client gave it in that form; its unknown fields pass through.
        chat: Option<Value>,
    },
    /// Not a function, and handed on as it is.
    Foreign(Value),
    /// No backend could do anything with it.
    Dropped,
}

/// Reads one element of `tools`.
pub(crate) type ReadTool = fn(Value, &mut Vec<ClientTool>) -> Result<(), ClientError>;

/// The tools of a request.
#[derive(Debug)]
pub(crate) struct Offered {
    toolset: Arc<Toolset>,
    /// `tools` of a chat request.
    chat_tools: Value,
    /// Whether `chat_tools` is what the client sent.
    intact: bool,
    names: Names,
    kinds: HashMap<String, ToolKind>,
    accepting: OnceLock<Arc<Workflow>>,
    requiring: OnceLock<Arc<Workflow>>,
}

impl Offered {
    /// No tools.
    pub(crate) fn none() -> Self {
        Self::compile(Vec::new())
    }

    fn compile(tools: Vec<ClientTool>) -> Self {
        let own_names: HashSet<String> = tools.iter().filter_map(known_name).map(str::to_owned).collect();
        let (mut names, mut intact) = (Names::default(), true);
        let (mut specs, mut chat_tools, mut kinds): (Vec<ToolSpec>, Vec<Value>, _) = (vec![], vec![], HashMap::new());
        for tool in tools {
            match tool {
                ClientTool::Foreign(value) => chat_tools.push(value),
                ClientTool::Dropped => intact = false,
                // The second tool of a name can't be told from the first.
                ClientTool::Known { spec, .. } if specs.iter().any(|known| known.name == spec.name) => intact = false,
                ClientTool::Known { mut spec, kind, chat } => {
                    let alias = names.claim(&spec.name, |name| own_names.contains(name));
                    intact &= chat.is_some() && spec.name == alias.as_str();
                    spec.name = alias.as_str().into();
                    chat_tools.push(renamed(chat.unwrap_or_else(|| spec.to_openai()), &alias));
                    if kind != ToolKind::Function {
                        kinds.insert(alias, kind);
                    }
                    specs.push(spec);
                }
            }
        }
        Self {
            toolset: Toolset::compile(specs),
            chat_tools: Value::Array(chat_tools),
            intact,
            names,
            kinds,
            accepting: OnceLock::new(),
            requiring: OnceLock::new(),
        }
    }

    /// Whether no tool can be called.
    pub(crate) fn is_empty(&self) -> bool {
        self.toolset.specs().is_empty()
    }

    /// Whether the backend is offered exactly what the client wrote.
    pub(crate) fn is_intact(&self) -> bool {
        self.intact
    }

    /// `tools` of a chat request, empty where there are none.
    pub(crate) fn chat_tools(&self) -> &Value {
        &self.chat_tools
    }

    /// The compiled tools under the backend's names.
    pub(crate) fn toolset(&self) -> &Arc<Toolset> {
        &self.toolset
    }

    /// Names that differ between client and backend.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// How a tool is called, by the backend's name.
    pub(crate) fn kind(&self, name: &str) -> ToolKind {
        self.kinds.get(name).copied().unwrap_or_default()
    }

    /// What answers are checked against. The budgets are the same for the whole life of a proxy.
    pub(crate) fn workflow(&self, text: TextPolicy, budgets: Budgets) -> Arc<Workflow> {
        let cell = match text {
            TextPolicy::Accept => &self.accepting,
            TextPolicy::Nudge => &self.requiring,
        };
        Arc::clone(cell.get_or_init(|| Arc::new(Workflow::without_rules(Arc::clone(&self.toolset), text, budgets))))
    }

    /// The same for one tool alone, by the backend's name; none where it isn't offered.
    pub(crate) fn workflow_of(&self, tool: &str, budgets: Budgets) -> Option<Arc<Workflow>> {
        let only = Toolset::compile(vec![self.toolset.get(tool)?.clone()]);
        Some(Arc::new(Workflow::without_rules(only, TextPolicy::Nudge, budgets)))
    }
}

fn known_name(tool: &ClientTool) -> Option<&str> {
    match tool {
        ClientTool::Known { spec, .. } => Some(spec.name.as_str()),
        ClientTool::Foreign(_) | ClientTool::Dropped => None,
    }
}

fn renamed(mut tool: Value, alias: &str) -> Value {
    if let Some(name) = tool.get_mut("function").and_then(|function| function.get_mut("name"))
        && name.as_str() != Some(alias)
    {
        *name = json!(alias);
    }
    tool
}

/// Compiled tools by the text they were written in.
#[derive(Debug)]
pub(crate) struct ToolShelf {
    /// Most recently used last.
    entries: Mutex<Vec<Entry>>,
    hasher: RandomState,
    max_tools: usize,
    none: Arc<Offered>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    protocol: u8,
    text: Box<str>,
    offered: Arc<Offered>,
}

impl ToolShelf {
    /// How many lists of tools are kept.
    const CAPACITY: usize = 64;

    pub(crate) fn new(max_tools: usize) -> Self {
        let none = Arc::new(Offered::none());
        Self { entries: Mutex::default(), hasher: RandomState::new(), max_tools, none }
    }

    /// The tools of a text, compiled now if they aren't known. `protocol` tells texts of one protocol from another's.
    ///
    /// # Errors
    /// When they can't be read, or are more than allowed.
    pub(crate) fn get(&self, text: Option<&str>, protocol: u8, read: ReadTool) -> Result<Arc<Offered>, ClientError> {
        let Some(text) = text else { return Ok(Arc::clone(&self.none)) };
        let hash = self.hasher.hash_one(text);
        if let Some(offered) = self.find(hash, protocol, text) {
            return Ok(offered);
        }
        let offered = Arc::new(Offered::compile(self.read(text, read)?));
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= Self::CAPACITY {
            entries.remove(0);
        }
        entries.push(Entry { hash, protocol, text: text.into(), offered: Arc::clone(&offered) });
        Ok(offered)
    }

    fn find(&self, hash: u64, protocol: u8, text: &str) -> Option<Arc<Offered>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |entry: &Entry| entry.hash == hash && entry.protocol == protocol && *entry.text == *text;
        let place = entries.iter().rposition(same)?;
        let entry = entries.remove(place);
        let offered = Arc::clone(&entry.offered);
        entries.push(entry);
        Some(offered)
    }

    fn read(&self, text: &str, read: ReadTool) -> Result<Vec<ClientTool>, ClientError> {
        let values: Vec<Value> = serde_json::from_str(text)
            .map_err(|error| ClientError::invalid(format!("`tools` must be an array of objects: {error}")))?;
        let (count, limit) = (values.len(), self.max_tools);
        if count > limit {
            return Err(ClientError::invalid(format!("`tools` has {count} entries; at most {limit} are allowed")));
        }
        let mut tools = Vec::with_capacity(count);
        for (index, value) in values.into_iter().enumerate() {
            read(value, &mut tools)
                .map_err(|error| ClientError { message: format!("`tools[{index}]`: {}", error.message), ..error })?;
        }
        Ok(tools)
    }
}
