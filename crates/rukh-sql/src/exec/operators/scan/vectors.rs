//! Columnar scans whose rows are looked at as vectors, before they are Arrow's.

use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result as DataFusionResult;
use futures::stream::BoxStream;
use rukh_engine::ColumnBatch;

use super::partition::{Reader, ScanState};
use super::{Begun, ScanExec, external};
use rukh_error::SqlError;

/// Rows of a scan.
pub(crate) enum Given {
    /// As vectors, one for each column given out.
    Vectors(ColumnBatch),
    /// As Arrow has them: something is left to be checked of them, or they are not of blocks.
    Arrow(RecordBatch),
}

/// Rows of a batch of vectors: as many as the caches near a core hold with what is computed of them.
const VECTOR_ROWS: usize = 4096;

impl ScanExec {
    /// Reads a partition as vectors; byte strings of some columns come by number.
    pub(crate) fn vectors(
        &self,
        partition: usize,
        coded: Vec<usize>,
    ) -> BoxStream<'static, DataFusionResult<Given>> {
        let begun = Begun::Not(Box::new(self.clone()), partition);
        let stream = futures::stream::try_unfold((begun, coded), |(begun, coded)| async move {
            let is_new = matches!(begun, Begun::Not(..));
            let Some(mut state) = begun.state().map_err(external)? else {
                return Ok(None);
            };
            if is_new {
                state.code(&coded);
            }
            let given = state.next_given().map_err(external)?;
            // A cancelled statement ends here.
            tokio::task::yield_now().await;
            Ok(given.map(|given| (given, (Begun::Yes(state), coded))))
        });
        Box::pin(stream)
    }
}

impl ScanState {
    /// Returns the cursor over blocks, if its rows are given out as they are.
    fn vectors(&mut self) -> Option<&mut rukh_engine::ColumnarCursor> {
        let as_they_are = self.residual.is_none() && self.left.is_none() && self.watch.is_none();
        match &mut self.reader {
            Reader::Columns(cursor, _) if as_they_are => Some(cursor),
            Reader::Columns(..) | Reader::Rows(_) => None,
        }
    }

    /// Has byte strings of some columns come by number, where rows are vectors.
    fn code(&mut self, columns: &[usize]) {
        if let Some(cursor) = self.vectors() {
            cursor.code(columns);
        }
    }

    /// Returns the next rows, at least one, or `None` at the end, and counts the time.
    fn next_given(&mut self) -> Result<Option<Given>, SqlError> {
        if self.vectors().is_none() {
            return Ok(self.next_batch()?.map(Given::Arrow));
        }
        self.timed(|state| {
            state.context.cancel.check()?;
            let Some(cursor) = state.vectors() else {
                return Ok(None);
            };
            let read = cursor.next_batch(VECTOR_ROWS)?;
            state.context.cancel.check()?;
            state.count();
            if let Some(batch) = &read {
                state.counters.add_rows(batch.rows as u64);
            }
            Ok(read.map(Given::Vectors))
        })
    }
}
