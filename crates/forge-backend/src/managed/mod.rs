//! Model servers that Forge starts and stops itself.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use forge_backend::managed::{ManagedServer, ServerSpec, find_or_fetch_runtime};
//! use forge_backend::models::{CacheDirs, Catalog, Fetcher, Silent};
//!
//! let (catalog, dirs, fetcher) = (Catalog::builtin()?, CacheDirs::from_env()?, Fetcher::from_env()?);
//! let runtime = find_or_fetch_runtime(&fetcher, &catalog, &dirs, &mut Silent).await?;
//! let model = fetcher.fetch_model(catalog.model("qwen2.5-coder-0.5b")?, &dirs, &mut Silent).await?;
//! let server = ManagedServer::start(ServerSpec::new(runtime, model), &dirs.logs(), |_waiting| ()).await?;
//! println!("{}", server.base_url());
//! server.stop().await;
//! # Ok(()) }
//! ```

mod log;
mod probe;
mod python_runtime;
mod runtime;
mod server;
mod spec;

pub use probe::{ServerIdentity, probe_running};
pub use python_runtime::{PythonRuntime, RuntimeError};
pub use runtime::{Runtime, find_or_fetch_runtime};
pub use server::{ManagedServer, StartError, StartPhase, Waiting};
pub use spec::{CacheType, ServerSpec};
