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

    /// Returns it with at least so many digits after the point.
    pub fn with_digits(&self, digits: u8) -> Number {
        self.rounded(self.scale.max(i64::from(digits)))
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

    /// Returns the nearest DOUBLE.
    pub fn to_double(&self) -> f64 {
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

    /// Returns what is left of it when the whole quotient is taken, of its sign.
    ///
    /// # Errors
    /// 22012 for a division by zero.
    pub fn remainder(&self, other: &Number) -> Result<Number, SqlError> {
        Ok(self.minus(&self.whole_quotient(other)?.times(other)))
    }

    /// Returns the greatest number of which both are multiples.
    pub fn common_divisor(&self, other: &Number) -> Number {
        let scale = self.scale.max(other.scale);
        let (mut one, mut rest) = (self.rounded(scale).unscaled, other.rounded(scale).unscaled);
        while rest.sign() != Sign::NoSign {
            let next = &one % &rest;
            one = std::mem::replace(&mut rest, next);
        }
        Number::new(one.magnitude().clone().into(), scale)
    }

    /// Returns the least number, not negative, that is a multiple of both.
    pub fn common_multiple(&self, other: &Number) -> Result<Number, SqlError> {
        let divisor = self.common_divisor(other);
        if divisor.is_zero() {
            return Ok(divisor);
        }
        let multiple = self.whole_quotient(&divisor)?.times(other);
        Ok(Number::new(
            multiple.unscaled.magnitude().clone().into(),
            multiple.scale,
        ))
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

    /// Returns a sum, with all its digits.
    pub fn plus(&self, other: &Number) -> Number {
        self.minus(&other.negated())
    }

    /// Returns the number of the other sign.
    pub fn negated(&self) -> Number {
        Number::new(-&self.unscaled, self.scale)
    }

    /// Returns the greatest whole number that is not greater.
    pub fn floor(&self) -> Number {
        let whole = self.truncated(0);
        match self.is_negative() && whole.partial_cmp(self) != Some(Ordering::Equal) {
            true => whole.minus(&Number::new(BigInt::from(1), 0)),
            false => whole,
        }
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
mod tests;
