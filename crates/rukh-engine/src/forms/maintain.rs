//! Index maintenance: which entries a row has, and what changes when the row does.
//!
//! An entry is a function of its row and the row's times alone, so the change of an index is the difference between
//! the entries of the old and of the new image. Rows are taken in batches because expressions and
//! partial predicates are evaluated by vectors.

use crate::forms::codec::{DatumRefs, TableCodec, element_datum, unique_violation};
use crate::forms::compiled::Compiled;
use crate::forms::entry::{IndexCodec, KeyedRow};
use crate::forms::row::Times;
use crate::forms::rules::Rules;
use crate::{EngineError, RowFunctions};
use rukh_catalog::{ColumnId, Index, KeyExpr, Table};
use rukh_keys::{DataType, Datum, DatumRef, SortOrder, quoted_name};
use rukh_kv::WriteBatch;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The images of a row before and after a statement.
#[derive(Clone, Copy)]
pub(crate) struct RowChange<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) old: Option<&'a [Datum]>,
    pub(crate) new: Option<&'a [Datum]>,
    /// The times of the new image, if it carries any: it is then rewritten with all its entries,
    /// whatever changed.
    pub(crate) times: Option<Times>,
    /// Whether the row was not read, so that there may be an old image which `old` does not have.
    pub(crate) blind: bool,
    /// Whether, although it was not read, it is certain that there is one.
    pub(crate) is_there: bool,
}

/// A stored index entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// What becomes of one row's entry: the key that goes, the entry that comes.
pub(crate) struct EntryChange {
    /// Position of the row's change.
    pub(crate) change: usize,
    pub(crate) removed: Option<Vec<u8>>,
    pub(crate) added: Option<Entry>,
}

/// A table with everything needed to keep its indexes.
pub(crate) struct Maintainer {
    pub(crate) codec: Arc<TableCodec>,
    /// The indexes that writes maintain, in the order of the definition.
    pub(crate) indexes: Vec<IndexMaintainer>,
    pub(crate) rules: Rules,
}

impl Maintainer {
    /// Compiles the expressions of a table and of its indexes, and keeps those that writes maintain.
    pub(crate) fn new(codec: Arc<TableCodec>, functions: &dyn RowFunctions) -> Result<Self, EngineError> {
        let mut all = Maintainer::of_all(codec, functions)?;
        all.indexes
            .retain(|index| index.codec.index.state.is_maintained());
        Ok(all)
    }

    /// As [`Maintainer::new`], with all indexes whatever their state.
    pub(crate) fn of_all(codec: Arc<TableCodec>, functions: &dyn RowFunctions) -> Result<Self, EngineError> {
        let compile = |index: &Arc<IndexCodec>| IndexMaintainer::new(&codec, index.clone(), functions);
        let indexes = codec.indexes.iter().map(compile).collect::<Result<_, _>>()?;
        let rules = Rules::new(&codec.table, functions)?;
        Ok(Maintainer {
            codec,
            indexes,
            rules,
        })
    }

    /// Whether replacing a row blindly could leave an entry of its old image behind, or lose an image that is
    /// to be kept.
    pub(crate) fn needs_old_row(&self) -> bool {
        self.codec.table.options.versions.is_some() || self.indexes.iter().any(|index| !index.from_key)
    }
}

/// An index with its compiled expressions.
pub(crate) struct IndexMaintainer {
    pub(crate) codec: Arc<IndexCodec>,
    elements: Vec<Element>,
    predicate: Option<Compiled>,
    /// Declared positions of all columns that an entry depends on.
    read: Vec<usize>,
    /// Those of them that are needed beside the row key.
    needed: Vec<usize>,
    /// Whether an entry, or at least its key in a columnar index, depends on columns of the row key
    /// only.
    from_key: bool,
}

/// What an element of the entry's key is computed from.
enum Element {
    Column {
        position: usize,
        hash_bytes: Option<u8>,
    },
    /// A hash that row keys have, in these bytes: it need not be computed again.
    RowKey(Range<usize>),
    Expression(Compiled),
}

impl IndexMaintainer {
    /// Compiles the expressions of an index.
    pub(crate) fn new(
        table: &TableCodec,
        codec: Arc<IndexCodec>,
        functions: &dyn RowFunctions,
    ) -> Result<Self, EngineError> {
        let definition = &table.table;
        let elements = codec.index.key_elements(definition);
        let elements = elements.iter().map(|e| element(table, &e.expr, functions));
        let elements: Vec<Element> = elements.collect::<Result<_, _>>()?;
        let predicate = codec.index.predicate.as_ref();
        let predicate = predicate.map(|p| Compiled::new(definition, &p.sql, &DataType::Boolean, functions));
        let read = codec.index.columns_read(definition);
        let in_key = |columns: &[ColumnId]| columns.iter().all(|column| definition.in_primary_key(*column));
        let from_key = match codec.index.is_columnar() {
            // A change of a columnar index replaces what is stored under its key, whatever that is.
            true => codec
                .index
                .elements
                .iter()
                .all(|element| in_key(&element.expr.columns())),
            false => in_key(&read),
        };
        let read = read.iter().filter_map(|column| definition.position(*column));
        let read: Vec<usize> = read.collect();
        Ok(IndexMaintainer {
            needed: needed(definition, &codec.index, &elements),
            elements,
            predicate: predicate.transpose()?,
            from_key,
            read,
            codec,
        })
    }

    /// Returns the declared positions of the columns that [`IndexMaintainer::visit_entries`] looks at.
    pub(crate) fn needed(&self) -> &[usize] {
        &self.needed
    }

    /// Shows the entry of each row that has one to `visit`: position of the row, key, value.
    pub(crate) fn visit_entries(
        &self,
        rows: &[KeyedRow<'_>],
        visit: &mut dyn FnMut(usize, &[u8], &[u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let chosen = self.chosen(rows)?;
        let computed = self.computed(rows, &chosen)?;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for (nth, at) in chosen.iter().enumerate() {
            let row = rows[*at].row;
            let mut columns = computed.iter();
            let datum = |element: &Element| match element {
                Element::Column { position, hash_bytes } => element_datum(&row[*position], *hash_bytes),
                Element::RowKey(bytes) => {
                    let hash = rows[*at].key.get(bytes.clone()).unwrap_or_default();
                    DatumRef::Bytes(Cow::Borrowed(hash))
                }
                Element::Expression(_) => {
                    let column = columns
                        .next()
                        .expect("one column was computed for each expression");
                    column[nth].as_ref()
                }
            };
            let datums: DatumRefs<'_> = self.elements.iter().map(datum).collect();
            key.clear();
            value.clear();
            self.codec.encode(&datums, rows[*at], &mut key, &mut value)?;
            visit(*at, &key, &value)?;
        }
        Ok(())
    }

    /// Returns the entry of each row, or `None` where the predicate excludes it.
    pub(crate) fn entries(&self, rows: &[KeyedRow<'_>]) -> Result<Vec<Option<Entry>>, EngineError> {
        let mut entries = vec![None; rows.len()];
        self.visit_entries(rows, &mut |at, key, value| {
            entries[at] = Some(Entry {
                key: key.to_vec(),
                value: value.to_vec(),
            });
            Ok(())
        })?;
        Ok(entries)
    }

    /// Returns what becomes of the entries of changed rows; rows whose entry stays are left out.
    pub(crate) fn changes(&self, changes: &[RowChange<'_>]) -> Result<Vec<EntryChange>, EngineError> {
        let affected: Vec<usize> = (0..changes.len())
            .filter(|at| self.is_affected(&changes[*at]))
            .collect();
        // Of the entry that goes only the key matters.
        let mut old = self.image_entries(changes, &affected, |change| Some((change.old?, None)))?;
        let mut new = self.image_entries(changes, &affected, |change| Some((change.new?, change.times)))?;
        let mut result = Vec::with_capacity(affected.len());
        for change in affected {
            let (old, new) = (old[change].take(), new[change].take());
            if old == new && changes[change].times.is_none() {
                continue;
            }
            let replaced = matches!((&old, &new), (Some(old), Some(new)) if old.key == new.key);
            let removed = old.filter(|_| !replaced).map(|entry| entry.key);
            result.push(EntryChange {
                change,
                removed,
                added: new,
            });
        }
        Ok(result)
    }

    /// Whether the entry may differ between two images: some column that it depends on does.
    fn is_affected(&self, change: &RowChange<'_>) -> bool {
        match (change.old, change.new) {
            (Some(old), Some(new)) => {
                change.times.is_some() || self.read.iter().any(|at| old[*at] != new[*at])
            }
            (old, new) => old.is_some() || new.is_some(),
        }
    }

    fn image_entries<'a>(
        &self,
        changes: &[RowChange<'a>],
        affected: &[usize],
        image: impl Fn(&RowChange<'a>) -> Option<(&'a [Datum], Option<Times>)>,
    ) -> Result<Vec<Option<Entry>>, EngineError> {
        let present = affected.iter().filter_map(|at| {
            let (row, times) = image(&changes[*at])?;
            let key = changes[*at].key;
            Some((*at, KeyedRow { key, row, times }))
        });
        let (positions, rows): (Vec<usize>, Vec<KeyedRow<'_>>) = present.unzip();
        let mut entries = vec![None; changes.len()];
        for (at, entry) in positions.into_iter().zip(self.entries(&rows)?) {
            entries[at] = entry;
        }
        Ok(entries)
    }

    /// Returns the positions of the rows that the predicate takes.
    fn chosen(&self, rows: &[KeyedRow<'_>]) -> Result<Vec<usize>, EngineError> {
        let Some(predicate) = &self.predicate else {
            return Ok((0..rows.len()).collect());
        };
        let datums: Vec<&[Datum]> = rows.iter().map(|keyed| keyed.row).collect();
        let taken = predicate.evaluate(&datums)?;
        Ok((0..rows.len())
            .filter(|at| taken[*at] == Datum::Boolean(true))
            .collect())
    }

    /// Evaluates the expressions of the key, in order, on the chosen rows.
    fn computed(&self, rows: &[KeyedRow<'_>], chosen: &[usize]) -> Result<Vec<Vec<Datum>>, EngineError> {
        let expressions = self.elements.iter().filter_map(|element| match element {
            Element::Expression(compiled) => Some(compiled),
            Element::Column { .. } | Element::RowKey(_) => None,
        });
        let mut expressions = expressions.peekable();
        if expressions.peek().is_none() {
            return Ok(Vec::new());
        }
        let datums: Vec<&[Datum]> = chosen.iter().map(|at| rows[*at].row).collect();
        expressions
            .map(|expression| expression.evaluate(&datums))
            .collect()
    }

    /// Puts the entries of rows into a batch; `taken` has the keys of those that a UNIQUE index has got so far.
    pub(crate) fn put_entries(
        &self,
        table: &Table,
        rows: &[KeyedRow<'_>],
        taken: &mut HashSet<Vec<u8>>,
        batch: &mut WriteBatch,
    ) -> Result<(), EngineError> {
        let unique = self.codec.index.unique;
        self.visit_entries(rows, &mut |_, key, value| {
            if unique && !taken.insert(key.to_vec()) {
                return Err(self.duplicate(table, key));
            }
            batch.put(&self.codec.storage, key, value);
            Ok(())
        })
    }

    /// Makes the error for two rows with this entry key in a UNIQUE index.
    pub(crate) fn duplicate(&self, table: &Table, key: &[u8]) -> EngineError {
        let layout = &self.codec.layout;
        let datums = self.codec.decode_key(key).unwrap_or_default();
        let values = datums
            .iter()
            .zip(layout.columns())
            .map(|(datum, column)| match datum {
                Datum::Null => "null".to_string(),
                datum => column.ty.format_text(datum),
            });
        let columns = self
            .codec
            .index
            .elements
            .iter()
            .map(|element| match &element.expr {
                KeyExpr::Column(id) => quoted_name(table.column_name(*id)),
                expr => expr.sql(table),
            });
        unique_violation(
            &table.name,
            self.codec.index.name.clone(),
            columns.collect(),
            values.take(self.codec.declared).collect(),
        )
    }

    /// Whether an entry's key belongs to one row alone.
    pub(crate) fn is_exclusive(&self, key: &[u8]) -> bool {
        self.codec.index.unique && self.codec.is_exclusive(key)
    }
}

fn element(table: &TableCodec, expr: &KeyExpr, functions: &dyn RowFunctions) -> Result<Element, EngineError> {
    let definition = &table.table;
    let position = |id| {
        definition
            .position(id)
            .expect("a validated index knows its columns")
    };
    Ok(match expr {
        KeyExpr::Column(id) => Element::Column {
            position: position(*id),
            hash_bytes: None,
        },
        KeyExpr::Hash { column, bytes } => match hash_in_row_key(table, expr) {
            Some(range) => Element::RowKey(range),
            None => Element::Column {
                position: position(*column),
                hash_bytes: Some(*bytes),
            },
        },
        KeyExpr::Expression { sql, ty, .. } => {
            Element::Expression(Compiled::new(definition, sql, ty, functions)?)
        }
    })
}

/// Returns where row keys have a hash, if its bytes are there as they are.
fn hash_in_row_key(table: &TableCodec, hash: &KeyExpr) -> Option<Range<usize>> {
    let at = (table.table.primary_key.iter()).position(|element| element.expr == *hash)?;
    let column = table.key.columns()[at];
    let field = table.key.field(at)?;
    let is_plain = column.order == SortOrder::Asc && !column.nullable;
    is_plain.then_some(field.offset..field.offset + field.width?)
}

/// Returns the declared positions of the columns that entries of an index are made of, row keys given.
fn needed(table: &Table, index: &Index, elements: &[Element]) -> Vec<usize> {
    let in_elements = index.key_elements(table).into_iter().zip(elements);
    let in_elements = in_elements
        .filter(|(_, element)| !matches!(element, Element::RowKey(_)))
        .flat_map(|(element, _)| element.expr.columns());
    let predicate = index.predicate.iter().flat_map(|p| p.columns.iter().copied());
    let columns = in_elements.chain(index.include.iter().copied()).chain(predicate);
    let mut needed: Vec<usize> = columns.filter_map(|column| table.position(column)).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}
