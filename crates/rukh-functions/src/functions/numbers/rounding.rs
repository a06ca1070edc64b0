//! Rounding as PostgreSQL does it, where DataFusion gives another number or none.
//!
//! | function              | of       | here                                                                     |
//! |-----------------------|----------|--------------------------------------------------------------------------|
//! | `round(x)`, casts     | floats   | halves go to the even neighbour                                            |
//! | `floor(x)`, `ceil(x)` | decimals | a digit more before the point: `ceil(9.5)` is 10.0, DECIMAL(3, 1)          |
//! | `floor(x)`, `ceil(x)` | NUMERIC  | NaN of NaN                                                          |
//! | `abs(x)`              | integers | 22003 in PostgreSQL's words for the least integer, which has no opposite   |
//!
//! Deliberately not here: halves of decimals, which go away from zero as DataFusion's do, and `round(x, n)`.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType as ArrowType, FieldRef, Float32Type, Float64Type,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::math;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::ValueError;

use crate::forms::numerics::beside_nan;
use crate::functions::common::undefined::undefined_function;
use crate::types::data_type_of_arrow;
use crate::usual::as_usual;
use rukh_error::SqlError;

/// Returns `round`, which gives floats to [`round_half_to_even`] and all else to DataFusion.
pub fn round() -> Arc<ScalarUDF> {
    let others = math::round();
    let signature = others.signature().clone();
    Arc::new(ScalarUDF::from(Round { others, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Round {
    others: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        self.others.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        self.others.return_type(types)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        self.others.return_field_from_args(arguments)
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.others.output_ordering(input)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.as_slice() {
            [one] if one.data_type().is_floating() => half_to_even(one),
            _ => self.others.invoke_with_args(arguments),
        }
    }
}

fn half_to_even(value: &ColumnarValue) -> DataFusionResult<ColumnarValue> {
    match value {
        ColumnarValue::Array(values) => {
            if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
                let whole: Float64Array = floats.unary(f64::round_ties_even);
                return Ok(ColumnarValue::Array(Arc::new(whole)));
            }
            let whole: Float32Array = values.as_primitive::<Float32Type>().unary(f32::round_ties_even);
            Ok(ColumnarValue::Array(Arc::new(whole)))
        }
        ColumnarValue::Scalar(ScalarValue::Float64(value)) => Ok(ColumnarValue::Scalar(
            ScalarValue::Float64(value.map(f64::round_ties_even)),
        )),
        ColumnarValue::Scalar(ScalarValue::Float32(value)) => Ok(ColumnarValue::Scalar(
            ScalarValue::Float32(value.map(f32::round_ties_even)),
        )),
        other => Err(undefined_function("round", &[other.data_type()])),
    }
}

/// Returns `floor`, `ceil` and `abs`.
pub fn others() -> [Arc<ScalarUDF>; 3] {
    [math::floor(), math::ceil(), math::abs()].map(|usual| Arc::new(ScalarUDF::from(Whole { usual })))
}

/// A function of DataFusion whose result may need a digit more than its argument, and is NaN of NaN.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Whole {
    usual: Arc<ScalarUDF>,
}

impl Whole {
    fn rounds(&self) -> bool {
        matches!(self.usual.name(), "floor" | "ceil")
    }

    /// Computes arguments some of which are NaN, which the results then are; `None` if none is.
    fn of_nan(&self, arguments: &ScalarFunctionArgs) -> DataFusionResult<Option<ColumnarValue>> {
        if !arguments
            .args
            .iter()
            .any(|argument| matches!(argument.data_type(), ArrowType::Decimal256(..)))
        {
            return Ok(None);
        }
        let values = ColumnarValue::values_to_arrays(&arguments.args)?;
        let rows = values.first().map_or(0, |array| array.len());
        let sides: Vec<(ArrayRef, bool)> = values.into_iter().map(|array| (array, false)).collect();
        let results = beside_nan(&sides, |finite| {
            let mut of_finite = arguments.clone();
            of_finite.args = finite.into_iter().map(ColumnarValue::Array).collect();
            of_finite.number_rows = rows;
            self.invoke_with_args(of_finite)?.into_array(rows)
        })?;
        Ok(results.map(ColumnarValue::Array))
    }

    /// Returns the type in which the result of an argument has room.
    fn roomy(&self, ty: &ArrowType) -> Option<ArrowType> {
        match ty {
            ArrowType::Decimal128(precision, scale) if self.rounds() && *scale > 0 => {
                let wider = precision.saturating_add(1).min(DECIMAL128_MAX_PRECISION);
                Some(ArrowType::Decimal128(wider, *scale))
            }
            _ => None,
        }
    }
}

impl ScalarUDFImpl for Whole {
    as_usual!(name aliases signature coerce_types is_strict output_ordering);

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types.first().and_then(|ty| self.roomy(ty)) {
            Some(roomy) => Ok(roomy),
            None => self.usual.return_type(types),
        }
    }

    /// Of decimals it would compare the argument with bounds of the result's type.
    fn preimage(
        &self,
        arguments: &[Expr],
        value: &Expr,
        info: &SimplifyContext,
    ) -> DataFusionResult<PreimageResult> {
        match value {
            Expr::Literal(literal, _) if literal.data_type().is_floating() => {
                self.usual.preimage(arguments, value, info)
            }
            _ => Ok(PreimageResult::None),
        }
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let Some(ty) = arguments.args.first().map(ColumnarValue::data_type) else {
            return self.usual.invoke_with_args(arguments);
        };
        if self.usual.name() != "abs"
            && let Some(result) = self.of_nan(&arguments)?
        {
            return Ok(result);
        }
        if let Some(roomy) = self.roomy(&ty) {
            arguments.args[0] = arguments.args[0].cast_to(&roomy, None)?;
        }
        self.usual.invoke_with_args(arguments).map_err(|error| match ty {
            ty if ty.is_integer() && matches!(error, DataFusionError::ArrowError(..)) => {
                let ty = data_type_of_arrow(&ty);
                let error = SqlError::from(ValueError::IntegerOutOfRange { ty });
                DataFusionError::External(Box::new(error))
            }
            _ => error,
        })
    }
}

/// Returns the function that rounds floats to whole numbers, halves to even ones.
pub fn round_half_to_even() -> Arc<ScalarUDF> {
    static RINT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::exact(vec![ArrowType::Float64], Volatility::Immutable);
        Arc::new(ScalarUDF::from(RoundHalfToEven { signature }))
    });
    RINT.clone()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundHalfToEven {
    signature: Signature,
}

impl ScalarUDFImpl for RoundHalfToEven {
    fn name(&self) -> &str {
        "rint"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.first() {
            Some(value) => half_to_even(value),
            None => Err(undefined_function(self.name(), &[])),
        }
    }
}
