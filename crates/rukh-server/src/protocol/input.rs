//! Parameters as clients send them: text or binary bytes to values of a type.

use std::borrow::Cow;

use rukh::{DataType, Datum, Error, Value};

use crate::protocol::arrays;
use crate::protocol::output::Format;
use crate::protocol::types::element_of;

/// The number of PostgreSQL's type `oid`.
const OID: u32 = 26;

/// Reads parameter `number` of a type; `oid` is the number that the client knows the type by.
///
/// Fails with 22P03 on bytes that are not of the type's binary form, and as the type's input does.
pub(crate) fn read_value(
    bytes: Option<&[u8]>,
    ty: &DataType,
    oid: u32,
    format: Format,
    number: usize,
) -> Result<Value, Error> {
    let Some(bytes) = bytes else {
        return Ok(Value::new(Datum::Null, *ty));
    };
    match (format, ty) {
        (Format::Binary, _) if element_of(oid).is_some() => {
            let array = arrays::text_of_binary(bytes).ok_or_else(|| bad_binary(number))?;
            Ok(Value::new(Datum::Text(array), DataType::Varchar(None)))
        }
        (Format::Text, _) if element_of(oid).is_some() => text(bytes, &DataType::Varchar(None)),
        (Format::Text, ty) if ty.is_decimal() => decimal(text_of(bytes)?),
        (Format::Text, ty) if ty.is_text() => text(bytes, ty),
        (Format::Text, ty) => Ok(Value::new(ty.parse_text(text_of(bytes)?).map_err(invalid)?, *ty)),
        (Format::Binary, ty) if ty.is_decimal() => {
            decimal(&rukh::binary::read_decimal(bytes).ok_or_else(|| bad_binary(number))?)
        }
        (Format::Binary, ty) if ty.is_text() => text(bytes, ty),
        (Format::Binary, DataType::Json | DataType::Jsonb) => {
            // The text of a JSONB stands behind the version of the form.
            let text = match ty {
                DataType::Jsonb => bytes.strip_prefix(&[1]).ok_or_else(|| bad_binary(number))?,
                _ => bytes,
            };
            Ok(Value::new(ty.parse_text(text_of(text)?).map_err(invalid)?, *ty))
        }
        (Format::Binary, ty) => {
            let datum = binary_datum(bytes, ty, oid).ok_or_else(|| bad_binary(number))?;
            Ok(Value::new(ty.check(datum).map_err(invalid)?, *ty))
        }
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::statement("22021", "invalid byte sequence for encoding \"UTF8\""))
}

fn text(bytes: &[u8], ty: &DataType) -> Result<Value, Error> {
    let text = text_of(bytes)?;
    match text.contains('\0') {
        true => Err(Error::statement(
            "22021",
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        )),
        false => Ok(Value::new(Datum::Text(text.to_string()), *ty)),
    }
}

/// Returns the text of a number as a client sends it; `None` for values of other types.
pub(crate) fn number_of<'a>(bytes: Option<&'a [u8]>, ty: &DataType, format: Format) -> Option<Cow<'a, str>> {
    match (bytes?, ty, format) {
        (bytes, ty, Format::Text) if ty.is_decimal() => Some(std::str::from_utf8(bytes).ok()?.trim().into()),
        (bytes, ty, Format::Binary) if ty.is_decimal() => Some(rukh::binary::read_decimal(bytes)?.into()),
        _ => None,
    }
}

/// Reads a number with as many digits after the point as it has: what it is compared with may have less.
fn decimal(text: &str) -> Result<Value, Error> {
    let text = text.trim();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len()) as i64;
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let scale = places.saturating_sub(exponent).clamp(0, 37);
    let ty = DataType::Decimal {
        precision: 38,
        scale: scale as u8,
    };
    match ty.parse_text(text) {
        Ok(datum) if scale == places.saturating_sub(exponent).max(0) => Ok(Value::new(datum, ty)),
        Ok(_) | Err(rukh::ValueError::NumericOverflow { .. }) => {
            let ty = DataType::NUMERIC;
            Ok(Value::new(ty.parse_text(text).map_err(invalid)?, ty))
        }
        Err(error) => Err(invalid(error)),
    }
}

/// Reads a value in binary form; `None` if the bytes are none of the type.
pub(crate) fn binary_datum(bytes: &[u8], ty: &DataType, oid: u32) -> Option<Datum> {
    match ty {
        DataType::BigInt if oid == OID => Some(Datum::Int(u32::from_be_bytes(bytes.try_into().ok()?).into())),
        ty => rukh::binary::read(bytes, ty),
    }
}

fn bad_binary(number: usize) -> Error {
    let message = format!("incorrect binary data format in bind parameter {number}");
    Error::statement("22P03", message)
}

fn invalid(error: rukh::ValueError) -> Error {
    Error::from(error)
}
