//! Angles in degrees: `sind`, `cosd`, `tand`, `cotd`, `asind`, `acosd`, `atand`, `atan2d`, exact where the result is a whole or a half.
//!
//! An angle is brought into the first quadrant, and what a float makes of the sine of 30°, the cosine of 60° and the like is divided out, as
//! in `float.c` of PostgreSQL.

use std::f64::consts::PI;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType as ArrowType, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_error::SqlError;

/// A function of one angle, or of a number or two that have one; `None` for what it does not take.
type Compute = fn(f64, f64) -> Option<f64>;

/// The functions, and how many arguments they have.
const FUNCTIONS: [(&str, usize, Compute); 8] = [
    ("sind", 1, |x, _| finite(x).map(sine)),
    ("cosd", 1, |x, _| finite(x).map(|x| sine(90.0 - x.abs() % 360.0))),
    ("tand", 1, |x, _| finite(x).map(|x| tangent(x, false))),
    ("cotd", 1, |x, _| finite(x).map(|x| tangent(x, true))),
    ("asind", 1, |x, _| unit(x).map(|x| arc_sine(x.abs()).copysign(x))),
    ("acosd", 1, |x, _| unit(x).map(arc_cosine)),
    ("atand", 1, |x, _| Some(x.atan() / 1_f64.atan() * 45.0)),
    ("atan2d", 2, |y, x| Some(y.atan2(x) / 1_f64.atan() * 45.0)),
];

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    FUNCTIONS.iter().enumerate().map(|(at, (_, arguments, _))| {
        let signature = Signature::exact(vec![ArrowType::Float64; *arguments], Volatility::Immutable);
        Arc::new(ScalarUDF::from(Degrees { at, signature }))
    })
}

/// A function by its place among all.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Degrees {
    at: usize,
    signature: Signature,
}

impl ScalarUDFImpl for Degrees {
    fn name(&self) -> &str {
        FUNCTIONS[self.at].0
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Float64)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let (_, _, compute) = FUNCTIONS[self.at];
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let is_one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let (Some(first), Some(last)) = (arrays.first(), arrays.last()) else {
            return Err(DataFusionError::Internal("an angle has an argument".to_string()));
        };
        let pairs = first
            .as_primitive::<Float64Type>()
            .iter()
            .zip(last.as_primitive::<Float64Type>());
        let angle = |pair: (Option<f64>, Option<f64>)| match pair {
            (Some(x), Some(y)) if x.is_nan() || y.is_nan() => Ok(Some(f64::NAN)),
            (Some(x), Some(y)) => compute(x, y).map(Some).ok_or_else(out_of_range),
            _ => Ok(None),
        };
        let angles: ArrayRef = Arc::new(pairs.map(angle).collect::<DataFusionResult<Float64Array>>()?);
        match is_one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&angles, 0)?)),
            false => Ok(ColumnarValue::Array(angles)),
        }
    }
}

fn out_of_range() -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::statement("22003", "input is out of range")))
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn unit(x: f64) -> Option<f64> {
    (-1.0..=1.0).contains(&x).then_some(x)
}

fn radians(degrees: f64) -> f64 {
    degrees * (PI / 180.0)
}

/// The sine of up to 30°.
fn small_sine(x: f64) -> f64 {
    radians(x).sin() / radians(30.0).sin() / 2.0
}

/// The cosine of up to 60°.
fn small_cosine(x: f64) -> f64 {
    1.0 - (1.0 - radians(x).cos()) / (1.0 - radians(60.0).cos()) / 2.0
}

/// The sine of up to 90°.
fn sine_of_quadrant(x: f64) -> f64 {
    match x <= 30.0 {
        true => small_sine(x),
        false => small_cosine(90.0 - x),
    }
}

fn cosine_of_quadrant(x: f64) -> f64 {
    match x <= 60.0 {
        true => small_cosine(x),
        false => small_sine(90.0 - x),
    }
}

/// Brings an angle into the first quadrant; also says whether the half turn was left, and the sign of the angle.
fn in_quadrant(x: f64) -> (f64, bool, f64) {
    let (turned, sign) = (x.abs() % 360.0, 1_f64.copysign(x));
    let (half, sign) = match turned > 180.0 {
        true => (360.0 - turned, -sign),
        false => (turned, sign),
    };
    match half > 90.0 {
        true => (180.0 - half, true, sign),
        false => (half, false, sign),
    }
}

fn sine(x: f64) -> f64 {
    let (x, _, sign) = in_quadrant(x);
    sign * sine_of_quadrant(x)
}

/// The tangent, or the cotangent; zero has no sign.
fn tangent(x: f64, is_inverse: bool) -> f64 {
    let ratio = |x: f64| match is_inverse {
        false => sine_of_quadrant(x) / cosine_of_quadrant(x),
        true => cosine_of_quadrant(x) / sine_of_quadrant(x),
    };
    let (x, is_behind, sign) = in_quadrant(x);
    let sign = if is_behind { -sign } else { sign };
    sign * (ratio(x) / ratio(45.0)) + 0.0
}

/// The angle of a sine from 0 to 1.
fn arc_sine(x: f64) -> f64 {
    match x <= 0.5 {
        true => x.asin() / 0.5_f64.asin() * 30.0,
        false => 90.0 - x.acos() / 0.5_f64.acos() * 60.0,
    }
}

fn arc_cosine(x: f64) -> f64 {
    match x {
        x if x < 0.0 => 90.0 + arc_sine(-x),
        x if x <= 0.5 => 90.0 - x.asin() / 0.5_f64.asin() * 30.0,
        x => x.acos() / 0.5_f64.acos() * 60.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_of_halves_are_exact() {
        let value = |name: &str, x: f64| {
            let (_, _, compute) = FUNCTIONS
                .iter()
                .find(|(known, ..)| *known == name)
                .expect("it is there");
            compute(x, x)
        };
        for (name, x, expected) in [
            ("sind", 30.0, 0.5),
            ("sind", -30.0, -0.5),
            ("sind", 150.0, 0.5),
            ("sind", 210.0, -0.5),
            ("sind", 90.0, 1.0),
            ("sind", 180.0, 0.0),
            ("cosd", 60.0, 0.5),
            ("cosd", -60.0, 0.5),
            ("cosd", 120.0, -0.5),
            ("cosd", 90.0, 0.0),
            ("cosd", 180.0, -1.0),
            ("cosd", 300.0, 0.5),
            ("tand", 45.0, 1.0),
            ("tand", 135.0, -1.0),
            ("tand", 90.0, f64::INFINITY),
            ("cotd", 45.0, 1.0),
            ("asind", 0.5, 30.0),
            ("asind", -1.0, -90.0),
            ("acosd", 0.5, 60.0),
            ("acosd", -0.5, 120.0),
            ("acosd", -1.0, 180.0),
            ("atand", 1.0, 45.0),
            ("atand", f64::INFINITY, 90.0),
        ] {
            assert_eq!(value(name, x), Some(expected), "{name}({x})");
        }
        assert_eq!(value("sind", f64::INFINITY), None);
        assert_eq!(value("asind", 1.5), None);
    }
}
