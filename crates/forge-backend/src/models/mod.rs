//! The catalogue of models and runtimes, and fetching them into the cache folder.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use forge_backend::models::{CacheDirs, Catalog, Fetcher, Silent};
//!
//! let catalog = Catalog::builtin()?;
//! let model = catalog.model("qwen2.5-coder-0.5b")?;
//! let path = Fetcher::from_env()?.fetch_model(model, &CacheDirs::from_env()?, &mut Silent).await?;
//! println!("{}", path.display());
//! # Ok(()) }
//! ```
//!
//! Dropping a future of this module ends the fetch at once: child processes die, and what was fetched so far stays as a
//! `.part` file that the next fetch continues.

mod cache;
mod catalog;
mod checksum;
mod fetch;
mod hub;
mod lock;
mod observer;
pub(crate) mod packages;
mod part_file;
pub(crate) mod python;

pub(crate) use cache::create_dir;
pub use cache::{CACHE_DIR_VARIABLE, CacheDirs, CacheDirsError, DiskError};
pub use catalog::{
    Catalog, CatalogError, Model, ModelSource, PackagePart, RuntimePackage, RuntimeWheel, ToolCalls, UnknownModel, Use,
};
pub use checksum::{InvalidSha256, Sha256};
pub(crate) use fetch::blocking;
pub use fetch::{FetchError, Fetcher, FetcherError, HUB_VARIABLE, SourceError, SourceFailure};
pub(crate) use lock::FileLock;
pub(crate) use observer::Reporter;
pub use observer::{FetchObserver, Progress, Silent, Stage};
pub(crate) use part_file::PartFile;
pub use python::PythonError;
