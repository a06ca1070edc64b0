//! Names and expressions as statements have them, with their places.

use std::fmt;

use rukh_keys::DataType;
use sqlparser::ast::{self, Expr};

use super::functions::FunctionName;
use crate::StatementError;
use crate::text::{place_of, quoted};

/// A table or index as named in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// Schema, if named.
    pub schema: Option<String>,
    /// Name, folded to lower case unless it was quoted.
    pub name: String,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

impl ObjectName {
    /// Makes the error for a relation that is not there, named as the statement names it.
    pub fn undefined(&self) -> StatementError {
        let schema = self.schema.as_deref().filter(|schema| !schema.is_empty());
        let name = match schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        };
        StatementError::undefined_table(&name).at(self.position)
    }

    /// Takes a name from a tree; fails on more than schema and name.
    pub fn from_ast(name: &ast::ObjectName) -> Result<Self, StatementError> {
        let parts: Vec<_> = name.0.iter().filter_map(ast::ObjectNamePart::as_ident).collect();
        let position = parts.first().and_then(|part| place_of(part.span));
        let (schema, last) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] => (Some(folded(schema)), name),
            _ => {
                let error = StatementError::unsupported("cross-database references are not supported");
                return Err(position.map_or(error.clone(), |position| error.at(position)));
            }
        };
        Ok(ObjectName {
            schema,
            name: folded(last),
            position: position.unwrap_or(1),
        })
    }
}

/// A type as named in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeName {
    /// One that every database has, or that was found among the definitions.
    Known(DataType),
    /// One that is shown to clients as it is declared, and not as what it is short for: VARCHAR, which is TEXT, or TIMESTAMP(6), which is
    /// TIMESTAMP, and arrays of them.
    Declared(DataType),
    /// One that only the definitions know.
    Named {
        /// The type, or that of the elements.
        name: ObjectName,
        /// Whether arrays of it are meant.
        array: bool,
        /// The type of its values, if it was found to be a domain.
        of: Option<DataType>,
    },
}

impl TypeName {
    /// Returns the type, of a domain that of its values; fails with 42704 on one that was not found.
    pub fn known(&self) -> Result<DataType, StatementError> {
        match self {
            TypeName::Known(ty) | TypeName::Declared(ty) => Ok(*ty),
            TypeName::Named {
                array: false,
                of: Some(ty),
                ..
            } => Ok(*ty),
            TypeName::Named {
                of: Some(_), name, ..
            } => {
                let message = format!("arrays of domains are not supported: {}[]", name.name);
                Err(StatementError::unsupported(message).at(name.position))
            }
            TypeName::Named { name, array, .. } => Err(undefined_type(name, *array)),
        }
    }
}

/// As SQL.
impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeName::Known(ty) | TypeName::Declared(ty) => write!(f, "{ty}"),
            TypeName::Named { name, array, .. } => {
                let schema = name.schema.as_ref().map(|schema| format!("{}.", quoted(schema)));
                let brackets = if *array { "[]" } else { "" };
                write!(
                    f,
                    "{}{}{brackets}",
                    schema.unwrap_or_default(),
                    quoted(&name.name)
                )
            }
        }
    }
}

/// Makes the error for a type that is not there.
pub fn undefined_type(name: &ObjectName, array: bool) -> StatementError {
    let schema = name.schema.as_deref().filter(|schema| !schema.is_empty());
    let schema = schema.map(|schema| format!("{schema}.")).unwrap_or_default();
    let brackets = if array { "[]" } else { "" };
    let message = format!("type \"{schema}{}{brackets}\" does not exist", name.name);
    StatementError::statement("42704", message).at(name.position)
}

/// A column, family or option as named in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Name, folded to lower case unless it was quoted.
    pub text: String,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The tree.
    pub expr: Expr,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

/// Returns an identifier of a tree as PostgreSQL reads it: in lower case unless quoted.
pub fn folded(ident: &ast::Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// What COMMENT ON names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentTarget {
    /// A table.
    Table(ObjectName),
    /// A column of a table.
    Column {
        /// The table.
        table: ObjectName,
        /// The column.
        column: Name,
    },
    /// A constraint of a table.
    Constraint {
        /// The table.
        table: ObjectName,
        /// The constraint.
        name: Name,
    },
    /// An index.
    Index(ObjectName),
    /// A view.
    View(ObjectName),
    /// A sequence.
    Sequence(ObjectName),
    /// A schema.
    Schema(Name),
    /// A type.
    Type(ObjectName),
    /// A function.
    Function(FunctionName),
}
