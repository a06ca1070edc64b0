//! Angles in degrees: `sind`, `cosd`, `tand`, `cotd`, `asind`, `acosd`, `atand`, `atan2d`, exact where the result is a whole or a half.
//!
//! An angle is brought into the first quadrant, and what a float makes of the sine of 30°, the cosine of 60° and the like is divided out, as
//! in `float.c` of PostgreSQL.

use std::f64::consts::PI;

use datafusion::common::ScalarValue;
use rukh_error::SqlError;

use crate::functions::common::row_values::{Compute, float};

/// The functions.
pub(crate) const FUNCTIONS: [(&str, Compute); 8] = [
    ("sind", |values| angle(float(values, 0)?, |x| finite(x).map(sine))),
    ("cosd", |values| {
        angle(float(values, 0)?, |x| finite(x).map(cosine))
    }),
    ("tand", |values| {
        angle(float(values, 0)?, |x| finite(x).map(|x| tangent(x, false)))
    }),
    ("cotd", |values| {
        angle(float(values, 0)?, |x| finite(x).map(|x| tangent(x, true)))
    }),
    ("asind", |values| {
        angle(float(values, 0)?, |x| {
            unit(x).map(|x| arc_sine(x.abs()).copysign(x))
        })
    }),
    ("acosd", |values| {
        angle(float(values, 0)?, |x| unit(x).map(arc_cosine))
    }),
    ("atand", |values| {
        angle(float(values, 0)?, |x| Some(x.atan() / 1_f64.atan() * 45.0))
    }),
    ("atan2d", |values| {
        let degrees = float(values, 0)?.atan2(float(values, 1)?) / 1_f64.atan() * 45.0;
        Ok(ScalarValue::Float64(Some(degrees)))
    }),
];

/// Computes an angle; NaN has that of NaN. Fails with 22003 on what has none.
fn angle(x: f64, compute: fn(f64) -> Option<f64>) -> Result<ScalarValue, SqlError> {
    let angle = if x.is_nan() { Some(x) } else { compute(x) };
    match angle {
        Some(angle) => Ok(ScalarValue::Float64(Some(angle))),
        None => Err(SqlError::statement("22003", "input is out of range")),
    }
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

fn cosine(x: f64) -> f64 {
    let (x, is_behind, _) = in_quadrant(x);
    let cosine = cosine_of_quadrant(x);
    if is_behind { -cosine } else { cosine }
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
            let (_, compute) = FUNCTIONS
                .iter()
                .find(|(known, _)| *known == name)
                .expect("it is there");
            match compute(&[ScalarValue::Float64(Some(x))]) {
                Ok(ScalarValue::Float64(angle)) => angle,
                _ => None,
            }
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
