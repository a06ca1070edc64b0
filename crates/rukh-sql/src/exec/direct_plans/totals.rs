//! `count(*)`, `min` and `max` over all rows of a query, each by its own access path.
//!
//! A count passes keys without their values; an extreme reads the row at one end of a key, of each
//! bucket or group there is, and takes the best.

use std::cmp::Ordering;
use std::time::Instant;

use rukh_catalog::Table;
use rukh_engine::ScanCounters;
use rukh_keys::Datum;
use rukh_planner::{AccessPath, GroupRow};

use crate::exec::access::{accepts, engine_source};
use crate::exec::context::StatementContext;
use crate::exec::direct_plans::direct::Reading;
use rukh_error::SqlError;

/// Rows fetched at a time.
const CHUNK_ROWS: usize = 1024;

/// The totals of a query, ready to be read.
pub(crate) struct Totals {
    pub(crate) parts: Vec<TotalRead>,
}

/// One total, ready to be read.
pub(crate) enum TotalRead {
    /// The number of keys of a path.
    Count(Box<AccessPath>),
    /// The least or greatest value of the first column read.
    Extreme { reading: Box<Reading>, row: GroupRow },
}

impl Totals {
    /// Reads the one row of all totals.
    pub(crate) fn row(self, table: &Table, context: &StatementContext) -> Result<Vec<Datum>, SqlError> {
        let value = |(at, part)| {
            let started = Instant::now();
            let (value, counters) = match part {
                TotalRead::Count(path) => count(&path, table, context),
                TotalRead::Extreme { reading, row } => extreme(*reading, &row, table, context),
            }?;
            context.totals.add(&counters);
            let rows = ScanCounters { rows: 1, ..counters };
            context.add_to_part(at, &rows, started.elapsed());
            Ok(value)
        };
        self.parts.into_iter().enumerate().map(value).collect()
    }
}

/// The best value by how it must compare with all others; NULL if there is none.
fn extreme(
    reading: Reading,
    row: &GroupRow,
    table: &Table,
    context: &StatementContext,
) -> Result<(Datum, ScanCounters), SqlError> {
    let wanted = match row {
        GroupRow::Greatest(_) => Ordering::Greater,
        _ => Ordering::Less,
    };
    let Reading {
        request,
        columns,
        residual,
    } = reading;
    let mut cursor = context.snapshot.scan(request)?;
    let mut best = Datum::Null;
    loop {
        context.cancel.check()?;
        let rows = cursor.next_rows(CHUNK_ROWS, &mut |view| {
            let mut row = Vec::with_capacity(columns.len());
            for at in 0..columns.len() {
                row.push(view.datum(at)?.into_owned());
            }
            let is_better = !row[0].is_null() && (best.is_null() || row[0].cmp(&best) == wanted);
            if is_better && accepts(table, &residual, &columns, &row)? {
                best = row.swap_remove(0);
            }
            Ok(())
        })?;
        if rows == 0 {
            break;
        }
    }
    context.cancel.check()?;
    Ok((best, cursor.counters()))
}

fn count(
    path: &AccessPath,
    table: &Table,
    context: &StatementContext,
) -> Result<(Datum, ScanCounters), SqlError> {
    let source = engine_source(path.source);
    let ranges = path.ranges.clone();
    let counted = context.snapshot.count(table, source, ranges, path.masked.clone());
    let (rows, counters) = counted?;
    Ok((Datum::Int(i64::try_from(rows).unwrap_or(i64::MAX)), counters))
}
