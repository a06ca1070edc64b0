//! Means, variances and standard deviations of integers and decimals, which are NUMERIC, exact to the digits that PostgreSQL gives; and
//! sums of NUMERICs.
//!
//! The result over values one of which is NaN is NaN.
//!
//! Sums of 128 bits (256 of NUMERICs) and of any size for squares take rows back that leave a frame. Of floats and intervals these
//! aggregates are those of `floats`.

#![warn(clippy::arithmetic_side_effects)]

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, AsArray, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array,
    PrimitiveArray, UInt8Array, UInt64Array,
};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType as ArrowType, Decimal128Type,
    Decimal256Type, DecimalType, Field, FieldRef, Int64Type, UInt8Type, UInt64Type, i256,
};
use datafusion::common::ScalarValue;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
    Volatility,
};
use num_bigint::BigInt;
use rukh_error::SqlError;
use rukh_keys::{DataType, NUMERIC_HALF};

use crate::aggregates::recomputed::sliding;
use crate::errors::external;
use crate::forms::intervals::INTERVAL;
use crate::forms::numerics::{NAN, power_of_ten};
use crate::functions::common::undefined::undefined_function;
use crate::numbers::Number;
use crate::signatures::overloaded::{INT2_DIGITS, INT4_DIGITS, INT8_DIGITS};
use crate::types::arrow_type;
use crate::usual::as_usual;

/// Returns the aggregates in the place of those of floats.
pub fn aggregates(of_floats: Vec<Arc<AggregateUDF>>) -> Vec<Arc<AggregateUDF>> {
    let exact = |usual: Arc<AggregateUDF>| {
        let measure = MEASURES.iter().find(|(name, _)| *name == usual.name());
        match measure {
            None => usual,
            Some((_, measure)) => measure.beside(usual),
        }
    };
    of_floats.into_iter().map(exact).collect()
}

/// Returns `sum`, which is `usual` but of NUMERICs.
pub fn total(usual: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    Measure::Total.beside(usual)
}

const MEASURES: [(&str, Measure); 5] = [
    ("avg", Measure::Mean),
    ("var_pop", Measure::Variance { of_sample: false }),
    ("var", Measure::Variance { of_sample: true }),
    ("stddev_pop", Measure::Deviation { of_sample: false }),
    ("stddev", Measure::Deviation { of_sample: true }),
];

/// The statistic of the values of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Measure {
    /// Of NUMERICs only.
    Total,
    Mean,
    Variance {
        of_sample: bool,
    },
    Deviation {
        of_sample: bool,
    },
}

impl Measure {
    /// Returns the aggregate that is `usual` for types that are not handled here.
    fn beside(self, usual: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
        Arc::new(AggregateUDF::from(Exact {
            usual,
            measure: self,
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    }

    /// Returns the type of the values if it is handled here.
    fn of_exact(self, fields: &[FieldRef]) -> Option<&ArrowType> {
        match fields {
            [field] if self.is_exact(field.data_type()) => Some(field.data_type()),
            _ => None,
        }
    }

    fn is_exact(self, ty: &ArrowType) -> bool {
        match (self, ty) {
            (_, ArrowType::Decimal256(..)) => true,
            (Measure::Total, _) => false,
            (_, ty) => ty.is_signed_integer() || matches!(ty, ArrowType::Decimal128(..)),
        }
    }

    /// Whether there are values enough.
    fn is_defined_for(self, count: u64) -> bool {
        let of_sample = matches!(
            self,
            Measure::Variance { of_sample: true } | Measure::Deviation { of_sample: true }
        );
        count > u64::from(of_sample)
    }

    fn is_linear(self) -> bool {
        matches!(self, Measure::Total | Measure::Mean)
    }

    fn result_type(self, ty: &ArrowType) -> ArrowType {
        match self {
            Measure::Total => match ty {
                ArrowType::Decimal256(precision, scale) => {
                    let wider = precision.saturating_add(10).min(DECIMAL256_MAX_PRECISION);
                    ArrowType::Decimal256(wider, *scale)
                }
                other => other.clone(),
            },
            _ => arrow_type(&DataType::NUMERIC),
        }
    }

    /// Returns the measure of `count` values by their sum and the sum of their squares.
    fn of(
        self,
        count: u64,
        sum: &Number,
        squares: impl FnOnce() -> Number,
    ) -> DataFusionResult<Option<Number>> {
        let value = match self {
            _ if !self.is_defined_for(count) => None,
            Measure::Total => Some(sum.clone()),
            Measure::Mean => Some(
                sum.divided_by(&Number::of_i128(i128::from(count), 0))
                    .map_err(external)?,
            ),
            Measure::Variance { of_sample } => Some(Number::variance(sum, &squares(), count, of_sample)),
            Measure::Deviation { of_sample } => {
                Some(Number::variance(sum, &squares(), count, of_sample).deviation())
            }
        };
        Ok(value)
    }
}

/// Returns a value of a type; `None` is NaN if `is_nan`, and NULL if not.
fn numeric(number: Option<&Number>, is_nan: bool, ty: &ArrowType) -> DataFusionResult<ScalarValue> {
    let ArrowType::Decimal256(precision, scale) = ty else {
        return Err(DataFusionError::Internal("NUMERIC has 256 bits".to_string()));
    };
    let value = number.map(|number| number.to_i256(*scale));
    let value = value.transpose().map_err(external)?;
    Ok(ScalarValue::Decimal256(
        value.or(is_nan.then_some(NAN)),
        *precision,
        *scale,
    ))
}

fn scale_of(ty: &ArrowType) -> i8 {
    match ty {
        ArrowType::Decimal128(_, scale) | ArrowType::Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

/// An aggregate of numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    /// That of floats and intervals.
    usual: Arc<AggregateUDF>,
    measure: Measure,
    signature: Signature,
}

impl AggregateUDFImpl for Exact {
    as_usual!(name aliases set_monotonicity);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Integers are summed as decimals.
    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let [ty] = types else {
            return Err(undefined_function(self.name(), types));
        };
        Ok(vec![match ty {
            ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => ty.clone(),
            ArrowType::Int8 | ArrowType::Int16 => ArrowType::Decimal128(INT2_DIGITS, 0),
            ArrowType::Int32 => ArrowType::Decimal128(INT4_DIGITS, 0),
            ArrowType::Int64 => ArrowType::Decimal128(INT8_DIGITS, 0),
            ArrowType::UInt8 | ArrowType::UInt16 | ArrowType::UInt32 | ArrowType::UInt64 => {
                ArrowType::Decimal128(INT8_DIGITS.saturating_add(1), 0)
            }
            ArrowType::Interval(_) | ArrowType::Duration(_) if self.measure == Measure::Mean => INTERVAL,
            ty if ty.is_floating() || ty.is_null() => ArrowType::Float64,
            _ => return Err(undefined_function(self.name(), types)),
        }])
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ty] if self.measure.is_exact(ty) => Ok(self.measure.result_type(ty)),
            _ => self.usual.return_type(types),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        let Some(ty) = self.measure.of_exact(arguments.expr_fields) else {
            return self.usual.accumulator(arguments);
        };
        if arguments.is_distinct {
            return Ok(Box::new(Distinct {
                measure: self.measure,
                ty: ty.clone(),
                seen: HashSet::new(),
            }));
        }
        Ok(match ty {
            _ if !self.measure.is_linear() => Box::new(Spread::new(self.measure, ty)),
            ArrowType::Decimal256(..) => Box::new(Mean::<Decimal256Type>::new(self.measure, ty)),
            _ => Box::new(Mean::<Decimal128Type>::new(self.measure, ty)),
        })
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        match self.measure.of_exact(arguments.expr_fields) {
            Some(_) => self.accumulator(arguments),
            None if self.measure == Measure::Total => self.usual.create_sliding_accumulator(arguments),
            None => sliding(&self.usual, arguments),
        }
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        let Some(ty) = self.measure.of_exact(arguments.input_fields) else {
            return self.usual.state_fields(arguments);
        };
        let field = |part: &str, ty: ArrowType| {
            Arc::new(Field::new(format_state_name(arguments.name, part), ty, true))
        };
        if arguments.is_distinct {
            let values = Field::new_list_field(ty.clone(), true);
            return Ok(vec![field("values", ArrowType::List(Arc::new(values)))]);
        }
        Ok(match self.measure {
            Measure::Total | Measure::Mean => {
                let digits = shows_digits(ty).then(|| field("digits", ArrowType::UInt8));
                let sum = [field("count", ArrowType::UInt64), field("sum", sum_type(ty))];
                sum.into_iter().chain(digits).collect()
            }
            _ => vec![
                field("count", ArrowType::UInt64),
                field("sum", ArrowType::Binary),
                field("squares", ArrowType::Binary),
                field("digits", ArrowType::Int64),
                field("nans", ArrowType::UInt64),
            ],
        })
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        match self.measure.of_exact(arguments.expr_fields) {
            Some(_) => self.measure.is_linear() && !arguments.is_distinct,
            None => self.usual.groups_accumulator_supported(arguments),
        }
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        let Some(ty) = self.measure.of_exact(arguments.expr_fields) else {
            return self.usual.create_groups_accumulator(arguments);
        };
        Ok(match ty {
            ArrowType::Decimal256(..) => Box::new(Means::<Decimal256Type>::new(self.measure, ty)),
            _ => Box::new(Means::<Decimal128Type>::new(self.measure, ty)),
        })
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// The type of a sum of values of a type.
fn sum_type(ty: &ArrowType) -> ArrowType {
    match ty {
        ArrowType::Decimal256(_, scale) => ArrowType::Decimal256(DECIMAL256_MAX_PRECISION, *scale),
        ty => ArrowType::Decimal128(DECIMAL128_MAX_PRECISION, scale_of(ty)),
    }
}

/// Whether values of a type show digits of their own, as NUMERICs without a scale do: how many is a part of the states.
fn shows_digits(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Decimal256(_, scale) if scale.unsigned_abs() == NUMERIC_HALF)
}

/// Decimals of one width.
trait Digits: DecimalType + std::fmt::Debug {
    fn number(value: Self::Native, scale: i8) -> Number;

    /// NaN, which is added to no other; 0 where there is none.
    const NAN: Self::Native;

    fn is_nan(value: Self::Native) -> bool;

    /// Returns the most digits after the point that are shown of a value of scale [`NUMERIC_HALF`] or, `least`, of others.
    fn digits(value: Self::Native, least: u8) -> u8;
}

impl Digits for Decimal128Type {
    const NAN: i128 = 0;

    fn number(value: i128, scale: i8) -> Number {
        Number::of_i128(value, scale)
    }

    fn is_nan(_: i128) -> bool {
        false
    }

    fn digits(_: i128, least: u8) -> u8 {
        least
    }
}

impl Digits for Decimal256Type {
    const NAN: i256 = NAN;

    fn number(value: i256, scale: i8) -> Number {
        Number::of_i256(value, scale)
    }

    fn is_nan(value: i256) -> bool {
        value == NAN
    }

    fn digits(value: i256, least: u8) -> u8 {
        let has = |digits: &u8| {
            let unit = power_of_ten(NUMERIC_HALF.saturating_sub(*digits));
            value.checked_rem(unit) == Some(i256::ZERO)
        };
        (least..NUMERIC_HALF).find(has).unwrap_or(NUMERIC_HALF)
    }
}

fn no_states() -> DataFusionError {
    DataFusionError::Internal("a mean has a count and a sum".to_string())
}

fn too_large() -> DataFusionError {
    external(SqlError::statement("22003", "numeric field overflow"))
}

/// The sum or mean of rows, some of which may leave again.
#[derive(Debug)]
struct Mean<T: Digits> {
    measure: Measure,
    result: ArrowType,
    scale: i8,
    count: u64,
    /// How many values are NaN; the sum is that of the others.
    nans: u64,
    /// Most digits after the point that a value has shown, if they show any.
    digits: Option<u8>,
    sum: T::Native,
}

impl<T: Digits> Mean<T> {
    fn new(measure: Measure, ty: &ArrowType) -> Self {
        Mean {
            measure,
            result: measure.result_type(ty),
            scale: scale_of(ty),
            count: 0,
            nans: 0,
            digits: shows_digits(ty).then_some(0),
            sum: T::Native::ZERO,
        }
    }

    fn add(&mut self, value: T::Native) -> DataFusionResult<()> {
        if T::is_nan(value) {
            self.nans = self.nans.saturating_add(1);
            return Ok(());
        }
        self.digits = self.digits.map(|digits| T::digits(value, digits));
        self.sum = self.sum.add_checked(value).map_err(|_| too_large())?;
        Ok(())
    }
}

impl<T: Digits> Accumulator for Mean<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        for values in values {
            let present = values.len().saturating_sub(values.null_count());
            self.count = self.count.saturating_add(present as u64);
            let mut values = values.as_primitive::<T>().iter().flatten();
            values.try_for_each(|value| self.add(value))?;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        for values in values {
            let present = values.len().saturating_sub(values.null_count());
            self.count = self.count.saturating_sub(present as u64);
            for value in values.as_primitive::<T>().iter().flatten() {
                match T::is_nan(value) {
                    true => self.nans = self.nans.saturating_sub(1),
                    false => self.sum = self.sum.sub_checked(value).map_err(|_| too_large())?,
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        if self.nans > 0 {
            return numeric(None, true, &self.result);
        }
        let sum = T::number(self.sum, self.scale).with_digits(self.digits.unwrap_or_default());
        let value = self.measure.of(self.count, &sum, || sum.clone())?;
        numeric(value.as_ref(), false, &self.result)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let sum = match self.nans {
            0 => self.sum,
            _ => T::NAN,
        };
        let sum: PrimitiveArray<T> = std::iter::once((self.count > 0).then_some(sum)).collect();
        let sum = sum.with_precision_and_scale(T::MAX_PRECISION, self.scale)?;
        let digits = self.digits.map(|digits| ScalarValue::UInt8(Some(digits)));
        let states = [
            ScalarValue::UInt64(Some(self.count)),
            ScalarValue::try_from_array(&sum, 0)?,
        ];
        Ok(states.into_iter().chain(digits).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let [counts, sums, digits @ ..] = states else {
            return Err(no_states());
        };
        let digits = digits
            .first()
            .and_then(|digits| digits.as_primitive::<UInt8Type>().iter().flatten().max());
        self.digits = self.digits.map(|most| most.max(digits.unwrap_or_default()));
        for count in counts.as_primitive::<UInt64Type>().iter().flatten() {
            self.count = self.count.saturating_add(count);
        }
        let mut sums = sums.as_primitive::<T>().iter().flatten();
        sums.try_for_each(|sum| self.add(sum))
    }
}

/// The sums or means of groups.
struct Means<T: Digits> {
    measure: Measure,
    result: ArrowType,
    scale: i8,
    counts: Vec<u64>,
    /// NaN stays what it is.
    sums: Vec<T::Native>,
    /// Most digits after the point that a value has shown, if they show any.
    digits: Option<Vec<u8>>,
}

impl<T: Digits> Means<T> {
    fn new(measure: Measure, ty: &ArrowType) -> Self {
        Means {
            measure,
            result: measure.result_type(ty),
            scale: scale_of(ty),
            counts: Vec::new(),
            sums: Vec::new(),
            digits: shows_digits(ty).then(Vec::new),
        }
    }

    fn resize(&mut self, count: usize) {
        self.counts.resize(count, 0);
        self.sums.resize(count, T::Native::ZERO);
        if let Some(digits) = &mut self.digits {
            digits.resize(count, 0);
        }
    }

    fn add(&mut self, group: usize, count: u64, value: T::Native) -> DataFusionResult<()> {
        self.counts[group] = self.counts[group].saturating_add(count);
        let sum = &mut self.sums[group];
        if T::is_nan(value) || T::is_nan(*sum) {
            *sum = T::NAN;
            return Ok(());
        }
        if let Some(digits) = &mut self.digits {
            digits[group] = T::digits(value, digits[group]);
        }
        *sum = sum.add_checked(value).map_err(|_| too_large())?;
        Ok(())
    }

    fn sum_array(&self, sums: PrimitiveArray<T>) -> DataFusionResult<ArrayRef> {
        Ok(Arc::new(
            sums.with_precision_and_scale(T::MAX_PRECISION, self.scale)?,
        ))
    }
}

impl<T: Digits> GroupsAccumulator for Means<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> DataFusionResult<()> {
        self.resize(count);
        for values in values {
            for (row, (value, group)) in values.as_primitive::<T>().iter().zip(groups).enumerate() {
                let is_kept = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
                if let Some(value) = value.filter(|_| is_kept) {
                    self.add(*group, 1, value)?;
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        let counts = emit.take_needed(&mut self.counts);
        let sums = emit.take_needed(&mut self.sums);
        let digits = self.digits.as_mut().map(|digits| emit.take_needed(digits));
        let digits = digits.unwrap_or_else(|| vec![0; counts.len()]);
        let ArrowType::Decimal256(precision, scale) = self.result else {
            return Err(DataFusionError::Internal("NUMERIC has 256 bits".to_string()));
        };
        let results = counts
            .into_iter()
            .zip(sums)
            .zip(digits)
            .map(|((count, sum), digits)| {
                if T::is_nan(sum) {
                    return Ok(Some(NAN));
                }
                let sum = T::number(sum, self.scale).with_digits(digits);
                let result = self.measure.of(count, &sum, || sum.clone())?;
                result
                    .map(|result| result.to_i256(scale).map_err(external))
                    .transpose()
            });
        let results = results.collect::<DataFusionResult<Decimal256Array>>()?;
        Ok(Arc::new(results.with_precision_and_scale(precision, scale)?))
    }

    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        let counts = emit.take_needed(&mut self.counts);
        let sums = emit.take_needed(&mut self.sums);
        let digits = self.digits.as_mut().map(|digits| emit.take_needed(digits));
        let digits = digits.map(|digits| Arc::new(UInt8Array::from(digits)) as ArrayRef);
        let sums = sums
            .into_iter()
            .zip(&counts)
            .map(|(sum, count)| (*count > 0).then_some(sum));
        let sums = self.sum_array(sums.collect())?;
        let counts: ArrayRef = Arc::new(UInt64Array::from(counts));
        Ok([counts, sums].into_iter().chain(digits).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> DataFusionResult<()> {
        self.resize(count);
        let [counts, sums, digits @ ..] = states else {
            return Err(no_states());
        };
        let states = counts
            .as_primitive::<UInt64Type>()
            .iter()
            .zip(sums.as_primitive::<T>().iter());
        for ((count, sum), group) in states.zip(groups) {
            if let (Some(count), Some(sum)) = (count, sum) {
                self.add(*group, count, sum)?;
            }
        }
        if let (Some(most), [digits]) = (&mut self.digits, digits) {
            for (digits, group) in digits.as_primitive::<UInt8Type>().iter().zip(groups) {
                most[*group] = most[*group].max(digits.unwrap_or_default());
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let [values] = values else {
            return Err(DataFusionError::Internal("a mean is of one value".to_string()));
        };
        let is_kept = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        let values = values.as_primitive::<T>().iter().enumerate();
        let values: PrimitiveArray<T> = values
            .map(|(row, value)| value.filter(|_| is_kept(row)))
            .collect();
        let counts = values.iter().map(|value| u64::from(value.is_some()));
        let counts = UInt64Array::from_iter_values(counts);
        let digits = self.digits.as_ref().map(|_| {
            let digits = values
                .iter()
                .map(|value| value.map_or(0, |value| T::digits(value, 0)));
            Arc::new(UInt8Array::from_iter_values(digits)) as ArrayRef
        });
        let counts: ArrayRef = Arc::new(counts);
        Ok([counts, self.sum_array(values)?]
            .into_iter()
            .chain(digits)
            .collect())
    }

    fn size(&self) -> usize {
        let counts = self.counts.capacity().saturating_mul(size_of::<u64>());
        counts.saturating_add(self.sums.capacity().saturating_mul(size_of::<T::Native>()))
    }
}

/// A sum of any size: most of it in 128 bits.
#[derive(Clone, Debug, Default)]
struct Sum {
    small: i128,
    large: BigInt,
}

#[expect(clippy::arithmetic_side_effects, reason = "numbers of any size")]
impl Sum {
    fn add(&mut self, value: i128) {
        match self.small.checked_add(value) {
            Some(small) => self.small = small,
            None => {
                self.large += self.small;
                self.small = value;
            }
        }
    }

    /// Adds a product, or takes it away.
    fn add_product(&mut self, left: i256, right: i256, is_taken: bool) {
        let product = match (left.to_i128(), right.to_i128()) {
            (Some(left), Some(right)) => left.checked_mul(right).filter(|product| *product != i128::MIN),
            _ => None,
        };
        match product {
            Some(product) => self.add(if is_taken { -product } else { product }),
            None => {
                let product = big(left) * big(right);
                self.large += if is_taken { -product } else { product };
            }
        }
    }

    fn total(&self) -> BigInt {
        &self.large + self.small
    }
}

fn big(value: i256) -> BigInt {
    BigInt::from_signed_bytes_le(&value.to_le_bytes())
}

/// Returns the values of an array that are not NULL.
fn values_of(array: &ArrayRef) -> Vec<i256> {
    match array.data_type() {
        ArrowType::Decimal256(..) => array.as_primitive::<Decimal256Type>().iter().flatten().collect(),
        _ => {
            let values = array.as_primitive::<Decimal128Type>().iter().flatten();
            values.map(i256::from_i128).collect()
        }
    }
}

/// The variance or standard deviation of rows, some of which may leave again.
#[derive(Debug)]
struct Spread {
    measure: Measure,
    result: ArrowType,
    scale: i8,
    /// Most digits after the point that a value has shown.
    digits: i64,
    count: u64,
    /// How many values are NaN; the sums are those of the others.
    nans: u64,
    sum: Sum,
    squares: Sum,
}

impl Spread {
    fn new(measure: Measure, ty: &ArrowType) -> Self {
        let scale = scale_of(ty);
        Spread {
            measure,
            result: measure.result_type(ty),
            scale,
            digits: match scale.unsigned_abs() {
                NUMERIC_HALF => 0,
                digits => i64::from(digits),
            },
            count: 0,
            nans: 0,
            sum: Sum::default(),
            squares: Sum::default(),
        }
    }

    /// Adds a value, or takes it away.
    fn add(&mut self, value: i256, is_taken: bool) {
        let count = |count: u64| match is_taken {
            false => count.saturating_add(1),
            true => count.saturating_sub(1),
        };
        self.count = count(self.count);
        if value == NAN {
            self.nans = count(self.nans);
            return;
        }
        // A NUMERIC without digits shows those that it has.
        if self.scale.unsigned_abs() == NUMERIC_HALF {
            self.digits = self.digits.max(Number::of_i256(value, self.scale).scale());
        }
        self.sum.add_product(value, i256::ONE, is_taken);
        self.squares.add_product(value, value, is_taken);
    }

    fn take(&mut self, values: &[ArrayRef], is_taken: bool) {
        for value in values.iter().flat_map(values_of) {
            self.add(value, is_taken);
        }
    }
}

impl Accumulator for Spread {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        self.take(values, false);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        self.take(values, true);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        if self.nans > 0 && self.measure.is_defined_for(self.count) {
            return numeric(None, true, &self.result);
        }
        let scale = i64::from(self.scale);
        let sum = Number::new(self.sum.total(), scale).rounded(self.digits);
        let squares = || {
            let squares = Number::new(self.squares.total(), scale.saturating_mul(2));
            squares.rounded(self.digits.saturating_mul(2))
        };
        let value = self.measure.of(self.count, &sum, squares)?;
        numeric(value.as_ref(), false, &self.result)
    }

    fn size(&self) -> usize {
        let large = |sum: &Sum| usize::try_from(sum.large.bits() / 8).unwrap_or(usize::MAX);
        size_of_val(self)
            .saturating_add(large(&self.sum))
            .saturating_add(large(&self.squares))
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let bytes = |sum: &Sum| ScalarValue::Binary(Some(sum.total().to_signed_bytes_le()));
        Ok(vec![
            ScalarValue::UInt64(Some(self.count)),
            bytes(&self.sum),
            bytes(&self.squares),
            ScalarValue::Int64(Some(self.digits)),
            ScalarValue::UInt64(Some(self.nans)),
        ])
    }

    #[expect(clippy::arithmetic_side_effects, reason = "numbers of any size")]
    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let [counts, sums, squares, digits, nans] = states else {
            return Err(DataFusionError::Internal(
                "a variance has five states".to_string(),
            ));
        };
        let total = |counts: &ArrayRef| counts.as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
        self.count = self.count.saturating_add(total(counts));
        self.nans = self.nans.saturating_add(total(nans));
        let digits = digits.as_primitive::<Int64Type>().iter().flatten().max();
        self.digits = self.digits.max(digits.unwrap_or_default());
        let total = |states: &ArrayRef| -> BigInt {
            let states: &BinaryArray = states.as_binary();
            states.iter().flatten().map(BigInt::from_signed_bytes_le).sum()
        };
        self.sum.large += total(sums);
        self.squares.large += total(squares);
        Ok(())
    }
}

/// The measure of values each of which counts once.
#[derive(Debug)]
struct Distinct {
    measure: Measure,
    ty: ArrowType,
    seen: HashSet<i256>,
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        self.seen.extend(values.iter().flat_map(values_of));
        Ok(())
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let mut spread = Spread::new(self.measure, &self.ty);
        self.seen.iter().for_each(|value| spread.add(*value, false));
        spread.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self).saturating_add(self.seen.capacity().saturating_mul(size_of::<i256>()))
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let values: ArrayRef = match &self.ty {
            ArrowType::Decimal256(..) => {
                let values = Decimal256Array::from_iter_values(self.seen.iter().copied());
                Arc::new(values.with_data_type(self.ty.clone()))
            }
            ty => {
                let values = self.seen.iter().filter_map(|value| value.to_i128());
                Arc::new(Decimal128Array::from_iter_values(values).with_data_type(ty.clone()))
            }
        };
        Ok(vec![SingleRowListArrayBuilder::new(values).build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        for lists in states {
            let lists = lists.as_list::<i32>().iter().flatten();
            lists.for_each(|values| self.seen.extend(values_of(&values)));
        }
        Ok(())
    }
}
