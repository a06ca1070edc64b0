//! Where a constant lies among the values of a type.
//!
//! A constant of any type cuts the domain of a term twice: at the end of the values *less* than it
//! and at the end of the values *not greater*. All six comparisons are intervals between the two
//! cuts and the ends ([`Place::set`]). A constant outside the domain, or between two of its values,
//! cuts where it would lie:
//!
//! | type     | constant | less ends  | not greater ends | `=`   | `<`            | `>`          |
//! |----------|----------|------------|------------------|-------|----------------|--------------|
//! | TINYINT  | 5        | before 5   | before 6         | 5     | up to 4        | from 6       |
//! | TINYINT  | 1.5      | before 2   | before 2         | none  | up to 1        | from 2       |
//! | TINYINT  | 1000     | at the end | at the end       | none  | all            | none         |
//! | REAL     | 1e39     | before inf | before inf       | none  | all finite     | inf and NaN  |
//! | CHAR(2)  | 'abc'    | before 'ac'| before 'ac'      | none  | up to 'ab'     | from 'ac'    |
//! | DATE     | 10th, 1 h| before 11th| before 11th      | none  | up to 10th     | from 11th    |
//!
//! Cuts are canonical: where a value has a next one, a cut after the value is written as the cut
//! before the next, and the cuts at the ends of the domain are [`Cut::Min`] and [`Cut::Max`].

use std::cmp::Ordering;

use rukh_keys::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_MINUS_INFINITY, DAY_MICROS, DataType, Datum, NUMERIC_HALF,
    NUMERIC_NAN, NumericParts, TIMESTAMP_INFINITY, TIMESTAMP_MAX, TIMESTAMP_MIN, TIMESTAMP_MINUS_INFINITY,
};

use crate::conditions::interval::{Cut, Interval, IntervalSet};
use crate::conditions::predicate::CompareOp;
use crate::conditions::value::{Value, compared_element, power_of_ten};

/// Where a constant cuts a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// End of the values less than the constant.
    pub(crate) less: Cut,
    /// End of the values not greater than the constant.
    pub(crate) not_greater: Cut,
}

impl Place {
    fn between(cut: Cut) -> Place {
        Place {
            less: cut.clone(),
            not_greater: cut,
        }
    }

    /// The values equal to the constant, if there are any.
    pub(crate) fn equal(self) -> Option<Interval> {
        let Place { less, not_greater } = self;
        (less < not_greater).then_some(Interval {
            low: less,
            high: not_greater,
        })
    }

    /// The values (not NULL) for which `value op constant` is true.
    pub(crate) fn set(self, op: CompareOp) -> IntervalSet {
        let Place { less, not_greater } = self;
        match op {
            CompareOp::Eq => IntervalSet::between(less, not_greater),
            CompareOp::NotEq => IntervalSet::between(less, not_greater).complement(false),
            CompareOp::Lt => IntervalSet::between(Cut::Min, less),
            CompareOp::LtEq => IntervalSet::between(Cut::Min, not_greater),
            CompareOp::Gt => IntervalSet::between(not_greater, Cut::Max),
            CompareOp::GtEq => IntervalSet::between(less, Cut::Max),
        }
    }
}

/// Returns where a constant (not NULL, as [`constant_value`](crate::conditions::value::constant_value) gives
/// it) lies among the values of `ty`, or
/// `None` if they do not compare.
pub(crate) fn place(ty: DataType, constant: &Value<'_>) -> Option<Place> {
    match (ty, constant) {
        (DataType::Boolean, Value::Boolean(value)) => Some(exact(ty, i128::from(*value))),
        (DataType::Enum(of), Value::Enum(code, other)) if of == *other => {
            Some(exact(ty, ordinal(ty, &Datum::Int(*code))?))
        }
        (DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }, _) => {
            place_instant(ty, constant)
        }
        (DataType::Time { .. }, Value::Time(micros)) => {
            Some(place_scaled(ty, i128::from(*micros), time_unit(ty)))
        }
        (DataType::Real | DataType::Double, _) => Some(place_float(ty, constant.as_float()?)),
        (DataType::Uuid, Value::Uuid(bytes)) => Some(place_uuid(*bytes)),
        (_, Value::Text(text)) if ty.is_text() => place_text(ty, text),
        (_, Value::Bytes(bytes)) if ty.is_bytes() => Some(place_bytes(ty, bytes)),
        (DataType::Array(element), Value::Array(form, of)) if compared_element(*element) == Some(*of) => {
            Some(place_form(ty, Datum::Array(form.to_vec())))
        }
        (DataType::Record(of), Value::Row(form, other)) if of == *other => {
            Some(place_form(ty, Datum::Array(form.to_vec())))
        }
        (DataType::Inet | DataType::Cidr, Value::Inet(form)) => {
            Some(place_form(ty, Datum::Inet(form.to_vec())))
        }
        (_, Value::Float(value)) => place_by_float(ty, *value),
        (_, Value::NaN) if ty.is_integer() || matches!(ty, DataType::Decimal { .. }) => {
            Some(Place::between(Cut::Max))
        }
        (DataType::Numeric { .. }, _) => place_numeric(ty, constant),
        (_, Value::Numeric(parts)) => place_among_decimals(ty, *parts),
        _ => place_decimal(ty, constant.as_decimal()?),
    }
}

/// Returns where an array, a row or an address lies among the values of its type.
fn place_form(ty: DataType, datum: Datum) -> Place {
    Place {
        less: cut_before(ty, &datum),
        not_greater: cut_after(ty, &datum),
    }
}

/// Returns the set of one value, which must be one of the type's.
pub(crate) fn point(ty: DataType, datum: &Datum) -> IntervalSet {
    match datum {
        Datum::Null => IntervalSet::only_null(),
        datum => IntervalSet::between(cut_before(ty, datum), cut_after(ty, datum)),
    }
}

// ---------------------------------------------------------------------------------------------
// Ordinals: the values of a type as consecutive integers.

/// Returns the ordinals of the smallest and greatest value of a type whose values can be counted.
#[inline]
pub(crate) fn ordinals(ty: DataType) -> Option<(i128, i128)> {
    let of = |(min, max): (i64, i64)| Some((i128::from(min), i128::from(max)));
    match ty {
        DataType::TinyInt => of((i64::from(i8::MIN), i64::from(i8::MAX))),
        DataType::SmallInt => of((i64::from(i16::MIN), i64::from(i16::MAX))),
        DataType::Integer => of((i64::from(i32::MIN), i64::from(i32::MAX))),
        DataType::BigInt => of((i64::MIN, i64::MAX)),
        DataType::Real => Some((
            -i128::from(f32::INFINITY.to_bits()),
            i128::from(f32::NAN.to_bits()),
        )),
        DataType::Double => Some((-i128::from(f64::INFINITY.to_bits()), i128::from(DOUBLE_NAN))),
        _ => {
            let (min, max) = ty.min_max()?;
            Some((ordinal(ty, &min)?, ordinal(ty, &max)?))
        }
    }
}

/// The bits of the one NaN; all of them are kept as this one.
const DOUBLE_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Returns the ordinal of a value.
pub(crate) fn ordinal(ty: DataType, datum: &Datum) -> Option<i128> {
    Some(match datum {
        Datum::Boolean(value) => i128::from(*value),
        Datum::Int(value) => match ty {
            DataType::Enum(of) => of.definition().position(*value)? as i128,
            _ => i128::from(*value),
        },
        Datum::Decimal(value) => *value,
        // An infinity comes right behind the last day.
        Datum::Date(days) => i128::from((*days).clamp(DATE_MIN - 1, DATE_MAX + 1)),
        Datum::Time(micros) => i128::from(*micros) / time_unit(ty),
        Datum::Timestamp(micros) => i128::from((*micros).clamp(TIMESTAMP_MIN - 1, TIMESTAMP_MAX + 1)),
        Datum::Float(value) if ty == DataType::Real => float_ordinal(
            value.is_sign_negative(),
            || i128::from((*value as f32).abs().to_bits()),
            value.is_nan().then_some(i128::from(f32::NAN.to_bits())),
        ),
        Datum::Float(value) => float_ordinal(
            value.is_sign_negative(),
            || i128::from(value.abs().to_bits()),
            value.is_nan().then_some(i128::from(DOUBLE_NAN)),
        ),
        _ => return None,
    })
}

fn float_ordinal(negative: bool, bits: impl Fn() -> i128, nan: Option<i128>) -> i128 {
    match (nan, negative) {
        (Some(nan), _) => nan,
        (None, true) => -bits(),
        (None, false) => bits(),
    }
}

/// Returns the value with this ordinal, which must be one of the type's.
pub(crate) fn from_ordinal(ty: DataType, ordinal: i128) -> Datum {
    match ty {
        DataType::Boolean => Datum::Boolean(ordinal != 0),
        DataType::Enum(of) => {
            let at = usize::try_from(ordinal).ok();
            let label = at.and_then(|at| of.definition().labels.get(at));
            label.map_or(Datum::Null, |label| Datum::Int(i64::from(label.code)))
        }
        DataType::Decimal { .. } => Datum::Decimal(ordinal),
        DataType::Date => Datum::Date(match ordinal as i32 {
            ..DATE_MIN => DATE_MINUS_INFINITY,
            days @ DATE_MIN..=DATE_MAX => days,
            _ => DATE_INFINITY,
        }),
        DataType::Time { .. } => Datum::Time((ordinal * time_unit(ty)) as i64),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => Datum::Timestamp(match ordinal as i64 {
            ..TIMESTAMP_MIN => TIMESTAMP_MINUS_INFINITY,
            micros @ TIMESTAMP_MIN..=TIMESTAMP_MAX => micros,
            _ => TIMESTAMP_INFINITY,
        }),
        DataType::Real => {
            let size = f64::from(f32::from_bits(ordinal.unsigned_abs() as u32));
            Datum::Float(if ordinal < 0 { -size } else { size })
        }
        DataType::Double => {
            let size = f64::from_bits(ordinal.unsigned_abs() as u64);
            Datum::Float(if ordinal < 0 { -size } else { size })
        }
        _ => Datum::Int(ordinal as i64),
    }
}

/// Returns the cut before the value with this ordinal; ordinals beyond the ends give the ends.
pub(crate) fn cut_at(ty: DataType, ordinal: i128) -> Cut {
    match ordinals(ty) {
        Some((min, _)) if ordinal <= min => Cut::Min,
        Some((_, max)) if ordinal > max => Cut::Max,
        _ => Cut::before(from_ordinal(ty, ordinal)),
    }
}

fn time_unit(ty: DataType) -> i128 {
    match ty {
        DataType::Time { precision } => power_of_ten(6_u8.saturating_sub(precision)),
        _ => 1,
    }
}

// ---------------------------------------------------------------------------------------------
// Numbers, dates and times.

fn exact(ty: DataType, ordinal: i128) -> Place {
    Place {
        less: cut_at(ty, ordinal),
        not_greater: cut_at(ty, ordinal.saturating_add(1)),
    }
}

/// Places `value / unit` among whole ordinals.
fn place_scaled(ty: DataType, value: i128, unit: i128) -> Place {
    let floor = value.div_euclid(unit);
    match value.rem_euclid(unit) {
        0 => exact(ty, floor),
        _ => Place::between(cut_at(ty, floor.saturating_add(1))),
    }
}

/// Places an exact decimal among integers or decimals.
fn place_decimal(ty: DataType, (value, scale): (i128, u8)) -> Option<Place> {
    let own = match ty {
        DataType::Decimal { scale, .. } => scale,
        ty if ty.is_integer() => 0,
        _ => return None,
    };
    Some(match scale <= own {
        // Saturating is exact enough: the product then is beyond the domain anyway.
        true => exact(ty, value.saturating_mul(power_of_ten(own - scale))),
        false => place_scaled(ty, value, power_of_ten(scale - own)),
    })
}

/// Places an exact number among those of a NUMERIC; what has too many digits before the point is beyond all of them, but for NaN.
fn place_numeric(ty: DataType, constant: &Value<'_>) -> Option<Place> {
    let DataType::Numeric { precision, scale } = ty else {
        return None;
    };
    let beyond = |negative| Place::between(if negative { Cut::Min } else { Cut::before(nan()) });
    if let Value::NaN = constant {
        return Some(Place {
            less: Cut::before(nan()),
            not_greater: Cut::Max,
        });
    }
    let Some(parts) = constant.as_numeric() else {
        return constant.as_decimal().map(|(value, _)| beyond(value < 0));
    };
    if !parts.fits(precision.saturating_sub(scale)) {
        return Some(beyond(parts.negative));
    }
    let kept = parts.truncated(scale);
    let datum = Datum::Numeric(kept.to_form());
    let (before, after) = (cut_before(ty, &datum), cut_after(ty, &datum));
    Some(match (kept == parts, parts.negative) {
        (true, _) => Place {
            less: before,
            not_greater: after,
        },
        // What was cut off lies on the side away from zero.
        (false, true) => Place::between(before),
        (false, false) => Place::between(after),
    })
}

/// Places an exact number among integers or decimals.
fn place_among_decimals(ty: DataType, parts: NumericParts) -> Option<Place> {
    let scale = match ty {
        DataType::Decimal { scale, .. } => scale,
        ty if ty.is_integer() => 0,
        _ => return None,
    };
    let kept = parts.truncated(scale);
    let Some(ordinal) = kept.to_decimal(scale) else {
        return Some(Place::between(if parts.negative { Cut::Min } else { Cut::Max }));
    };
    Some(match (kept == parts, parts.negative) {
        (true, _) => exact(ty, ordinal),
        (false, true) => Place::between(cut_at(ty, ordinal)),
        (false, false) => Place::between(cut_at(ty, ordinal.saturating_add(1))),
    })
}

fn place_instant(ty: DataType, constant: &Value<'_>) -> Option<Place> {
    let (first, last) = ordinals(ty)?;
    let found = match (constant.infinity(), ty, constant) {
        (Some(Ordering::Less), ..) => return Some(exact(ty, first)),
        (Some(_), ..) => return Some(exact(ty, last)),
        (None, DataType::Date, Value::Date(days)) => *days,
        (None, DataType::Date, Value::Timestamp(micros)) => {
            return Some(place_scaled(ty, *micros, i128::from(DAY_MICROS)));
        }
        _ => constant.as_timestamp()?,
    };
    // What lies beyond all days lies before the infinity there.
    Some(match found {
        found if found >= last => Place::between(cut_at(ty, last)),
        found if found <= first => Place::between(cut_at(ty, first.saturating_add(1))),
        found => exact(ty, found),
    })
}

/// Places a DOUBLE among floats; a REAL compares as the DOUBLE it equals.
fn place_float(ty: DataType, constant: f64) -> Place {
    if ty == DataType::Double {
        let datum = Datum::Float(constant + 0.0);
        return Place {
            less: cut_before(ty, &datum),
            not_greater: cut_after(ty, &datum),
        };
    }
    let nearest = f64::from(constant as f32);
    let datum = Datum::Float(nearest + 0.0);
    let (before, after) = (cut_before(ty, &datum), cut_after(ty, &datum));
    match datum.cmp(&Datum::Float(constant)) {
        Ordering::Equal => Place {
            less: before,
            not_greater: after,
        },
        Ordering::Less => Place::between(after),
        Ordering::Greater => Place::between(before),
    }
}

/// Places a DOUBLE among integers or decimals, which compare with it as the DOUBLEs nearest to
/// them: several may be equal to it.
fn place_by_float(ty: DataType, constant: f64) -> Option<Place> {
    let constant = Datum::Float(constant);
    let as_float = |ordinal| {
        let datum = from_ordinal(ty, ordinal);
        let value = Value::new(&datum, ty).and_then(|value| value.as_float());
        Datum::Float(value.unwrap_or(f64::NAN))
    };
    if !(ty.is_integer() || matches!(ty, DataType::Decimal { .. })) {
        return None;
    }
    let less = first_not(ty, |ordinal| as_float(ordinal) < constant)?;
    let not_greater = first_not(ty, |ordinal| as_float(ordinal) <= constant)?;
    Some(Place { less, not_greater })
}

/// Returns the cut at the end of the values that `holds`, which must be the first of the domain.
pub(crate) fn first_not(ty: DataType, holds: impl Fn(i128) -> bool) -> Option<Cut> {
    let (min, max) = ordinals(ty)?;
    let (mut low, mut high) = (min, max + 1);
    while low < high {
        // Those of a DECIMAL of 38 digits lie further apart than an i128 holds.
        let middle = low + (high.abs_diff(low) / 2) as i128;
        match holds(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Some(cut_at(ty, low))
}

fn place_uuid(bytes: [u8; 16]) -> Place {
    let datum = Datum::Uuid(bytes);
    Place {
        less: cut_before(DataType::Uuid, &datum),
        not_greater: cut_after(DataType::Uuid, &datum),
    }
}

// ---------------------------------------------------------------------------------------------
// Text and bytes.

/// Places a text among the values of CHAR(n), VARCHAR or VARCHAR(n).
fn place_text(ty: DataType, text: &str) -> Option<Place> {
    if matches!(ty, DataType::Char(_)) && text.contains('\0') {
        return None;
    }
    Some(Place {
        less: text_cut(ty, text, false),
        not_greater: text_cut(ty, text, true),
    })
}

/// Returns the texts that start with `prefix`.
pub(crate) fn text_prefix(ty: DataType, prefix: &str) -> IntervalSet {
    let low = text_cut(ty, prefix, false);
    IntervalSet::between(low, after_prefix(ty, prefix))
}

/// Returns the cut behind all texts that start with `prefix`.
fn after_prefix(ty: DataType, prefix: &str) -> Cut {
    match Datum::Text(prefix.to_string()).prefix_successor() {
        Some(Datum::Text(next)) => text_cut(ty, &next, false),
        _ => Cut::Max,
    }
}

/// Returns the cut before or after a text, at a place that the type's own values can name.
///
/// Texts that the type cannot hold lie between two of its values:
///
/// 1. Too long: all values that start with the part that fits are less, so the cut is behind them
///    (`'abc'` in CHAR(2): behind `'ab'`).
/// 2. Trailing blanks in CHAR: `'ab '` itself is none of the values, `'ab \x01'` is the first behind
///    it.
pub(crate) fn text_cut(ty: DataType, text: &str, after: bool) -> Cut {
    let fitting = fitting_part(ty, text);
    if fitting.len() < text.len() {
        return after_prefix(ty, fitting);
    }
    if after && is_full(ty, text) {
        return after_prefix(ty, text);
    }
    if matches!(ty, DataType::Char(_)) && text.ends_with(' ') {
        return match is_full(ty, text) {
            true => after_prefix(ty, text),
            false => Cut::before(Datum::Text(format!("{text}\u{1}"))),
        };
    }
    match (after, text.is_empty()) {
        (false, true) => Cut::Min,
        (false, false) => Cut::before(Datum::Text(text.to_string())),
        (true, _) => Cut::after(Datum::Text(text.to_string())),
    }
}

/// Returns the longest start of a text that the type can hold.
fn fitting_part(ty: DataType, text: &str) -> &str {
    match ty {
        DataType::Char(characters) | DataType::Varchar(Some(characters)) => {
            match text.char_indices().nth(characters as usize) {
                Some((end, _)) => &text[..end],
                None => text,
            }
        }
        _ => text,
    }
}

/// Whether no longer text of the type starts with this one.
fn is_full(ty: DataType, text: &str) -> bool {
    match ty {
        DataType::Char(characters) | DataType::Varchar(Some(characters)) => {
            text.chars().count() >= characters as usize
        }
        _ => false,
    }
}

/// Places bytes among the values of BINARY(n), VARBINARY or VARBINARY(n).
fn place_bytes(ty: DataType, bytes: &[u8]) -> Place {
    Place {
        less: bytes_cut(ty, bytes, false),
        not_greater: bytes_cut(ty, bytes, true),
    }
}

/// Returns the byte strings that start with `prefix`.
pub(crate) fn bytes_prefix(ty: DataType, prefix: &[u8]) -> IntervalSet {
    let high = match rukh_keys::prefix_successor(prefix) {
        Some(next) => bytes_cut(ty, &next, false),
        None => Cut::Max,
    };
    IntervalSet::between(bytes_cut(ty, prefix, false), high)
}

/// Returns the cut before or after bytes, at a place that the type's own values can name.
fn bytes_cut(ty: DataType, bytes: &[u8], after: bool) -> Cut {
    let limit = match ty {
        DataType::Binary(length) | DataType::Varbinary(Some(length)) => length as usize,
        _ => usize::MAX,
    };
    if bytes.len() > limit || (after && bytes.len() == limit) {
        let cut = &bytes[..limit];
        return match rukh_keys::prefix_successor(cut) {
            Some(next) => bytes_cut(ty, &next, false),
            None => Cut::Max,
        };
    }
    let mut bytes = bytes.to_vec();
    let short = matches!(ty, DataType::Binary(_)) && bytes.len() < limit;
    if short {
        // All values are longer, so those that start with these bytes are greater.
        bytes.resize(limit, 0);
    }
    let least = bytes.is_empty() || (bytes.iter().all(|b| *b == 0) && matches!(ty, DataType::Binary(_)));
    match (after && !short, least) {
        (true, _) => Cut::after(Datum::Bytes(bytes)),
        (false, true) => Cut::Min,
        (false, false) => Cut::before(Datum::Bytes(bytes)),
    }
}

// ---------------------------------------------------------------------------------------------
// Neighbours and points.

/// Returns the canonical cut before a value of the type.
pub(crate) fn cut_before(ty: DataType, datum: &Datum) -> Cut {
    match datum {
        Datum::Text(text) => text_cut(ty, text, false),
        Datum::Bytes(bytes) => bytes_cut(ty, bytes, false),
        Datum::Uuid(bytes) if *bytes == [0; 16] => Cut::Min,
        Datum::Float(value) if *value == f64::NEG_INFINITY => Cut::Min,
        Datum::Numeric(_) if *datum == least_numeric(ty) => Cut::Min,
        Datum::Numeric(_) => Cut::before(datum.clone()),
        Datum::Array(form) if form == EMPTY_ARRAY => Cut::Min,
        Datum::Uuid(_) | Datum::Float(_) | Datum::Array(_) | Datum::Inet(_) => Cut::before(datum.clone()),
        other => ordinal(ty, other).map_or(Cut::Max, |at| cut_at(ty, at)),
    }
}

/// Returns the canonical cut after a value of the type.
pub(crate) fn cut_after(ty: DataType, datum: &Datum) -> Cut {
    match datum {
        Datum::Text(text) => text_cut(ty, text, true),
        Datum::Bytes(bytes) => bytes_cut(ty, bytes, true),
        Datum::Uuid(bytes) => match u128::from_be_bytes(*bytes).checked_add(1) {
            Some(next) => Cut::before(Datum::Uuid(next.to_be_bytes())),
            None => Cut::Max,
        },
        Datum::Float(value) if value.is_nan() => Cut::Max,
        Datum::Numeric(form) if *form == NUMERIC_NAN => Cut::Max,
        Datum::Float(_) | Datum::Numeric(_) | Datum::Array(_) | Datum::Inet(_) => Cut::after(datum.clone()),
        other => ordinal(ty, other).map_or(Cut::Max, |at| cut_at(ty, at.saturating_add(1))),
    }
}

/// The form of the array without elements, the smallest of all.
const EMPTY_ARRAY: &[u8] = &[0];

/// NaN of a NUMERIC, its greatest value.
fn nan() -> Datum {
    Datum::Numeric(NUMERIC_NAN.to_vec())
}

/// Returns the smallest value of a NUMERIC.
fn least_numeric(ty: DataType) -> Datum {
    let DataType::Numeric { precision, scale } = ty else {
        return Datum::Null;
    };
    let nines = |digits: u8| power_of_ten(digits).unsigned_abs() - 1;
    let fraction = nines(scale) * power_of_ten(NUMERIC_HALF.saturating_sub(scale)).unsigned_abs();
    let parts = NumericParts::new(true, nines(precision.saturating_sub(scale)), fraction);
    parts.map_or(Datum::Null, |parts| Datum::Numeric(parts.to_form()))
}

/// Returns the smallest value of a type, if the type can name it: intervals and documents cannot.
fn min_value(ty: DataType) -> Option<Datum> {
    Some(match ty {
        DataType::Numeric { .. } => least_numeric(ty),
        DataType::Real | DataType::Double => Datum::Float(f64::NEG_INFINITY),
        DataType::Uuid => Datum::Uuid([0; 16]),
        DataType::Array(_) => Datum::Array(EMPTY_ARRAY.to_vec()),
        DataType::Char(_) | DataType::Varchar(_) => Datum::Text(String::new()),
        DataType::Binary(length) => Datum::Bytes(vec![0; length as usize]),
        DataType::Varbinary(_) => Datum::Bytes(Vec::new()),
        ty => return ty.min_max().map(|(min, _)| min),
    })
}

/// Returns the first value behind a cut, if the type can name it.
pub(crate) fn first_value(ty: DataType, low: &Cut) -> Option<Datum> {
    match low {
        Cut::Min => min_value(ty),
        Cut::At(datum, crate::conditions::interval::Side::Before) => Some(datum.clone()),
        Cut::At(..) | Cut::Max => None,
    }
}

/// Returns the value before a cut, of a type whose values can be counted.
pub(crate) fn last_value(ty: DataType, high: &Cut) -> Option<Datum> {
    match high {
        Cut::At(datum, crate::conditions::interval::Side::After) => Some(datum.clone()),
        Cut::At(datum, crate::conditions::interval::Side::Before) => match datum {
            Datum::Bytes(bytes) if matches!(ty, DataType::Binary(_)) => predecessor_bytes(bytes),
            Datum::Uuid(bytes) => u128::from_be_bytes(*bytes)
                .checked_sub(1)
                .map(|v| Datum::Uuid(v.to_be_bytes())),
            datum => ty.predecessor(datum),
        },
        Cut::Max => ty.min_max().map(|(_, max)| max),
        Cut::Min => None,
    }
}

fn predecessor_bytes(bytes: &[u8]) -> Option<Datum> {
    let last = bytes.iter().rposition(|byte| *byte != 0)?;
    let mut before = bytes.to_vec();
    before[last] -= 1;
    before[last + 1..].fill(0xff);
    Some(Datum::Bytes(before))
}

/// Returns the one value of an interval, if it has just one.
pub(crate) fn as_point(ty: DataType, interval: &Interval) -> Option<Datum> {
    match seen_point(interval) {
        Some(datum) => datum.cloned(),
        None => {
            let datum = first_value(ty, &interval.low)?;
            (cut_after(ty, &datum) == interval.high).then_some(datum)
        }
    }
}

/// Whether an interval has just one value.
pub(crate) fn is_point(ty: DataType, interval: &Interval) -> bool {
    match seen_point(interval) {
        Some(datum) => datum.is_some(),
        None => as_point(ty, interval).is_some(),
    }
}

/// The one value of an interval, or that it has several, where both can be seen from the cuts
/// alone: nearly always.
fn seen_point(interval: &Interval) -> Option<Option<&Datum>> {
    use crate::conditions::interval::Side::{After, Before};
    match (&interval.low, &interval.high) {
        (Cut::At(low, Before), Cut::At(high, After)) => Some((low == high).then_some(low)),
        (Cut::At(low @ Datum::Int(first), Before), Cut::At(Datum::Int(next), Before)) => {
            Some((first.checked_add(1) == Some(*next)).then_some(low))
        }
        (Cut::At(low @ Datum::Date(_), Before), Cut::At(next @ Datum::Date(_), Before)) => {
            Some((DataType::Date.successor(low).as_ref() == Some(next)).then_some(low))
        }
        (Cut::At(low @ Datum::Timestamp(_), Before), Cut::At(next @ Datum::Timestamp(_), Before)) => {
            Some((DataType::TIMESTAMP.successor(low).as_ref() == Some(next)).then_some(low))
        }
        (Cut::At(_, After), _) => Some(None),
        _ => None,
    }
}

/// Returns the values of a set in ascending order, NULL last, if they can be named and are at most
/// `small` per interval that is more than a point.
pub(crate) fn values(ty: DataType, set: &IntervalSet, small: usize) -> Option<Vec<Datum>> {
    let mut values = Vec::with_capacity(set.intervals().len() + 1);
    for interval in set.intervals() {
        push_values(ty, interval, small, &mut values)?;
    }
    if set.null {
        values.push(Datum::Null);
    }
    Some(values)
}

/// Returns the values of a set if each interval is a point.
pub(crate) fn points(ty: DataType, set: &IntervalSet) -> Option<Vec<Datum>> {
    values(ty, set, 1)
}

/// Returns the values of a set in ascending order, NULL last, if they can be named and are at most
/// `most` in all: where an equality is needed, neighbours such as 1 and 2 are two points, though
/// one interval holds them.
pub(crate) fn few_values(ty: DataType, set: &IntervalSet, most: usize) -> Option<Vec<Datum>> {
    /// Most steps taken through values that cannot be counted.
    const STEPS_MAX: usize = 64;
    let least = set.intervals().len() + usize::from(set.null);
    if least > most {
        return None;
    }
    let mut values = Vec::with_capacity(least);
    for interval in set.intervals() {
        let room = most.checked_sub(values.len()).filter(|room| *room > 0)?;
        let steps = match count(ty, interval) {
            Some(_) => room,
            None => room.min(STEPS_MAX),
        };
        push_values(ty, interval, steps, &mut values)?;
    }
    if set.null {
        values.push(Datum::Null);
    }
    (values.len() <= most).then_some(values)
}

fn push_values(ty: DataType, interval: &Interval, small: usize, out: &mut Vec<Datum>) -> Option<()> {
    if let Some(Some(datum)) = seen_point(interval) {
        out.push(datum.clone());
        return Some(());
    }
    if small > 1 && count(ty, interval).is_some_and(|count| count > small as u128) {
        return None;
    }
    let mut datum = first_value(ty, &interval.low)?;
    for _ in 0..small.max(1) {
        let after = cut_after(ty, &datum);
        out.push(datum);
        if after == interval.high {
            return Some(());
        }
        datum = match after {
            Cut::At(next, crate::conditions::interval::Side::Before) => next,
            _ => return None,
        };
    }
    None
}

/// Returns how many values an interval has, of a type whose values can be counted.
pub(crate) fn count(ty: DataType, interval: &Interval) -> Option<u128> {
    if ty == DataType::Uuid {
        return count_uuids(interval);
    }
    if !ty.is_discrete() {
        return None;
    }
    let (min, max) = ordinals(ty)?;
    let at = |cut: &Cut| match cut {
        Cut::Min => Some(min),
        Cut::Max => Some(max + 1),
        Cut::At(datum, _) => ordinal(ty, datum),
    };
    let (low, high) = (at(&interval.low)?, at(&interval.high)?);
    // Of a DECIMAL of 38 digits there are more than an i128 holds.
    (low <= high).then(|| high.abs_diff(low))
}

/// The number of UUIDs in an interval; all of them count one less than they are.
fn count_uuids(interval: &Interval) -> Option<u128> {
    let at = |cut: &Cut, open: u128| match cut {
        Cut::At(Datum::Uuid(bytes), _) => u128::from_be_bytes(*bytes),
        _ => open,
    };
    let (low, last) = (
        at(&interval.low, 0),
        match &interval.high {
            Cut::Max => u128::MAX,
            high => at(high, 0).checked_sub(1)?,
        },
    );
    Some(last.checked_sub(low)?.saturating_add(1))
}
