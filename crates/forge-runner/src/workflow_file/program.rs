use std::path::{Path, PathBuf};

use forge_parse::nearest;

/// Programs that run the script their first argument names.
const INTERPRETERS: &[&str] =
    &["python3", "python", "sh", "bash", "zsh", "dash", "node", "ruby", "perl", "deno", "Rscript", "lua", "php"];

/// Why a program can't be run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProgramProblem {
    pub(super) message: String,
    pub(super) help: String,
}

/// The path of a program: a name is looked up on the PATH, a path is relative to the workflow file.
pub(super) fn find_program(program: &str, folder: &Path) -> Result<PathBuf, ProgramProblem> {
    if !program.contains(std::path::is_separator) {
        return which::which_global(program).map_err(|_| not_on_path(program, folder));
    }
    let path = folder.join(program);
    if !path.is_file() {
        return Err(not_there("command", program, folder));
    }
    // The path is absolute: only its permissions are checked here.
    which::which_global(&path).map_err(|_| ProgramProblem {
        message: format!("`{program}` is not executable"),
        help: format!(
            "make it so (`chmod +x {program}`), or name its interpreter first: `[\"python3\", \"{program}\", …]`"
        ),
    })
}

fn not_on_path(program: &str, folder: &Path) -> ProgramProblem {
    let beside = folder.join(program).is_file();
    let help = if beside {
        format!("a file beside the workflow file needs a path: write `./{program}`")
    } else if let Some(other) = alternative(program) {
        format!("did you mean `{other}`, which is there?")
    } else {
        "install it, or write its path, which is relative to the workflow file".to_owned()
    };
    ProgramProblem { message: format!("there is no program `{program}` on the PATH"), help }
}

/// What the same program is called elsewhere.
fn alternative(program: &str) -> Option<&'static str> {
    let known = [("python", "python3"), ("python3", "python"), ("pip", "pip3"), ("node", "nodejs")];
    let (_, other) = known.into_iter().find(|(name, _)| *name == program)?;
    which::which_global(other).is_ok().then_some(other)
}

/// A script that an interpreter is to run and that isn't there.
pub(super) fn missing_script<'a>(
    program: &str,
    arguments: impl IntoIterator<Item = Option<&'a str>>,
    workdir: &Path,
) -> Option<(usize, ProgramProblem)> {
    let name = Path::new(program).file_stem()?.to_str()?;
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    for (index, argument) in arguments.into_iter().enumerate() {
        match argument? {
            // The program text itself, a module's name, or standard input follows.
            "-c" | "-e" | "-m" | "-" | "run" => return None,
            option if option.starts_with('-') => {}
            script if workdir.join(script).is_file() => return None,
            script => return Some((index, not_there("script", script, workdir))),
        }
    }
    None
}

fn not_there(kind: &str, path: &str, folder: &Path) -> ProgramProblem {
    let full = folder.join(path);
    if full.is_dir() {
        let message = format!("`{path}` is a folder, not a {kind}");
        return ProgramProblem { message, help: "name a file in it".to_owned() };
    }
    let siblings: Vec<String> = full
        .parent()
        .and_then(|parent| std::fs::read_dir(parent).ok())
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let help = match nearest(name, siblings.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}`?", Path::new(path).with_file_name(near).display()),
        None if kind == "script" => "a script's path is relative to `workdir`, else to the workflow file".to_owned(),
        None => "a path is relative to the workflow file".to_owned(),
    };
    ProgramProblem { message: format!("there is no {kind} `{path}`"), help }
}
