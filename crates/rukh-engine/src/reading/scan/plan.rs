//! Where each column of a scan is found, and rows as it gives them.

use crate::EngineError;
use crate::columnar::ColumnBatch;
use crate::forms::codec::{ColumnPlace, DecodeError, FamilyValue, TableCodec};
use crate::forms::entry::{EntryPlace, EntryView, IndexCodec};
use crate::reading::scan::request::{ScanRequest, Source, ready_index};
use rukh_catalog::{CatalogError, ColumnId};
use rukh_keys::{DatumRef, KeyLayout};
use smallvec::SmallVec;
use std::sync::Arc;

/// Where a view finds a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    /// In the index entry.
    Entry(EntryPlace),
    /// In the row key.
    Key(usize),
    /// In the value of the `fetched`-th family read.
    Value { fetched: usize, ordinal: usize },
    /// With the value of family 0, or of the index entry: when it was written.
    Written,
    /// In this column of what a columnar index gives out.
    Vector(usize),
}

/// Everything about a scan that does not change while it runs.
pub(crate) struct Plan {
    pub(crate) codec: Arc<TableCodec>,
    pub(crate) index: Option<Arc<IndexCodec>>,
    pub(super) columns: Vec<Access>,
    pub(super) entry_columns: Vec<Access>,
    /// Families whose values are read, family 0 first; the others only if a column needs them.
    pub(crate) fetched: Vec<usize>,
    /// Whether a column needs the value of family 0.
    pub(crate) base_needed: bool,
    /// Whether the entries' own values are read.
    pub(super) values: bool,
    /// Whether rows need more than their entries.
    pub(crate) batched: bool,
    /// Where a columnar index gives out the elements of its key, for lookups.
    pub(super) key_vectors: usize,
}

impl Plan {
    /// Prepares a scan; `by_blocks` says that of a columnar table blocks are read as they are stored.
    pub(super) fn new(
        codec: Arc<TableCodec>,
        request: &ScanRequest,
        by_blocks: bool,
    ) -> Result<Self, EngineError> {
        let index = match request.source {
            Source::Table => codec.blocks.clone().filter(|_| by_blocks),
            Source::Index(id) => Some(ready_index(&codec, id)?.clone()),
        };
        let mut plan = Plan {
            codec,
            index,
            columns: Vec::new(),
            entry_columns: Vec::new(),
            fetched: vec![0],
            base_needed: false,
            values: false,
            batched: false,
            key_vectors: 0,
        };
        let covered = request
            .columns
            .iter()
            .all(|column| plan.entry_access(*column).is_some());
        plan.batched = !covered;
        plan.columns = plan.accesses(&request.columns, covered)?;
        if request.entry_filter.is_some() {
            plan.entry_columns = plan.accesses(&request.entry_columns, true)?;
        }
        plan.base_needed = plan
            .columns
            .iter()
            .any(|a| matches!(a, Access::Value { fetched: 0, .. } | Access::Written));
        let from_rows = plan.batched && plan.index.is_some();
        let columns = plan.columns.iter().filter(|_| !from_rows);
        let read_in_entry = columns.chain(&plan.entry_columns);
        plan.values = read_in_entry
            .filter(|access| plan.reads_entry_value(access))
            .count()
            > 0;
        plan.values |= plan
            .index
            .as_ref()
            .is_some_and(|index| plan.batched && index.index.unique);
        Ok(plan)
    }

    /// Returns where the entries of the source have a column, if they do.
    pub(super) fn entry_access(&self, column: ColumnId) -> Option<Access> {
        if column == ColumnId::WRITTEN {
            let in_blocks = self.is_columnar();
            return (!in_blocks).then_some(Access::Written);
        }
        let position = self.codec.table.position(column)?;
        match &self.index {
            Some(index) => index.place(position).map(Access::Entry),
            None => match self.codec.place(position) {
                ColumnPlace::Key(at) => Some(Access::Key(at)),
                ColumnPlace::Value { family: 0, ordinal } => Some(Access::Value { fetched: 0, ordinal }),
                ColumnPlace::Value { .. } => None,
                ColumnPlace::Written => Some(Access::Written),
            },
        }
    }

    pub(super) fn accesses(
        &mut self,
        columns: &[ColumnId],
        in_entry: bool,
    ) -> Result<Vec<Access>, EngineError> {
        let mut accesses = Vec::with_capacity(columns.len());
        for column in columns {
            let access = match in_entry {
                true => self.entry_access(*column),
                false => self.row_access(*column),
            };
            accesses.push(access.ok_or_else(|| self.unknown_column(*column))?);
        }
        Ok(accesses)
    }

    /// Returns where the row has a column, and notes the family to be read.
    pub(super) fn row_access(&mut self, column: ColumnId) -> Option<Access> {
        if column == ColumnId::WRITTEN {
            return Some(Access::Written);
        }
        let position = self.codec.table.position(column)?;
        Some(match self.codec.place(position) {
            ColumnPlace::Key(at) => Access::Key(at),
            ColumnPlace::Written => Access::Written,
            ColumnPlace::Value { family, ordinal } => {
                let known = self.fetched.iter().position(|fetched| *fetched == family);
                let fetched = known.unwrap_or_else(|| {
                    self.fetched.push(family);
                    self.fetched.len() - 1
                });
                Access::Value { fetched, ordinal }
            }
        })
    }

    pub(super) fn unknown_column(&self, column: ColumnId) -> EngineError {
        let table = &self.codec.table;
        let column = match table.column(column) {
            Some(column) => column.name.clone(),
            None => format!("column {}", column.0),
        };
        CatalogError::UnknownColumn {
            table: table.name.clone(),
            column,
        }
        .into()
    }

    pub(super) fn reads_entry_value(&self, access: &Access) -> bool {
        match (access, &self.index) {
            (Access::Entry(place), Some(index)) => index.needs_value(*place),
            (Access::Value { fetched: 0, .. }, None) | (Access::Written, _) => true,
            _ => false,
        }
    }

    /// Returns which values of family 0 its views look at.
    pub(super) fn ordinals(&self) -> Arc<[usize]> {
        let looked_at = self.columns.iter().chain(&self.entry_columns);
        let ordinals = looked_at.filter_map(|access| match access {
            Access::Value { fetched: 0, ordinal } => Some(*ordinal),
            _ => None,
        });
        let mut ordinals: Vec<usize> = ordinals.collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        ordinals.into()
    }

    /// Whether entries come from blocks.
    pub(super) fn is_columnar(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.blocks().is_some())
    }

    /// The layout of the keys that the scan walks over.
    pub(super) fn layout(&self) -> &KeyLayout {
        match &self.index {
            Some(index) => &index.layout,
            None => &self.codec.key,
        }
    }

    pub(super) fn entry_corruption(&self, key: &[u8], error: DecodeError) -> EngineError {
        match &self.index {
            Some(index) => index.corruption(key, error),
            None => self.codec.corruption(key, error),
        }
    }

    pub(super) fn storage(&self) -> &str {
        match &self.index {
            Some(index) => &index.storage,
            None => &self.codec.families[0].storage,
        }
    }

    /// Opens a stored entry of the source.
    #[inline]
    pub(super) fn entry<'a>(&'a self, key: &'a [u8], value: &'a [u8]) -> Result<Place<'a>, EngineError> {
        match &self.index {
            Some(index) if self.values => {
                let entry = index.open(key, value).map_err(|e| index.corruption(key, e))?;
                Ok(Place::Entry { key, entry })
            }
            Some(index) => Ok(Place::Entry {
                key,
                entry: index.open_key(key),
            }),
            None => {
                let mut values = FamilyValues::new();
                if self.values {
                    let base = self.codec.families[0].open(value);
                    values.push(Some(base.map_err(|e| self.codec.corruption(key, e.into()))?));
                }
                Ok(Place::Row { key, values })
            }
        }
    }

    /// Opens a row that was fetched, its values in the order of [`Plan::fetched`].
    pub(crate) fn row<'a>(
        &'a self,
        key: &'a [u8],
        values: impl Iterator<Item = Option<&'a [u8]>>,
    ) -> Result<RowView<'a>, EngineError> {
        let mut opened = FamilyValues::new();
        for (nth, value) in values.enumerate() {
            let family = &self.codec.families[self.fetched[nth]];
            let value = value.filter(|_| nth > 0 || self.base_needed);
            let value = value.map(|value| family.open(value)).transpose();
            opened.push(value.map_err(|e| self.codec.family_corruption(family, key, e.into()))?);
        }
        Ok(RowView {
            plan: self,
            columns: &self.columns,
            place: Place::Row { key, values: opened },
        })
    }
}

pub(super) type FamilyValues<'a> = SmallVec<[Option<FamilyValue<'a>>; 1]>;

/// What a view looks at.
pub(super) enum Place<'a> {
    Entry { key: &'a [u8], entry: EntryView<'a> },
    Row { key: &'a [u8], values: FamilyValues<'a> },
    Vectors { batch: &'a ColumnBatch, row: usize },
}

/// A row under the scan's cursor: columns decode on demand.
pub struct RowView<'a> {
    pub(super) plan: &'a Plan,
    pub(super) columns: &'a [Access],
    pub(super) place: Place<'a>,
}

impl RowView<'_> {
    /// Returns the datum of the `i`-th requested column.
    ///
    /// Fails with [`EngineError::Corruption`] that names the table or index and the key.
    ///
    /// # Panics
    /// If the scan has fewer columns.
    #[inline]
    pub fn datum(&self, i: usize) -> Result<DatumRef<'_>, EngineError> {
        let codec = &*self.plan.codec;
        match (&self.place, self.columns[i]) {
            (Place::Entry { key, entry }, Access::Entry(place)) => entry
                .datum(codec, place)
                .map_err(|e| self.entry_corruption(key, e)),
            (Place::Row { key, .. }, Access::Key(at)) => codec
                .key
                .decode_column(key, at)
                .map_err(|e| codec.corruption(key, e.into())),
            (Place::Row { key, values }, Access::Value { fetched, ordinal }) => {
                let Some(Some(value)) = values.get(fetched) else {
                    return Ok(DatumRef::Null);
                };
                let family = &codec.families[self.plan.fetched[fetched]];
                value
                    .datum(ordinal)
                    .map_err(|e| codec.family_corruption(family, key, e.into()))
            }
            (Place::Entry { key, entry }, Access::Written) => entry
                .written(codec.since())
                .map_err(|e| self.entry_corruption(key, e)),
            (Place::Row { key, values }, Access::Written) => match values.first() {
                Some(Some(value)) => value
                    .written(codec.since())
                    .map_err(|e| codec.corruption(key, e.into())),
                _ => Ok(DatumRef::Null),
            },
            (Place::Vectors { batch, row }, Access::Vector(at)) => batch.columns[at]
                .datum(*row)
                .map_err(|e| self.vector_corruption(e)),
            _ => unreachable!("a plan gives entry places to entries, row places to rows"),
        }
    }

    /// Returns how many columns the view gives.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether the view gives no column.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub(super) fn vector_corruption(&self, error: impl ToString) -> EngineError {
        match &self.plan.index {
            Some(index) => index.corruption(&[], error),
            None => self.plan.codec.corruption(&[], DecodeError::EntryForm),
        }
    }

    pub(super) fn entry_corruption(&self, key: &[u8], error: DecodeError) -> EngineError {
        self.plan.entry_corruption(key, error)
    }
}
