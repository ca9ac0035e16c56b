//! From a model's text and raw arguments to validated tool calls.
//!
//! Small models write a call as prose, in a dialect of their own, with broken JSON, or with arguments of the wrong
//! type. This crate finds the calls in what they wrote, repairs what has one reading, validates it against the schemas
//! of the offered tools, and says in words what is wrong with the rest. It does no I/O, knows no clock and holds no
//! global state: text goes in, ordered [`Event`]s come out.
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
//! assert_eq!(call.repairs[0].kind, "trailing-comma");
//! ```
//!
//! # The ways in
//!
//! - [`Parser`]: a generation piece by piece. [`Parser::push`] and [`Parser::finish`] return [`Event`]s in the order of
//!   the output; only what may still become a marker, or is part of a call, is held back.
//! - [`parse`]: a whole text; one push and one finish, so that there is one way to read.
//! - [`read_response`] and [`ResponseReader`]: a response whose thinking and calls a backend delivered apart from its
//!   text. Structured calls go through the same names, repairs and validation as calls found in text.
//! - [`Toolset::read_call`]: the name and the raw arguments of one call.
//! - [`repair::repair_object`]: one JSON object, without any tools.
//!
//! A [`Toolset`] compiles the schemas of the offered tools; a [`ToolsetCache`] keeps it for the next request with the
//! same tools.
//!
//! # What counts as a call
//!
//! - **A call in markers** counts wherever the model itself writes it: before, between and after prose, with a lost
//!   opening or closing marker, several in a row.
//! - **A call without markers** (JSON, Python) counts only as the whole message or as its last block, and not where
//!   the words before it say that it is an example.
//! - **Text stays text** where a call is quoted or fenced, stands in a chat log, a diff or a document, was asked for as
//!   data, or belongs to thinking that has ended.
//! - **A call that is cut** by the end of the output never runs: it is [`Fault::Truncated`].
//! - **Names** are those of the offered tools, exactly or after harmless normalisation ([`Toolset::resolve`]). Another
//!   name is [`Fault::UnknownTool`] with the nearest ones.
//!
//! # What happens to arguments
//!
//! Arguments that are valid as they stand are kept byte for byte. Others are repaired ([`repair`]), then coerced where
//! the schema leaves one reading that loses nothing ([`schema`]). Each step is on the call, in
//! [`ParsedCall::repairs`]. What still doesn't fit is [`Fault::InvalidArguments`], field by field.
//!
//! # Bounds
//!
//! Reading takes time in proportion to the text, whatever the text is, and a bounded stack; nesting is read to
//! [`repair::MAX_DEPTH`] levels.
//!
#![doc = include_str!("dialects.md")]
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
#[cfg(test)]
mod reference;
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
