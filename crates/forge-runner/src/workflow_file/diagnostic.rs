use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Everything that is wrong with a workflow file, or why it couldn't be read. Never empty.
///
/// Its [`Display`](fmt::Display) is [`WorkflowFileError::render`] without colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowFileError {
    path: PathBuf,
    source: String,
    diagnostics: Vec<Diagnostic>,
}

/// One thing that is wrong with a workflow file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    message: String,
    primary: Option<Note>,
    context: Vec<Note>,
    help: Vec<String>,
}

/// A place in the file and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    span: Range<usize>,
    label: String,
}

impl Diagnostic {
    /// A problem that has no place in the file.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), primary: None, context: Vec::new(), help: Vec::new() }
    }

    /// A problem at a place, in bytes of the file.
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self::new(message).place(span)
    }

    /// Sets the place.
    pub(super) fn place(self, span: Range<usize>) -> Self {
        Self { primary: Some(Note { span, label: String::new() }), ..self }
    }

    /// Says something beside the place.
    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        if let Some(primary) = &mut self.primary {
            primary.label = label.into();
        }
        self
    }

    /// Shows another place as well.
    pub(super) fn context(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.context.push(Note { span, label: label.into() });
        self
    }

    /// Says what to do.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Says what was probably meant, beside the place or, without one, as help.
    pub(super) fn did_you_mean(self, nearest: Option<&str>) -> Self {
        let Some(nearest) = nearest else { return self };
        let question = format!("did you mean `{nearest}`?");
        if self.primary.is_some() { self.label(question) } else { self.help(question) }
    }

    /// What is wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it is wrong: bytes of the file. None for what has no place in it.
    pub fn span(&self) -> Option<Range<usize>> {
        self.primary.as_ref().map(|primary| primary.span.clone())
    }

    /// What to do about it.
    pub fn help_texts(&self) -> &[String] {
        &self.help
    }

    fn render(&self, path: &str, source: &str, renderer: &Renderer) -> String {
        let title = Level::ERROR.primary_title(self.message.as_str());
        let mut group = match &self.primary {
            Some(primary) => {
                let context = self.context.iter().map(|note| note.annotation(AnnotationKind::Context));
                let primary = primary.annotation(AnnotationKind::Primary);
                title.element(Snippet::source(source).path(path).annotation(primary).annotations(context))
            }
            None => Group::with_title(title).element(annotate_snippets::Origin::path(path)),
        };
        for help in &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    }
}

impl Note {
    fn annotation(&self, kind: AnnotationKind) -> annotate_snippets::Annotation<'_> {
        let annotation = kind.span(self.span.clone());
        if self.label.is_empty() { annotation } else { annotation.label(self.label.as_str()) }
    }
}

impl WorkflowFileError {
    /// Problems of a file that was read; sorted by their place.
    pub(super) fn new(path: &Path, source: &str, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by_key(|diagnostic| diagnostic.span().map_or(usize::MAX, |span| span.start));
        Self { path: path.to_owned(), source: source.to_owned(), diagnostics }
    }

    /// A file that couldn't be read.
    pub(super) fn unreadable(path: &Path, diagnostic: Diagnostic) -> Self {
        Self::new(path, "", vec![diagnostic])
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The problems, in the order of the file; those without a place last.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The line and column, both from 1, of a problem that has a place. Columns count characters.
    pub fn position(&self, diagnostic: &Diagnostic) -> Option<(usize, usize)> {
        let before = self.source.get(..diagnostic.span()?.start)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..)?.chars().count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }

    /// All problems with file, line, column, the line itself and the fix, with or without ANSI colours.
    pub fn render(&self, colours: bool) -> String {
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Ascii);
        let path = self.path.display().to_string();
        let rendered: Vec<_> =
            self.diagnostics.iter().map(|diagnostic| diagnostic.render(&path, &self.source, &renderer)).collect();
        rendered.join("\n\n")
    }
}

impl fmt::Display for WorkflowFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for WorkflowFileError {}
