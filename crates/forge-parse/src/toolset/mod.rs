mod cache;
mod envelope;
mod hash;
mod read;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use cache::ToolsetCache;
pub use read::End;
pub use resolve::Resolution;

use crate::schema::{CompiledSchema, field_faults};
use crate::{Dialect, Fault, FieldFault, ParsedCall, Repair, ToolName, ToolSpec};

/// The offered tools, compiled once: names to look up, schemas ready to validate.
///
/// ```
/// use forge_parse::{Dialect, End, ToolSpec, Toolset};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"floors": {"type": "integer"}}, "required": ["floors"]});
/// let toolset = Toolset::compile(vec![ToolSpec::new("lift", "Calls the lift.", schema)]);
/// let call = toolset.read_call("lift", r#"{"floors": 4}"#, Dialect::NATIVE, End::Complete).unwrap();
/// assert_eq!(call.arguments.as_str(), r#"{"floors": 4}"#);
/// ```
#[derive(Debug)]
pub struct Toolset {
    specs: Vec<ToolSpec>,
    /// Parallel to `specs`; none where the schema can't be used.
    schemas: Vec<Option<CompiledSchema>>,
    /// From the offered name to its place in `specs`.
    by_name: HashMap<ToolName, usize>,
    /// From the folded name to its place in `specs`; none where several share it.
    by_folded: HashMap<String, Option<usize>>,
    warnings: Vec<SchemaWarning>,
    content_hash: u128,
    coerces: bool,
}

/// A tool whose schema can't be used, so that its arguments are not validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaWarning {
    /// The tool.
    pub tool: ToolName,
    /// What is wrong with its schema.
    pub problem: crate::schema::SchemaProblem,
}

impl Toolset {
    /// Compiles the offered tools. This never fails: a schema that is invalid, or that refers to something outside
    /// itself, switches validation off for its tool and leaves one [warning](Toolset::warnings). Of several tools
    /// with one name the first counts.
    pub fn compile(specs: Vec<ToolSpec>) -> Arc<Self> {
        Arc::new(Self::compiled(specs))
    }

    /// Compiles the offered tools like [`Toolset::compile`], but takes JSON arguments as they are: what a schema could
    /// read in another way is a fault. Notations without types are still read by the schema.
    pub fn compile_without_coercion(specs: Vec<ToolSpec>) -> Arc<Self> {
        Arc::new(Self { coerces: false, ..Self::compiled(specs) })
    }

    fn compiled(specs: Vec<ToolSpec>) -> Self {
        let content_hash = hash::ContentHasher::FIXED.hash(&specs);
        let mut schemas = Vec::with_capacity(specs.len());
        let mut by_name = HashMap::with_capacity(specs.len());
        let mut by_folded = HashMap::with_capacity(specs.len());
        let mut warnings = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            schemas.push(match CompiledSchema::compile(&spec.parameters) {
                Ok(schema) => Some(schema),
                Err(problem) => {
                    warnings.push(SchemaWarning { tool: spec.name.clone(), problem });
                    None
                }
            });
            if by_name.contains_key(&spec.name) {
                continue;
            }
            by_name.insert(spec.name.clone(), index);
            by_folded.entry(resolve::folded_name(&spec.name)).and_modify(|place| *place = None).or_insert(Some(index));
        }
        Self { specs, schemas, by_name, by_folded, warnings, content_hash, coerces: true }
    }

    /// The tools as they were offered.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.by_name.get(name).and_then(|index| self.specs.get(*index))
    }

    /// The offered names, in order.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.specs.iter().map(|spec| &spec.name)
    }

    /// The tools whose schemas can't be used.
    pub fn warnings(&self) -> &[SchemaWarning] {
        &self.warnings
    }

    /// A hash of the names, descriptions and schemas, in their order. The same in every process.
    pub fn content_hash(&self) -> u128 {
        self.content_hash
    }

    /// Which offered tool a name means.
    pub fn resolve(&self, raw: &str) -> Resolution {
        resolve::resolve(self, raw)
    }

    /// Whether the schema of any tool names a key for its outermost object. It helps to tell where a string with
    /// unescaped quotes ends before it is known which tool is called; see
    /// [`KnownKeys`](crate::repair::KnownKeys).
    pub fn names_key(&self, key: &str) -> bool {
        self.schemas.iter().flatten().any(|schema| schema.names_key(key))
    }

    /// The offered tool that a name means, if one does. What [`Toolset::resolve`] says, at less cost.
    pub fn find(&self, raw: &str) -> Option<&ToolName> {
        resolve::find(self, raw)
    }

    /// What is wrong with the arguments of a tool, field by field. Empty if nothing is, and for a tool that isn't
    /// offered or whose schema can't be used.
    pub fn validate(&self, tool: &str, arguments: &Value) -> Vec<FieldFault> {
        self.schema(tool).map(|schema| field_faults(schema, arguments)).unwrap_or_default()
    }

    /// Reads the arguments of a call to an offered tool: strictly first, with repairs and coercions after that.
    /// Arguments that are valid as they stand are kept byte for byte.
    ///
    /// # Errors
    /// [`Fault::UnknownTool`], [`Fault::MalformedArguments`], [`Fault::InvalidArguments`], or [`Fault::Truncated`].
    pub fn read_call(&self, name: &str, arguments: &str, dialect: Dialect, end: End) -> Result<ParsedCall, Fault> {
        read::read_call(self, name, arguments, dialect, end)
    }

    /// Reads arguments that arrived key by key, as tagged and pythonic notations write them. Values may be text that
    /// the schema says how to read.
    ///
    /// # Errors
    /// [`Fault::UnknownTool`] or [`Fault::InvalidArguments`].
    pub fn read_fields(
        &self,
        name: &str,
        fields: Map<String, Value>,
        dialect: Dialect,
        repairs: Vec<Repair>,
    ) -> Result<ParsedCall, Fault> {
        read::read_fields(self, name, fields, dialect, repairs)
    }

    fn schema(&self, name: &str) -> Option<&CompiledSchema> {
        self.by_name.get(name).and_then(|index| self.schemas.get(*index)).and_then(Option::as_ref)
    }

    fn tool_at(&self, index: usize) -> Option<&ToolName> {
        self.specs.get(index).map(|spec| &spec.name)
    }
}
