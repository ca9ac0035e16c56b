use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    message: String,
    /// The file it is about, where that is another one than the file that was read.
    file: Option<Arc<SourceFile>>,
    primary: Option<Note>,
    context: Vec<Note>,
    help: Vec<String>,
}

/// A file with the text that was found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceFile {
    path: PathBuf,
    text: String,
}

/// A place in the file and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    span: Range<usize>,
    label: String,
}

impl Diagnostic {
    /// A problem that has no place in the file.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), file: None, primary: None, context: Vec::new(), help: Vec::new() }
    }

    /// A problem at a place, in bytes of the file.
    pub(crate) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self::new(message).place(span)
    }

    /// Sets the place.
    pub(crate) fn place(self, span: Range<usize>) -> Self {
        Self { primary: Some(Note { span, label: String::new() }), ..self }
    }

    /// Says that it is about another file than the one that was read, with the text that was found there.
    pub(crate) fn in_file(mut self, path: &Path, text: &str) -> Self {
        self.file = Some(Arc::new(SourceFile { path: path.to_owned(), text: text.to_owned() }));
        self
    }

    /// Whether it has neither a file of its own nor a place.
    pub(crate) fn is_without_place(&self) -> bool {
        self.file.is_none() && self.primary.is_none()
    }

    /// Says something beside the place.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        if let Some(primary) = &mut self.primary {
            primary.label = label.into();
        }
        self
    }

    /// Shows another place as well.
    pub(crate) fn context(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.context.push(Note { span, label: label.into() });
        self
    }

    /// Says what to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Says what was probably meant, beside the place or, without one, as help.
    pub(crate) fn did_you_mean(self, nearest: Option<&str>) -> Self {
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

    /// The problem with its file, line, column, the line itself and the fix.
    pub(crate) fn render(&self, path: &Path, source: &str, renderer: &Renderer) -> String {
        let (path, source) = match &self.file {
            Some(file) => (file.path.as_path(), file.text.as_str()),
            None => (path, source),
        };
        let path = path.display().to_string();
        let title = Level::ERROR.primary_title(self.message.as_str());
        let mut group = match &self.primary {
            Some(primary) => {
                let context = self.context.iter().map(|note| note.annotation(AnnotationKind::Context));
                let primary = primary.annotation(AnnotationKind::Primary);
                title.element(Snippet::source(source).path(path.as_str()).annotation(primary).annotations(context))
            }
            None => Group::with_title(title).element(annotate_snippets::Origin::path(path.as_str())),
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
    pub(crate) fn new(path: &Path, source: &str, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by_key(|diagnostic| match diagnostic.file {
            Some(_) => usize::MAX,
            None => diagnostic.span().map_or(usize::MAX, |span| span.start),
        });
        Self { path: path.to_owned(), source: source.to_owned(), diagnostics }
    }

    /// A file that couldn't be read.
    pub(crate) fn unreadable(path: &Path, diagnostic: Diagnostic) -> Self {
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
        let source = diagnostic.file.as_ref().map_or(self.source.as_str(), |file| file.text.as_str());
        let before = source.get(..diagnostic.span()?.start)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..)?.chars().count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }

    /// All problems with file, line, column, the line itself and the fix, with or without ANSI colours.
    pub fn render(&self, colours: bool) -> String {
        render_all(&self.diagnostics, &self.path, &self.source, colours)
    }
}

/// Problems of a file, one after the other, with or without ANSI colours.
pub(crate) fn render_all(diagnostics: &[Diagnostic], path: &Path, source: &str, colours: bool) -> String {
    let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let rendered: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.render(path, source, &renderer)).collect();
    rendered.join("\n\n")
}

/// The bytes of a file as text; else the text as far as it can be shown, and the problem. `kind` is what such a file is.
pub(crate) fn decode(bytes: Vec<u8>, kind: &str) -> Result<String, Box<(String, Diagnostic)>> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        // Everything before the first wrong byte is the same in both texts.
        let span = offset..offset + char::REPLACEMENT_CHARACTER.len_utf8();
        let diagnostic = Diagnostic::at(span, format!("a {kind} is UTF-8 text, and this isn't"))
            .label("no UTF-8 from here")
            .help("save the file as UTF-8");
        Box::new((text, diagnostic))
    })
}

/// The place of a line, or of a word in it. Lines count from 1.
pub(crate) fn place_in(text: &str, line: usize, word: Option<&str>) -> Range<usize> {
    let lines = text.split_inclusive('\n');
    let offset: usize = lines.clone().take(line.saturating_sub(1)).map(str::len).sum();
    let line = lines.clone().nth(line.saturating_sub(1)).unwrap_or_default();
    match word.and_then(|word| Some((line.find(word)?, word.len()))) {
        Some((column, length)) => offset + column..offset + column + length,
        None => offset..offset + line.trim_end().len(),
    }
}

impl fmt::Display for WorkflowFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for WorkflowFileError {}
