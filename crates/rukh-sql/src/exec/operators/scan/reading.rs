//! Scans read by other operators, and what is likely to come of a scan.

use datafusion::arrow::array::RecordBatch;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use rukh_catalog::ColumnId;
use rukh_planner::{Predicate, TermId};

use super::{Ask, ScanExec};
use rukh_error::SqlError;

impl ScanExec {
    /// Replans the scan for further conditions, which rows are not checked for; counts go to this scan.
    pub(crate) fn narrowed(&self, by: Vec<Predicate>) -> Result<Self, SqlError> {
        self.narrowed_to(by, Ask::all(&self.context, self.output.clone()))
    }

    /// The same, for a request.
    pub(super) fn narrowed_to(&self, by: Vec<Predicate>, ask: Ask<'_>) -> Result<Self, SqlError> {
        let conditions = std::sync::Arc::new(self.conditions.narrowed(by));
        let scan = Self::choose(self.context.clone(), conditions, self.conjuncts.clone(), ask)?;
        Ok(ScanExec {
            counters: self.counters.clone(),
            busy_ns: self.busy_ns.clone(),
            ..scan
        })
    }

    /// Whether a condition is volatile.
    pub(crate) fn is_volatile(&self) -> bool {
        self.conjuncts
            .iter()
            .any(datafusion::logical_expr::Expr::is_volatile)
    }

    /// Reads all partitions, one after another, and shows each batch until `show` returns `false`.
    pub(crate) fn read(
        &self,
        show: &mut dyn FnMut(RecordBatch) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        for partition in 0..self.partitions.len() {
            let Some(mut state) = self.start(partition)? else {
                continue;
            };
            while let Some(batch) = state.next_batch()? {
                if !show(batch)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Estimates the rows of the scan, or of one of its partitions.
    pub(super) fn rows_estimated(&self, partition: Option<usize>) -> Statistics {
        let parts = partition.map_or(1, |_| self.partitions.len().max(1));
        let rows = (self.path.estimate.rows.ceil() as usize).div_ceil(parts);
        let rows = self.fetch.map_or(rows, |fetch| rows.min(fetch));
        let known = self.conditions.statistics(&self.context);
        let column = |id: &ColumnId| {
            let term = known.terms.get(&TermId::column(*id));
            let distinct = term.and_then(|term| term.distinct);
            let nulls = term.and_then(|term| term.null_share);
            ColumnStatistics {
                distinct_count: distinct.map_or(Precision::Absent, |distinct| {
                    Precision::Inexact(usize::try_from(distinct).unwrap_or(rows).min(rows))
                }),
                null_count: nulls.map_or(Precision::Absent, |share| {
                    Precision::Inexact((share * rows as f64) as usize)
                }),
                ..ColumnStatistics::new_unknown()
            }
        };
        Statistics {
            num_rows: Precision::Inexact(rows),
            total_byte_size: Precision::Absent,
            column_statistics: self.columns[..self.output.len()].iter().map(column).collect(),
        }
    }
}
