//! Key layouts: the ordered columns of a key, and where each lies in the bytes.

use crate::datum::Datum;
use crate::types::DataType;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The direction of a key column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SortOrder {
    /// Small values first, NULLs last.
    Asc,
    /// Great values first, NULLs first.
    Desc,
}

/// A column of a key layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyColumn {
    /// The type of the values.
    pub ty: DataType,
    /// The direction.
    pub order: SortOrder,
    /// Whether the column takes NULL; then each value is preceded by a tag byte.
    pub nullable: bool,
}

/// Displays as `INTEGER`, `VARCHAR DESC`, `DATE NULL`.
impl fmt::Display for KeyColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ty)?;
        if self.order == SortOrder::Desc {
            f.write_str(" DESC")?;
        }
        if self.nullable {
            f.write_str(" NULL")?;
        }
        Ok(())
    }
}

/// A leading byte that spreads keys over buckets.
///
/// Invariant: `buckets` is 2 to 256 and `columns` are positions in the layout (the catalog checks
/// it; [`KeyLayout::new`] brings other values into these bounds).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Salt {
    /// The number of buckets.
    pub buckets: u16,
    /// The columns the bucket is computed from, as positions in the layout, in this order.
    pub columns: Vec<usize>,
}

/// The place of a column in the keys of a layout.
///
/// It is counted from the start of the key, the salt byte included, or, of a column behind one of variable width,
/// from the end of the last of these. Displays as `bytes 8..12`, `bytes 12..` or `byte 3 bit 0` (bit 0 is the highest).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    /// The position in the layout of the last column of variable width before this one, if there is one.
    pub behind: Option<usize>,
    /// The first byte.
    pub offset: usize,
    /// The bytes, the tag counted; `None` for NUMERIC, VARCHAR, VARBINARY and arrays, which end at a terminator or
    /// with the key.
    pub width: Option<usize>,
    /// For a BOOLEAN that shares its byte: the bit, 0 being the highest.
    pub bit: Option<u8>,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bit, self.width) {
            (Some(bit), _) => write!(f, "byte {} bit {bit}", self.offset),
            (None, Some(width)) => write!(f, "bytes {}..{}", self.offset, self.offset + width),
            (None, None) => write!(f, "bytes {}..", self.offset),
        }
    }
}

/// How the bytes of a column are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// One bit of a byte; bit 0 is the highest and opens the byte.
    Bit(u8),
    /// A fixed number of bytes.
    Fixed,
    /// Escaped and terminated.
    Terminated,
    /// The rest of the key as it is.
    Raw,
}

/// What a column needs to be encoded, found and decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub ty: DataType,
    pub form: Form,
    pub nullable: bool,
    pub descending: bool,
    /// How many columns of variable width come before it: the section of the key that it lies in.
    pub section: usize,
    /// The byte at which the column begins, counted from the start of its section.
    pub offset: usize,
    /// The bytes, tag counted; for the variable forms the tag alone.
    pub width: usize,
    /// The bits of the column's last byte that no column uses; not 0 only at the end of a run of
    /// booleans.
    pub unused_bits: u8,
}

impl Slot {
    /// The byte that complements descending columns.
    #[inline]
    pub(crate) fn flip(&self) -> u8 {
        if self.descending { 0xff } else { 0 }
    }

    /// The byte at which the column begins if it is the same in every key.
    pub(crate) fn fixed_offset(&self) -> Option<usize> {
        (self.section == 0).then_some(self.offset)
    }

    /// Whether values are as long as their text or bytes.
    pub(crate) fn is_variable(&self) -> bool {
        matches!(self.form, Form::Terminated | Form::Raw)
    }
}

/// A part of a key in which every column begins at the same byte: up to the end of a column of variable width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// The columns of variable width that end before it, in key order.
    pub(crate) passed: Arc<[Slot]>,
    /// For each byte before its column of variable width, the bits that are not the same in all keys:
    /// not the unused bits of booleans, nor the upper ones of tags.
    pub(crate) live_bits: Arc<[u8]>,
}

/// The ordered columns of a key and the salt before them: everything needed to encode, decode and
/// search keys.
///
/// The bytes of two keys compare as their tuples do, column by column in the direction of each.
/// `docs/key-encoding.md` has the bytes.
///
/// Invariant: all places are computed once, in [`KeyLayout::new`].
#[derive(Clone, PartialEq, Eq)]
pub struct KeyLayout {
    columns: Vec<KeyColumn>,
    salt: Option<Salt>,
    slots: Vec<Slot>,
    /// The first column that follows a variable one, or the number of columns.
    first_loose: usize,
    /// One more than there are columns of variable width, the last of which may be empty.
    sections: Vec<Section>,
}

/// Shows what the layout was made of: `KeyLayout(INTEGER, VARCHAR DESC NULL; 16 buckets on [0])`.
impl fmt::Debug for KeyLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLayout(")?;
        for (position, column) in self.columns.iter().enumerate() {
            write!(f, "{}{column}", if position == 0 { "" } else { ", " })?;
        }
        if let Some(Salt { buckets, columns }) = &self.salt {
            write!(f, "; {buckets} buckets on {columns:?}")?;
        }
        f.write_str(")")
    }
}

impl KeyLayout {
    /// Makes the layout of keys with these columns, in this order.
    ///
    /// Salt columns that are no positions of the layout are dropped, and the number of buckets is
    /// brought into 2 to 256; the catalog refuses both before.
    pub fn new(columns: Vec<KeyColumn>, salt: Option<Salt>) -> Self {
        let salt = salt.map(|salt| Salt {
            buckets: salt.buckets.clamp(2, 256),
            columns: salt
                .columns
                .into_iter()
                .filter(|at| *at < columns.len())
                .collect(),
        });
        let slots = place_columns(&columns, usize::from(salt.is_some()));
        let loose = slots.iter().position(|slot| slot.section > 0);
        let first_loose = loose.unwrap_or(slots.len());
        let sections = sections(salt.as_ref(), &slots);
        KeyLayout {
            columns,
            salt,
            slots,
            first_loose,
            sections,
        }
    }

    /// The columns, in key order.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// The salt, if keys begin with a bucket byte.
    pub fn salt(&self) -> Option<&Salt> {
        self.salt.as_ref()
    }

    /// Returns the place of a column that begins at the same byte in every key: all columns up to
    /// and including the first column of variable width.
    pub fn field(&self, column: usize) -> Option<Field> {
        self.place(column).filter(|field| field.behind.is_none())
    }

    /// Returns the place of a column, wherever it begins; `None` if there is no such column.
    pub fn place(&self, column: usize) -> Option<Field> {
        let slot = self.slots.get(column)?;
        let bit = match slot.form {
            Form::Bit(bit) => Some(bit),
            _ => None,
        };
        let width = (!slot.is_variable()).then_some(slot.width);
        let behind = self.slots[..column].iter().rposition(Slot::is_variable);
        Some(Field {
            behind,
            offset: slot.offset,
            width,
            bit,
        })
    }

    /// Compares two tuples, or prefixes of tuples, in key order over the columns both have.
    ///
    /// ```text
    /// (a, b DESC):  /1/5 < /1/2 < /2,   /1 = /1/5
    /// ```
    pub fn compare(&self, left: &[Datum], right: &[Datum]) -> Ordering {
        for (column, (left, right)) in self.columns.iter().zip(left.iter().zip(right)) {
            let order = match column.order {
                SortOrder::Asc => left.cmp(right),
                SortOrder::Desc => right.cmp(left),
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Returns the buckets of a salted layout, from 0; nothing for a layout without salt.
    pub fn buckets(&self) -> impl Iterator<Item = u8> + use<> {
        let count = self.salt.as_ref().map_or(0, |salt| salt.buckets);
        (0..count).map(|bucket| bucket as u8)
    }

    /// The bytes before the first column: 1 with a salt, else 0.
    pub(crate) fn columns_start(&self) -> usize {
        usize::from(self.salt.is_some())
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The section of a column.
    pub(crate) fn section(&self, slot: &Slot) -> &Section {
        &self.sections[slot.section]
    }

    /// The columns from which a column without a fixed place is reached by walking: from the
    /// variable column that is the last with a fixed place.
    pub(crate) fn walk_to(&self, column: usize) -> Range<usize> {
        self.first_loose.saturating_sub(1)..column
    }
}

/// Computes form and place of each column.
fn place_columns(columns: &[KeyColumn], start: usize) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::with_capacity(columns.len());
    let (mut section, mut end) = (0, start);
    for (position, column) in columns.iter().enumerate() {
        let form = column_form(columns, position, slots.last());
        let width = usize::from(column.nullable) + column.ty.key_width().unwrap_or(0);
        let shares_byte = matches!(form, Form::Bit(1..));
        let offset = if shares_byte { end - 1 } else { end };
        let slot = Slot {
            ty: column.ty,
            form,
            nullable: column.nullable,
            descending: column.order == SortOrder::Desc,
            section,
            offset,
            width,
            unused_bits: 0,
        };
        if slot.is_variable() {
            (section, end) = (section + 1, 0);
        } else if !shares_byte {
            end += width;
        }
        slots.push(slot);
    }
    close_runs(&mut slots);
    slots
}

fn sections(salt: Option<&Salt>, slots: &[Slot]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut passed = Vec::new();
    let mut salt = salt;
    let mut rest = slots;
    loop {
        sections.push(Section {
            passed: passed.clone().into(),
            live_bits: live_bits(salt.take(), rest).into(),
        });
        let Some(at) = rest.iter().position(Slot::is_variable) else {
            return sections;
        };
        passed.push(rest[at]);
        rest = &rest[at + 1..];
    }
}

fn live_bits(salt: Option<&Salt>, slots: &[Slot]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(salt) = salt {
        bytes.push((salt.buckets.next_power_of_two() - 1) as u8);
    }
    for slot in slots.iter().take_while(|slot| !slot.is_variable()) {
        if let Form::Bit(bit) = slot.form {
            if bit == 0 {
                bytes.push(0);
            }
            if let Some(byte) = bytes.last_mut() {
                *byte |= 0x80 >> bit;
            }
            continue;
        }
        if slot.nullable {
            bytes.push(0b11);
        }
        let value_bits = if slot.ty == DataType::Boolean { 1 } else { 0xff };
        bytes.resize(bytes.len() + slot.width - usize::from(slot.nullable), value_bits);
    }
    bytes
}

fn column_form(columns: &[KeyColumn], position: usize, before: Option<&Slot>) -> Form {
    let column = &columns[position];
    let last = position + 1 == columns.len();
    match column.ty {
        DataType::Boolean if !column.nullable => Form::Bit(next_bit(column, before)),
        DataType::Numeric { .. }
        | DataType::Inet
        | DataType::Cidr
        | DataType::Varchar(_)
        | DataType::Varbinary(_)
        | DataType::Array(_)
        | DataType::Record(_) => {
            if last && column.order == SortOrder::Asc {
                Form::Raw
            } else {
                Form::Terminated
            }
        }
        _ => Form::Fixed,
    }
}

/// The bit after that of the column before if both are of one run, else the highest of a new byte.
fn next_bit(column: &KeyColumn, before: Option<&Slot>) -> u8 {
    match before {
        Some(Slot {
            form: Form::Bit(bit),
            descending,
            ..
        }) if *descending == (column.order == SortOrder::Desc) => (bit + 1) % 8,
        _ => 0,
    }
}

/// Notes how many bits are free after the last column of each shared byte.
fn close_runs(slots: &mut [Slot]) {
    for position in 0..slots.len() {
        let Form::Bit(bit) = slots[position].form else {
            continue;
        };
        let continued = slots
            .get(position + 1)
            .is_some_and(|next| next.form == Form::Bit(bit + 1));
        if !continued {
            slots[position].unused_bits = 7 - bit;
        }
    }
}
