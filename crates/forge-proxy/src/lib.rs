//! The server between an agent and its model server.
//!
//! A request in any of three client protocols becomes a chat request; what the model answers is read, repaired and checked by
//! the engine the runner uses too; a faulty answer is asked for again without the client noticing; and the client gets calls
//! that are valid, or text.
//!
//! ```text
//! client ─▶ server ─▶ protocol::decode ─▶ pipeline ─▶ upstream ─▶ model server
//!                                           │ guard: reading, relay, judge
//! client ◀─ server ◀─ protocol::encode ◀────┘
//! ```
//!
//! - `server`: connections, limits, who may ask, routes.
//! - `protocol`: one module for each client protocol; each decodes to a [chat body](crate) and encodes pieces.
//! - `pipeline`: generate, guard, ask again, for one request. Dropping its stream ends the generation.
//! - `guard`: `reading` takes a generation as it arrives, `relay` decides which bytes go on as they are, `judge` decides at its
//!   end what becomes of it.
//! - `offered`: the tools of a request, compiled once for all requests with the same.
//! - `upstream`: the model server.
//!
//! What is certain goes on at once, and byte for byte where client and backend speak the same protocol and nothing has to change.
#![forbid(unsafe_code)]

mod config;
mod error;
mod guard;
mod history;
mod json_body;
mod names;
mod offered;
mod piece;
mod pipeline;
mod protocol;
mod random;
mod server;
mod turn;
mod upstream;

pub use config::{Access, GuardConfig, Limits, ProxyConfig};
pub use server::{Proxy, ProxyError};
