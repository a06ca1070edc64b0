//! Encodes tuples as keys.
//!
//! Every column is written in its ascending form first and complemented afterwards if it is
//! descending. `docs/key-encoding.md` is the specification.

use crate::datum::{Datum, DatumRef, canonical_float};
use crate::error::ValueError;
use crate::layout::{Form, KeyLayout, Salt, Slot};
use crate::numeric::{NUMERIC_NAN, NumericParts};
use crate::times::calendar::DAY_MICROS;
use crate::types::{DataType, decimal_max, has_more_characters, time_unit};
use xxhash_rust::xxh3::xxh3_64;

/// The tag of a value in an ascending nullable column.
pub(crate) const TAG_VALUE: u8 = 0x01;
/// The tag of NULL in an ascending nullable column; it sorts after [`TAG_VALUE`].
pub(crate) const TAG_NULL: u8 = 0x02;
/// The byte that escapes and terminates variable text.
pub(crate) const ESCAPE: u8 = 0x00;
/// After [`ESCAPE`]: the end.
pub(crate) const TERMINATOR: u8 = 0x01;
/// After [`ESCAPE`]: a zero byte of the value.
pub(crate) const ESCAPED_ZERO: u8 = 0xff;

impl KeyLayout {
    /// Encodes a whole key, salt byte included.
    ///
    /// # Errors
    /// If the number of values is not that of the columns, a NOT NULL column is given NULL, or a
    /// value is not in the form that [`DataType::check`] gives.
    pub fn encode(&self, datums: &[Datum]) -> Result<Vec<u8>, ValueError> {
        let mut key = Vec::with_capacity(16 + 8 * datums.len());
        self.check_count(datums.len())?;
        self.encode_columns(datums.iter().map(Datum::as_ref), &mut key)?;
        self.write_salt(|column| datums[column].as_ref(), 0, &mut key)?;
        Ok(key)
    }

    /// Appends a whole key to `out`, salt byte included; after an error `out` is as before.
    ///
    /// # Errors
    /// As [`KeyLayout::encode`].
    pub fn encode_into(&self, datums: &[DatumRef<'_>], out: &mut Vec<u8>) -> Result<(), ValueError> {
        self.check_count(datums.len())?;
        let start = out.len();
        let mut result = self.encode_columns(datums.iter(), out);
        if result.is_ok() {
            result = self.write_salt(|column| &datums[column], start, out);
        }
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Appends the encoding of the first columns of the layout, as many as there are datums, in
    /// the form they have in a whole key; after an error `out` is as before.
    ///
    /// The bits that later columns have in a byte of booleans are 0. A salt byte that is not
    /// known from these columns alone is 0, too: prefixes are meant for layouts without salt.
    ///
    /// | layout             | datums | bytes      |
    /// |--------------------|--------|------------|
    /// | (VARCHAR, INTEGER) | `'a'`  | `61 00 01` |
    /// | (BOOLEAN, BOOLEAN) | `true` | `80`       |
    ///
    /// # Errors
    /// As [`KeyLayout::encode`], but fewer values than columns are taken.
    pub fn encode_prefix_into(&self, datums: &[DatumRef<'_>], out: &mut Vec<u8>) -> Result<(), ValueError> {
        let expected = self.columns().len();
        if datums.len() > expected {
            return Err(ValueError::ColumnCount {
                expected,
                found: datums.len(),
            });
        }
        let start = out.len();
        let result = self.encode_columns(datums.iter(), out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Returns the salt byte of the key of these values, or `None` if the layout has no salt or
    /// the values are none of its keys.
    pub fn bucket(&self, datums: &[Datum]) -> Option<u8> {
        let salt = self.salt()?;
        let values: Option<Vec<_>> = salt.columns.iter().map(|column| datums.get(*column)).collect();
        self.bucket_of_refs(salt, values?.into_iter().map(Datum::as_ref), &mut Vec::new())
            .ok()
    }

    /// Returns the salt byte from the values of the salt columns alone, in the order of
    /// [`Salt::columns`], or `None` if the layout has no salt or they are none of its keys.
    pub fn bucket_of(&self, salt_datums: &[Datum]) -> Option<u8> {
        let salt = self.salt()?;
        if salt_datums.len() != salt.columns.len() {
            return None;
        }
        self.bucket_of_refs(salt, salt_datums.iter().map(Datum::as_ref), &mut Vec::new())
            .ok()
    }

    fn check_count(&self, found: usize) -> Result<(), ValueError> {
        let expected = self.columns().len();
        if found == expected {
            Ok(())
        } else {
            Err(ValueError::ColumnCount { expected, found })
        }
    }

    /// Appends a place for the salt byte, then the columns of the values given: all or a prefix.
    pub(crate) fn encode_columns<'a, D: std::borrow::Borrow<DatumRef<'a>>>(
        &self,
        datums: impl Iterator<Item = D>,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        if self.salt().is_some() {
            out.push(0);
        }
        for (column, (slot, datum)) in self.slots().iter().zip(datums).enumerate() {
            encode_slot(slot, datum.borrow(), out).map_err(|error| error.at(column))?;
        }
        Ok(())
    }

    /// Computes the salt byte and puts it at `start`; the end of `out` is its scratch space.
    fn write_salt<'a, D: std::borrow::Borrow<DatumRef<'a>>>(
        &self,
        datum_of: impl Fn(usize) -> D,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        if let Some(salt) = self.salt() {
            let values = salt.columns.iter().map(|column| datum_of(*column));
            out[start] = self.bucket_of_refs(salt, values, out)?;
        }
        Ok(())
    }

    fn bucket_of_refs<'a, D: std::borrow::Borrow<DatumRef<'a>>>(
        &self,
        salt: &Salt,
        datums: impl Iterator<Item = D>,
        scratch: &mut Vec<u8>,
    ) -> Result<u8, ValueError> {
        let start = scratch.len();
        for (column, datum) in salt.columns.iter().zip(datums) {
            let form = if self.slots()[*column].is_variable() {
                Form::Terminated
            } else {
                Form::Fixed
            };
            let slot = Slot {
                form,
                descending: false,
                ..self.slots()[*column]
            };
            let encoded = encode_slot(&slot, datum.borrow(), scratch);
            if let Err(error) = encoded {
                scratch.truncate(start);
                return Err(error.at(*column));
            }
        }
        let hash = xxh3_64(&scratch[start..]);
        scratch.truncate(start);
        Ok((hash % u64::from(salt.buckets)) as u8)
    }
}

impl ValueError {
    /// Names the column in the one error that does.
    fn at(self, column: usize) -> ValueError {
        match self {
            ValueError::NotNull { .. } => ValueError::NotNull { column },
            other => other,
        }
    }
}

/// Appends the bytes of one column: tag, value, terminator; a bit goes into the byte before.
pub(crate) fn encode_slot(slot: &Slot, datum: &DatumRef<'_>, out: &mut Vec<u8>) -> Result<(), ValueError> {
    if let Form::Bit(bit) = slot.form {
        return encode_bit(slot, bit, datum, out);
    }
    let start = out.len();
    if datum.is_null() {
        if !slot.nullable {
            return Err(ValueError::NotNull { column: 0 });
        }
        out.push(TAG_NULL);
        out.resize(start + slot.width, 0);
    } else {
        if slot.nullable {
            out.push(TAG_VALUE);
        }
        encode_ascending(slot, datum, out)?;
    }
    if slot.descending {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
    Ok(())
}

fn encode_bit(slot: &Slot, bit: u8, datum: &DatumRef<'_>, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let value = match datum {
        DatumRef::Boolean(value) => *value,
        DatumRef::Null => return Err(ValueError::NotNull { column: 0 }),
        other => return Err(mismatch(slot.ty, other)),
    };
    if bit == 0 {
        out.push(0);
    }
    if value != slot.descending
        && let Some(byte) = out.last_mut()
    {
        *byte |= 0x80 >> bit;
    }
    Ok(())
}

fn encode_ascending(slot: &Slot, datum: &DatumRef<'_>, out: &mut Vec<u8>) -> Result<(), ValueError> {
    if exceeds_limit(&slot.ty, datum) {
        return Err(ValueError::TooLong { ty: slot.ty });
    }
    match (&slot.ty, datum) {
        (DataType::Varchar(_), DatumRef::Text(text)) => encode_variable(slot, text.as_bytes(), out),
        (DataType::Varbinary(_), DatumRef::Bytes(bytes)) => encode_variable(slot, bytes, out),
        (DataType::Numeric { .. }, DatumRef::Numeric(form)) => encode_variable(slot, form, out),
        (DataType::Inet | DataType::Cidr, DatumRef::Inet(form)) => encode_variable(slot, form, out),
        (DataType::Array(_) | DataType::Record(_), DatumRef::Array(form)) => encode_variable(slot, form, out),
        (DataType::Json, DatumRef::Text(text)) => encode_variable(slot, text.as_bytes(), out),
        (DataType::Jsonb, DatumRef::Jsonb(form)) => encode_variable(slot, form, out),
        (DataType::Interval, DatumRef::Interval(interval)) => encode_variable(slot, &interval.to_key(), out),
        (ty, datum) => return encode_fixed(ty, datum, out),
    }
    Ok(())
}

/// How the bytes that stand for a bound of a range lie to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// They are those of the bound.
    At,
    /// No key has the bound. Keys that begin with these bytes are before it, and the next ones behind.
    Before,
    /// No key has the bound. Keys that begin with these bytes are behind it, and those before them are before it.
    Behind,
}

/// Appends the bytes of a bound of one column; `None`, and `out` as before, of a datum that is no value of its type.
///
/// A CHAR may be wider than its place in keys. Those that begin with as much of it as there is room for are less than it.
pub(crate) fn place_slot(slot: &Slot, datum: &DatumRef<'_>, out: &mut Vec<u8>) -> Option<Placed> {
    let start = out.len();
    match (encode_slot(slot, datum, out), slot.ty, datum) {
        (Ok(()), ..) => Some(Placed::At),
        (Err(ValueError::WideForKey { .. }), DataType::Char(length), DatumRef::Text(text)) => {
            out.truncate(start);
            if slot.nullable {
                out.push(TAG_VALUE ^ slot.flip());
            }
            let place = text.bytes().take(length as usize);
            out.extend(place.map(|byte| byte ^ slot.flip()));
            Some(match slot.descending {
                false => Placed::Before,
                true => Placed::Behind,
            })
        }
        (Err(_), ..) => {
            out.truncate(start);
            None
        }
    }
}

/// Whether a text has more characters, a byte string more bytes, or a number more digits than its type allows.
pub(crate) fn exceeds_limit(ty: &DataType, datum: &DatumRef<'_>) -> bool {
    match (ty, datum) {
        (DataType::Varchar(Some(limit)), DatumRef::Text(text)) => has_more_characters(text, *limit),
        (DataType::Varbinary(Some(limit)), DatumRef::Bytes(bytes)) => bytes.len() > *limit as usize,
        (DataType::Numeric { precision, scale }, DatumRef::Numeric(form)) => {
            let digits = precision.saturating_sub(*scale);
            let parts = NumericParts::of_form(form);
            *form != NUMERIC_NAN.as_slice()
                && parts.is_none_or(|parts| !parts.fits(digits) || parts.rounded(*scale) != Some(parts))
        }
        _ => false,
    }
}

fn encode_variable(slot: &Slot, bytes: &[u8], out: &mut Vec<u8>) {
    if slot.form == Form::Raw {
        out.extend_from_slice(bytes);
        return;
    }
    let mut rest = bytes;
    while let Some(zero) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..zero]);
        out.extend_from_slice(&[ESCAPE, ESCAPED_ZERO]);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[ESCAPE, TERMINATOR]);
}

/// Appends the ascending form of a value of a fixed width.
pub(crate) fn encode_fixed(ty: &DataType, datum: &DatumRef<'_>, out: &mut Vec<u8>) -> Result<(), ValueError> {
    match (ty, datum) {
        (DataType::Boolean, DatumRef::Boolean(value)) => out.push(u8::from(*value)),
        (DataType::BigInt, DatumRef::Int(value)) => put_i64(*value, out),
        (_, DatumRef::Int(value)) if ty.is_integer() => put_int(ty, *value, out)?,
        (DataType::Enum(_), DatumRef::Int(code)) => put_int(&DataType::Integer, *code, out)?,
        (DataType::Real, DatumRef::Float(value)) => put_f32(*value, out)?,
        (DataType::Double, DatumRef::Float(value)) => put_f64(*value, out),
        (DataType::Decimal { precision, scale }, DatumRef::Decimal(value)) => {
            put_decimal(*value, *precision, *scale, out)?;
        }
        (DataType::Date, DatumRef::Date(days)) => put_i32(*days, out),
        (DataType::Time { precision }, DatumRef::Time(micros)) => put_time(*micros, *precision, out)?,
        (DataType::Timestamp { .. } | DataType::TimestampTz { .. }, DatumRef::Timestamp(micros)) => {
            put_i64(*micros, out);
        }
        (DataType::Uuid, DatumRef::Uuid(bytes)) => out.extend_from_slice(bytes),
        (DataType::Char(length), DatumRef::Text(text)) => put_char(text, *length, out)?,
        (DataType::Binary(length), DatumRef::Bytes(bytes)) => put_binary(bytes, *length, out)?,
        (ty, other) => return Err(mismatch(*ty, other)),
    }
    Ok(())
}

fn mismatch(ty: DataType, datum: &DatumRef<'_>) -> ValueError {
    ValueError::TypeMismatch {
        ty,
        found: datum.kind_name(),
    }
}

pub(crate) fn put_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value ^ i64::MIN).to_be_bytes());
}

fn put_int(ty: &DataType, value: i64, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (min, max) = ty.int_bounds().unwrap_or((i64::MIN, i64::MAX));
    if value < min || value > max {
        return Err(ValueError::IntegerOutOfRange { ty: *ty });
    }
    let width = ty.key_width().unwrap_or(8);
    // Flipping the sign is adding the distance from the smallest value to zero.
    let shifted = value.wrapping_sub(min) as u64;
    out.extend_from_slice(&shifted.to_be_bytes()[8 - width..]);
    Ok(())
}

pub(crate) fn put_f64(value: f64, out: &mut Vec<u8>) {
    let bits = canonical_float(value).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

fn put_f32(value: f64, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let narrow = value as f32;
    if f64::from(narrow) != value && !value.is_nan() {
        let value = DatumRef::Float(value).to_string();
        return Err(ValueError::OutOfRange {
            value,
            ty: DataType::Real,
        });
    }
    let bits = if narrow.is_nan() {
        0x7fc0_0000
    } else {
        (narrow + 0.0).to_bits()
    };
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    out.extend_from_slice(&ordered.to_be_bytes());
    Ok(())
}

fn put_decimal(value: i128, precision: u8, scale: u8, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let max = decimal_max(precision);
    if value > max || value < -max {
        return Err(ValueError::NumericOverflow { precision, scale });
    }
    match (DataType::Decimal { precision, scale }).key_width() {
        Some(8) => put_i64(value as i64, out),
        _ => put_i128(value, out),
    }
    Ok(())
}

pub(crate) fn put_i128(value: i128, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value ^ i128::MIN).to_be_bytes());
}

pub(crate) fn put_i32(value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value ^ i32::MIN).to_be_bytes());
}

fn put_time(micros: i64, precision: u8, out: &mut Vec<u8>) -> Result<(), ValueError> {
    if !(0..=DAY_MICROS).contains(&micros) || micros % time_unit(precision) != 0 {
        return Err(ValueError::DateTimeOutOfRange {
            value: Datum::Time(micros).to_string(),
        });
    }
    if precision <= 3 {
        out.extend_from_slice(&((micros / 1000) as u32).to_be_bytes());
    } else {
        out.extend_from_slice(&micros.to_be_bytes());
    }
    Ok(())
}

fn put_char(text: &str, length: u32, out: &mut Vec<u8>) -> Result<(), ValueError> {
    // Trailing blanks are not significant: every text that `check` takes is taken here.
    let text = text.trim_end_matches(' ');
    if text.len() > length as usize {
        let ty = DataType::Char(length);
        return Err(match has_more_characters(text, length) {
            true => ValueError::TooLong { ty },
            false => ValueError::WideForKey {
                ty,
                bytes: text.len(),
            },
        });
    }
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(ValueError::NullByte);
    }
    put_padded(text.as_bytes(), length, out);
    Ok(())
}

fn put_binary(bytes: &[u8], length: u32, out: &mut Vec<u8>) -> Result<(), ValueError> {
    if bytes.len() > length as usize {
        return Err(ValueError::TooLong {
            ty: DataType::Binary(length),
        });
    }
    put_padded(bytes, length, out);
    Ok(())
}

fn put_padded(bytes: &[u8], length: u32, out: &mut Vec<u8>) {
    let end = out.len() + length as usize;
    out.extend_from_slice(bytes);
    out.resize(end, 0);
}
