//! Workflow files.

mod context_table;
mod declaration;
mod json;
mod keys;
mod places;
mod program;
mod prompt;
mod prose;
mod quantity;
mod source;
mod syntax;
mod table;
mod tool_table;
mod variables;

#[cfg(test)]
mod guide;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forge_core::{GuardrailSet, Templates};
use toml::de::DeTable;

use self::declaration::Declaration;
use self::table::Problems;
use crate::diagnostic::{self, WorkflowFileError};
use crate::{BoundWorkflow, RunnerOptions};

/// Workflows declared in a TOML file.
///
/// The rest of this page is the user's guide.
///
#[doc = include_str!("../../../../docs/workflow-files.md")]
#[derive(Clone, Copy, Debug)]
pub struct WorkflowFile;

/// A workflow that was read from a file and can be run.
#[derive(Clone, Debug)]
pub struct LoadedWorkflow {
    /// The workflow with its tools.
    pub workflow: BoundWorkflow,
    /// What the file's `[generation]` says about generations, with defaults for the rest.
    pub options: RunnerOptions,
    /// The file.
    pub path: PathBuf,
}

/// What a workflow file is loaded with. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Values for the file's `[variables]`, in the place of their defaults.
    pub variables: BTreeMap<String, String>,
    /// Texts in the place of the file's `templates_dir`, which isn't read then. See [`crate::TemplateFolder`].
    pub templates: Option<Arc<Templates>>,
    /// Which guardrails are on: for measuring what each is worth.
    pub guardrails: GuardrailSet,
}

impl AsRef<BoundWorkflow> for LoadedWorkflow {
    fn as_ref(&self) -> &BoundWorkflow {
        &self.workflow
    }
}

impl WorkflowFile {
    /// Reads a workflow file. `variables` are values for its `[variables]`, in the place of their defaults.
    ///
    /// # Errors
    /// Every problem of the file, not only the first: with its line, what is allowed, and the fix. A syntax error
    /// hides what is wrong beyond the syntax.
    pub fn load(
        path: impl AsRef<Path>,
        variables: &BTreeMap<String, String>,
    ) -> Result<LoadedWorkflow, WorkflowFileError> {
        Self::load_with(path, &LoadOptions { variables: variables.clone(), ..LoadOptions::default() })
    }

    /// Reads a workflow file as the options say.
    ///
    /// # Errors
    /// Those of [`WorkflowFile::load`].
    pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<LoadedWorkflow, WorkflowFileError> {
        let path = path.as_ref();
        let source = source::read(path)?;
        let (root, syntax_errors) = DeTable::parse_recoverable(&source);
        if !syntax_errors.is_empty() {
            return Err(WorkflowFileError::new(path, &source, syntax::problems(&syntax_errors, &source)));
        }
        let problems = Problems::default();
        let folder = folder_of(path);
        let place = FilePlace { folder: &folder, path };
        let read = Declaration::new(root.get_ref(), &source, &problems).read(place, options);
        match read {
            Some((workflow, options)) => Ok(LoadedWorkflow { workflow, options, path: path.to_owned() }),
            None => Err(WorkflowFileError::new(path, &source, problems.into_inner())),
        }
    }
}

/// Where a workflow file is.
#[derive(Clone, Copy)]
struct FilePlace<'p> {
    /// Its folder, absolute.
    folder: &'p Path,
    /// The file as it was named.
    path: &'p Path,
}

/// The folder of a file, absolute, because commands run in folders of their own.
fn folder_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}
