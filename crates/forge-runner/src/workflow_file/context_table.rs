//! How a workflow file keeps the conversation within the model's window: its table `[context]`.

use std::num::NonZeroU64;

use forge_backend::{ContextBudget, UnknownBudget};
use forge_core::{Compactor, DEFAULT_KEEP_RECENT, DEFAULT_THRESHOLD, InvalidContext, SlidingWindow, TieredCompact};
use forge_parse::nearest;
use toml::de::DeValue;

use super::diagnostic::Diagnostic;
use super::table::{At, Table};
use crate::ContextOptions;

/// What a file calls a strategy.
#[derive(Clone, Copy)]
enum Named {
    None,
    SlidingWindow,
    Tiered,
}

/// Reads the table. What is wrong is reported, and the default stands in its place.
pub(super) fn read(table: &Table<'_>) -> ContextOptions {
    let budget = budget(table).unwrap_or_default();
    let strategy = strategy(table).unwrap_or_default();
    let options = ContextOptions::new(budget, strategy);
    let Some(warn_at) = table.numbers("warn_at") else { return options };
    match options.clone().warn_at(values(&warn_at)) {
        Ok(options) => options,
        Err(error) => {
            report(table, &warn_at, &error);
            options
        }
    }
}

fn budget(table: &Table<'_>) -> Option<ContextBudget> {
    let value = table.value("budget")?;
    match value.get_ref() {
        DeValue::String(text) => {
            let names = || ContextBudget::NAMED.iter().map(|(name, _)| *name);
            let named = ContextBudget::NAMED.iter().find(|(name, _)| name == text).map(|(_, budget)| *budget);
            if named.is_none() {
                let error = UnknownBudget { text: text.to_string() };
                let diagnostic = Diagnostic::at(value.span(), error.to_string());
                table.problems().report(diagnostic.did_you_mean(nearest(text, names())));
            }
            named
        }
        DeValue::Integer(_) => {
            let tokens = table.integer("budget", 1, 1_000_000_000)?;
            NonZeroU64::new(tokens.value).map(ContextBudget::Tokens)
        }
        DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            table.wrong_type("budget", value, "a whole number of tokens, or `\"backend\"`, `\"full\"` or `\"fast\"`")
        }
    }
}

fn strategy(table: &Table<'_>) -> Option<Compactor> {
    let names = [("tiered", Named::Tiered), ("sliding_window", Named::SlidingWindow), ("none", Named::None)];
    let named = table.word("strategy", &names).map_or(Named::Tiered, |named| named.value);
    let keep_recent = table.integer("keep_recent", 1, 1_000_000).map(|at| at.value);
    let thresholds = table.numbers("thresholds");
    if matches!(named, Named::None) {
        report_needless(table);
        return Some(Compactor::None);
    }
    let built = build(named, keep_recent.unwrap_or(DEFAULT_KEEP_RECENT), thresholds.as_ref());
    match (built, thresholds) {
        (Ok(built), _) => Some(built),
        (Err(Refused::Invalid(error)), Some(thresholds)) => {
            report(table, &thresholds, &error);
            None
        }
        (Err(Refused::Invalid(error)), None) => {
            // The default thresholds are valid, and `keep_recent` was checked.
            table.problems().report(Diagnostic::new(error.to_string()));
            None
        }
        (Err(Refused::Count { allowed }), thresholds) => {
            let count = thresholds.as_ref().map_or(0, |thresholds| thresholds.value.len());
            let span = thresholds.map(|thresholds| thresholds.span).unwrap_or_default();
            let diagnostic = Diagnostic::at(span, format!("`thresholds` has {count} entries"));
            table.problems().report(diagnostic.help(format!("this strategy takes {allowed}")));
            None
        }
    }
}

/// Why thresholds can't be used.
enum Refused {
    Invalid(InvalidContext),
    Count { allowed: &'static str },
}

impl From<InvalidContext> for Refused {
    fn from(error: InvalidContext) -> Self {
        Self::Invalid(error)
    }
}

fn build(named: Named, keep_recent: usize, thresholds: Option<&At<Vec<At<f64>>>>) -> Result<Compactor, Refused> {
    let thresholds = thresholds.map_or_else(|| vec![DEFAULT_THRESHOLD], values);
    Ok(match (named, thresholds.as_slice()) {
        (Named::None, _) => Compactor::None,
        (Named::SlidingWindow, &[one]) => Compactor::SlidingWindow(SlidingWindow::new(keep_recent, one)?),
        (Named::Tiered, &[one]) => Compactor::Tiered(TieredCompact::new(keep_recent, one)?),
        (Named::Tiered, &[first, second, third]) => {
            Compactor::Tiered(TieredCompact::with_thresholds(keep_recent, [first, second, third])?)
        }
        (Named::SlidingWindow, _) => return Err(Refused::Count { allowed: "one" }),
        (Named::Tiered, _) => return Err(Refused::Count { allowed: "one, or one for each of its three phases" }),
    })
}

fn values(numbers: &At<Vec<At<f64>>>) -> Vec<f64> {
    numbers.value.iter().map(|number| number.value).collect()
}

/// Reports shares that are none, or in a wrong order, at their place.
fn report(table: &Table<'_>, shares: &At<Vec<At<f64>>>, error: &InvalidContext) {
    let index = match error {
        InvalidContext::Share { field, .. } | InvalidContext::Order { field, .. } => field.index.unwrap_or(0),
        InvalidContext::Budget | InvalidContext::KeepRecent => 0,
    };
    let span = shares.value.get(index).map_or_else(|| shares.span.clone(), |share| share.span.clone());
    table.problems().report(Diagnostic::at(span, error.to_string()));
}

/// Reports settings of a strategy that there is not.
fn report_needless(table: &Table<'_>) {
    for key in ["keep_recent", "thresholds"] {
        if let Some(span) = table.key_span(key) {
            let diagnostic = Diagnostic::at(span, format!("`{key}` has no effect with `strategy = \"none\"`"));
            table.problems().report(diagnostic.help("leave it out, or choose another strategy"));
        }
    }
}
