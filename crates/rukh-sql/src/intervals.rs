//! `INTERVAL * number`, `number * INTERVAL` and `INTERVAL / number`, which DataFusion lacks, and what a literal
//! without a type is beside a moment or an interval.
//!
//! | written                       | the literal is read as          |
//! |-------------------------------|---------------------------------|
//! | `ts + '1 mon'`, `'1 mon' + ts`| INTERVAL, beside TIME too       |
//! | `ts - '2020-01-01'`           | the type of the other side      |
//! | `INTERVAL '1 day' + '1 hour'` | INTERVAL, in differences too    |
//!
//! Months, days and time are scaled each; what is left of a month becomes days of which it has 30, what is
//! left of a day becomes time (`interval_mul` of PostgreSQL).

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    cast as cast_expr,
};
use datafusion::scalar::ScalarValue;
use rukh_syntax::sqlparser::ast::BinaryOperator;

use rukh_error::SqlError;

const INTERVAL: ArrowType = ArrowType::Interval(IntervalUnit::MonthDayNano);

/// Seconds of a day.
const DAY_SECONDS: f64 = 86_400.0;

/// Days of the part of a month.
const MONTH_DAYS: f64 = 30.0;

/// Plans products and quotients of intervals.
#[derive(Debug)]
pub(crate) struct Intervals;

impl ExprPlanner for Intervals {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> DataFusionResult<PlannerResult<RawBinaryExpr>> {
        let of = |side: &Expr| side.get_type(schema).ok();
        let is_interval = |ty: &Option<ArrowType>| matches!(ty, Some(ArrowType::Interval(_)));
        let is_number =
            |ty: &Option<ArrowType>| ty.as_ref().is_some_and(|ty| ty.is_numeric() || ty.is_null());
        let (left, right) = (of(&expr.left), of(&expr.right));
        let function = match expr.op {
            BinaryOperator::Plus | BinaryOperator::Minus => {
                let is_sum = expr.op == BinaryOperator::Plus;
                let RawBinaryExpr {
                    op,
                    left: l,
                    right: r,
                } = expr;
                let (l, r) = (
                    read_beside(l, right.as_ref(), is_sum),
                    read_beside(r, left.as_ref(), is_sum),
                );
                return Ok(PlannerResult::Original(RawBinaryExpr {
                    op,
                    left: l,
                    right: r,
                }));
            }
            BinaryOperator::Multiply => &SCALED[0],
            BinaryOperator::Divide => &SCALED[1],
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let arguments = if is_interval(&left) && is_number(&right) {
            vec![expr.left, expr.right]
        } else if is_number(&left) && is_interval(&right) && expr.op == BinaryOperator::Multiply {
            vec![expr.right, expr.left]
        } else {
            return Ok(PlannerResult::Original(expr));
        };
        Ok(PlannerResult::Planned(function.call(arguments)))
    }
}

/// Returns a text literal as what it is in a sum or difference with a value of another type.
fn read_beside(literal: Expr, other: Option<&ArrowType>, is_sum: bool) -> Expr {
    let is_text = matches!(
        literal,
        Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Utf8View(Some(_)), _)
    );
    match other {
        Some(ArrowType::Interval(_)) if is_text => cast_expr(literal, INTERVAL),
        Some(ArrowType::Timestamp(..) | ArrowType::Time64(_) | ArrowType::Time32(_)) if is_text && is_sum => {
            cast_expr(literal, INTERVAL)
        }
        Some(
            ty @ (ArrowType::Timestamp(..) | ArrowType::Time64(_) | ArrowType::Time32(_) | ArrowType::Date32),
        ) if is_text && !is_sum => cast_expr(literal, ty.clone()),
        _ => literal,
    }
}

/// The functions that multiply and divide.
static SCALED: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
    [false, true].map(|divides| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Scaled { divides, signature }))
    })
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct Scaled {
    divides: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Scaled {
    fn name(&self) -> &str {
        match self.divides {
            false => "interval_multiply",
            true => "interval_divide",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, _: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        Ok(vec![INTERVAL, ArrowType::Float64])
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [intervals, factors] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!(
                "{} takes two arguments",
                self.name()
            )));
        };
        let factors = cast(factors, &ArrowType::Float64)?;
        let pairs = intervals
            .as_primitive::<IntervalMonthDayNanoType>()
            .iter()
            .zip(factors.as_primitive::<Float64Type>());
        let scaled = pairs.map(|(interval, factor)| match (interval, factor) {
            (Some(interval), Some(factor)) => self.scaled(interval, factor).map(Some),
            _ => Ok(None),
        });
        let scaled: IntervalMonthDayNanoArray = scaled.collect::<Result<_, SqlError>>().map_err(external)?;
        let scaled: ArrayRef = Arc::new(scaled);
        Ok(match one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&scaled, 0)?),
            false => ColumnarValue::Array(scaled),
        })
    }
}

impl Scaled {
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the value was compared with the ends of the type"
    )]
    fn scaled(&self, interval: IntervalMonthDayNano, factor: f64) -> Result<IntervalMonthDayNano, SqlError> {
        if self.divides && factor == 0.0 {
            return Err(SqlError::statement("22012", "division by zero"));
        }
        let scaled = |part: f64| match self.divides {
            true => part / factor,
            false => part * factor,
        };
        let months = scaled(f64::from(interval.months));
        let month_days = (months.fract() * MONTH_DAYS * 1e6).round() / 1e6;
        let days = scaled(f64::from(interval.days));
        let rest = days.fract() + month_days.fract();
        let rest = (rest * DAY_SECONDS * 1e6).round() / 1e6;
        let carried = (rest / DAY_SECONDS).trunc();
        let micros = scaled(interval.nanoseconds as f64 / 1e3) + (rest - carried * DAY_SECONDS) * 1e6;
        let days = days.trunc() + month_days.trunc() + carried;
        let out_of_range = || SqlError::statement("22008", "interval out of range");
        let part = |value: f64| {
            let fits = value.is_finite() && value.abs() <= f64::from(i32::MAX);
            fits.then_some(value as i32).ok_or_else(out_of_range)
        };
        let nanoseconds = micros.round() * 1e3;
        if !nanoseconds.is_finite() || nanoseconds.abs() >= i64::MAX as f64 {
            return Err(out_of_range());
        }
        Ok(IntervalMonthDayNano {
            months: part(months.trunc())?,
            days: part(days)?,
            nanoseconds: micros.round() as i64 * 1_000,
        })
    }
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
