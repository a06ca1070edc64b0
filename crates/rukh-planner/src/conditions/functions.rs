//! Functions that keep the order of their operand: their values, and the way back from a
//! comparison of the result to intervals of the operand.
//!
//! A function `f` that never falls cuts the domain of its operand once for `f(x) < k` and once for
//! `f(x) <= k`: the values for which the comparison is true come first. The two cuts are found by
//! halving the domain and *computing* `f`, so the way back is right whenever the way there is, ends
//! of the domain included; 64 or 128 steps of a few nanoseconds. A function that falls (`k - x`)
//! swaps the roles. Text has no middle to halve; prefixes of text are inverted by hand.
//!
//! Results are computed in numbers wide enough not to overflow; `failure` says where the statement has none.

use std::borrow::Cow;
use std::cmp::Ordering;

use rukh_keys::{
    DAY_MICROS, DataType, Datum, NUMERIC_NAN, civil_from_days, days_from_civil, hash_datum,
    is_infinite_timestamp,
};

use crate::conditions::domain::{self, Place, bytes_prefix, first_not, from_ordinal, text_cut, text_prefix};
use crate::conditions::interval::{Cut, IntervalSet};
use crate::conditions::predicate::{CompareOp, Constant, Function, TimeUnit};
use crate::conditions::value::{Value, compare, constant_value, power_of_ten};

/// Far beyond every value of a type, and far from overflow.
const FAR: i128 = 1 << 100;

/// Seconds since 1970 of any timestamp, microseconds and all.
const SECONDS: DataType = DataType::Decimal {
    precision: 20,
    scale: 6,
};

impl Function {
    /// Returns the type of the result for an operand of a type; `None` if the function does not take it.
    pub fn result_type(&self, operand: DataType) -> Option<DataType> {
        result_type(self, operand)
    }
}

/// Returns the type of a function's result, or `None` if it does not take this operand. What is computed of
/// two integers has the wider type of both; of decimals, DECIMAL(38, s).
pub(crate) fn result_type(function: &Function, operand: DataType) -> Option<DataType> {
    let instant = matches!(
        operand,
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
    );
    match function {
        Function::CastDate if instant => Some(DataType::Date),
        Function::DateTrunc(_) if instant => Some(match operand {
            DataType::Date => DataType::TIMESTAMP,
            same => same.unrounded(),
        }),
        Function::Year if instant => Some(DataType::BigInt),
        Function::Add(k) | Function::Subtract(k) => sum_type(operand, k),
        Function::SubFrom(k) if is_exact_number(operand) || operand.is_float() => sum_type(operand, k),
        Function::Multiply(k) => product_type(operand, k),
        Function::Divide(k) => quotient_type(operand, k),
        Function::Substr(_) if operand.is_text() => Some(DataType::Varchar(None)),
        Function::Substr(_) if operand.is_bytes() => Some(DataType::Varbinary(None)),
        Function::Hash(bytes) => Some(DataType::Binary(u32::from(*bytes))),
        Function::Cast(to) if keeps_order(operand, *to) => Some(*to),
        Function::Floor | Function::Ceil | Function::Round => match operand {
            DataType::Decimal { precision, .. } => Some(DataType::Decimal { precision, scale: 0 }),
            ty if ty.is_integer() || ty.is_float() => Some(ty),
            _ => None,
        },
        Function::RoundTo { places, single } => match operand {
            ty if ty.is_float() => {
                // Beyond these the factor is 0 or infinite, and the order is lost.
                let most = if *single { 30 } else { 300 };
                ((ty == DataType::Real) == *single && places.abs() <= most).then_some(ty)
            }
            DataType::Decimal { precision, scale } => {
                let scale = scale.min(u8::try_from((*places).max(0)).unwrap_or(u8::MAX));
                Some(DataType::Decimal { precision, scale })
            }
            ty if ty.is_integer() => Some(ty),
            _ => None,
        },
        Function::Trunc if operand.is_float() => Some(operand),
        Function::ToTimestamp if operand == DataType::Double => Some(DataType::TIMESTAMP_TZ),
        Function::Epoch if instant => Some(DataType::Double),
        Function::Seconds if instant => Some(SECONDS),
        Function::DateBin { step, .. } if instant && *step > 0 => Some(match operand {
            DataType::Date => DataType::TIMESTAMP,
            same => same.unrounded(),
        }),
        _ => None,
    }
}

fn is_exact_number(ty: DataType) -> bool {
    ty.is_integer() || matches!(ty, DataType::Decimal { .. })
}

fn wider(a: DataType, b: DataType) -> DataType {
    match integer_digits(a) >= integer_digits(b) {
        true => a,
        false => b,
    }
}

fn scale_of(ty: DataType) -> u8 {
    match ty {
        DataType::Decimal { scale, .. } => scale,
        _ => 0,
    }
}

fn sum_type(operand: DataType, k: &Constant) -> Option<DataType> {
    if k.datum.is_null() {
        return None;
    }
    match operand {
        ty if is_exact_number(ty) && is_exact_number(k.ty) => match scale_of(ty).max(scale_of(k.ty)) {
            0 if ty.is_integer() && k.ty.is_integer() => Some(wider(ty, k.ty)),
            scale => Some(DataType::Decimal { precision: 38, scale }),
        },
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. } if k.ty.is_integer() => {
            Some(operand.unrounded())
        }
        ty if ty.is_float() => float_factor(ty, k).map(|_| ty),
        _ => None,
    }
}

/// The constant beside a float: one of its own type, or the integer 0.
fn float_factor(operand: DataType, k: &Constant) -> Option<f64> {
    match k.datum {
        Datum::Float(value) if k.ty == operand && value.is_finite() => Some(value),
        Datum::Int(0) => Some(0.0),
        _ => None,
    }
}

fn product_type(operand: DataType, k: &Constant) -> Option<DataType> {
    if k.datum.is_null() {
        return None;
    }
    match operand {
        ty if ty.is_integer() && k.ty.is_integer() => Some(wider(ty, k.ty)),
        ty if is_exact_number(ty) && is_exact_number(k.ty) => {
            let scale = scale_of(ty) + scale_of(k.ty);
            (scale <= 38).then_some(DataType::Decimal { precision: 38, scale })
        }
        ty if ty.is_float() => float_factor(ty, k).map(|_| ty),
        _ => None,
    }
}

fn quotient_type(operand: DataType, k: &Constant) -> Option<DataType> {
    if k.datum.is_null() {
        return None;
    }
    match operand {
        ty if ty.is_integer() && k.ty.is_integer() => Some(wider(ty, k.ty)),
        ty if ty.is_float() => float_factor(ty, k).map(|_| ty),
        _ => None,
    }
}

/// Whether a constant that is not 0 is less than 0; `None` of others.
pub(crate) fn sign(k: &Constant) -> Option<bool> {
    let order = match k.datum {
        Datum::Int(value) => value.cmp(&0),
        Datum::Decimal(value) => value.cmp(&0),
        Datum::Float(value) => value.partial_cmp(&0.0)?,
        _ => return None,
    };
    order.is_ne().then_some(order.is_lt())
}

/// Whether a cast neither fails nor loses order.
fn keeps_order(from: DataType, to: DataType) -> bool {
    use DataType::*;
    match (from, to) {
        (from, to) if from == to => true,
        (Real, Double)
        | (Date | Timestamp { .. } | TimestampTz { .. }, Timestamp { .. } | TimestampTz { .. }) => true,
        (Char(_) | Varchar(_), Varchar(None)) | (Binary(_) | Varbinary(_), Varbinary(None)) => true,
        (from, Real | Double) => is_exact_number(from),
        // Which holds all decimals.
        (from, to) if to == DataType::NUMERIC => is_exact_number(from),
        (from, Numeric { precision, scale }) if from.is_integer() => {
            u32::from(precision - scale) >= integer_digits(from)
        }
        (
            Decimal {
                precision: p,
                scale: s,
            },
            Numeric { precision, scale },
        ) => scale >= s && precision - scale >= p - s,
        // To a smaller integer, too: it has no result for what does not fit.
        (from, to) if to.is_integer() => is_exact_number(from) && scale_of(from) == 0 || from.is_float(),
        (from, Decimal { precision, scale }) if from.is_integer() => {
            u32::from(precision - scale) >= integer_digits(from)
        }
        (
            Decimal {
                precision: p,
                scale: s,
            },
            Decimal { precision, scale },
        ) => scale >= s && precision - scale >= p - s,
        _ => false,
    }
}

fn integer_digits(ty: DataType) -> u32 {
    match ty {
        DataType::TinyInt => 3,
        DataType::SmallInt => 5,
        DataType::Integer => 10,
        _ => 19,
    }
}

/// Computes a function of a value; `None` if it does not take the value.
pub(crate) fn apply<'a>(function: &Function, value: Value<'a>) -> Option<Value<'a>> {
    if value.is_null() {
        return Some(Value::Null);
    }
    if let Some(sign) = value.infinity() {
        return of_infinity(function, value, sign);
    }
    match function {
        Function::CastDate => Some(Value::Date(day_of(&value)?)),
        Function::DateTrunc(unit) => Some(Value::Timestamp(truncate(*unit, value.as_timestamp()?))),
        // The year 0 of the calendar is 1 BC.
        Function::Year => Some(Value::Int(match civil(day_of(&value)?).0 {
            year @ 1.. => i128::from(year),
            year => i128::from(year) - 1,
        })),
        Function::Add(k) => add(&value, k, 1),
        Function::Subtract(k) => add(&value, k, -1),
        Function::SubFrom(k) => match value {
            Value::Float(value) => add(&Value::Float(-value), k, 1),
            Value::Int(value) => add(&Value::Int(value.saturating_neg()), k, 1),
            value => {
                let (value, scale) = value.as_decimal()?;
                add(&Value::Decimal(value.saturating_neg(), scale), k, 1)
            }
        },
        Function::Multiply(k) => multiply(&value, k),
        Function::Divide(k) => divide(&value, k),
        Function::Substr(length) => prefix_of(value, *length as usize),
        Function::Hash(bytes) => hash_of(&value, *bytes),
        Function::Cast(to) => cast(value, *to),
        Function::Floor => round(value, f64::floor, |value, unit| value.div_euclid(unit)),
        Function::Ceil => round(value, f64::ceil, |value, unit| -(-value).div_euclid(unit)),
        Function::Round => round(value, f64::round_ties_even, half_away),
        Function::RoundTo { places, single } => round_to(value, *places, *single),
        Function::Trunc => round(value, f64::trunc, |value, unit| value / unit),
        Function::ToTimestamp => Some(Value::Timestamp(match value.as_float()? {
            f64::INFINITY => i128::MAX,
            f64::NEG_INFINITY => i128::MIN,
            seconds => moment(seconds),
        })),
        Function::Epoch => Some(Value::Float(match value {
            Value::Date(days) => days as f64 * 86_400.0,
            value => value.as_timestamp()? as f64 / 1_000_000.0,
        })),
        Function::Seconds => {
            let micros = match value {
                Value::Date(days) => days * i128::from(DAY_MICROS),
                value => value.as_timestamp()?,
            };
            Some(Value::Decimal(micros, 6))
        }
        Function::DateBin { step, origin } => {
            let (micros, origin) = (value.as_timestamp()?, i128::from(*origin));
            Some(Value::Timestamp(
                micros - (micros - origin).rem_euclid(i128::from(*step)),
            ))
        }
    }
}

/// Computes a function of `infinity` or `-infinity`, which stays one.
fn of_infinity<'a>(function: &Function, value: Value<'a>, sign: Ordering) -> Option<Value<'a>> {
    let end = if sign.is_gt() { i128::MAX } else { i128::MIN };
    match function {
        Function::CastDate | Function::Cast(DataType::Date) => Some(Value::Date(end)),
        Function::Cast(DataType::Timestamp { .. } | DataType::TimestampTz { .. })
        | Function::DateTrunc(_)
        | Function::DateBin { .. } => Some(Value::Timestamp(end)),
        Function::Add(_) | Function::Subtract(_) => Some(value),
        Function::Year | Function::Epoch | Function::Seconds => Some(Value::Float(match sign.is_gt() {
            true => f64::INFINITY,
            false => f64::NEG_INFINITY,
        })),
        _ => None,
    }
}

fn day_of(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Date(days) => Some(*days),
        Value::Timestamp(micros) => Some(micros.div_euclid(i128::from(DAY_MICROS))),
        _ => None,
    }
}

/// Year, month and day of a day; days far outside of every calendar count as the last ones inside.
fn civil(days: i128) -> (i64, u32, u32) {
    const END: i128 = 1 << 40;
    civil_from_days(days.clamp(-END, END) as i64)
}

impl TimeUnit {
    /// Returns the last moment at or before `micros` (microseconds from 1970 in UTC) where the unit
    /// begins; an infinity as such.
    pub fn truncate(self, micros: i64) -> i64 {
        if is_infinite_timestamp(micros) {
            return micros;
        }
        let cut = truncate(self, i128::from(micros));
        i64::try_from(cut).unwrap_or(i64::MIN)
    }
}

pub(crate) fn truncate(unit: TimeUnit, micros: i128) -> i128 {
    let day = i128::from(DAY_MICROS);
    let down_to = |step: i128| micros - micros.rem_euclid(step);
    let days = micros.div_euclid(day);
    let first_of = |year: i64, month: u32| i128::from(days_from_civil(year, month, 1)) * day;
    let (year, month, _) = civil(days);
    match unit {
        TimeUnit::Microsecond => micros,
        TimeUnit::Millisecond => down_to(1_000),
        TimeUnit::Second => down_to(1_000_000),
        TimeUnit::Minute => down_to(60_000_000),
        TimeUnit::Hour => down_to(3_600_000_000),
        TimeUnit::Day => down_to(day),
        // 1970-01-01 was a Thursday: the Monday before it is day -3.
        TimeUnit::Week => (days - (days + 3).rem_euclid(7)) * day,
        TimeUnit::Month => first_of(year, month),
        TimeUnit::Quarter => first_of(year, (month - 1) / 3 * 3 + 1),
        TimeUnit::Year => first_of(year, 1),
    }
}

/// The moment so many seconds after 1970, as PostgreSQL computes it: halves of microseconds go to the even
/// one, and what is no number or far outside lies at the end.
fn moment(seconds: f64) -> i128 {
    const FROM_1970_TO_2000: f64 = 946_684_800.0;
    let micros = ((seconds - FROM_1970_TO_2000) * 1e6).round_ties_even();
    match micros.is_nan() {
        true => FAR,
        false => (micros as i128).clamp(-FAR, FAR) + FROM_1970_TO_2000 as i128 * 1_000_000,
    }
}

fn half_away(value: i128, unit: i128) -> i128 {
    value.signum() * (value.saturating_abs().saturating_add(unit / 2) / unit)
}

fn round_to(value: Value<'_>, places: i32, single: bool) -> Option<Value<'_>> {
    match value {
        Value::Float(value) if single => {
            let factor = 10_f64.powi(places) as f32;
            Some(Value::Float(f64::from((value as f32 * factor).round() / factor)))
        }
        Value::Float(value) => {
            let factor = 10_f64.powi(places);
            Some(Value::Float((value * factor).round() / factor))
        }
        Value::Int(_) | Value::Decimal(..) => {
            let (number, scale) = value.as_decimal()?;
            let cut = i32::from(scale).saturating_sub(places);
            if cut <= 0 {
                return Some(value);
            }
            let kept = u8::try_from(places.max(0)).unwrap_or(u8::MAX);
            // What is cut off beyond all digits leaves nothing.
            let rounded = match u8::try_from(cut).ok().filter(|cut| *cut <= 38) {
                Some(cut) => half_away(number, power_of_ten(cut)),
                None => 0,
            };
            let zeros = u8::try_from(places.min(0).unsigned_abs()).unwrap_or(u8::MAX);
            let rounded = rounded.saturating_mul(power_of_ten(zeros));
            Some(match value {
                Value::Int(_) => Value::Int(rounded),
                _ => Value::Decimal(rounded, kept),
            })
        }
        _ => None,
    }
}

fn multiply<'a>(value: &Value<'_>, k: &Constant) -> Option<Value<'a>> {
    if let Value::Float(value) = value {
        return float(*value, k, |value, k| value * k, |value, k| value * k);
    }
    if let (Value::Int(value), Datum::Int(k)) = (value, &k.datum) {
        return Some(whole(value.saturating_mul(i128::from(*k))));
    }
    let (value, scale) = value.as_decimal()?;
    let (k, k_scale) = Value::new(&k.datum, k.ty)?.as_decimal()?;
    Some(Value::Decimal(value.saturating_mul(k), scale + k_scale))
}

/// A whole number of any size, which can be negated.
fn whole<'a>(number: i128) -> Value<'a> {
    Value::Int(number.max(-i128::MAX))
}

fn divide<'a>(value: &Value<'_>, k: &Constant) -> Option<Value<'a>> {
    match (value, &k.datum) {
        (Value::Float(value), _) => float(*value, k, |value, k| value / k, |value, k| value / k),
        (Value::Int(value), Datum::Int(k)) => Some(whole(value.checked_div(i128::from(*k))?)),
        _ => None,
    }
}

/// Computes a float and a constant in the constant's type.
fn float<'a>(
    value: f64,
    k: &Constant,
    single: fn(f32, f32) -> f32,
    double: fn(f64, f64) -> f64,
) -> Option<Value<'a>> {
    Some(Value::Float(match (&k.datum, k.ty) {
        (Datum::Float(k), DataType::Real) => f64::from(single(value as f32, *k as f32)),
        (Datum::Float(k), _) => double(value, *k),
        (Datum::Int(0), _) => double(value, 0.0),
        _ => return None,
    }))
}

fn add<'a>(value: &Value<'_>, k: &Constant, sign: i128) -> Option<Value<'a>> {
    if let Value::Float(value) = value {
        return match sign < 0 {
            true => float(*value, k, |value, k| value - k, |value, k| value - k),
            false => float(*value, k, |value, k| value + k, |value, k| value + k),
        };
    }
    let k_is_whole = matches!(k.datum, Datum::Int(_));
    let (k, k_scale) = Value::new(&k.datum, k.ty)?.as_decimal()?;
    let k = k.saturating_mul(sign);
    let far = |sum: i128| sum.clamp(-FAR, FAR);
    match value {
        Value::Int(value) if k_is_whole => Some(whole(value.saturating_add(k))),
        Value::Date(days) => Some(Value::Date(far(days.saturating_add(k)))),
        Value::Timestamp(micros) => Some(Value::Timestamp(far(micros.saturating_add(k)))),
        _ => {
            let (value, scale) = value.as_decimal()?;
            let common = scale.max(k_scale);
            let widened = |value: i128, own| value.checked_mul(power_of_ten(common - own));
            let sum = match (widened(value, scale), widened(k, k_scale)) {
                (Some(value), Some(k)) => value.saturating_add(k),
                (None, _) => value.signum() * i128::MAX,
                (_, None) => k.signum() * i128::MAX,
            };
            Some(Value::Decimal(sum, common))
        }
    }
}

fn prefix_of(value: Value<'_>, length: usize) -> Option<Value<'_>> {
    match value {
        Value::Text(text) => {
            let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
            Some(Value::Text(match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
                Cow::Owned(text) => Cow::Owned(text[..end].to_string()),
            }))
        }
        Value::Bytes(bytes) => {
            let end = length.min(bytes.len());
            Some(Value::Bytes(match bytes {
                Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..end]),
                Cow::Owned(bytes) => Cow::Owned(bytes[..end].to_vec()),
            }))
        }
        _ => None,
    }
}

fn hash_of<'a>(value: &Value<'_>, bytes: u8) -> Option<Value<'a>> {
    let datum = match value {
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Int(value) => Datum::Int(i64::try_from(*value).ok()?),
        Value::Decimal(value, _) => Datum::Decimal(*value),
        Value::Numeric(parts) => Datum::Numeric(parts.to_form()),
        Value::NaN => Datum::Numeric(NUMERIC_NAN.to_vec()),
        Value::Float(value) => Datum::Float(*value),
        Value::Date(days) => Datum::Date(i32::try_from(*days).ok()?),
        Value::Time(micros) => Datum::Time(*micros),
        Value::Timestamp(micros) => Datum::Timestamp(i64::try_from(*micros).ok()?),
        Value::Uuid(bytes) => Datum::Uuid(*bytes),
        Value::Enum(code, _) => Datum::Int(*code),
        Value::Text(text) => Datum::Text(text.to_string()),
        Value::Bytes(bytes) => Datum::Bytes(bytes.to_vec()),
        Value::Inet(form) => Datum::Inet(form.to_vec()),
        Value::Array(form, _) | Value::Row(form, _) => Datum::Array(form.to_vec()),
        Value::Null => return Some(Value::Null),
    };
    match hash_datum(&datum, bytes) {
        Datum::Bytes(hash) => Some(Value::Bytes(Cow::Owned(hash))),
        _ => None,
    }
}

fn cast(value: Value<'_>, to: DataType) -> Option<Value<'_>> {
    match to {
        DataType::Double => Some(Value::Float(value.as_float()?)),
        DataType::Real => Some(Value::Float(f64::from(value.as_float()? as f32))),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            Some(Value::Timestamp(value.as_timestamp()?))
        }
        to if to.is_integer() => Some(Value::Int(match value {
            Value::Float(value) if value.is_nan() => FAR,
            Value::Float(value) => (value.round_ties_even() as i128).clamp(-FAR, FAR),
            value => value.as_decimal()?.0,
        })),
        // The other casts that are understood change the type, not the value.
        _ => Some(value),
    }
}

fn round(
    value: Value<'_>,
    float: impl Fn(f64) -> f64,
    whole: impl Fn(i128, i128) -> i128,
) -> Option<Value<'_>> {
    match value {
        Value::Int(_) => Some(value),
        Value::Float(value) => Some(Value::Float(float(value))),
        Value::Decimal(value, scale) => Some(Value::Decimal(whole(value, power_of_ten(scale)), 0)),
        _ => None,
    }
}

/// A chain of functions around a term, innermost first.
pub(crate) struct Chain<'a> {
    pub(crate) functions: Vec<&'a Function>,
    /// Type of the term.
    pub(crate) ty: DataType,
    /// Type of the result of the outermost function.
    pub(crate) result: DataType,
}

impl<'a> Chain<'a> {
    /// Makes a chain; `None` if a function does not take its operand.
    pub(crate) fn new(functions: Vec<&'a Function>, ty: DataType) -> Option<Chain<'a>> {
        let result = functions
            .iter()
            .try_fold(ty, |ty, function| result_type(function, ty))?;
        Some(Chain {
            functions,
            ty,
            result,
        })
    }

    /// Returns the values of the term (not NULL) for which `chain(term) op constant` is true, or
    /// `None` if that is no set of intervals. The constant is not NULL.
    pub(crate) fn invert(&self, op: CompareOp, constant: &Constant) -> Option<IntervalSet> {
        if self
            .functions
            .iter()
            .any(|function| self.is_without_order(function))
        {
            return None;
        }
        let constant = constant_value(&constant.datum, constant.ty, self.result)?;
        if self.functions.iter().all(|function| self.keeps_values(function)) {
            return Some(domain::place(self.ty, &constant)?.set(op));
        }
        if self.ty.is_text() || self.ty.is_bytes() {
            return self.invert_prefix(op, &constant);
        }
        let falls = self.falls();
        let place = self.place(&constant, falls)?;
        if !falls {
            return Some(place.set(op));
        }
        let set = place.set(op.flipped());
        match self.ty.is_float() {
            true => self.with_nan(set, op, &constant),
            false => Some(set),
        }
    }

    /// NaN stays NaN and the greatest value where all other floats are turned round: it is put into the set,
    /// or taken out of it, by itself.
    fn with_nan(&self, set: IntervalSet, op: CompareOp, constant: &Value<'_>) -> Option<IntervalSet> {
        let nan = domain::point(self.ty, &Datum::Float(f64::NAN));
        let result = self.value(Datum::Float(f64::NAN))?;
        let others = set.minus(&nan);
        Some(match op.holds(compare(&result, constant)?) {
            true => IntervalSet::union([&others, &nan]),
            false => others,
        })
    }

    /// Places a constant (not NULL) among the values of a term without functions around it.
    pub(crate) fn place_bare(&self, constant: &Constant) -> Option<Place> {
        domain::place(self.ty, &constant_value(&constant.datum, constant.ty, self.ty)?)
    }

    /// Whether a function changes the type only, so that the constant may be compared with the term.
    fn keeps_values(&self, function: &Function) -> bool {
        match function {
            Function::Cast(to) if to.is_integer() => self.ty.is_integer(),
            Function::Cast(to) => !to.is_float() || self.ty.is_float(),
            _ => false,
        }
    }

    /// Whether a function has no order to go back by: `x / 0` has no result, and `x * 0` of floats is NaN at
    /// both ends.
    fn is_without_order(&self, function: &Function) -> bool {
        match function {
            Function::Multiply(k) => sign(k).is_none() && (self.ty.is_float() || self.result.is_float()),
            Function::Divide(k) => sign(k).is_none(),
            _ => false,
        }
    }

    fn falls(&self) -> bool {
        let falling = |function: &&&Function| match function {
            Function::SubFrom(_) => true,
            Function::Multiply(k) | Function::Divide(k) => sign(k) == Some(true),
            _ => false,
        };
        self.functions.iter().filter(falling).count() % 2 == 1
    }

    fn place(&self, constant: &Value<'_>, falls: bool) -> Option<Place> {
        if self
            .functions
            .iter()
            .any(|function| matches!(function, Function::Hash(_)))
        {
            return None;
        }
        compare(&self.value(from_ordinal(self.ty, 0))?, constant)?;
        // NaN lies behind all that fall, see `with_nan`, and behind all moments: it is none.
        let nan_is_last = falls || self.functions.contains(&&Function::ToTimestamp);
        let ordering = |ordinal| {
            let datum = from_ordinal(self.ty, ordinal);
            // Many ordinals beyond infinity are NaN.
            let is_nan = matches!(datum, Datum::Float(value) if value.is_nan());
            let value = self.value(datum);
            let ordering = value.and_then(|value| compare(&value, constant));
            let ordering = ordering.unwrap_or(std::cmp::Ordering::Equal);
            match falls {
                _ if is_nan && nan_is_last => std::cmp::Ordering::Greater,
                true => ordering.reverse(),
                false => ordering,
            }
        };
        Some(Place {
            less: first_not(self.ty, |ordinal| ordering(ordinal).is_lt())?,
            not_greater: first_not(self.ty, |ordinal| ordering(ordinal).is_le())?,
        })
    }

    /// Computes the chain of a value of the term.
    pub(crate) fn value(&self, datum: Datum) -> Option<Value<'static>> {
        let start = Value::new(&datum, self.ty)?.into_owned();
        self.functions
            .iter()
            .try_fold(start, |value, function| apply(function, value))
    }

    /// Inverts the first `n` characters or bytes of a term.
    ///
    /// | comparison, n = 2 | values                       | because                              |
    /// |-------------------|------------------------------|--------------------------------------|
    /// | `= 'ab'`          | all that start with `'ab'`   |                                      |
    /// | `= 'a'`           | `'a'` alone                  | longer values have longer prefixes   |
    /// | `= 'abc'`         | none                         | no prefix is that long               |
    /// | `<= 'abc'`        | up to all that start with `'ab'` | `'ab' < 'abc'`                   |
    fn invert_prefix(&self, op: CompareOp, constant: &Value<'_>) -> Option<IntervalSet> {
        let length = self.prefix_length()?;
        let place = match constant {
            Value::Text(text) => self.place_text_prefix(text, length),
            Value::Bytes(bytes) => self.place_bytes_prefix(bytes, length),
            _ => return None,
        };
        Some(place.set(op))
    }

    /// The length of the shortest prefix, if the chain consists of prefixes and casts.
    fn prefix_length(&self) -> Option<usize> {
        let mut shortest = usize::MAX;
        for function in &self.functions {
            match function {
                Function::Substr(length) => shortest = shortest.min(*length as usize),
                Function::Cast(_) => {}
                _ => return None,
            }
        }
        Some(shortest)
    }

    fn place_text_prefix(&self, text: &str, length: usize) -> Place {
        let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
        let prefix = text_prefix_end(self.ty, &text[..end]);
        match text.chars().count().cmp(&length) {
            std::cmp::Ordering::Less => Place {
                less: text_cut(self.ty, text, false),
                not_greater: text_cut(self.ty, text, true),
            },
            std::cmp::Ordering::Equal => Place {
                less: text_cut(self.ty, text, false),
                not_greater: prefix,
            },
            std::cmp::Ordering::Greater => Place {
                less: prefix.clone(),
                not_greater: prefix,
            },
        }
    }

    fn place_bytes_prefix(&self, bytes: &[u8], length: usize) -> Place {
        let own = domain::place(self.ty, &Value::Bytes(Cow::Borrowed(bytes)));
        let own = own.expect("bytes have a place among bytes");
        let prefix = bytes_prefix_end(self.ty, &bytes[..length.min(bytes.len())]);
        match bytes.len().cmp(&length) {
            std::cmp::Ordering::Less => own,
            std::cmp::Ordering::Equal => Place {
                not_greater: prefix,
                ..own
            },
            std::cmp::Ordering::Greater => Place {
                less: prefix.clone(),
                not_greater: prefix,
            },
        }
    }
}

/// The cut behind all texts that start with `prefix`.
fn text_prefix_end(ty: DataType, prefix: &str) -> Cut {
    end_of(&text_prefix(ty, prefix), || text_cut(ty, prefix, false))
}

/// The cut behind all byte strings that start with `prefix`.
fn bytes_prefix_end(ty: DataType, prefix: &[u8]) -> Cut {
    let set = bytes_prefix(ty, prefix);
    end_of(&set, || {
        let place = domain::place(ty, &Value::Bytes(Cow::Borrowed(prefix)));
        place.expect("bytes have a place among bytes").less
    })
}

fn end_of(set: &IntervalSet, none: impl Fn() -> Cut) -> Cut {
    set.intervals()
        .last()
        .map_or_else(none, |interval| interval.high.clone())
}
