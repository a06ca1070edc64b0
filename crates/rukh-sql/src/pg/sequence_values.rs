//! What a sequence gave last: the row that a query of a sequence gives.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use rukh_catalog::Sequence;
use rukh_engine::{Engine, SequenceState};
use rukh_error::SqlError;

/// Whether a sequence has given nothing since it was made, set or restarted. Where an older program did not
/// store that, its next number is compared with the first.
pub(crate) fn is_fresh(sequence: &Sequence, state: SequenceState) -> bool {
    state.is_set || state.next == Some(sequence.start)
}

/// Returns the number that a sequence gave last, or begins with, and whether it has given it.
pub(crate) fn last_value(engine: &Engine, sequence: &Sequence) -> Result<(i64, bool), SqlError> {
    Ok(given_last(sequence, engine.sequence_state(sequence.id)?))
}

/// As [`last_value`], of a sequence that stands there.
pub(crate) fn given_last(sequence: &Sequence, state: SequenceState) -> (i64, bool) {
    let first = match sequence.increment > 0 {
        true => sequence.min,
        false => sequence.max,
    };
    match state.next {
        None => (last_of(sequence), true),
        Some(next) if is_fresh(sequence, state) => (next, false),
        // It has begun again.
        Some(next) if next == first && sequence.cycle => (last_of(sequence), true),
        Some(next) => (next.saturating_sub(sequence.increment), true),
    }
}

/// Returns the last number of a sequence, from which a step would pass its end.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a block was cut to what the sequence has before its end"
)]
fn last_of(sequence: &Sequence) -> i64 {
    let end = match sequence.increment > 0 {
        true => sequence.max,
        false => sequence.min,
    };
    let beyond = (i128::from(end) - i128::from(sequence.start)) % i128::from(sequence.increment);
    i64::try_from(i128::from(end) - beyond).unwrap_or(end)
}

/// Makes the row that a query of a sequence gives: `last_value`, `log_cnt`, `is_called`.
pub(crate) fn as_table(engine: &Engine, sequence: &Sequence) -> Result<Arc<dyn TableProvider>, SqlError> {
    let (last, is_called) = last_value(engine, sequence)?;
    let columns: [(&str, ArrayRef); 3] = [
        ("last_value", Arc::new(Int64Array::from(vec![last]))),
        ("log_cnt", Arc::new(Int64Array::from(vec![0]))),
        ("is_called", Arc::new(BooleanArray::from(vec![is_called]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).map_err(DataFusionError::from)?;
    Ok(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?))
}
