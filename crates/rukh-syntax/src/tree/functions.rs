//! Functions.

use rukh_catalog::Volatility;
use sqlparser::ast;

use super::names::{Expression, Name, ObjectName, TypeName};

/// A statement about functions.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionStatement {
    /// CREATE FUNCTION.
    Create(FunctionDefinition),
    /// DROP FUNCTION.
    Drop {
        /// Functions to drop, at least one.
        functions: Vec<FunctionName>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether views that call them go, too.
        cascade: bool,
    },
    /// ALTER FUNCTION.
    Alter {
        /// The function.
        function: FunctionName,
        /// What becomes of it.
        action: FunctionAction,
    },
}

/// A function as named in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionName {
    /// The name.
    pub name: ObjectName,
    /// Types of the parameters, where they are given: functions of one name differ in them.
    pub parameters: Option<Vec<TypeName>>,
}

/// What ALTER FUNCTION changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionAction {
    /// RENAME TO.
    RenameTo(Name),
    /// SET SCHEMA.
    SetSchema(Name),
    /// OWNER TO.
    OwnerTo(Name),
}

/// CREATE FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionDefinition {
    /// The function.
    pub name: ObjectName,
    /// Whether a function of this name and these parameters is replaced.
    pub or_replace: bool,
    /// The parameters, in order.
    pub parameters: Vec<ParameterDefinition>,
    /// RETURNS.
    pub returns: ReturnsDefinition,
    /// IMMUTABLE, STABLE or VOLATILE.
    pub volatility: Volatility,
    /// STRICT.
    pub strict: bool,
    /// The body.
    pub body: FunctionBody,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterDefinition {
    /// The name, if it has one.
    pub name: Option<Name>,
    /// The type.
    pub ty: TypeName,
    /// Place of the type in the statement, in characters from 1.
    pub position: usize,
    /// DEFAULT.
    pub default: Option<Expression>,
}

/// What a function gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReturnsDefinition {
    /// A value, or with SETOF a value or row for each row of the query.
    Type {
        /// Whether SETOF stands before it.
        is_set: bool,
        /// The type; that of rows has the name of their relation.
        ty: TypeName,
        /// Place in the statement, in characters from 1.
        position: usize,
    },
    /// TABLE: rows with these columns.
    Table(Vec<(Name, TypeName)>),
}

/// The body of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionBody {
    /// The body as it was written.
    pub source: String,
    /// Whether it was written as `RETURN expression`.
    pub is_expression: bool,
    /// The body as a query, that of an expression `SELECT expression`.
    pub query: Box<ast::Query>,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}
