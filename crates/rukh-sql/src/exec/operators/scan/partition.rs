//! One partition of a scan being read: batches of rows, checked and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::physical_expr::PhysicalExpr;
use rukh_engine::{ColumnarCursor, RowCursor, ScanCounters};

use super::watch::{self, Watch};
use crate::exec::context::{StatementContext, Totals};
use crate::exec::vectors::record_batch;
use rukh_error::SqlError;
use rukh_functions::batch::BatchBuilder;

/// Rows in a batch.
const BATCH_ROWS: usize = 8192;

/// Where batches come from.
pub(super) enum Reader {
    /// Rows, one by one.
    Rows(Box<RowReader>),
    /// A columnar index, and the schema of its batches.
    Columns(Box<ColumnarCursor>, SchemaRef),
}

pub(super) struct RowReader {
    pub(super) cursor: RowCursor,
    pub(super) builder: BatchBuilder,
    pub(super) columns: usize,
}

impl Reader {
    /// Reads the next rows, about a batch; `None` at the end.
    fn read(&mut self, max: usize, watch: Option<&mut Watch>) -> Result<Option<RecordBatch>, SqlError> {
        match self {
            Reader::Rows(rows) => rows.read(max, watch),
            Reader::Columns(cursor, schema) => {
                let batch = cursor.next_batch(max)?;
                batch.map(|batch| record_batch(schema.clone(), batch)).transpose()
            }
        }
    }

    fn counters(&self) -> ScanCounters {
        match self {
            Reader::Rows(rows) => rows.cursor.counters(),
            Reader::Columns(cursor, _) => cursor.counters(),
        }
    }
}

impl RowReader {
    fn read(&mut self, max: usize, mut watch: Option<&mut Watch>) -> Result<Option<RecordBatch>, SqlError> {
        if let Some(watch) = &mut watch {
            watch.look(&mut self.cursor)?;
        }
        let (builder, columns) = (&mut self.builder, self.columns);
        let mut failed = None;
        let read = self.cursor.next_rows(max, &mut |row| {
            if let Some(watch) = &watch
                && !watch.passes(row)?
            {
                return Ok(());
            }
            for column in 0..columns {
                if let Err(error) = builder.append(column, row.datum(column)?) {
                    failed.get_or_insert(error);
                }
            }
            builder.end_row();
            Ok(())
        })?;
        failed.map_or(Ok(()), Err)?;
        match read {
            0 => Ok(None),
            _ => builder.finish().map(Some),
        }
    }
}

/// One partition being read.
pub(super) struct ScanState {
    pub(super) reader: Reader,
    pub(super) residual: Option<Arc<dyn PhysicalExpr>>,
    pub(super) output: Vec<usize>,
    /// Rows still wanted.
    pub(super) left: Option<usize>,
    pub(super) context: Arc<StatementContext>,
    pub(super) counters: Arc<Totals>,
    pub(super) busy_ns: Arc<AtomicU64>,
    pub(super) seen: ScanCounters,
    /// What operators above come to know.
    pub(super) watch: Option<Watch>,
}

impl ScanState {
    /// Returns the next batch with at least one row, or `None` at the end, and counts the time.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        self.timed(ScanState::read_batch)
    }

    /// Does some work and counts the time.
    pub(super) fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let started = Instant::now();
        let done = work(self);
        let worked = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns.fetch_add(worked, Ordering::Relaxed);
        done
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        while self.left != Some(0) {
            self.context.cancel.check()?;
            let read = self.read()?;
            self.count();
            let Some(batch) = read else {
                return Ok(None);
            };
            let batch = self.checked(batch)?;
            if batch.num_rows() > 0 {
                self.counters.add_rows(batch.num_rows() as u64);
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let most = match self.watch {
            Some(_) => watch::BATCH_ROWS,
            None => BATCH_ROWS,
        };
        let wanted = self.left.filter(|_| self.residual.is_none());
        let batch = self
            .reader
            .read(wanted.unwrap_or(most).min(most), self.watch.as_mut())?;
        self.context.cancel.check()?;
        Ok(batch)
    }

    /// Keeps the rows that the residual accepts and the columns given out.
    fn checked(&mut self, batch: RecordBatch) -> Result<RecordBatch, SqlError> {
        let kept = match &self.residual {
            None => batch,
            Some(residual) => {
                let mask = residual.evaluate(&batch)?.into_array(batch.num_rows())?;
                let mask = mask
                    .as_any()
                    .downcast_ref::<BooleanArray>()
                    .ok_or_else(|| SqlError::internal("a condition gave no boolean"))?;
                filter_record_batch(&batch, mask).map_err(DataFusionError::from)?
            }
        };
        let given = kept.project(&self.output).map_err(DataFusionError::from)?;
        let given = match self.left {
            Some(left) if given.num_rows() > left => given.slice(0, left),
            _ => given,
        };
        if let Some(left) = &mut self.left {
            *left -= given.num_rows();
        }
        Ok(given)
    }

    /// Passes on what the cursor counted since the last time.
    pub(super) fn count(&mut self) {
        let now = self.reader.counters();
        let new = now - self.seen;
        self.context.totals.add(&new);
        self.counters.add(&new);
        self.seen = now;
    }
}
