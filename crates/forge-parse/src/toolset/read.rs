//! From the raw arguments of one call to a call that can be executed, or to what is wrong with it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::envelope::{argument_key, member};
use super::{Resolution, Toolset};
use crate::call_object::twice;
use crate::repair::{Cut, RepairError, Repaired, repair_broken_object, repair_object_knowing, repeated_key};
use crate::schema::{CompiledSchema, coerce, field_faults, may_be_misspelt, may_leak};
use crate::tree::Tree;
use crate::{Arguments, Dialect, Fault, ParsedCall, Repair, ToolName};

/// Whether the output may have ended inside what is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The model ended its turn, or a closing marker follows.
    Complete,
    /// The output was cut (limit reached, stream broken): what is missing at the end may be more than closers.
    Cut,
}

pub(super) fn read_call(
    toolset: &Toolset,
    name: &str,
    arguments: &str,
    dialect: Dialect,
    end: End,
) -> Result<ParsedCall, Fault> {
    let (tool, mut repairs) = offered(toolset, name)?;
    let call = Reading { tool, schema: None, raw: arguments, end, coerces: toolset.coerces }.with_schema(toolset);
    let text = arguments.trim();
    let (value, json) = match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => (value, Cow::Borrowed(text)),
        Ok(Value::String(inner)) => call.decoded(&inner, &mut repairs)?,
        Ok(Value::Null) => call.nothing(&mut repairs),
        Ok(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_))) => return Err(call.not_an_object(&value)),
        Err(_) if text.is_empty() && end == End::Complete => call.nothing(&mut repairs),
        Err(_) => call.repaired(&mut repairs)?,
    };
    if let Some(key) = repeated_key(&json) {
        return Err(call.malformed(twice(key), 0));
    }
    let (value, json) = call.unwrapped(toolset, value, json, &mut repairs);
    call.validated(value, json, dialect, repairs)
}

pub(super) fn read_fields(
    toolset: &Toolset,
    name: &str,
    fields: Map<String, Value>,
    dialect: Dialect,
    repairs: Vec<Repair>,
) -> Result<ParsedCall, Fault> {
    let (tool, mut all_repairs) = offered(toolset, name)?;
    all_repairs.extend(repairs);
    let arguments = Arguments::from_object(&fields);
    let call =
        Reading { tool, schema: None, raw: arguments.as_str(), end: End::Complete, coerces: true }.with_schema(toolset);
    call.validated(Value::Object(fields), Cow::Borrowed(arguments.as_str()), dialect, all_repairs)
}

fn offered(toolset: &Toolset, name: &str) -> Result<(ToolName, Vec<Repair>), Fault> {
    match toolset.resolve(name) {
        Resolution::Exact(tool) => Ok((tool, Vec::new())),
        Resolution::Normalised(tool, repair) => Ok((tool, vec![repair])),
        Resolution::Unknown { nearest } => Err(Fault::UnknownTool { name: name.to_owned(), nearest }),
    }
}

/// One call while its arguments are read.
struct Reading<'c> {
    tool: ToolName,
    /// None where the tool's schema can't be used.
    schema: Option<&'c CompiledSchema>,
    /// The arguments as the model wrote them.
    raw: &'c str,
    end: End,
    coerces: bool,
}

impl<'c> Reading<'c> {
    fn with_schema(self, toolset: &'c Toolset) -> Self {
        Self { schema: toolset.schema(&self.tool), ..self }
    }

    /// No arguments at all.
    fn nothing(&self, repairs: &mut Vec<Repair>) -> (Value, Cow<'c, str>) {
        repairs.push(whole("no-arguments", "no arguments were read as an empty object"));
        (Value::Object(Map::new()), Cow::Borrowed("{}"))
    }

    /// An object inside a JSON string.
    fn decoded(&self, inner: &str, repairs: &mut Vec<Repair>) -> Result<(Value, Cow<'c, str>), Fault> {
        let not_an_object = || self.not_an_object(&Value::String(String::new()));
        if !inner.trim_start().starts_with('{') {
            return Err(not_an_object());
        }
        let repaired = repair_object_knowing(inner, Some(&|depth, key| self.knows_key(depth, key)));
        // The string was closed, so nothing was cut: what is missing inside was never there.
        let repaired = repaired.ok().filter(|repaired| !repaired.unclosed);
        let repaired = repaired.ok_or_else(not_an_object)?;
        repairs.push(whole("double-encoded", "a JSON object inside a JSON string was decoded"));
        self.taken(repaired, repairs)
    }

    /// Text that strict JSON refuses.
    fn repaired(&self, repairs: &mut Vec<Repair>) -> Result<(Value, Cow<'c, str>), Fault> {
        let repaired = repair_broken_object(self.raw, Some(&|depth, key| self.knows_key(depth, key)));
        let repaired = repaired.map_err(|error| self.unreadable(&error))?;
        if repaired.unclosed && self.end == End::Cut {
            return Err(self.truncated());
        }
        self.taken(repaired, repairs)
    }

    fn taken(&self, repaired: Repaired, repairs: &mut Vec<Repair>) -> Result<(Value, Cow<'c, str>), Fault> {
        repairs.extend(repaired.repairs);
        match serde_json::from_str(&repaired.json) {
            Ok(value) => Ok((value, Cow::Owned(repaired.json))),
            Err(error) => Err(self.malformed(error.to_string(), 0)),
        }
    }

    /// The arguments without an envelope around them.
    fn unwrapped<'j>(
        &self,
        toolset: &Toolset,
        value: Value,
        json: Cow<'j, str>,
        repairs: &mut Vec<Repair>,
    ) -> (Value, Cow<'j, str>) {
        let key = self.schema.and_then(|schema| argument_key(toolset, &self.tool, schema, &value));
        let inner = key.and_then(|key| Some((value.get(key)?.clone(), member(&json, key)?)));
        match inner {
            Some((inner, text)) => {
                repairs.push(whole("wrapped-arguments", "the arguments were taken out of an object around them"));
                (inner, Cow::Owned(text))
            }
            None => (value, json),
        }
    }

    /// The call, if its arguments satisfy the schema as they are, or as the schema reads them.
    fn validated(
        self,
        value: Value,
        json: Cow<'_, str>,
        dialect: Dialect,
        mut repairs: Vec<Repair>,
    ) -> Result<ParsedCall, Fault> {
        let no_schema = Value::Bool(true);
        let root = self.schema.map_or(&no_schema, CompiledSchema::source);
        let valid = self.is_valid(&value);
        if self.coerces && (!valid || may_leak(&json) || may_be_misspelt(root, &value)) {
            let (tree, coercions) = match Tree::parse_valid(&json) {
                Some(tree) => coerce(root, tree),
                None => (Tree::Null, Vec::new()),
            };
            let read = tree.to_json();
            if !coercions.is_empty() && serde_json::from_str(&read).is_ok_and(|read| self.is_valid(&read)) {
                repairs.extend(coercions);
                return self.call(read, dialect, repairs);
            }
        }
        if valid {
            return self.call(json.into_owned(), dialect, repairs);
        }
        let fields = self.schema.map(|schema| field_faults(schema, &value)).unwrap_or_default();
        Err(Fault::InvalidArguments { tool: self.tool, fields, raw: self.raw.to_owned() })
    }

    fn call(self, json: String, dialect: Dialect, repairs: Vec<Repair>) -> Result<ParsedCall, Fault> {
        match Arguments::from_valid_json(json) {
            Ok(arguments) => Ok(ParsedCall { name: self.tool, arguments, dialect, repairs }),
            Err(error) => Err(self.malformed(error.to_string(), 0)),
        }
    }

    fn is_valid(&self, value: &Value) -> bool {
        self.schema.is_none_or(|schema| schema.validator().is_valid(value))
    }

    fn knows_key(&self, depth: usize, key: &str) -> bool {
        self.schema.is_none_or(|schema| schema.knows_key(depth, key))
    }

    fn not_an_object(&self, value: &Value) -> Fault {
        self.malformed(format!("the arguments must be a JSON object, but they are {}", article(value)), 0)
    }

    fn malformed(&self, problem: String, offset: usize) -> Fault {
        Fault::MalformedArguments { tool: self.tool.clone(), problem, offset, raw: self.raw.to_owned() }
    }

    fn truncated(&self) -> Fault {
        Fault::Truncated { tool: Some(self.tool.clone()), raw: self.raw.to_owned() }
    }

    fn unreadable(&self, error: &RepairError) -> Fault {
        match (error, self.end) {
            (RepairError::Truncated { cut: Cut::InString | Cut::InValue | Cut::AfterOpening, .. }, End::Complete)
            | (RepairError::Truncated { .. } | RepairError::UnmatchedQuote { .. } | RepairError::Empty, End::Cut) => {
                self.truncated()
            }
            (
                RepairError::Empty
                | RepairError::NotAnObject { .. }
                | RepairError::Truncated { .. }
                | RepairError::UnmatchedQuote { .. }
                | RepairError::SeveralObjects { .. }
                | RepairError::TooDeep { .. }
                | RepairError::Unreadable { .. },
                End::Complete | End::Cut,
            ) => self.malformed(error.to_string(), error.offset()),
        }
    }
}

fn whole(kind: &'static str, note: &str) -> Repair {
    Repair { kind: Cow::Borrowed(kind), path: String::new(), note: note.to_owned() }
}

fn article(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
