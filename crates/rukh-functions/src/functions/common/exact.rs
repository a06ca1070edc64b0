//! Functions of NUMERICs, exact to the digits that PostgreSQL gives; of floats they are those that there were.
//!
//! | function                                          | of decimals, in DataFusion       | here                                         |
//! |---------------------------------------------------|----------------------------------|----------------------------------------------|
//! | `a / b`                                           | four digits more than `a` has, cut | NUMERIC, 16 significant digits at least      |
//! | `div(a, b)`                                       | none                             | the whole quotient, cut towards zero         |
//! | `a * b` of more than 38 digits                    | an error                         | NUMERIC                                      |
//! | `gcd`, `lcm`                                      | decimals, or an overflow         | NUMERIC                                      |
//! | `sqrt`, `exp`, `ln`, `log`, `log10`, `power`, `sign` | floats                        | NUMERIC                                      |
//! | `round(x, n)`, `trunc(x, n)` of 76 digits         | the digits of `x`                | `n` digits after the point, if that is a constant |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal256Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType as ArrowType, Decimal128Type,
    Decimal256Type, Field, FieldRef, Int64Type, i256,
};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, binary_expr,
};
use rukh_error::SqlError;
use rukh_keys::{DataType, NUMERIC_HALF};

use crate::forms::numerics::{NAN, is_nan, power_of_ten};
use crate::functions::common::undefined::undefined_function;
use crate::numbers::Number;
use crate::signatures::overloaded::{INT2_DIGITS, INT4_DIGITS, INT8_DIGITS};
use crate::types::arrow_type;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Function {
    Quotient,
    /// Cut towards zero.
    WholeQuotient,
    Product,
    SquareRoot,
    Exponential,
    Logarithm,
    LogarithmTo10,
    /// To a base, which is the first of two arguments, or 10.
    LogarithmTo,
    Power,
    Sign,
    /// The number itself, without zeros at the end.
    TrimScale,
    Round,
    Truncate,
    /// The greatest number of which both are multiples.
    Divisor,
    /// The least number that is a multiple of both.
    Multiple,
}

/// Names of functions that DataFusion has.
const NAMED: [(&str, Function); 11] = [
    ("gcd", Function::Divisor),
    ("lcm", Function::Multiple),
    ("sqrt", Function::SquareRoot),
    ("exp", Function::Exponential),
    ("ln", Function::Logarithm),
    ("log10", Function::LogarithmTo10),
    ("log", Function::LogarithmTo),
    ("power", Function::Power),
    ("signum", Function::Sign),
    ("round", Function::Round),
    ("trunc", Function::Truncate),
];

/// Gives the functions of floats and small decimals those of NUMERICs.
pub fn beside(usual: Vec<Arc<ScalarUDF>>) -> Vec<Arc<ScalarUDF>> {
    let exact = |usual: Arc<ScalarUDF>| match NAMED.iter().find(|(name, _)| *name == usual.name()) {
        Some((_, function)) => exact(*function, Some(usual)),
        None => usual,
    };
    usual.into_iter().map(exact).collect()
}

/// Returns the functions that DataFusion has not: `div` and `trim_scale`.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    [Function::WholeQuotient, Function::TrimScale].map(|function| exact(function, None))
}

fn exact(function: Function, usual: Option<Arc<ScalarUDF>>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Exact {
        function,
        usual,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

/// Returns the function for `left op right` of operands of these types, or `None` where DataFusion's operator does as it should.
pub fn exact_function(op: Operator, left: &ArrowType, right: &ArrowType) -> Option<Arc<ScalarUDF>> {
    static OPERATORS: LazyLock<[Arc<ScalarUDF>; 2]> =
        LazyLock::new(|| [Function::Quotient, Function::Product].map(|function| exact(function, None)));
    if !are_exact(&[left.clone(), right.clone()]) {
        return None;
    }
    match op {
        Operator::Divide => Some(OPERATORS[0].clone()),
        Operator::Multiply if is_long(left, right) => Some(OPERATORS[1].clone()),
        _ => None,
    }
}

/// Calls a function of [`exact_function`]; integers that are constants become decimals here, so that EXPLAIN shows `q / 3` as it was
/// written.
pub fn exact_call(function: &ScalarUDF, arguments: Vec<Expr>) -> Expr {
    let decimal = |argument: Expr| match argument {
        Expr::Literal(value, metadata) if value.data_type().is_integer() => {
            let decimal = value.cast_to(&as_decimal(&value.data_type())).unwrap_or(value);
            Expr::Literal(decimal, metadata)
        }
        other => other,
    };
    function.call(arguments.into_iter().map(decimal).collect())
}

/// Returns the operator that a function of [`exact_function`] stands for.
pub fn exact_operator(function: &ScalarUDF) -> Option<Operator> {
    match function.inner().downcast_ref::<Exact>()?.function {
        Function::Quotient => Some(Operator::Divide),
        Function::Product => Some(Operator::Multiply),
        _ => None,
    }
}

/// Returns what a call was before there were exact functions; `None` of all other calls.
pub fn inexact(call: &ScalarFunction) -> Option<Expr> {
    let exact = call.func.inner().downcast_ref::<Exact>()?;
    match (exact_operator(&call.func), call.args.as_slice(), &exact.usual) {
        (Some(op), [left, right], _) => Some(binary_expr(left.clone(), op, right.clone())),
        (_, arguments, Some(usual)) => Some(usual.call(arguments.to_vec())),
        _ => None,
    }
}

fn is_decimal(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Decimal128(..) | ArrowType::Decimal256(..))
}

/// Whether all are decimals or integers, and one a decimal.
fn are_exact(types: &[ArrowType]) -> bool {
    types.iter().any(is_decimal)
        && types
            .iter()
            .all(|ty| is_decimal(ty) || ty.is_integer() || ty.is_null())
}

/// Whether a product may have more digits than a decimal of 128 bits.
fn is_long(left: &ArrowType, right: &ArrowType) -> bool {
    let digits = |ty: &ArrowType| match as_decimal(ty) {
        ArrowType::Decimal128(precision, scale) => Some((precision, scale)),
        _ => None,
    };
    match (digits(left), digits(right)) {
        (Some((p, _)), Some((q, _))) => p.saturating_add(q) > DECIMAL128_MAX_PRECISION,
        _ => true,
    }
}

/// Returns the decimals that integers are computed as.
pub(crate) fn as_decimal(ty: &ArrowType) -> ArrowType {
    match ty {
        ArrowType::Int8 | ArrowType::Int16 | ArrowType::UInt8 => ArrowType::Decimal128(INT2_DIGITS, 0),
        ArrowType::Int32 | ArrowType::UInt16 => ArrowType::Decimal128(INT4_DIGITS, 0),
        ArrowType::Int64 | ArrowType::UInt32 | ArrowType::Null => ArrowType::Decimal128(INT8_DIGITS, 0),
        ArrowType::UInt64 => ArrowType::Decimal128(INT8_DIGITS.saturating_add(1), 0),
        other => other.clone(),
    }
}

pub(crate) fn scale_of(ty: &ArrowType) -> i8 {
    match ty {
        ArrowType::Decimal128(_, scale) | ArrowType::Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    function: Function,
    /// The function of floats and of what else there is.
    usual: Option<Arc<ScalarUDF>>,
    signature: Signature,
}

impl Exact {
    /// Whether it rounds, or cuts, numbers of a type: DataFusion rounds those of 128 bits to the right digits, and cuts them to all that they have.
    fn rounds(&self, ty: &ArrowType) -> bool {
        match self.function {
            Function::Round => matches!(ty, ArrowType::Decimal256(..)),
            Function::Truncate => is_decimal(ty),
            _ => false,
        }
    }

    /// Whether arguments of these types are computed here.
    fn is_exact(&self, types: &[ArrowType]) -> bool {
        match (self.function, types) {
            (Function::Round | Function::Truncate, [value, rest @ ..]) => {
                self.rounds(value) && matches!(rest, [] | [ArrowType::Int64])
            }
            (
                Function::Quotient
                | Function::WholeQuotient
                | Function::Product
                | Function::Power
                | Function::Divisor
                | Function::Multiple,
                [_, _],
            )
            | (Function::LogarithmTo, [_] | [_, _])
            | (
                Function::SquareRoot
                | Function::Exponential
                | Function::Logarithm
                | Function::LogarithmTo10
                | Function::Sign
                | Function::TrimScale,
                [_],
            ) => are_exact(types),
            _ => false,
        }
    }

    /// Returns what is given of a row that has NaN: NaN, but that `NaN ^ 0` and `1 ^ NaN` are 1, and of NULL NULL.
    fn of_nan(&self, decimals: &[ArrayRef], row: usize) -> Option<i256> {
        if decimals.iter().any(|array| array.is_null(row)) {
            return None;
        }
        let is = |at: usize, whole: i128| {
            let array = decimals.get(at).filter(|array| !is_nan(array, row));
            let number = array.and_then(|array| number_at(array, row));
            number.is_some_and(|number| number == Number::of_i128(whole, 0).rounded(number.scale()))
        };
        match self.function {
            Function::Power if is(0, 1) || is(1, 0) => Some(power_of_ten(NUMERIC_HALF)),
            _ => Some(NAN),
        }
    }

    fn result_type(&self, types: &[ArrowType], digits: Option<i64>) -> ArrowType {
        let half = i64::from(NUMERIC_HALF);
        let scale = match (self.function, types) {
            (Function::Product, [left, right]) => {
                let scale = i64::from(scale_of(left)).saturating_add(i64::from(scale_of(right)));
                scale.min(half)
            }
            (Function::Divisor | Function::Multiple, [left, right]) => {
                i64::from(scale_of(left).max(scale_of(right)))
            }
            (Function::Sign | Function::WholeQuotient, _) | (Function::Round | Function::Truncate, [_]) => 0,
            (Function::Round | Function::Truncate, [value, _]) => {
                digits.map_or(i64::from(scale_of(value)), |digits| digits.clamp(0, half))
            }
            _ => half,
        };
        match i8::try_from(scale) {
            Ok(scale) if i64::from(scale) < half => {
                let precision = NUMERIC_HALF.saturating_add(scale.unsigned_abs());
                ArrowType::Decimal256(precision.min(DECIMAL256_MAX_PRECISION), scale)
            }
            _ => arrow_type(&DataType::NUMERIC),
        }
    }

    fn compute(&self, numbers: &[Number], digits: i64) -> Result<Number, SqlError> {
        match (self.function, numbers) {
            (Function::Quotient, [left, right]) => left.divided_by(right),
            (Function::WholeQuotient, [left, right]) => left.whole_quotient(right),
            (Function::Product, [left, right]) => Ok(left.times(right)),
            (Function::SquareRoot, [x]) => x.square_root(),
            (Function::Exponential, [x]) => x.exponential(),
            (Function::Logarithm, [x]) => x.logarithm(),
            (Function::LogarithmTo10 | Function::LogarithmTo, [x]) => x.logarithm_to(&Number::of_i128(10, 0)),
            (Function::LogarithmTo, [base, x]) => x.logarithm_to(base),
            (Function::Power, [x, power]) => x.to_the_power_of(power),
            (Function::Sign, [x]) => Ok(x.sign()),
            (Function::Divisor, [left, right]) => Ok(left.common_divisor(right)),
            (Function::Multiple, [left, right]) => left.common_multiple(right),
            (Function::TrimScale, [x]) => Ok(x.clone()),
            (Function::Round, [x]) => Ok(x.rounded_to(digits)),
            (Function::Truncate, [x]) => Ok(x.truncated(digits)),
            _ => Err(SqlError::internal(
                "a function of numbers has one or two arguments",
            )),
        }
    }
}

impl ScalarUDFImpl for Exact {
    fn name(&self) -> &str {
        match (&self.usual, self.function) {
            (Some(usual), _) => usual.name(),
            (None, Function::Product) => "numeric_multiply",
            (None, Function::TrimScale) => "trim_scale",
            (None, Function::WholeQuotient) => "div",
            (None, _) => "numeric_divide",
        }
    }

    fn aliases(&self) -> &[String] {
        self.usual.as_ref().map_or(&[], |usual| usual.aliases())
    }

    fn display_name(&self, arguments: &[Expr]) -> DataFusionResult<String> {
        self.schema_name(arguments)
    }

    fn schema_name(&self, arguments: &[Expr]) -> DataFusionResult<String> {
        let operator = match self.function {
            Function::Quotient => "/",
            Function::Product => "*",
            _ => {
                let names: Vec<String> = arguments
                    .iter()
                    .map(|arg| arg.schema_name().to_string())
                    .collect();
                return Ok(format!("{}({})", self.name(), names.join(",")));
            }
        };
        let [left, right] = arguments else {
            return Ok(self.name().to_string());
        };
        Ok(format!(
            "{} {operator} {}",
            left.schema_name(),
            right.schema_name()
        ))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        if let [ty, rest @ ..] = types
            && self.rounds(ty)
        {
            return match rest {
                [] => Ok(vec![ty.clone()]),
                [digits] if digits.is_integer() || digits.is_null() => Ok(vec![ty.clone(), ArrowType::Int64]),
                _ => Err(undefined_function(self.name(), types)),
            };
        }
        if self.is_exact(types) {
            return Ok(types.iter().map(as_decimal).collect());
        }
        let Some(usual) = &self.usual else {
            return Err(undefined_function(self.name(), types));
        };
        let field = |ty: &ArrowType| -> FieldRef { Arc::new(Field::new("x", ty.clone(), true)) };
        let fields: Vec<FieldRef> = types.iter().map(field).collect();
        let fields = fields_with_udf(&fields, usual.as_ref())?;
        Ok(fields.iter().map(|field| field.data_type().clone()).collect())
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match (&self.usual, self.is_exact(types)) {
            (Some(usual), false) => usual.return_type(types),
            (None, false) => Err(undefined_function(self.name(), types)),
            (_, true) => Ok(self.result_type(types, None)),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let types: Vec<ArrowType> = arguments
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        match &self.usual {
            Some(usual) if !self.is_exact(&types) => return usual.return_field_from_args(arguments),
            _ => {}
        }
        let digits = match arguments.scalar_arguments {
            [_, Some(ScalarValue::Int64(Some(digits)))] => Some(*digits),
            _ => None,
        };
        let is_nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        let ty = match self.is_exact(&types) {
            true => self.result_type(&types, digits),
            false => return Err(undefined_function(self.name(), &types)),
        };
        Ok(Arc::new(Field::new(self.name(), ty, is_nullable)))
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        match &self.usual {
            Some(usual) if input.iter().all(|one| one.range.data_type().is_floating()) => {
                usual.output_ordering(input)
            }
            _ => Ok(SortProperties::Unordered),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let types: Vec<ArrowType> = arguments.args.iter().map(ColumnarValue::data_type).collect();
        match &self.usual {
            Some(usual) if !self.is_exact(&types) => return usual.invoke_with_args(arguments),
            _ => {}
        }
        let ArrowType::Decimal256(precision, scale) = arguments.return_type().clone() else {
            return Err(undefined_function(self.name(), &types));
        };
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let is_one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let results = self.results(&arrays, scale);
        let results = results.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let results: ArrayRef = Arc::new(results.with_precision_and_scale(precision, scale)?);
        match is_one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&results, 0)?)),
            false => Ok(ColumnarValue::Array(results)),
        }
    }
}

impl Exact {
    fn results(&self, arrays: &[ArrayRef], scale: i8) -> Result<Decimal256Array, SqlError> {
        let (digits, arrays) = match (self.function, arrays) {
            (Function::Round | Function::Truncate, [value, digits]) => (
                Some(digits.as_primitive::<Int64Type>()),
                std::slice::from_ref(value),
            ),
            (_, arrays) => (None, arrays),
        };
        let is_decimal = |array: &ArrayRef| is_decimal(array.data_type());
        let decimals = arrays.iter().map(|array| match is_decimal(array) {
            true => Ok(array.clone()),
            false => Ok(cast(array, &as_decimal(array.data_type())).map_err(DataFusionError::from)?),
        });
        let decimals: Vec<ArrayRef> = decimals.collect::<Result<_, SqlError>>()?;
        if let (Function::Quotient, [left, right]) = (self.function, decimals.as_slice())
            && let (ArrowType::Decimal128(_, above), ArrowType::Decimal128(_, below)) =
                (left.data_type(), right.data_type())
        {
            let pairs = left
                .as_primitive::<Decimal128Type>()
                .iter()
                .zip(right.as_primitive::<Decimal128Type>());
            let quotient = |pair| match pair {
                (Some(left), Some(right)) => quotient((left, *above), (right, *below), scale).map(Some),
                _ => Ok(None),
            };
            return pairs.map(quotient).collect();
        }
        if let (Function::Product, [left, right]) = (self.function, decimals.as_slice())
            && let Some(products) = products(left, right, scale)
        {
            return Ok(products);
        }
        let rows = decimals.first().map_or(0, |array| array.len());
        let result = |row: usize| -> Result<Option<i256>, SqlError> {
            let kept = match &digits {
                None => 0,
                Some(digits) if digits.is_null(row) => return Ok(None),
                Some(digits) => digits.value(row).clamp(-100, 100),
            };
            if decimals.iter().any(|array| is_nan(array, row)) {
                return Ok(self.of_nan(&decimals, row));
            }
            let numbers: Option<Vec<Number>> = decimals.iter().map(|array| number_at(array, row)).collect();
            let Some(numbers) = numbers else {
                return Ok(None);
            };
            self.compute(&numbers, kept)?.to_i256(scale).map(Some)
        };
        (0..rows).map(result).collect()
    }
}

/// Returns the products of decimals of 128 bits that have all their digits; `None` where the scale has fewer, or one of them is too large.
fn products(left: &ArrayRef, right: &ArrayRef, scale: i8) -> Option<Decimal256Array> {
    let (ArrowType::Decimal128(_, left_scale), ArrowType::Decimal128(_, right_scale)) =
        (left.data_type(), right.data_type())
    else {
        return None;
    };
    if left_scale.checked_add(*right_scale) != Some(scale) {
        return None;
    }
    // 38 digits before the point.
    let limit = power_of_ten(NUMERIC_HALF.saturating_add(scale.unsigned_abs()));
    let product = |(left, right): (Option<i128>, Option<i128>)| match (left, right) {
        (Some(left), Some(right)) => {
            let product = match left.checked_mul(right) {
                Some(product) => i256::from_i128(product),
                None => i256::from_i128(left).checked_mul(i256::from_i128(right))?,
            };
            (product.wrapping_abs() < limit).then_some(Some(product))
        }
        _ => Some(None),
    };
    let pairs = left
        .as_primitive::<Decimal128Type>()
        .iter()
        .zip(right.as_primitive::<Decimal128Type>());
    pairs.map(product).collect()
}

/// Returns the number of a row; `None` for NULL.
pub(crate) fn number_at(array: &ArrayRef, row: usize) -> Option<Number> {
    if array.is_null(row) {
        return None;
    }
    let scale = scale_of(array.data_type());
    Some(match array.data_type() {
        ArrowType::Decimal256(..) => {
            Number::of_i256(array.as_primitive::<Decimal256Type>().value(row), scale)
        }
        _ => Number::of_i128(array.as_primitive::<Decimal128Type>().value(row), scale),
    })
}

/// Divides two decimals; in 128 bits where these hold the quotient's digits.
fn quotient(above: (i128, i8), below: (i128, i8), scale: i8) -> Result<i256, SqlError> {
    match short_quotient(above, below, scale) {
        Some(quotient) => Ok(quotient),
        None => Number::of_i128(above.0, above.1)
            .divided_by(&Number::of_i128(below.0, below.1))?
            .to_i256(scale),
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "digits and their counts; what may overflow is checked"
)]
fn short_quotient((above, own): (i128, i8), (below, other): (i128, i8), scale: i8) -> Option<i256> {
    if above == 0 || below == 0 {
        return None;
    }
    let digits = crate::numbers::division_digits((above, own), (below, other));
    let shift = u32::try_from(digits + i64::from(other) - i64::from(own)).ok()?;
    let above = above.checked_mul(10_i128.checked_pow(shift)?)?;
    let (quotient, rest) = (above / below, above % below);
    let is_up = rest.unsigned_abs() >= below.unsigned_abs() - rest.unsigned_abs();
    let quotient = match (is_up, (above < 0) == (below < 0)) {
        (false, _) => quotient,
        (true, true) => quotient + 1,
        (true, false) => quotient - 1,
    };
    let more = u8::try_from(i64::from(scale) - digits).ok()?;
    i256::from_i128(quotient).checked_mul(power_of_ten(more))
}
