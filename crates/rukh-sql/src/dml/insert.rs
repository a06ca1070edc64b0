//! INSERT and UPSERT: rows of VALUES or of a query, completed by defaults.

use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{self, Expr, SetExpr, TableObject};
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{Row, Write};

use super::conflict::conflict_of;
use super::target::{finish, named_columns, refuse, target};
use super::values::{RowFiller, Values, check_width};
use crate::SqlError;
use crate::session::Session;
use crate::statement::{InsertStatement, ObjectName};

/// Runs INSERT or UPSERT; returns the number of rows written.
pub(crate) fn insert(
    session: &mut Session,
    statement: &InsertStatement,
    params: &[ScalarValue],
) -> Result<u64, SqlError> {
    let insert = &statement.ast;
    check_insert(insert)?;
    let mut write = session.engine().begin()?;
    let table = target(&write.snapshot().catalog, &insert_target(insert)?)?;
    let columns = target_columns(&table, insert)?;
    let conflict = conflict_of(&table, insert)?;
    let mut filler = RowFiller::new(&table, &columns)?;
    let mut count = 0;
    let mut put = |write: &mut Write, rows: Vec<Row>| -> Result<(), SqlError> {
        count += match statement.upsert {
            true => write.upsert(&table, &columns, rows)?,
            false => write.insert(&table, rows, conflict)?,
        };
        Ok(())
    };
    match literal_rows(insert) {
        Some(rows) => {
            let mut filled = Vec::with_capacity(rows.len());
            for row in rows {
                let mut values = Values {
                    session,
                    snapshot: write.snapshot(),
                    table: &table,
                    columns: &columns,
                    params,
                };
                filled.push(filler.fill(values.row(row)?)?);
            }
            put(&mut write, filled)?;
        }
        None => {
            let Some(source) = &insert.source else {
                let row = filler.fill(vec![None; columns.len()])?;
                put(&mut write, vec![row])?;
                return finish(session, write, count);
            };
            let context = session.context(write.snapshot().clone(), source)?;
            let mut rows = session.query(source, params, &context)?;
            check_width(rows.columns().len(), columns.len())?;
            while let Some(batch) = rows.next_batch()? {
                put(&mut write, filler.fill_batch(&batch, &table, &columns)?)?;
            }
        }
    }
    finish(session, write, count)
}

fn check_insert(insert: &ast::Insert) -> Result<(), SqlError> {
    refuse(insert.returning.is_some(), "RETURNING")?;
    refuse(
        insert.or.is_some() || insert.ignore || insert.overwrite || insert.replace_into,
        "this form of INSERT",
    )?;
    refuse(
        insert.partitioned.is_some() || !insert.assignments.is_empty(),
        "this form of INSERT",
    )
}

fn insert_target(insert: &ast::Insert) -> Result<ObjectName, SqlError> {
    match &insert.table {
        TableObject::TableName(name) => ObjectName::from_ast(name),
        _ => Err(SqlError::unsupported(
            "INSERT into a function or query is not supported",
        )),
    }
}

/// Returns the columns that an INSERT fills: those named, or as many as VALUES gives, in declared order.
fn target_columns(table: &Table, insert: &ast::Insert) -> Result<Vec<ColumnId>, SqlError> {
    let mut columns = named_columns(table, &insert.columns)?;
    if insert.columns.is_empty()
        && let Some(width) = literal_rows(insert).and_then(|rows| rows.iter().map(|row| row.len()).max())
    {
        columns.truncate(width);
    }
    Ok(columns)
}

/// Returns the rows of `VALUES`, when the source is nothing else.
fn literal_rows(insert: &ast::Insert) -> Option<Vec<&Vec<Expr>>> {
    let query = insert.source.as_ref()?;
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match query.body.as_ref() {
        SetExpr::Values(values) if plain => Some(values.rows.iter().map(|row| &row.content).collect()),
        _ => None,
    }
}
