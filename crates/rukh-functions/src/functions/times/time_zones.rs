//! `AT TIME ZONE`, which is the function `timezone(zone, moment)`, as in PostgreSQL.
//!
//! | moment      | becomes                                   | as                                   |
//! |-------------|-------------------------------------------|--------------------------------------|
//! | TIMESTAMP   | when the clocks of the zone show it       | TIMESTAMPTZ                          |
//! | TIMESTAMPTZ | what the clocks of the zone show then     | TIMESTAMP                            |
//! | DATE, text  | as TIMESTAMPTZ                            | TIMESTAMP                            |
//!
//! Zones are those of `rukh_keys`. DataFusion has a cast instead, fails where clocks change, and compares the result with constants as if
//! zones said nothing.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondBuilder};
use datafusion::arrow::datatypes::{DataType as ArrowType, TimestampMicrosecondType};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::{DataType, Datum, ValueError, Zone};

use crate::functions::common::undefined::undefined_function;
use crate::types::arrow_type;
use rukh_error::SqlError;
use rukh_walk::Tree;

/// Name of the function.
pub const TIMEZONE: &str = "timezone";

/// Returns `timezone(zone, moment)`.
pub fn timezone() -> ScalarUDF {
    ScalarUDF::from(TimeZone {
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

/// Whether a zone is UTC by one of its names.
pub fn is_utc(zone: &str) -> bool {
    Zone::named(zone).is_some_and(Zone::is_utc)
}

/// Whether an expression has a moment in a zone that is a constant, not UTC, and nothing else of the kind.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "hours, minutes and places in an array"
)]
pub fn in_zone(expr: &Expr) -> bool {
    let mut found = 0;
    let seen = expr.each(&mut |part| {
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
    let moved = expr.clone().turn_up(&mut |part| match part {
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
            let zone = zone.map(zone_of).transpose();
            let zone = zone.map_err(|error| DataFusionError::External(Box::new(SqlError::from(error))))?;
            for row in at..end {
                let moment = (!moments.is_null(row)).then(|| moments.value(row));
                let moved = zone.zip(moment).map(|(zone, moment)| match is_local {
                    true => zone.instant(moment),
                    false => zone.clock(moment),
                });
                let moved = moved.map(|moved| DataType::TIMESTAMP.check(Datum::Timestamp(moved)));
                match moved {
                    None => made.append_null(),
                    Some(Ok(Datum::Timestamp(moved))) => made.append_value(moved),
                    Some(_) => {
                        let ty = DataType::TIMESTAMP;
                        let error = SqlError::from(ValueError::MomentOutOfRange { ty });
                        return Err(DataFusionError::External(Box::new(error)));
                    }
                }
            }
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

/// Returns the zone of a name.
///
/// # Errors
/// 22023 if there is none.
fn zone_of(name: &str) -> Result<Zone, ValueError> {
    Zone::named(name).ok_or_else(|| ValueError::UnknownZone {
        name: name.to_owned(),
    })
}
