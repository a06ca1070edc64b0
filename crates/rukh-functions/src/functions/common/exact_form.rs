//! Bytes that differ wherever two values do, of types of which equal values may differ: `1 mon` and `30 days`, `{"n": 1}` and
//! `{"n": 1.0}`. Where such values must stay apart, the bytes are compared, and values made of them again.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, IntervalMonthDayNanoArray, LargeBinaryArray, LargeStringArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{Expr, ScalarUDF};

use super::of_array::of_array;
use crate::forms::intervals::INTERVAL;

/// Whether equal values of a type may differ: intervals, and documents, which JSON does not compare at all.
pub fn may_differ_when_equal(ty: &ArrowType) -> bool {
    matches!(
        ty,
        ArrowType::Interval(_) | ArrowType::LargeBinary | ArrowType::LargeUtf8
    )
}

/// Returns the bytes of a value; NULL of NULL.
pub fn exact_form(value: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| of_array("exact_form", None, ArrowType::Binary, forms_of));
    FUNCTION.call(vec![value])
}

/// Returns the value of a type that has these bytes; `None` if bytes are made of none of its values.
pub fn value_of_form(form: Expr, ty: &ArrowType) -> Option<Expr> {
    static INTERVALS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        of_array(
            "interval_of_form",
            Some(ArrowType::Binary),
            INTERVAL,
            intervals_of,
        )
    });
    static JSONB: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        of_array(
            "jsonb_of_form",
            Some(ArrowType::Binary),
            ArrowType::LargeBinary,
            jsonb_of,
        )
    });
    static JSON: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        of_array(
            "json_of_form",
            Some(ArrowType::Binary),
            ArrowType::LargeUtf8,
            json_of,
        )
    });
    let function = match ty {
        ArrowType::Interval(_) => &INTERVALS,
        ArrowType::LargeBinary => &JSONB,
        ArrowType::LargeUtf8 => &JSON,
        _ => return None,
    };
    Some(function.call(vec![form]))
}

fn forms_of(values: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let forms: BinaryArray = match values.data_type() {
        ArrowType::Interval(_) => {
            let intervals = cast(values, &INTERVAL)?;
            let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
            intervals.iter().map(|value| value.map(bytes_of)).collect()
        }
        ArrowType::LargeUtf8 => values.as_string::<i64>().iter().collect(),
        ArrowType::LargeBinary => values.as_binary::<i64>().iter().collect(),
        _ => BinaryArray::new_null(values.len()),
    };
    Ok(Arc::new(forms))
}

fn intervals_of(forms: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let forms = forms.as_binary::<i32>().iter();
    let intervals = forms.map(|form| form.and_then(interval_of));
    Ok(Arc::new(intervals.collect::<IntervalMonthDayNanoArray>()))
}

fn jsonb_of(forms: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let forms = forms.as_binary::<i32>().iter();
    Ok(Arc::new(forms.collect::<LargeBinaryArray>()))
}

fn json_of(forms: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let forms = forms.as_binary::<i32>().iter();
    let texts = forms.map(|form| form.map(std::str::from_utf8).transpose());
    let texts = texts.collect::<Result<LargeStringArray, _>>();
    Ok(Arc::new(
        texts.map_err(|error| DataFusionError::External(Box::new(error)))?,
    ))
}

fn bytes_of(interval: IntervalMonthDayNano) -> [u8; 16] {
    interval_bits(interval).to_be_bytes()
}

/// Months, days and nanoseconds in one number.
fn interval_bits(interval: IntervalMonthDayNano) -> u128 {
    let (months, days) = (interval.months.cast_unsigned(), interval.days.cast_unsigned());
    u128::from(months) << 96 | u128::from(days) << 64 | u128::from(interval.nanoseconds.cast_unsigned())
}

fn interval_of(form: &[u8]) -> Option<IntervalMonthDayNano> {
    let bits = u128::from_be_bytes(form.try_into().ok()?);
    let part = |shift: u32| (bits >> shift) as u32;
    Some(IntervalMonthDayNano {
        months: part(96).cast_signed(),
        days: part(64).cast_signed(),
        nanoseconds: (bits as u64).cast_signed(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_what_it_was() {
        for (months, days, nanoseconds) in [
            (0, 0, 0),
            (1, -30, i64::MIN),
            (i32::MIN, i32::MAX, -1),
            (-1, -1, i64::MAX),
        ] {
            let interval = IntervalMonthDayNano {
                months,
                days,
                nanoseconds,
            };
            assert_eq!(interval_of(&bytes_of(interval)), Some(interval));
        }
    }
}
