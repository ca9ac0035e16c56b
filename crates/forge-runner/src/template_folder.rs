//! Texts of the engine from a folder.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forge_core::{InvalidTemplates, OverrideProblem, TemplateError, Templates};

use crate::diagnostic::{Diagnostic, decode, place_in, render_all};

/// The largest template that is read, in bytes: it is meant for a small model.
const MAX_SIZE: u64 = 256 * 1024;

/// A folder with texts in the place of some that the engine speaks with: files such as `text_only.md`. Hidden files are
/// passed over.
///
/// See [`Templates::catalogue`] for the names and the variables of the texts.
#[derive(Clone, Debug)]
pub struct TemplateFolder {
    templates: Arc<Templates>,
    files: Vec<String>,
}

/// Everything that is wrong with a folder of templates. Never empty.
///
/// Its [`Display`](fmt::Display) is [`TemplateFolderError::render`] without colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFolderError {
    folder: PathBuf,
    sound: Vec<String>,
    diagnostics: Vec<Diagnostic>,
}

impl TemplateFolder {
    /// Reads a folder and tries each text out with samples of everything that it can be given.
    ///
    /// # Errors
    /// Every problem of the folder and its files, with file and line.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, TemplateFolderError> {
        let folder = folder.as_ref();
        let whole = |diagnostic| TemplateFolderError {
            folder: folder.to_owned(),
            sound: Vec::new(),
            diagnostics: vec![diagnostic],
        };
        let mut entries: Vec<DirEntry> =
            fs::read_dir(folder).and_then(Iterator::collect).map_err(|error| whole(folder_problem(folder, &error)))?;
        entries.retain(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
        entries.sort_by_key(DirEntry::file_name);
        if entries.is_empty() {
            let diagnostic = Diagnostic::new(format!("the folder `{}` holds no templates", folder.display()));
            return Err(whole(diagnostic.help("`forge templates export DIR` writes the embedded ones there")));
        }
        let (mut sources, mut diagnostics) = (BTreeMap::new(), Vec::new());
        for entry in &entries {
            match read(entry) {
                Ok(text) => drop(sources.insert(entry.file_name().to_string_lossy().into_owned(), text)),
                Err(diagnostic) => diagnostics.push(diagnostic),
            }
        }
        let tried = Templates::with_overrides(sources.clone());
        match tried {
            Ok(templates) if diagnostics.is_empty() => Ok(Self { templates, files: sources.into_keys().collect() }),
            Ok(_) => Err(TemplateFolderError {
                folder: folder.to_owned(),
                sound: sources.into_keys().collect(),
                diagnostics,
            }),
            Err(InvalidTemplates { problems }) => {
                diagnostics.extend(problems.iter().map(|problem| {
                    let name = problem.template();
                    explained(problem, &folder.join(name), sources.get(name).map_or("", String::as_str))
                }));
                let is_sound = |name: &String| !problems.iter().any(|problem| problem.template() == name);
                let sound = sources.into_keys().filter(is_sound).collect();
                Err(TemplateFolderError { folder: folder.to_owned(), sound, diagnostics })
            }
        }
    }

    /// The embedded texts, with those of the folder in the place of some.
    pub fn templates(&self) -> &Arc<Templates> {
        &self.templates
    }

    /// The names of the files that were read, sorted.
    pub fn files(&self) -> &[String] {
        &self.files
    }
}

impl TemplateFolderError {
    /// The names of the files that nothing is wrong with, sorted.
    pub fn sound_files(&self) -> &[String] {
        &self.sound
    }

    /// The problems, those of unreadable files first.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// All problems with file, line, column, the line itself and the fix, with or without ANSI colours.
    pub fn render(&self, colours: bool) -> String {
        render_all(&self.diagnostics, &self.folder, "", colours)
    }
}

impl fmt::Display for TemplateFolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for TemplateFolderError {}

fn folder_problem(folder: &Path, error: &std::io::Error) -> Diagnostic {
    let name = folder.display();
    match error.kind() {
        ErrorKind::NotFound => Diagnostic::new(format!("there is no folder `{name}`"))
            .help("`forge templates export DIR` writes the embedded templates to a new folder"),
        ErrorKind::NotADirectory => Diagnostic::new(format!("`{name}` is a file, not a folder of templates"))
            .help("name the folder that holds it"),
        _ => Diagnostic::new(format!("the folder `{name}` can't be read: {error}")),
    }
}

fn read(entry: &DirEntry) -> Result<String, Diagnostic> {
    let path = entry.path();
    let unreadable =
        |error: std::io::Error| Diagnostic::new(format!("this template can't be read: {error}")).in_file(&path, "");
    // Unlike the entry's own, this follows links.
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if metadata.is_dir() {
        let diagnostic = Diagnostic::new("this is a folder, not a template").in_file(&path, "");
        return Err(diagnostic.help("put templates into the folder of templates itself"));
    }
    if metadata.len() > MAX_SIZE {
        let message = format!("this file has {} bytes; a template has at most {MAX_SIZE}", metadata.len());
        return Err(Diagnostic::new(message).in_file(&path, ""));
    }
    let bytes = fs::read(&path).map_err(unreadable)?;
    decode(bytes, "template").map_err(|undecoded| {
        let (text, diagnostic) = *undecoded;
        diagnostic.in_file(&path, &text)
    })
}

fn explained(problem: &OverrideProblem, path: &Path, source: &str) -> Diagnostic {
    let diagnostic = match problem {
        OverrideProblem::UnknownName { name, nearest } => {
            Diagnostic::new(format!("the engine has no text called `{name}`"))
                .did_you_mean(*nearest)
                .help("`forge templates list` shows the names of all texts")
        }
        OverrideProblem::Template(TemplateError::UnknownVariable { line, name, known, .. }) => {
            let place = place_in(source, *line, Some(name));
            if known.iter().any(|variable| variable == leading_name(name)) {
                return Diagnostic::at(place, format!("`{name}` has no value in some cases"))
                    .help("put what needs it between `{% if … %}` and `{% endif %}`")
                    .in_file(path, source);
            }
            let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            Diagnostic::at(place, format!("this text is not given `{name}`")).help(format!("its variables are {known}"))
        }
        OverrideProblem::Template(TemplateError::Syntax { line, problem, .. }) => {
            Diagnostic::at(place_in(source, *line, None), "this is no valid template").label(problem)
        }
        OverrideProblem::Template(TemplateError::Render { line, problem, .. }) => {
            Diagnostic::at(place_in(source, *line, None), "this text can't be rendered").label(problem)
        }
        OverrideProblem::Empty { .. } => {
            Diagnostic::new("this text renders to nothing in some cases, and the model would be given an empty message")
                .help("say something in every branch")
        }
    };
    diagnostic.in_file(path, source)
}

/// The variable that an expression begins with.
fn leading_name(expression: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    expression.split(|c| !is_word(c)).next().unwrap_or_default()
}
