//! Decodes keys. Decoding is total: any bytes give values or a [`KeyDecodeError`].
//!
//! It is also strict: whatever decodes is the one encoding of its values (the salt byte is only
//! checked to be a bucket), so equal tuples have equal keys.

use crate::array::{is_array_form, record_values};
use crate::datum::{Datum, DatumRef, canonical_float};
use crate::encode::{ESCAPE, ESCAPED_ZERO, TAG_NULL, TAG_VALUE, TERMINATOR, exceeds_limit};
use crate::error::KeyDecodeError;
use crate::layout::{Form, KeyLayout, Slot};
use crate::times::calendar::DAY_MICROS;
use crate::times::interval::Interval;
use crate::types::inet::Inet;
use crate::types::{DataType, decimal_max, time_unit};
use std::borrow::Cow;

impl KeyLayout {
    /// Decodes all columns of a key into owned values.
    ///
    /// # Errors
    /// If the bytes are not a key of this layout.
    pub fn decode(&self, key: &[u8]) -> Result<Vec<Datum>, KeyDecodeError> {
        let mut out = Vec::with_capacity(self.columns().len());
        self.decode_refs(key, &mut out)?;
        Ok(out.into_iter().map(DatumRef::into_owned).collect())
    }

    /// Decodes all columns of a key in one pass, replacing what `out` holds. Ascending text and
    /// bytes are borrowed from the key unless they hold a zero byte.
    ///
    /// # Errors
    /// If the bytes are not a key of this layout; what `out` then holds means nothing.
    pub fn decode_refs<'a>(&self, key: &'a [u8], out: &mut Vec<DatumRef<'a>>) -> Result<(), KeyDecodeError> {
        out.clear();
        out.resize_with(self.columns().len(), || DatumRef::Null);
        self.check_bucket(key)?;
        let mut cursor = Cursor {
            key,
            offset: self.columns_start(),
        };
        for (column, (slot, out)) in self.slots().iter().zip(out).enumerate() {
            cursor.column(slot, column, out)?;
        }
        if cursor.offset < key.len() {
            return Err(KeyDecodeError::TrailingBytes {
                offset: cursor.offset,
            });
        }
        Ok(())
    }

    /// Decodes what [`KeyLayout::encode_prefix_into`] wrote for the first `columns` columns.
    ///
    /// # Errors
    /// If the bytes are not exactly the encoding of so many columns; the bits of later columns in
    /// a byte of booleans are not looked at.
    pub fn decode_prefix(&self, prefix: &[u8], columns: usize) -> Result<Vec<Datum>, KeyDecodeError> {
        self.check_bucket(prefix)?;
        let mut cursor = Cursor {
            key: prefix,
            offset: self.columns_start(),
        };
        let mut out = Vec::with_capacity(columns);
        for (column, slot) in self.slots().iter().enumerate().take(columns) {
            let mut datum = DatumRef::Null;
            cursor.column(slot, column, &mut datum)?;
            out.push(datum.into_owned());
        }
        if cursor.offset < prefix.len() {
            return Err(KeyDecodeError::TrailingBytes {
                offset: cursor.offset,
            });
        }
        Ok(out)
    }

    /// Decodes one column of a key: at once if its place is fixed, else walking from the first
    /// column of variable width.
    ///
    /// # Errors
    /// If the column's bytes are no value of its type, or the key ends before them. What follows
    /// the column is not looked at.
    ///
    /// # Panics
    /// If the layout has no such column.
    pub fn decode_column<'a>(&self, key: &'a [u8], column: usize) -> Result<DatumRef<'a>, KeyDecodeError> {
        let slot = &self.slots()[column];
        let mut cursor = match slot.fixed_offset() {
            // A bit that does not open its byte is read after that byte.
            Some(offset) => Cursor {
                key,
                offset: offset + usize::from(matches!(slot.form, Form::Bit(1..))),
            },
            None => self.walk(key, column)?,
        };
        let mut datum = DatumRef::Null;
        cursor.column(slot, column, &mut datum)?;
        Ok(datum)
    }

    /// Returns the bytes that the first `columns` columns of a key take, salt counted, and how many
    /// bits of the last of them belong to later columns.
    pub(crate) fn prefix_end(&self, key: &[u8], columns: usize) -> Result<(usize, u8), KeyDecodeError> {
        let Some(last) = columns.checked_sub(1) else {
            return Ok((self.columns_start(), 0));
        };
        let slot = &self.slots()[last];
        let unused_bits = match slot.form {
            Form::Bit(bit) => 7 - bit,
            _ => 0,
        };
        let mut cursor = match slot.fixed_offset() {
            Some(offset) => Cursor {
                key,
                offset: offset + usize::from(matches!(slot.form, Form::Bit(1..))),
            },
            None => self.walk(key, last)?,
        };
        cursor.pass(slot, last)?;
        Ok((cursor.offset, unused_bits))
    }

    /// Goes to a column that has no fixed place.
    fn walk<'a>(&self, key: &'a [u8], column: usize) -> Result<Cursor<'a>, KeyDecodeError> {
        let walk = self.walk_to(column);
        let mut cursor = Cursor {
            key,
            offset: self.slots()[walk.start].offset,
        };
        for passed in walk {
            cursor.pass(&self.slots()[passed], passed)?;
        }
        Ok(cursor)
    }

    fn check_bucket(&self, key: &[u8]) -> Result<(), KeyDecodeError> {
        let Some(salt) = self.salt() else { return Ok(()) };
        match key.first() {
            None => Err(KeyDecodeError::Truncated { offset: 0, column: 0 }),
            Some(bucket) if u16::from(*bucket) < salt.buckets => Ok(()),
            Some(bucket) => Err(KeyDecodeError::InvalidBucket {
                bucket: *bucket,
                buckets: salt.buckets,
            }),
        }
    }
}

/// Returns where the section of a key begins that lies behind these columns of variable width; `None` of bytes that are no key.
#[inline]
pub(crate) fn section_start(key: &[u8], passed: &[Slot]) -> Option<usize> {
    let mut start = 0;
    for slot in passed {
        let mut cursor = Cursor {
            key,
            offset: start + slot.offset,
        };
        cursor.pass(slot, 0).ok()?;
        start = cursor.offset;
    }
    Some(start)
}

/// A place in a key: all before it is read.
pub(crate) struct Cursor<'a> {
    key: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// Begins with the first byte.
    pub(crate) fn new(key: &'a [u8]) -> Self {
        Cursor { key, offset: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.offset >= self.key.len()
    }

    /// Reads a column into `out`.
    ///
    /// Values are written in place all through: handing on 32 bytes just written in parts stalls.
    #[inline]
    pub(crate) fn column(
        &mut self,
        slot: &Slot,
        column: usize,
        out: &mut DatumRef<'a>,
    ) -> Result<(), KeyDecodeError> {
        if let Form::Bit(bit) = slot.form {
            *out = DatumRef::Boolean(self.bit(slot, bit, column)?);
            return Ok(());
        }
        if slot.nullable && self.null(slot, column)? {
            *out = DatumRef::Null;
            return Ok(());
        }
        let start = self.offset;
        match slot.form {
            Form::Raw => variable(slot, Cow::Borrowed(self.take_rest(column)?), start, out),
            Form::Terminated => variable(slot, self.terminated(slot, column)?, start, out),
            Form::Fixed | Form::Bit(_) => {
                let bytes = self.take(slot.width - usize::from(slot.nullable), column)?;
                fixed(slot, bytes, start, out)
            }
        }
    }

    /// Steps over a column, reading only what is needed to find its end.
    fn pass(&mut self, slot: &Slot, column: usize) -> Result<(), KeyDecodeError> {
        match slot.form {
            Form::Bit(1..) => {}
            Form::Bit(_) | Form::Fixed => {
                self.take(slot.width, column)?;
            }
            Form::Raw => {
                self.take_rest(column)?;
            }
            Form::Terminated => {
                if !(slot.nullable && self.null(slot, column)?) {
                    self.find_end(slot, column)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, count: usize, column: usize) -> Result<&'a [u8], KeyDecodeError> {
        let end = self.offset.saturating_add(count);
        let bytes = self
            .key
            .get(self.offset..end)
            .ok_or_else(|| self.truncated(column))?;
        self.offset = end;
        Ok(bytes)
    }

    fn take_rest(&mut self, column: usize) -> Result<&'a [u8], KeyDecodeError> {
        let bytes = self
            .key
            .get(self.offset..)
            .ok_or_else(|| self.truncated(column))?;
        self.offset = self.key.len();
        Ok(bytes)
    }

    fn truncated(&self, column: usize) -> KeyDecodeError {
        KeyDecodeError::Truncated {
            offset: self.key.len(),
            column,
        }
    }

    /// Reads a bit; the byte is stepped over when its first bit is read.
    fn bit(&mut self, slot: &Slot, bit: u8, column: usize) -> Result<bool, KeyDecodeError> {
        if bit == 0 {
            self.take(1, column)?;
        }
        let at = self.offset.wrapping_sub(1);
        let byte = *self.key.get(at).ok_or_else(|| self.truncated(column))?;
        let unused = (1_u16 << slot.unused_bits) as u8;
        if byte & unused.wrapping_sub(1) != 0 {
            return Err(KeyDecodeError::InvalidValue {
                offset: at,
                ty: slot.ty,
            });
        }
        Ok((byte & (0x80 >> bit) != 0) != slot.descending)
    }

    /// Reads the tag of a nullable column, and the padding of a NULL.
    fn null(&mut self, slot: &Slot, column: usize) -> Result<bool, KeyDecodeError> {
        let start = self.offset;
        let tag = self.take(1, column)?[0];
        match tag ^ slot.flip() {
            TAG_VALUE => return Ok(false),
            TAG_NULL => {}
            _ => return Err(KeyDecodeError::InvalidTag { offset: start, tag }),
        }
        let padding = if slot.is_variable() { 0 } else { slot.width - 1 };
        if self
            .take(padding, column)?
            .iter()
            .any(|byte| *byte != slot.flip())
        {
            return Err(KeyDecodeError::InvalidValue {
                offset: start + 1,
                ty: slot.ty,
            });
        }
        Ok(true)
    }

    /// Steps over an escaped and terminated value; returns its bytes without the terminator and
    /// whether one of them is escaped.
    fn find_end(&mut self, slot: &Slot, column: usize) -> Result<(&'a [u8], bool), KeyDecodeError> {
        let start = self.offset;
        let escape = ESCAPE ^ slot.flip();
        let mut escaped = false;
        loop {
            let rest = self.key.get(self.offset..).unwrap_or_default();
            let found = memchr::memchr(escape, rest).ok_or_else(|| self.truncated(column))?;
            let at = self.offset + found;
            let next = *self.key.get(at + 1).ok_or_else(|| self.truncated(column))?;
            self.offset = at + 2;
            match next ^ slot.flip() {
                TERMINATOR => return Ok((&self.key[start..at], escaped)),
                ESCAPED_ZERO => escaped = true,
                _ => return Err(KeyDecodeError::InvalidEscape { offset: at }),
            }
        }
    }

    fn terminated(&mut self, slot: &Slot, column: usize) -> Result<Cow<'a, [u8]>, KeyDecodeError> {
        let (bytes, escaped) = self.find_end(slot, column)?;
        let flipped = unflipped(slot, bytes);
        Ok(if escaped {
            Cow::Owned(unescape(&flipped))
        } else {
            flipped
        })
    }
}

/// Removes the byte after each escaped zero.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(zero) = memchr::memchr(ESCAPE, rest) {
        out.extend_from_slice(&rest[..=zero]);
        rest = rest.get(zero + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// The bytes in ascending form.
fn unflipped<'a>(slot: &Slot, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if slot.descending {
        Cow::Owned(bytes.iter().map(|byte| !byte).collect())
    } else {
        Cow::Borrowed(bytes)
    }
}

fn variable<'a>(
    slot: &Slot,
    bytes: Cow<'a, [u8]>,
    offset: usize,
    out: &mut DatumRef<'a>,
) -> Result<(), KeyDecodeError> {
    *out = match slot.ty {
        DataType::Varchar(_) => DatumRef::Text(text(bytes, offset)?),
        DataType::Numeric { .. } => DatumRef::Numeric(bytes),
        DataType::Inet | DataType::Cidr => DatumRef::Inet(bytes),
        DataType::Json => DatumRef::Text(text(bytes, offset)?),
        DataType::Jsonb => DatumRef::Jsonb(bytes),
        DataType::Array(_) | DataType::Record(_) => DatumRef::Array(bytes),
        DataType::Interval => match Interval::of_key(&bytes) {
            Some(interval) => DatumRef::Interval(interval),
            None => return Err(KeyDecodeError::InvalidValue { offset, ty: slot.ty }),
        },
        _ => DatumRef::Bytes(bytes),
    };
    let is_form = match (slot.ty, &*out) {
        (DataType::Inet, DatumRef::Inet(form)) => Inet::of_form(form).is_some(),
        (DataType::Cidr, DatumRef::Inet(form)) => Inet::of_form(form).is_some_and(Inet::is_network),
        (DataType::Array(element), DatumRef::Array(form)) => is_array_form(*element, form),
        (DataType::Record(of), DatumRef::Array(form)) => record_values(of, form).is_some(),
        _ => true,
    };
    if !is_form || exceeds_limit(&slot.ty, out) {
        return Err(KeyDecodeError::InvalidValue { offset, ty: slot.ty });
    }
    Ok(())
}

fn text(bytes: Cow<'_, [u8]>, offset: usize) -> Result<Cow<'_, str>, KeyDecodeError> {
    let invalid = KeyDecodeError::InvalidUtf8 { offset };
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| invalid),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| invalid),
    }
}

/// Reads a value of a fixed width.
#[inline]
fn fixed<'a>(
    slot: &Slot,
    bytes: &'a [u8],
    offset: usize,
    out: &mut DatumRef<'a>,
) -> Result<(), KeyDecodeError> {
    let valid = match slot.ty {
        DataType::Char(_) => {
            *out = DatumRef::Text(char_text(slot, bytes, offset)?);
            true
        }
        DataType::Binary(_) => {
            *out = DatumRef::Bytes(unflipped(slot, bytes));
            true
        }
        _ if bytes.len() == 16 => read_wide_value(slot, bytes, out).is_some(),
        _ => read_value(slot, bytes, out).is_some(),
    };
    if valid {
        Ok(())
    } else {
        Err(KeyDecodeError::InvalidValue { offset, ty: slot.ty })
    }
}

/// Reads a CHAR: text without NUL characters or trailing blanks, then zero bytes.
fn char_text<'a>(slot: &Slot, bytes: &'a [u8], offset: usize) -> Result<Cow<'a, str>, KeyDecodeError> {
    let zero = slot.flip();
    let length = memchr::memchr(zero, bytes).unwrap_or(bytes.len());
    let (value, padding) = bytes.split_at(length);
    let text = text(unflipped(slot, value), offset)?;
    if text.ends_with(' ') || padding.iter().any(|byte| *byte != zero) {
        return Err(KeyDecodeError::InvalidValue { offset, ty: slot.ty });
    }
    Ok(text)
}

/// Reads up to 8 bytes as a number, in ascending form.
#[inline]
fn read_word(slot: &Slot, bytes: &[u8]) -> u64 {
    let word = match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    };
    if slot.descending {
        !word & (u64::MAX >> (64 - 8 * bytes.len()))
    } else {
        word
    }
}

/// Reads a number, date, time or boolean of up to 8 bytes; `None` if no value has these bytes.
#[inline]
fn read_value(slot: &Slot, bytes: &[u8], out: &mut DatumRef<'_>) -> Option<()> {
    let (word, width) = (read_word(slot, bytes), bytes.len());
    match slot.ty {
        DataType::Boolean if word <= 1 => *out = DatumRef::Boolean(word == 1),
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => {
            *out = DatumRef::Int(signed(word, width));
        }
        DataType::Enum(of) => {
            let code = signed(word, width);
            of.definition().label(code)?;
            *out = DatumRef::Int(code);
        }
        DataType::Real => *out = DatumRef::Float(read_real(word as u32)?),
        DataType::Double => *out = DatumRef::Float(read_double(word)?),
        DataType::Decimal { precision, .. } => {
            *out = DatumRef::Decimal(within_precision(signed(word, width).into(), precision)?);
        }
        DataType::Date => *out = DatumRef::Date(signed(word, width) as i32),
        DataType::Time { precision } => *out = DatumRef::Time(read_time(word, precision)?),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            *out = DatumRef::Timestamp(signed(word, width));
        }
        _ => return None,
    }
    Some(())
}

/// Reads a UUID or a decimal of 16 bytes; `None` if no value has these bytes.
fn read_wide_value(slot: &Slot, bytes: &[u8], out: &mut DatumRef<'_>) -> Option<()> {
    let bits = u128::from_be_bytes(bytes.try_into().ok()?);
    let word = if slot.descending { !bits } else { bits };
    match slot.ty {
        DataType::Uuid => *out = DatumRef::Uuid(word.to_be_bytes()),
        DataType::Decimal { precision, .. } => {
            *out = DatumRef::Decimal(within_precision(word as i128 ^ i128::MIN, precision)?);
        }
        _ => return None,
    }
    Some(())
}

/// Flips the sign bit of a number of `width` bytes (1 to 8) and extends it.
#[inline]
fn signed(word: u64, width: usize) -> i64 {
    let unused = 64 - 8 * width;
    ((word << unused) as i64 ^ i64::MIN) >> unused
}

fn within_precision(value: i128, precision: u8) -> Option<i128> {
    let max = decimal_max(precision);
    (-max..=max).contains(&value).then_some(value)
}

fn read_double(word: u64) -> Option<f64> {
    let bits = if word >> 63 == 1 { word ^ 1 << 63 } else { !word };
    let value = f64::from_bits(bits);
    (canonical_float(value).to_bits() == bits).then_some(value)
}

fn read_real(word: u32) -> Option<f64> {
    let bits = if word >> 31 == 1 { word ^ 1 << 31 } else { !word };
    let value = f32::from_bits(bits);
    let canonical = if value.is_nan() {
        bits == 0x7fc0_0000
    } else {
        bits != 1 << 31
    };
    canonical.then_some(canonical_float(f64::from(value)))
}

fn read_time(word: u64, precision: u8) -> Option<i64> {
    let scale = if precision <= 3 { 1000 } else { 1 };
    let micros = i64::try_from(word).ok()?.checked_mul(scale)?;
    let valid = micros <= DAY_MICROS && micros % time_unit(precision) == 0;
    valid.then_some(micros)
}
