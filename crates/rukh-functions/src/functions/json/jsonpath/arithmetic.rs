//! Arithmetic of a path, which is that of NUMERIC, and methods of numbers.

use rukh_keys::{Json, JsonNumber, JsonbKind};

use num_bigint::BigInt;

use super::failure::{Failure, soft};
use super::item::Item;
use super::run::{Found, Scope, Search};
use super::tree::{Arithmetic, Chain, Method, Sign, Step};
use crate::numbers::Number;

/// Returns the number that JSON spells so: digits, or digits and an exponent.
pub(super) fn number_of(spelling: &str) -> Number {
    let (digits, exponent) = spelling.split_once(['e', 'E']).unwrap_or((spelling, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unscaled = format!("{whole}{fraction}").parse::<BigInt>().unwrap_or_default();
    let exponent = exponent.parse::<i64>().unwrap_or(0);
    let scale = i64::try_from(fraction.len())
        .unwrap_or(i64::MAX)
        .saturating_sub(exponent);
    match usize::try_from(scale) {
        Ok(_) => Number::new(unscaled, scale),
        Err(_) => {
            Number::new(unscaled, 0).times_ten_to(usize::try_from(scale.unsigned_abs()).unwrap_or(usize::MAX))
        }
    }
}

impl Item<'_> {
    /// Returns the value of a number.
    pub(super) fn number(&self) -> Option<Number> {
        self.form()
            .filter(|form| form.kind() == JsonbKind::Number)
            .map(|form| number_of(form.text()))
    }
}

/// Makes a value of a number.
pub(super) fn item_of<'d>(number: &Number) -> Result<Item<'d>, Failure> {
    let number = JsonNumber::of_text(&number.to_string()).map_err(|error| Failure::Soft(error.into()))?;
    Item::made(&Json::Number(number)).map_err(|error| Failure::Hard(error.into()))
}

impl<'d> Search<'_, 'd> {
    /// `x + y`, of one number each.
    pub(super) fn computed(
        &self,
        op: Arithmetic,
        [left, right]: &[Chain; 2],
        scope: &Scope<'d>,
    ) -> Result<Item<'d>, Failure> {
        let (lefts, rights) = (self.unwrapped(left, scope)?, self.unwrapped(right, scope)?);
        let one = |items: &[Item<'d>], side: &str| {
            let number = match items {
                [item] => item.number(),
                _ => None,
            };
            number.ok_or_else(|| {
                let op = op.spelling();
                let message =
                    format!("{side} operand of jsonpath operator {op} is not a single numeric value");
                soft("22038", message)
            })
        };
        let (left, right) = (one(&lefts, "left")?, one(&rights, "right")?);
        let result = match op {
            Arithmetic::Add => Ok(left.plus(&right)),
            Arithmetic::Subtract => Ok(left.minus(&right)),
            Arithmetic::Multiply => Ok(left.times(&right)),
            Arithmetic::Divide => left.divided_by(&right),
            Arithmetic::Modulo => left.remainder(&right),
        };
        item_of(&result.map_err(Failure::Soft)?)
    }

    /// `-x` of each number.
    pub(super) fn signed(
        &self,
        sign: Sign,
        operand: &Chain,
        steps: &[Step],
        scope: &Scope<'d>,
        found: &mut Found<'d>,
    ) -> Result<bool, Failure> {
        let mut any = false;
        for item in self.unwrapped(operand, scope)? {
            let number = match item.number() {
                Some(number) => number,
                // The value does not matter.
                None if steps.is_empty() && found.stops_at_first() => continue,
                None => {
                    let message = format!(
                        "operand of unary jsonpath operator {} is not a numeric value",
                        sign.spelling()
                    );
                    return Err(soft("2203B", message));
                }
            };
            let number = match sign {
                Sign::Plus => number,
                Sign::Minus => number.negated(),
            };
            any |= self.go_on(steps, item_of(&number)?, scope, found)?;
            if any && found.stops_at_first() {
                break;
            }
        }
        Ok(any)
    }

    /// `abs()`, `floor()`, `ceiling()`, `double()`.
    pub(super) fn number_method(&self, method: Method, item: &Item<'d>) -> Result<Item<'d>, Failure> {
        let name = method.name();
        let refused = |message: String| soft("22036", message);
        let number = match (item.number(), method) {
            (Some(number), Method::Double) => {
                if !number.to_double().is_finite() {
                    return Err(refused(format!(
                        "numeric argument of jsonpath item method .{name}() is out of range for type double precision"
                    )));
                }
                // A number stays as it is.
                number
            }
            (Some(number), Method::Abs) if number.is_negative() => number.negated(),
            (Some(number), Method::Abs) => number,
            (Some(number), Method::Floor) => number.floor(),
            (Some(number), _) => number.negated().floor().negated(),
            (None, Method::Double) => {
                let Some(text) = item.text() else {
                    return Err(refused(format!(
                        "jsonpath item method .{name}() can only be applied to a string or numeric value"
                    )));
                };
                let value = text
                    .trim_ascii()
                    .parse::<f64>()
                    .ok()
                    .filter(|value| value.is_finite());
                of_double(value.ok_or_else(|| {
                    refused(format!(
                        "string argument of jsonpath item method .{name}() is not a valid representation of a double precision number"
                    ))
                })?)
            }
            (None, _) => {
                return Err(refused(format!(
                    "jsonpath item method .{name}() can only be applied to a numeric value"
                )));
            }
        };
        item_of(&number)
    }
}

/// Returns the number that a DOUBLE is cast to: of 15 digits.
fn of_double(value: f64) -> Number {
    let spelling = format!("{value:.14e}");
    let number = number_of(&spelling);
    number.without_zeros()
}

/// Returns a number that is a subscript, without its fraction.
pub(super) fn subscript(items: &[Item<'_>]) -> Result<i32, Failure> {
    let number = match items {
        [item] => item.number(),
        _ => None,
    };
    let number =
        number.ok_or_else(|| soft("22033", "jsonpath array subscript is not a single numeric value"))?;
    let whole = number
        .truncated(0)
        .to_i64()
        .and_then(|whole| i32::try_from(whole).ok());
    whole.ok_or_else(|| soft("22033", "jsonpath array subscript is out of integer range"))
}
