//! What a proxy is set up with.

use std::time::Duration;

use forge_backend::{OpenAiConfig, Secret};

/// What a proxy is set up with.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The model server behind it.
    pub backend: OpenAiConfig,
    /// How hard the guardrails try.
    pub guard: GuardConfig,
    /// What a client may use.
    pub limits: Limits,
    /// Who may ask.
    pub access: Access,
}

impl ProxyConfig {
    /// A proxy in front of a model server, with everything else at its default.
    pub fn new(backend: OpenAiConfig) -> Self {
        Self { backend, guard: GuardConfig::default(), limits: Limits::default(), access: Access::default() }
    }
}

/// How hard the guardrails try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardConfig {
    /// How often a model is asked again within one request. 0 asks once. Default 3.
    pub max_retries: u32,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self { max_retries: 3 }
    }
}

/// What a client may use. Each limit that is passed is answered with an error that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes. Default 32 MiB: conversations with pictures are large.
    pub body_bytes: usize,
    /// The most tools a request may offer. Default 1,024.
    pub tools: usize,
    /// The largest head of a request (request line and headers), in bytes, at least 8,192. Default 64 KiB.
    pub head_bytes: usize,
    /// The most headers of a request. Default 100.
    pub headers: usize,
    /// How long the head of a request may take to arrive. Default 10 s.
    pub head_time: Duration,
    /// How long the body of a request may take to arrive. Default 60 s.
    pub body_time: Duration,
    /// How long a whole answer that is not streamed may take. Default 30 minutes.
    pub answer_time: Duration,
    /// How long a stream to a client may be silent before a comment is sent, and how long an answer may take before its
    /// status is sent. Default 4 s.
    pub silence: Duration,
    /// How long a client may take none of the bytes that are ready for it. Default 60 s.
    pub stall_time: Duration,
    /// The most connections at once. Further ones wait. Default 1,024.
    pub connections: usize,
    /// How long running answers may go on after the order to stop. Default 30 s.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 * 1024 * 1024,
            tools: 1024,
            head_bytes: 64 * 1024,
            headers: 100,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(60),
            answer_time: Duration::from_secs(30 * 60),
            silence: Duration::from_secs(4),
            stall_time: Duration::from_secs(60),
            connections: 1024,
            drain_time: Duration::from_secs(30),
        }
    }
}

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Names this server goes by, besides `localhost` and addresses in numbers. A request for another name is refused, so
    /// that a web page can't reach the proxy through a name of its own (DNS rebinding).
    pub hosts: Vec<String>,
    /// Origins of web pages that may use the proxy, such as `http://localhost:3000`. Empty: none may.
    pub origins: Vec<String>,
    /// Keys of callers, of which each request has to bring one. Empty: no key is asked for.
    pub keys: Vec<Secret>,
}
