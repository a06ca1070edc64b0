//! MERGE. sqlparser's own MERGE has neither `DO NOTHING` nor `DEFAULT VALUES`, so that it is read here;
//! relations, expressions and assignments are read by sqlparser.

use datafusion::sql::sqlparser::ast::{self, Expr, SelectItem, TableFactor};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::query::settle;
use super::reader::Reader;
use super::{Overriding, Statement};
use rukh_error::SqlError;

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

/// Reads MERGE.
pub(super) fn merge(reader: &mut Reader<'_>, with: Option<ast::With>) -> Result<Statement, SqlError> {
    let position = reader.position();
    reader.expect(&["merge", "into"])?;
    let mut table = target(reader)?;
    reader.expect(&["using"])?;
    let mut source = reader.parse(Parser::parse_table_factor)?;
    reader.expect(&["on"])?;
    let on = reader.expression()?;
    let mut clauses = Vec::new();
    let mut closed: Vec<MergeKind> = Vec::new();
    while reader.peeks(&["when"]) {
        let place = reader.position();
        let clause = clause(reader)?;
        if closed.contains(&clause.kind) {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::syntax(message).at(place));
        }
        if clause.condition.is_none() {
            closed.push(clause.kind);
        }
        clauses.push(clause);
    }
    if clauses.is_empty() {
        return Err(reader.unexpected());
    }
    let mut returning = None;
    if reader.accept(&["returning"]) {
        returning = Some(reader.parse(Parser::parse_projection)?);
    }
    let mut on = Box::new(on);
    settle(reader, &mut table, position)?;
    settle(reader, &mut source, position)?;
    settle(reader, &mut on, position)?;
    settle(reader, &mut returning, position)?;
    for clause in &mut clauses {
        settle(reader, &mut clause.condition, position)?;
        match &mut clause.action {
            MergeAction::Update(assignments) => settle(reader, assignments, position)?,
            MergeAction::Insert { values, .. } => settle(reader, values, position)?,
            MergeAction::Delete | MergeAction::Nothing => {}
        }
    }
    Ok(Statement::Merge(Box::new(MergeStatement {
        with,
        table,
        source,
        on: *on,
        clauses,
        returning,
    })))
}

/// Reads the table that is changed.
fn target(reader: &mut Reader<'_>) -> Result<TableFactor, SqlError> {
    reader.accept(&["only"]);
    let position = reader.position();
    let table = reader.parse(Parser::parse_table_factor)?;
    match &table {
        TableFactor::Table { args: None, .. } => Ok(table),
        _ => Err(SqlError::syntax("MERGE changes a table").at(position)),
    }
}

fn clause(reader: &mut Reader<'_>) -> Result<MergeClause, SqlError> {
    reader.expect(&["when"])?;
    let kind = match () {
        () if reader.accept(&["not", "matched", "by", "source"]) => MergeKind::NotInSource,
        () if reader.accept(&["not", "matched", "by", "target"]) => MergeKind::NotInTarget,
        () if reader.accept(&["not", "matched"]) => MergeKind::NotInTarget,
        () => {
            reader.expect(&["matched"])?;
            MergeKind::Matched
        }
    };
    let condition = match reader.accept(&["and"]) {
        true => Some(reader.expression()?),
        false => None,
    };
    reader.expect(&["then"])?;
    let takes_rows = kind != MergeKind::NotInTarget;
    let action = match () {
        () if reader.accept(&["do", "nothing"]) => MergeAction::Nothing,
        () if takes_rows && reader.accept(&["delete"]) => MergeAction::Delete,
        () if takes_rows && reader.accept(&["update"]) => {
            reader.expect(&["set"])?;
            MergeAction::Update(reader.list(|reader| reader.parse(Parser::parse_assignment))?)
        }
        () if !takes_rows && reader.accept(&["insert"]) => insert(reader)?,
        () => return Err(reader.unexpected()),
    };
    Ok(MergeClause {
        kind,
        condition,
        action,
    })
}

fn insert(reader: &mut Reader<'_>) -> Result<MergeAction, SqlError> {
    let mut columns = Vec::new();
    if *reader.peek_at(0) == Token::LParen {
        columns = reader.parenthesised(|reader| reader.parse(|parser| parser.parse_object_name(false)))?;
    }
    let overriding = match () {
        () if reader.accept(&["overriding", "system", "value"]) => Some(Overriding::System),
        () if reader.accept(&["overriding", "user", "value"]) => Some(Overriding::User),
        () => None,
    };
    let position = reader.position();
    if reader.accept(&["default", "values"]) {
        return match columns.is_empty() {
            true => Ok(MergeAction::Insert {
                columns,
                overriding,
                values: Vec::new(),
            }),
            false => Err(SqlError::syntax("DEFAULT VALUES takes no list of columns").at(position)),
        };
    }
    reader.expect(&["values"])?;
    let values = reader.parenthesised(Reader::expression)?;
    Ok(MergeAction::Insert {
        columns,
        overriding,
        values,
    })
}
