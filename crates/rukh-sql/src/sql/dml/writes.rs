//! WITH whose queries write: all of them and the statement behind them are one write.
//!
//! 1. Each query runs to its end, in order, whether its rows are read or not. All of them, and the statement
//!    behind them, read the state before the statement.
//! 2. What a query returns is held, as the rows of RETURNING are, and is a table to those behind it.
//! 3. Of two changes of one row the first takes place, in the order of the text; PostgreSQL leaves open which.
//! 4. All is committed at once. A query behind WITH has ended by then, so that its errors undo what was written.

use std::sync::Arc;

use datafusion::datasource::MemTable;
use datafusion::scalar::ScalarValue;
use rukh_engine::Write;

use super::change::{delete_within, update_within};
use super::insert::insert_into;
use super::merge::merge_within;
use super::returning::{RETURNED_BYTES_MAX, Written, too_much};
use super::target::{Scope, commit};
use crate::bind::names::outputs::output_names::without_twins;
use crate::exec::rows::Rows;
use crate::sql::computed::make_batch;
use crate::sql::dispatch::{tagged, verb_of};
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_syntax::{Statement, WritesStatement, rows_name};

/// Runs a statement whose WITH writes; returns tag and rows of what stands behind WITH.
pub(crate) fn writes(
    session: &mut Session,
    statement: &WritesStatement,
    params: &[ScalarValue],
) -> Result<(String, Option<Rows>), SqlError> {
    let mut write = session.begin_write()?;
    let written = all_parts(session, &mut write, statement, params);
    session.held.clear();
    let (tag, rows) = written?;
    commit(session, write)?;
    Ok((tag, rows))
}

fn all_parts(
    session: &mut Session,
    write: &mut Write,
    WritesStatement { parts, statement }: &WritesStatement,
    params: &[ScalarValue],
) -> Result<(String, Option<Rows>), SqlError> {
    // Rows that are kept are never written blindly, so that several parts may touch one row.
    write.keep_written();
    let mut bytes = 0;
    for (nth, part) in parts.iter().enumerate() {
        if let Some(rows) = part_of(session, write, part, params)?.rows {
            let (table, size) = held(rows, bytes)?;
            bytes += size;
            session.held.push((rows_name(nth), Arc::new(table)));
        }
        write.take_written();
    }
    match statement {
        Statement::Query(query) => {
            let context = session.context(write.snapshot().clone(), query)?;
            let mut rows = session.query(query, params, &context)?;
            let schema = rows.schema();
            let mut batches = Vec::new();
            while let Some(batch) = rows.next_batch()? {
                bytes += batch.get_array_memory_size();
                check_size(bytes)?;
                batches.push(batch);
            }
            let rows = Rows::batches(schema, batches);
            Ok((verb_of(statement).to_string(), Some(rows)))
        }
        _ => Ok(tagged(
            verb_of(statement),
            part_of(session, write, statement, params)?,
        )),
    }
}

fn part_of(
    session: &mut Session,
    write: &mut Write,
    part: &Statement,
    params: &[ScalarValue],
) -> Result<Written, SqlError> {
    match part {
        Statement::Insert(insert) => insert_into(session, write, insert, params, Scope::Shared),
        Statement::Update(update) => update_within(session, write, update, params, Scope::Shared),
        Statement::Delete(delete) => delete_within(session, write, delete, params, Scope::Shared),
        Statement::Merge(merge) => merge_within(session, write, merge, params, Scope::Shared),
        _ => Err(SqlError::internal("a query of WITH that writes nothing")),
    }
}

/// Makes a table of rows, beside those held before; returns it with its size in bytes.
fn held(mut rows: Rows, before: usize) -> Result<(MemTable, usize), SqlError> {
    let schema = Arc::new(without_twins(&rows.schema()));
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = rows.next_batch()? {
        bytes += batch.get_array_memory_size();
        check_size(before + bytes)?;
        batches.push(make_batch(
            schema.clone(),
            batch.columns().to_vec(),
            batch.num_rows(),
        )?);
    }
    Ok((MemTable::try_new(schema, vec![batches])?, bytes))
}

fn check_size(bytes: usize) -> Result<(), SqlError> {
    match bytes > RETURNED_BYTES_MAX {
        true => Err(too_much()),
        false => Ok(()),
    }
}
