//! From a model's text and raw arguments to validated tool calls.
//!
//! This crate does no I/O, knows no clock and holds no global state: text goes in, ordered
//! [`Event`]s come out.
//!
//! # The ways in
//! - [`Parser`]: a generation piece by piece. [`Parser::push`] and [`Parser::finish`] return [`Event`]s in the order of
//!   the output; only what may still become a marker, or is part of a call, is held back.
//! - [`parse`]: a whole text; one push and one finish.
//! - [`read_response`] and [`ResponseReader`]: a response whose thinking and calls a backend delivered apart from its
//!   text. Structured calls go through the same names, repairs and validation as calls found in text.
//!
//! ```
//! use forge_parse::{FinishReason, ParserOptions, ToolSpec, Toolset, parse};
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
//! let toolset = Toolset::compile(vec![ToolSpec::new("weather", "Tells the weather.", schema)]);
//! let text = r#"I'll look. <tool_call>{"name": "weather", "arguments": {"city": "Oslo",}}</tool_call>"#;
//!
//! let parsed = parse(&toolset, &ParserOptions::default(), text, FinishReason::Stop);
//! assert_eq!(parsed.text.trim(), "I'll look.");
//! let call = parsed.calls().next().unwrap();
//! assert_eq!((call.name.as_str(), call.dialect.as_str()), ("weather", "hermes"));
//! assert_eq!(call.arguments.to_value(), json!({"city": "Oslo"}));
//! ```
#![forbid(unsafe_code)]

mod block;
mod call;
mod call_object;
pub mod cases;
mod context;
mod dialect;
mod effort;
mod engine;
mod extent;
mod fault;
mod intent;
mod looped;
mod marker;
mod name;
mod noise;
mod options;
mod parsed;
mod parser;
mod python;
pub mod repair;
mod response;
pub mod schema;
mod section;
mod spec;
mod tag;
mod think;
mod toolset;
mod tree;

pub use call::{Arguments, Dialect, ParsedCall, Repair};
pub use dialect::{DIALECTS, DialectRow, Engine};
pub use fault::{Event, Fault, FieldFault, FieldProblem, FinishReason};
pub use name::ToolName;
pub use options::{ParserOptions, ToolChoice, asks_for_data};
pub use parsed::{Attempt, CallSource, Outcome, Parsed};
pub use parser::{Parser, parse};
pub use response::{RawResponse, ResponseReader, StructuredCall, read_response};
pub use schema::nearest;
pub use spec::{SpecError, ToolSpec};
pub use think::{ThinkWrapper, WRAPPERS};
pub use toolset::{End, Resolution, SchemaWarning, Toolset, ToolsetCache};
