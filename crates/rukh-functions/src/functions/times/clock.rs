//! Functions of the clock: DataFusion's give nanoseconds without a zone.
//!
//! | function                                              | time of         | type                    |
//! |-------------------------------------------------------|-----------------|-------------------------|
//! | `now`, `current_timestamp`, `transaction_timestamp`    | the transaction | TIMESTAMPTZ             |
//! | `localtimestamp`                                       | the transaction | TIMESTAMP, of UTC       |
//! | `localtime`, `current_time`                            | the transaction | TIME, of UTC            |
//!
//! `current_timestamp(3)` and its like round to that many digits of a second's fraction.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::internal_err;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DAY_MICROS, DataType, Datum};

use crate::errors::external;
use crate::functions::common::undefined::undefined_function;
use crate::types::arrow_type;

/// Most digits of a second's fraction.
const DIGITS_MAX: u8 = 6;

/// The names, what they give, and whether they take a number of digits.
const CLOCKS: [(&str, DataType, bool); 6] = [
    ("now", DataType::TIMESTAMP_TZ, false),
    ("transaction_timestamp", DataType::TIMESTAMP_TZ, false),
    ("current_timestamp", DataType::TIMESTAMP_TZ, true),
    ("localtimestamp", DataType::TIMESTAMP, true),
    ("localtime", TIME, true),
    ("current_time", TIME, true),
];

const TIME: DataType = DataType::Time {
    precision: DIGITS_MAX,
};

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    CLOCKS.iter().map(|(name, ty, takes_digits)| {
        let signature = match takes_digits {
            true => Signature::user_defined(Volatility::Stable),
            false => Signature::nullary(Volatility::Stable),
        };
        Arc::new(ScalarUDF::from(Clock {
            name,
            ty: *ty,
            signature,
        }))
    })
}

/// Returns a call of `now()`.
pub fn now() -> Expr {
    let signature = Signature::nullary(Volatility::Stable);
    let ty = DataType::TIMESTAMP_TZ;
    ScalarUDF::from(Clock {
        name: "now",
        ty,
        signature,
    })
    .call(Vec::new())
}

/// The time at which a transaction began. The optimiser puts a constant in its place.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Clock {
    name: &'static str,
    ty: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Clock {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            [] => Ok(Vec::new()),
            [digits] if digits.is_integer() => Ok(vec![digits.clone()]),
            _ => Err(undefined_function(self.name, types)),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(arrow_type(&self.ty))
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(Field::new(self.name, arrow_type(&self.ty), false)))
    }

    fn simplify(&self, arguments: Vec<Expr>, info: &SimplifyContext) -> DataFusionResult<ExprSimplifyResult> {
        let Some(now) = info.query_execution_start_time() else {
            return Ok(ExprSimplifyResult::Original(arguments));
        };
        let digits = match arguments.as_slice() {
            [] => DIGITS_MAX,
            [Expr::Literal(digits, _)] => digits_of(digits)?,
            _ => {
                let message = format!("the precision of {} is a constant", self.name);
                return Err(external(SqlError::unsupported(message)));
            }
        };
        let value = clock_value(now.timestamp_micros(), self.ty, digits)?;
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(value, None)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        internal_err!("the optimiser puts a constant in the place of {}", self.name)
    }
}

/// More digits than there are count as all, as in PostgreSQL.
fn digits_of(digits: &ScalarValue) -> DataFusionResult<u8> {
    match digits.cast_to(&ArrowType::Int64)? {
        ScalarValue::Int64(Some(digits)) if digits >= 0 => {
            Ok(u8::try_from(digits).unwrap_or(DIGITS_MAX).min(DIGITS_MAX))
        }
        other => {
            let message = format!("the precision of a time is 0 to {DIGITS_MAX}, not {other}");
            Err(external(SqlError::statement("22023", message)))
        }
    }
}

/// Returns a moment, microseconds since 1970, as a value of a type with so many digits of a second's fraction.
fn clock_value(micros: i64, ty: DataType, digits: u8) -> DataFusionResult<ScalarValue> {
    let failed = |error| external(SqlError::from(error));
    let rounded = DataType::Timestamp { precision: digits };
    let Datum::Timestamp(micros) = rounded.check(Datum::Timestamp(micros)).map_err(failed)? else {
        return internal_err!("a moment is a timestamp");
    };
    Ok(match arrow_type(&ty) {
        ArrowType::Timestamp(_, zone) => ScalarValue::TimestampMicrosecond(Some(micros), zone),
        _ => ScalarValue::Time64Microsecond(Some(micros.rem_euclid(DAY_MICROS))),
    })
}
