//! FOREIGN KEY constraints: which values rows refer to and offer, where such rows are found, and checks of stored rows.
//!
//! Statements are checked in [`foreign`](crate::writing::foreign).

use crate::forms::codec::TableCodec;
use crate::reading::definitions::Definitions;
use crate::reading::rows::RowReader;
use crate::reading::scan::{ScanRequest, Source};
use crate::reading::snapshot::Snapshot;
use crate::state::touches::ReferredValue;
use crate::writing::pending::{Image, PendingTable};
use crate::{EngineError, Row};
use rukh_catalog::{ColumnId, ForeignKey, IndexState, Table, TableId, begins_with};
use rukh_keys::{Datum, KeyColumn, KeyLayout, SortOrder, Span};
use rukh_kv::Touch;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Rows that are read at once.
const ROWS: usize = 1024;

/// A check that is left to the end of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeferredCheck {
    /// The referencing table and the name of its constraint.
    pub(crate) table: TableId,
    pub(crate) constraint: String,
    of: Of,
}

impl DeferredCheck {
    /// Says that the row under a key is to refer to something.
    pub(crate) fn of_row(constraint: &Constraint, row_key: &[u8]) -> Self {
        DeferredCheck::new(constraint, Of::Row(row_key.to_vec()))
    }

    /// Says that no row is to refer to a value, unless another row has it again.
    pub(crate) fn of_value(constraint: &Constraint, value: &[Datum]) -> Self {
        DeferredCheck::new(constraint, Of::Value(value.to_vec()))
    }

    fn new(constraint: &Constraint, of: Of) -> Self {
        DeferredCheck {
            table: constraint.referencing.table.id,
            constraint: constraint.key.name.clone(),
            of,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Of {
    /// The referencing row under this key.
    Row(Vec<u8>),
    /// A value that a referenced row had.
    Value(Row),
}

/// What a statement has to name to others, and what is left to check.
#[derive(Default)]
pub(crate) struct Enforced {
    pub(crate) touched: Vec<Touch>,
    pub(crate) deferred: Vec<DeferredCheck>,
}

/// Values of some columns by their bytes, none of them NULL.
pub(crate) type Values = BTreeMap<Vec<u8>, Row>;

/// One constraint, with both of its tables.
pub(crate) struct Constraint {
    pub(crate) key: ForeignKey,
    pub(crate) referencing: Arc<TableCodec>,
    pub(crate) referenced: Arc<TableCodec>,
    /// How values are compared: as keys of the referenced columns.
    pub(crate) layout: KeyLayout,
}

impl Constraint {
    pub(crate) fn of(
        definitions: &Definitions,
        table: TableId,
        key: &ForeignKey,
    ) -> Result<Self, EngineError> {
        let referenced = definitions.codec(key.referenced)?.clone();
        Ok(Constraint {
            layout: layout(&referenced.table, &key.referenced_columns),
            key: key.clone(),
            referencing: definitions.codec(table)?.clone(),
            referenced,
        })
    }

    /// Returns the value that a row refers to; `None` where one of its columns is NULL, or where no row can have it.
    pub(crate) fn referred(&self, row: &[Datum]) -> Option<(Vec<u8>, Row)> {
        self.value(&self.referencing.table, &self.key.columns, row)
    }

    /// Returns the value that a row of the referenced table has.
    pub(crate) fn offered(&self, row: &[Datum]) -> Option<(Vec<u8>, Row)> {
        self.value(&self.referenced.table, &self.key.referenced_columns, row)
    }

    fn value(&self, table: &Table, columns: &[ColumnId], row: &[Datum]) -> Option<(Vec<u8>, Row)> {
        let value: Row = positions(table, columns).map(|at| row[at].clone()).collect();
        match value.iter().any(Datum::is_null) {
            true => None,
            false => Some((self.layout.encode(&value).ok()?, value)),
        }
    }

    /// Whether a row has NULL in none of the referencing columns, in some, or in all.
    pub(crate) fn nulls(&self, row: &[Datum]) -> Nulls {
        let nulls = positions(&self.referencing.table, &self.key.columns).map(|at| row[at].is_null());
        match nulls.fold((false, false), |(some, none), null| (some || null, none || !null)) {
            (false, _) => Nulls::None,
            (true, true) => Nulls::Some,
            (true, false) => Nulls::All,
        }
    }

    /// Names a value to other transactions.
    pub(crate) fn named(&self, value: &[Datum]) -> Option<ReferredValue> {
        let columns = self.key.referenced_columns.iter().copied();
        let mut pairs: Vec<(ColumnId, Datum)> = columns.zip(value.iter().cloned()).collect();
        pairs.sort_by_key(|(column, _)| *column);
        let (columns, value): (Vec<ColumnId>, Row) = pairs.into_iter().unzip();
        let key = layout(&self.referenced.table, &columns).encode(&value).ok()?;
        Some((columns, key))
    }

    /// Says that a row refers to nothing.
    pub(crate) fn nothing_there(&self, row: &[Datum]) -> EngineError {
        let table = &self.referencing.table;
        EngineError::ReferencedMissing {
            table: table.name.clone(),
            constraint: self.key.name.clone(),
            key: shown_key(table, &self.key.columns, row),
            referenced: self.referenced.table.name.clone(),
        }
    }

    /// Says that a row still refers to a value.
    pub(crate) fn still_referred(&self, value: &[Datum]) -> EngineError {
        let table = &self.referenced.table;
        let names = names(table, &self.key.referenced_columns);
        EngineError::StillReferenced {
            table: table.name.clone(),
            constraint: self.key.name.clone(),
            referencing: self.referencing.table.name.clone(),
            key: format!(
                "({names})=({})",
                shown(table, &self.key.referenced_columns, value)
            ),
        }
    }
}

#[derive(PartialEq)]
pub(crate) enum Nulls {
    None,
    Some,
    All,
}

/// Does a check that was left to the end of a transaction, on the state that the transaction leaves.
pub(crate) fn check_deferred(snapshot: &Snapshot, check: &DeferredCheck) -> Result<(), EngineError> {
    let definitions = &snapshot.definitions;
    // The table, or the constraint, may have been dropped since.
    let Ok(codec) = definitions.codec(check.table) else {
        return Ok(());
    };
    let Some(key) = codec.table.foreign_key(&check.constraint) else {
        return Ok(());
    };
    let constraint = Constraint::of(definitions, check.table, key)?;
    let one = |(bytes, value): (Vec<u8>, Row)| Values::from([(bytes, value)]);
    match &check.of {
        Of::Row(row_key) => {
            let Some(row) = snapshot.get_encoded(codec, row_key)? else {
                return Ok(());
            };
            if constraint.nulls(&row) != Nulls::None {
                return Ok(());
            }
            let values = constraint.referred(&row).map(one).unwrap_or_default();
            match offered(snapshot, None, &constraint, &values)?.is_empty() {
                true => Err(constraint.nothing_there(&row)),
                false => Ok(()),
            }
        }
        Of::Value(value) => {
            let Ok(bytes) = constraint.layout.encode(value) else {
                return Ok(());
            };
            let values = one((bytes, value.clone()));
            if !offered(snapshot, None, &constraint, &values)?.is_empty() {
                return Ok(());
            }
            let mut found = false;
            matching(snapshot, codec, &key.columns, &values, &mut |_, _| found = true)?;
            match found {
                true => Err(constraint.still_referred(value)),
                false => Ok(()),
            }
        }
    }
}

/// Checks that rows of a table, which a load adds, refer to stored rows of other tables.
pub(crate) fn check_loaded(snapshot: &Snapshot, table: &Table, rows: &[Row]) -> Result<(), EngineError> {
    table
        .foreign_keys
        .iter()
        .try_for_each(|key| check_rows(snapshot, &snapshot.definitions, table.id, key, rows))
}

/// Checks that all rows of a table keep a constraint, which the definitions have.
pub(crate) fn validate(snapshot: &Snapshot, table: TableId, key: &ForeignKey) -> Result<(), EngineError> {
    let codec = snapshot.codec(table)?.clone();
    let wanted: Vec<usize> = positions(&codec.table, &key.columns).collect();
    let mut reader = RowReader::new(snapshot, codec)?.only(&wanted);
    while let Some(rows) = reader.next()? {
        check_rows(snapshot, &snapshot.definitions, table, key, &rows.rows)?;
    }
    Ok(())
}

fn check_rows(
    snapshot: &Snapshot,
    definitions: &Definitions,
    table: TableId,
    key: &ForeignKey,
    rows: &[Row],
) -> Result<(), EngineError> {
    let constraint = Constraint::of(definitions, table, key)?;
    let mut values = Values::new();
    for row in rows {
        match constraint.nulls(row) {
            Nulls::None => match constraint.referred(row) {
                Some((bytes, value)) => drop(values.insert(bytes, value)),
                None => return Err(constraint.nothing_there(row)),
            },
            Nulls::Some if key.match_full => {
                return Err(EngineError::MixedNulls {
                    table: constraint.referencing.table.name.clone(),
                    constraint: key.name.clone(),
                });
            }
            Nulls::Some | Nulls::All => {}
        }
    }
    let offered = offered(snapshot, None, &constraint, &values)?;
    let refers = |row: &&Row| {
        constraint
            .referred(row)
            .is_some_and(|(value, _)| !offered.contains(&value))
    };
    match rows.iter().find(refers) {
        Some(row) => Err(constraint.nothing_there(row)),
        None => Ok(()),
    }
}

/// Returns which of these values rows of the referenced table have, after the changes that are pending.
pub(crate) fn offered(
    snapshot: &Snapshot,
    pending: Option<&PendingTable>,
    constraint: &Constraint,
    values: &Values,
) -> Result<HashSet<Vec<u8>>, EngineError> {
    let mut found = HashSet::new();
    let mut add = |row: &[Datum]| {
        let value = constraint
            .offered(row)
            .filter(|(value, _)| values.contains_key(value));
        found.extend(value.map(|(value, _)| value));
    };
    present(pending).for_each(|(_, row)| add(row));
    let columns = &constraint.key.referenced_columns;
    matching(
        snapshot,
        &constraint.referenced,
        columns,
        values,
        &mut |key, row| {
            if !is_touched(pending, &key) {
                add(&row);
            }
        },
    )?;
    Ok(found)
}

/// Shows the stored rows that have one of these values in some columns, with their keys: by the primary key or an index that begins with the columns, else by
/// reading all rows.
pub(crate) fn matching(
    snapshot: &Snapshot,
    codec: &Arc<TableCodec>,
    columns: &[ColumnId],
    values: &Values,
    visit: &mut dyn FnMut(Vec<u8>, Row),
) -> Result<(), EngineError> {
    if values.is_empty() {
        return Ok(());
    }
    let table = &codec.table;
    let index = codec.indexes.iter().find(|index| {
        let definition = &index.index;
        definition.state == IndexState::Ready
            && definition.predicate.is_none()
            && begins_with(&definition.elements, columns)
    });
    let (source, layout, elements) = match index {
        _ if begins_with(&table.primary_key, columns) => {
            (Source::Table, Some(&codec.key), &table.primary_key)
        }
        Some(index) => (
            Source::Index(index.index.id),
            Some(&index.layout),
            &index.index.elements,
        ),
        None => (Source::Table, None, &table.primary_key),
    };
    let ids = table.columns.iter().map(|column| column.id);
    let mut request = ScanRequest::all(table.clone(), ids.collect());
    request.source = source;
    if let Some(layout) = layout {
        let mut ranges = Vec::with_capacity(values.len());
        for value in values.values() {
            let place = |element: &rukh_catalog::KeyElement| {
                let id = element.expr.columns()[0];
                columns.iter().position(|column| *column == id)
            };
            let places = elements[..columns.len()].iter().filter_map(place);
            let prefix: Row = places.map(|at| value[at].clone()).collect();
            // A value that the column cannot have is one that no row has.
            let fits = prefix.iter().zip(layout.columns()).all(|(datum, column)| {
                column
                    .ty
                    .check(datum.clone())
                    .is_ok_and(|checked| checked == *datum)
            });
            if fits {
                ranges.extend(layout.ranges(&Span::prefix(prefix)));
            }
        }
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        request.ranges = ranges;
    }
    let mut cursor = snapshot.scan(request)?;
    let compare = self::layout(table, columns);
    let wanted: BTreeSet<Vec<u8>> = values
        .values()
        .filter_map(|value| compare.encode(value).ok())
        .collect();
    loop {
        let shown = cursor.next_rows(ROWS, &mut |view| {
            let row: Result<Row, EngineError> = (0..table.columns.len())
                .map(|at| Ok(view.datum(at)?.to_owned()))
                .collect();
            let row = row?;
            let value: Row = positions(table, columns).map(|at| row[at].clone()).collect();
            if compare.encode(&value).is_ok_and(|value| wanted.contains(&value)) {
                let mut key = Vec::new();
                codec.row_key(&row, &mut key)?;
                visit(key, row);
            }
            Ok(())
        })?;
        if shown == 0 {
            return Ok(());
        }
    }
}

/// Whether a statement has done something to the row under a key.
pub(crate) fn is_touched(pending: Option<&PendingTable>, key: &[u8]) -> bool {
    let row = pending.and_then(|pending| pending.rows.get(key));
    row.is_some_and(|row| !matches!(row.image, Image::Untouched))
}

/// Returns the rows that a statement has written, as it leaves them, with their keys.
pub(crate) fn present(pending: Option<&PendingTable>) -> impl Iterator<Item = (&Vec<u8>, &Row)> {
    let rows = pending.into_iter().flat_map(|pending| &pending.rows);
    rows.filter_map(|(key, row)| match &row.image {
        Image::Row(row) => Some((key, row)),
        Image::Untouched | Image::Gone => None,
    })
}

/// Returns the layout of keys of some columns.
fn layout(table: &Table, columns: &[ColumnId]) -> KeyLayout {
    let columns = positions(table, columns).map(|at| KeyColumn {
        ty: table.columns[at].ty,
        order: SortOrder::Asc,
        nullable: true,
    });
    KeyLayout::new(columns.collect(), None)
}

/// Returns the positions of columns, all of which a table has.
pub(crate) fn positions(table: &Table, columns: &[ColumnId]) -> impl Iterator<Item = usize> {
    columns.iter().filter_map(|column| table.position(*column))
}

fn names(table: &Table, columns: &[ColumnId]) -> String {
    let names = positions(table, columns).map(|at| table.columns[at].name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

fn shown(table: &Table, columns: &[ColumnId], values: &[Datum]) -> String {
    let texts = positions(table, columns)
        .zip(values)
        .map(|(at, value)| table.columns[at].ty.format_text(value));
    texts.collect::<Vec<_>>().join(", ")
}

fn shown_key(table: &Table, columns: &[ColumnId], row: &[Datum]) -> String {
    let values: Row = positions(table, columns).map(|at| row[at].clone()).collect();
    format!("({})=({})", names(table, columns), shown(table, columns, &values))
}
