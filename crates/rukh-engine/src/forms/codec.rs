//! Tables prepared for reading and writing: key layouts, row shapes, and where each column is.
//!
//! A [`TableCodec`] is made once for each version of a definition and shared by all that
//! touches the table's bytes. Index entries have theirs in `entry`.

use crate::forms::counter::{self, Sums};
use crate::forms::entry::IndexCodec;
use crate::forms::names;
use crate::forms::names::row_text;
use crate::forms::patch::{Patch, Patches};
use crate::forms::row::{self, RowDecodeError, RowShape, RowSlice, Times};
use crate::forms::stamping::Stamping;
use crate::{EngineError, Row};
use rukh_catalog::{ColumnId, FamilyId, IndexId, KeyExpr, Table};
use rukh_keys::{Datum, DatumRef, KeyDecodeError, KeyLayout, ValueError, hash_datum, quoted_name};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;
use thiserror::Error;

/// Says why stored bytes are not what their table or index writes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum DecodeError {
    #[error(transparent)]
    Key(#[from] KeyDecodeError),
    #[error(transparent)]
    Row(#[from] RowDecodeError),
    #[error("entry has {found} bytes where its primary key should be")]
    EntryKey { found: usize },
    #[error("entry says that its primary key is in its key, and in its value")]
    EntryForm,
    #[error("entry's primary key does not encode: {source}")]
    EntryValue { source: ValueError },
}

/// Where a table keeps a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnPlace {
    /// In the row key, at this position of the layout.
    Key(usize),
    /// In the value of a family, as its `ordinal`-th live column.
    Value { family: usize, ordinal: usize },
    /// With the value of family 0: the time that it was written.
    Written,
}

/// A few borrowed datums: those of a key.
pub(crate) type DatumRefs<'a> = SmallVec<[DatumRef<'a>; 8]>;

/// A table prepared for reading and writing.
pub(crate) struct TableCodec {
    pub(crate) table: Arc<Table>,
    /// The layout of row keys.
    pub(crate) key: KeyLayout,
    /// The families, family 0 first.
    pub(crate) families: Vec<FamilyCodec>,
    pub(crate) indexes: Vec<Arc<IndexCodec>>,
    /// Of a columnar table, how its rows are stored.
    pub(crate) blocks: Option<Arc<IndexCodec>>,
    /// The place of each live column, by declared position.
    places: Vec<ColumnPlace>,
    /// What each primary-key element is computed from.
    key_sources: Vec<KeySource>,
    /// Declared positions of the NOT NULL columns.
    required: Vec<usize>,
    /// Whether rows carry times, and how they get them.
    pub(crate) stamping: Stamping,
}

/// What a primary-key element is computed from: a column at a declared position, or its hash.
#[derive(Clone, Copy, Debug)]
struct KeySource {
    position: usize,
    hash_bytes: Option<u8>,
}

impl TableCodec {
    /// Prepares a table with all of its indexes.
    pub(crate) fn new(table: Arc<Table>) -> Self {
        let families: Vec<_> = table
            .families
            .iter()
            .map(|f| FamilyCodec::new(&table, f.id))
            .collect();
        let places = (0..table.columns.len())
            .map(|at| place(&table, &families, at))
            .collect();
        let indexes = table
            .indexes
            .iter()
            .map(|i| Arc::new(IndexCodec::new(&table, i.clone())))
            .collect();
        let key_sources = table
            .primary_key
            .iter()
            .map(|e| key_source(&table, &e.expr))
            .collect();
        let required = (0..table.columns.len())
            .filter(|at| !table.columns[*at].nullable)
            .collect();
        TableCodec {
            key: table.key_layout(),
            families,
            indexes,
            blocks: IndexCodec::of_table(&table).map(Arc::new),
            places,
            key_sources,
            required,
            stamping: Stamping::of(&table),
            table,
        }
    }

    /// Returns the times of a row that is written at `now`, if rows of this table carry any.
    pub(crate) fn times(&self, row: &[Datum], now: i64) -> Option<Times> {
        self.stamping.times(row, now)
    }

    /// Returns the place of the column at a declared position.
    pub(crate) fn place(&self, position: usize) -> ColumnPlace {
        self.places[position]
    }

    /// Whether the column at a declared position is read back from row keys.
    pub(crate) fn is_key_column(&self, position: usize) -> bool {
        matches!(self.places[position], ColumnPlace::Key(_))
    }

    /// Returns an index of the table.
    pub(crate) fn index(&self, id: IndexId) -> Option<&Arc<IndexCodec>> {
        self.indexes.iter().find(|codec| codec.index.id == id)
    }

    /// Appends the row key of a row.
    pub(crate) fn row_key(&self, row: &[Datum], out: &mut Vec<u8>) -> Result<(), ValueError> {
        let datum = |source: &KeySource| element_datum(&row[source.position], source.hash_bytes);
        let datums: DatumRefs<'_> = self.key_sources.iter().map(datum).collect();
        self.key.encode_into(&datums, out)
    }

    /// Checks that a row fits the table: as many datums as columns, NULL only where allowed.
    ///
    /// Types are checked by the encoders; that datums are canonical is up to the caller.
    pub(crate) fn check_row(&self, row: &[Datum]) -> Result<(), EngineError> {
        self.check_width(row)?;
        self.check_nulls(row, self.required.iter().copied())
    }

    /// As [`TableCodec::check_row`], whatever is at some positions.
    pub(crate) fn check_row_but(&self, row: &[Datum], positions: &[usize]) -> Result<(), EngineError> {
        self.check_width(row)?;
        let required = self.required.iter().copied();
        self.check_nulls(row, required.filter(|at| !positions.contains(at)))
    }

    /// Checks that a row has a datum for each column, and those of the key are not NULL.
    pub(crate) fn check_key(&self, row: &[Datum]) -> Result<(), EngineError> {
        self.check_width(row)?;
        self.check_nulls(row, self.key_sources.iter().map(|source| source.position))
    }

    pub(crate) fn check_width(&self, row: &[Datum]) -> Result<(), EngineError> {
        let columns = &self.table.columns;
        if row.len() != columns.len() {
            let table = self.table.name.clone();
            return Err(EngineError::RowWidth {
                table,
                expected: columns.len(),
                found: row.len(),
            });
        }
        debug_assert!(
            row.iter()
                .zip(columns)
                .all(|(datum, c)| c.ty.check(datum.clone()).as_ref() == Ok(datum)),
            "the caller checks datums: {row:?}"
        );
        Ok(())
    }

    fn check_nulls(
        &self,
        row: &[Datum],
        mut positions: impl Iterator<Item = usize>,
    ) -> Result<(), EngineError> {
        match positions.find(|at| row[*at].is_null()) {
            None => Ok(()),
            Some(at) => Err(EngineError::NotNullViolation {
                column: self.table.columns[at].name.clone(),
                table: self.table.name.clone(),
                row: row_text(&self.table, row),
            }),
        }
    }

    /// Makes the error for a second row with the primary key of `row`.
    pub(crate) fn duplicate_key(&self, row: &[Datum]) -> EngineError {
        let mut positions: Vec<usize> = Vec::new();
        for source in &self.key_sources {
            if !positions.contains(&source.position) {
                positions.push(source.position);
            }
        }
        let columns = positions.iter().map(|at| &self.table.columns[*at]);
        let values = positions
            .iter()
            .zip(columns.clone())
            .map(|(at, c)| c.ty.format_text(&row[*at]));
        unique_violation(
            &self.table.name,
            self.table.key_name().unwrap_or_default(),
            columns.map(|column| quoted_name(&column.name)).collect(),
            values.collect(),
        )
    }

    /// Returns the declared positions of columns that row keys hold only as hashes.
    pub(crate) fn hashed_positions(&self) -> impl Iterator<Item = usize> + '_ {
        let hashed = self
            .key_sources
            .iter()
            .filter(|source| source.hash_bytes.is_some());
        hashed
            .map(|source| source.position)
            .filter(|at| !matches!(self.places[*at], ColumnPlace::Key(_)))
    }

    /// Decodes a whole row; `values` are those of the families, in order.
    ///
    /// Fails with [`EngineError::Corruption`] that names table and key.
    pub(crate) fn decode_row<V: AsRef<[u8]>>(
        &self,
        key: &[u8],
        values: &[Option<V>],
    ) -> Result<Row, EngineError> {
        self.decode_where(key, values, |_| true)
    }

    /// As [`TableCodec::decode_row`]; columns that are not wanted, by declared position, are NULL.
    pub(crate) fn decode_columns<V: AsRef<[u8]>>(
        &self,
        key: &[u8],
        values: &[Option<V>],
        wanted: &[bool],
    ) -> Result<Row, EngineError> {
        self.decode_where(key, values, |at| wanted[at])
    }

    fn decode_where<V: AsRef<[u8]>>(
        &self,
        key: &[u8],
        values: &[Option<V>],
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Row, EngineError> {
        let opened = self.families.iter().zip(values).map(|(family, value)| {
            let value = value
                .as_ref()
                .map(|value| family.open(value.as_ref()))
                .transpose();
            value.map_err(|e| self.family_corruption(family, key, e.into()))
        });
        let values = opened.collect::<Result<SmallVec<[_; 2]>, _>>()?;
        let mut elements = Vec::with_capacity(self.key_sources.len());
        let decoded = self.key.decode_refs(key, &mut elements);
        decoded.map_err(|e| self.corruption(key, e.into()))?;
        let mut row = Row::with_capacity(self.places.len());
        for (position, place) in self.places.iter().enumerate() {
            row.push(match *place {
                _ if !is_wanted(position) => Datum::Null,
                ColumnPlace::Key(at) => elements[at].to_owned(),
                ColumnPlace::Written => match values.first() {
                    Some(Some(value)) => {
                        let written = value.written(self.since());
                        written.map_err(|e| self.corruption(key, e.into()))?.into_owned()
                    }
                    _ => Datum::Null,
                },
                ColumnPlace::Value { family, ordinal } => match values.get(family) {
                    Some(Some(value)) => {
                        let datum = value.datum(ordinal);
                        let family = &self.families[family];
                        datum
                            .map_err(|e| self.family_corruption(family, key, e.into()))?
                            .into_owned()
                    }
                    _ => Datum::Null,
                },
            });
        }
        Ok(row)
    }

    /// Returns since when images stand that carry no time.
    pub(crate) fn since(&self) -> i64 {
        self.table
            .options
            .versions
            .map_or(0, |versions| versions.since_micros)
    }

    /// Makes the error for a row that does not decode.
    pub(crate) fn corruption(&self, key: &[u8], error: DecodeError) -> EngineError {
        self.family_corruption(&self.families[0], key, error)
    }

    /// Makes the error for a family's value that does not decode.
    pub(crate) fn family_corruption(
        &self,
        family: &FamilyCodec,
        key: &[u8],
        error: DecodeError,
    ) -> EngineError {
        EngineError::Corruption {
            name: family.name.clone(),
            key: names::key(&self.key, key),
            message: error.to_string(),
        }
    }

    /// Returns the printed form of a row key: `t/1/5`.
    pub(crate) fn display_key(&self, key: &[u8]) -> String {
        format!("{}{}", self.table.name, names::key(&self.key, key))
    }
}

/// Makes the error for two rows with the same values of a constraint, which are given as text.
pub(crate) fn unique_violation(
    table: &str,
    constraint: String,
    columns: Vec<String>,
    values: Vec<String>,
) -> EngineError {
    let key = format!("({})=({})", columns.join(", "), values.join(", "));
    EngineError::UniqueViolation {
        table: table.to_string(),
        constraint,
        columns,
        key,
    }
}

/// Borrows a column's datum, or makes its hash.
pub(crate) fn element_datum(datum: &Datum, hash_bytes: Option<u8>) -> DatumRef<'_> {
    match hash_bytes.map(|bytes| hash_datum(datum, bytes)) {
        None => datum.as_ref(),
        Some(Datum::Bytes(hash)) => DatumRef::Bytes(Cow::Owned(hash)),
        Some(_) => DatumRef::Null,
    }
}

fn key_source(table: &Table, expr: &KeyExpr) -> KeySource {
    let position = |id: &ColumnId| {
        table
            .position(*id)
            .expect("a validated table knows its key columns")
    };
    match expr {
        KeyExpr::Column(id) => KeySource {
            position: position(id),
            hash_bytes: None,
        },
        KeyExpr::Hash { column, bytes } => KeySource {
            position: position(column),
            hash_bytes: Some(*bytes),
        },
        KeyExpr::Expression { .. } => unreachable!("the catalog refuses expressions in primary keys"),
    }
}

fn place(table: &Table, families: &[FamilyCodec], position: usize) -> ColumnPlace {
    let id = table.columns[position].id;
    if id == ColumnId::WRITTEN {
        return ColumnPlace::Written;
    }
    if let Some(at) = table
        .primary_key
        .iter()
        .position(|e| e.expr == KeyExpr::Column(id))
    {
        return ColumnPlace::Key(at);
    }
    let found = families.iter().enumerate().find_map(|(family, codec)| {
        let ordinal = codec.positions.iter().position(|at| *at == position)?;
        Some(ColumnPlace::Value { family, ordinal })
    });
    found.expect("a validated table stores each column outside its key in one family")
}

/// A family prepared for reading and writing its values.
pub(crate) struct FamilyCodec {
    /// Name of the column family: `t7` or `t7.f2`.
    pub(crate) storage: String,
    /// Printed name: `logs` or `logs.payload`.
    pub(crate) name: String,
    /// Declared positions of the family's live columns; an ordinal is a place in this list.
    pub(crate) positions: Vec<usize>,
    /// Declared position of the column in each slot of the newest layout.
    newest: Vec<Option<usize>>,
    /// The same by ordinal.
    newest_ordinals: Vec<Option<usize>>,
    /// By layout version: the shape, and for each ordinal the slot that holds it.
    versions: Vec<(RowShape, Vec<Option<usize>>)>,
    /// For each ordinal the value in rows that are older than the column.
    missing: Vec<Datum>,
    /// Whether its values live for a time of their own.
    mortal: bool,
    /// For each ordinal the column.
    columns: Vec<ColumnId>,
}

impl FamilyCodec {
    pub(crate) fn new(table: &Table, id: FamilyId) -> Self {
        let stored = |at: &usize| {
            let column = &table.columns[*at];
            column.family == id && !table.in_primary_key(column.id) && column.id != ColumnId::WRITTEN
        };
        let positions: Vec<usize> = (0..table.columns.len()).filter(stored).collect();
        let newest = table.value_columns(table.row_layout(), id);
        let versions = table.layouts.iter().map(|layout| {
            let shape = RowShape::new(layout.version, &table.value_columns(layout, id));
            let slots = positions
                .iter()
                .map(|at| shape.slot(table.columns[*at].id))
                .collect();
            (shape, slots)
        });
        let missing = positions
            .iter()
            .map(|at| table.columns[*at].values.missing.clone().unwrap_or(Datum::Null));
        FamilyCodec {
            mortal: table
                .families
                .iter()
                .any(|family| family.id == id && family.options.ttl_micros.is_some()),
            columns: positions.iter().map(|at| table.columns[*at].id).collect(),
            missing: missing.collect(),
            versions: versions.collect(),
            newest: newest.iter().map(|(column, _)| table.position(*column)).collect(),
            newest_ordinals: newest
                .iter()
                .map(|(column, _)| positions.iter().position(|at| table.columns[*at].id == *column))
                .collect(),
            storage: table.storage_name(id),
            name: table.display_name(id),
            positions,
        }
    }

    /// Returns the ordinal of a column of this family.
    pub(crate) fn ordinal(&self, column: ColumnId) -> Option<usize> {
        self.columns.iter().position(|id| *id == column)
    }

    /// Checks the frame of a stored value.
    #[inline]
    pub(crate) fn open<'a>(&'a self, bytes: &'a [u8]) -> Result<FamilyValue<'a>, RowDecodeError> {
        let (bytes, patches, sums) = counter::split(bytes)?;
        let (version, body) = match patches.is_empty() && sums.is_empty() {
            true => row::open(bytes)?,
            false => row::open_changed(bytes)?,
        };
        let known = self.versions.get(usize::from(version));
        let (shape, slots) = known.ok_or(RowDecodeError::UnknownLayout { version })?;
        Ok(FamilyValue {
            bytes,
            row: RowSlice::new(shape, body)?,
            slots,
            family: self,
            patches,
            sums,
        })
    }

    /// Appends the value that holds this family's columns of a row, in the newest layout.
    pub(crate) fn encode(
        &self,
        row: &[Datum],
        times: Option<Times>,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let (shape, _) = self.versions.last().expect("a validated table has a row layout");
        let datum = |slot: usize| self.newest[slot].map_or(&Datum::Null, |at| &row[at]);
        shape.encode(times, datum, out)
    }

    /// Appends the value that holds these datums, one for each live column of the family, and these times.
    pub(crate) fn encode_ordinals(
        &self,
        datums: &[Datum],
        times: Option<Times>,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let (shape, _) = self.versions.last().expect("a validated table has a row layout");
        let datum = |slot: usize| self.newest_ordinals[slot].map_or(&Datum::Null, |at| &datums[at]);
        shape.encode(times, datum, out)
    }

    /// Returns the patches that make columns at declared positions what they are in a row; those of other families are left
    /// out.
    pub(crate) fn patches(&self, positions: &[usize], row: &[Datum]) -> Result<Vec<u8>, ValueError> {
        let (shape, slots) = self.versions.last().expect("a validated table has a row layout");
        let layout = u16::try_from(self.versions.len() - 1).expect("layout versions are counted in 16 bits");
        let mut columns: SmallVec<[(u32, usize, usize); 8]> = SmallVec::new();
        for (ordinal, position) in self.positions.iter().enumerate() {
            if let (Some(slot), true) = (slots[ordinal], positions.contains(position)) {
                columns.push((self.columns[ordinal].0, slot, *position));
            }
        }
        columns.sort_unstable();
        let mut patches = Vec::new();
        for (column, slot, position) in columns {
            let bytes = shape.encode_one(slot, &row[position])?;
            let bytes = bytes.as_deref();
            Patch {
                column,
                layout,
                bytes,
            }
            .append_to(&mut patches);
        }
        Ok(patches)
    }

    /// Returns the datum that a patch makes of the `ordinal`-th column.
    fn patched<'a>(&self, ordinal: usize, patch: Patch<'a>) -> Result<DatumRef<'a>, RowDecodeError> {
        let version = patch.layout;
        let known = self.versions.get(usize::from(version));
        let (shape, slots) = known.ok_or(RowDecodeError::UnknownLayout { version })?;
        let slot = slots[ordinal].ok_or(RowDecodeError::InvalidPatches)?;
        shape.decode_one(slot, patch.bytes)
    }

    /// Whether the family holds nothing of this row, and therefore has no entry; family 0 always has one.
    pub(crate) fn is_absent(&self, row: &[Datum]) -> bool {
        self.positions.iter().all(|at| row[*at].is_null())
    }

    /// Whether its values are rewritten with every change of a row that carries times.
    pub(crate) fn is_renewed(&self) -> bool {
        !self.mortal
    }

    /// Whether two images of a row have the same value in this family.
    pub(crate) fn is_unchanged(&self, old: &[Datum], new: &[Datum]) -> bool {
        self.positions.iter().all(|at| old[*at] == new[*at])
    }
}

/// A stored value of a family, any layout version.
#[derive(Clone, Copy)]
pub(crate) struct FamilyValue<'a> {
    bytes: &'a [u8],
    row: RowSlice<'a>,
    slots: &'a [Option<usize>],
    family: &'a FamilyCodec,
    /// Columns that were written since the row was.
    patches: Patches<'a>,
    /// What was added to counters since then.
    sums: Sums<'a>,
}

impl<'a> FamilyValue<'a> {
    /// Returns when the value was written, `since` if it does not say.
    pub(crate) fn written(&self, since: i64) -> Result<DatumRef<'a>, RowDecodeError> {
        row::written(self.bytes, since)
    }

    /// Returns the datum of the `ordinal`-th live column; its missing value if the row is older than the column.
    #[inline]
    pub(crate) fn datum(&self, ordinal: usize) -> Result<DatumRef<'a>, RowDecodeError> {
        let patch = match self.patches.is_empty() {
            true => None,
            false => self.patches.of(self.family.columns[ordinal])?,
        };
        let datum = match (patch, self.slots[ordinal]) {
            (Some(patch), _) => self.family.patched(ordinal, patch)?,
            (None, Some(slot)) => self.row.datum(slot)?,
            (None, None) => self.family.missing[ordinal].as_ref(),
        };
        match self.sums.is_empty() {
            true => Ok(datum),
            false => Ok(self.sums.on(self.family.columns[ordinal], datum)),
        }
    }
}
