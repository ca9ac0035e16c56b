use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ToolName;

/// The arguments of a call: always a valid JSON object.
///
/// Text that was valid as the model wrote it is kept byte for byte, so that digits, key order and white space
/// reach the tool as they were.
#[derive(Clone)]
pub struct Arguments(Arc<RawValue>);

impl Arguments {
    /// Takes over text that is a valid JSON object.
    ///
    /// # Errors
    /// When the text isn't valid JSON or isn't an object; repairing is not done here.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let text = text.trim();
        let _object: Map<String, Value> = serde_json::from_str(text)?;
        let raw = RawValue::from_string(text.to_owned())?;
        Ok(Self(Arc::from(raw)))
    }

    /// Takes over text that is known to be a valid JSON object.
    pub(crate) fn from_valid_json(text: String) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::from(RawValue::from_string(text)?)))
    }

    /// Serialises an object.
    pub fn from_object(object: &Map<String, Value>) -> Self {
        match serde_json::value::to_raw_value(object) {
            Ok(raw) => Self(Arc::from(raw)),
            Err(_) => Self::empty(),
        }
    }

    /// `{}`.
    pub fn empty() -> Self {
        Self::from_object(&Map::new())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The arguments as a map, in the order they were written.
    pub fn to_object(&self) -> Map<String, Value> {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }

    /// The arguments as a JSON value.
    pub fn to_value(&self) -> Value {
        Value::Object(self.to_object())
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

impl PartialEq for Arguments {
    /// Byte equality of the JSON text. Compare [`Arguments::to_value`] for equality of meaning.
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for Arguments {
    /// Serialises as the JSON object itself, byte for byte in `serde_json`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By way of a map, so that it also works where serde has buffered the value (tagged enums).
        let object = Map::<String, Value>::deserialize(deserializer)?;
        Ok(Self::from_object(&object))
    }
}

/// Which notation a call was written in, as a stable identifier such as `hermes` or `bare-json`; `native` means
/// that the model server delivered it as a structured call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dialect(std::borrow::Cow<'static, str>);

impl Dialect {
    /// The call came as structured data from the model server.
    pub const NATIVE: Self = Self::named("native");

    /// The generation was held to a JSON schema of the call: its text is the call because that was asked for.
    pub const CONSTRAINED: Self = Self::named("constrained");

    /// Whether the call stood in text where the server saw none, and was found there.
    pub fn is_rescue(&self) -> bool {
        *self != Self::NATIVE && *self != Self::CONSTRAINED
    }

    /// A dialect by its identifier.
    pub const fn named(identifier: &'static str) -> Self {
        Self(std::borrow::Cow::Borrowed(identifier))
    }

    /// The identifier.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that was changed between what the model wrote and the call that runs. Each is lossless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// What kind of repair it was, as a stable identifier such as `trailing-comma` or `string-to-integer`. The kinds
    /// are listed in [`repair`](crate::repair) and [`schema`](crate::schema); `tool-name` is a name that was read as
    /// an offered one.
    pub kind: std::borrow::Cow<'static, str>,
    /// Where: a JSON pointer into the arguments; empty for the whole.
    pub path: String,
    /// What was done, in words for a person.
    pub note: String,
}

/// A call that names an offered tool and whose arguments satisfy the tool's schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParsedCall {
    /// The offered tool.
    pub name: ToolName,
    /// The arguments, valid against the tool's schema.
    pub arguments: Arguments,
    /// The notation it was written in.
    pub dialect: Dialect,
    /// What was repaired or coerced, in order; empty for a clean call.
    pub repairs: Vec<Repair>,
}
