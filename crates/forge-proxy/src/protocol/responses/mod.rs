//! OpenAI Responses.

mod decode;
mod encode;
mod items;
mod tools;

pub(crate) use decode::decode;
