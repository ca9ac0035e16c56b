//! What can run a model: a `llama-server` program or the Python package.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::python_runtime::{PythonRuntime, RuntimeError};
use super::spec::ServerSpec;
use crate::models::{CacheDirs, Catalog, FetchObserver, Fetcher};

const PROGRAM: &str = "llama-server";
/// Runs a program and ends it when the standard input is closed.
#[cfg(unix)]
const END_WITH_STDIN: &str = include_str!("end_with_stdin.sh");

/// Something that serves a model file over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// llama.cpp's own server program.
    LlamaServer {
        /// The program.
        program: PathBuf,
    },
    /// llama.cpp's server in a Python package.
    PythonPackage(PythonRuntime),
}

/// The `llama-server` on the PATH, else the Python runtime from the cache folder, fetched first if it is not there yet.
///
/// # Errors
/// The Python runtime is needed and can't be fetched.
pub async fn find_or_fetch_runtime(
    fetcher: &Fetcher,
    catalog: &Catalog,
    dirs: &CacheDirs,
    observer: &mut dyn FetchObserver,
) -> Result<Runtime, RuntimeError> {
    match Runtime::on_path() {
        Some(runtime) => Ok(runtime),
        None => Ok(Runtime::PythonPackage(fetcher.fetch_runtime(catalog.runtime(), dirs, observer).await?)),
    }
}

impl Runtime {
    /// The `llama-server` on the PATH, if there is one.
    pub fn on_path() -> Option<Self> {
        which::which(PROGRAM).ok().map(|program| Self::LlamaServer { program })
    }

    /// The runtime in words for people, for example `llama-server (/usr/bin/llama-server)`.
    pub fn label(&self) -> String {
        match self {
            Self::LlamaServer { program } => format!("llama-server ({})", program.display()),
            Self::PythonPackage(runtime) => runtime.label(),
        }
    }

    /// The command that serves `spec` on this loopback port. It ends when its standard input is closed.
    pub(super) fn command(&self, spec: &ServerSpec, port: u16) -> Command {
        let (program, arguments) = match self {
            Self::LlamaServer { program } => (program.as_path(), llama_server_arguments(spec, port)),
            Self::PythonPackage(runtime) => runtime.server(spec, port),
        };
        ending_with_stdin(program, arguments)
    }
}

#[cfg(unix)]
fn ending_with_stdin(program: &Path, arguments: Vec<OsString>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", END_WITH_STDIN, "forge-server"]).arg(program).args(arguments);
    command
}

/// On Windows the job object ends the program with its starter.
#[cfg(not(unix))]
fn ending_with_stdin(program: &Path, arguments: Vec<OsString>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn llama_server_arguments(spec: &ServerSpec, port: u16) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--model".into(), spec.model.clone().into()];
    let mut option = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            arguments.extend([name.into(), value]);
        }
    };
    let number = |value: u32| Some(OsString::from(value.to_string()));
    option("--host", Some("127.0.0.1".into()));
    option("--port", Some(port.to_string().into()));
    option("--ctx-size", number(spec.context));
    option("--parallel", number(spec.parallel));
    option("--threads", spec.threads.and_then(number));
    option("--cache-type-k", spec.cache_type.map(|cache_type| cache_type.name().into()));
    option("--cache-type-v", spec.cache_type.map(|cache_type| cache_type.name().into()));
    option("--chat-template-file", spec.chat_template_file.clone().map(Into::into));
    option("--predict", spec.max_tokens.and_then(number));
    arguments.push("--jinja".into());
    arguments.extend(spec.extra_arguments.iter().cloned());
    arguments
}

#[cfg(test)]
mod tests {
    use super::super::spec::CacheType;
    use super::*;

    fn spec() -> ServerSpec {
        ServerSpec::new(Runtime::LlamaServer { program: "llama-server".into() }, "/models/tiny.gguf")
    }

    #[test]
    fn a_server_listens_on_loopback_with_its_model_and_context() {
        let arguments = llama_server_arguments(&spec(), 4242);
        assert_eq!(
            arguments,
            [
                "--model",
                "/models/tiny.gguf",
                "--host",
                "127.0.0.1",
                "--port",
                "4242",
                "--ctx-size",
                "8192",
                "--parallel",
                "1",
                "--jinja"
            ]
        );
    }

    #[test]
    fn what_is_set_becomes_arguments() {
        let set = ServerSpec {
            threads: Some(2),
            cache_type: Some(CacheType::Q8_0),
            chat_template_file: Some("/t.jinja".into()),
            max_tokens: Some(512),
            extra_arguments: vec!["--mlock".into()],
            ..spec()
        };
        let arguments = llama_server_arguments(&set, 1);
        for pair in [
            ["--threads", "2"],
            ["--cache-type-k", "q8_0"],
            ["--cache-type-v", "q8_0"],
            ["--chat-template-file", "/t.jinja"],
            ["--predict", "512"],
            ["--jinja", "--mlock"],
        ] {
            assert!(arguments.windows(2).any(|window| window == pair), "{pair:?} in {arguments:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_ends_when_the_standard_input_of_its_starter_is_closed() {
        use std::os::unix::process::ExitStatusExt as _;
        use std::process::Stdio;
        let mut command = ending_with_stdin(Path::new("sleep"), vec!["1000".into()]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        drop(child.stdin.take());
        let status = child.wait().unwrap();
        assert!(status.code() == Some(128 + 15) || status.signal() == Some(15), "{status}");
    }

    #[cfg(unix)]
    #[test]
    fn the_exit_code_of_a_program_is_kept() {
        use std::process::Stdio;
        let mut command = ending_with_stdin(Path::new("sh"), vec!["-c".into(), "exit 7".into()]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(7));
        drop(stdin);
    }
}
