//! DELETE: row by row in one batch, or, of many rows, past the batch in bounded memory.
//!
//! What WHERE says may be ranges of the primary key and nothing else: then many rows are removed without
//! being read, as far as no index has another order. Otherwise rows are read as for any query, and when
//! they become too many for a batch the engine takes them, and all that follow, into files.

use std::sync::Arc;

use datafusion::scalar::ScalarValue;
use rukh_catalog::Table;
use rukh_engine::{Erase, ScanCounters, Write};
use rukh_keys::Span;
use rukh_syntax::sqlparser::ast;

use super::change::stored_rows;
use super::returning::Written;
use super::target::commit;
use crate::exec::context::StatementContext;
use crate::sql::session::{Planned, Session};
use rukh_error::SqlError;

/// Rows up to which a range is removed row by row: few ranges keep reading quick.
const RANGE_ROWS: u64 = 10_000;

/// Rows that one batch removes at most, and the memory that they take.
const BATCH_ROWS: u64 = 50_000;
const BATCH_BYTES: u64 = 64 << 20;

/// Where rows go that are to be removed.
enum Removal {
    Batch(Box<Write>),
    Erase(Box<Erase>),
}

/// Removes the rows that a query of all columns of a table gives, without RETURNING.
pub(super) fn remove_rows(
    session: &mut Session,
    write: Write,
    table: &Arc<Table>,
    query: &ast::Query,
    params: &[ScalarValue],
) -> Result<Written, SqlError> {
    let context = session.context(write.snapshot().clone(), query)?;
    // Files of deletions do not reach the blocks of a columnar table or index.
    let may_erase = write.may_erase(table)
        && !table.is_columnar()
        && !table.indexes.iter().any(|index| index.is_columnar());
    let planned = session.plan(query, params, &context)?;
    if may_erase
        && matches!(planned, Planned::General(_))
        && let Some(spans) = many_in_spans(session, &write, table, query, params, &context)?
    {
        return erase_spans(session, write, table, &spans, context);
    }
    let mut rows = session.run(&planned, &context)?;
    let (mut removal, mut count) = (Removal::Batch(Box::new(write)), 0);
    while let Some(batch) = rows.next_batch()? {
        let old = stored_rows(&batch, table)?;
        removal = match removal {
            Removal::Erase(mut erase) => {
                erase.add(old)?;
                Removal::Erase(erase)
            }
            Removal::Batch(mut write) => {
                count += write.delete(table, old)?;
                match count > BATCH_ROWS || write.pending_bytes() > BATCH_BYTES {
                    true if may_erase => Removal::Erase(Box::new(write.erase(table.id)?)),
                    _ => Removal::Batch(write),
                }
            }
        };
    }
    match removal {
        Removal::Batch(write) => commit(session, *write)?,
        Removal::Erase(erase) => {
            session.check_cancel()?;
            let task = session.task(format!("delete from {}", table.name), "rows");
            count = erase.finish(&task)?;
        }
    }
    Ok(Written { count, rows: None })
}

/// Returns the spans of the primary key that a query asks for, if it asks for nothing else and many rows
/// are in them.
fn many_in_spans(
    session: &mut Session,
    write: &Write,
    table: &Table,
    query: &ast::Query,
    params: &[ScalarValue],
    context: &Arc<StatementContext>,
) -> Result<Option<Vec<Span>>, SqlError> {
    let spans = session.spans_of(query, params, context)?;
    match spans {
        Some(spans) if write.has_more_rows(table, &spans, RANGE_ROWS)? => Ok(Some(spans)),
        _ => Ok(None),
    }
}

fn erase_spans(
    session: &mut Session,
    write: Write,
    table: &Table,
    spans: &[Span],
    context: Arc<StatementContext>,
) -> Result<Written, SqlError> {
    context.planned();
    let task = session.task(format!("delete from {}", table.name), "rows");
    let mut erase = write.erase(table.id)?;
    erase.add_spans(spans, &task)?;
    session.check_cancel()?;
    let count = erase.finish(&task)?;
    let counters = ScanCounters {
        ranges: spans.len() as u64,
        rows: count,
        ..ScanCounters::default()
    };
    session.ran_directly(context, &counters);
    Ok(Written { count, rows: None })
}
