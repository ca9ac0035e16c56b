//! `forge quickstart`: the main job on a real model, from nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use include_dir::{Dir, include_dir};
use tokio_util::sync::CancellationToken;

use crate::commands::run::{self, OutputArgs};
use crate::exit::Exit;

/// The example, as it stands in the repository.
static EXAMPLE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../examples/log-triage");

/// The task of the demonstration.
const TASK: &str = "Customers could not pay this morning. Find out what went wrong in the checkout and write a report.";
