//! Adding to counters without reading them: merges instead of images before and after.
//!
//! Nothing but the number changes: no index, CHECK constraint or generated column depends on it
//! (`Table::adds_blindly`), so there is nothing to maintain and nothing to check.

use super::{PENDING_BYTES, Target, Write, check_size, row_key};
use crate::forms::codec::{ColumnPlace, FamilyCodec, TableCodec};
use crate::forms::counter::{self, CounterMerge};
use crate::state::touches::Touches;
use crate::storage::row_counts::{Grown, Growth};
use crate::writing::existing::are_there;
use crate::writing::pending::{CHUNK_ROWS, row_bytes};
use crate::{EngineError, Row};
use rukh_catalog::{ColumnId, Table, TableId};
use rukh_keys::{Datum, DatumRef, ValueError};
use rukh_kv::{MergeOperator, Touch, WriteBatch};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What became of an add to the row under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddOutcome {
    /// It will be done.
    Done,
    /// There is no such row.
    NoRow,
    /// A sum would not fit into 64 bits; nothing is done.
    OutOfRange,
}

/// By row key, what is done to rows.
pub(super) type PendingMerges = BTreeMap<Vec<u8>, PendingMerge>;

/// For each family an operand.
type Operands = SmallVec<[Option<Vec<u8>>; 2]>;

/// What is done to a row that is not read.
pub(super) struct PendingMerge {
    operands: Operands,
    /// Whether it does more than add, so that other additions conflict with it.
    changes: bool,
}

/// For each family, by position, columns of it with what is added to them.
type FamilyAmounts = SmallVec<[SmallVec<[(u32, i128); 2]>; 2]>;

impl Write {
    /// Whether [`Write::add`] is right for these columns: storage merges, and nothing depends on them.
    pub fn can_add(&self, table: &Table, columns: &[ColumnId]) -> bool {
        self.inner.store.merge_operator().is_some()
            && !table.options.immutable
            && columns.iter().all(|id| table.adds_blindly(*id))
    }

    /// Whether [`Write::insert_or_add`] is right for these columns and rows like `row`.
    pub fn can_insert_or_add(&self, table: &Table, columns: &[ColumnId], row: &[Datum]) -> bool {
        let Ok(codec) = self.snapshot.definitions.codec(table.id) else {
            return false;
        };
        // What a row has in another family is written if the row is new, which is unknown, unless the
        // family has an entry of every row.
        let is_settled = |family: &FamilyCodec| {
            let is_required = |at: &usize| !table.columns[*at].nullable;
            family.positions.iter().any(is_required) || family.is_absent(row)
        };
        self.can_add(table, columns)
            && table.indexes.is_empty()
            && codec.hashed_positions().next().is_none()
            && codec.families[1..].iter().all(is_settled)
    }

    /// Adds to counters of the row whose primary key has these datums.
    ///
    /// Of the row it is only read whether it is there and whether the sums fit. Others may add at the
    /// same time: two transactions that only add do not conflict.
    pub fn add(
        &mut self,
        table: &Arc<Table>,
        key: &[Datum],
        amounts: &[(ColumnId, i64)],
    ) -> Result<AddOutcome, EngineError> {
        let codec = self.snapshot.definitions.codec(table.id)?.clone();
        let key = match codec.key.encode(key) {
            Err(ValueError::WideForKey { .. }) => return Ok(AddOutcome::NoRow),
            key => key?,
        };
        let amounts = by_family(&codec, amounts);
        for (nth, (family, amounts)) in codec.families.iter().zip(&amounts).enumerate() {
            if nth > 0 && amounts.is_empty() {
                continue;
            }
            let Some(value) = self.snapshot.kv.get(&family.storage, &key)? else {
                match nth {
                    0 => return Ok(AddOutcome::NoRow),
                    _ => continue,
                }
            };
            if !fits(&codec, family, &key, &value, amounts)? {
                return Ok(AddOutcome::OutOfRange);
            }
        }
        let operand = |amounts: &SmallVec<[(u32, i128); 2]>| {
            (!amounts.is_empty()).then(|| counter::operand(amounts, &[], None))
        };
        let operands = amounts.iter().map(operand).collect();
        self.note_merge(table.id, key, operands, false)?;
        Ok(AddOutcome::Done)
    }

    /// Adds rows or, where their keys are taken, adds to counters of the rows that have them; reads nothing.
    ///
    /// `amounts` are for each row the columns with what is added. Rows must be such that
    /// [`Write::can_insert_or_add`]. Generated columns are computed, and constraints checked, on the rows
    /// given.
    pub fn insert_or_add(
        &mut self,
        table: &Arc<Table>,
        mut rows: Vec<Row>,
        amounts: &[Vec<(ColumnId, i64)>],
    ) -> Result<u64, EngineError> {
        let codec = self.snapshot.definitions.codec(table.id)?.clone();
        let maintainer = self.inner.maintainer(&self.snapshot.definitions, table.id)?;
        maintainer.rules.apply(&codec, &mut rows)?;
        for (row, amounts) in rows.iter().zip(amounts) {
            let key = row_key(&codec, row)?;
            let mut operands = SmallVec::new();
            for (nth, (family, amounts)) in codec.families.iter().zip(by_family(&codec, amounts)).enumerate()
            {
                let mut value = Vec::new();
                operands.push(match nth > 0 && family.is_absent(row) {
                    true => None,
                    false => {
                        family.encode(row, None, &mut value)?;
                        Some(counter::operand(&amounts, &[], Some(&value)))
                    }
                });
            }
            self.bytes += row_bytes(row);
            self.note_merge(table.id, key, operands, false)?;
        }
        Ok(rows.len() as u64)
    }

    /// Keeps what is done to a row, after what was done to it before.
    pub(super) fn note_merge(
        &mut self,
        table: TableId,
        key: Vec<u8>,
        operands: Operands,
        changes: bool,
    ) -> Result<(), EngineError> {
        use std::collections::btree_map::Entry;
        let operand_bytes: usize = operands.iter().flatten().map(Vec::len).sum();
        self.bytes += PENDING_BYTES + (key.len() + operand_bytes) as u64;
        check_size(self.bytes, self.bytes_max)?;
        match self.merges.entry(table).or_default().entry(key) {
            Entry::Vacant(new) => drop(new.insert(PendingMerge { operands, changes })),
            Entry::Occupied(mut known) => {
                let key = known.key().clone();
                let known = known.get_mut();
                known.changes |= changes;
                for (older, newer) in known.operands.iter_mut().zip(operands) {
                    *older = match (older.take(), newer) {
                        (Some(older), Some(newer)) => {
                            let both = CounterMerge.combine(&key, &older, &newer);
                            Some(both.expect("operands made here combine"))
                        }
                        (older, newer) => older.or(newer),
                    };
                }
            }
        }
        Ok(())
    }

    /// Puts all merges into a batch, behind what else the statement does, and notes the rows touched; those that are only
    /// added to also where no transaction is open yet: one that begins meanwhile must not take them for changes.
    pub(super) fn stage_merges(
        &self,
        batch: &mut WriteBatch,
        touches: &Touches,
        touched: &mut Vec<Touch>,
        grown: &mut Growth,
    ) -> Result<(), EngineError> {
        for (table, merges) in &self.merges {
            let codec = self.snapshot.definitions.codec(*table)?;
            *grown.entry(*table).or_default() += self.growth(codec, merges)?;
            for (key, merge) in merges {
                for (family, operand) in codec.families.iter().zip(&merge.operands) {
                    if let Some(operand) = operand {
                        batch.merge(&family.storage, key, operand);
                    }
                }
                touched.push(match merge.changes {
                    true => touches.row(*table, key),
                    false => touches.added(*table, key),
                });
            }
        }
        Ok(())
    }
}

impl Write {
    /// How many rows merges add to a table.
    fn growth(&self, codec: &TableCodec, merges: &PendingMerges) -> Result<Grown, EngineError> {
        let is_kept = self.inner.keeps_rows(&codec.table)?;
        let pending = self.tables.get(&codec.table.id);
        if !is_kept || pending.is_some_and(|pending| !pending.rows.is_empty()) {
            let changes = merges.values().filter(|merge| merge.changes).count();
            return Ok(Grown::about(changes as i64));
        }
        let keys: Vec<&[u8]> = merges.keys().map(Vec::as_slice).collect();
        let mut there = Vec::with_capacity(keys.len());
        for keys in keys.chunks(CHUNK_ROWS) {
            there.extend(are_there(&self.snapshot, codec, keys)?);
        }
        let new = || merges.values().zip(&there).filter(|(_, is_there)| !**is_there);
        // Of transactions that add to one new row, which do not conflict, each would count it.
        let is_alone = matches!(self.target, Target::Store { .. });
        Ok(Grown {
            rows: new().count() as i64,
            is_exact: is_alone || new().all(|(merge, _)| merge.changes),
        })
    }
}

/// Sorts amounts by the family of their columns.
fn by_family(codec: &TableCodec, amounts: &[(ColumnId, i64)]) -> FamilyAmounts {
    let mut sorted: FamilyAmounts = codec.families.iter().map(|_| SmallVec::new()).collect();
    for (id, amount) in amounts {
        let position = codec.table.position(*id);
        if let Some(ColumnPlace::Value { family, .. }) = position.map(|at| codec.place(at)) {
            sorted[family] = counter::sum(&sorted[family], &[(id.0, i128::from(*amount))]);
        }
    }
    sorted
}

/// Whether the counters of a stored value take what is added.
fn fits(
    codec: &TableCodec,
    family: &FamilyCodec,
    key: &[u8],
    value: &[u8],
    amounts: &[(u32, i128)],
) -> Result<bool, EngineError> {
    let corruption =
        |error: crate::forms::row::RowDecodeError| codec.family_corruption(family, key, error.into());
    let value = family.open(value).map_err(corruption)?;
    for (column, amount) in amounts {
        let ordinal = family.ordinal(ColumnId(*column));
        let datum = ordinal.map(|ordinal| value.datum(ordinal)).transpose();
        if let Some(DatumRef::Int(stored)) = datum.map_err(corruption)? {
            let sum = i128::from(stored) + amount;
            if i64::try_from(sum).is_err() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
