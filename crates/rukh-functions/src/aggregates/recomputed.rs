//! Aggregates over a window frame that moves, computed again for each row.
//!
//! Sums of floats do not come back when a value is subtracted again: `1e20 + 1 - 1e20` is 0, and what has met infinity
//! stays NaN. `bool_and`, `bit_or` and `string_agg` do not keep what was before, either. Such aggregates keep the rows of
//! the frame, as PostgreSQL does.

#![warn(clippy::arithmetic_side_effects)]

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

/// Makes an accumulator that has seen no row.
type Make = Box<dyn Fn() -> DataFusionResult<Box<dyn Accumulator>> + Send + Sync>;

/// Returns the accumulator of an aggregate over a frame that moves: its own if that takes rows back.
pub fn sliding(
    usual: &Arc<AggregateUDF>,
    arguments: AccumulatorArgs<'_>,
) -> DataFusionResult<Box<dyn Accumulator>> {
    let recomputed = always_recomputed(usual, &arguments);
    let own = usual.create_sliding_accumulator(arguments)?;
    Ok(match own.supports_retract_batch() {
        true => own,
        false => recomputed,
    })
}

/// Returns the accumulator of an aggregate over a frame that moves, without one of its own that takes rows back.
pub fn always_recomputed(usual: &Arc<AggregateUDF>, arguments: &AccumulatorArgs<'_>) -> Box<dyn Accumulator> {
    let (usual, kept) = (usual.clone(), Arguments::of(arguments));
    Box::new(Recomputed {
        make: Box::new(move || usual.accumulator(kept.borrowed())),
        batches: VecDeque::new(),
        bytes: 0,
    })
}

/// What an accumulator is made of, kept for the next one.
struct Arguments {
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_reversed: bool,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl Arguments {
    fn of(arguments: &AccumulatorArgs<'_>) -> Self {
        Arguments {
            return_field: arguments.return_field.clone(),
            schema: arguments.schema.clone(),
            ignore_nulls: arguments.ignore_nulls,
            order_bys: arguments.order_bys.to_vec(),
            is_reversed: arguments.is_reversed,
            name: arguments.name.to_string(),
            is_distinct: arguments.is_distinct,
            exprs: arguments.exprs.to_vec(),
            expr_fields: arguments.expr_fields.to_vec(),
        }
    }

    fn borrowed(&self) -> AccumulatorArgs<'_> {
        AccumulatorArgs {
            return_field: self.return_field.clone(),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        }
    }
}

/// An accumulator of the rows of a frame.
pub struct Recomputed {
    make: Make,
    /// The rows of the frame, in batches of arguments.
    batches: VecDeque<Vec<ArrayRef>>,
    bytes: usize,
}

impl Recomputed {
    /// Returns the accumulator of an empty frame.
    pub fn new<A: Accumulator + 'static>(make: impl Fn() -> A + Send + Sync + 'static) -> Self {
        Recomputed {
            make: Box::new(move || Ok(Box::new(make()))),
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
    #[expect(clippy::arithmetic_side_effects, reason = "rows and bytes that are in memory")]
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        if rows_of(values) > 0 {
            self.bytes += bytes_of(values);
            self.batches.push_back(values.to_vec());
        }
        Ok(())
    }

    #[expect(clippy::arithmetic_side_effects, reason = "rows and bytes that are in memory")]
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
        let mut accumulator = (self.make)()?;
        for batch in &self.batches {
            accumulator.update_batch(batch)?;
        }
        accumulator.evaluate()
    }

    #[expect(clippy::arithmetic_side_effects, reason = "rows and bytes that are in memory")]
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
