//! Values of Arrow that are intervals, as texts.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, DurationNanosecondType, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use rukh_keys::{DAY_MICROS, Datum, Interval};

use rukh_error::SqlError;

/// Whether values of an Arrow type are intervals: those between two timestamps are, too.
pub fn is_interval(arrow: &ArrowType) -> bool {
    matches!(arrow, ArrowType::Interval(_) | ArrowType::Duration(_))
}

/// Returns intervals as texts.
pub fn interval_texts(array: &ArrayRef) -> Result<Vec<Datum>, SqlError> {
    let failed = |error| SqlError::statement("22008", format!("interval out of range: {error}"));
    let texts = match array.data_type() {
        ArrowType::Duration(_) => {
            let spans = cast(array, &ArrowType::Duration(TimeUnit::Nanosecond)).map_err(failed)?;
            let spans = spans.as_primitive::<DurationNanosecondType>();
            let text = |nanos: i64| {
                let micros = nanos / 1_000;
                let days = i32::try_from(micros / DAY_MICROS).unwrap_or(i32::MAX);
                let (months, micros) = (0, micros % DAY_MICROS);
                Datum::Text(Interval { months, days, micros }.text())
            };
            spans.iter().map(|span| span.map_or(Datum::Null, text)).collect()
        }
        _ => {
            let all = cast(array, &ArrowType::Interval(IntervalUnit::MonthDayNano)).map_err(failed)?;
            let all = all.as_primitive::<IntervalMonthDayNanoType>();
            let text = |interval: datafusion::arrow::datatypes::IntervalMonthDayNano| {
                let (months, days) = (interval.months, interval.days);
                let micros = interval.nanoseconds / 1_000;
                Datum::Text(Interval { months, days, micros }.text())
            };
            all.iter()
                .map(|interval| interval.map_or(Datum::Null, text))
                .collect()
        }
    };
    Ok(texts)
}
