//! What a managed server is to be.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::runtime::Runtime;

/// The default context of a managed server, in tokens.
const CONTEXT: u32 = 8192;
/// How long a server may take to load its model.
const START_TIMEOUT: Duration = Duration::from_mins(2);
/// How long a server may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What to serve and how. [`ServerSpec::new`] has sensible values; change the fields that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// What runs the model.
    pub runtime: Runtime,
    /// The model file.
    pub model: PathBuf,
    /// The context window in tokens, shared by all slots. Default 8,192.
    pub context: u32,
    /// Requests served at the same time; each gets an equal share of the context. Default 1.
    pub parallel: u32,
    /// Threads to compute with. By default the runtime decides.
    pub threads: Option<u32>,
    /// The type of the key-value cache. By default 16-bit floats.
    pub cache_type: Option<CacheType>,
    /// A Jinja chat template to use instead of the model's own.
    pub chat_template_file: Option<PathBuf>,
    /// The most tokens any request may generate. By default the request decides.
    pub max_tokens: Option<u32>,
    /// Further arguments for `llama-server`. The Python runtime takes none.
    pub extra_arguments: Vec<OsString>,
    /// How long loading the model may take. Default 120 seconds.
    pub start_timeout: Duration,
    /// How long the server may take to end when it is asked to, before it is killed. Default 5 seconds.
    pub stop_timeout: Duration,
}

impl ServerSpec {
    /// A server with default settings for this model.
    pub fn new(runtime: Runtime, model: impl Into<PathBuf>) -> Self {
        Self {
            runtime,
            model: model.into(),
            context: CONTEXT,
            parallel: 1,
            threads: None,
            cache_type: None,
            chat_template_file: None,
            max_tokens: None,
            extra_arguments: Vec::new(),
            start_timeout: START_TIMEOUT,
            stop_timeout: STOP_TIMEOUT,
        }
    }
}

/// The type of the numbers in the key-value cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheType {
    /// 16-bit floats: exact.
    F16,
    /// About 8 bits: half the memory, hardly a difference.
    Q8_0,
    /// About 4 bits: a quarter of the memory, tool calls suffer.
    Q4_0,
}

impl CacheType {
    /// The name that llama.cpp uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
        }
    }
}
