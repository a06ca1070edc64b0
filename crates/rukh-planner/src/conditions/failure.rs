//! Where a function has no result: the statement fails there, and a range must not hide it.
//!
//! `apply` computes in numbers that do not overflow. Here its result is held to the type that the statement
//! computes in:
//!
//! | function                      | fails                                            | with  |
//! |-------------------------------|--------------------------------------------------|-------|
//! | `x / 0`                       | for every value, but NaN                         | 22012 |
//! | sum, product of integers      | beyond the wider type of both                    | 22003 |
//! | sum, product of a decimal     | beyond 38 digits                                 | 22003 |
//! | sum, product, quotient of floats | infinite, or 0, though no operand is          | 22003 |
//! | cast to an integer            | beyond its type, and for NaN                     | 22003 |
//! | `ts + k`, `to_timestamp(x)`   | beyond the calendar                              | 22008 |
//!
//! A chain of such functions has results for one interval of its term, since each of them keeps the order
//! or turns it round. So a set of values has results throughout if its first and its last value have.

use rukh_keys::{DATE_MAX, DATE_MIN, DataType, Datum, TIMESTAMP_MAX, TIMESTAMP_MIN, ValueError};

use crate::conditions::domain::{from_ordinal, ordinal, ordinals};
use crate::conditions::functions::{Chain, apply, result_type, sign};
use crate::conditions::interval::{Cut, IntervalSet, Side};
use crate::conditions::predicate::Function;
use crate::conditions::value::{Value, power_of_ten};

/// Computes a function of a value of a type; `Ok(None)` if it does not take the value.
///
/// # Errors
///
/// There is no result, or its type does not hold it.
pub(crate) fn computed(
    function: &Function,
    value: Value<'static>,
    ty: DataType,
) -> Result<Option<Value<'static>>, ValueError> {
    if let Function::Divide(k) = function
        && sign(k).is_none()
        && !value.is_null()
        && !is_nan(&value)
    {
        return Err(ValueError::DivisionByZero);
    }
    let operand = float_of(&value);
    let (Some(result), Some(value)) = (result_type(function, ty), apply(function, value)) else {
        return Ok(None);
    };
    if let (Some(operand), Some(float), Some(k)) = (operand, float_of(&value), factor(function)) {
        check_float(function, operand, k, float)?;
    }
    match is_cut(function) || is_held(&value, result) {
        true => Ok(Some(value)),
        false => Err(out_of_range(result)),
    }
}

fn float_of(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

/// The float that a function adds, multiplies or divides by.
fn factor(function: &Function) -> Option<f64> {
    match function {
        Function::Add(k)
        | Function::Subtract(k)
        | Function::SubFrom(k)
        | Function::Multiply(k)
        | Function::Divide(k) => match k.datum {
            Datum::Float(k) => Some(k),
            _ => None,
        },
        _ => None,
    }
}

/// Fails where a float leaves its type: it was finite, or not 0, and so was what it met.
fn check_float(function: &Function, operand: f64, k: f64, result: f64) -> Result<(), ValueError> {
    if result.is_infinite() && operand.is_finite() && k.is_finite() {
        return Err(ValueError::FloatOverflow);
    }
    let vanishes = match function {
        Function::Multiply(_) => operand != 0.0 && k != 0.0,
        Function::Divide(_) => operand != 0.0 && k.is_finite(),
        _ => false,
    };
    match result == 0.0 && vanishes {
        true => Err(ValueError::FloatUnderflow),
        false => Ok(()),
    }
}

fn is_nan(value: &Value<'_>) -> bool {
    match value {
        Value::Float(value) => value.is_nan(),
        Value::NaN => true,
        _ => false,
    }
}

/// Whether a function gives the beginning of something; that of the first day of the calendar counts as in it.
fn is_cut(function: &Function) -> bool {
    matches!(
        function,
        Function::CastDate | Function::DateTrunc(_) | Function::DateBin { .. } | Function::Year
    )
}

/// Whether a type holds a result.
fn is_held(value: &Value<'_>, ty: DataType) -> bool {
    let found = match value {
        Value::Int(value) | Value::Decimal(value, _) if !ty.is_integer() => {
            return value.unsigned_abs() < power_of_ten(38).unsigned_abs();
        }
        Value::Int(value) | Value::Decimal(value, _) => *value,
        // PostgreSQL's calendar.
        Value::Date(days) if value.infinity().is_none() => {
            return (i128::from(DATE_MIN)..=i128::from(DATE_MAX)).contains(days);
        }
        Value::Timestamp(micros) if value.infinity().is_none() => {
            return (i128::from(TIMESTAMP_MIN)..=i128::from(TIMESTAMP_MAX)).contains(micros);
        }
        _ => return true,
    };
    ordinals(ty).is_none_or(|(min, max)| (min..=max).contains(&found))
}

fn out_of_range(ty: DataType) -> ValueError {
    match ty {
        DataType::Decimal { precision, scale } | DataType::Numeric { precision, scale } => {
            ValueError::NumericOverflow { precision, scale }
        }
        ty if ty.is_integer() => ValueError::IntegerOutOfRange { ty },
        ty => ValueError::MomentOutOfRange { ty },
    }
}

impl Chain<'_> {
    /// Returns whether the chain has a result for each value of a set.
    ///
    /// The ends of the calendar are left aside: `ts + INTERVAL '1 day' > k` stays exact.
    pub(crate) fn has_results(&self, set: &IntervalSet) -> bool {
        let (Some(first), Some(last)) = (set.intervals().first(), set.intervals().last()) else {
            return true;
        };
        if self.functions.is_empty() {
            return true;
        }
        let Some((min, max)) = ordinals(self.ty) else {
            return true;
        };
        let first = match &first.low {
            Cut::At(datum, Side::Before) => ordinal(self.ty, datum),
            Cut::At(datum, Side::After) => ordinal(self.ty, datum).map(|at| at + 1),
            Cut::Min | Cut::Max => Some(min),
        };
        let last = match &last.high {
            Cut::At(datum, Side::Before) => ordinal(self.ty, datum).map(|at| at - 1),
            Cut::At(datum, Side::After) => ordinal(self.ty, datum),
            Cut::Min | Cut::Max => Some(max),
        };
        [first, last].into_iter().all(|end| {
            let datum = end.map(|at| from_ordinal(self.ty, at.clamp(min, max)));
            datum.is_none_or(|datum| self.has_result(&datum))
        })
    }

    fn has_result(&self, datum: &Datum) -> bool {
        let Some(mut value) = Value::new(datum, self.ty).map(Value::into_owned) else {
            return false;
        };
        let mut ty = self.ty;
        for function in &self.functions {
            let is_moment = matches!(value, Value::Date(_) | Value::Timestamp(_));
            let next = match is_moment {
                true => apply(function, value),
                false => computed(function, value, ty).ok().flatten(),
            };
            let (Some(next), Some(result)) = (next, result_type(function, ty)) else {
                return false;
            };
            (value, ty) = (next, result);
        }
        true
    }
}
