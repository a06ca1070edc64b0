//! Index entries: their two forms, how they are written, and how rows are found from them.
//!
//! | entry                    | key                      | value                                         |
//! |--------------------------|--------------------------|-----------------------------------------------|
//! | not unique               | all elements of the key  | included columns                              |
//! | UNIQUE, no NULL          | the declared elements    | length of row key (u32), row key, included    |
//! | UNIQUE, with a NULL      | all elements of the key  | 0 (u32), included                             |
//!
//! An entry of a UNIQUE index whose NULLs are not distinct (NULLS NOT DISTINCT) has the form of one without NULL.
//!
//! Included columns are in the row format, layout version 0. An empty row key exists (a table
//! keyed by one VARCHAR), so a UNIQUE entry of length 0 has one form or the other depending on whether one of its
//! declared elements is NULL.

use crate::EngineError;
use crate::forms::codec::{DatumRefs, DecodeError, FamilyCodec, TableCodec};
use crate::forms::names::hex;
use crate::forms::row::{self, RowShape, RowSlice, Times};
use crate::forms::times;
use rukh_catalog::{ColumnId, FamilyId, Index, IndexId, IndexLayout, IndexState, KeyExpr, Table};
use rukh_keys::{DataType, Datum, DatumRef, KeyDecodeError, KeyLayout, ValueError};

/// Bytes of the length of a row key in the value of a UNIQUE entry.
pub(crate) const ROW_KEY_LEN: usize = 4;

/// Where an index entry keeps a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryPlace {
    /// In every entry's key, at this position of the layout.
    Key(usize),
    /// In the key where it is whole, at `key`; else in the row key of the value, at `row_key`.
    RowKey { key: usize, row_key: usize },
    /// In the value, in this slot of the included columns.
    Included(usize),
}

/// An index prepared for reading and writing its entries.
pub(crate) struct IndexCodec {
    pub(crate) index: Index,
    /// Name of the column family: `i9`.
    pub(crate) storage: String,
    /// Printed name: `t@by_host`.
    pub(crate) name: String,
    /// The layout of whole keys; keys of the declared elements are prefixes in it.
    pub(crate) layout: KeyLayout,
    /// How many columns of the layout are declared elements.
    pub(crate) declared: usize,
    included: RowShape,
    /// Declared positions (in the table) of the included columns, by slot.
    included_positions: Vec<usize>,
    /// By declared position in the table.
    places: Vec<Option<EntryPlace>>,
    /// For each primary-key element, its position in the layout.
    primary_key: Vec<usize>,
    /// Where the row key begins in a whole key, if it is a suffix of it byte by byte.
    row_key_offset: Option<usize>,
    /// Whether a declared element can be a NULL that is distinct from others.
    nullable: bool,
    /// Whether rows carry times.
    timed: bool,
    /// Of a columnar index, how its blocks are stored.
    blocks: Option<Blocks>,
    /// Of a columnar table, which is one index of all of its columns: the family whose values stand
    /// beside blocks.
    family: Option<FamilyCodec>,
}

/// How the blocks of a columnar index or table are stored.
pub(crate) struct Blocks {
    /// Name of the column family: `i9.c`, `t7.c`.
    pub(crate) storage: String,
    /// Types of the columns by slot: the elements of the key, then the columns included, then those of times.
    pub(crate) types: Vec<DataType>,
    /// By slot, the number under which blocks have the column. Of a table it depends on the column's id, so
    /// that older blocks lack columns that were added, and have those that were dropped.
    pub(crate) numbers: Vec<usize>,
    /// By slot, the value in blocks that are older than the column.
    pub(crate) missing: Vec<Datum>,
}

/// What a columnar index has, in the column family of its changes, for an entry that is gone. The
/// value of an entry begins with its format, which is not 0.
pub(crate) const DELETED: &[u8] = &[0];

/// Returns the id by which a columnar table is known among columnar indexes: tables and indexes get theirs
/// from one counter.
pub(crate) fn id_of_table(table: &Table) -> IndexId {
    IndexId(table.id.0)
}

/// Returns how many columns of times blocks of a table have.
fn times_of(table: &Table) -> usize {
    if table.options.timed { times::COUNT } else { 0 }
}

fn numbers_of_times(table: &Table) -> std::ops::Range<usize> {
    times::FIRST..times::FIRST + times_of(table)
}

impl IndexCodec {
    pub(crate) fn new(table: &Table, index: Index) -> Self {
        let layout = index.key_layout(table);
        let elements = index.key_elements(table);
        let position = |expr: &KeyExpr| elements.iter().position(|element| element.expr == *expr);
        let primary_key = table.primary_key.iter().map(|element| {
            position(&element.expr).expect("an entry's key has all elements of the primary key")
        });
        let primary_key: Vec<usize> = primary_key.collect();
        let types = index
            .include
            .iter()
            .filter_map(|id| Some((*id, table.column(*id)?.ty)));
        let types: Vec<_> = types.collect();
        let declared = index.elements.len();
        IndexCodec {
            storage: index.storage_name(),
            name: format!("{}@{}", table.name, index.name),
            included: RowShape::new(0, &types),
            included_positions: types.iter().filter_map(|(id, _)| table.position(*id)).collect(),
            places: table
                .columns
                .iter()
                .map(|c| place(table, &index, &elements, c.id))
                .collect(),
            row_key_offset: row_key_offset(table, &layout, &primary_key, declared),
            nullable: index.nulls_distinct
                && layout.columns()[..declared].iter().any(|column| column.nullable),
            timed: table.options.timed,
            blocks: index.is_columnar().then(|| {
                let slots = layout.columns().len() + types.len();
                Blocks {
                    storage: index.blocks_name(),
                    types: (layout.columns().iter().map(|column| column.ty))
                        .chain(types.iter().map(|(_, ty)| *ty))
                        .chain(times::TYPES.into_iter().take(times_of(table)))
                        .collect(),
                    numbers: (0..slots).chain(numbers_of_times(table)).collect(),
                    missing: vec![Datum::Null; slots + times_of(table)],
                }
            }),
            family: None,
            primary_key,
            declared,
            layout,
            index,
        }
    }

    /// Prepares a columnar table: its rows are the entries of an index of the primary key that has all
    /// columns, and their values those of the table's family.
    pub(crate) fn of_table(table: &Table) -> Option<Self> {
        if !table.is_columnar() {
            return None;
        }
        let family = FamilyCodec::new(table, FamilyId(0));
        let included = || family.positions.iter().map(|at| &table.columns[*at]);
        let index = Index {
            id: id_of_table(table),
            name: table.name.clone(),
            unique: false,
            nulls_distinct: true,
            constraint: true,
            elements: table.primary_key.clone(),
            include: included().map(|column| column.id).collect(),
            predicate: None,
            state: IndexState::Ready,
            layout: IndexLayout::Columnar,
            once_nullable: Vec::new(),
            former: false,
        };
        let mut codec = IndexCodec::new(table, index);
        let elements = table.primary_key.len();
        codec.blocks = codec.blocks.take().map(|blocks| Blocks {
            storage: table.blocks_name(),
            numbers: (0..elements)
                .chain(included().map(|column| elements + column.id.0 as usize))
                .chain(numbers_of_times(table))
                .collect(),
            missing: std::iter::repeat_n(Datum::Null, elements)
                .chain(included().map(|column| column.values.missing.clone().unwrap_or(Datum::Null)))
                .chain(std::iter::repeat_n(Datum::Null, times_of(table)))
                .collect(),
            ..blocks
        });
        codec.layout = table.key_layout();
        codec.storage = family.storage.clone();
        codec.name = family.name.clone();
        codec.family = Some(family);
        Some(codec)
    }

    /// Returns where entries keep the column at a declared position, if they do.
    pub(crate) fn place(&self, position: usize) -> Option<EntryPlace> {
        self.places[position]
    }

    /// Returns the included columns by declared position, each with its place.
    pub(crate) fn included(&self) -> impl Iterator<Item = (usize, EntryPlace)> + '_ {
        let positions = self.included_positions.iter().enumerate();
        positions.map(|(slot, position)| (*position, EntryPlace::Included(slot)))
    }

    /// Returns how the blocks of a columnar index are stored.
    pub(crate) fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_ref()
    }

    /// Returns the slot of blocks that has the column at this place.
    pub(crate) fn slot(&self, place: EntryPlace) -> usize {
        match place {
            EntryPlace::Key(key) | EntryPlace::RowKey { key, .. } => key,
            EntryPlace::Included(slot) => self.layout.columns().len() + slot,
        }
    }

    /// Returns the slot of blocks from which the life of rows counts, if they carry times.
    pub(crate) fn life_slot(&self) -> Option<usize> {
        let slots = self.layout.columns().len() + self.index.include.len();
        (self.timed && self.blocks.is_some()).then_some(slots)
    }

    /// Names the column that a slot of blocks has.
    pub(crate) fn slot_name(&self, table: &Table, slot: usize) -> String {
        let elements = self.index.key_elements(table);
        match (elements.get(slot), slot.checked_sub(elements.len())) {
            (Some(element), _) => element.expr.sql(table),
            (None, Some(included)) => match self.index.include.get(included) {
                Some(column) => table.column_name(*column).to_string(),
                None => {
                    let of_times = times::NAMES.get(included - self.index.include.len());
                    of_times.copied().unwrap_or_default().to_string()
                }
            },
            (None, None) => String::new(),
        }
    }

    /// Appends the datums of an entry of a columnar index by slot.
    pub(crate) fn decode_slots<'a>(
        &'a self,
        key: &'a [u8],
        value: &'a [u8],
        out: &mut Vec<DatumRef<'a>>,
    ) -> Result<(), DecodeError> {
        let times = self.timed.then(|| times::datums(row::times(value)));
        if let Some(family) = &self.family {
            let value = family.open(value)?;
            self.layout.decode_refs(key, out)?;
            for ordinal in 0..family.positions.len() {
                out.push(value.datum(ordinal)?);
            }
            out.extend(times.into_iter().flatten());
            return Ok(());
        }
        let (_, included) = row::open(value)?;
        let included = RowSlice::new(&self.included, included)?;
        self.layout.decode_refs(key, out)?;
        for slot in 0..self.included_positions.len() {
            out.push(included.datum(slot)?);
        }
        out.extend(times.into_iter().flatten());
        Ok(())
    }

    /// Shows the datums that an entry of a columnar index has in some slots, which ascend, with the place of each among these.
    pub(crate) fn visit_slots(
        &self,
        key: &[u8],
        value: &[u8],
        slots: &[usize],
        mut visit: impl FnMut(usize, &DatumRef<'_>) -> Result<(), ValueError>,
    ) -> Result<(), EngineError> {
        let failed = |error: DecodeError| self.corruption(key, error);
        let first = self.layout.columns().len();
        let of_key = slots.partition_point(|slot| *slot < first);
        let mut elements = Vec::new();
        let decoded = self.layout.decode_refs(key, &mut elements);
        decoded.map_err(|e| failed(e.into()))?;
        for (nth, slot) in slots[..of_key].iter().enumerate() {
            visit(nth, &elements[*slot])?;
        }
        let included = first + self.index.include.len();
        let of_row = slots.partition_point(|slot| *slot < included);
        let ordinals = slots[of_key..of_row].iter().map(|slot| slot - first);
        let ordinals = ordinals.zip(of_key..);
        match &self.family {
            Some(family) => {
                let row = family.open(value).map_err(|e| failed(e.into()))?;
                for (ordinal, nth) in ordinals {
                    visit(nth, &row.datum(ordinal).map_err(|e| failed(e.into()))?)?;
                }
            }
            None => {
                let (_, row) = row::open(value).map_err(|e| failed(e.into()))?;
                let row = RowSlice::new(&self.included, row).map_err(|e| failed(e.into()))?;
                for (ordinal, nth) in ordinals {
                    visit(nth, &row.datum(ordinal).map_err(|e| failed(e.into()))?)?;
                }
            }
        }
        if of_row < slots.len() {
            let times = times::datums(row::times(value));
            for (nth, slot) in slots.iter().enumerate().skip(of_row) {
                visit(nth, &times[slot - included])?;
            }
        }
        Ok(())
    }

    /// Appends key and value of the entry of a columnar index that has these datums by slot.
    pub(crate) fn encode_slots(
        &self,
        datums: &[Datum],
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let (elements, _) = datums.split_at(self.layout.columns().len());
        let elements: DatumRefs<'_> = elements.iter().map(Datum::as_ref).collect();
        self.layout.encode_into(&elements, key)?;
        self.encode_included(datums, value)
    }

    /// Appends the value of the entry of a columnar index that has these datums by slot.
    pub(crate) fn encode_included(&self, datums: &[Datum], value: &mut Vec<u8>) -> Result<(), ValueError> {
        let included = &datums[self.layout.columns().len()..];
        let (included, times) = included.split_at(included.len() - if self.timed { times::COUNT } else { 0 });
        let times = times::times(times);
        match &self.family {
            None => self.included.encode(times, |slot| &included[slot], value),
            Some(family) => family.encode_ordinals(included, times, value),
        }
    }

    /// Whether these are the rows of a columnar table.
    pub(crate) fn is_table(&self) -> bool {
        self.family.is_some()
    }

    /// Appends the key of the row that has these elements of an entry's key.
    pub(crate) fn row_key_of(
        &self,
        table: &TableCodec,
        elements: &[DatumRef<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let datums: DatumRefs<'_> = self.primary_key.iter().map(|at| elements[*at].clone()).collect();
        table.key.encode_into(&datums, out)
    }

    /// Whether reading a column at this place needs the entry's value.
    pub(crate) fn needs_value(&self, place: EntryPlace) -> bool {
        match place {
            EntryPlace::Key(_) => false,
            EntryPlace::RowKey { .. } => self.index.unique,
            EntryPlace::Included(_) => true,
        }
    }

    /// Appends the key of an entry with these elements (all of the layout) to `key` and its value to
    /// `value`; `row` gives the included columns, `times` those of the row.
    pub(crate) fn encode(
        &self,
        elements: &[DatumRef<'_>],
        KeyedRow {
            key: row_key,
            row,
            times,
        }: KeyedRow<'_>,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        if self.index.unique {
            let whole = self.nullable && elements[..self.declared].iter().any(DatumRef::is_null);
            let (columns, stored) = if whole {
                (elements.len(), &[][..])
            } else {
                (self.declared, row_key)
            };
            self.layout.encode_prefix_into(&elements[..columns], key)?;
            let len = u32::try_from(stored.len());
            let len = len.map_err(|_| ValueError::TooLong {
                ty: DataType::Varbinary(None),
            })?;
            value.extend_from_slice(&len.to_le_bytes());
            value.extend_from_slice(stored);
        } else {
            self.layout.encode_into(elements, key)?;
        }
        self.included
            .encode(times, |slot| &row[self.included_positions[slot]], value)
    }

    /// Decodes the elements that an entry's key holds: all, or in a UNIQUE index the declared ones.
    pub(crate) fn decode_key(&self, key: &[u8]) -> Result<Vec<Datum>, KeyDecodeError> {
        if !self.index.unique {
            return self.layout.decode(key);
        }
        match self.layout.decode_prefix(key, self.declared) {
            Ok(datums) => Ok(datums),
            Err(_) => self.layout.decode(key),
        }
    }

    /// Reads the frame of an entry.
    #[inline]
    pub(crate) fn open<'a>(&'a self, key: &'a [u8], value: &'a [u8]) -> Result<EntryView<'a>, DecodeError> {
        let (row_key, value) = match self.index.unique {
            true => self.split_value(key, value)?,
            false => (None, value),
        };
        let (_, included) = row::open(value)?;
        let included = RowSlice::new(&self.included, included)?;
        Ok(EntryView {
            codec: self,
            key,
            row_key,
            value,
            included: Some(included),
        })
    }

    /// Reads the key of an entry of an index that is not unique, without its value.
    #[inline]
    pub(crate) fn open_key<'a>(&'a self, key: &'a [u8]) -> EntryView<'a> {
        EntryView {
            codec: self,
            key,
            row_key: None,
            value: &[],
            included: None,
        }
    }

    /// Splits the value of a UNIQUE entry into the row key, unless the entry's key has it, and the
    /// included columns.
    fn split_value<'a>(
        &self,
        key: &[u8],
        value: &'a [u8],
    ) -> Result<(Option<&'a [u8]>, &'a [u8]), DecodeError> {
        let short = DecodeError::EntryKey { found: value.len() };
        let (len, rest) = value
            .split_first_chunk::<ROW_KEY_LEN>()
            .ok_or_else(|| short.clone())?;
        let (row_key, included) = rest
            .split_at_checked(u32::from_le_bytes(*len) as usize)
            .ok_or(short)?;
        let whole = self.is_whole(key)?;
        match (whole, row_key) {
            (false, row_key) => Ok((Some(row_key), included)),
            (true, []) => Ok((None, included)),
            (true, _) => Err(DecodeError::EntryForm),
        }
    }

    /// Whether the key of a UNIQUE entry has all elements, because one that is declared is NULL.
    fn is_whole(&self, key: &[u8]) -> Result<bool, KeyDecodeError> {
        if !self.nullable {
            return Ok(false);
        }
        for column in 0..self.declared {
            if self.layout.columns()[column].nullable && self.layout.decode_column(key, column)?.is_null() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the key of a UNIQUE entry is that of one row only: no declared element is NULL.
    pub(crate) fn is_exclusive(&self, key: &[u8]) -> bool {
        matches!(self.is_whole(key), Ok(false))
    }

    /// Returns the key of the row that a stored entry stands for.
    pub(crate) fn owner(&self, table: &TableCodec, key: &[u8], value: &[u8]) -> Result<Vec<u8>, EngineError> {
        let mut row_key = Vec::with_capacity(32);
        let entry = match self.index.is_columnar() {
            // Of an entry that is gone there is no value.
            true => Ok(self.open_key(key)),
            false => self.open(key, value),
        };
        let found = entry.and_then(|entry| entry.row_key(table, &mut row_key));
        found.map_err(|e| self.corruption(key, e))?;
        Ok(row_key)
    }

    /// Makes the error for an entry that does not decode or does not fit its row.
    pub(crate) fn corruption(&self, key: &[u8], message: impl ToString) -> EngineError {
        EngineError::Corruption {
            name: self.name.clone(),
            key: entry_key(self, key),
            message: message.to_string(),
        }
    }

    /// Returns the printed form of an entry's key: `t@by_host/'a'/1/5`.
    pub(crate) fn display_key(&self, key: &[u8]) -> String {
        format!("{}{}", self.name, entry_key(self, key))
    }
}

fn place(
    table: &Table,
    index: &Index,
    elements: &[rukh_catalog::KeyElement],
    column: ColumnId,
) -> Option<EntryPlace> {
    let expr = KeyExpr::Column(column);
    let row_key = table.primary_key.iter().position(|element| element.expr == expr);
    let key = elements.iter().position(|element| element.expr == expr);
    match (key, row_key) {
        (Some(key), _) if key < index.elements.len() => Some(EntryPlace::Key(key)),
        (Some(key), Some(row_key)) => Some(EntryPlace::RowKey { key, row_key }),
        _ => index
            .include
            .iter()
            .position(|id| *id == column)
            .map(EntryPlace::Included),
    }
}

/// Returns where the row key begins in a whole key, if it is its suffix byte by byte: the primary
/// key follows the declared elements in its own order, has no salt, and begins at a fixed place
/// that is not in the middle of a byte of booleans.
fn row_key_offset(
    table: &Table,
    layout: &KeyLayout,
    primary_key: &[usize],
    declared: usize,
) -> Option<usize> {
    let follows = primary_key.iter().copied().eq(declared..layout.columns().len());
    let field = layout
        .field(declared)
        .filter(|_| follows && table.salt.is_none())?;
    match field.bit {
        None | Some(0) => Some(field.offset),
        Some(_) => None,
    }
}

/// An index entry, its frame checked.
pub(crate) struct EntryView<'a> {
    codec: &'a IndexCodec,
    key: &'a [u8],
    /// The row key where the value has it.
    row_key: Option<&'a [u8]>,
    /// What else the value has, if it was read.
    value: &'a [u8],
    /// The included columns, if the value was read.
    included: Option<RowSlice<'a>>,
}

impl<'a> EntryView<'a> {
    /// Returns the datum at a place of this index.
    #[inline]
    pub(crate) fn datum(&self, table: &TableCodec, place: EntryPlace) -> Result<DatumRef<'a>, DecodeError> {
        match (place, self.row_key) {
            (EntryPlace::Key(key), _) | (EntryPlace::RowKey { key, .. }, None) => {
                Ok(self.codec.layout.decode_column(self.key, key)?)
            }
            (EntryPlace::RowKey { row_key: at, .. }, Some(row_key)) => {
                Ok(table.key.decode_column(row_key, at)?)
            }
            (EntryPlace::Included(slot), _) => match &self.included {
                Some(included) => Ok(included.datum(slot)?),
                None => Err(DecodeError::EntryKey { found: 0 }),
            },
        }
    }

    /// Returns when the row was written, `since` if the entry does not say.
    pub(crate) fn written(&self, since: i64) -> Result<DatumRef<'a>, DecodeError> {
        match self.included {
            Some(_) => Ok(row::written(self.value, since)?),
            None => Err(DecodeError::EntryKey { found: 0 }),
        }
    }

    /// Returns the row key where the value has it.
    pub(crate) fn stored_row_key(&self) -> Option<&'a [u8]> {
        self.row_key
    }

    /// Appends the key of the row that the entry stands for.
    pub(crate) fn row_key(&self, table: &TableCodec, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        match (self.row_key, self.codec.row_key_offset) {
            (Some(row_key), _) => out.extend_from_slice(row_key),
            (None, Some(offset)) => {
                let short = DecodeError::EntryKey {
                    found: self.key.len().saturating_sub(offset),
                };
                out.extend_from_slice(self.key.get(offset..).ok_or(short)?);
            }
            (None, None) => {
                let mut elements = Vec::with_capacity(self.codec.layout.columns().len());
                self.codec.layout.decode_refs(self.key, &mut elements)?;
                let datums: DatumRefs<'_> = self
                    .codec
                    .primary_key
                    .iter()
                    .map(|at| elements[*at].clone())
                    .collect();
                let encoded = table.key.encode_into(&datums, out);
                encoded.map_err(|source| DecodeError::EntryValue { source })?;
            }
        }
        Ok(())
    }
}

/// Prints the key of an index entry, which in a UNIQUE index may hold the declared elements only.
pub(crate) fn entry_key(index: &IndexCodec, key: &[u8]) -> String {
    match index.decode_key(key) {
        Ok(datums) => index.layout.display(&datums).to_string(),
        Err(_) => hex(key),
    }
}

/// A row under its key, with its times if it carries any.
#[derive(Clone, Copy)]
pub(crate) struct KeyedRow<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) row: &'a [Datum],
    pub(crate) times: Option<Times>,
}

impl<'a> KeyedRow<'a> {
    /// Makes a row of which only the keys of entries matter, not their values.
    pub(crate) fn for_keys(key: &'a [u8], row: &'a [Datum]) -> Self {
        KeyedRow {
            key,
            row,
            times: None,
        }
    }
}
