//! How debts are paid; see `debts`.

use crate::columnar::stored::block::Piece;
use crate::folding::repack::{self, Want};
use crate::forms::codec::TableCodec;
use crate::forms::entry::IndexCodec;
use crate::reading::snapshot::Snapshot;
use crate::state::debts::Debt;
use crate::state::shared::{Engine, Inner};
use rukh_catalog::{IndexId, IndexState, TableId};
use rukh_keys::KeyRange;
use rukh_kv::{ScanSpec, WriteBatch};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The share of an index's rows that may be changes: one in this many.
const DEBT_SHARE: u64 = 20;

/// Changes folded for each that comes.
const PACE: i64 = 2;

/// Most that is owed for changes made before, so that one commit does not pay for all.
const CREDIT_MAX: i64 = 1 << 20;

impl Engine {
    /// Sets how many changes of a columnar index are left beside its blocks in any case, before commits
    /// begin to fold them.
    pub fn set_repack_rows(&self, rows: u64) {
        self.inner.debts.rows_min.store(rows, Ordering::Relaxed);
    }

    /// Says how many changes are beside the blocks, about, of each columnar index of a table that may be read, and of the
    /// table itself (`None`) if it is columnar.
    pub fn changes_beside_blocks(&self, table: TableId) -> Vec<(Option<IndexId>, u64)> {
        let definitions = self.inner.definitions();
        let Ok(codec) = definitions.codec(table) else {
            return Vec::new();
        };
        let known = ready_columnar(codec).filter_map(|index| {
            let debt = self.inner.debt(index.index.id, 0).ok()?;
            Some(((!index.is_table()).then_some(index.index.id), debt.changes))
        });
        known.collect()
    }

    /// Sets how many rows new blocks of columnar indexes have, 2 at least.
    pub fn set_block_rows(&self, rows: usize) {
        let rows = rows.clamp(2, crate::columnar::stored::block::BLOCK_ROWS);
        self.inner.debts.block_rows.store(rows, Ordering::Relaxed);
    }
}

impl Inner {
    /// Says how many changes a batch leaves beside the blocks of each columnar index of some tables, and of the tables themselves.
    ///
    /// A row that moves in an index is two: it goes at one place, and comes at another.
    pub(crate) fn changes_of(
        &self,
        tables: impl Iterator<Item = TableId>,
        batch: &WriteBatch,
    ) -> Vec<(IndexId, u64)> {
        let definitions = self.definitions();
        let codecs = tables.filter_map(|table| definitions.codec(table).ok());
        let changes = |index: &Arc<IndexCodec>| (index.index.id, batch.len_of(&index.storage) as u64);
        let changes = codecs.flat_map(|codec| ready_columnar(codec).map(changes));
        changes.filter(|(_, changes)| *changes > 0).collect()
    }

    /// Notes the changes that a commit has left beside blocks, and folds what is due. The caller holds no lock.
    pub(crate) fn note_changes(&self, changes: &[(IndexId, u64)]) {
        for (id, changes) in changes {
            // The commit is done, whatever becomes of this.
            let _ = self.pay(*id, *changes);
        }
    }

    /// As [`Inner::note_changes`], of a load of so many rows.
    pub(crate) fn note_loaded(&self, table: TableId, rows: u64) {
        let definitions = self.definitions();
        let Ok(codec) = definitions.codec(table) else {
            return;
        };
        let changes: Vec<_> = ready_columnar(codec)
            .map(|index| (index.index.id, rows))
            .collect();
        self.note_changes(&changes);
    }

    fn pay(&self, id: IndexId, changes: u64) -> Result<(), crate::EngineError> {
        let mut debt = self.debt(id, changes)?;
        let limit = self.limit(&debt);
        if debt.changes <= limit {
            return Ok(());
        }
        let repack = self.debts.repack_of(id);
        let Some(_repack) = repack.try_lock() else {
            return Ok(());
        };
        let mine = i64::try_from(changes).unwrap_or(CREDIT_MAX).saturating_mul(PACE);
        debt.credit = debt.credit.saturating_add(mine).min(CREDIT_MAX);
        let mut wrapped = false;
        while debt.credit > 0 && debt.changes > limit / 2 {
            let (folded, next) = repack::step(self, id, &debt.next, Want::Changes)?;
            debt.credit -= i64::try_from(folded.max(1)).unwrap_or(i64::MAX);
            debt.changes = debt.changes.saturating_sub(folded);
            debt.next = next.unwrap_or_default();
            if debt.next.is_empty() {
                debt.dead = debt.dead.or_else(|| Some(Vec::new()));
                // What was written twice was counted twice: without this, ever fewer changes were folded by each step.
                debt.changes = count_changes(&self.snapshot(), id)?;
                if wrapped {
                    break;
                }
                wrapped = true;
            }
        }
        if let Some(from) = debt.dead.take() {
            (_, debt.dead) = repack::step(self, id, &from, Want::Dead)?;
        }
        let mut known = self.debts.known.lock();
        if let Some(noted) = known.get_mut(&id) {
            *noted = debt;
        }
        Ok(())
    }

    /// Adds changes to what is known of an index; counts what is stored if nothing is.
    fn debt(&self, id: IndexId, changes: u64) -> Result<Debt, crate::EngineError> {
        if let Some(known) = self.debts.known.lock().get_mut(&id) {
            known.changes += changes;
            return Ok(known.clone());
        }
        let counted = count(
            &self.snapshot(),
            id,
            self.debts.block_rows.load(Ordering::Relaxed),
        )?;
        let mut known = self.debts.known.lock();
        Ok(known.entry(id).or_insert(counted).clone())
    }

    /// Returns how many changes an index is known to have beside its blocks.
    pub(crate) fn known_changes(&self, id: IndexId) -> Option<u64> {
        self.debts.known.lock().get(&id).map(|debt| debt.changes)
    }

    /// Whether an index has twice as many changes as are left beside its blocks, besides those that were folded since they
    /// were counted.
    pub(crate) fn is_far_behind(&self, id: IndexId, folded: u64) -> bool {
        let known = self.debts.known.lock();
        known.get(&id).is_some_and(|debt| {
            let limit = self.limit(debt);
            debt.changes.saturating_sub(folded) > 2 * limit
        })
    }

    /// Returns how many changes of an index are left beside its blocks.
    fn limit(&self, debt: &Debt) -> u64 {
        let least = self.debts.rows_min.load(Ordering::Relaxed);
        least.max(debt.rows / DEBT_SHARE)
    }

    /// Notes that all changes of an index were folded that it was known to have at a time; without such knowledge all is
    /// forgotten, and counted again.
    pub(crate) fn settle_debt(&self, id: IndexId, changes: Option<u64>) -> Result<(), crate::EngineError> {
        let Some(changes) = changes else {
            self.forget_debt(id);
            return Ok(());
        };
        let rows = count_rows(
            &self.snapshot(),
            id,
            self.debts.block_rows.load(Ordering::Relaxed),
        )?;
        if let Some(debt) = self.debts.known.lock().get_mut(&id) {
            *debt = Debt {
                changes: debt.changes.saturating_sub(changes),
                rows,
                ..Debt::default()
            };
        }
        Ok(())
    }

    /// Forgets what is known of an index: its storage was changed by other means.
    pub(crate) fn forget_debt(&self, id: IndexId) {
        self.debts.known.lock().remove(&id);
    }
}

/// Returns the columnar indexes of a table that may be read, and the table itself if it is columnar.
fn ready_columnar(codec: &TableCodec) -> impl Iterator<Item = &Arc<IndexCodec>> {
    let layouts = codec.indexes.iter().chain(&codec.blocks);
    layouts.filter(|index| index.blocks().is_some() && index.index.state == IndexState::Ready)
}

fn count(snapshot: &Snapshot, id: IndexId, block_rows: usize) -> Result<Debt, crate::EngineError> {
    Ok(Debt {
        changes: count_changes(snapshot, id)?,
        rows: count_rows(snapshot, id, block_rows)?,
        ..Debt::default()
    })
}

/// Returns the changes of an index that are beside its blocks.
fn count_changes(snapshot: &Snapshot, id: IndexId) -> Result<u64, crate::EngineError> {
    let index = repack::columnar_index(snapshot, id)?;
    Ok(snapshot.raw.count(&index.storage, ScanSpec::all().keys_only())?.0)
}

/// Returns the rows of all blocks of an index, about.
fn count_rows(snapshot: &Snapshot, id: IndexId, block_rows: usize) -> Result<u64, crate::EngineError> {
    let index = repack::columnar_index(snapshot, id)?;
    let heads = ScanSpec::ranges(vec![Piece::Head.range(&KeyRange::all())]).keys_only();
    let blocks = snapshot.raw.count(&repack::layout(&index).storage, heads)?.0;
    Ok(blocks * block_rows as u64)
}
