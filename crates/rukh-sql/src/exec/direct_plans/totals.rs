//! `count(*)`, `min` and `max` over all rows of a query, each by its own access path.
//!
//! The number of all rows of a table is kept with every commit; another count passes keys without their values; an extreme reads the row at one end of a key, of each
//! bucket or group there is, and takes the best.

use std::cmp::Ordering;
use std::sync::atomic::{self, AtomicUsize};
use std::thread;
use std::time::Instant;

use parking_lot::Mutex;
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

/// Keys, by estimate, from which on a count is done in parts, on all cores.
const PART_KEYS: f64 = 100_000.0;

/// Parts of such a count: a cancelled one ends with a part.
const PARTS: usize = 64;

/// The totals of a query, ready to be read.
pub(crate) struct Totals {
    pub(crate) parts: Vec<TotalRead>,
}

/// One total, ready to be read.
pub(crate) enum TotalRead {
    /// The number of rows of the table, which is kept.
    Kept(u64),
    /// The number of rows of the table, by this path; kept from then on.
    Rows(Box<AccessPath>),
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
                TotalRead::Kept(rows) => Ok((as_datum(rows), of_kept_number())),
                TotalRead::Rows(path) => all_rows(&path, table, context),
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

/// What reading a kept number of rows takes.
fn of_kept_number() -> ScanCounters {
    ScanCounters {
        seeks: 1,
        keys_examined: 1,
        ..ScanCounters::default()
    }
}

/// Counts all rows of a table, so that their number is kept from now on.
fn all_rows(
    path: &AccessPath,
    table: &Table,
    context: &StatementContext,
) -> Result<(Datum, ScanCounters), SqlError> {
    let row_count = context.engine.begin_row_count(&context.snapshot, table)?;
    let (rows, counters) = count(path, table, context)?;
    if let Some(row_count) = row_count {
        row_count.finish(counters.rows);
    }
    Ok((rows, counters))
}

/// Counts the keys of a path, of long ones in parts.
fn count(
    path: &AccessPath,
    table: &Table,
    context: &StatementContext,
) -> Result<(Datum, ScanCounters), SqlError> {
    let (snapshot, source) = (&context.snapshot, engine_source(path.source));
    let parts = match path.estimate.keys < PART_KEYS {
        true => vec![path.ranges.clone()],
        false => snapshot.split(table, source, path.ranges.clone(), PARTS)?,
    };
    let (next, counted) = (AtomicUsize::new(0), Mutex::new(ScanCounters::default()));
    let count_parts = || {
        while let Some(ranges) = parts.get(next.fetch_add(1, atomic::Ordering::Relaxed)) {
            context.cancel.check()?;
            let (_, counters) = snapshot.count(table, source, ranges.clone(), path.masked.clone())?;
            *counted.lock() += counters;
        }
        Ok::<(), SqlError>(())
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..context.parallelism.min(parts.len()))
            .map(|_| scope.spawn(count_parts))
            .collect();
        let own = count_parts();
        let joined = others.into_iter().map(|other| match other.join() {
            Ok(counted) => counted,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.fold(own, Result::and)
    })?;
    let counters = counted.into_inner();
    Ok((as_datum(counters.rows), counters))
}

fn as_datum(rows: u64) -> Datum {
    Datum::Int(i64::try_from(rows).unwrap_or(i64::MAX))
}
