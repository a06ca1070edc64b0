//! Creating, dropping, rebuilding and switching off indexes.

use crate::building::build::{switched, unknown};
use crate::defining::alter::fill;
use crate::forms::codec::TableCodec;
use crate::forms::maintain::Maintainer;
use crate::reading::definitions::Definitions;
use crate::state::builds::{Build, BuildProgress};
use crate::state::shared::{Engine, Inner};
use crate::state::unsettled::Owed;
use crate::{EngineError, Progress};
use rukh_catalog::{ColumnId, Index, IndexDraft, IndexId, IndexState, Table, TableId, validate_index};
use rukh_keys::KeyRange;
use rukh_kv::WriteBatch;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine {
    /// Creates an index and fills it from the rows that are there, while others write.
    ///
    /// Fails with [`EngineError::UniqueViolation`] on two rows with one key of a UNIQUE index, with
    /// [`EngineError::Cancelled`], and with [`EngineError::IndexDropped`]; the index is then gone again.
    pub fn create_index(
        &self,
        table: TableId,
        draft: IndexDraft,
        progress: &dyn Progress,
    ) -> Result<IndexId, EngineError> {
        let inner = &self.inner;
        if self.scope().is_some() {
            return self.create_index_within(table, draft, progress);
        }
        let guard = inner.lock_writer()?;
        let definitions = inner.definitions();
        let (building, index) = with_index(inner, &definitions, table, draft)?;
        let id = index.id;
        let created = inner.create_storage(&index.storage_names(), &building);
        created.inspect_err(|_| inner.drop_unnamed())?;
        let built = match inner.commit_table(WriteBatch::new(), building) {
            Ok(()) => inner.build_index(guard, id, id, &[], progress),
            Err(error) => {
                drop(guard);
                Err(error)
            }
        };
        if built.is_err() {
            let _guard = inner.writer.lock();
            // The first error is the one to report; what cannot be undone now is undone by the next writer, or at the next open.
            let removed = inner.settle().and_then(|()| inner.remove_index(id));
            if matches!(removed, Err(EngineError::Kv(error)) if error.is_passing()) {
                inner.owe(Owed::RemoveIndex(id));
            }
            inner.drop_unnamed();
        }
        built.map(|()| id)
    }

    /// Creates an index in the session's transaction, from the rows that it sees. Others do not change the table until its end.
    fn create_index_within(
        &self,
        table: TableId,
        draft: IndexDraft,
        progress: &dyn Progress,
    ) -> Result<IndexId, EngineError> {
        let change = self.begin_change()?;
        change.definitions.codec(table)?;
        change.lock_table(table)?;
        let (mut ready, index) = with_index(change.inner, &change.definitions, table, draft)?;
        for known in ready.indexes.iter_mut().filter(|known| known.id == index.id) {
            known.state = IndexState::Ready;
        }
        change.create_storage(&index.storage_names(), &ready)?;
        let mut changed = change.nothing();
        changed.put_table(ready);
        let snapshot = change.snapshot_as(changed.catalog.clone());
        fill(
            change.inner,
            &snapshot,
            &Build::new(table, index.id, index.id, 0),
            progress,
        )?;
        change.finish(changed)?;
        Ok(index.id)
    }

    /// Fills an index again, beside writers and, if it is Ready, beside readers; then it is Ready, under
    /// the new id that is returned.
    ///
    /// Fails as [`Engine::create_index`] does, and with [`EngineError::IndexBusy`] if the index is being
    /// filled already; it is then as it was.
    pub fn rebuild_index(&self, id: IndexId, progress: &dyn Progress) -> Result<IndexId, EngineError> {
        self.rebuild_index_for_nulls(id, &[], progress)
    }

    /// As [`Engine::rebuild_index`]; its keys then have a place for NULL also of the columns `nullable`, so that their
    /// table may allow it.
    pub fn rebuild_index_for_nulls(
        &self,
        id: IndexId,
        nullable: &[ColumnId],
        progress: &dyn Progress,
    ) -> Result<IndexId, EngineError> {
        if self.scope().is_some() {
            return self.rebuild_index_within(id, nullable, progress);
        }
        let inner = &self.inner;
        let guard = inner.lock_writer()?;
        inner.idle_index(id)?;
        let catalog = inner.definitions().catalog.clone();
        let (table, index) = catalog.index(id).ok_or_else(|| unknown(id))?;
        let filled = IndexId(inner.take_id());
        let index = Index {
            id: filled,
            former: table.keeps_former(index),
            ..index.clone()
        };
        inner.create_storage(&index.storage_names(), table)?;
        let built = inner.build_index(guard, id, filled, nullable, progress);
        let _guard = inner.writer.lock();
        inner.drop_unnamed();
        built.map(|()| filled)
    }

    /// The same in the session's transaction, from the rows that it sees. Others do not change the table until its end.
    fn rebuild_index_within(
        &self,
        id: IndexId,
        nullable: &[ColumnId],
        progress: &dyn Progress,
    ) -> Result<IndexId, EngineError> {
        let change = self.begin_change()?;
        let (table, _) = change.definitions.catalog.index(id).ok_or_else(|| unknown(id))?;
        change.lock_table(table.id)?;
        let filled = IndexId(change.take_id());
        let build = Build::new(table.id, id, filled, 0).with_place_for_nulls(nullable);
        let next = switched(table, &build);
        let index = next.indexes.iter().find(|index| index.id == filled);
        let index = index.ok_or_else(|| unknown(id))?;
        change.create_storage(&index.storage_names(), &next)?;
        fill(change.inner, &change.snapshot(), &build, progress)?;
        let mut changed = change.nothing();
        changed.put_table(next);
        change.finish(changed)?;
        Ok(filled)
    }

    /// Empties an index, which from then on is neither maintained nor read until it is rebuilt.
    ///
    /// A UNIQUE index that is disabled guards nothing. Fails with [`EngineError::IndexBusy`].
    pub fn disable_index(&self, id: IndexId) -> Result<(), EngineError> {
        self.check_alone("ALTER INDEX … DISABLE")?;
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        inner.idle_index(id)?;
        let mut batch = WriteBatch::new();
        let catalog = inner.definitions().catalog.clone();
        let (_, index) = catalog.index(id).ok_or_else(|| unknown(id))?;
        for storage in index.storage_names() {
            batch.delete_range(&storage, &KeyRange::all());
        }
        inner.forget_debt(id);
        inner.change_index(batch, id, |index| {
            Some(Index {
                state: IndexState::Disabled,
                ..index.clone()
            })
        })
    }

    /// Notes that an index was found to differ from its table: queries leave it aside until it is rebuilt.
    /// Returns whether it was Ready before.
    pub fn mark_broken(&self, id: IndexId) -> Result<bool, EngineError> {
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let catalog = inner.definitions().catalog.clone();
        let (_, index) = catalog.index(id).ok_or_else(|| unknown(id))?;
        if index.state != IndexState::Ready {
            return Ok(false);
        }
        inner.change_index(WriteBatch::new(), id, |index| {
            Some(Index {
                state: IndexState::Broken,
                ..index.clone()
            })
        })?;
        Ok(true)
    }

    /// Drops an index; one that is being built ends its build.
    pub fn drop_index(&self, id: IndexId) -> Result<(), EngineError> {
        let change = self.begin_change()?;
        let (table, _) = change.definitions.catalog.index(id).ok_or_else(|| unknown(id))?;
        change.lock_table(table.id)?;
        let mut table = Table::clone(table);
        table.indexes.retain(|index| index.id != id);
        let mut changed = change.nothing();
        changed.put_table(table);
        change.finish(changed)
    }

    /// Returns how far the indexes are that are being built.
    pub fn builds(&self) -> Vec<BuildProgress> {
        self.inner.builds.progress()
    }

    /// Sets how many rows a table may have for its new indexes to be filled while writers wait.
    pub fn set_rows_at_once(&self, rows: u64) {
        self.inner.rows_at_once.store(rows, Ordering::Relaxed);
    }
}

/// Returns a table with one more index, which is to be filled, and the index.
fn with_index(
    inner: &Inner,
    definitions: &Definitions,
    table: TableId,
    draft: IndexDraft,
) -> Result<(Table, Index), EngineError> {
    let codec = definitions.codec(table)?;
    definitions
        .catalog
        .check_name_free(&codec.table.schema, &draft.name)?;
    let index = validate_index(draft, &codec.table, IndexId(inner.take_id()))?;
    // An expression that does not compile fails before anything is stored.
    let mut building = Table::clone(&codec.table);
    building.indexes.push(index.clone());
    let compiled = Arc::new(TableCodec::new(Arc::new(building.clone())));
    Maintainer::of_all(compiled, &*inner.functions)?;
    Ok((building, index))
}

impl Inner {
    /// Fails unless the index is there and not being filled.
    fn idle_index(&self, id: IndexId) -> Result<(), EngineError> {
        let catalog = self.definitions().catalog.clone();
        let (_, index) = catalog.index(id).ok_or_else(|| unknown(id))?;
        match index.state == IndexState::Building || self.builds.is_building(id) {
            true => Err(EngineError::IndexBusy {
                index: index.name.clone(),
            }),
            false => Ok(()),
        }
    }

    /// Removes an index from its table's definition.
    pub(crate) fn remove_index(&self, id: IndexId) -> Result<(), EngineError> {
        self.change_index(WriteBatch::new(), id, |_| None)
    }

    fn change_index(
        &self,
        batch: WriteBatch,
        id: IndexId,
        change: impl Fn(&Index) -> Option<Index>,
    ) -> Result<(), EngineError> {
        let catalog = self.definitions().catalog.clone();
        let (table, _) = catalog.index(id).ok_or_else(|| unknown(id))?;
        let mut table = Table::clone(table);
        let changed = table.indexes.iter().filter_map(|index| match index.id == id {
            true => change(index),
            false => Some(index.clone()),
        });
        table.indexes = changed.collect();
        self.commit_table(batch, table)
    }
}
