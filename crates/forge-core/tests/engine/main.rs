//! The engine as its drivers see it.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "what fails here fails the test")]

mod ablation;
mod context;
mod messages;
mod model_check;
mod oracle;
mod properties;
mod protocol;
mod reference;
mod support;
mod transitions;
