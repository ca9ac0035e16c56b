//! The example that `forge quickstart` runs, carried inside the binary so that it works without a clone.

use std::path::{Path, PathBuf};

use anyhow::Context;

macro_rules! example {
    ($($file:literal),+ $(,)?) => {
        [$(($file, include_str!(concat!("../../../examples/log-triage/", $file)))),+]
    };
}

/// Every file of `examples/log-triage`, by its path within the folder.
const FILES: [(&str, &str); 10] = example![
    "README.md",
    "workflow.toml",
    "logs/auth.log",
    "logs/checkout.log",
    "logs/worker.log",
    "tools/count_levels.py",
    "tools/list_logs.py",
    "tools/logfiles.py",
    "tools/search_log.py",
    "tools/write_report.py",
];

/// Writes the example into a folder, over what an earlier version may have left there, and gives its workflow file.
///
/// # Errors
/// When the folder can't be written.
pub(crate) fn unpack(folder: &Path) -> anyhow::Result<PathBuf> {
    for (name, content) in FILES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).with_context(|| unwritable(parent))?;
        std::fs::write(&path, content).with_context(|| unwritable(&path))?;
    }
    Ok(folder.join("workflow.toml"))
}

fn unwritable(path: &Path) -> String {
    format!(
        "can't write {}; set FORGE_CACHE_DIR to a folder that can be written and has some megabytes left",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::{FILES, unpack};

    fn files_under(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![folder.to_owned()];
        while let Some(current) = open.pop() {
            for entry in std::fs::read_dir(&current).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() && name != "__pycache__" && name != "reports" {
                    open.push(path);
                } else if path.is_file() {
                    found.insert(path.strip_prefix(folder).unwrap().to_string_lossy().into_owned());
                }
            }
        }
        found
    }

    #[test]
    fn every_file_of_the_example_is_carried() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/log-triage");
        let carried: BTreeSet<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(carried, files_under(&example));
    }

    #[test]
    fn unpacking_twice_gives_the_same_files() {
        let folder = tempfile::tempdir().unwrap();
        unpack(folder.path()).unwrap();
        let workflow = unpack(folder.path()).unwrap();
        assert!(workflow.is_file());
        assert_eq!(files_under(folder.path()).len(), FILES.len());
    }

    #[test]
    fn a_folder_that_can_not_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("taken");
        std::fs::write(&file, "").unwrap();
        let error = format!("{:#}", unpack(&file).unwrap_err());
        assert!(error.contains("taken") && error.contains("FORGE_CACHE_DIR"), "{error}");
    }
}
