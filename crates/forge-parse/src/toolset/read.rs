use serde_json::{Map, Value};

use super::{Resolution, Toolset};
use crate::repair::{Cut, RepairError, repair_object_knowing};
use crate::schema::field_faults;
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
    let schema = toolset.schema(&tool);
    let knows = |depth: usize, key: &str| schema.is_none_or(|schema| schema.knows_key(depth, key));
    let repaired =
        repair_object_knowing(arguments, Some(&knows)).map_err(|error| unreadable(&tool, arguments, end, &error))?;
    if repaired.unclosed && end == End::Cut {
        return Err(Fault::Truncated { tool: Some(tool), raw: arguments.to_owned() });
    }
    repairs.extend(repaired.repairs);
    let json = Arguments::from_json(&repaired.json);
    let json = json.map_err(|error| Fault::MalformedArguments {
        tool: tool.clone(),
        problem: error.to_string(),
        offset: 0,
        raw: arguments.to_owned(),
    })?;
    validated(toolset, tool, json, arguments, dialect, repairs)
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
    let raw = arguments.as_str().to_owned();
    validated(toolset, tool, arguments, &raw, dialect, all_repairs)
}

fn offered(toolset: &Toolset, name: &str) -> Result<(ToolName, Vec<Repair>), Fault> {
    match toolset.resolve(name) {
        Resolution::Exact(tool) => Ok((tool, Vec::new())),
        Resolution::Normalised(tool, repair) => Ok((tool, vec![repair])),
        Resolution::Unknown { nearest } => Err(Fault::UnknownTool { name: name.to_owned(), nearest }),
    }
}

fn validated(
    toolset: &Toolset,
    tool: ToolName,
    arguments: Arguments,
    raw: &str,
    dialect: Dialect,
    repairs: Vec<Repair>,
) -> Result<ParsedCall, Fault> {
    if let Some(schema) = toolset.schema(&tool) {
        let fields = field_faults(schema, &arguments.to_value());
        if !fields.is_empty() {
            return Err(Fault::InvalidArguments { tool, fields, raw: raw.to_owned() });
        }
    }
    Ok(ParsedCall { name: tool, arguments, dialect, repairs })
}

fn unreadable(tool: &ToolName, raw: &str, end: End, error: &RepairError) -> Fault {
    match (error, end) {
        (RepairError::Truncated { cut: Cut::InString | Cut::InValue | Cut::AfterOpening, .. }, End::Complete)
        | (RepairError::Truncated { .. } | RepairError::UnmatchedQuote { .. } | RepairError::Empty, End::Cut) => {
            Fault::Truncated { tool: Some(tool.clone()), raw: raw.to_owned() }
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
        ) => Fault::MalformedArguments {
            tool: tool.clone(),
            problem: error.to_string(),
            offset: error.offset(),
            raw: raw.to_owned(),
        },
    }
}
