//! INSERT, UPSERT, UPDATE, DELETE and MERGE.

use sqlparser::ast::{self, Expr, SelectItem, TableFactor};

/// INSERT INTO or UPSERT INTO.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertStatement {
    /// WITH before the statement; a query of rows has it, too.
    pub with: Option<ast::With>,
    /// The statement as sqlparser reads an INSERT.
    pub ast: ast::Insert,
    /// Whether existing rows are replaced in the columns named.
    pub upsert: bool,
    /// OVERRIDING … VALUE.
    pub overriding: Option<Overriding>,
    /// The condition of a partial index that ON CONFLICT names.
    pub arbiter: Option<Expr>,
}

/// What becomes of values that are given for identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// OVERRIDING SYSTEM VALUE: they are taken, also for GENERATED ALWAYS.
    System,
    /// OVERRIDING USER VALUE: they are passed over for numbers of the sequence.
    User,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStatement {
    /// WITH before the statement.
    pub with: Option<ast::With>,
    /// The statement as sqlparser reads it.
    pub ast: ast::Update,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteStatement {
    /// WITH before the statement.
    pub with: Option<ast::With>,
    /// The statement as sqlparser reads it.
    pub ast: ast::Delete,
}

/// MERGE INTO.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeStatement {
    /// WITH before the statement.
    pub with: Option<ast::With>,
    /// The table that is changed.
    pub table: TableFactor,
    /// What it is joined with.
    pub source: TableFactor,
    /// The condition of the join.
    pub on: Expr,
    /// WHEN clauses in order.
    pub clauses: Vec<MergeClause>,
    /// RETURNING.
    pub returning: Option<Vec<SelectItem>>,
}

/// WHEN … THEN ….
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// Which rows it is for.
    pub kind: MergeKind,
    /// AND condition.
    pub condition: Option<Expr>,
    /// What is done with them.
    pub action: MergeAction,
}

/// The rows that a WHEN clause is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// WHEN MATCHED: rows of the table with the row of the source that they match.
    Matched,
    /// WHEN NOT MATCHED [BY TARGET]: rows of the source that match no row of the table.
    NotInTarget,
    /// WHEN NOT MATCHED BY SOURCE: rows of the table that no row of the source matches.
    NotInSource,
}

/// What a WHEN clause does.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// UPDATE SET.
    Update(Vec<ast::Assignment>),
    /// DELETE.
    Delete,
    /// INSERT.
    Insert {
        /// Columns, all of them if none is named.
        columns: Vec<ast::ObjectName>,
        /// OVERRIDING … VALUE.
        overriding: Option<Overriding>,
        /// A value for each column; none for DEFAULT VALUES.
        values: Vec<Expr>,
    },
    /// DO NOTHING.
    Nothing,
}
