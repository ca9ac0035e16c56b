//! Installing the Python runtime, with a `python3` that the tests control.

use super::support::{Cache, FakePython, fetcher, nowhere, sha256};
use forge_backend::managed::RuntimeError;
use forge_backend::models::{RuntimePackage, RuntimeWheel, Silent};

const WHEEL: &[u8] = b"a wheel";

fn package() -> RuntimePackage {
    RuntimePackage {
        package: "server".to_owned(),
        version: "1.0".to_owned(),
        license: "MIT".to_owned(),
        python: "3.10".to_owned(),
        wheels: vec![RuntimeWheel {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            file: "server-1.0-py3-none-any.whl".to_owned(),
            bytes: WHEEL.len() as u64,
            sha256: sha256(WHEEL),
        }],
    }
}

fn python(wheel: &[u8]) -> FakePython {
    let python = FakePython::new();
    python.add_raw_wheel("server", wheel);
    python
}

async fn fetch(python: &FakePython, cache: &Cache, package: &RuntimePackage) -> Result<String, RuntimeError> {
    let fetcher = fetcher(&nowhere()).with_python(python.program());
    fetcher.fetch_runtime(package, &cache.dirs, &mut Silent).await.map(|runtime| runtime.label())
}

fn packages(cache: &Cache) -> std::path::PathBuf {
    cache.dirs.runtimes().join("server-1.0").join("packages")
}

#[tokio::test]
async fn the_wheel_is_installed_into_a_folder_of_its_own_without_the_index() {
    let (cache, python) = (Cache::new(), python(WHEEL));
    let label = fetch(&python, &cache, &package()).await.unwrap();
    assert_eq!(label, format!("server-1.0 ({})", python.program().display()));
    assert!(packages(&cache).join("package.py").is_file());
    let install = python.calls().into_iter().find(|call| call.contains(" install ")).unwrap();
    assert!(install.contains("--no-deps --no-index") && install.contains("--target"), "{install}");
}

#[tokio::test]
async fn what_is_installed_is_not_fetched_again() {
    let (cache, python) = (Cache::new(), python(WHEEL));
    for _ in 0..2 {
        fetch(&python, &cache, &package()).await.unwrap();
    }
    assert_eq!(python.downloaded(), ["server==1.0"]);
}

#[tokio::test]
async fn an_unfinished_installation_is_made_again() {
    let (cache, python) = (Cache::new(), python(WHEEL));
    std::fs::create_dir_all(packages(&cache)).unwrap();
    std::fs::write(packages(&cache).join("half.py"), "").unwrap();
    fetch(&python, &cache, &package()).await.unwrap();
    assert!(packages(&cache).join("package.py").is_file() && !packages(&cache).join("half.py").exists());
}

#[tokio::test]
async fn a_wheel_with_another_checksum_is_not_installed() {
    let (cache, python) = (Cache::new(), python(b"another wheel"));
    let error = fetch(&python, &cache, &package()).await.unwrap_err();
    assert!(error.to_string().contains("is not the wheel of the catalogue: its SHA-256 is"), "{error}");
    assert!(!python.calls().iter().any(|call| call.contains(" install ")));
    assert!(!packages(&cache).exists());
}

#[tokio::test]
async fn a_system_without_a_build_is_told_what_to_do_instead() {
    let (cache, python) = (Cache::new(), python(WHEEL));
    let none = RuntimePackage { wheels: Vec::new(), ..package() };
    let message = fetch(&python, &cache, &none).await.unwrap_err().to_string();
    assert!(message.contains("server-1.0 has no build for") && message.contains("install llama.cpp"), "{message}");
}

#[tokio::test]
async fn pip_that_is_missing_is_said_with_the_python_that_is_needed() {
    let (cache, python) = (Cache::new(), python(WHEEL));
    python.fail_with("/usr/bin/python3: No module named pip");
    let message = fetch(&python, &cache, &package()).await.unwrap_err().to_string();
    assert!(message.contains("it needs Python 3.10 or newer with pip") && message.contains("has no pip"), "{message}");
}
