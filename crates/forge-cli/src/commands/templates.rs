//! `forge templates`: the texts the engine speaks with, and texts in their place.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use forge_core::{TemplateInfo, Templates};
use forge_parse::nearest;
use forge_runner::TemplateFolder;

use crate::exit::Exit;
use crate::terminal::{self, BOLD, DIM, GOOD};

/// Shows, exports and checks the texts that Forge speaks to a model with.
///
/// What a model is told about its mistakes, about failing tools and about its progress are templates (Jinja, in Markdown
/// files). Each can be replaced: export them, change what you want, delete the rest, and name the folder with
/// `templates_dir` in a workflow file or with `forge run --templates`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TemplatesArgs {
    #[command(subcommand)]
    command: TemplatesCommand,
}

const EXAMPLES: &str = "\
Examples:
  Which texts are there, and what may each use?
    forge templates list
  What is a model told that answers in text?
    forge templates show text_only.md
  Change some of the texts and use them:
    forge templates export my-texts
    forge templates check my-texts
    forge run workflow.toml \"Find out why the build is slow\" --templates my-texts";

#[derive(Subcommand)]
enum TemplatesCommand {
    /// Lists the texts: when the model reads each, and the variables it may use.
    List,
    /// Prints the source of an embedded text.
    #[command(after_help = "Examples:\n  forge templates show failure.md\n  forge templates show failure")]
    Show {
        /// The text's name, as the list shows it; `.md` may be left out.
        name: String,
    },
    /// Writes the embedded texts to a folder, which is made where it doesn't exist.
    ///
    /// Files that are there already and differ are kept, and nothing is written then, unless `--force` is given.
    #[command(after_help = "Examples:\n  forge templates export my-texts\n  forge templates export my-texts --force")]
    Export {
        /// The folder.
        folder: PathBuf,
        /// Overwrites files that differ from the embedded texts.
        #[arg(long)]
        force: bool,
    },
    /// Checks a folder of texts as a run would before it begins: each is rendered with samples of all it can be given.
    ///
    /// Prints OK for each sound file. Ends with 1 where there is any problem, which is shown with its file and line.
    #[command(after_help = "Example:\n  forge templates check my-texts")]
    Check {
        /// The folder.
        folder: PathBuf,
    },
}

/// Runs `forge templates`.
pub(crate) fn run(args: &TemplatesArgs) -> anyhow::Result<Exit> {
    match &args.command {
        TemplatesCommand::List => list(),
        TemplatesCommand::Show { name } => show(name),
        TemplatesCommand::Export { folder, force } => export(folder, *force),
        TemplatesCommand::Check { folder } => check(folder),
    }
}

fn list() -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    for info in Templates::catalogue() {
        writeln!(out, "{BOLD}{}{BOLD:#}  {}", info.name, info.purpose)?;
        for variable in info.variables() {
            writeln!(out, "    {:10} {DIM}{}{DIM:#}", variable.name, variable.meaning)?;
        }
    }
    Ok(Exit::Done)
}

fn show(name: &str) -> anyhow::Result<Exit> {
    let wanted = format!("{}.md", name.strip_suffix(".md").unwrap_or(name));
    let all = Templates::catalogue();
    let Some(info) = all.iter().find(|info| info.name == wanted) else {
        let names = || all.iter().map(|info| info.name);
        let near = nearest(&wanted, names()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let known = names().collect::<Vec<_>>().join(", ");
        terminal::problem(&format!("no text is called `{wanted}`{near}; the texts are {known}"));
        return Ok(Exit::Usage);
    };
    std::io::stdout().lock().write_all(info.source.as_bytes())?;
    Ok(Exit::Done)
}

fn export(folder: &Path, force: bool) -> anyhow::Result<Exit> {
    let differing = if force { Vec::new() } else { differing(folder)? };
    if !differing.is_empty() {
        terminal::problem(&format!(
            "nothing was written: {} in {} differ from the embedded texts; choose another folder, or overwrite them with --force",
            differing.join(", "),
            folder.display()
        ));
        return Ok(Exit::Failed);
    }
    fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
    let mut out = anstream::stdout().lock();
    for info in Templates::catalogue() {
        let path = folder.join(info.name);
        let said = if write(&path, info, force)? { "wrote" } else { "kept " };
        writeln!(out, "{said} {}", path.display())?;
    }
    Ok(Exit::Done)
}

/// The files of a folder that have the name of a text and another content.
fn differing(folder: &Path) -> anyhow::Result<Vec<&'static str>> {
    let mut differing = Vec::new();
    for info in Templates::catalogue() {
        let path = folder.join(info.name);
        match fs::read(&path) {
            Ok(found) if found == info.source.as_bytes() => {}
            Ok(_) => differing.push(info.name),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("can't read {}", path.display())),
        }
    }
    Ok(differing)
}

/// Writes a text, unless a file is in the way that may not be overwritten. Whether it was written.
fn write(path: &Path, info: &TemplateInfo, force: bool) -> anyhow::Result<bool> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(info.source.as_bytes()));
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(|| format!("can't write {}", path.display())),
    }
}

fn check(folder: &Path) -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    let loaded = TemplateFolder::load(folder);
    let sound = match &loaded {
        Ok(folder) => folder.files(),
        Err(error) => error.sound_files(),
    };
    for file in sound {
        writeln!(out, "{GOOD}OK{GOOD:#} {}", folder.join(file).display())?;
    }
    match loaded {
        Ok(_) => Ok(Exit::Done),
        Err(error) => {
            terminal::templates_error(&error);
            Ok(Exit::Failed)
        }
    }
}
