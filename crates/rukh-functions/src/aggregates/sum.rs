//! `sum`, where DataFusion's is not PostgreSQL's.
//!
//! | sum of                | DataFusion                          | here                                             |
//! |-----------------------|-------------------------------------|--------------------------------------------------|
//! | SMALLINT, INTEGER     | BIGINT, wraps around                | BIGINT; 22003 where it does not hold the sum     |
//! | BIGINT                | the same                            | NUMERIC                                          |
//! | NUMERIC               | wraps around                        | 22003 where it does not hold the sum, and NaN, see `exact` |
//! | floats                | infinite, NaN with a sign           | 22003 where it overflows, NaN without one; over a frame that moves it is computed again |
//! | intervals             | none                                | an interval                                      |

#![warn(clippy::arithmetic_side_effects)]

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int64Array,
};
use datafusion::arrow::compute::{cast, not, nullif, prep_null_mask_filter};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType as ArrowType, Decimal128Type, Field, FieldRef, Float32Type,
    Float64Type, Int32Type, Int64Type,
};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
    Volatility,
};
use rukh_keys::ValueError;

use crate::aggregates::exact;
use crate::aggregates::intervals::{self, are_intervals};
use crate::aggregates::recomputed::Recomputed;
use crate::forms::intervals::INTERVAL;
use crate::functions::common::undefined::undefined_function;
use crate::signatures::overloaded::INT8_DIGITS;
use crate::usual::as_usual;
use rukh_error::SqlError;

/// Returns the aggregate that replaces DataFusion's.
pub fn sum() -> Arc<AggregateUDF> {
    let usual = exact::total(sum_udaf());
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(AggregateUDF::from(Sum { usual, signature }))
}

/// DataFusion's `sum`, but for integers, floats and intervals.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    usual: Arc<AggregateUDF>,
    signature: Signature,
}

/// The type of sums of BIGINTs.
const OF_BIGINTS: ArrowType = ArrowType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// Whether it is integers that are summed.
fn are_integers(fields: &[FieldRef]) -> bool {
    matches!(fields, [field] if field.data_type().is_integer())
}

/// Whether it is integers that are summed, each value once for each row.
fn is_checked(arguments: &AccumulatorArgs<'_>) -> bool {
    !arguments.is_distinct && are_integers(arguments.expr_fields)
}

/// Whether it is floats that are summed, each value once for each row.
fn is_float(arguments: &AccumulatorArgs<'_>) -> bool {
    !arguments.is_distinct && arguments.return_field.data_type().is_floating()
}

/// Whether it is REALs that are summed. They are as DOUBLE, and the sum is a REAL.
fn are_reals(fields: &[FieldRef]) -> bool {
    matches!(fields, [field] if *field.data_type() == ArrowType::Float32)
}

impl AggregateUDFImpl for Sum {
    as_usual!(name order_sensitivity set_monotonicity);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let [ty] = types else {
            return Err(undefined_function(self.name(), types));
        };
        Ok(vec![match ty {
            ArrowType::Int8 | ArrowType::Int16 | ArrowType::Int32 | ArrowType::UInt8 | ArrowType::UInt16 => {
                ArrowType::Int32
            }
            ArrowType::Int64 | ArrowType::UInt32 | ArrowType::Null => ArrowType::Int64,
            ArrowType::UInt64 => ArrowType::Decimal128(INT8_DIGITS.saturating_add(1), 0),
            ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => ty.clone(),
            ArrowType::Interval(_) | ArrowType::Duration(_) => INTERVAL,
            ArrowType::Float16 | ArrowType::Float32 => ArrowType::Float32,
            ArrowType::Float64 => ArrowType::Float64,
            _ => return Err(undefined_function(self.name(), types)),
        }])
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ArrowType::Int32] => Ok(ArrowType::Int64),
            [ArrowType::Int64] => Ok(OF_BIGINTS),
            [ArrowType::Interval(_)] => Ok(INTERVAL),
            [ArrowType::Float32] => Ok(ArrowType::Float32),
            _ => self.usual.return_type(types),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        match is_checked(&arguments) {
            true => Ok(Box::new(IntegerSum::of(&arguments))),
            false if are_integers(arguments.expr_fields) => Ok(Box::new(DistinctSum {
                ty: arguments.return_field.data_type().clone(),
                seen: HashSet::new(),
            })),
            false if is_float(&arguments) => Ok(Box::new(FloatSum::of(are_reals(arguments.expr_fields)))),
            false if are_reals(arguments.expr_fields) => Ok(Box::new(DistinctReals::default())),
            false if are_intervals(arguments.expr_fields) => {
                Ok(Box::new(intervals::Total::new(false, arguments.is_distinct)?))
            }
            false => self.usual.accumulator(arguments),
        }
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        match arguments.input_fields {
            fields if are_intervals(fields) => Ok(intervals::state_fields(arguments.name)),
            fields if are_integers(fields) => {
                let name = format_state_name(arguments.name, "sum");
                let ty = match arguments.is_distinct {
                    false => arguments.return_field.data_type().clone(),
                    true => ArrowType::new_list(ArrowType::Int64, true),
                };
                Ok(vec![Arc::new(Field::new(name, ty, true))])
            }
            fields if are_reals(fields) => {
                let name = format_state_name(arguments.name, "sum");
                let ty = match arguments.is_distinct {
                    false => ArrowType::Float64,
                    true => ArrowType::new_list(ArrowType::Float32, true),
                };
                Ok(vec![Arc::new(Field::new(name, ty, true))])
            }
            _ => self.usual.state_fields(arguments),
        }
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        let fields = arguments.expr_fields;
        let is_distinct = arguments.is_distinct && (are_integers(fields) || are_reals(fields));
        !is_distinct
            && !are_intervals(fields)
            && (are_reals(fields) || self.usual.groups_accumulator_supported(arguments))
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        if is_float(&arguments) {
            return Ok(Box::new(FloatSums {
                sums: Vec::new(),
                are_reals: are_reals(arguments.expr_fields),
            }));
        }
        match is_checked(&arguments) {
            true => Ok(Box::new(IntegerSums {
                ty: arguments.return_field.data_type().clone(),
                sums: Vec::new(),
                seen: Vec::new(),
            })),
            false => self.usual.create_groups_accumulator(arguments),
        }
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        match is_checked(&arguments) {
            true => Ok(Box::new(IntegerSum::of(&arguments))),
            false if is_float(&arguments) => {
                let are_reals = are_reals(arguments.expr_fields);
                Ok(Box::new(Recomputed::new(move || FloatSum::of(are_reals))))
            }
            false if are_reals(arguments.expr_fields) => {
                Ok(Box::new(Recomputed::new(DistinctReals::default)))
            }
            false if are_intervals(arguments.expr_fields) => {
                Ok(Box::new(intervals::Total::new(false, arguments.is_distinct)?))
            }
            false => self.usual.create_sliding_accumulator(arguments),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

fn too_large() -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::statement("22003", "bigint out of range")))
}

/// Returns a sum in the type of the result.
fn typed(sum: Option<i128>, ty: &ArrowType) -> DataFusionResult<ScalarValue> {
    match ty {
        ArrowType::Int64 => {
            let sum = sum.map(i64::try_from).transpose().map_err(|_| too_large())?;
            Ok(ScalarValue::Int64(sum))
        }
        _ => Ok(ScalarValue::Decimal128(sum, DECIMAL128_MAX_PRECISION, 0)),
    }
}

/// Calls `add` with the integers, or sums of such, of an array, and their rows.
fn each_integer(
    values: &ArrayRef,
    mut add: impl FnMut(usize, i128) -> DataFusionResult<()>,
) -> DataFusionResult<()> {
    if let Some(sums) = values.as_primitive_opt::<Decimal128Type>() {
        let mut rows = sums.iter().enumerate();
        return rows.try_for_each(|(row, sum)| sum.map_or(Ok(()), |sum| add(row, sum)));
    }
    if let Some(values) = values.as_primitive_opt::<Int32Type>() {
        let mut rows = values.iter().enumerate();
        return rows.try_for_each(|(row, value)| value.map_or(Ok(()), |value| add(row, i128::from(value))));
    }
    let mut rows = values.as_primitive::<Int64Type>().iter().enumerate();
    rows.try_for_each(|(row, value)| value.map_or(Ok(()), |value| add(row, i128::from(value))))
}

/// The sum of rows, some of which may leave again.
#[derive(Debug)]
struct IntegerSum {
    ty: ArrowType,
    sum: i128,
    rows: u64,
}

impl IntegerSum {
    fn of(arguments: &AccumulatorArgs<'_>) -> Self {
        IntegerSum {
            ty: arguments.return_field.data_type().clone(),
            sum: 0,
            rows: 0,
        }
    }

    /// Returns the sum of the values of an array.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits"
    )]
    fn sum_of(values: &ArrayRef) -> DataFusionResult<i128> {
        if let Some(values) = values.as_primitive_opt::<Int64Type>() {
            return Ok(sum_of(values));
        }
        let mut sum = 0;
        each_integer(values, |_, value| {
            sum += value;
            Ok(())
        })?;
        Ok(sum)
    }
}

impl Accumulator for IntegerSum {
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        for values in values {
            self.sum += IntegerSum::sum_of(values)?;
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
            self.sum -= IntegerSum::sum_of(values)?;
            self.rows -= (values.len() - values.null_count()) as u64;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        typed((self.rows > 0).then_some(self.sum), &self.ty)
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

/// The sum of integers each of which counts once.
#[derive(Debug)]
struct DistinctSum {
    ty: ArrowType,
    seen: HashSet<i64>,
}

impl DistinctSum {
    fn add(&mut self, values: &ArrayRef) -> DataFusionResult<()> {
        each_integer(values, |_, value| {
            self.seen.extend(i64::try_from(value));
            Ok(())
        })
    }
}

impl Accumulator for DistinctSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        values.iter().try_for_each(|values| self.add(values))
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let sum = self.seen.iter().map(|value| i128::from(*value)).sum();
        typed((!self.seen.is_empty()).then_some(sum), &self.ty)
    }

    fn size(&self) -> usize {
        size_of_val(self).saturating_add(self.seen.capacity().saturating_mul(size_of::<i64>()))
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(self.seen.iter().copied()));
        Ok(vec![SingleRowListArrayBuilder::new(values).build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let lists = states
            .iter()
            .flat_map(|lists| lists.as_list::<i32>().iter().flatten());
        lists.into_iter().try_for_each(|values| self.add(&values))
    }
}

/// The sum of floats; states are sums.
#[derive(Debug, Default)]
struct FloatSum {
    sum: Option<f64>,
    are_reals: bool,
}

impl FloatSum {
    fn of(are_reals: bool) -> Self {
        FloatSum { sum: None, are_reals }
    }
}

/// The sum of REALs each of which counts once, by their bits.
#[derive(Debug, Default)]
struct DistinctReals {
    seen: HashSet<u32>,
}

impl Accumulator for DistinctReals {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let reals = values
            .iter()
            .flat_map(|values| values.as_primitive::<Float32Type>());
        // Both zeros are one.
        self.seen
            .extend(reals.flatten().map(|real| (real + 0.0).to_bits()));
        Ok(())
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let mut sum = None;
        for bits in &self.seen {
            add_float(&mut sum, f64::from(f32::from_bits(*bits)))?;
        }
        Ok(ScalarValue::Float32(sum.map(real).transpose()?))
    }

    fn size(&self) -> usize {
        size_of_val(self).saturating_add(self.seen.capacity().saturating_mul(size_of::<u32>()))
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let reals = self.seen.iter().map(|bits| f32::from_bits(*bits));
        let reals: ArrayRef = Arc::new(Float32Array::from_iter_values(reals));
        Ok(vec![SingleRowListArrayBuilder::new(reals).build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let lists = states
            .iter()
            .flat_map(|lists| lists.as_list::<i32>().iter().flatten());
        lists
            .into_iter()
            .try_for_each(|reals| self.update_batch(&[reals]))
    }
}

/// Returns a sum as a REAL. Fails with 22003 where none holds it.
fn real(sum: f64) -> DataFusionResult<f32> {
    let real = sum as f32;
    match real.is_infinite() && sum.is_finite() {
        true => Err(DataFusionError::External(Box::new(SqlError::from(
            ValueError::FloatOverflow,
        )))),
        false => Ok(real),
    }
}

/// Returns floats as DOUBLE.
fn doubles(values: &ArrayRef) -> DataFusionResult<ArrayRef> {
    match values.data_type() {
        ArrowType::Float64 => Ok(values.clone()),
        _ => Ok(cast(values, &ArrowType::Float64)?),
    }
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
        for values in values {
            let doubles = doubles(values)?;
            let mut doubles = doubles.as_primitive::<Float64Type>().iter().flatten();
            doubles.try_for_each(|value| add_float(&mut self.sum, value))?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        match self.are_reals {
            true => Ok(ScalarValue::Float32(self.sum.map(real).transpose()?)),
            false => Ok(ScalarValue::Float64(self.sum)),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Float64(self.sum)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        self.update_batch(states)
    }
}

/// The sums of floats of groups.
struct FloatSums {
    sums: Vec<Option<f64>>,
    are_reals: bool,
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
            let values = doubles(values)?;
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
        if self.are_reals {
            let reals = sums.into_iter().map(|sum| sum.map(real).transpose());
            return Ok(Arc::new(reals.collect::<DataFusionResult<Float32Array>>()?));
        }
        Ok(Arc::new(Float64Array::from(sums)))
    }

    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        let sums = emit.take_needed(&mut self.sums);
        Ok(vec![Arc::new(Float64Array::from(sums))])
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
                None => doubles(values),
                Some(filter) => Ok(nullif(&doubles(values)?, &not(&prep_null_mask_filter(filter))?)?),
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
    ty: ArrowType,
    sums: Vec<i128>,
    /// By group, whether a row was seen that is not NULL.
    seen: Vec<bool>,
}

impl IntegerSums {
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits"
    )]
    fn add(&mut self, group: usize, value: i128) {
        self.sums[group] += value;
        self.seen[group] = true;
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
            each_integer(values, |row, value| {
                if filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row)) {
                    self.add(groups[row], value);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> DataFusionResult<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = emit_to.take_needed(&mut self.seen);
        if self.ty == ArrowType::Int64 {
            let sums = sums
                .into_iter()
                .map(i64::try_from)
                .collect::<Result<Vec<i64>, _>>();
            let sums = sums.map_err(|_| too_large())?;
            return Ok(Arc::new(Int64Array::new(sums.into(), Some(seen.into()))));
        }
        let sums = Decimal128Array::new(sums.into(), Some(seen.into()));
        Ok(Arc::new(sums.with_data_type(self.ty.clone())))
    }

    fn state(&mut self, emit_to: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> DataFusionResult<()> {
        self.update_batch(values, groups, None, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let kept = |values: &ArrayRef| -> DataFusionResult<ArrayRef> {
            let values = cast(values, &self.ty)?;
            match filter {
                None => Ok(values),
                Some(filter) => Ok(nullif(&values, &not(&prep_null_mask_filter(filter))?)?),
            }
        };
        values.iter().map(kept).collect()
    }

    fn size(&self) -> usize {
        let sums = self.sums.capacity().saturating_mul(size_of::<i128>());
        sums.saturating_add(self.seen.capacity())
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
