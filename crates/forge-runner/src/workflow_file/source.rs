use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use super::diagnostic::{Diagnostic, WorkflowFileError, decode};

/// The largest workflow file that is read: a person wrote it.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// Reads the text of a workflow file.
pub(super) fn read(path: &Path) -> Result<String, WorkflowFileError> {
    let unreadable = |diagnostic| WorkflowFileError::unreadable(path, diagnostic);
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(io_problem(path, &error)))?;
    if metadata.is_dir() {
        return Err(unreadable(is_directory(path)));
    }
    if metadata.len() > MAX_SIZE {
        let message = format!("this file has {} bytes; a workflow file has at most {MAX_SIZE}", metadata.len());
        return Err(unreadable(Diagnostic::new(message)));
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(io_problem(path, &error)))?;
    decode(bytes, "workflow file").map_err(|undecoded| {
        let (text, diagnostic) = *undecoded;
        WorkflowFileError::new(path, &text, vec![diagnostic])
    })
}

fn io_problem(path: &Path, error: &std::io::Error) -> Diagnostic {
    match error.kind() {
        ErrorKind::NotFound => {
            let diagnostic = Diagnostic::new("there is no such workflow file");
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            match sibling(folder) {
                Some(sibling) => diagnostic.help(format!("the same folder has `{sibling}`")),
                None if folder.is_dir() => diagnostic.help("check the path"),
                None => diagnostic.help(format!("there is no folder `{}` either; check the path", folder.display())),
            }
        }
        ErrorKind::PermissionDenied => {
            Diagnostic::new("this workflow file may not be read").help("check its permissions")
        }
        _ => Diagnostic::new(format!("this workflow file can't be read: {error}")),
    }
}

fn is_directory(path: &Path) -> Diagnostic {
    let diagnostic = Diagnostic::new("this is a folder, not a workflow file");
    match sibling(path) {
        Some(inside) => diagnostic.help(format!("it holds `{inside}`: name that file")),
        None => diagnostic.help("name a `.toml` file"),
    }
}

/// The first TOML file of a folder.
fn sibling(folder: &Path) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".toml")).min()
}

/// The place of `part` of a string value, where the string is written without escapes; otherwise of the whole string.
pub(super) fn inside_string(source: &str, span: &Range<usize>, value: &str, part: Range<usize>) -> Range<usize> {
    match content_start(source, span, value) {
        Some(start) => start + part.start..start + part.end,
        None => span.clone(),
    }
}

/// Where the content of a string begins in the file; none where it has escapes.
pub(super) fn content_start(source: &str, span: &Range<usize>, value: &str) -> Option<usize> {
    let raw = source.get(span.clone())?;
    let quotes = ["\"\"\"\r\n", "\"\"\"\n", "\"\"\"", "'''\r\n", "'''\n", "'''", "\"", "'"];
    let opening = quotes.into_iter().find(|quote| raw.starts_with(quote))?;
    raw.get(opening.len()..)?.starts_with(value).then_some(span.start + opening.len())
}
