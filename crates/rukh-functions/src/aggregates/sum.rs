//! `sum` of integers that fails where BIGINT does not hold it: DataFusion's begins anew at the other end. A sum of floats
//! fails where it overflows, NaN in it has no sign, and over a frame that moves it is computed anew.
//!
//! A sum that leaves BIGINT on its way fails, too, where rows are summed by group, or by several threads, and sums of theirs.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array};
use datafusion::arrow::compute::{not, nullif, prep_null_mask_filter};
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef, Float64Type, Int64Type};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, GroupsAccumulator, Operator, ReversedUDAF,
    SetMonotonicity, Signature,
};
use rukh_keys::ValueError;

use crate::aggregates::intervals::{self, are_intervals, with_intervals};
use crate::aggregates::recomputed::Recomputed;
use rukh_error::SqlError;

/// Returns the aggregate that replaces DataFusion's.
pub fn sum() -> Arc<AggregateUDF> {
    let usual = sum_udaf();
    let signature = with_intervals(usual.signature());
    Arc::new(AggregateUDF::from(Sum { usual, signature }))
}

/// DataFusion's `sum`, but for BIGINT, which all integers are summed as, floats and intervals.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    usual: Arc<AggregateUDF>,
    signature: Signature,
}

/// Whether it is BIGINT that is summed, each value once for each row.
fn is_checked(arguments: &AccumulatorArgs<'_>) -> bool {
    !arguments.is_distinct && *arguments.return_field.data_type() == ArrowType::Int64
}

/// Whether it is floats that are summed, each value once for each row.
fn is_float(arguments: &AccumulatorArgs<'_>) -> bool {
    !arguments.is_distinct && *arguments.return_field.data_type() == ArrowType::Float64
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        self.usual.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        self.usual.return_type(types)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        match is_checked(&arguments) {
            true => Ok(Box::new(IntegerSum::default())),
            false if is_float(&arguments) => Ok(Box::new(FloatSum::default())),
            false if are_intervals(arguments.expr_fields) => {
                Ok(Box::new(intervals::Total::new(false, arguments.is_distinct)?))
            }
            false => self.usual.accumulator(arguments),
        }
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        match are_intervals(arguments.input_fields) {
            true => Ok(intervals::state_fields(arguments.name)),
            false => self.usual.state_fields(arguments),
        }
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        !are_intervals(arguments.expr_fields) && self.usual.groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        if is_float(&arguments) {
            return Ok(Box::new(FloatSums::default()));
        }
        let is_checked = is_checked(&arguments);
        let usual = self.usual.create_groups_accumulator(arguments)?;
        match is_checked {
            true => Ok(Box::new(IntegerSums {
                sums: Vec::new(),
                seen: Vec::new(),
                usual,
            })),
            false => Ok(usual),
        }
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        match is_checked(&arguments) {
            true => Ok(Box::new(IntegerSum::default())),
            false if is_float(&arguments) => Ok(Box::new(Recomputed::new(FloatSum::default))),
            false if are_intervals(arguments.expr_fields) => {
                Ok(Box::new(intervals::Total::new(false, arguments.is_distinct)?))
            }
            false => self.usual.create_sliding_accumulator(arguments),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.usual.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    /// `sum(a + 1)` is `sum(a) + 1 * count(a)`; of decimals the count would have to fit into the type of the 1.
    fn simplify_expr_op_literal(
        &self,
        call: &AggregateFunction,
        argument: &Expr,
        operator: Operator,
        literal: &Expr,
        is_left: bool,
    ) -> DataFusionResult<Option<Expr>> {
        match literal {
            Expr::Literal(ScalarValue::Int64(_), _) => {
                let usual = self.usual.inner();
                usual.simplify_expr_op_literal(call, argument, operator, literal, is_left)
            }
            _ => Ok(None),
        }
    }

    fn set_monotonicity(&self, ty: &ArrowType) -> SetMonotonicity {
        self.usual.inner().set_monotonicity(ty)
    }
}

fn too_large() -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::statement("22003", "bigint out of range")))
}

/// The sum of rows, some of which may leave again.
#[derive(Debug, Default)]
struct IntegerSum {
    sum: i128,
    rows: u64,
}

impl Accumulator for IntegerSum {
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        for values in values {
            let values = values.as_primitive::<Int64Type>();
            self.sum += sum_of(values);
            self.rows += (values.len() - values.null_count()) as u64;
        }
        Ok(())
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        for values in values {
            let values = values.as_primitive::<Int64Type>();
            self.sum -= sum_of(values);
            self.rows -= (values.len() - values.null_count()) as u64;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let sum = match self.rows {
            0 => None,
            _ => Some(i64::try_from(self.sum).map_err(|_| too_large())?),
        };
        Ok(ScalarValue::Int64(sum))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        self.update_batch(states)
    }
}

/// The sum of floats; states are sums.
#[derive(Debug, Default)]
struct FloatSum {
    sum: Option<f64>,
}

/// Adds a float to a sum.
fn add_float(sum: &mut Option<f64>, value: f64) -> DataFusionResult<()> {
    let before = sum.unwrap_or(0.0);
    let after = before + value;
    if !after.is_finite() {
        if after.is_infinite() && before.is_finite() && value.is_finite() {
            return Err(DataFusionError::External(Box::new(SqlError::from(
                ValueError::FloatOverflow,
            ))));
        }
        // Processors give NaN a sign, by which it would be less than all.
        *sum = Some(if after.is_nan() { f64::NAN } else { after });
        return Ok(());
    }
    *sum = Some(after);
    Ok(())
}

impl Accumulator for FloatSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let values = values
            .iter()
            .flat_map(|values| values.as_primitive::<Float64Type>());
        values
            .flatten()
            .try_for_each(|value| add_float(&mut self.sum, value))
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        Ok(ScalarValue::Float64(self.sum))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        self.update_batch(states)
    }
}

/// The sums of floats of groups.
#[derive(Default)]
struct FloatSums {
    sums: Vec<Option<f64>>,
}

impl GroupsAccumulator for FloatSums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> DataFusionResult<()> {
        self.sums.resize(count, None);
        for values in values {
            let values = values.as_primitive::<Float64Type>();
            for (row, (value, group)) in values.iter().zip(groups).enumerate() {
                let is_kept = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
                if let Some(value) = value.filter(|_| is_kept) {
                    add_float(&mut self.sums[*group], value)?;
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        let sums = emit.take_needed(&mut self.sums);
        Ok(Arc::new(Float64Array::from(sums)))
    }

    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> DataFusionResult<()> {
        self.update_batch(states, groups, None, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let kept = |values: &ArrayRef| -> DataFusionResult<ArrayRef> {
            match filter {
                None => Ok(values.clone()),
                Some(filter) => Ok(nullif(values, &not(&prep_null_mask_filter(filter))?)?),
            }
        };
        values.iter().map(kept).collect()
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Option<f64>>()
    }
}

/// Returns the sum of the values of a batch, which has less than 2^31 of them.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
)]
fn sum_of(values: &Int64Array) -> i128 {
    // Halves fit into 64 bits, however many are added up, and are added several at once.
    let halves =
        |(high, low): (i64, u64), value: i64| (high + (value >> 32), low + (value as u64 & 0xffff_ffff));
    let (high, low) = match values.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => values.values().iter().copied().fold((0, 0), halves),
        Some(nulls) => {
            let rows = values.values().iter().zip(nulls);
            let there = rows.map(|(value, is_there)| if is_there { *value } else { 0 });
            there.fold((0, 0), halves)
        }
    };
    (i128::from(high) << 32) + i128::from(low)
}

/// The sums of groups.
struct IntegerSums {
    sums: Vec<i64>,
    /// By group, whether a row was seen that is not NULL.
    seen: Vec<bool>,
    /// Makes states of single rows.
    usual: Box<dyn GroupsAccumulator>,
}

impl IntegerSums {
    fn add(&mut self, group: usize, value: i64) -> DataFusionResult<()> {
        let (sum, is_too_large) = self.sums[group].overflowing_add(value);
        if is_too_large {
            return Err(too_large());
        }
        self.sums[group] = sum;
        self.seen[group] = true;
        Ok(())
    }
}

impl GroupsAccumulator for IntegerSums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> DataFusionResult<()> {
        self.sums.resize(count, 0);
        self.seen.resize(count, false);
        for values in values {
            let values = values.as_primitive::<Int64Type>();
            if values.null_count() == 0 && filter.is_none() {
                let mut rows = groups.iter().zip(values.values());
                rows.try_for_each(|(group, value)| self.add(*group, *value))?;
                continue;
            }
            let passes = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            for (row, group) in groups.iter().enumerate() {
                if values.is_valid(row) && passes(row) {
                    self.add(*group, values.value(row))?;
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> DataFusionResult<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = emit_to.take_needed(&mut self.seen);
        Ok(Arc::new(Int64Array::new(sums.into(), Some(seen.into()))))
    }

    fn state(&mut self, emit_to: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> DataFusionResult<()> {
        self.update_batch(states, groups, None, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        self.usual.convert_to_state(values, filter)
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i64>() + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_batches_are_exact() {
        let values = [
            i64::MIN,
            i64::MAX,
            -1,
            0,
            1,
            1 << 32,
            -(1 << 32),
            u32::MAX as i64,
            7,
        ];
        for count in 0..200 {
            let values = (0..count).map(|row| (row % 5 != 3).then(|| values[row * row % values.len()]));
            let exact: i128 = values.clone().flatten().map(i128::from).sum();
            assert_eq!(sum_of(&values.clone().collect()), exact, "{count} values");
            let there: Int64Array = values.flatten().map(Some).collect();
            assert_eq!(sum_of(&there), exact, "{count} values that are there");
        }
    }
}
