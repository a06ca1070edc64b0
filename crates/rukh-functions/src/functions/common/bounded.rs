//! Functions that make much of little, held to what a server can spare: `repeat('x', 2000000000)` is an error (54000), not
//! the end of the process.
//!
//! | function                               | counts, before it runs                                   |
//! |----------------------------------------|----------------------------------------------------------|
//! | `repeat`, `lpad`, `rpad`               | the bytes of all texts of a batch                         |
//! | `replace`                              | the bytes by which they grow                              |
//! | `generate_series`, `range`             | the elements of all arrays of a batch                      |
//! | `array_repeat`, `array_resize`         | the elements, each with the bytes of what is repeated       |
//!
//! In FROM `generate_series` makes rows as they are read, and has no bound.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Date32Type, Field, FieldRef, Int64Type, IntervalMonthDayNanoType, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::{string, unicode};
use datafusion::functions_nested::{range, repeat, resize};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use rukh_error::SqlError;
use rukh_keys::DataType;

use crate::forms::intervals::INTERVAL;
use crate::functions::common::undefined::undefined_function;
use crate::types::arrow_type;

/// Bytes that one call makes of a batch at most.
const BYTES_MAX: u128 = 64 << 20;

/// Bytes that an element of an array takes at least.
const ELEMENT_BYTES: u128 = 16;

/// The function whose arguments take types of their own.
const SERIES: &str = "generate_series";

/// Nanoseconds from 1970 to the year 262142.
const FAR_NANOS: i128 = 8_210_298_412_800_000_000_000;

const DAY_NANOS: u128 = 86_400_000_000_000;

/// Returns the functions, which take the place of DataFusion's.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let all: [(Arc<ScalarUDF>, Cost); 8] = [
        (string::repeat(), repeated),
        (unicode::lpad(), padded),
        (unicode::rpad(), padded),
        (string::replace(), replaced),
        (range::gen_series_udf(), series),
        (range::range_udf(), series),
        (repeat::array_repeat_udf(), elements),
        (resize::array_resize_udf(), elements_of_second),
    ];
    all.into_iter().map(|(inner, cost)| {
        let signature = match inner.name() {
            SERIES => Signature::user_defined(Volatility::Immutable),
            _ => inner.signature().clone(),
        };
        let cost = Estimate(cost);
        Arc::new(ScalarUDF::from(Bounded {
            inner,
            signature,
            cost,
        }))
    })
}

/// Returns how many bytes a call makes of the values of a row.
type Cost = fn(&[ArrayRef], &dyn Fn(usize) -> usize) -> u128;

#[derive(Clone, Copy)]
struct Estimate(Cost);

impl std::fmt::Debug for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("estimate")
    }
}

/// A function of DataFusion, and what its calls cost.
#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    signature: Signature,
    cost: Estimate,
}

impl Bounded {
    /// Whether this is a series of INTEGER, which DataFusion has of BIGINT.
    fn is_of_integers(&self, types: &[ArrowType]) -> bool {
        self.name() == SERIES && types.first() == Some(&ArrowType::Int32)
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl std::hash::Hash for Bounded {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            // A parameter without a type, or NULL, is a moment beside one.
            [from, to, step] if self.name() == SERIES && are_moments(from, to) => {
                let step = match step.is_string() || step.is_null() {
                    true => INTERVAL,
                    false => step.clone(),
                };
                let local = arrow_type(&DataType::TIMESTAMP);
                // Days are instants, as in PostgreSQL.
                let is_local = |end: &ArrowType| *end == local || end.is_null();
                let moment = match is_local(from) && is_local(to) {
                    true => local,
                    false => arrow_type(&DataType::TIMESTAMP_TZ),
                };
                Ok(vec![moment.clone(), moment, step])
            }
            [] => Err(undefined_function(SERIES, types)),
            all if self.name() == SERIES && all.len() <= 3 && all.iter().all(is_whole) => {
                Ok(vec![whole_type(all); all.len()])
            }
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match self.is_of_integers(types) {
            true => Ok(integers()),
            false => self.inner.return_type(types),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let types = arguments.arg_fields.iter().map(|field| field.data_type().clone());
        match self.is_of_integers(&types.collect::<Vec<_>>()) {
            true => Ok(Arc::new(Field::new(self.name(), integers(), true))),
            false => self.inner.return_field_from_args(arguments),
        }
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let types = arguments.args.iter().map(ColumnarValue::data_type);
        if self.is_of_integers(&types.collect::<Vec<_>>()) {
            for value in &mut arguments.args {
                *value = value.cast_to(&ArrowType::Int64, None)?;
            }
            let wide = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(ArrowType::Int64));
            arguments.arg_fields = arguments.arg_fields.iter().map(wide).collect();
            return self.invoke_with_args(arguments)?.cast_to(&integers(), None);
        }
        if matches!(self.name(), "lpad" | "rpad")
            && let Some(length) = arguments.args.get_mut(1)
        {
            *length = at_least_zero(length)?;
        }
        let one = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let rows = match arguments.args.iter().all(one) {
            true => 1,
            false => arguments.number_rows,
        };
        let constant: Vec<bool> = arguments.args.iter().map(one).collect();
        // A constant is an array of one value, whatever the row.
        let values = arguments.args.iter().map(|value| match value {
            ColumnarValue::Array(array) => Ok(array.clone()),
            ColumnarValue::Scalar(value) => value.to_array(),
        });
        let values: Vec<ArrayRef> = values.collect::<DataFusionResult<_>>()?;
        let mut bytes: u128 = 0;
        let mut nulls = Vec::new();
        for row in 0..rows {
            let place = |argument: usize| {
                if constant.get(argument) == Some(&true) {
                    0
                } else {
                    row
                }
            };
            let is_null = values
                .iter()
                .enumerate()
                .any(|(at, array)| array.is_null(place(at)));
            if is_null && !matches!(self.name(), "array_repeat" | "array_resize") {
                nulls.push(row);
                continue;
            }
            bytes = bytes.saturating_add((self.cost.0)(&values, &place));
            if bytes > BYTES_MAX {
                let message = format!("requested length too large in {}()", self.name());
                let error = SqlError::statement("54000", message)
                    .with_hint("A function makes at most 64 MiB at once.");
                return Err(DataFusionError::External(Box::new(error)));
            }
        }
        if matches!(self.name(), "lpad" | "rpad")
            && let Some(length) = arguments.args.get_mut(1)
        {
            *length = without_lengths(length, rows, &nulls)?;
        }
        self.inner.invoke_with_args(arguments)
    }
}

/// Returns lengths, 0 for rows whose results are NULL: DataFusion makes room for all of them before it looks at the texts.
fn without_lengths(length: &ColumnarValue, rows: usize, nulls: &[usize]) -> DataFusionResult<ColumnarValue> {
    match length {
        _ if nulls.is_empty() => Ok(length.clone()),
        ColumnarValue::Scalar(one) if one.is_null() => Ok(length.clone()),
        ColumnarValue::Scalar(_) if nulls.len() == rows => {
            Ok(ColumnarValue::Scalar(ScalarValue::Int64(Some(0))))
        }
        _ => {
            let lengths = length.to_array(rows)?;
            let mut lengths: Vec<Option<i64>> = lengths.as_primitive::<Int64Type>().iter().collect();
            for row in nulls {
                if let Some(Some(length)) = lengths.get_mut(*row) {
                    *length = 0;
                }
            }
            Ok(ColumnarValue::Array(Arc::new(Int64Array::from(lengths))))
        }
    }
}

fn is_whole(ty: &ArrowType) -> bool {
    ty.is_integer() || ty.is_null()
}

/// Returns the type of the ends of a series: INTEGER where none is a BIGINT, as in PostgreSQL.
fn whole_type(ends: &[ArrowType]) -> ArrowType {
    let is_wide = |ty: &ArrowType| matches!(ty, ArrowType::Int64 | ArrowType::UInt64 | ArrowType::UInt32);
    match ends.iter().any(is_wide) || ends.iter().all(ArrowType::is_null) {
        true => ArrowType::Int64,
        false => ArrowType::Int32,
    }
}

fn integers() -> ArrowType {
    ArrowType::new_list(ArrowType::Int32, true)
}

/// Whether the ends of a series are moments, one of them perhaps NULL.
fn are_moments(from: &ArrowType, to: &ArrowType) -> bool {
    match (is_moment(from), is_moment(to)) {
        (true, is_other) => is_other || to.is_null(),
        (false, is_other) => is_other && from.is_null(),
    }
}

fn is_moment(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Date32 | ArrowType::Timestamp(..))
}

/// Returns lengths, 0 for those that are negative: DataFusion's functions take them for very long ones.
fn at_least_zero(length: &ColumnarValue) -> DataFusionResult<ColumnarValue> {
    let lengths = cast(&length.to_array(1)?, &ArrowType::Int64)?;
    let lengths: Int64Array = lengths.as_primitive::<Int64Type>().unary(|length| length.max(0));
    match length {
        ColumnarValue::Scalar(_) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&lengths, 0)?)),
        ColumnarValue::Array(_) => Ok(ColumnarValue::Array(Arc::new(lengths))),
    }
}

/// Returns an argument as an integer, if it is there and one.
fn integer(values: &[ArrayRef], argument: usize, place: &dyn Fn(usize) -> usize) -> Option<i64> {
    let array = values.get(argument)?;
    let at = place(argument);
    if at >= array.len() || array.is_null(at) {
        return None;
    }
    let one = cast(&array.slice(at, 1), &ArrowType::Int64).ok()?;
    one.is_valid(0).then(|| one.as_primitive::<Int64Type>().value(0))
}

/// Returns an argument as text, if it is there and one.
fn text<'a>(values: &'a [ArrayRef], argument: usize, place: &dyn Fn(usize) -> usize) -> Option<&'a str> {
    let array = values.get(argument)?;
    let at = place(argument);
    if at >= array.len() || array.is_null(at) {
        return None;
    }
    match array.data_type() {
        ArrowType::Utf8 => Some(array.as_string::<i32>().value(at)),
        ArrowType::LargeUtf8 => Some(array.as_string::<i64>().value(at)),
        ArrowType::Utf8View => Some(array.as_string_view().value(at)),
        _ => None,
    }
}

fn bytes_of(values: &[ArrayRef], argument: usize, place: &dyn Fn(usize) -> usize) -> u128 {
    text(values, argument, place).map_or(0, |text| text.len() as u128)
}

fn count_of(values: &[ArrayRef], argument: usize, place: &dyn Fn(usize) -> usize) -> u128 {
    integer(values, argument, place).map_or(0, |count| count.max(0) as u128)
}

fn repeated(values: &[ArrayRef], place: &dyn Fn(usize) -> usize) -> u128 {
    bytes_of(values, 0, place).saturating_mul(count_of(values, 1, place))
}

fn padded(values: &[ArrayRef], place: &dyn Fn(usize) -> usize) -> u128 {
    count_of(values, 1, place)
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "lengths, spans and steps of 64 bits and less, multiplied in 128"
)]
fn replaced(values: &[ArrayRef], place: &dyn Fn(usize) -> usize) -> u128 {
    let (Some(whole), Some(from)) = (text(values, 0, place), text(values, 1, place)) else {
        return 0;
    };
    let to = bytes_of(values, 2, place);
    let grows = to > from.len() as u128;
    match grows && !from.is_empty() {
        true => (whole.matches(from).count() as u128).saturating_mul(to),
        false => whole.len() as u128 * u128::from(grows) * to,
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "lengths, spans and steps of 64 bits and less, multiplied in 128"
)]
fn elements(values: &[ArrayRef], place: &dyn Fn(usize) -> usize) -> u128 {
    let each = values.first().map_or(0, |array| match array.len() {
        0 => 0,
        rows => (array.get_array_memory_size() / rows) as u128,
    });
    count_of(values, 1, place).saturating_mul(each.max(ELEMENT_BYTES))
}

fn elements_of_second(values: &[ArrayRef], place: &dyn Fn(usize) -> usize) -> u128 {
    count_of(values, 1, place).saturating_mul(ELEMENT_BYTES)
}

/// Counts the steps from the first value to the last.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "lengths, spans and steps of 64 bits and less, multiplied in 128"
)]
fn series(values: &[ArrayRef], place: &dyn Fn(usize) -> usize) -> u128 {
    let span = |first: i128, last: i128| first.abs_diff(last);
    let steps = match values.first().map(|array| array.data_type()) {
        Some(ArrowType::Timestamp(..)) => {
            let micros = ArrowType::Timestamp(TimeUnit::Microsecond, None);
            let time = |argument: usize| {
                let times = cast(values.get(argument)?, &micros).ok()?;
                let times = times.as_primitive_opt::<TimestampMicrosecondType>()?;
                let at = place(argument);
                (at < times.len() && times.is_valid(at)).then(|| i128::from(times.value(at)) * 1_000)
            };
            // Infinity, and years with which DataFusion does not count.
            let is_far = |nanos: i128| nanos.abs() > FAR_NANOS;
            match (time(0), time(1)) {
                (Some(first), Some(last)) if is_far(first) || is_far(last) => return u128::MAX,
                (Some(first), Some(last)) => span(first, last) / step_nanos(values, place).max(1),
                _ => 0,
            }
        }
        Some(ArrowType::Date32) => {
            let day = |argument: usize| {
                let days = values.get(argument)?.as_primitive_opt::<Date32Type>()?;
                let at = place(argument);
                (at < days.len() && days.is_valid(at)).then(|| i128::from(days.value(at)))
            };
            match (day(0), day(1)) {
                (Some(first), Some(last)) => span(first, last) * DAY_NANOS / step_nanos(values, place).max(1),
                _ => 0,
            }
        }
        _ => {
            let ends = match integer(values, 1, place) {
                Some(last) => (integer(values, 0, place).unwrap_or(0), last),
                None => (0, integer(values, 0, place).unwrap_or(0)),
            };
            let step = integer(values, 2, place).unwrap_or(1);
            span(i128::from(ends.0), i128::from(ends.1)) / u128::from(step.unsigned_abs().max(1))
        }
    };
    steps.saturating_mul(ELEMENT_BYTES)
}

/// Returns the least that a step of times is, in nanoseconds.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "lengths, spans and steps of 64 bits and less, multiplied in 128"
)]
fn step_nanos(values: &[ArrayRef], place: &dyn Fn(usize) -> usize) -> u128 {
    let Some(steps) = values
        .get(2)
        .and_then(|array| array.as_primitive_opt::<IntervalMonthDayNanoType>())
    else {
        return DAY_NANOS;
    };
    let at = place(2);
    if at >= steps.len() || steps.is_null(at) {
        return DAY_NANOS;
    }
    let step = steps.value(at);
    let days = u128::from(step.months.unsigned_abs()) * 28 + u128::from(step.days.unsigned_abs());
    days * DAY_NANOS + u128::from(step.nanoseconds.unsigned_abs())
}
