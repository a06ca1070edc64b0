//! Domains: types with conditions on their values.

use rukh_keys::{DataType, type_sql_name};
use serde::{Deserialize, Serialize};

/// A type that CREATE DOMAIN made.
///
/// Rows, keys and queries have values of the base type. A column of the domain has a copy of the definition, so that its table can be
/// read alone: a change of the domain changes all copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Identity, that of the type.
    pub id: u32,
    /// Schema name.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// Type of the values; that of the domain below, where there is one.
    pub ty: DataType,
    /// Whether NULL is a value.
    pub nullable: bool,
    /// Default of columns that have none, as SQL text.
    pub default: Option<String>,
    /// Conditions, in order of creation.
    pub checks: Vec<DomainCheck>,
    /// The domain that this one is made of; its conditions hold, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Box<Domain>>,
}

/// A CHECK of a domain: a condition on `value` that is not false for any value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainCheck {
    /// Name, unique within the domain.
    pub name: String,
    /// Normalised SQL text.
    pub sql: String,
}

impl Domain {
    /// The name by which conditions call the value.
    pub const VALUE: &'static str = "value";

    /// Returns the name as SQL, with the schema unless that is `public`.
    pub fn sql_name(&self) -> String {
        type_sql_name(&self.schema, &self.name)
    }

    /// Returns the domain and those that it is made of, the lowest first.
    pub fn chain(&self) -> Vec<&Domain> {
        let mut chain: Vec<&Domain> =
            std::iter::successors(Some(self), |domain| domain.domain.as_deref()).collect();
        chain.reverse();
        chain
    }

    /// Returns the default, or that of the domain below.
    pub fn default_sql(&self) -> Option<&str> {
        let below = || self.domain.as_ref().and_then(|domain| domain.default_sql());
        self.default.as_deref().or_else(below)
    }
}
