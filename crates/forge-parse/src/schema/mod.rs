//! What a tool's JSON Schema says about arguments: whether they satisfy it, which field doesn't, and which lossless
//! reading of them would.
//!
//! | kind of reading | what was written, and for what |
//! |---|---|
//! | `string-to-integer`, `string-to-number`, `string-to-boolean`, `string-to-null` | `"5"`, `"2.50"`, `"True"`, `"None"`; never `"3.7"`, `"007"` or `"yes"` |
//! | `number-to-string`, `boolean-to-string` | `73`, `false` for text |
//! | `json-text` | `"[1, 2]"`, `"{'a': True}"` for a list or object; not if its structure is broken |
//! | `single-to-list` | `"x"` for a list of texts; not `"x, y"` |
//! | `absent-optional` | `null` or `""` for an optional key that doesn't take it |
//! | `key-name`, `option-spelling` | `file_path` for `filePath`; `"Celsius"` for an option `"celsius"` |
//! | `token-leak` | `"<\|\"\|>x<\|\"\|>"`: the notation's own delimiters at both ends of a text |
//! | `double-encoded`, `wrapped-arguments`, `no-arguments` | the object inside a JSON string; inside `{"arguments": …}`; nothing |
//!
//! Each is done only where one reading fits, and only if the whole then satisfies the schema; otherwise the faults of
//! what was written are reported. `format` is checked for `date`, `date-time`, `time`, `uri`, `email`, `uuid`, `ipv4`
//! and `ipv6`, and describes otherwise. OpenAPI's `nullable` allows null.

mod coerce;
mod compile;
mod faults;
mod format;
mod keys;
mod leak;
pub(crate) mod pointer;
mod shape;
mod words;

pub use compile::{SchemaProblem, check_schema};

pub(crate) use coerce::{coerce, may_be_misspelt};
pub(crate) use compile::CompiledSchema;
pub(crate) use faults::field_faults;
pub use keys::nearest;
pub(crate) use keys::{folded, similarity};
pub(crate) use leak::may_leak;
