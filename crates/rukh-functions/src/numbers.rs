//! Arithmetic of NUMERICs as PostgreSQL does it: how many digits after the point a quotient, a mean, a root, a power or a
//! logarithm has, and where it is rounded.
//!
//! | result                                | digits after the point (PostgreSQL 15, `numeric.c`)                              |
//! |---------------------------------------|------------------------------------------------------------------------------------|
//! | `a / b`, means, variances             | as many as give 16 significant ones, no fewer than `a` and `b` have (`select_div_scale`) |
//! | `sqrt`, `exp`, `ln`, `log`            | likewise                                                                             |
//! | `a ^ n`, n a whole number of 32 bits  | 16, no fewer than `a` has                                                            |
//! | `a ^ b`                               | as many as give 16 significant ones                                                  |
//!
//! No result has more than 38, where PostgreSQL goes on to 1,000. All are rounded half away from zero.

#![warn(clippy::arithmetic_side_effects)]

use std::cmp::Ordering;
use std::fmt;

use datafusion::arrow::datatypes::i256;
use num_bigint::{BigInt, Sign};
use rukh_error::SqlError;
use rukh_keys::NUMERIC_HALF;

/// Digits of one of PostgreSQL's, to the base of 10,000.
const GROUP: i64 = 4;

/// Significant digits that results have at least.
const SIGNIFICANT: i64 = 16;

/// Digits after the point that results have at most.
const SCALE_MAX: i64 = NUMERIC_HALF as i64;

/// Digits that series are computed with beyond those of the result.
const GUARD: i64 = 12;

/// A result of more decimal digits than this is no NUMERIC.
const WEIGHT_MAX: f64 = 80.0;

/// An exact number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The number times 10^`scale`.
    unscaled: BigInt,
    /// Digits after the point; it may end in zeros.
    scale: i64,
}

fn ten_to(power: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power).unwrap_or(0))
}

fn overflow() -> SqlError {
    SqlError::statement("22003", "value overflows numeric format")
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "numbers of any size; scales are small"
)]
impl Number {
    /// Returns a number that is given times 10^`scale`.
    pub fn new(unscaled: BigInt, scale: i64) -> Self {
        Number { unscaled, scale }
    }

    /// Returns a number of a Decimal128.
    pub fn of_i128(unscaled: i128, scale: i8) -> Self {
        Number::new(BigInt::from(unscaled), i64::from(scale))
    }

    /// Returns a number of a Decimal256. One of NUMERIC without digits has as many as it needs.
    pub fn of_i256(unscaled: i256, scale: i8) -> Self {
        let number = Number::new(
            BigInt::from_signed_bytes_le(&unscaled.to_le_bytes()),
            i64::from(scale),
        );
        match i64::from(scale) == SCALE_MAX {
            true => number.without_zeros(),
            false => number,
        }
    }

    /// Leaves out zeros at the end of the digits after the point.
    pub fn without_zeros(mut self) -> Self {
        let ten = BigInt::from(10);
        while self.scale > 0 {
            let shorter = &self.unscaled / &ten;
            if &shorter * &ten != self.unscaled {
                break;
            }
            self.unscaled = shorter;
            self.scale -= 1;
        }
        self
    }

    /// Returns the number times 10^`scale`, rounded half away from zero.
    ///
    /// # Errors
    /// 22003 if it has more than 38 digits before the point.
    pub fn to_i256(&self, scale: i8) -> Result<i256, SqlError> {
        let scale = i64::from(scale);
        let rounded = self.rounded(scale);
        let most = ten_to(scale + SCALE_MAX);
        if rounded.unscaled.magnitude() >= most.magnitude() {
            return Err(overflow());
        }
        let bytes = rounded.unscaled.to_signed_bytes_le();
        let fill = if rounded.unscaled.sign() == Sign::Minus {
            0xff
        } else {
            0
        };
        let mut all = [fill; 32];
        let length = bytes.len().min(all.len());
        all[..length].copy_from_slice(&bytes[..length]);
        Ok(i256::from_le_bytes(all))
    }

    /// Returns it with exactly `scale` digits after the point, rounded half away from zero.
    pub fn rounded(&self, scale: i64) -> Number {
        match self.scale.cmp(&scale) {
            Ordering::Equal => self.clone(),
            Ordering::Less => Number::new(&self.unscaled * ten_to(scale - self.scale), scale),
            Ordering::Greater => Number::new(
                rounded_quotient(&self.unscaled, &ten_to(self.scale - scale)),
                scale,
            ),
        }
    }

    /// Cuts off the digits behind the first `scale` after the point; negative: digits before it become zeros.
    pub fn truncated(&self, scale: i64) -> Number {
        match self.scale > scale {
            false => self.clone(),
            true => {
                let unit = ten_to(self.scale - scale);
                let kept = &self.unscaled / &unit;
                Number::new(kept, scale).at_least(0)
            }
        }
    }

    /// Rounds to so many digits after the point; negative: to tens, hundreds and so on.
    pub fn rounded_to(&self, digits: i64) -> Number {
        self.rounded(digits).at_least(0)
    }

    /// Returns it with at least `scale` digits after the point.
    fn at_least(self, scale: i64) -> Number {
        match self.scale < scale {
            true => self.rounded(scale),
            false => self,
        }
    }

    /// Returns it times a power of ten.
    pub fn times_ten_to(&self, power: usize) -> Number {
        let power = i64::try_from(power).unwrap_or(i64::MAX);
        Number::new(&self.unscaled * ten_to(power), self.scale)
    }

    /// Returns one digit, so many after the point, and the power of ten to multiply them by.
    pub fn scientific(&self, digits: usize) -> (Number, i64) {
        let after = i64::try_from(digits).unwrap_or(i64::MAX);
        let of = |power: i64| Number::new(self.rounded(after - power).unscaled, after);
        let power = self.exponent();
        match of(power) {
            // Rounding made a digit more.
            number if number.exponent() > 0 => (of(power + 1), power + 1),
            number => (number, power),
        }
    }

    /// Returns -1, 0 or 1.
    pub fn sign(&self) -> Number {
        let sign = match self.unscaled.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        };
        Number::new(BigInt::from(sign), 0)
    }

    fn is_zero(&self) -> bool {
        self.unscaled.sign() == Sign::NoSign
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.unscaled.sign() == Sign::Minus
    }

    /// Returns the power of ten of the first digit; 0 of zero.
    fn exponent(&self) -> i64 {
        match self.is_zero() {
            true => 0,
            false => self.unscaled.magnitude().to_string().len() as i64 - 1 - self.scale,
        }
    }

    /// Returns the power of 10,000 of the first group of four digits, and the group.
    fn first_group(&self) -> (i64, i64) {
        if self.is_zero() {
            return (0, 0);
        }
        let weight = self.exponent().div_euclid(GROUP);
        let digits = self.unscaled.magnitude().to_string();
        let kept = (self.exponent() - weight * GROUP + 1) as usize;
        let group = digits
            .get(..kept)
            .map_or_else(|| format!("{digits:0<kept$}"), str::to_string);
        (weight, group.parse().unwrap_or(0))
    }

    fn to_double(&self) -> f64 {
        format!("{}e{}", self.unscaled, -self.scale)
            .parse()
            .unwrap_or(f64::NAN)
    }

    /// Returns a quotient.
    ///
    /// # Errors
    /// 22012 for a division by zero.
    pub fn divided_by(&self, other: &Number) -> Result<Number, SqlError> {
        if other.is_zero() {
            return Err(SqlError::statement("22012", "division by zero"));
        }
        Ok(self.quotient(other, division_scale(self, other)))
    }

    /// Returns the quotient without the digits after the point.
    ///
    /// # Errors
    /// 22012 for a division by zero.
    pub fn whole_quotient(&self, other: &Number) -> Result<Number, SqlError> {
        if other.is_zero() {
            return Err(SqlError::statement("22012", "division by zero"));
        }
        let scale = self.scale.max(other.scale);
        let quotient = self.rounded(scale).unscaled / other.rounded(scale).unscaled;
        Ok(Number::new(quotient, 0))
    }

    /// Returns a whole number; `None` of others, and of those that 64 bits do not hold.
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(&self.unscaled).ok().filter(|_| self.scale == 0)
    }

    /// Returns how many digits after the point it has.
    pub fn scale(&self) -> i64 {
        self.scale
    }

    /// Returns the quotient with `scale` digits after the point; the other one is not zero.
    fn quotient(&self, other: &Number, scale: i64) -> Number {
        let shift = scale + other.scale - self.scale;
        let (mut above, mut below) = (self.unscaled.clone(), other.unscaled.clone());
        match shift >= 0 {
            true => above *= ten_to(shift),
            false => below *= ten_to(-shift),
        }
        Number::new(rounded_quotient(&above, &below), scale)
    }

    /// Returns the square root.
    ///
    /// # Errors
    /// 2201F for a negative number.
    pub fn square_root(&self) -> Result<Number, SqlError> {
        if self.is_negative() {
            return Err(SqlError::statement(
                "2201F",
                "cannot take square root of a negative number",
            ));
        }
        let (weight, _) = self.first_group();
        let weight = (weight + 1) * GROUP / 2 - 1;
        Ok(self.root(result_scale(SIGNIFICANT - weight, &[self])))
    }

    /// Returns the square root of a number that is not negative, with `scale` digits after the point.
    fn root(&self, scale: i64) -> Number {
        // One digit more than is kept: what is behind it cannot make half of a unit of it.
        let shifted = self.rounded(self.scale.max(0)).at_least(0);
        let wanted = 2 * (scale + 1);
        let unscaled = match wanted >= shifted.scale {
            true => shifted.unscaled * ten_to(wanted - shifted.scale),
            false => shifted.unscaled / ten_to(shifted.scale - wanted),
        };
        Number::new(unscaled.sqrt(), scale + 1).rounded(scale)
    }

    /// Returns e to the power of the number.
    ///
    /// # Errors
    /// 22003 for a result that is no NUMERIC.
    pub fn exponential(&self) -> Result<Number, SqlError> {
        let weight = self.to_double() * std::f64::consts::LOG10_E;
        if weight > WEIGHT_MAX {
            return Err(overflow());
        }
        let scale = result_scale(SIGNIFICANT - weight.max(-1e4) as i64, &[self]);
        if weight < -1e3 {
            return Ok(Number::new(BigInt::ZERO, scale));
        }
        Ok(self.exponential_at(scale, weight))
    }

    /// Returns e to the power of the number, which has about so many digits before the point.
    fn exponential_at(&self, scale: i64, weight: f64) -> Number {
        // Halved so often that the series ends soon, and squared as often in the end.
        let halvings = (self.to_double().abs().max(1.0).log2() as i64 + 8).max(8);
        let digits = scale + GUARD + weight.max(0.0) as i64 + halvings;
        let one = ten_to(digits);
        let x = self.rounded(digits).unscaled / BigInt::from(2).pow(halvings as u32);
        let (mut sum, mut term, mut n) = (one.clone(), one.clone(), 0_u32);
        loop {
            n = n.saturating_add(1);
            term = term * &x / &one / n;
            if term == BigInt::ZERO || n > 10_000 {
                break;
            }
            sum += &term;
        }
        for _ in 0..halvings {
            sum = &sum * &sum / &one;
        }
        Number::new(sum, digits).rounded(scale)
    }

    /// Returns the natural logarithm.
    ///
    /// # Errors
    /// 2201E for zero and negative numbers.
    pub fn logarithm(&self) -> Result<Number, SqlError> {
        self.check_has_logarithm()?;
        Ok(self.logarithm_at(result_scale(SIGNIFICANT - self.logarithm_weight(), &[self])))
    }

    /// Returns the logarithm to a base.
    ///
    /// # Errors
    /// 2201E for zero and negative numbers, 22012 for the base 1.
    pub fn logarithm_to(&self, base: &Number) -> Result<Number, SqlError> {
        self.check_has_logarithm()?;
        base.check_has_logarithm()?;
        let weight = self.logarithm_weight() - base.logarithm_weight();
        let scale = result_scale(SIGNIFICANT - weight, &[self, base]);
        let digits = |number: &Number| scale + weight.abs() + GUARD + number.logarithm_weight().abs();
        let below = base.logarithm_at(digits(base));
        if below.is_zero() {
            return Err(SqlError::statement("22012", "division by zero"));
        }
        Ok(self.logarithm_at(digits(self)).quotient(&below, scale))
    }

    fn check_has_logarithm(&self) -> Result<(), SqlError> {
        let what = match self.unscaled.sign() {
            Sign::Plus => return Ok(()),
            Sign::NoSign => "zero",
            Sign::Minus => "a negative number",
        };
        let message = format!("cannot take logarithm of {what}");
        Err(SqlError::statement("2201E", message))
    }

    /// Returns about the power of ten of the first digit of the logarithm, as PostgreSQL's `estimate_ln_dweight`.
    fn logarithm_weight(&self) -> i64 {
        let near_one = Number::new(BigInt::from(9), 1) <= *self && *self <= Number::new(BigInt::from(11), 1);
        if near_one {
            let rest = self.minus(&Number::new(BigInt::from(1), 0));
            if rest.is_zero() {
                return 0;
            }
            let (weight, group) = rest.first_group();
            return weight * GROUP + (group as f64).log10() as i64;
        }
        let logarithm = self.to_double().ln();
        logarithm.abs().log10() as i64
    }

    /// Returns the natural logarithm of a positive number with `scale` digits after the point.
    fn logarithm_at(&self, scale: i64) -> Number {
        // Near to 1 the first digits of the series are zeros, and roots lose a digit each.
        let digits = scale + GUARD + self.scale.max(0) + 24;
        let one = ten_to(digits);
        let mut x = self.clone();
        let mut doublings = 0_u32;
        let near = |x: &Number| {
            let x = x.to_double();
            (0.95..=1.05).contains(&x)
        };
        while !near(&x) && doublings < 64 {
            x = x.root(digits);
            doublings = doublings.saturating_add(1);
        }
        // ln x = 2 artanh((x - 1) / (x + 1)).
        let x = x.rounded(digits).unscaled;
        let y = (&x - &one) * &one / (&x + &one);
        let square = &y * &y / &one;
        let (mut sum, mut power, mut n) = (y.clone(), y, 1_u32);
        loop {
            n = n.saturating_add(2);
            power = &power * &square / &one;
            let term = &power / n;
            if term == BigInt::ZERO || n > 100_000 {
                break;
            }
            sum += term;
        }
        let sum = sum * BigInt::from(2).pow(doublings.saturating_add(1));
        Number::new(sum, digits).rounded(scale)
    }

    /// Returns the number to a power.
    ///
    /// # Errors
    /// 22012 for zero to a negative power, 2201F for a negative number to one that is not whole, 22003 for what is no NUMERIC.
    pub fn to_the_power_of(&self, power: &Number) -> Result<Number, SqlError> {
        if self.is_zero() && power.is_negative() {
            return Err(SqlError::statement(
                "2201F",
                "zero raised to a negative power is undefined",
            ));
        }
        let whole = power.clone().without_zeros();
        let whole = (whole.scale <= 0).then(|| i32::try_from(&whole.rounded(0).unscaled).ok());
        match whole {
            Some(Some(whole)) => return self.to_the_whole_power_of(whole),
            None if self.is_negative() => {
                return Err(SqlError::statement(
                    "2201F",
                    "a negative number raised to a non-integer power yields a complex result",
                ));
            }
            _ => {}
        }
        if self.is_zero() {
            return Ok(Number::new(BigInt::ZERO, SIGNIFICANT));
        }
        let negative = self.is_negative() && power.rounded(0).unscaled.bit(0);
        let size = Number::new(self.unscaled.magnitude().clone().into(), self.scale);
        let weight = size.to_double().log10() * power.to_double();
        if weight > WEIGHT_MAX {
            return Err(overflow());
        }
        let scale = result_scale(SIGNIFICANT - weight.max(-1e4) as i64, &[self, power]);
        if weight < -1e3 {
            return Ok(Number::new(BigInt::ZERO, scale));
        }
        // Each digit before the point of the power takes one more of the logarithm.
        let digits = scale + GUARD + weight.max(0.0) as i64 + power.exponent().max(0);
        let logarithm = size.logarithm_at(digits);
        let product = Number::new(
            &logarithm.unscaled * &power.unscaled,
            logarithm.scale + power.scale,
        );
        let result = product.exponential_at(scale, weight);
        Ok(match negative {
            true => Number::new(-result.unscaled, result.scale),
            false => result,
        })
    }

    fn to_the_whole_power_of(&self, power: i32) -> Result<Number, SqlError> {
        let scale = result_scale(SIGNIFICANT, &[self]);
        if power == 0 {
            return Ok(Number::new(BigInt::from(1), 0).rounded(scale));
        }
        if self.is_zero() {
            return Ok(Number::new(BigInt::ZERO, scale));
        }
        let size = self.unscaled.magnitude().to_string();
        let first: f64 = format!("0.{size}").parse().unwrap_or(f64::NAN);
        let weight = f64::from(power) * (first.log10() + (size.len() as i64 - self.scale) as f64);
        if weight > WEIGHT_MAX {
            return Err(overflow());
        }
        if weight < -1e3 {
            return Ok(Number::new(BigInt::ZERO, scale));
        }
        let number = self.clone().without_zeros();
        // By squares, each with so many significant digits that the last one does not show.
        let digits = scale + weight.max(0.0) as i64 + GUARD + 16;
        let (mut result, mut square) = (Number::new(BigInt::from(1), 0), number);
        let mut rest = power.unsigned_abs();
        while rest > 0 {
            if rest % 2 == 1 {
                result = result.times(&square).with_significant(digits);
            }
            rest /= 2;
            if rest > 0 {
                square = square.times(&square).with_significant(digits);
            }
        }
        Ok(match power < 0 {
            true => Number::new(BigInt::from(1), 0).quotient(&result, scale),
            false => result.rounded(scale),
        })
    }

    /// Returns a product, with all its digits.
    pub fn times(&self, other: &Number) -> Number {
        Number::new(&self.unscaled * &other.unscaled, self.scale + other.scale)
    }

    /// Returns a difference, with all its digits.
    pub fn minus(&self, other: &Number) -> Number {
        let scale = self.scale.max(other.scale);
        Number::new(
            self.rounded(scale).unscaled - other.rounded(scale).unscaled,
            scale,
        )
    }

    /// Keeps so many significant digits.
    fn with_significant(self, digits: i64) -> Number {
        let scale = digits - self.exponent();
        match scale < self.scale {
            true => self.rounded(scale),
            false => self,
        }
    }

    /// Returns the variance of `count` numbers by their sum and the sum of their squares; of a sample, or of all there are.
    pub fn variance(sum: &Number, squares: &Number, count: u64, sample: bool) -> Number {
        let count = Number::new(BigInt::from(count), 0);
        let above = count.times(squares).minus(&sum.times(sum));
        if above.is_zero() || above.is_negative() {
            return Number::new(BigInt::ZERO, 0);
        }
        let others = match sample {
            true => count.minus(&Number::new(BigInt::from(1), 0)),
            false => count.clone(),
        };
        // Beyond the digits that a result keeps, for its root.
        let below = count.times(&others);
        let least = above.scale.max(below.scale);
        above.quotient(
            &below,
            significant_scale(above.first_group(), below.first_group(), least),
        )
    }

    /// Returns the square root of a variance, with as many digits after the point.
    pub fn deviation(&self) -> Number {
        self.root(self.scale.min(SCALE_MAX))
    }
}

/// All digits, as PostgreSQL's output.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = usize::try_from(self.scale).unwrap_or(0);
        let digits = format!(
            "{:0width$}",
            self.unscaled.magnitude(),
            width = scale.saturating_add(1)
        );
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
        let sign = if self.is_negative() { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let scale = self.scale.max(other.scale);
        Some(self.rounded(scale).unscaled.cmp(&other.rounded(scale).unscaled))
    }
}

/// Divides, and rounds half away from zero.
#[expect(clippy::arithmetic_side_effects, reason = "numbers of any size")]
fn rounded_quotient(above: &BigInt, below: &BigInt) -> BigInt {
    let (quotient, rest) = (above / below, above % below);
    match (rest.magnitude() * 2_u32) >= *below.magnitude() {
        false => quotient,
        true if (above.sign() == Sign::Minus) == (below.sign() == Sign::Minus) => quotient + 1,
        true => quotient - 1,
    }
}

/// Returns the digits after the point of a result: those wanted, no fewer than the arguments have, no more than there are.
fn result_scale(wanted: i64, arguments: &[&Number]) -> i64 {
    let least = arguments.iter().map(|number| number.scale).max().unwrap_or(0);
    wanted.max(least).clamp(0, SCALE_MAX)
}

/// PostgreSQL's `select_div_scale`.
fn division_scale(above: &Number, below: &Number) -> i64 {
    quotient_scale(
        above.first_group(),
        below.first_group(),
        above.scale.max(below.scale),
    )
}

fn quotient_scale(above: (i64, i64), below: (i64, i64), least: i64) -> i64 {
    significant_scale(above, below, least).min(SCALE_MAX)
}

/// As many digits after the point as give 16 significant ones, no fewer than `least`.
#[expect(clippy::arithmetic_side_effects, reason = "digits of two numbers")]
fn significant_scale((weight, first): (i64, i64), (below, first_below): (i64, i64), least: i64) -> i64 {
    let quotient = weight - below - i64::from(first <= first_below);
    (SIGNIFICANT - quotient * GROUP).max(least).clamp(0, 1_000)
}

/// Returns how many digits after the point a quotient of two decimals has, given with their scales; neither is zero.
pub fn division_digits((above, scale): (i128, i8), (below, other): (i128, i8)) -> i64 {
    let scales = (i64::from(scale), i64::from(other));
    quotient_scale(
        first_group(above.unsigned_abs(), scales.0),
        first_group(below.unsigned_abs(), scales.1),
        scales.0.max(scales.1),
    )
}

/// Returns the power of 10,000 of the first group of four digits of a number that is not zero, and the group.
#[expect(clippy::arithmetic_side_effects, reason = "digits of a number of 128 bits")]
fn first_group(number: u128, scale: i64) -> (i64, i64) {
    let digits = i64::from(number.ilog10()) + 1;
    let exponent = digits - 1 - scale;
    let weight = exponent.div_euclid(GROUP);
    let kept = exponent - weight * GROUP + 1;
    let unit = |power: i64| 10_u128.pow(u32::try_from(power).unwrap_or(0));
    let group = match digits >= kept {
        true => number / unit(digits - kept),
        false => number * unit(kept - digits),
    };
    (weight, i64::try_from(group).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        let (mantissa, scale) = match text.split_once('.') {
            Some((whole, fraction)) => (format!("{whole}{fraction}"), fraction.len() as i64),
            None => (text.to_string(), 0),
        };
        Number::new(mantissa.parse().expect("digits are a number"), scale)
    }

    /// As PostgreSQL 15 shows them.
    #[test]
    fn results_have_postgres_digits() {
        let divided = |a: &str, b: &str| {
            number(a)
                .divided_by(&number(b))
                .expect("it has a quotient")
                .to_string()
        };
        for (a, b, expected) in QUOTIENTS {
            assert_eq!(divided(a, b), *expected, "{a} / {b}");
            let small = |text: &str| {
                let number = number(text);
                let unscaled = i128::try_from(&number.unscaled).expect("it is a decimal");
                (unscaled, number.scale as i8)
            };
            let digits = expected
                .split_once('.')
                .map_or(0, |(_, fraction)| fraction.len() as i64);
            assert_eq!(division_digits(small(a), small(b)), digits, "{a} / {b}");
        }
        type Function = fn(&Number) -> Result<Number, SqlError>;
        let functions: [(&str, Function); 3] = [
            ("sqrt", Number::square_root),
            ("exp", Number::exponential),
            ("ln", Number::logarithm),
        ];
        for (name, x, expected) in RESULTS {
            let function = functions.iter().find(|(known, _)| known == name);
            let (_, function) = function.expect("the function is known");
            let result = function(&number(x)).expect("it has a result");
            assert_eq!(result.to_string(), *expected, "{name}({x})");
        }
        for (a, b, expected) in POWERS {
            let power = number(a).to_the_power_of(&number(b)).expect("it has a power");
            assert_eq!(power.to_string(), *expected, "{a} ^ {b}");
        }
        for (base, x, expected) in LOGARITHMS {
            let logarithm = number(x).logarithm_to(&number(base)).expect("it has a logarithm");
            assert_eq!(logarithm.to_string(), *expected, "log({base}, {x})");
        }
    }

    const QUOTIENTS: &[(&str, &str, &str)] = &[
        ("1", "1", "1.00000000000000000000"),
        ("1", "7", "0.14285714285714285714"),
        ("1", "10", "0.10000000000000000000"),
        ("1", "99999", "0.000010000100001000010000"),
        ("1", "2.5", "0.40000000000000000000"),
        ("1", "0.0001", "10000.0000000000000000"),
        ("1", "123456789.123456", "0.0000000081000000656100523714"),
        ("1", "9999999999999999", "0.00000000000000010000000000000001"),
        ("1", "0.3333", "3.0003000300030003"),
        ("3", "3", "1.00000000000000000000"),
        ("3", "22", "0.13636363636363636364"),
        ("3", "100", "0.03000000000000000000"),
        ("3", "10000", "0.00030000000000000000"),
        ("3", "0.1", "30.0000000000000000"),
        ("3", "-1", "-3.0000000000000000"),
        ("3", "0.000000123", "24390243.902439024390"),
        (
            "3",
            "12345678901234567890",
            "0.000000000000000000243000002187000020",
        ),
        ("7", "7", "1.00000000000000000000"),
        ("7", "2", "3.5000000000000000"),
        ("7", "99999", "0.000070000700007000070001"),
        ("7", "1.0", "7.0000000000000000"),
        ("7", "0.0001", "70000.000000000000"),
        ("7", "-7", "-1.00000000000000000000"),
        ("7", "9999999999999999", "0.00000000000000070000000000000007"),
        ("7", "1.50", "4.6666666666666667"),
        ("22", "1", "22.0000000000000000"),
        ("22", "22", "1.00000000000000000000"),
        ("22", "10", "2.2000000000000000"),
        ("22", "10000", "0.00220000000000000000"),
        ("22", "2.5", "8.8000000000000000"),
        ("22", "-1", "-22.0000000000000000"),
        ("22", "123456789.123456", "0.000000178200001443421152"),
        (
            "22",
            "12345678901234567890",
            "0.000000000000000001782000016038000146",
        ),
        ("22", "0.3333", "66.0066006600660066"),
        ("2", "3", "0.66666666666666666667"),
        ("2", "2", "1.00000000000000000000"),
        ("2", "100", "0.02000000000000000000"),
        ("2", "1.0", "2.0000000000000000"),
        ("2", "0.1", "20.0000000000000000"),
        ("2", "-7", "-0.28571428571428571429"),
        ("2", "0.000000123", "16260162.601626016260"),
        ("2", "1.50", "1.3333333333333333"),
        ("10", "1", "10.0000000000000000"),
        ("10", "7", "1.4285714285714286"),
        ("10", "10", "1.00000000000000000000"),
        ("10", "99999", "0.00010000100001000010"),
        ("10", "2.5", "4.0000000000000000"),
        ("10", "0.0001", "100000.000000000000"),
        ("10", "123456789.123456", "0.000000081000000656100524"),
        ("10", "9999999999999999", "0.00000000000000100000000000000010"),
        ("10", "0.3333", "30.0030003000300030"),
        ("100", "3", "33.3333333333333333"),
        ("100", "22", "4.5454545454545455"),
        ("100", "100", "1.00000000000000000000"),
        ("100", "10000", "0.01000000000000000000"),
        ("100", "0.1", "1000.0000000000000000"),
        ("100", "-1", "-100.0000000000000000"),
        ("100", "0.000000123", "813008130.081300813"),
        (
            "100",
            "12345678901234567890",
            "0.000000000000000008100000072900000663",
        ),
        ("99999", "7", "14285.571428571429"),
        ("99999", "2", "49999.500000000000"),
        ("99999", "99999", "1.00000000000000000000"),
        ("99999", "1.0", "99999.000000000000"),
        ("99999", "0.0001", "999990000.00000000"),
        ("99999", "-7", "-14285.571428571429"),
        ("99999", "9999999999999999", "0.0000000000099999000000000010"),
        ("99999", "1.50", "66666.000000000000"),
        ("10000", "1", "10000.0000000000000000"),
        ("10000", "22", "454.5454545454545455"),
        ("10000", "10", "1000.0000000000000000"),
        ("10000", "10000", "1.00000000000000000000"),
        ("10000", "2.5", "4000.0000000000000000"),
        ("10000", "-1", "-10000.0000000000000000"),
        ("10000", "123456789.123456", "0.000081000000656100523714"),
        (
            "10000",
            "12345678901234567890",
            "0.00000000000000081000000729000007",
        ),
        ("10000", "0.3333", "30003.000300030003"),
        ("1.0", "3", "0.33333333333333333333"),
        ("1.0", "2", "0.50000000000000000000"),
        ("1.0", "100", "0.01000000000000000000"),
        ("1.0", "1.0", "1.00000000000000000000"),
        ("1.0", "0.1", "10.0000000000000000"),
        ("1.0", "-7", "-0.14285714285714285714"),
        ("1.0", "0.000000123", "8130081.300813008130"),
        ("1.0", "1.50", "0.66666666666666666667"),
        ("2.5", "1", "2.5000000000000000"),
        ("2.5", "7", "0.35714285714285714286"),
        ("2.5", "10", "0.25000000000000000000"),
        ("2.5", "99999", "0.000025000250002500025000"),
        ("2.5", "2.5", "1.00000000000000000000"),
        ("2.5", "0.0001", "25000.000000000000"),
        ("2.5", "123456789.123456", "0.000000020250000164025131"),
        ("2.5", "9999999999999999", "0.00000000000000025000000000000003"),
        ("2.5", "0.3333", "7.5007500750075008"),
        ("0.1", "3", "0.03333333333333333333"),
        ("0.1", "22", "0.00454545454545454545"),
        ("0.1", "100", "0.00100000000000000000"),
        ("0.1", "10000", "0.000010000000000000000000"),
        ("0.1", "0.1", "1.00000000000000000000"),
        ("0.1", "-1", "-0.10000000000000000000"),
        ("0.1", "0.000000123", "813008.130081300813"),
        ("0.0001", "7", "0.000014285714285714285714"),
        ("0.0001", "2", "0.000050000000000000000000"),
        ("0.0001", "99999", "0.0000000010000100001000010000"),
        ("0.0001", "1.0", "0.000100000000000000000000"),
        ("0.0001", "0.0001", "1.00000000000000000000"),
        ("0.0001", "-7", "-0.000014285714285714285714"),
        (
            "0.0001",
            "9999999999999999",
            "0.000000000000000000010000000000000001",
        ),
        ("0.0001", "1.50", "0.000066666666666666666667"),
        ("-1", "1", "-1.00000000000000000000"),
        ("-1", "22", "-0.04545454545454545455"),
        ("-1", "10", "-0.10000000000000000000"),
        ("-1", "10000", "-0.000100000000000000000000"),
        ("-1", "2.5", "-0.40000000000000000000"),
        ("-1", "-1", "1.00000000000000000000"),
        ("-1", "123456789.123456", "-0.0000000081000000656100523714"),
        (
            "-1",
            "12345678901234567890",
            "-0.000000000000000000081000000729000007",
        ),
        ("-1", "0.3333", "-3.0003000300030003"),
        ("-7", "3", "-2.3333333333333333"),
        ("-7", "2", "-3.5000000000000000"),
        ("-7", "100", "-0.07000000000000000000"),
        ("-7", "1.0", "-7.0000000000000000"),
        ("-7", "0.1", "-70.0000000000000000"),
        ("-7", "-7", "1.00000000000000000000"),
        ("-7", "0.000000123", "-56910569.105691056911"),
        ("-7", "1.50", "-4.6666666666666667"),
        ("123456789.123456", "1", "123456789.123456000000"),
        ("123456789.123456", "7", "17636684.160493714286"),
        ("123456789.123456", "10", "12345678.912345600000"),
        ("123456789.123456", "99999", "1234.5802370369303693"),
        ("123456789.123456", "2.5", "49382715.649382400000"),
        ("123456789.123456", "0.0001", "1234567891234.56000000"),
        ("123456789.123456", "123456789.123456", "1.00000000000000000000"),
        (
            "123456789.123456",
            "9999999999999999",
            "0.000000012345678912345601",
        ),
        ("123456789.123456", "0.3333", "370407408.11117912"),
        ("0.000000123", "3", "0.000000041000000000000000"),
        ("0.000000123", "22", "0.0000000055909090909090909091"),
        ("0.000000123", "100", "0.0000000012300000000000000000"),
        ("0.000000123", "10000", "0.0000000000123000000000000000"),
        ("0.000000123", "0.1", "0.000001230000000000000000"),
        ("0.000000123", "-1", "-0.000000123000000000000000"),
        ("0.000000123", "0.000000123", "1.00000000000000000000"),
        ("9999999999999999", "7", "1428571428571428.4286"),
        ("9999999999999999", "2", "4999999999999999.5000"),
        ("9999999999999999", "99999", "100001000010.00009000"),
        ("9999999999999999", "1.0", "9999999999999999.0000"),
        ("9999999999999999", "0.0001", "99999999999999990000.0000"),
        ("9999999999999999", "-7", "-1428571428571428.4286"),
        ("9999999999999999", "9999999999999999", "1.00000000000000000000"),
        ("9999999999999999", "1.50", "6666666666666666.0000"),
        ("12345678901234567890", "1", "12345678901234567890"),
        ("12345678901234567890", "22", "561167222783389450"),
        ("12345678901234567890", "10", "1234567890123456789"),
        ("12345678901234567890", "10000", "1234567890123456.7890"),
        ("12345678901234567890", "2.5", "4938271560493827156.0"),
        ("12345678901234567890", "-1", "-12345678901234567890"),
        ("12345678901234567890", "123456789.123456", "99999999910.00063918"),
        (
            "12345678901234567890",
            "12345678901234567890",
            "1.00000000000000000000",
        ),
        ("12345678901234567890", "0.3333", "37040740777781481818.1818"),
        ("1.50", "3", "0.50000000000000000000"),
        ("1.50", "2", "0.75000000000000000000"),
        ("1.50", "100", "0.01500000000000000000"),
        ("1.50", "1.0", "1.50000000000000000000"),
        ("1.50", "0.1", "15.0000000000000000"),
        ("1.50", "-7", "-0.21428571428571428571"),
        ("1.50", "0.000000123", "12195121.951219512195"),
        ("1.50", "1.50", "1.00000000000000000000"),
        ("0.3333", "1", "0.33330000000000000000"),
        ("0.3333", "7", "0.04761428571428571429"),
        ("0.3333", "10", "0.03333000000000000000"),
        ("0.3333", "99999", "0.000003333033330333303333"),
        ("0.3333", "2.5", "0.13332000000000000000"),
        ("0.3333", "0.0001", "3333.0000000000000000"),
        ("0.3333", "123456789.123456", "0.0000000026997300218678304554"),
        (
            "0.3333",
            "9999999999999999",
            "0.000000000000000033330000000000003333",
        ),
        ("0.3333", "0.3333", "1.00000000000000000000"),
    ];

    const RESULTS: &[(&str, &str, &str)] = &[
        ("sqrt", "2", "1.414213562373095"),
        ("sqrt", "4", "2.000000000000000"),
        ("sqrt", "100", "10.000000000000000"),
        ("sqrt", "0.5", "0.70710678118654752"),
        ("sqrt", "0.0001", "0.01000000000000000"),
        ("sqrt", "12345678901234567890", "3513641828.8201443"),
        ("sqrt", "2.25", "1.500000000000000"),
        ("sqrt", "99980001", "9999.0000000000000"),
        ("sqrt", "0", "0.000000000000000"),
        ("sqrt", "20000", "141.4213562373095"),
        ("sqrt", "0.00000002", "0.0001414213562373095"),
        ("exp", "0", "1.0000000000000000"),
        ("exp", "1", "2.7182818284590452"),
        ("exp", "-1", "0.3678794411714423"),
        ("exp", "10", "22026.465794806717"),
        ("exp", "0.5", "1.6487212707001281"),
        ("exp", "-20", "0.000000002061153622438558"),
        ("exp", "50", "5184705528587072464087"),
        ("exp", "1.000000001", "2.7182818311773271"),
        ("exp", "30.5", "17619017951355.631"),
        ("exp", "-0.00001", "0.9999900000499998"),
        ("ln", "1", "0.0000000000000000"),
        ("ln", "2", "0.6931471805599453"),
        ("ln", "10", "2.3025850929940457"),
        ("ln", "0.5", "-0.6931471805599453"),
        ("ln", "100", "4.6051701859880914"),
        ("ln", "1.0001", "0.00009999500033330834"),
        ("ln", "0.99999", "-0.000010000050000333336"),
        ("ln", "12345678901234567890", "43.959837789202521"),
        ("ln", "0.000001", "-13.815510557964274"),
        ("ln", "1.1", "0.09531017980432486"),
        ("ln", "0.9", "-0.10536051565782630"),
        ("ln", "2.718281828459045", "0.9999999999999999"),
    ];

    const POWERS: &[(&str, &str, &str)] = &[
        ("2", "10", "1024.0000000000000000"),
        ("2", "-3", "0.1250000000000000"),
        ("1.5", "3", "3.3750000000000000"),
        ("10", "0.5", "3.1622776601683793"),
        ("2", "0.5", "1.4142135623730950"),
        ("0.5", "2.5", "0.1767766952966369"),
        ("100", "1.5", "1000.0000000000000"),
        ("3", "20", "3486784401.0000000000000000"),
        ("-2", "3", "-8.0000000000000000"),
        ("-2", "2", "4.0000000000000000"),
        ("0", "0", "1.0000000000000000"),
        ("0", "5", "0.0000000000000000"),
        ("1.1", "100", "13780.6123398222701841"),
        ("7", "-1", "0.1428571428571429"),
        ("2.5", "-2.5", "0.1011928851253881"),
        ("12345.678", "2.2", "1003073784.3123557"),
        ("1.0001", "1000", "1.1051653926032327"),
        ("9", "0.3333333333333333", "2.0800838230519040"),
    ];

    const LOGARITHMS: &[(&str, &str, &str)] = &[
        ("2", "8", "3.0000000000000000"),
        ("10", "1000", "3.0000000000000000"),
        ("10", "2", "0.3010299956639812"),
        ("2", "10", "3.3219280948873623"),
        ("0.5", "3", "-1.5849625007211562"),
        ("3", "0.001", "-6.2877098228681538"),
        ("1.1", "2", "7.272540897341719"),
        ("10", "12345678901234567890", "19.091514977212700"),
        ("7", "7", "1.0000000000000000"),
    ];
}
