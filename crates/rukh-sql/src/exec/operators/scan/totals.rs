//! Columnar scans of which totals are wanted: whole blocks give these in place of their rows.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use rukh_catalog::{ColumnId, Table};
use rukh_engine::TotalWanted;

use super::ScanExec;
use super::partition::{Reader, ScanState};
use crate::exec::session_settings::settings::PathSetting;
use crate::exec::vectors::record_batch;
use rukh_error::SqlError;

/// A partition being read for totals: rows, and totals of heads in place of rows.
pub(crate) struct TotalsScan {
    state: Box<ScanState>,
    /// The columns of the totals.
    schema: SchemaRef,
}

/// Totals by heads, in place of rows.
pub(crate) struct HeadTotals {
    /// How many rows these are.
    pub(crate) rows: u64,
    /// By requested column, how many of them are not NULL.
    pub(crate) filled: Vec<u64>,
    /// The requested columns in two rows: smallest and greatest value, NULL if there is none.
    pub(crate) ends: RecordBatch,
}

impl ScanExec {
    /// Whether the heads of blocks can give totals: all rows are given out, and none is left to be checked.
    pub(crate) fn tells_totals(&self) -> bool {
        self.path.columnar.is_some()
            && self.path.within.is_none()
            && self.residual.is_none()
            && self.fetch.is_none()
            && self.groups.is_none()
            && self.run_time.is_empty()
            && self.context.methods.block_totals
    }

    /// Returns the number of rows of the table, if the scan gives out all of them and the number is kept. Where direct plans are
    /// not to be taken, rows are counted.
    pub(crate) fn kept_rows(&self) -> Option<(Arc<Table>, u64)> {
        let is_whole = self.conditions.predicates.is_empty()
            && self.conjuncts.is_empty()
            && self.fetch.is_none()
            && self.limit.is_none()
            && self.groups.is_none()
            && self.first.is_empty()
            && self.run_time.is_empty()
            && self.context.client.settings.path == PathSetting::Auto;
        let table = &self.conditions.table;
        let rows = is_whole.then(|| self.context.snapshot.kept_rows(table).ok().flatten());
        Some((table.clone(), rows.flatten()?))
    }

    /// Returns the position at which the scan gives out a column.
    pub(crate) fn position_of(&self, column: ColumnId) -> Option<usize> {
        let given = &self.columns[..self.output.len()];
        given.iter().position(|id| *id == column)
    }

    /// Starts a partition whose blocks are to give these totals; `None` if there is nothing to read in it.
    pub(crate) fn start_totals(
        &self,
        partition: usize,
        wanted: Vec<TotalWanted>,
    ) -> Result<Option<TotalsScan>, SqlError> {
        let Some(mut state) = self.start(partition)? else {
            return Ok(None);
        };
        // Without totals the ends are NULL, of whatever column.
        let field = |one: &TotalWanted| self.scan_schema.field(one.column).clone().with_nullable(true);
        let schema = Schema::new(wanted.iter().map(field).collect::<Vec<_>>());
        if let Reader::Columns(cursor, _) = &mut state.reader {
            cursor.total(wanted);
        }
        Ok(Some(TotalsScan {
            state: Box::new(state),
            schema: Arc::new(schema),
        }))
    }
}

impl TotalsScan {
    /// Returns further rows; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        self.state.next_batch()
    }

    /// Returns the totals by heads.
    pub(crate) fn head_totals(&self) -> Result<Option<HeadTotals>, SqlError> {
        let Reader::Columns(cursor, _) = &self.state.reader else {
            return Ok(None);
        };
        let Some(totals) = cursor.totals()? else {
            return Ok(None);
        };
        Ok(Some(HeadTotals {
            rows: totals.rows,
            filled: totals.filled,
            ends: record_batch(self.schema.clone(), totals.ends)?,
        }))
    }
}
