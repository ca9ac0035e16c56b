//! The invariants of `ARCHITECTURE.md` that a machine can check: which crate may know what.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates, each of which may depend only on those before it.
const ORDER: [&str; 6] = ["forge-parse", "forge-core", "forge-backend", "forge-runner", "forge-proxy", "forge-cli"];

/// The crates without I/O.
const PURE: [&str; 2] = ["forge-parse", "forge-core"];

/// Crates that mean I/O, an async runtime or a clock.
const IMPURE_CRATES: [&str; 22] = [
    "async-std",
    "chrono",
    "curl",
    "futures-executor",
    "h2",
    "hyper",
    "instant",
    "isahc",
    "jiff",
    "mio",
    "notify",
    "openssl",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "time",
    "tokio",
    "tower",
    "ureq",
    "web-time",
];

/// Parts of the standard library that mean I/O, threads or a clock.
const IMPURE_PATHS: [&str; 8] =
    ["std::env", "std::fs", "std::io", "std::net", "std::process", "std::thread", "Instant::now", "SystemTime"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Names of all crates that each package's normal (not dev, not build) dependencies bring, by package name.
fn normal_dependencies(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    let direct: BTreeMap<&str, Vec<&str>> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            let normal = node["deps"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dep| dep["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null()));
            (node["id"].as_str().unwrap(), normal.map(|dep| dep["pkg"].as_str().unwrap()).collect())
        })
        .collect();
    let mut all = BTreeMap::new();
    for member in metadata["workspace_members"].as_array().unwrap() {
        let member = member.as_str().unwrap();
        let mut reached = BTreeSet::new();
        let mut open = vec![member];
        while let Some(id) = open.pop() {
            open.extend(direct[id].iter().filter(|dep| reached.insert(**dep)));
        }
        all.insert(names[member].to_owned(), reached.iter().map(|id| names[id].to_owned()).collect());
    }
    all
}

fn sources(krate: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut open = vec![root().join("crates").join(krate).join("src")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    assert!(!files.is_empty(), "{krate} has sources");
    let only_tests: BTreeSet<PathBuf> = files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    files.retain(|(path, _)| !only_tests.contains(path));
    files
}

/// The files of the modules that a file declares for tests only.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let folder = match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") | None => path.parent().unwrap().to_owned(),
        Some(stem) => path.parent().unwrap().join(stem),
    };
    let declared = text.split("#[cfg(test)]\nmod ").skip(1).filter_map(|rest| rest.split_once(';'));
    declared.map(|(name, _)| folder.join(format!("{name}.rs"))).collect()
}

#[test]
fn pure_crates_depend_on_no_runtime_no_http_and_no_clock() {
    let dependencies = normal_dependencies(&metadata());
    for krate in PURE {
        let wrong: Vec<_> = dependencies[krate].iter().filter(|name| IMPURE_CRATES.contains(&name.as_str())).collect();
        assert!(wrong.is_empty(), "{krate} must not depend on {wrong:?}");
    }
}

#[test]
fn the_list_of_impure_crates_finds_them_where_they_are() {
    let dependencies = normal_dependencies(&metadata());
    for name in ["tokio", "reqwest", "rustls", "hyper"] {
        assert!(dependencies["forge-backend"].contains(name), "forge-backend depends on {name}");
    }
}

#[test]
fn pure_crates_use_no_io_and_no_clock_of_the_standard_library() {
    for krate in PURE {
        for (path, text) in sources(krate) {
            let code = text.split("#[cfg(test)]").next().unwrap();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                let wrong: Vec<_> = IMPURE_PATHS.iter().filter(|impure| line.contains(**impure)).collect();
                assert!(wrong.is_empty(), "{}: {wrong:?} in: {line}", path.display());
            }
        }
    }
}

#[test]
fn arrows_between_crates_point_one_way() {
    let dependencies = normal_dependencies(&metadata());
    for (place, krate) in ORDER.iter().enumerate() {
        for later in &ORDER[place + 1..] {
            assert!(!dependencies[*krate].contains(*later), "{krate} must not depend on {later}");
        }
    }
}

#[test]
fn every_crate_forbids_unsafe_code() {
    for krate in ORDER {
        let manifest = std::fs::read_to_string(root().join("crates").join(krate).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{krate} takes the workspace's lints");
    }
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""));
}
