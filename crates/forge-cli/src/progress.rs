//! How fetching and starting look: bars where the standard error is a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use forge_backend::managed::{StartPhase, Waiting};
use forge_backend::models::{FetchObserver, Progress, SourceFailure, Stage};
use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::{DIM, WARN};

/// Plain output says how far it is each time another quarter is done.
const PLAIN_STEPS: u64 = 4;

/// Shows a fetch on the standard error.
pub(crate) struct FetchProgress {
    view: View,
}

enum View {
    Bar(ProgressBar),
    Plain(PlainLines),
}

/// What the last plain line said, so that the same is not said again.
#[derive(Default)]
struct PlainLines {
    last: Option<(Stage, String, u64)>,
}

impl FetchProgress {
    /// A view that shows nothing yet.
    pub(crate) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { view: View::Plain(PlainLines::default()) };
        }
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template(
            "  {msg} {wide_bar:.cyan/dim} {decimal_bytes} of {decimal_total_bytes} {decimal_bytes_per_sec:.dim} {eta:.dim}",
        ) {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { view: View::Bar(bar) }
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        match self.view {
            View::Bar(bar) => bar.finish_and_clear(),
            View::Plain(_) => {}
        }
    }

    fn line(&self, text: &str) {
        match &self.view {
            View::Bar(bar) => bar.suspend(|| anstream::eprintln!("{text}")),
            View::Plain(_) => anstream::eprintln!("{text}"),
        }
    }
}

impl FetchObserver for FetchProgress {
    fn progress(&mut self, progress: Progress<'_>) {
        match &mut self.view {
            View::Bar(bar) => {
                bar.set_message(format!("{} {}", progress.item, doing(&progress)));
                bar.set_length(progress.total_bytes);
                bar.set_position(progress.done_bytes);
            }
            View::Plain(lines) => {
                if let Some(line) = lines.next(&progress) {
                    anstream::eprintln!("{line}");
                }
            }
        }
    }

    fn damaged(&mut self, item: &str) {
        self.line(&format!("  {WARN}{item}{WARN:#} what was there from an earlier fetch is damaged: beginning anew"));
    }

    fn source_failed(&mut self, item: &str, failure: &SourceFailure) {
        self.line(&format!(
            "  {WARN}{item}{WARN:#} not from the {}: {} {DIM}(trying the next source){DIM:#}",
            failure.source, failure.error
        ));
    }
}

impl PlainLines {
    /// The line to print for this progress, if it says something new.
    fn next(&mut self, progress: &Progress<'_>) -> Option<String> {
        let step = progress.done_bytes * PLAIN_STEPS / progress.total_bytes.max(1);
        let said = (progress.stage, progress.source.to_owned(), step);
        if self.last.as_ref() == Some(&said) {
            return None;
        }
        let fresh = self.last.as_ref().is_none_or(|(stage, source, _)| *stage != said.0 || *source != said.1);
        self.last = Some(said);
        let counted = match progress.stage {
            Stage::Downloading | Stage::Verifying => true,
            Stage::WaitingForOtherProcess | Stage::Connecting | Stage::Installing => false,
        };
        // Reading back a few bytes takes no time: not worth a line before the first quarter.
        if progress.stage == Stage::Verifying && step == 0 {
            return None;
        }
        (fresh || counted).then(|| {
            let bytes = if counted {
                format!(", {} of {}", size(progress.done_bytes), size(progress.total_bytes))
            } else {
                String::new()
            };
            format!("  {} {}{bytes}", progress.item, doing(progress))
        })
    }
}

fn doing(progress: &Progress<'_>) -> String {
    match progress.stage {
        Stage::WaitingForOtherProcess => "is being fetched by another process, waiting".to_owned(),
        Stage::Connecting => format!("from the {}", progress.source),
        Stage::Downloading => format!("from the {}", progress.source),
        Stage::Verifying => "checking what is there".to_owned(),
        Stage::Installing => "installing".to_owned(),
    }
}

/// Shows that a model server is starting.
pub(crate) struct StartProgress {
    spinner: ProgressBar,
}

impl StartProgress {
    /// A spinner where the standard error is a terminal, nothing elsewhere.
    pub(crate) fn new() -> Self {
        let spinner = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg}") {
            spinner.set_style(style);
        }
        spinner.enable_steady_tick(Duration::from_millis(120));
        Self { spinner }
    }

    /// Shows how far the server is.
    pub(crate) fn show(&self, waiting: Waiting) {
        let doing = match waiting.phase {
            StartPhase::Starting => "starting the model server",
            StartPhase::LoadingModel => "loading the model",
        };
        self.spinner.set_message(format!("{doing} ({} s)", waiting.elapsed.as_secs()));
    }

    /// Removes the spinner.
    pub(crate) fn finish(self) {
        self.spinner.finish_and_clear();
    }
}

/// Bytes in decimal units, as download pages and disks count them.
pub(crate) fn size(bytes: u64) -> String {
    let (unit, name) = if bytes >= 1_000_000_000 { (1e9, "GB") } else { (1e6, "MB") };
    let number = bytes as f64 / unit;
    if number < 10.0 { format!("{number:.1} {name}") } else { format!("{number:.0} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stage: Stage, done_bytes: u64) -> Progress<'static> {
        Progress { item: "tiny", source: "model hub (o/r)", stage, done_bytes, total_bytes: 400_000_000 }
    }

    #[test]
    fn plain_lines_say_each_stage_and_each_quarter_once() {
        let mut lines = PlainLines::default();
        let said = [
            at(Stage::Connecting, 0),
            at(Stage::Connecting, 0),
            at(Stage::Downloading, 0),
            at(Stage::Downloading, 1_000_000),
            at(Stage::Downloading, 100_000_000),
            at(Stage::Downloading, 150_000_000),
            at(Stage::Downloading, 400_000_000),
        ]
        .iter()
        .filter_map(|progress| lines.next(progress))
        .collect::<Vec<_>>();
        assert_eq!(
            said,
            [
                "  tiny from the model hub (o/r)",
                "  tiny from the model hub (o/r), 0.0 MB of 400 MB",
                "  tiny from the model hub (o/r), 100 MB of 400 MB",
                "  tiny from the model hub (o/r), 400 MB of 400 MB",
            ]
        );
    }

    #[test]
    fn sizes_are_decimal_with_two_digits() {
        for (bytes, text) in [
            (650_000_000, "650 MB"),
            (98_362_432, "98 MB"),
            (9_000_000, "9.0 MB"),
            (1_117_320_768, "1.1 GB"),
            (18_556_689_568, "19 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
