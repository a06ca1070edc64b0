//! The hash behind `HASH(x, n)` key elements: the first bytes of the MD5 of a value.
//!
//! Deliberately not here: the salt of a layout, which is another hash (see `encode`).

use crate::datum::Datum;
use crate::encode::{put_f64, put_i32, put_i64, put_i128};
use crate::json::Jsonb;
use md5::{Digest, Md5};
use std::borrow::Cow;

/// Returns the first `bytes` (4, 8 or 16) bytes of the MD5 of a value; NULL gives NULL.
///
/// | value         | what is hashed                                        |
/// |---------------|-------------------------------------------------------|
/// | text          | its UTF-8 bytes                                       |
/// | bytes, UUID   | the bytes                                             |
/// | boolean       | one byte, 0 or 1                                      |
/// | integers      | the key encoding as BIGINT                            |
/// | floats        | the key encoding as DOUBLE                            |
/// | decimal       | the unscaled value in the 16-byte key encoding        |
/// | numeric, inet, array | its form                                             |
/// | date          | the key encoding                                      |
/// | time          | the key encoding as TIME(6)                           |
/// | timestamps    | the key encoding                                      |
/// | interval      | its length in microseconds, as a decimal              |
/// | jsonb         | its order                                             |
pub fn hash_datum(datum: &Datum, bytes: u8) -> Datum {
    if datum.is_null() {
        return Datum::Null;
    }
    let digest = Md5::digest(hashed_bytes(datum));
    let length = usize::from(bytes).min(digest.len());
    Datum::Bytes(digest[..length].to_vec())
}

fn hashed_bytes(datum: &Datum) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    match datum {
        Datum::Null => {}
        Datum::Text(text) => return Cow::Borrowed(text.as_bytes()),
        Datum::Bytes(bytes) | Datum::Numeric(bytes) | Datum::Inet(bytes) | Datum::Array(bytes) => {
            return Cow::Borrowed(bytes);
        }
        Datum::Jsonb(form) => return Cow::Owned(Jsonb::new(form).order_key()),
        Datum::Interval(interval) => put_i128(interval.length(), &mut out),
        Datum::Uuid(bytes) => return Cow::Borrowed(bytes),
        Datum::Boolean(value) => out.push(u8::from(*value)),
        Datum::Int(value) | Datum::Timestamp(value) => put_i64(*value, &mut out),
        Datum::Float(value) => put_f64(*value, &mut out),
        Datum::Decimal(value) => put_i128(*value, &mut out),
        Datum::Date(days) => put_i32(*days, &mut out),
        Datum::Time(micros) => out.extend_from_slice(&micros.to_be_bytes()),
    }
    Cow::Owned(out)
}
