//! `AT TIME ZONE`, which is the function `timezone(zone, moment)`, as in PostgreSQL.
//!
//! | moment      | becomes                                   | as                                   |
//! |-------------|-------------------------------------------|--------------------------------------|
//! | TIMESTAMP   | when the clocks of the zone show it       | TIMESTAMPTZ                          |
//! | TIMESTAMPTZ | what the clocks of the zone show then     | TIMESTAMP                            |
//! | DATE, text  | as TIMESTAMPTZ                            | TIMESTAMP                            |
//!
//! Where clocks are put forward, what they never show counts by the offset before; where they are put back, what
//! they show twice counts by the offset after. DataFusion has a cast instead, fails at both, and compares the
//! result with constants as if zones said nothing.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondBuilder};
use datafusion::arrow::datatypes::{DataType as ArrowType, TimestampMicrosecondType};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::datetime::to_local_time::adjust_to_local_time;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::{DAY_MICROS, DataType};

use crate::functions::common::undefined::undefined_function;
use crate::types::arrow_type;
use rukh_error::SqlError;

/// Name of the function.
pub const TIMEZONE: &str = "timezone";

/// No zone is further from UTC, in microseconds.
pub const OFFSET_MAX: i64 = 16 * 3_600 * 1_000_000;

/// Returns `timezone(zone, moment)`.
pub fn timezone() -> ScalarUDF {
    ScalarUDF::from(TimeZone {
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

/// Whether a zone is UTC by one of its names.
pub fn is_utc(zone: &str) -> bool {
    ["utc", "gmt", "z", "zulu", "etc/utc", "etc/gmt", "universal"]
        .contains(&zone.to_ascii_lowercase().as_str())
}

/// Whether an expression has a moment in a zone that is a constant, not UTC, and nothing else of the kind.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "hours, minutes and places in an array"
)]
pub fn in_zone(expr: &Expr) -> bool {
    let mut found = 0;
    let seen = expr.apply(|part| {
        if let Expr::ScalarFunction(call) = part
            && call.name() == TIMEZONE
        {
            let is_other = |zone: &Expr| {
                matches!(zone, Expr::Literal(zone, _) if zone.try_as_str().flatten().is_some_and(|zone| !is_utc(zone)))
            };
            found += if call.args.first().is_some_and(is_other) { 1 } else { 2 };
        }
        Ok(TreeNodeRecursion::Continue)
    });
    seen.is_ok() && found == 1
}

/// Puts a moment of UTC, moved by some microseconds, in the place of that of a zone.
pub fn moved_from_zone(expr: &Expr, by: i64) -> Option<Expr> {
    let moved = expr.clone().transform_up(|part| match part {
        Expr::ScalarFunction(mut call) if call.name() == TIMEZONE => {
            let by = ScalarValue::DurationMicrosecond(Some(by));
            let moment = call.args.pop();
            let moment =
                moment.ok_or_else(|| DataFusionError::Internal("a moment is missing".to_string()))?;
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
                left: Box::new(moment),
                op: Operator::Plus,
                right: Box::new(Expr::Literal(by, None)),
            })))
        }
        other => Ok(Transformed::no(other)),
    });
    moved.ok().map(|moved| moved.data)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeZone {
    signature: Signature,
}

impl ScalarUDFImpl for TimeZone {
    fn name(&self) -> &str {
        TIMEZONE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let [zone, moment] = types else {
            return Err(undefined_function(TIMEZONE, types));
        };
        if !(zone.is_string() || zone.is_null()) {
            return Err(undefined_function(TIMEZONE, types));
        }
        let moment = match moment {
            ArrowType::Timestamp(_, None) => arrow_type(&DataType::TIMESTAMP),
            ArrowType::Timestamp(..) | ArrowType::Date32 | ArrowType::Null => {
                arrow_type(&DataType::TIMESTAMP_TZ)
            }
            text if text.is_string() => arrow_type(&DataType::TIMESTAMP_TZ),
            _ => return Err(undefined_function(TIMEZONE, types)),
        };
        Ok(vec![ArrowType::Utf8, moment])
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [_, ArrowType::Timestamp(_, None)] => Ok(arrow_type(&DataType::TIMESTAMP_TZ)),
            _ => Ok(arrow_type(&DataType::TIMESTAMP)),
        }
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "hours, minutes and places in an array"
    )]
    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let returned = arguments.return_type().clone();
        let [zone, moment] = arguments.args.as_slice() else {
            return Err(undefined_function(TIMEZONE, &[]));
        };
        let is_scalar = matches!(
            (zone, moment),
            (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_))
        );
        let arrays = ColumnarValue::values_to_arrays(&[zone.clone(), moment.clone()])?;
        let (zones, moments) = (arrays[0].as_string::<i32>(), arrays[1].clone());
        let is_local = matches!(moments.data_type(), ArrowType::Timestamp(_, None));
        let moments = moments.as_primitive::<TimestampMicrosecondType>();
        let mut made = TimestampMicrosecondBuilder::with_capacity(moments.len());
        // Rows with one zone, as all have where it is a constant, are looked up together.
        let mut at = 0;
        while at < moments.len() {
            let zone = (!zones.is_null(at)).then(|| zones.value(at));
            let same = |row: &usize| (!zones.is_null(*row)).then(|| zones.value(*row)) == zone;
            let end = (at..moments.len()).take_while(same).count() + at;
            let run: Vec<Option<i64>> = (at..end)
                .map(|row| (!moments.is_null(row)).then(|| moments.value(row)))
                .collect();
            let found = match zone {
                None => vec![None; run.len()],
                Some(zone) => {
                    let zone =
                        Zone::named(zone).map_err(|error| DataFusionError::External(Box::new(error)))?;
                    match is_local {
                        true => zone.instants(&run)?,
                        false => zone.clocks(&run)?,
                    }
                }
            };
            found.into_iter().for_each(|one| made.append_option(one));
            at = end;
        }
        let zone = match &returned {
            ArrowType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let made: ArrayRef = Arc::new(made.finish().with_timezone_opt(zone));
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}

/// A zone by its offsets from UTC.
enum Zone {
    Fixed(i64),
    Named(Tz),
}

impl Zone {
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "hours, minutes and places in an array"
    )]
    fn named(name: &str) -> Result<Zone, SqlError> {
        if is_utc(name) {
            return Ok(Zone::Fixed(0));
        }
        if let Some(west) = offset_in_text(name) {
            // As POSIX has it: positive is west of Greenwich.
            return Ok(Zone::Fixed(-west));
        }
        match name.parse::<Tz>() {
            Ok(zone) => Ok(Zone::Named(zone)),
            Err(_) => {
                let message = format!("time zone \"{name}\" not recognized");
                Err(SqlError::statement("22023", message))
            }
        }
    }

    /// What the clocks of the zone show at some instants.
    fn clocks(&self, instants: &[Option<i64>]) -> DataFusionResult<Vec<Option<i64>>> {
        let shown = |instant: i64| match self {
            Zone::Fixed(offset) => Ok(instant.saturating_add(*offset)),
            Zone::Named(zone) => adjust_to_local_time::<TimestampMicrosecondType>(instant, *zone),
        };
        instants
            .iter()
            .map(|instant| instant.map(shown).transpose())
            .collect()
    }

    /// When the clocks of the zone show some times.
    fn instants(&self, clocks: &[Option<i64>]) -> DataFusionResult<Vec<Option<i64>>> {
        let moved = |by: i64| -> Vec<Option<i64>> {
            let one = |clock: &Option<i64>| clock.map(|clock| clock.saturating_add(by));
            clocks.iter().map(one).collect()
        };
        let offsets = |instants: Vec<Option<i64>>| -> DataFusionResult<Vec<i64>> {
            let shown = self.clocks(&instants)?;
            let pairs = shown.iter().zip(&instants);
            Ok(pairs
                .map(|(shown, instant)| shown.unwrap_or(0).saturating_sub(instant.unwrap_or(0)))
                .collect())
        };
        let (before, after) = (offsets(moved(-DAY_MICROS))?, offsets(moved(DAY_MICROS))?);
        let by = |offsets: &[i64]| -> Vec<Option<i64>> {
            let pairs = clocks.iter().zip(offsets);
            pairs
                .map(|(clock, offset)| clock.map(|clock| clock.saturating_sub(*offset)))
                .collect()
        };
        let (earlier, later) = (by(&before), by(&after));
        let (own_before, own_after) = (offsets(earlier.clone())?, offsets(later.clone())?);
        let chosen = |row: usize| {
            let (holds_before, holds_after) = (own_before[row] == before[row], own_after[row] == after[row]);
            match (holds_before, holds_after) {
                (true, false) => earlier[row],
                (false, true) => later[row],
                // Shown twice: by the offset after. Never shown: by that before.
                (true, true) => later[row],
                (false, false) => earlier[row],
            }
        };
        Ok((0..clocks.len()).map(chosen).collect())
    }
}

/// Reads `+02`, `-03:30`, in microseconds.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "hours, minutes and places in an array"
)]
fn offset_in_text(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    let seconds = i64::from(hours) * 3_600 + i64::from(minutes) * 60;
    (hours < 16 && minutes < 60).then_some(sign * seconds * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn instant(zone: &str, clock: i64) -> i64 {
        let zone = Zone::named(zone).expect("a zone");
        zone.instants(&[Some(clock)]).expect("instants")[0].expect("one")
    }

    #[test]
    fn clocks_that_change_are_read_as_in_postgresql() {
        // 2024-03-31 in Berlin: clocks go from 2 to 3; 2024-10-27: from 3 back to 2.
        let (spring, autumn) = (1_711_843_200_000_000, 1_729_987_200_000_000);
        for (day, hour, offset) in [(spring, 1, 1), (spring, 2, 1), (spring, 3, 2), (spring, 4, 2)] {
            assert_eq!(
                instant("Europe/Berlin", day + hour * HOUR),
                day + (hour - offset) * HOUR
            );
        }
        for (day, hour, offset) in [(autumn, 1, 2), (autumn, 2, 1), (autumn, 3, 1), (autumn, 4, 1)] {
            assert_eq!(
                instant("Europe/Berlin", day + hour * HOUR),
                day + (hour - offset) * HOUR
            );
        }
        assert_eq!(instant("+02", 0), 2 * HOUR);
        assert_eq!(instant("utc", 7), 7);
        assert!(Zone::named("Nowhere/At all").is_err());
    }
}
