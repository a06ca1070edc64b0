//! Values of one column in memory: what blocks are made of, and what a scan gives out.
//!
//! Types fall into three classes. Integers, booleans, dates, times and short decimals are integers of
//! 64 bits, and so are floats, by [`float_rank`]: their order is that of the values. Decimals of more
//! than 18 digits have 128 bits. All else is bytes, whose order is that of the values, too.

use crate::columnar::BlockError;
use rukh_keys::{DataType, DatumRef, Inet, Interval, NumericParts, ValueError};
use std::borrow::Cow;
use std::ops::Range;

/// Values of one column, in row order.
#[derive(Clone, Debug)]
pub struct ColumnVector {
    ty: DataType,
    values: Values,
    /// Which rows are NULL; empty as long as none is.
    nulls: Vec<bool>,
    null_count: usize,
}

/// The values themselves; where a row is NULL, any of its class.
#[derive(Clone, Debug)]
pub enum Values {
    /// Integers; floats by their rank.
    Int(Vec<i64>),
    /// Decimals of more than 18 digits.
    Wide(Vec<i128>),
    /// Texts and byte strings.
    Bytes(Strings),
    /// The same, each by its number among some.
    Coded(Coded),
}

/// Byte strings of which many are the same.
///
/// Invariant: every code is below the number of values.
#[derive(Clone, Debug, Default)]
pub struct Coded {
    /// By row, which of the values it has.
    pub codes: Vec<u32>,
    /// The values: one may be there several times, and one that no row has.
    pub values: Strings,
    /// Bytes of the longest value.
    longest: usize,
}

impl Coded {
    /// Returns the string of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        self.values.get(self.codes[row] as usize)
    }

    /// Returns how many values there are.
    pub fn values_len(&self) -> usize {
        self.values.offsets.len() - 1
    }

    /// Returns the strings of all rows; `None` if these are more text than a vector can have.
    pub fn strings(&self) -> Option<Strings> {
        let mut strings = Strings::default();
        strings.offsets.reserve(self.codes.len());
        let mut codes = self.codes.iter().map(|code| *code as usize);
        codes
            .try_for_each(|code| strings.push(self.values.get(code)))
            .ok()?;
        Some(strings)
    }

    /// Appends values that no row has yet; returns the number of the first.
    pub(crate) fn extend_values<'v>(
        &mut self,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<u32, BlockError> {
        let before = self.values_len() as u32;
        for value in values {
            self.longest = self.longest.max(value.len());
            self.values.push(value)?;
        }
        Ok(before)
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), BlockError> {
        let last = self.codes.last().copied();
        let code = match last.filter(|code| self.values.get(*code as usize) == bytes) {
            Some(code) => code,
            None => self.extend_values(std::iter::once(bytes))?,
        };
        self.codes.push(code);
        Ok(())
    }
}

/// Byte strings, one behind the other.
#[derive(Clone, Debug)]
pub struct Strings {
    /// Where each string begins, and where the last one ends.
    pub offsets: Vec<u32>,
    /// The bytes of all.
    pub data: Vec<u8>,
}

/// Bytes of a string that is copied as such.
pub(crate) const SHORT: usize = 16;

impl Default for Strings {
    fn default() -> Self {
        Strings {
            offsets: vec![0],
            data: Vec::new(),
        }
    }
}

impl Strings {
    /// Returns the string of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    fn bytes(&self) -> usize {
        self.offsets.len() * 4 + self.data.len()
    }

    /// Appends strings by their number among some of at most [`SHORT`] bytes each, given with their lengths.
    pub(crate) fn extend_short(
        &mut self,
        values: &[([u8; SHORT], u8)],
        numbers: impl ExactSizeIterator<Item = usize>,
    ) -> Result<(), BlockError> {
        let count = numbers.len();
        let mut end = self.data.len();
        let room = end.saturating_add(count.saturating_mul(SHORT));
        if u32::try_from(room).is_err() {
            return Err(BlockError::TooLarge);
        }
        self.data.resize(room, 0);
        self.offsets.reserve(count);
        for number in numbers {
            // The bytes behind a value are those of the next, or go.
            let (bytes, length) = values[number];
            self.data[end..end + SHORT].copy_from_slice(&bytes);
            end += usize::from(length);
            self.offsets.push(end as u32);
        }
        self.data.truncate(end);
        Ok(())
    }

    /// Appends strings that lie one behind the other, of which the ends are given.
    pub(crate) fn extend_all(&mut self, ends: &[[u8; 4]], data: &[u8]) -> Result<(), BlockError> {
        let start = self.data.len();
        let start = u32::try_from(start).map_err(|_| BlockError::TooLarge)?;
        if u32::try_from(data.len()).is_ok_and(|length| start.checked_add(length).is_some()) {
            self.data.extend_from_slice(data);
            let ends = ends.iter().map(|end| start + u32::from_le_bytes(*end));
            self.offsets.extend(ends);
            return Ok(());
        }
        Err(BlockError::TooLarge)
    }

    /// Appends a string.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), BlockError> {
        self.data.extend_from_slice(bytes);
        let end = u32::try_from(self.data.len()).map_err(|_| BlockError::TooLarge)?;
        self.offsets.push(end);
        Ok(())
    }
}

/// What values of a type are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Int,
    Wide,
    Bytes,
}

/// Returns the class of a type.
pub(crate) fn class_of(ty: &DataType) -> Class {
    match ty {
        DataType::Decimal { .. } if ty.key_width() == Some(16) => Class::Wide,
        DataType::Interval => Class::Wide,
        DataType::Json | DataType::Jsonb | DataType::Array(_) | DataType::Record(_) => Class::Bytes,
        DataType::Uuid | DataType::Char(_) | DataType::Varchar(_) => Class::Bytes,
        DataType::Binary(_) | DataType::Varbinary(_) | DataType::Numeric { .. } => Class::Bytes,
        DataType::Inet | DataType::Cidr => Class::Bytes,
        _ => Class::Int,
    }
}

/// Returns the place of a canonical float among all floats, NaN last.
pub fn float_rank(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// Returns the float of a rank.
#[inline]
pub fn ranked_float(rank: i64) -> f64 {
    f64::from_bits((rank ^ ((rank >> 63) as u64 >> 1) as i64) as u64)
}

/// As [`float_rank`], of a float that is a REAL: ranks of 32 bits pack better.
pub(crate) fn real_rank(value: f32) -> i64 {
    let bits = value.to_bits() as i32;
    i64::from(bits ^ ((bits >> 31) as u32 >> 1) as i32)
}

/// Returns the REAL of a rank.
#[inline]
pub fn ranked_real(rank: i64) -> f32 {
    let rank = rank as i32;
    f32::from_bits((rank ^ ((rank >> 31) as u32 >> 1) as i32) as u32)
}

/// Returns a datum of the class of integers as one, `None` if it is of another type.
pub(crate) fn int_of(ty: &DataType, datum: &DatumRef<'_>) -> Option<i64> {
    Some(match (ty, datum) {
        (DataType::Boolean, DatumRef::Boolean(v)) => i64::from(*v),
        (ty, DatumRef::Int(v)) if ty.is_integer() || matches!(ty, DataType::Enum(_)) => *v,
        (DataType::Real, DatumRef::Float(v)) => real_rank(*v as f32),
        (DataType::Double, DatumRef::Float(v)) => float_rank(*v),
        (DataType::Decimal { .. }, DatumRef::Decimal(v)) => i64::try_from(*v).ok()?,
        (DataType::Date, DatumRef::Date(v)) => i64::from(*v),
        (DataType::Time { .. }, DatumRef::Time(v)) => *v,
        (DataType::Timestamp { .. } | DataType::TimestampTz { .. }, DatumRef::Timestamp(v)) => *v,
        _ => return None,
    })
}

/// Returns a datum that an integer of 128 bits holds, `None` if it is of another type.
pub(crate) fn wide_of(ty: &DataType, datum: &DatumRef<'_>) -> Option<i128> {
    match (ty, datum) {
        (DataType::Decimal { .. }, DatumRef::Decimal(value)) => Some(*value),
        (DataType::Interval, DatumRef::Interval(interval)) => Some(interval.to_bits()),
        (ty, datum) => int_of(ty, datum).map(i128::from),
    }
}

/// Returns a datum of the class of wide integers.
#[inline]
pub(crate) fn wide_datum(ty: &DataType, value: i128) -> DatumRef<'static> {
    match ty {
        DataType::Interval => DatumRef::Interval(Interval::of_bits(value)),
        _ => DatumRef::Decimal(value),
    }
}

/// Returns the bytes of a text, byte string, document, NUMERIC or UUID.
pub(crate) fn bytes_of<'d>(ty: &DataType, datum: &'d DatumRef<'_>) -> Option<&'d [u8]> {
    match datum {
        DatumRef::Text(text) if ty.is_text() || *ty == DataType::Json => Some(text.as_bytes()),
        DatumRef::Jsonb(form) if *ty == DataType::Jsonb => Some(form),
        DatumRef::Array(form) if ty.is_composed() => Some(form),
        DatumRef::Bytes(bytes) if ty.is_bytes() => Some(bytes),
        DatumRef::Numeric(form) if matches!(ty, DataType::Numeric { .. }) => Some(form),
        DatumRef::Inet(form) if ty.is_inet() => Some(form),
        DatumRef::Uuid(uuid) if *ty == DataType::Uuid => Some(uuid),
        _ => None,
    }
}

/// Returns a datum of the class of integers.
#[inline]
pub(crate) fn int_datum(ty: &DataType, value: i64) -> Result<DatumRef<'static>, BlockError> {
    Ok(match ty {
        DataType::Boolean => DatumRef::Boolean(value != 0),
        DataType::Real => DatumRef::Float(f64::from(ranked_real(value))),
        DataType::Double => DatumRef::Float(ranked_float(value)),
        DataType::Decimal { .. } => DatumRef::Decimal(i128::from(value)),
        DataType::Date => {
            DatumRef::Date(i32::try_from(value).map_err(|_| BlockError::Invalid("a date out of range"))?)
        }
        DataType::Time { .. } => DatumRef::Time(value),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => DatumRef::Timestamp(value),
        _ => DatumRef::Int(value),
    })
}

/// Returns a text, byte string, NUMERIC or UUID.
#[inline]
pub(crate) fn bytes_datum<'a>(ty: &DataType, bytes: &'a [u8]) -> Result<DatumRef<'a>, BlockError> {
    Ok(match ty {
        DataType::Uuid => {
            let uuid = bytes.try_into();
            DatumRef::Uuid(uuid.map_err(|_| BlockError::Invalid("a UUID of another length"))?)
        }
        DataType::Inet | DataType::Cidr => match Inet::of_form(bytes) {
            Some(_) => DatumRef::Inet(Cow::Borrowed(bytes)),
            None => return Err(BlockError::Invalid("an address in no form")),
        },
        DataType::Numeric { .. } => match NumericParts::is_form(bytes) {
            true => DatumRef::Numeric(Cow::Borrowed(bytes)),
            false => return Err(BlockError::Invalid("a NUMERIC of another form")),
        },
        DataType::Jsonb => DatumRef::Jsonb(Cow::Borrowed(bytes)),
        ty if ty.is_composed() => DatumRef::Array(Cow::Borrowed(bytes)),
        ty if ty.is_text() || *ty == DataType::Json => {
            let text =
                std::str::from_utf8(bytes).map_err(|_| BlockError::Invalid("text that is not UTF-8"))?;
            DatumRef::Text(Cow::Borrowed(text))
        }
        _ => DatumRef::Bytes(Cow::Borrowed(bytes)),
    })
}

impl ColumnVector {
    /// Makes a vector of no values.
    pub(crate) fn new(ty: DataType) -> Self {
        ColumnVector {
            values: match class_of(&ty) {
                Class::Int => Values::Int(Vec::new()),
                Class::Wide => Values::Wide(Vec::new()),
                Class::Bytes => Values::Bytes(Strings::default()),
            },
            ty,
            nulls: Vec::new(),
            null_count: 0,
        }
    }

    /// Makes a vector of no values, byte strings of which are to have numbers.
    pub(crate) fn coded(ty: DataType) -> Self {
        let mut vector = ColumnVector::new(ty);
        if let Values::Bytes(_) = vector.values {
            vector.values = Values::Coded(Coded::default());
        }
        vector
    }

    /// Makes a vector of no values which holds them in the same way.
    pub(crate) fn empty(&self) -> Self {
        match self.values {
            Values::Coded(_) => ColumnVector::coded(self.ty),
            _ => ColumnVector::new(self.ty),
        }
    }

    /// Returns the type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.ty
    }

    /// Returns the values; those of rows that are NULL mean nothing.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the values alone.
    pub fn into_values(self) -> Values {
        self.values
    }

    /// Returns which rows are NULL, or `None` if none is.
    pub fn nulls(&self) -> Option<&[bool]> {
        (self.null_count > 0).then_some(self.nulls.as_slice())
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Int(values) => values.len(),
            Values::Wide(values) => values.len(),
            Values::Bytes(strings) => strings.offsets.len() - 1,
            Values::Coded(coded) => coded.codes.len(),
        }
    }

    /// Makes room for so many more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        match &mut self.values {
            Values::Int(values) => values.reserve(rows),
            Values::Wide(values) => values.reserve(rows),
            Values::Bytes(strings) => strings.offsets.reserve(rows),
            Values::Coded(coded) => coded.codes.reserve(rows),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns roughly the bytes that the values take.
    pub(crate) fn bytes(&self) -> usize {
        match &self.values {
            Values::Int(values) => values.len() * 8,
            Values::Wide(values) => values.len() * 16,
            Values::Bytes(strings) => strings.bytes(),
            // A request for the strings of all rows needs room for them.
            Values::Coded(coded) => coded.codes.len() * (4 + coded.longest) + coded.values.bytes(),
        }
    }

    /// Returns the datum of a row.
    #[inline]
    pub(crate) fn datum(&self, row: usize) -> Result<DatumRef<'_>, BlockError> {
        if self.nulls.get(row).copied().unwrap_or_default() {
            return Ok(DatumRef::Null);
        }
        match &self.values {
            Values::Int(values) => int_datum(&self.ty, values[row]),
            Values::Wide(values) => Ok(wide_datum(&self.ty, values[row])),
            Values::Bytes(strings) => bytes_datum(&self.ty, strings.get(row)),
            Values::Coded(coded) => bytes_datum(&self.ty, coded.get(row)),
        }
    }

    /// Appends a datum; fails on one of another type.
    pub(crate) fn push(&mut self, datum: &DatumRef<'_>) -> Result<(), ValueError> {
        if datum.is_null() {
            self.push_null();
            return Ok(());
        }
        let ty = self.ty;
        let mismatch = || ValueError::TypeMismatch {
            ty,
            found: datum.kind_name(),
        };
        match (&mut self.values, datum) {
            (Values::Int(values), datum) => values.push(int_of(&ty, datum).ok_or_else(mismatch)?),
            (Values::Wide(values), datum) => values.push(wide_of(&ty, datum).ok_or_else(mismatch)?),
            (Values::Bytes(strings), datum) => {
                let bytes = bytes_of(&ty, datum).ok_or_else(mismatch)?;
                strings.push(bytes).map_err(|_| ValueError::TooLong { ty })?;
            }
            (Values::Coded(coded), datum) => {
                let bytes = bytes_of(&ty, datum).ok_or_else(mismatch)?;
                coded.push(bytes).map_err(|_| ValueError::TooLong { ty })?;
            }
        }
        if !self.nulls.is_empty() {
            self.nulls.push(false);
        }
        Ok(())
    }

    fn push_null(&mut self) {
        let len = self.len();
        self.nulls.resize(len, false);
        self.nulls.push(true);
        self.null_count += 1;
        self.push_nothing();
    }

    /// Appends a row whose value is not read.
    pub(crate) fn push_any(&mut self) {
        if !self.nulls.is_empty() {
            self.nulls.push(false);
        }
        self.push_nothing();
    }

    fn push_nothing(&mut self) {
        match &mut self.values {
            Values::Int(values) => values.push(0),
            Values::Wide(values) => values.push(0),
            Values::Bytes(strings) => strings.offsets.push(strings.data.len() as u32),
            Values::Coded(coded) => match coded.codes.last() {
                Some(code) => coded.codes.push(*code),
                None => {
                    coded.values.offsets.push(coded.values.data.len() as u32);
                    coded.codes.push(coded.values_len() as u32 - 1);
                }
            },
        }
    }

    /// Gives the values to `add` to be appended to, then notes which of the new rows are NULL.
    pub(crate) fn extend(
        &mut self,
        nulls: Option<&mut dyn Iterator<Item = bool>>,
        add: impl FnOnce(&mut Values) -> Result<(), BlockError>,
    ) -> Result<(), BlockError> {
        let before = self.len();
        add(&mut self.values)?;
        match nulls {
            None if self.nulls.is_empty() => {}
            None => self.nulls.resize(self.len(), false),
            Some(nulls) => {
                self.nulls.resize(before, false);
                self.nulls.extend(nulls);
                debug_assert_eq!(self.nulls.len(), self.len());
                self.null_count += self.nulls[before..].iter().filter(|null| **null).count();
            }
        }
        Ok(())
    }

    /// Appends some rows of a vector of the same type.
    pub(crate) fn append(&mut self, from: &ColumnVector, rows: Range<usize>) -> Result<(), BlockError> {
        let mut nulls = rows.clone().map(|row| from.is_null(row));
        let nulls: Option<&mut dyn Iterator<Item = bool>> = match from.null_count {
            0 => None,
            _ => Some(&mut nulls),
        };
        self.extend(nulls, |out| {
            match (out, &from.values) {
                (Values::Int(out), Values::Int(values)) => out.extend_from_slice(&values[rows]),
                (Values::Wide(out), Values::Wide(values)) => out.extend_from_slice(&values[rows]),
                (Values::Bytes(out), Values::Bytes(strings)) => {
                    for row in rows {
                        out.push(strings.get(row))?;
                    }
                }
                (Values::Coded(out), Values::Coded(coded)) => {
                    for row in rows {
                        out.push(coded.get(row))?;
                    }
                }
                _ => return Err(BlockError::Invalid("values of another type")),
            }
            Ok(())
        })
    }

    /// Whether all values take the same room, so that one can be put in the place of another.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.values, Values::Int(_) | Values::Wide(_))
    }

    /// Puts a value of a vector of the same type, in which all take the same room, in the place of another.
    pub(crate) fn put(&mut self, row: usize, from: &ColumnVector, at: usize) -> Result<(), BlockError> {
        let is_null = from.is_null(at);
        if is_null && self.nulls.is_empty() {
            self.nulls.resize(self.len(), false);
        }
        if let Some(null) = self.nulls.get_mut(row) {
            let was_null = std::mem::replace(null, is_null);
            self.null_count = self.null_count + usize::from(is_null) - usize::from(was_null);
        }
        match (&mut self.values, &from.values) {
            (Values::Int(values), Values::Int(from)) => values[row] = from[at],
            (Values::Wide(values), Values::Wide(from)) => values[row] = from[at],
            _ => return Err(BlockError::Invalid("values of another type")),
        }
        Ok(())
    }

    /// Returns a vector of some of the rows; `None` if that is more text than a vector can have.
    pub fn rows(&self, rows: &[u32]) -> Option<ColumnVector> {
        let mut some = ColumnVector::new(self.ty);
        let mut each = rows.iter().map(|row| *row as usize);
        match (&mut some.values, &self.values) {
            (Values::Int(out), Values::Int(values)) => out.extend(each.map(|row| values[row])),
            (Values::Wide(out), Values::Wide(values)) => out.extend(each.map(|row| values[row])),
            (Values::Bytes(out), Values::Bytes(strings)) => {
                each.try_for_each(|row| out.push(strings.get(row))).ok()?;
            }
            (Values::Bytes(out), Values::Coded(coded)) => {
                each.try_for_each(|row| out.push(coded.get(row))).ok()?;
            }
            _ => return None,
        }
        if self.null_count > 0 {
            some.nulls = rows.iter().map(|row| self.nulls[*row as usize]).collect();
            some.null_count = some.nulls.iter().filter(|null| **null).count();
        }
        Some(some)
    }

    /// Whether a row is NULL.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.null_count > 0 && self.nulls[row]
    }

    /// Removes all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        match &mut self.values {
            Values::Int(values) => values.clear(),
            Values::Wide(values) => values.clear(),
            Values::Bytes(strings) => {
                strings.offsets.truncate(1);
                strings.data.clear();
            }
            Values::Coded(coded) => {
                coded.codes.clear();
                coded.values.offsets.truncate(1);
                coded.values.data.clear();
                coded.longest = 0;
            }
        }
        self.nulls.clear();
        self.null_count = 0;
    }
}
