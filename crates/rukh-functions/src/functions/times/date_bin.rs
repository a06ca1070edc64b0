//! `date_bin(stride, x, origin)`: the beginning of the bin that a moment is in, in microseconds and for all years. DataFusion's counts
//! nanoseconds, takes strides of months and of negative length, and no strides that are columns. Without an origin it is 1970.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, is_infinite_timestamp};

use crate::forms::intervals::{INTERVAL, interval_of};
use crate::functions::common::undefined::undefined_function;

/// Returns the function.
pub fn date_bin() -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(DateBin { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateBin {
    signature: Signature,
}

impl ScalarUDFImpl for DateBin {
    fn name(&self) -> &str {
        "date_bin"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let micros = |zone: &Option<Arc<str>>| ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone());
        match types {
            [ArrowType::Interval(_), ArrowType::Timestamp(_, zone)] => Ok(vec![INTERVAL, micros(zone)]),
            [
                ArrowType::Interval(_),
                ArrowType::Timestamp(_, zone),
                ArrowType::Timestamp(..),
            ] => Ok(vec![INTERVAL, micros(zone), micros(zone)]),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [_, moment, ..] => Ok(moment.clone()),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        let is_constant = |at: usize| {
            let of: Option<&ExprProperties> = input.get(at);
            of.is_none_or(|of| of.sort_properties == SortProperties::Singleton)
        };
        match input.get(1) {
            Some(moment) if is_constant(0) && is_constant(2) => Ok(moment.sort_properties),
            _ => Ok(SortProperties::Unordered),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let is_one = arguments.args.iter().all(is_scalar);
        let made = binned(&arguments)?;
        let made: ArrayRef = Arc::new(made);
        let made = cast(&made, arguments.return_type())?;
        match is_one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

/// Returns the beginnings of bins, with the zone of the moments.
fn binned(arguments: &ScalarFunctionArgs) -> DataFusionResult<TimestampMicrosecondArray> {
    let rows = arguments.number_rows;
    let ArrowType::Timestamp(_, zone) = arguments.return_type() else {
        return Err(DataFusionError::Internal(
            "date_bin gives a timestamp".to_string(),
        ));
    };
    let moments = match arguments.args.get(1) {
        Some(ColumnarValue::Array(moments)) => moments.clone(),
        Some(ColumnarValue::Scalar(moment)) => {
            let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
            moment.to_array_of_size(if arguments.args.iter().all(is_scalar) {
                1
            } else {
                rows
            })?
        }
        None => return Err(undefined_function("date_bin", &[])),
    };
    let moments = moments.as_primitive::<TimestampMicrosecondType>();
    let one_stride = match &arguments.args[0] {
        ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(stride)) => Some(*stride),
        _ => None,
    };
    let one_origin = match arguments.args.get(2) {
        None => Some(Some(0)),
        Some(ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(origin, _))) => Some(*origin),
        _ => None,
    };
    let made: TimestampMicrosecondArray = match (one_stride, one_origin) {
        (Some(Some(stride)), Some(Some(origin)))
            if moments
                .iter()
                .flatten()
                .any(|moment| !is_infinite_timestamp(moment)) =>
        {
            let stride = micros(stride)?;
            moments.unary(|moment| bin(stride, moment, origin))
        }
        _ => {
            let strides = arguments.args[0].to_array(moments.len())?;
            let strides = cast(&strides, &INTERVAL)?;
            let strides = strides.as_primitive::<IntervalMonthDayNanoType>();
            let origins = match arguments.args.get(2) {
                Some(origins) => Some(origins.to_array(moments.len())?),
                None => None,
            };
            let origin = |row: usize| match &origins {
                None => Some(0),
                Some(origins) => origins
                    .is_valid(row)
                    .then(|| origins.as_primitive::<TimestampMicrosecondType>().value(row)),
            };
            let value = |row: usize| -> DataFusionResult<Option<i64>> {
                match (strides.is_valid(row), moments.is_valid(row), origin(row)) {
                    (true, true, Some(_)) if is_infinite_timestamp(moments.value(row)) => {
                        Ok(Some(moments.value(row)))
                    }
                    (true, true, Some(origin)) => {
                        Ok(Some(bin(micros(strides.value(row))?, moments.value(row), origin)))
                    }
                    _ => Ok(None),
                }
            };
            (0..moments.len()).map(value).collect::<DataFusionResult<_>>()?
        }
    };
    Ok(made.with_timezone_opt(zone.clone()))
}

/// Returns the length of a stride. Fails on months and on what is not more than 0.
fn micros(stride: datafusion::arrow::datatypes::IntervalMonthDayNano) -> DataFusionResult<i64> {
    let error = |state, message| {
        Err(DataFusionError::External(Box::new(SqlError::statement(
            state, message,
        ))))
    };
    let interval = interval_of(stride);
    if interval.months != 0 {
        return error(
            "0A000",
            "timestamps cannot be binned into intervals containing months or years",
        );
    }
    let length = i64::from(interval.days).checked_mul(DAY_MICROS);
    match length.and_then(|days| days.checked_add(interval.micros)) {
        Some(length) if length > 0 => Ok(length),
        Some(_) => error("22008", "stride must be greater than zero"),
        None => error("22008", "interval out of range"),
    }
}

/// Returns the beginning of the bin of a moment; microseconds far from 1970 are the ends of 64 bits.
fn bin(stride: i64, moment: i64, origin: i64) -> i64 {
    if is_infinite_timestamp(moment) {
        return moment;
    }
    let from = i128::from(moment).saturating_sub(i128::from(origin));
    let start = i128::from(moment).saturating_sub(from.rem_euclid(i128::from(stride)));
    i64::try_from(start).unwrap_or(i64::MIN)
}
