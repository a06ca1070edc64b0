//! Moments made of their parts: `make_timestamp`, `make_timestamptz`, `make_time`; and `clock_timestamp`, the moment of its call.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Time64MicrosecondArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Float64Type, Int32Type, TimeUnit};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DATE_MIN, DAY_MICROS, DataType, Datum, ValueError, Zone, civil_from_days, days_from_civil};

use crate::functions::common::undefined::undefined_function;
use crate::types::arrow_type;

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    [Kind::Timestamp, Kind::TimestampTz, Kind::Time, Kind::Clock]
        .into_iter()
        .map(|kind| {
            let volatility = match kind {
                Kind::Clock => Volatility::Volatile,
                _ => Volatility::Immutable,
            };
            let signature = match kind {
                Kind::Clock => Signature::nullary(volatility),
                _ => Signature::user_defined(volatility),
            };
            Arc::new(ScalarUDF::from(Made { kind, signature }))
        })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Timestamp,
    TimestampTz,
    Time,
    Clock,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Made {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for Made {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Timestamp => "make_timestamp",
            Kind::TimestampTz => "make_timestamptz",
            Kind::Time => "make_time",
            Kind::Clock => "clock_timestamp",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let (wholes, others) = types.split_at_checked(self.integers()).unwrap_or((&[], types));
        let are_whole = !wholes.is_empty() && wholes.iter().all(|ty| ty.is_integer() || ty.is_null());
        let mut coerced = vec![ArrowType::Int32; self.integers()];
        let is = |ty: &ArrowType, test: fn(&ArrowType) -> bool| test(ty) || ty.is_null();
        match (self.kind, others) {
            (_, [seconds]) if are_whole && is(seconds, ArrowType::is_numeric) => {
                coerced.push(ArrowType::Float64);
            }
            (Kind::TimestampTz, [seconds, zone])
                if are_whole && is(seconds, ArrowType::is_numeric) && is(zone, ArrowType::is_string) =>
            {
                coerced.extend([ArrowType::Float64, ArrowType::Utf8]);
            }
            _ => return Err(undefined_function(self.name(), types)),
        }
        Ok(coerced)
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(match self.kind {
            Kind::Timestamp => arrow_type(&DataType::TIMESTAMP),
            Kind::TimestampTz | Kind::Clock => arrow_type(&DataType::TIMESTAMP_TZ),
            Kind::Time => ArrowType::Time64(TimeUnit::Microsecond),
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        if self.kind == Kind::Clock {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let micros = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
            return Ok(ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(
                Some(micros),
                Some("UTC".into()),
            )));
        }
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let rows = arrays.first().map_or(0, |array| array.len());
        let made = (0..rows).map(|row| match arrays.iter().any(|array| array.is_null(row)) {
            true => Ok(None),
            false => {
                let made = self.made(&arrays, row);
                let zone = arrays.get(self.integers().saturating_add(1));
                match zone.map(|zone| zone_of(zone.as_string::<i32>().value(row))) {
                    Some(zone) => made.and_then(|clock| instant(zone?, clock)).map(Some),
                    None => made.map(Some),
                }
            }
        });
        let made = made.collect::<Result<Vec<Option<i64>>, SqlError>>();
        let made = made.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let made: ArrayRef = match self.kind {
            Kind::Time => Arc::new(Time64MicrosecondArray::from(made)),
            Kind::Timestamp => Arc::new(TimestampMicrosecondArray::from(made)),
            _ => Arc::new(TimestampMicrosecondArray::from(made).with_timezone("UTC")),
        };
        match one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

impl Made {
    /// How many integers come before the seconds.
    fn integers(&self) -> usize {
        match self.kind {
            Kind::Time => 2,
            _ => 5,
        }
    }

    fn made(&self, arrays: &[ArrayRef], row: usize) -> Result<i64, SqlError> {
        let parts = arrays[..self.integers()].iter();
        let parts: Vec<i32> = parts
            .map(|array| array.as_primitive::<Int32Type>().value(row))
            .collect();
        let seconds = arrays[self.integers()].as_primitive::<Float64Type>().value(row);
        match parts.as_slice() {
            [hour, minute] => time_of(*hour, *minute, seconds),
            [year, month, day, hour, minute] => {
                let days = days_of(*year, *month, *day)?;
                let time = time_of(*hour, *minute, seconds)?;
                let micros = days
                    .checked_mul(DAY_MICROS)
                    .and_then(|micros| micros.checked_add(time));
                let checked = micros.map(Datum::Timestamp);
                match checked.and_then(|datum| DataType::TIMESTAMP.check(datum).ok()) {
                    Some(Datum::Timestamp(micros)) => Ok(micros),
                    _ => Err(SqlError::statement("22008", "timestamp out of range")),
                }
            }
            _ => Err(SqlError::internal("parts of a moment are missing")),
        }
    }
}

/// Returns the zone of a name, or of an offset, which is east of UTC by its sign.
fn zone_of(text: &str) -> Result<Zone, SqlError> {
    const HOURS: i64 = 3_600_000_000;
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(SqlError::statement("22023", message).with_hint(hint));
    }
    match Zone::named(text) {
        Some(Zone::Fixed(west)) if text.starts_with(['+', '-']) => {
            match west.unsigned_abs().cast_signed() / HOURS {
                ..16 => Ok(Zone::Fixed(west.saturating_neg())),
                _ => {
                    let message = format!("numeric time zone \"{text}\" out of range");
                    Err(SqlError::statement("22023", message))
                }
            }
        }
        Some(zone) => Ok(zone),
        None => Err(ValueError::UnknownZone {
            name: text.to_owned(),
        }
        .into()),
    }
}

/// Returns when the clocks of a zone show a time.
fn instant(zone: Zone, clock: i64) -> Result<i64, SqlError> {
    match DataType::TIMESTAMP_TZ.check(Datum::Timestamp(zone.instant(clock))) {
        Ok(Datum::Timestamp(instant)) => Ok(instant),
        _ => Err(SqlError::statement("22008", "timestamp out of range")),
    }
}

/// Returns the days from 1970 to a date; negative years are those before Christ, of which there is no year 0.
pub(crate) fn days_of(year: i32, month: i32, day: i32) -> Result<i64, SqlError> {
    let wrong = || {
        let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
        SqlError::statement("22008", message)
    };
    let astronomical = match year {
        0 => return Err(wrong()),
        ..0 => i64::from(year).saturating_add(1),
        _ => i64::from(year),
    };
    let (month, day) = (
        u32::try_from(month).map_err(|_| wrong())?,
        u32::try_from(day).map_err(|_| wrong())?,
    );
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(-4713..=5_874_897).contains(&astronomical)
    {
        return Err(wrong());
    }
    let days = days_from_civil(astronomical, month, day);
    match civil_from_days(days) == (astronomical, month, day) && days >= i64::from(DATE_MIN) {
        true => Ok(days),
        false => Err(wrong()),
    }
}

/// Returns the microseconds of a day; 24:00 is the end of it.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "hours, minutes and seconds were compared with their ends"
)]
fn time_of(hour: i32, minute: i32, seconds: f64) -> Result<i64, SqlError> {
    let micros = (seconds * 1e6).round_ties_even();
    let is_time = (0..=24).contains(&hour)
        && (0..=59).contains(&minute)
        && (0.0..=60_000_000.0).contains(&micros)
        && (hour < 24 || (minute == 0 && micros == 0.0));
    match is_time {
        true => Ok((i64::from(hour) * 60 + i64::from(minute)) * 60_000_000 + micros as i64),
        false => {
            let message = format!("time field value out of range: {hour}:{minute:02}:{seconds:02}");
            Err(SqlError::statement("22008", message))
        }
    }
}
