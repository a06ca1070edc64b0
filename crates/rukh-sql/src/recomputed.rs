//! Aggregates over a window frame that moves, computed anew for each row.
//!
//! Sums of floats do not come back when a value is subtracted again: `1e20 + 1 - 1e20` is 0, and what has met infinity
//! stays NaN. Such aggregates keep the rows of the frame, as PostgreSQL does.

use std::collections::VecDeque;
use std::fmt;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::Accumulator;

/// Makes an accumulator that has seen no row.
type Make = Box<dyn Fn() -> Box<dyn Accumulator> + Send + Sync>;

/// An accumulator of the rows of a frame.
pub(crate) struct Recomputed {
    make: Make,
    /// The rows of the frame, in batches of arguments.
    batches: VecDeque<Vec<ArrayRef>>,
    bytes: usize,
}

impl Recomputed {
    /// Returns the accumulator of an empty frame.
    pub(crate) fn new<A: Accumulator + 'static>(make: impl Fn() -> A + Send + Sync + 'static) -> Self {
        Recomputed {
            make: Box::new(move || Box::new(make())),
            batches: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl fmt::Debug for Recomputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recomputed")
            .field("batches", &self.batches.len())
            .finish_non_exhaustive()
    }
}

fn rows_of(batch: &[ArrayRef]) -> usize {
    batch.first().map_or(0, |values| values.len())
}

fn bytes_of(batch: &[ArrayRef]) -> usize {
    batch.iter().map(|values| values.get_array_memory_size()).sum()
}

impl Accumulator for Recomputed {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        if rows_of(values) > 0 {
            self.bytes += bytes_of(values);
            self.batches.push_back(values.to_vec());
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let mut leaving = rows_of(values);
        while let Some(first) = self.batches.front_mut().filter(|_| leaving > 0) {
            let rows = rows_of(first);
            if leaving < rows {
                for values in first.iter_mut() {
                    *values = values.slice(leaving, rows - leaving);
                }
                return Ok(());
            }
            leaving -= rows;
            self.bytes = self.bytes.saturating_sub(bytes_of(first));
            self.batches.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let mut accumulator = (self.make)();
        for batch in &self.batches {
            accumulator.update_batch(batch)?;
        }
        accumulator.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bytes
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Err(frames_have_no_states())
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> DataFusionResult<()> {
        Err(frames_have_no_states())
    }
}

fn frames_have_no_states() -> DataFusionError {
    DataFusionError::Internal("a window frame is not put together of parts".to_string())
}
