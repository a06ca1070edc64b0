//! The row format: how the columns of one family, or the included columns of an index entry, are
//! laid out in a value.
//!
//! ```text
//! format   1 byte    0x01; 0x02 with the time written, 0x03 with both times
//! times    8 or 16   when the row was written; since when its life counts. Microseconds since 1970
//! layout   2 bytes   version of the row layout; 0 in index entries
//! nulls    ⌈n/8⌉     bit i (least significant first) is set iff column i is NULL
//! fixed    Σ width   columns of fixed width, in layout order; zero bytes where NULL
//! ends     4 × v     for each other column, where it ends within the last part
//! variable           texts and byte strings, one after the other
//! ```
//!
//! All numbers are little-endian. Everything before the variable part has a place that the layout
//! alone decides, so any column is reached without decoding another. The byte-level specification
//! is `docs/row-format.md`; its examples are run as tests.
//!
//! Deliberately not here: which columns a value has (`codec`), and columns that are read back from
//! keys, which values do not repeat.

use crate::forms::counter::CHANGED;
use rukh_catalog::ColumnId;
use rukh_keys::{
    DAY_MICROS, DataType, Datum, DatumRef, Inet, Interval, NumericParts, TIMESTAMP_MAX, TIMESTAMP_MIN,
    ValueError,
};
use std::borrow::Cow;
use thiserror::Error;

/// The first byte of a value that carries no time.
pub(crate) const FORMAT_PLAIN: u8 = 1;

/// The first byte of a value that carries the time it was written.
const FORMAT_WRITTEN: u8 = 2;

/// The first byte of a value that carries the time it was written, then that its life counts from.
const FORMAT_COUNTED: u8 = 3;

/// Bytes of a time.
const TIME_LEN: usize = 8;

/// Bytes of format and layout version.
const HEADER_LEN: usize = 3;

/// Longest BINARY that is kept in the fixed part; NULLs cost their width there.
const BINARY_FIXED_MAX: u32 = 32;

/// When a row was written, in microseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) written: i64,
    /// Since when its life counts, where that is another time.
    pub(crate) counted: Option<i64>,
}

impl Times {
    /// Returns since when the life of the row counts.
    pub(crate) fn counted_from(self) -> i64 {
        self.counted.unwrap_or(self.written)
    }

    fn append_to(self, out: &mut Vec<u8>) {
        out.push(match self.counted {
            None => FORMAT_WRITTEN,
            Some(_) => FORMAT_COUNTED,
        });
        out.extend_from_slice(&self.written.to_le_bytes());
        if let Some(counted) = self.counted {
            out.extend_from_slice(&counted.to_le_bytes());
        }
    }
}

/// Returns the times that a value carries; `None` also where it is no value.
#[inline]
pub(crate) fn times(bytes: &[u8]) -> Option<Times> {
    let time = |at: usize| Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    match bytes.first()? & !CHANGED {
        FORMAT_WRITTEN => Some(Times {
            written: time(1)?,
            counted: None,
        }),
        FORMAT_COUNTED => Some(Times {
            written: time(1)?,
            counted: Some(time(1 + TIME_LEN)?),
        }),
        _ => None,
    }
}

/// Returns when a value was written, `since` if it does not say.
pub(crate) fn written(bytes: &[u8], since: i64) -> Result<DatumRef<'static>, RowDecodeError> {
    let written = times(bytes).map_or(since, |times| times.written);
    match (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(&written) {
        true => Ok(DatumRef::Timestamp(written)),
        false => Err(RowDecodeError::InvalidTime { micros: written }),
    }
}

/// Says why stored bytes are not a value of the layout.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum RowDecodeError {
    #[error("value of {len} bytes is too short")]
    Truncated { len: usize },
    #[error("value has unknown format {format}")]
    UnknownFormat { format: u8 },
    #[error("value has unknown row layout {version}")]
    UnknownLayout { version: u16 },
    #[error("value of {len} bytes should have {expected}")]
    Length { len: usize, expected: usize },
    #[error("value has invalid offsets of column {slot}")]
    InvalidOffset { slot: usize },
    #[error("value has invalid text in column {slot}")]
    InvalidUtf8 { slot: usize },
    #[error("value was written at an impossible time, {micros}")]
    InvalidTime { micros: i64 },
    #[error("value has invalid sums of counters")]
    InvalidSums,
    #[error("value has invalid patches of columns")]
    InvalidPatches,
    #[error("value has an invalid {} in column {slot}", .ty.postgres_name())]
    InvalidValue { slot: usize, ty: DataType },
}

/// Where a column is within a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At `offset` bytes from the start of the value.
    Fixed { offset: usize },
    /// The `ordinal`-th of the columns of variable width.
    Variable { ordinal: usize },
}

#[derive(Clone, Debug)]
struct Slot {
    column: ColumnId,
    ty: DataType,
    place: Place,
}

/// The places of all columns of one layout version.
///
/// Invariant: `ends_start` is where the fixed part ends, and no fixed place reaches beyond it.
#[derive(Clone, Debug)]
pub(crate) struct RowShape {
    version: u16,
    slots: Vec<Slot>,
    ends_start: usize,
    variable_start: usize,
}

impl RowShape {
    /// Lays out `columns` in the order given.
    pub(crate) fn new(version: u16, columns: &[(ColumnId, DataType)]) -> Self {
        let mut offset = HEADER_LEN + columns.len().div_ceil(8);
        let mut ordinal = 0;
        let mut slots = Vec::with_capacity(columns.len());
        for (column, ty) in columns {
            let place = match fixed_width(ty) {
                Some(width) => {
                    offset += width;
                    Place::Fixed {
                        offset: offset - width,
                    }
                }
                None => {
                    ordinal += 1;
                    Place::Variable { ordinal: ordinal - 1 }
                }
            };
            slots.push(Slot {
                column: *column,
                ty: *ty,
                place,
            });
        }
        RowShape {
            version,
            slots,
            ends_start: offset,
            variable_start: offset + 4 * ordinal,
        }
    }

    /// Returns the slot that holds `column`.
    pub(crate) fn slot(&self, column: ColumnId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.column == column)
    }

    /// Appends the value whose slots hold what `datum` returns for them, with its times if it has any.
    ///
    /// Fails on a datum that the slot's type could not give back.
    pub(crate) fn encode<'d>(
        &self,
        times: Option<Times>,
        datum: impl Fn(usize) -> &'d Datum,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        match times {
            None => out.push(FORMAT_PLAIN),
            Some(times) => times.append_to(out),
        }
        // Places count from the byte before the layout version, whatever the times take.
        let start = out.len() - 1;
        out.resize(start + self.variable_start, 0);
        out[start + 1..start + 3].copy_from_slice(&self.version.to_le_bytes());
        for (i, slot) in self.slots.iter().enumerate() {
            let datum = datum(i);
            if datum.is_null() {
                out[start + HEADER_LEN + i / 8] |= 1 << (i % 8);
            }
            match slot.place {
                Place::Fixed { offset } => write_fixed(&slot.ty, datum, &mut out[start + offset..])?,
                Place::Variable { ordinal } => {
                    out.extend_from_slice(variable_bytes(&slot.ty, datum)?);
                    let end = out.len() - start - self.variable_start;
                    let end = u32::try_from(end).map_err(|_| ValueError::TooLong { ty: slot.ty })?;
                    let at = start + self.ends_start + 4 * ordinal;
                    out[at..at + 4].copy_from_slice(&end.to_le_bytes());
                }
            }
        }
        // Storage takes values of less than 4 GiB.
        match u32::try_from(out.len() - start) {
            Ok(_) => Ok(()),
            Err(_) => Err(ValueError::TooLong {
                ty: DataType::Varbinary(None),
            }),
        }
    }

    /// Returns the bytes that a datum takes in a slot; `None` for NULL.
    pub(crate) fn encode_one(&self, slot: usize, datum: &Datum) -> Result<Option<Vec<u8>>, ValueError> {
        let Slot { ty, place, .. } = &self.slots[slot];
        if datum.is_null() {
            return Ok(None);
        }
        Ok(Some(match (place, fixed_width(ty)) {
            (Place::Fixed { .. }, Some(width)) => {
                let mut bytes = vec![0; width];
                write_fixed(ty, datum, &mut bytes)?;
                bytes
            }
            _ => variable_bytes(ty, datum)?.to_vec(),
        }))
    }

    /// Reads the datum of a slot from the bytes that [`RowShape::encode_one`] gave.
    pub(crate) fn decode_one<'a>(
        &self,
        slot: usize,
        bytes: Option<&'a [u8]>,
    ) -> Result<DatumRef<'a>, RowDecodeError> {
        let Slot { ty, place, .. } = &self.slots[slot];
        let Some(bytes) = bytes else {
            return Ok(DatumRef::Null);
        };
        match (place, fixed_width(ty)) {
            (Place::Fixed { .. }, Some(width)) if bytes.len() == width => {
                read_fixed(ty, bytes).ok_or(RowDecodeError::InvalidValue { slot, ty: *ty })
            }
            (Place::Fixed { .. }, _) => Err(RowDecodeError::InvalidPatches),
            (Place::Variable { .. }, _) => read_variable(ty, slot, bytes),
        }
    }

    fn variable_count(&self) -> usize {
        (self.variable_start - self.ends_start) / 4
    }
}

/// Checks the format of a value; returns its layout version, and the part that [`RowSlice::new`] takes:
/// all from the byte before the layout version on.
#[inline]
pub(crate) fn open(bytes: &[u8]) -> Result<(u16, &[u8]), RowDecodeError> {
    open_as(bytes, bytes.first().copied())
}

/// As [`open`], for a value whose first byte says that more came behind it.
pub(crate) fn open_changed(bytes: &[u8]) -> Result<(u16, &[u8]), RowDecodeError> {
    open_as(bytes, bytes.first().map(|format| format & !CHANGED))
}

#[inline]
fn open_as(bytes: &[u8], format: Option<u8>) -> Result<(u16, &[u8]), RowDecodeError> {
    let times_len = match format {
        _ if bytes.len() < HEADER_LEN => return Err(RowDecodeError::Truncated { len: bytes.len() }),
        Some(FORMAT_PLAIN) => 0,
        Some(FORMAT_WRITTEN) => TIME_LEN,
        Some(FORMAT_COUNTED) => 2 * TIME_LEN,
        format => {
            return Err(RowDecodeError::UnknownFormat {
                format: format.unwrap_or_default(),
            });
        }
    };
    match bytes.get(times_len..) {
        Some(body @ [_, low, high, ..]) => Ok((u16::from_le_bytes([*low, *high]), body)),
        _ => Err(RowDecodeError::Truncated { len: bytes.len() }),
    }
}

/// A stored value with the shape it was written in.
///
/// Invariant: the bytes are at least as long as the shape's places, and end where the last
/// variable column ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSlice<'a> {
    shape: &'a RowShape,
    bytes: &'a [u8],
}

impl<'a> RowSlice<'a> {
    /// Checks the length of a value of `shape`, as [`open`] gave it.
    #[inline]
    pub(crate) fn new(shape: &'a RowShape, bytes: &'a [u8]) -> Result<Self, RowDecodeError> {
        if bytes.len() < shape.variable_start {
            return Err(RowDecodeError::Truncated { len: bytes.len() });
        }
        let slice = RowSlice { shape, bytes };
        let expected = match shape.variable_count() {
            0 => shape.variable_start,
            count => shape.variable_start + slice.end(count - 1),
        };
        match bytes.len() == expected {
            true => Ok(slice),
            false => Err(RowDecodeError::Length {
                len: bytes.len(),
                expected,
            }),
        }
    }

    /// Returns the datum of a slot, which must be one of the shape.
    #[inline]
    pub(crate) fn datum(&self, slot: usize) -> Result<DatumRef<'a>, RowDecodeError> {
        let Slot { ty, place, .. } = &self.shape.slots[slot];
        if self.bytes[HEADER_LEN + slot / 8] & (1 << (slot % 8)) != 0 {
            return Ok(DatumRef::Null);
        }
        match place {
            Place::Fixed { offset } => {
                read_fixed(ty, &self.bytes[*offset..]).ok_or(RowDecodeError::InvalidValue { slot, ty: *ty })
            }
            Place::Variable { ordinal } => {
                let bytes = self
                    .variable(*ordinal)
                    .ok_or(RowDecodeError::InvalidOffset { slot })?;
                read_variable(ty, slot, bytes)
            }
        }
    }

    fn variable(&self, ordinal: usize) -> Option<&'a [u8]> {
        let start = if ordinal == 0 { 0 } else { self.end(ordinal - 1) };
        self.bytes[self.shape.variable_start..].get(start..self.end(ordinal))
    }

    fn end(&self, ordinal: usize) -> usize {
        let at = self.shape.ends_start + 4 * ordinal;
        u32::from_le_bytes(take(&self.bytes[at..])) as usize
    }
}

/// Returns the bytes a type takes in the fixed part, or `None` if it goes to the variable part.
fn fixed_width(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::Char(_) => None,
        DataType::Interval => Some(16),
        DataType::Binary(length) if *length > BINARY_FIXED_MAX => None,
        ty => ty.key_width(),
    }
}

fn mismatch(ty: &DataType, datum: &Datum) -> ValueError {
    ValueError::TypeMismatch {
        ty: *ty,
        found: datum.kind_name(),
    }
}

fn variable_bytes<'d>(ty: &DataType, datum: &'d Datum) -> Result<&'d [u8], ValueError> {
    match datum {
        Datum::Null => Ok(&[]),
        Datum::Text(text) if ty.is_text() || *ty == DataType::Json => Ok(text.as_bytes()),
        Datum::Jsonb(form) if *ty == DataType::Jsonb => Ok(form),
        Datum::Array(form) if ty.is_composed() => Ok(form),
        Datum::Bytes(bytes) if ty.is_bytes() => Ok(bytes),
        Datum::Inet(form) if ty.is_inet() => match Inet::of_form(form) {
            Some(_) => Ok(form),
            None => Err(mismatch(ty, datum)),
        },
        Datum::Numeric(form) if matches!(ty, DataType::Numeric { .. }) => match NumericParts::is_form(form) {
            true => Ok(form),
            false => Err(mismatch(ty, datum)),
        },
        other => Err(mismatch(ty, other)),
    }
}

/// Writes a datum at the start of `out`, which holds zero bytes; NULL leaves them.
fn write_fixed(ty: &DataType, datum: &Datum, out: &mut [u8]) -> Result<(), ValueError> {
    match (ty, datum) {
        (_, Datum::Null) => {}
        (DataType::Boolean, Datum::Boolean(v)) => out[0] = u8::from(*v),
        (DataType::TinyInt, Datum::Int(v)) => put(out, narrow::<i8>(ty, *v)?.to_le_bytes()),
        (DataType::SmallInt, Datum::Int(v)) => put(out, narrow::<i16>(ty, *v)?.to_le_bytes()),
        (DataType::Integer | DataType::Enum(_), Datum::Int(v)) => {
            put(out, narrow::<i32>(ty, *v)?.to_le_bytes())
        }
        (DataType::BigInt, Datum::Int(v)) => put(out, v.to_le_bytes()),
        (DataType::Real, Datum::Float(v)) => put(out, single(*v)?.to_le_bytes()),
        (DataType::Double, Datum::Float(v)) => put(out, canonical(*v).to_le_bytes()),
        (DataType::Decimal { .. }, Datum::Decimal(v)) if ty.key_width() == Some(16) => {
            put(out, v.to_le_bytes());
        }
        (DataType::Decimal { .. }, Datum::Decimal(v)) => {
            let short = i64::try_from(*v).map_err(|_| out_of_range(ty, v.to_string()))?;
            put(out, short.to_le_bytes());
        }
        (DataType::Date, Datum::Date(v)) => put(out, v.to_le_bytes()),
        (DataType::Time { precision: 0..=3 }, Datum::Time(v)) if v % 1000 == 0 => {
            put(out, narrow::<i32>(ty, *v / 1000)?.to_le_bytes());
        }
        (DataType::Time { precision: 0..=3 }, Datum::Time(v)) => return Err(out_of_range(ty, v.to_string())),
        (DataType::Time { .. }, Datum::Time(v)) => put(out, v.to_le_bytes()),
        (DataType::Timestamp { .. } | DataType::TimestampTz { .. }, Datum::Timestamp(v)) => {
            put(out, v.to_le_bytes());
        }
        (DataType::Uuid, Datum::Uuid(v)) => put(out, *v),
        (DataType::Interval, Datum::Interval(v)) => put(out, v.to_bits().to_le_bytes()),
        (DataType::Binary(length), Datum::Bytes(v)) if v.len() == *length as usize => {
            out[..v.len()].copy_from_slice(v);
        }
        (DataType::Binary(_), Datum::Bytes(_)) => return Err(ValueError::TooLong { ty: *ty }),
        (ty, other) => return Err(mismatch(ty, other)),
    }
    match datum.is_null() || read_fixed(ty, out).is_some() {
        true => Ok(()),
        false => Err(out_of_range(ty, ty.display(datum).to_string())),
    }
}

/// Reads a datum of the variable part.
#[inline]
fn read_variable<'a>(ty: &DataType, slot: usize, bytes: &'a [u8]) -> Result<DatumRef<'a>, RowDecodeError> {
    if let DataType::Numeric { .. } = ty {
        let form = NumericParts::is_form(bytes).then_some(DatumRef::Numeric(Cow::Borrowed(bytes)));
        return form.ok_or(RowDecodeError::InvalidValue { slot, ty: *ty });
    }
    match ty {
        DataType::Inet | DataType::Cidr => {
            let form = Inet::of_form(bytes).map(|_| DatumRef::Inet(Cow::Borrowed(bytes)));
            return form.ok_or(RowDecodeError::InvalidValue { slot, ty: *ty });
        }
        DataType::Jsonb => return Ok(DatumRef::Jsonb(Cow::Borrowed(bytes))),
        ty if ty.is_composed() => return Ok(DatumRef::Array(Cow::Borrowed(bytes))),
        _ => {}
    }
    if !ty.is_text() && *ty != DataType::Json {
        return Ok(DatumRef::Bytes(Cow::Borrowed(bytes)));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| RowDecodeError::InvalidUtf8 { slot })?;
    Ok(DatumRef::Text(Cow::Borrowed(text)))
}

/// Reads a fixed-width datum; `None` if the bytes are outside of the type's domain.
#[inline]
fn read_fixed<'a>(ty: &DataType, bytes: &'a [u8]) -> Option<DatumRef<'a>> {
    Some(match ty {
        DataType::Boolean => match bytes[0] {
            0 => DatumRef::Boolean(false),
            1 => DatumRef::Boolean(true),
            _ => return None,
        },
        DataType::TinyInt => DatumRef::Int(i64::from(i8::from_le_bytes(take(bytes)))),
        DataType::SmallInt => DatumRef::Int(i64::from(i16::from_le_bytes(take(bytes)))),
        DataType::Integer => DatumRef::Int(i64::from(i32::from_le_bytes(take(bytes)))),
        DataType::BigInt => DatumRef::Int(i64::from_le_bytes(take(bytes))),
        DataType::Real => DatumRef::Float(f64::from(f32::from_le_bytes(take(bytes)))),
        DataType::Double => DatumRef::Float(f64::from_le_bytes(take(bytes))),
        DataType::Uuid => DatumRef::Uuid(take(bytes)),
        DataType::Interval => DatumRef::Interval(Interval::of_bits(i128::from_le_bytes(take(bytes)))),
        DataType::Binary(length) => DatumRef::Bytes(Cow::Borrowed(&bytes[..*length as usize])),
        _ => return read_bounded(ty, bytes),
    })
}

/// Reads a datum of a type whose domain is smaller than what its bytes could say.
#[inline]
fn read_bounded(ty: &DataType, bytes: &[u8]) -> Option<DatumRef<'static>> {
    match ty {
        DataType::Decimal { precision, .. } => {
            let value = match ty.key_width() {
                Some(16) => i128::from_le_bytes(take(bytes)),
                _ => i128::from(i64::from_le_bytes(take(bytes))),
            };
            let limit = TENS.get(usize::from(*precision))?;
            (-limit < value && value < *limit).then_some(DatumRef::Decimal(value))
        }
        DataType::Enum(of) => {
            let code = i64::from(i32::from_le_bytes(take(bytes)));
            of.definition().label(code).map(|_| DatumRef::Int(code))
        }
        DataType::Date => Some(DatumRef::Date(i32::from_le_bytes(take(bytes)))),
        DataType::Time { precision } => {
            let micros = match precision {
                0..=3 => i64::from(i32::from_le_bytes(take(bytes))) * 1000,
                _ => i64::from_le_bytes(take(bytes)),
            };
            (0..=DAY_MICROS)
                .contains(&micros)
                .then_some(DatumRef::Time(micros))
        }
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            Some(DatumRef::Timestamp(i64::from_le_bytes(take(bytes))))
        }
        _ => None,
    }
}

/// The powers of ten that bound decimals, by precision.
const TENS: [i128; 39] = {
    let mut tens = [1; 39];
    let mut i = 1;
    while i < 39 {
        tens[i] = tens[i - 1] * 10;
        i += 1;
    }
    tens
};

/// Maps `-0` to `0` and every NaN to one, so that a value reads the same from a row and a key.
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

/// Takes a float that a REAL holds exactly.
fn single(value: f64) -> Result<f32, ValueError> {
    let single = canonical(value) as f32;
    match f64::from(single) == value || value.is_nan() {
        true => Ok(single),
        false => Err(out_of_range(&DataType::Real, value.to_string())),
    }
}

fn narrow<T: TryFrom<i64>>(ty: &DataType, value: i64) -> Result<T, ValueError> {
    T::try_from(value).map_err(|_| ValueError::IntegerOutOfRange { ty: *ty })
}

fn out_of_range(ty: &DataType, value: String) -> ValueError {
    ValueError::OutOfRange { value, ty: *ty }
}

#[inline]
fn put<const N: usize>(out: &mut [u8], bytes: [u8; N]) {
    out[..N].copy_from_slice(&bytes);
}

/// Copies the first `N` bytes, which the caller knows to be there.
#[inline]
fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPES: &[DataType] = &[
        DataType::Boolean,
        DataType::TinyInt,
        DataType::SmallInt,
        DataType::Integer,
        DataType::BigInt,
        DataType::Real,
        DataType::Double,
        DataType::Decimal {
            precision: 18,
            scale: 2,
        },
        DataType::Decimal {
            precision: 38,
            scale: 0,
        },
        DataType::NUMERIC,
        DataType::Numeric {
            precision: 40,
            scale: 2,
        },
        DataType::Date,
        DataType::Time { precision: 3 },
        DataType::Time { precision: 6 },
        DataType::TIMESTAMP,
        DataType::TIMESTAMP_TZ,
        DataType::Uuid,
        DataType::Inet,
        DataType::Cidr,
        DataType::Interval,
        DataType::Json,
        DataType::Jsonb,
        DataType::Char(5),
        DataType::Varchar(Some(9)),
        DataType::Binary(3),
        DataType::Binary(40),
        DataType::Varbinary(None),
    ];

    fn any_datum() -> impl Strategy<Value = Datum> {
        prop_oneof![
            Just(Datum::Null),
            any::<bool>().prop_map(Datum::Boolean),
            prop_oneof![any::<i64>(), -200_i64..200].prop_map(Datum::Int),
            prop_oneof![any::<f64>(), any::<f32>().prop_map(f64::from), Just(-0.0)].prop_map(Datum::Float),
            prop_oneof![any::<i128>(), -200_i128..200].prop_map(Datum::Decimal),
            prop_oneof![any::<i32>(), -200_i32..200].prop_map(Datum::Date),
            prop_oneof![any::<i64>(), -2000_i64..2000].prop_map(Datum::Time),
            prop_oneof![any::<i64>(), -200_i64..200].prop_map(Datum::Timestamp),
            (any::<bool>(), 0..200_u128, any::<u64>()).prop_map(|(negative, whole, fraction)| {
                let parts = NumericParts::new(negative, whole, u128::from(fraction));
                Datum::Numeric(parts.unwrap().to_form())
            }),
            prop::collection::vec(any::<u8>(), 0..4).prop_map(Datum::Numeric),
            any::<[u8; 16]>().prop_map(Datum::Uuid),
            "1?0\\.[01]\\.0\\.0/[12]?[0-9]|[0-3]::/[3-6][0-9]"
                .prop_map(|text| DataType::Inet.parse_text(&text).unwrap()),
            prop::collection::vec(0..4_u8, 0..8).prop_map(Datum::Inet),
            any::<(i32, i32, i32)>().prop_map(|(months, days, micros)| {
                let micros = micros.into();
                Datum::Interval(Interval { months, days, micros })
            }),
            "[1-9]{1,3}|\"[a-c]{0,3}\"|\\[null\\]"
                .prop_map(|text| DataType::Jsonb.parse_text(&text).unwrap()),
            "[1-9]{1,3}|\"[a-c]{0,3}\"".prop_map(Datum::Text),
            "[a-z \0é]{0,6}".prop_map(Datum::Text),
            prop::collection::vec(any::<u8>(), 0..5).prop_map(Datum::Bytes),
        ]
    }

    fn shape(types: &[DataType]) -> RowShape {
        let columns: Vec<_> = types
            .iter()
            .enumerate()
            .map(|(at, ty)| (ColumnId(at as u32), *ty))
            .collect();
        RowShape::new(3, &columns)
    }

    proptest! {
        /// What is canonical is read back as it was; whatever else encodes decodes, too.
        #[test]
        fn rows_round_trip(
            columns in prop::collection::vec((prop::sample::select(TYPES), any_datum()), 0..12),
            given_times in prop::option::of((any::<i64>(), prop::option::of(any::<i64>()))),
        ) {
            let given_times = given_times.map(|(written, counted)| Times { written, counted });
            let (types, given): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
            let shape = shape(&types);
            let canonical: Vec<Datum> = types
                .iter()
                .zip(&given)
                .map(|(ty, datum)| ty.check(datum.clone()).unwrap_or(Datum::Null))
                .collect();
            let mut bytes = b"before".to_vec();
            shape.encode(given_times, |slot| &canonical[slot], &mut bytes).unwrap();
            let bytes = bytes.split_off(6);
            prop_assert_eq!(times(&bytes), given_times);
            let (version, body) = open(&bytes).unwrap();
            prop_assert_eq!(version, 3);
            let row = RowSlice::new(&shape, body).unwrap();
            for (slot, datum) in canonical.iter().enumerate() {
                prop_assert_eq!(&row.datum(slot).unwrap().into_owned(), datum);
            }
            let mut bytes = Vec::new();
            if shape.encode(None, |slot| &given[slot], &mut bytes).is_ok() {
                let row = RowSlice::new(&shape, &bytes).unwrap();
                for slot in 0..given.len() {
                    prop_assert!(row.datum(slot).is_ok());
                }
            }
        }

        /// Any bytes are a row or an error.
        #[test]
        fn any_bytes_decode_or_fail(
            types in prop::collection::vec(prop::sample::select(TYPES), 0..6),
            mut bytes in prop::collection::vec(prop_oneof![0_u8..4, any::<u8>()], 0..60),
            exact in any::<bool>(),
        ) {
            let shape = shape(&types);
            if exact {
                bytes.resize(shape.variable_start, 0);
            }
            let body = open(&bytes).map_or(bytes.as_slice(), |(_, body)| body);
            if let Ok(row) = RowSlice::new(&shape, body) {
                (0..types.len()).for_each(|slot| drop(row.datum(slot)));
            }
        }
    }
}
