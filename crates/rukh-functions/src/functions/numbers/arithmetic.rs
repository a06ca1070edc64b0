//! Arithmetic as PostgreSQL has it, where DataFusion's operators wrap around, give infinity, or are simplified
//! to a value of another type.
//!
//! | operands                     | operators             | here                                                  |
//! |------------------------------|-----------------------|-------------------------------------------------------|
//! | integers                     | `+ - * %`             | 22003 where the type does not hold the result         |
//! | floats                       | `+ - * / %`           | 22003 for what overflows or vanishes, 22012 for `x / 0` |
//! | decimals                     | `/`, long products    | NUMERIC (`exact`)                                     |
//! | a DATE and an integer, two DATEs | `+ -`             | 22008 outside of the calendar; days between are INTEGER |
//! | a timestamp and an interval  | `+ -`                 | 22008 outside of the calendar; infinities stay (`moment_sum`) |
//! | decimals, one side constant  | `* %`                 | DataFusion's; `x * 0` stays a product, of its type    |
//! | NUMERICs                     | `+ - %`               | DataFusion's; of NaN NaN                              |
//!
//! Processors give `Infinity * 0` and `Infinity - Infinity` as NaN with a sign. Arrow compares that as less than all
//! numbers; here NaN has no sign, and is greater than all.

#![warn(clippy::arithmetic_side_effects)]

use std::any::Any;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Datum, Decimal256Array, PrimitiveArray, Scalar, make_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType as ArrowType, Float32Type, Float64Type, i256,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::DFSchema;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::type_coercion::binary::{BinaryTypeCoercer, binary_numeric_coercion};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use rukh_keys::ValueError;

use crate::forms::intervals::INTERVAL;
use crate::forms::numerics::beside_nan;
use crate::functions::common::exact::{as_decimal, exact_function, exact_operator, number_at, scale_of};
use crate::functions::common::undefined::undefined_function;
use crate::functions::times::moment_sum::{days, is_date, is_day_sum, is_moment, is_moment_sum, moved};
use crate::types::data_type_of_arrow;
use rukh_error::SqlError;

const OPERATORS: [Operator; 5] = [
    Operator::Plus,
    Operator::Minus,
    Operator::Multiply,
    Operator::Divide,
    Operator::Modulo,
];

/// Returns the function that computes `op` as described above.
pub fn checked(op: Operator) -> Option<Arc<ScalarUDF>> {
    static CHECKED: LazyLock<[Arc<ScalarUDF>; 5]> = LazyLock::new(|| {
        OPERATORS.map(|op| {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(ScalarUDF::from(Checked { op, signature }))
        })
    });
    let position = OPERATORS.iter().position(|known| *known == op)?;
    Some(CHECKED[position].clone())
}

/// Returns the operator that a function of [`checked`] stands for.
pub fn checked_operator(function: &ScalarUDF) -> Option<Operator> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<Checked>().map(|checked| checked.op)
}

/// Returns the operator that any function of an operator stands for.
pub fn operator_of(function: &ScalarUDF) -> Option<Operator> {
    checked_operator(function).or_else(|| exact_operator(function))
}

/// Returns the function for `left op right`, or `None` where DataFusion's operator does as it should.
pub fn checked_function(
    op: Operator,
    left: &Expr,
    right: &Expr,
    schema: &DFSchema,
) -> Option<Arc<ScalarUDF>> {
    let types = [left.get_type(schema).ok()?, right.get_type(schema).ok()?];
    if let Some(exact) = exact_function(op, &types[0], &types[1]) {
        return Some(exact);
    }
    let is_constant = |expr: &Expr| matches!(expr, Expr::Literal(..) | Expr::Placeholder(_));
    let all = |test: fn(&ArrowType) -> bool| types.iter().all(|ty| test(ty) || ty.is_null());
    let any = |test: fn(&ArrowType) -> bool| types.iter().any(test);
    let is_ours = if is_moment_sum(op, &types[0], &types[1]) {
        true
    } else if any(is_date) {
        is_day_sum(op, &types[0], &types[1])
    } else if any(ArrowType::is_floating) {
        all(ArrowType::is_numeric)
    } else if any(is_decimal) {
        let is_product = matches!(op, Operator::Multiply | Operator::Modulo);
        all(ArrowType::is_numeric)
            && (any(is_numeric)
                || is_product && (is_constant(left) || is_constant(right))
                || op == Operator::Modulo && roomy(&types[0], &types[1]).is_some())
    } else {
        all(ArrowType::is_integer) && !matches!(op, Operator::Divide | Operator::Modulo)
    };
    if is_ours { checked(op) } else { None }
}

/// Returns the type in which two decimals, or integers, of different digits are added and compared where 128 bits have no room for the
/// digits of both; `None` where they have.
pub fn roomy(left: &ArrowType, right: &ArrowType) -> Option<ArrowType> {
    let digits = |ty: &ArrowType| match as_decimal(ty) {
        ArrowType::Decimal128(precision, scale) => {
            let scale = u8::try_from(scale).ok()?;
            Some((precision.checked_sub(scale)?, scale))
        }
        _ => None,
    };
    if left == right || !(is_decimal(left) || is_decimal(right)) {
        return None;
    }
    let ((whole, fraction), (other_whole, other_fraction)) = (digits(left)?, digits(right)?);
    let scale = fraction.max(other_fraction);
    let precision = whole.max(other_whole).saturating_add(scale);
    let is_roomy = precision > DECIMAL128_MAX_PRECISION;
    is_roomy.then_some(ArrowType::Decimal256(
        precision.min(DECIMAL256_MAX_PRECISION),
        scale as i8,
    ))
}

/// Whether values of a type may be NaN beside being exact.
fn is_numeric(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Decimal256(..))
}

fn is_decimal(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Decimal128(..) | ArrowType::Decimal256(..))
}

/// A sum, difference, product, quotient or rest that fails where it has no result.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    op: Operator,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.op {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_subtract",
            Operator::Multiply => "checked_multiply",
            Operator::Divide => "checked_divide",
            _ => "checked_modulo",
        }
    }

    fn display_name(&self, args: &[Expr]) -> DataFusionResult<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> DataFusionResult<String> {
        let [left, right] = args else {
            return Ok(self.name().to_string());
        };
        Ok(format!(
            "{} {} {}",
            left.schema_name(),
            self.op,
            right.schema_name()
        ))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let [left, right] = types else {
            return Err(undefined_function(self.name(), types));
        };
        let is = |test: fn(&ArrowType) -> bool| test(left) || test(right);
        if is_moment_sum(self.op, left, right) {
            let side = |ty: &ArrowType| if is_moment(ty) { ty.clone() } else { INTERVAL };
            return Ok(types.iter().map(side).collect());
        }
        if is(is_date) {
            let day = |ty: &ArrowType| if is_date(ty) { ty.clone() } else { ArrowType::Int32 };
            return Ok(types.iter().map(day).collect());
        }
        if types.iter().all(|ty| *ty == ArrowType::Float32) {
            return Ok(types.to_vec());
        }
        // A quotient of integers is DataFusion's: what comes here was divided by a float, a parameter say.
        if is(ArrowType::is_floating) || self.op == Operator::Divide && !is(is_decimal) {
            return Ok(vec![ArrowType::Float64; 2]);
        }
        if is(is_decimal) {
            let (left, right) = BinaryTypeCoercer::new(left, &self.op, right).get_input_types()?;
            return Ok(vec![left, right]);
        }
        let common = binary_numeric_coercion(left, right)
            .or_else(|| left.is_null().then(|| right.clone()))
            .or_else(|| right.is_null().then(|| left.clone()))
            .filter(|common| !common.is_null())
            .unwrap_or(ArrowType::Int64);
        Ok(vec![common.clone(), common])
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [left, right] if is_decimal(left) || is_decimal(right) => {
                BinaryTypeCoercer::new(left, &self.op, right).get_result_type()
            }
            [left, right] if is_date(left) && is_date(right) => Ok(ArrowType::Int32),
            [_, right] if is_date(right) || is_moment(right) => Ok(right.clone()),
            [left, _] => Ok(left.clone()),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [left, right] = arguments.args.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        apply(left, right, |left, right| compute(self.op, left, right))
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        let [left, right] = input else {
            return Ok(SortProperties::Unordered);
        };
        Ok(match self.op {
            Operator::Plus => left.sort_properties.add(&right.sort_properties),
            Operator::Minus => left.sort_properties.sub(&right.sort_properties),
            _ => SortProperties::Unordered,
        })
    }
}

fn compute(op: Operator, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let types = [left, right].map(|side| side.get().0.data_type().clone());
    if types.iter().any(is_moment) {
        return moved(op, left, right);
    }
    if types.iter().any(is_date) {
        return days(op, left, right);
    }
    if let Some(results) = of_nan(op, left, right)? {
        return Ok(results);
    }
    let kernel = match op {
        Operator::Plus => numeric::add,
        Operator::Minus => numeric::sub,
        Operator::Multiply => numeric::mul,
        Operator::Divide => numeric::div,
        _ => numeric::rem,
    };
    let ty = left.get().0.data_type().clone();
    let results = match kernel(left, right) {
        Err(ArrowError::ArithmeticOverflow(_)) if op == Operator::Modulo && is_decimal(&ty) => {
            return remainders(left, right);
        }
        results => results,
    };
    let results = results.map_err(|error| match error {
        ArrowError::ArithmeticOverflow(_) if ty.is_integer() => {
            let ty = data_type_of_arrow(&ty);
            failure(ValueError::IntegerOutOfRange { ty })
        }
        other => other,
    })?;
    match ty {
        ArrowType::Float64 => settled::<Float64Type>(op, left, right, results),
        ArrowType::Float32 => settled::<Float32Type>(op, left, right, results),
        _ => Ok(results),
    }
}

/// Computes the rests of decimals that Arrow brings to digits for which it has no room.
fn remainders(left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let external = |error: SqlError| ArrowError::ExternalError(Box::new(error));
    let (left, right) = (left.get(), right.get());
    let sides = [left, right].map(|(array, is_one)| (make_array(array.to_data()), is_one));
    let types = sides.each_ref().map(|(array, _)| array.data_type().clone());
    let [one, other] = &types;
    let result = BinaryTypeCoercer::new(one, &Operator::Modulo, other).get_result_type();
    let result = result.map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
    let scale = types.iter().map(scale_of).max().unwrap_or_default();
    let rows = sides
        .iter()
        .filter(|(_, is_one)| !is_one)
        .map(|(array, _)| array.len());
    let remainder = |row: usize| -> Result<Option<i256>, SqlError> {
        let numbers = sides
            .each_ref()
            .map(|(array, is_one)| number_at(array, if *is_one { 0 } else { row }));
        match numbers {
            [Some(left), Some(right)] => left.remainder(&right)?.to_i256(scale).map(Some),
            _ => Ok(None),
        }
    };
    let remainders = (0..rows.max().unwrap_or(1)).map(remainder);
    let remainders = remainders
        .collect::<Result<Decimal256Array, SqlError>>()
        .map_err(external)?;
    let wide = remainders.with_precision_and_scale(DECIMAL256_MAX_PRECISION, scale)?;
    cast(&wide, &result)
}

/// Computes with operands some of which are NaN; `None` if none is.
fn of_nan(op: Operator, left: &dyn Datum, right: &dyn Datum) -> Result<Option<ArrayRef>, ArrowError> {
    let sides = [left.get(), right.get()].map(|(array, is_one)| (make_array(array.to_data()), is_one));
    beside_nan(&sides, |finite| {
        let side = |at: usize| -> Box<dyn Datum> {
            let array = finite[at].clone();
            match sides[at].1 {
                true => Box::new(Scalar::new(array)),
                false => Box::new(array),
            }
        };
        compute(op, side(0).as_ref(), side(1).as_ref())
    })
}

fn failure(error: ValueError) -> ArrowError {
    ArrowError::ExternalError(Box::new(SqlError::from(error)))
}

/// Fails where a float has no result, and takes the sign off NaN.
fn settled<T: FloatType>(
    op: Operator,
    left: &dyn Datum,
    right: &dyn Datum,
    results: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let floats = results.as_primitive::<T>();
    let is_special = |value: f64| !value.is_finite() || value == 0.0;
    if !floats.values().iter().any(|value| is_special(T::double(*value))) {
        return Ok(results);
    }
    let side = |values: &dyn Datum, row: usize| -> f64 {
        let (array, is_scalar) = values.get();
        let array = array.as_primitive::<T>();
        T::double(array.value(if is_scalar { 0 } else { row }))
    };
    let mut has_nan = false;
    for (row, value) in floats.iter().enumerate() {
        let Some(value) = value.map(T::double).filter(|value| is_special(*value)) else {
            continue;
        };
        check(op, side(left, row), side(right, row), value).map_err(failure)?;
        has_nan |= value.is_nan();
    }
    Ok(if has_nan {
        without_signs::<T>(floats)
    } else {
        results
    })
}

/// Returns whether `value`, which is zero, infinite or NaN, is what the operator has to give of two floats.
fn check(op: Operator, left: f64, right: f64, value: f64) -> Result<(), ValueError> {
    let divides = matches!(op, Operator::Divide | Operator::Modulo);
    if divides && right == 0.0 && !left.is_nan() {
        return Err(ValueError::DivisionByZero);
    }
    if value.is_infinite() && left.is_finite() && right.is_finite() {
        return Err(ValueError::FloatOverflow);
    }
    let vanishes = match op {
        Operator::Multiply => left != 0.0 && right != 0.0,
        Operator::Divide => left != 0.0 && right.is_finite(),
        _ => false,
    };
    match value == 0.0 && vanishes {
        true => Err(ValueError::FloatUnderflow),
        false => Ok(()),
    }
}

/// Floats of 32 or 64 bits.
pub trait FloatType: ArrowPrimitiveType {
    /// NaN without a sign.
    const NAN: Self::Native;

    /// Returns a value in 64 bits.
    fn double(value: Self::Native) -> f64;
}

impl FloatType for Float32Type {
    const NAN: f32 = f32::NAN;

    fn double(value: f32) -> f64 {
        f64::from(value)
    }
}

impl FloatType for Float64Type {
    const NAN: f64 = f64::NAN;

    fn double(value: f64) -> f64 {
        value
    }
}

/// Returns floats whose NaN have no sign.
pub fn without_signs<T: FloatType>(floats: &PrimitiveArray<T>) -> ArrayRef {
    let unsigned = |value: T::Native| match T::double(value).is_nan() {
        true => T::NAN,
        false => value,
    };
    Arc::new(floats.unary::<_, T>(unsigned))
}
