//! Values in the form that a type stores, or why it does not take them.

use crate::array::{array_form, array_values, record_form, record_values};
use crate::datum::{Datum, canonical_float};
use crate::error::ValueError;
use crate::json::{Json, Jsonb};
use crate::numeric::{NUMERIC_HALF, NUMERIC_NAN, NumericParts};
use crate::times::calendar::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_MINUS_INFINITY, DAY_MICROS, TIMESTAMP_MAX, TIMESTAMP_MIN,
    is_infinite_timestamp,
};
use crate::times::interval::Interval;
use crate::types::inet::Inet;
use crate::types::records::RecordType;
use crate::types::{DataType, decimal_max, has_more_characters, time_unit};

/// 2000-01-01 00:00 in microseconds since 1970: where PostgreSQL counts timestamps from.
const MICROS_2000: i64 = 946_684_800_000_000;

impl DataType {
    /// Brings a value into the form the type stores, or says why the type does not take it.
    ///
    /// | type            | form                                                                  |
    /// |-----------------|-----------------------------------------------------------------------|
    /// | all             | NULL stays NULL; a value of another kind is a type mismatch           |
    /// | REAL            | rounded to an `f32`; too large or too small is out of range           |
    /// | REAL, DOUBLE    | `-0` becomes `0`                                                      |
    /// | DECIMAL         | at most `precision` digits                                            |
    /// | NUMERIC         | rounded to `scale` digits after the point, half away from zero; at most `precision` digits, or NaN |
    /// | TIME(p)         | rounded to `p` digits, half up                                        |
    /// | TIMESTAMP(p)    | rounded to `p` digits, half away from 2000, as in PostgreSQL          |
    /// | CHAR(n)         | trailing blanks cut, at most `n` bytes, no NUL character              |
    /// | CIDR            | the bits behind the mask are cleared                                  |
    /// | VARCHAR(n)      | at most `n` characters; only blanks beyond them are cut               |
    /// | BINARY(n)       | padded with zero bytes to `n`; longer is an error                     |
    pub fn check(&self, datum: Datum) -> Result<Datum, ValueError> {
        match (self, datum) {
            (_, Datum::Null) => Ok(Datum::Null),
            (DataType::Boolean, datum @ Datum::Boolean(_)) => Ok(datum),
            (DataType::Real, Datum::Float(v)) => check_real(v),
            (DataType::Double, Datum::Float(v)) => Ok(Datum::Float(canonical_float(v))),
            (DataType::Decimal { precision, scale }, Datum::Decimal(v)) => {
                check_decimal(v, *precision, *scale)
            }
            (DataType::Numeric { precision, scale }, Datum::Numeric(form)) => {
                check_numeric(form, *precision, *scale)
            }
            (DataType::Date, Datum::Date(v)) => check_date(v),
            (DataType::Time { precision }, Datum::Time(v)) => check_time(v, *precision),
            (
                DataType::Timestamp { precision } | DataType::TimestampTz { precision },
                Datum::Timestamp(v),
            ) => check_timestamp(rounded(v, *precision)),
            (DataType::Uuid, datum @ Datum::Uuid(_)) => Ok(datum),
            (DataType::Inet | DataType::Cidr, Datum::Inet(form)) => check_inet(*self, form),
            (DataType::Enum(of), datum @ Datum::Int(code)) if of.definition().label(code).is_some() => {
                Ok(datum)
            }
            (DataType::Interval, Datum::Interval(interval)) => check_interval(interval),
            (DataType::Array(element), Datum::Array(form)) => check_array(**element, form),
            (DataType::Record(of), Datum::Array(form)) => check_record(*of, form),
            (DataType::Json, Datum::Text(text)) => Ok(Json::check(&text).map(|()| Datum::Text(text))?),
            (DataType::Jsonb, Datum::Jsonb(form)) if Jsonb::is_form(&form) => Ok(Datum::Jsonb(form)),
            (DataType::Char(length), Datum::Text(text)) => check_char(text, *length),
            (DataType::Varchar(limit), Datum::Text(text)) => check_varchar(text, *limit),
            (DataType::Binary(length), Datum::Bytes(bytes)) => check_binary(bytes, *length),
            (DataType::Varbinary(limit), Datum::Bytes(bytes)) => check_varbinary(bytes, *limit),
            (_, Datum::Int(v)) if self.is_integer() => self.check_int(v),
            (_, other) => Err(ValueError::TypeMismatch {
                ty: *self,
                found: other.kind_name(),
            }),
        }
    }

    fn check_int(&self, value: i64) -> Result<Datum, ValueError> {
        match self.int_bounds() {
            Some((min, max)) if min <= value && value <= max => Ok(Datum::Int(value)),
            _ => Err(ValueError::IntegerOutOfRange { ty: *self }),
        }
    }
}

fn check_real(value: f64) -> Result<Datum, ValueError> {
    let rounded = value as f32;
    let overflow = rounded.is_infinite() && value.is_finite();
    let underflow = rounded == 0.0 && value != 0.0;
    if overflow || underflow {
        let value = Datum::Float(value).to_string();
        return Err(ValueError::OutOfRange {
            value,
            ty: DataType::Real,
        });
    }
    Ok(Datum::Float(canonical_float(f64::from(rounded))))
}

fn check_decimal(value: i128, precision: u8, scale: u8) -> Result<Datum, ValueError> {
    let max = decimal_max(precision);
    if value > max || value < -max {
        return Err(ValueError::NumericOverflow { precision, scale });
    }
    Ok(Datum::Decimal(value))
}

fn check_numeric(form: Vec<u8>, precision: u8, scale: u8) -> Result<Datum, ValueError> {
    if form == NUMERIC_NAN {
        return Ok(Datum::Numeric(form));
    }
    let parts = NumericParts::of_form(&form).and_then(|parts| parts.rounded(scale));
    match parts.filter(|parts| parts.fits(precision.saturating_sub(scale))) {
        Some(_) if scale == NUMERIC_HALF => Ok(Datum::Numeric(form)),
        Some(parts) => Ok(Datum::Numeric(parts.to_form())),
        None => Err(ValueError::NumericOverflow { precision, scale }),
    }
}

/// An address becomes its network where a network is stored, as in PostgreSQL.
fn check_inet(ty: DataType, form: Vec<u8>) -> Result<Datum, ValueError> {
    match (Inet::of_form(&form), ty) {
        (Some(value), DataType::Cidr) => Ok(Datum::Inet(value.network().to_form())),
        (Some(_), _) => Ok(Datum::Inet(form)),
        (None, ty) => Err(ValueError::TypeMismatch { ty, found: "inet" }),
    }
}

fn check_date(days: i32) -> Result<Datum, ValueError> {
    match days {
        DATE_INFINITY | DATE_MINUS_INFINITY | DATE_MIN..=DATE_MAX => Ok(Datum::Date(days)),
        _ => Err(ValueError::MomentBeyond {
            ty: DataType::Date,
            value: Datum::Date(days).to_string(),
        }),
    }
}

/// Rounds microseconds since 1970 to the digits of a second's fraction.
pub(crate) fn rounded(micros: i64, precision: u8) -> i64 {
    let unit = time_unit(precision);
    if unit == 1 || is_infinite_timestamp(micros) {
        return micros;
    }
    let from_2000 = micros.saturating_sub(MICROS_2000);
    let whole = match from_2000 >= 0 {
        true => from_2000.saturating_add(unit / 2) / unit,
        false => from_2000.saturating_sub(unit / 2) / unit,
    };
    whole.saturating_mul(unit).saturating_add(MICROS_2000)
}

/// The elements are brought into the form that their type stores.
fn check_array(element: DataType, form: Vec<u8>) -> Result<Datum, ValueError> {
    // CHAR and VARCHAR may be longer in the form than the type allows.
    let loose = match element {
        DataType::Char(_) | DataType::Varchar(_) => DataType::Varchar(None),
        other => other,
    };
    let values = array_values(loose, &form).ok_or(ValueError::TypeMismatch {
        ty: element.array(),
        found: "array",
    })?;
    let values = values.into_iter().map(|value| element.check(value));
    let values = values.collect::<Result<Vec<Datum>, ValueError>>()?;
    array_form(element, &values).map(Datum::Array)
}

fn check_record(of: RecordType, form: Vec<u8>) -> Result<Datum, ValueError> {
    let values = record_values(of, &form).ok_or(ValueError::TypeMismatch {
        ty: DataType::Record(of),
        found: "row",
    })?;
    let values = values.into_iter().zip(of.fields());
    let values = values.map(|(value, field)| field.ty.check(value));
    record_form(of, &values.collect::<Result<Vec<Datum>, ValueError>>()?).map(Datum::Array)
}

/// Time of an interval is held in nanoseconds by Arrow: 292 years.
fn check_interval(interval: Interval) -> Result<Datum, ValueError> {
    match interval.micros.checked_mul(1_000) {
        Some(_) => Ok(Datum::Interval(interval)),
        None => Err(ValueError::IntervalOutOfRange {
            text: interval.text(),
        }),
    }
}

fn check_timestamp(micros: i64) -> Result<Datum, ValueError> {
    match (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(&micros) || is_infinite_timestamp(micros) {
        true => Ok(Datum::Timestamp(micros)),
        false => Err(ValueError::MomentBeyond {
            ty: DataType::TIMESTAMP,
            value: Datum::Timestamp(micros).to_string(),
        }),
    }
}

fn check_time(micros: i64, precision: u8) -> Result<Datum, ValueError> {
    if !(0..=DAY_MICROS).contains(&micros) {
        return Err(ValueError::DateTimeOutOfRange {
            value: micros.to_string(),
        });
    }
    let unit = time_unit(precision);
    Ok(Datum::Time((micros + unit / 2) / unit * unit))
}

fn check_char(mut text: String, length: u32) -> Result<Datum, ValueError> {
    text.truncate(text.trim_end_matches(' ').len());
    if text.contains('\0') {
        return Err(ValueError::NullByte);
    }
    if has_more_characters(&text, length) {
        return Err(ValueError::TooLong {
            ty: DataType::Char(length),
        });
    }
    Ok(Datum::Text(text))
}

fn check_varchar(mut text: String, limit: Option<u32>) -> Result<Datum, ValueError> {
    if let Some(limit) = limit
        && let Some((end, _)) = text.char_indices().nth(limit as usize)
    {
        if text[end..].bytes().any(|byte| byte != b' ') {
            return Err(ValueError::TooLong {
                ty: DataType::Varchar(Some(limit)),
            });
        }
        text.truncate(end);
    }
    Ok(Datum::Text(text))
}

fn check_binary(mut bytes: Vec<u8>, length: u32) -> Result<Datum, ValueError> {
    if bytes.len() > length as usize {
        return Err(ValueError::TooLong {
            ty: DataType::Binary(length),
        });
    }
    bytes.resize(length as usize, 0);
    Ok(Datum::Bytes(bytes))
}

fn check_varbinary(bytes: Vec<u8>, limit: Option<u32>) -> Result<Datum, ValueError> {
    if limit.is_some_and(|limit| bytes.len() > limit as usize) {
        return Err(ValueError::TooLong {
            ty: DataType::Varbinary(limit),
        });
    }
    Ok(Datum::Bytes(bytes))
}
