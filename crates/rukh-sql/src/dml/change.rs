//! UPDATE and DELETE: a query for the rows concerned, whose old and new images go to the engine.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    self, AssignmentTarget, Expr, FromTable, Ident, SelectItem, TableFactor, TableWithJoins, Value,
};
use rukh_catalog::{Catalog, Column, ColumnId, Table};
use rukh_engine::Row;

use super::target::{column_of, finish, refuse, target};
use super::values::is_default;
use crate::SqlError;
use crate::scalars::{assigned_datums, datums_from_array};
use crate::session::Session;
use crate::statement::ObjectName;

/// Runs UPDATE; returns the number of rows changed.
pub(crate) fn update(
    session: &mut Session,
    update: &ast::Update,
    params: &[ScalarValue],
) -> Result<u64, SqlError> {
    let mut write = session.engine().begin()?;
    let Reading {
        table,
        query,
        assignments,
    } = reading_of_update(&write.snapshot().catalog, update)?;
    let context = session.context(write.snapshot().clone(), &query)?;
    let mut rows = session.query(&query, params, &context)?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        let old = stored_rows(&batch, &table)?;
        let new = changed_rows(&batch, &table, &old, &assignments)?;
        count += write.update(&table, old.into_iter().zip(new).collect())?;
    }
    finish(session, write, count)
}

/// Runs DELETE; returns the number of rows removed.
pub(crate) fn delete(
    session: &mut Session,
    delete: &ast::Delete,
    params: &[ScalarValue],
) -> Result<u64, SqlError> {
    let mut write = session.engine().begin()?;
    let Reading { table, query, .. } = reading_of_delete(&write.snapshot().catalog, delete)?;
    let context = session.context(write.snapshot().clone(), &query)?;
    let mut rows = session.query(&query, params, &context)?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        count += write.delete(&table, stored_rows(&batch, &table)?)?;
    }
    finish(session, write, count)
}

/// Returns name and query of an UPDATE, for EXPLAIN.
pub(crate) fn update_query(
    session: &Session,
    update: &ast::Update,
) -> Result<(String, ast::Query), SqlError> {
    let reading = reading_of_update(&session.engine().catalog(), update)?;
    Ok((reading.table.name.clone(), reading.query))
}

/// Returns name and query of a DELETE, for EXPLAIN.
pub(crate) fn delete_query(
    session: &Session,
    delete: &ast::Delete,
) -> Result<(String, ast::Query), SqlError> {
    let reading = reading_of_delete(&session.engine().catalog(), delete)?;
    Ok((reading.table.name.clone(), reading.query))
}

/// How an UPDATE or DELETE reads the rows it concerns.
struct Reading {
    table: Arc<Table>,
    query: ast::Query,
    assignments: Vec<(ColumnId, Expr)>,
}

fn reading_of_update(catalog: &Catalog, update: &ast::Update) -> Result<Reading, SqlError> {
    refuse(
        update.from.is_some() || !update.table.joins.is_empty(),
        "UPDATE ... FROM",
    )?;
    refuse(update.returning.is_some(), "RETURNING")?;
    refuse(
        !update.order_by.is_empty() || update.limit.is_some(),
        "ORDER BY and LIMIT in UPDATE",
    )?;
    let table = target(catalog, &factor_name(&update.table)?)?;
    let assignments = assignments(&table, &update.assignments)?;
    let values = assignments.iter().map(|(_, value)| value.clone()).collect();
    let query = rows_query(&table, &update.table, values, update.selection.clone());
    Ok(Reading {
        table,
        query,
        assignments,
    })
}

fn reading_of_delete(catalog: &Catalog, delete: &ast::Delete) -> Result<Reading, SqlError> {
    refuse(delete.using.is_some(), "DELETE ... USING")?;
    refuse(delete.returning.is_some(), "RETURNING")?;
    refuse(
        !delete.order_by.is_empty() || delete.limit.is_some(),
        "ORDER BY and LIMIT in DELETE",
    )?;
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [from] = from.as_slice() else {
        return Err(SqlError::unsupported(
            "DELETE from several tables is not supported",
        ));
    };
    let table = target(catalog, &factor_name(from)?)?;
    let query = rows_query(&table, from, Vec::new(), delete.selection.clone());
    Ok(Reading {
        table,
        query,
        assignments: Vec::new(),
    })
}

/// Returns the query whose rows an UPDATE or DELETE concerns: all columns, then the new values.
fn rows_query(
    table: &Table,
    from: &TableWithJoins,
    values: Vec<Expr>,
    selection: Option<Expr>,
) -> ast::Query {
    let column =
        |column: &Column| SelectItem::UnnamedExpr(Expr::Identifier(Ident::with_quote('"', &column.name)));
    let value = |(position, value): (usize, Expr)| SelectItem::ExprWithAlias {
        expr: value,
        alias: Ident::with_quote('"', format!("new value {position}")),
    };
    let projection = table
        .columns
        .iter()
        .map(column)
        .chain(values.into_iter().enumerate().map(value));
    crate::rewrite::select(projection.collect(), from.clone(), selection)
}

pub(super) fn assignments(
    table: &Table,
    given: &[ast::Assignment],
) -> Result<Vec<(ColumnId, Expr)>, SqlError> {
    let mut found: Vec<(ColumnId, Expr)> = Vec::with_capacity(given.len());
    for assignment in given {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(SqlError::unsupported("SET (a, b) = ... is not supported yet"));
        };
        let name = ObjectName::from_ast(name)?;
        let column = column_of(table, &name)?;
        if found.iter().any(|(id, _)| *id == column.id) {
            let message = format!("multiple assignments to same column \"{}\"", name.name);
            return Err(SqlError::statement("42601", message).at(name.position));
        }
        found.push((column.id, defaulted(column, &assignment.value)?));
    }
    Ok(found)
}

/// Replaces `SET c = DEFAULT` by the column's default.
fn defaulted(column: &Column, value: &Expr) -> Result<Expr, SqlError> {
    match (is_default(value), &column.default) {
        (false, _) => Ok(value.clone()),
        (true, None) => Ok(Expr::Value(Value::Null.into())),
        (true, Some(sql)) => crate::statement::parse_expression(sql),
    }
}

fn factor_name(from: &TableWithJoins) -> Result<ObjectName, SqlError> {
    match &from.relation {
        TableFactor::Table { name, .. } if from.joins.is_empty() => ObjectName::from_ast(name),
        _ => Err(SqlError::unsupported("UPDATE and DELETE take one table")),
    }
}

/// Reads the leading columns of a batch back into rows of the table.
pub(super) fn stored_rows(batch: &RecordBatch, table: &Table) -> Result<Vec<Row>, SqlError> {
    let mut rows: Vec<Row> = (0..batch.num_rows())
        .map(|_| Vec::with_capacity(table.columns.len()))
        .collect();
    for (array, column) in batch.columns().iter().zip(&table.columns) {
        for (row, datum) in rows.iter_mut().zip(datums_from_array(array, &column.ty)?) {
            row.push(datum);
        }
    }
    Ok(rows)
}

pub(super) fn changed_rows(
    batch: &RecordBatch,
    table: &Table,
    old: &[Row],
    assignments: &[(ColumnId, Expr)],
) -> Result<Vec<Row>, SqlError> {
    let mut new = old.to_vec();
    for (position, (id, _)) in assignments.iter().enumerate() {
        let column = table.column(*id).expect("assignments name columns of the table");
        let target = table.position(*id).expect("a column has a position");
        let values = assigned_datums(
            batch.column(table.columns.len() + position),
            &column.ty,
            &column.name,
        )?;
        for (row, value) in new.iter_mut().zip(values) {
            row[target] = value;
        }
    }
    Ok(new)
}
