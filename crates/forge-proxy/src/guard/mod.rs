//! Judging what a model gave, before a client gets it.
//!
//! [`reading`] takes one generation as it arrives and says what is certain; [`relay`] decides which bytes of the backend can
//! go on as they are; [`judge`] decides at the end, with the engine, whether the client gets it or the model is asked again.

mod judge;
mod reading;
mod relay;
mod unusable;

pub(crate) use judge::{Correction, Delivery, Judge, Ruling};
pub(crate) use relay::Relay;
use unusable::unusable;
