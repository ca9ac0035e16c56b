//! `forge serve`: the proxy between an agent and its model server.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use forge_backend::{OpenAiConfig, Secret};
use forge_proxy::{Access, GuardConfig, Limits, Proxy, ProxyConfig};
use tokio::net::TcpListener;

use crate::exit::Exit;
use crate::signals;
use crate::terminal;

/// Serves guarded tool calls to any agent.
///
/// Forge stands between an agent and its model server. It speaks OpenAI's chat completions and Responses and Anthropic's
/// Messages to the agent. Calls are read in whatever notation the model writes them, repaired, checked against the tools of the
/// request, and asked for again where they are wrong; the agent gets valid calls or text.
#[derive(Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", Exit::HELP))]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    backend: BackendArgs,

    #[command(flatten)]
    listen: ListenArgs,

    /// How often the model is asked again within one request when its answer can't be used.
    #[arg(long, value_name = "N", env = "FORGE_MAX_RETRIES", default_value_t = GuardConfig::default().max_retries)]
    max_retries: u32,

    #[command(flatten)]
    limits: LimitArgs,
}

/// Which model server answers.
#[derive(Args)]
struct BackendArgs {
    /// The model server's address: anything that speaks OpenAI's chat completions, with or without `/v1`.
    #[arg(long, value_name = "URL", env = "FORGE_BACKEND_URL", default_value = "http://127.0.0.1:8080")]
    backend_url: String,

    /// The model to ask for, whatever the agent asks for. Without it the agent's choice goes on.
    #[arg(long, value_name = "NAME", env = "FORGE_MODEL")]
    model: Option<String>,

    /// The key the model server asks for. Prefer the environment variable: a command line is visible to other users. The agent's
    /// own key never goes on to the model server.
    #[arg(long, value_name = "KEY", env = "FORGE_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

/// Where agents reach the proxy, and which may.
#[derive(Args)]
struct ListenArgs {
    /// The address to listen on. Any other than a loopback address lets other machines in: then give --api-key-file.
    #[arg(long, value_name = "ADDRESS", env = "FORGE_HOST", default_value = "127.0.0.1")]
    host: IpAddr,

    /// The port to listen on; 0 takes a free one.
    #[arg(long, value_name = "PORT", env = "FORGE_PORT", default_value_t = 8081)]
    port: u16,

    /// A file with the keys agents may use, one a line. Without it no key is asked for.
    #[arg(long, value_name = "FILE", env = "FORGE_API_KEY_FILE")]
    api_key_file: Option<PathBuf>,

    /// A name this server goes by, besides localhost and addresses. Requests for other names are refused. May be repeated.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,

    /// The origin of web pages that may use the proxy, such as http://localhost:3000. May be repeated.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
}

/// What an agent may use.
#[derive(Args)]
struct LimitArgs {
    /// The largest request in megabytes.
    #[arg(long, value_name = "MB", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_body_mb: u16,

    /// The most tools of a request.
    #[arg(long, value_name = "N", default_value_t = Limits::default().tools)]
    max_tools: usize,

    /// The most connections at once.
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    max_connections: usize,

    /// How many seconds running answers may go on after the order to stop.
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().drain_time.as_secs())]
    drain_seconds: u64,
}

const EXAMPLES: &str = "\
Examples:
  In front of llama-server at 127.0.0.1:8080:
    forge serve
  In front of another server, on another port:
    forge serve --backend-url http://127.0.0.1:11434 --port 9000
  For other machines, with keys:
    forge serve --host 0.0.0.0 --api-key-file keys.txt --allow-host forge.lan
  Claude Code through it:
    ANTHROPIC_BASE_URL=http://127.0.0.1:8081 ANTHROPIC_AUTH_TOKEN=local claude";

/// Runs the command.
pub(crate) async fn run(args: ServeArgs) -> anyhow::Result<Exit> {
    let (address, shared_widely) =
        (SocketAddr::new(args.listen.host, args.listen.port), !args.listen.host.is_loopback());
    let backend_url = args.backend.backend_url.clone();
    let config = match config(args) {
        Ok(config) => config,
        Err(error) => return Ok(usage(&error)),
    };
    if shared_widely && config.access.keys.is_empty() {
        anstream::eprintln!("Anyone who reaches {address} can use the model. --api-key-file FILE asks for a key.");
    }
    let proxy = match Proxy::new(config) {
        Ok(proxy) => proxy,
        Err(error) => return Ok(usage(&error.into())),
    };
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("can't listen on {address}; --port takes another port"))?;
    anstream::eprintln!("Forge serves http://{} in front of {backend_url}. Ctrl-C stops it.", listener.local_addr()?);
    let stop = signals::cancellation();
    proxy.serve(listener, stop.cancelled()).await.context("the listener broke")?;
    Ok(Exit::Done)
}

fn usage(error: &anyhow::Error) -> Exit {
    terminal::error(error);
    Exit::Usage
}

fn config(args: ServeArgs) -> anyhow::Result<ProxyConfig> {
    let mut backend = OpenAiConfig::new(args.backend.backend_url);
    backend.model = args.backend.model;
    backend.api_key = args.backend.api_key.map(Secret::new);
    let keys = args.listen.api_key_file.as_deref().map(keys).transpose()?.unwrap_or_default();
    Ok(ProxyConfig {
        guard: GuardConfig { max_retries: args.max_retries },
        limits: Limits {
            body_bytes: usize::from(args.limits.max_body_mb).saturating_mul(1024 * 1024),
            tools: args.limits.max_tools,
            connections: args.limits.max_connections,
            drain_time: Duration::from_secs(args.limits.drain_seconds),
            ..Limits::default()
        },
        access: Access { hosts: args.listen.allow_host, origins: args.listen.allow_origin, keys },
        ..ProxyConfig::new(backend)
    })
}

/// The keys of a file: one a line; empty lines and lines that begin with `#` are none.
fn keys(file: &Path) -> anyhow::Result<Vec<Secret>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("can't read the keys in {}", file.display()))?;
    let keys = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Vec<Secret> = keys.map(Secret::new).collect();
    anyhow::ensure!(!keys.is_empty(), "{} holds no key; write one a line", file.display());
    Ok(keys)
}
