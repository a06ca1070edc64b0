//! Functions: expressions and queries with parameters, under a name.

use rukh_keys::DataType;
use serde::{Deserialize, Serialize};

use crate::Domain;

/// Identifies a function for its whole life; never reused, and not the id of anything else either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FunctionId(pub u32);

/// A function that CREATE FUNCTION … LANGUAGE sql made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Identity.
    pub id: FunctionId,
    /// Schema name.
    pub schema: String,
    /// Name within the schema; functions of one name differ in the types of their parameters.
    pub name: String,
    /// The parameters, in order. Those with a default are the last.
    pub parameters: Vec<Parameter>,
    /// What a call gives.
    pub returns: Returns,
    /// The body as it was written.
    pub source: String,
    /// Whether the body was written as `RETURN expression`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_expression: bool,
    /// The body as a query, its tables with their schemas, parameters as `$1`, `$2`.
    pub sql: String,
    /// Whether the query is one value that a call can stand for without a query: it reads no rows and aggregates nothing.
    pub inlines: bool,
    /// IMMUTABLE, STABLE or VOLATILE, as declared.
    pub volatility: Volatility,
    /// Whether a call with a NULL gives NULL, or no rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// COMMENT ON FUNCTION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Function {
    /// Returns how many arguments a call gives at least, and at most.
    pub fn arity(&self) -> std::ops::RangeInclusive<usize> {
        let defaults = self
            .parameters
            .iter()
            .filter(|parameter| parameter.default.is_some());
        self.parameters.len() - defaults.count()..=self.parameters.len()
    }

    /// Returns the types of the parameters.
    pub fn parameter_types(&self) -> Vec<DataType> {
        self.parameters.iter().map(|parameter| parameter.ty.ty).collect()
    }

    /// Returns name and types of the parameters, as messages name a function: `add(integer,integer)`.
    pub fn signature(&self) -> String {
        let types = self.parameters.iter().map(|parameter| parameter.ty.sql_name());
        format!("{}({})", self.name, types.collect::<Vec<_>>().join(","))
    }
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Type, without a length or a precision.
    pub ty: ValueType,
    /// What a call that leaves it out gives, as SQL text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A type of values: one that every database has, an enum, or a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueType {
    /// The type, of a domain that of its values.
    pub ty: DataType,
    /// The domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Box<Domain>>,
}

impl ValueType {
    /// Returns the name as SQL: that of a domain or an enum with its schema unless that is `public`.
    pub fn sql_name(&self) -> String {
        match &self.domain {
            Some(domain) => domain.sql_name(),
            None => self.ty.postgres_name(),
        }
    }
}

/// What a call of a function gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Returns {
    /// A value: that of the query's first row, NULL if it has none.
    Value(ValueType),
    /// SETOF type: a value for each row.
    Values(ValueType),
    /// TABLE (…): rows with these columns.
    Table(Vec<(String, ValueType)>),
    /// SETOF relation: rows with the columns that a table or view has when the function is called.
    Relation {
        /// Schema name.
        schema: String,
        /// Name within the schema.
        name: String,
    },
}

impl Returns {
    /// Whether a call gives rows.
    pub fn is_set(&self) -> bool {
        !matches!(self, Returns::Value(_))
    }
}

/// Whether a function gives the same for the same arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Volatility {
    /// IMMUTABLE: always.
    Immutable,
    /// STABLE: within one statement.
    Stable,
    /// VOLATILE: it may not.
    Volatile,
}
