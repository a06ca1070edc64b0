//! Views and sequences.

use rukh_catalog::CheckOption;
use rukh_keys::DataType;
use sqlparser::ast;

use super::names::{Name, ObjectName};

/// Options of a sequence; those that are not given have defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// AS.
    pub ty: Option<DataType>,
    /// INCREMENT.
    pub increment: Option<i64>,
    /// MINVALUE.
    pub min: Option<i64>,
    /// MAXVALUE.
    pub max: Option<i64>,
    /// START.
    pub start: Option<i64>,
    /// CACHE.
    pub cache: Option<u32>,
    /// CYCLE.
    pub cycle: bool,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequenceStatement {
    /// The sequence.
    pub name: ObjectName,
    /// Whether an unknown name is only worth a notice.
    pub if_exists: bool,
    /// Options that change.
    pub options: SequenceOptions,
    /// NO MINVALUE.
    pub no_min: bool,
    /// NO MAXVALUE.
    pub no_max: bool,
    /// NO CYCLE.
    pub no_cycle: bool,
    /// RESTART.
    pub restart: Option<Restart>,
    /// OWNED BY.
    pub owned_by: Option<OwnedBy>,
}

impl AlterSequenceStatement {
    /// A statement that changes nothing yet.
    pub fn of(name: ObjectName, if_exists: bool) -> Self {
        AlterSequenceStatement {
            name,
            if_exists,
            options: SequenceOptions::default(),
            no_min: false,
            no_max: false,
            no_cycle: false,
            restart: None,
            owned_by: None,
        }
    }
}

/// Where a sequence restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// RESTART: where it began first.
    Start,
    /// RESTART WITH n.
    With(i64),
}

/// The column that a sequence goes with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedBy {
    /// NONE.
    None,
    /// A column of a table.
    Column {
        /// The table.
        table: ObjectName,
        /// The column.
        column: Name,
    },
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateViewStatement {
    /// The view.
    pub name: ObjectName,
    /// Whether a view of the name is replaced.
    pub or_replace: bool,
    /// Names of the first columns.
    pub columns: Vec<Name>,
    /// The query.
    pub query: Box<ast::Query>,
    /// WITH CHECK OPTION.
    pub check: Option<CheckOption>,
}

/// What has an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownable {
    /// A table.
    Table,
    /// A view.
    View,
    /// A sequence.
    Sequence,
    /// A schema.
    Schema,
    /// A type.
    Type,
}
