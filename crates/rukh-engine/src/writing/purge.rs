//! What storage forgets of the dead, and what goes before a lifetime changes.

use crate::EngineError;
use crate::forms::codec::TableCodec;
use crate::forms::entry::IndexCodec;
use crate::reading::lifetime::{Rule, table_rules};
use crate::state::shared::Inner;
use rukh_catalog::{Table, TableId};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvStore, ScanSpec, WriteBatch};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Dead entries that are removed by one batch.
const BURIED_TOGETHER: usize = 10_000;

/// Returns the columnar index or table that has its changes in a column family: what is dead of them may stand for a row
/// in blocks, and goes with that row only.
fn packed_in<'a>(codec: &'a TableCodec, storage: &str) -> Option<&'a Arc<IndexCodec>> {
    let mut columnar = codec.indexes.iter().chain(&codec.blocks);
    columnar.find(|index| index.blocks().is_some() && index.storage == storage)
}

/// Removes what is dead at `now` of column families whose rules are about to change.
fn bury(store: &dyn KvStore, rules: &[(String, Rule)], now: i64) -> Result<(), EngineError> {
    for (storage, rule) in rules {
        let mut cursor = store.snapshot().scan(storage, ScanSpec::all())?;
        let mut more = true;
        while more {
            let mut batch = WriteBatch::new();
            more = !cursor.for_each(&mut |key, value| {
                if !rule.is_alive(value, now) {
                    batch.delete(storage, key);
                }
                match batch.len() < BURIED_TOGETHER {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            if !batch.is_empty() {
                store.write(batch, Durability::Synced)?;
            }
        }
    }
    Ok(())
}

impl Inner {
    /// Lets storage forget the expired rows of a table, by its present definition and for all snapshots.
    pub(crate) fn set_purges(&self, id: TableId) -> Result<(), EngineError> {
        let codec = self.definitions().codec(id)?.clone();
        let table = codec.table.clone();
        let retired: Arc<[_]> = self.retired.of(id).into();
        let stored = |(storage, _): &(String, Rule)| {
            self.store.table_exists(storage) && packed_in(&codec, storage).is_none()
        };
        for (storage, rule) in table_rules(&table).into_iter().filter(stored) {
            let (clock, retired) = (self.clock.clone(), retired.clone());
            let purge = move |value: &[u8]| {
                retired.iter().all(|codec| codec.strong_count() == 0)
                    && !rule.is_alive(value, clock.horizon())
            };
            if let Some(files) = self.store.local() {
                files.set_purge(&storage, Some(Arc::new(purge)))?;
            }
        }
        Ok(())
    }

    /// Removes the expired entries of a column family for all snapshots, with pauses for writers: where a table
    /// got its lifetime by ALTER TABLE, compaction does not know of it before the database is opened again.
    pub(crate) fn remove_dead(&self, table: TableId, storage: &str) -> Result<(), EngineError> {
        if let Ok(codec) = self.definitions().codec(table)
            && let Some(index) = packed_in(codec, storage)
        {
            return crate::folding::repack::remove_dead(self, index.index.id);
        }
        let mut next = Some(Vec::new());
        while let Some(start) = next.take() {
            let _guard = self.lock_writer()?;
            let definitions = self.definitions();
            let Some(rule) = definitions.lifetimes.get(storage) else {
                return Ok(());
            };
            // It may have been dropped meanwhile, and a reader may use a definition that lets rows live longer.
            if !self.store.table_exists(storage) || !self.retired.of(table).is_empty() {
                return Ok(());
            }
            let (horizon, mut seen, mut batch) = (self.clock.horizon(), 0, WriteBatch::new());
            let range = KeyRange { start, limit: None };
            let mut cursor = self
                .store
                .snapshot()
                .scan(storage, ScanSpec::ranges(vec![range]))?;
            cursor.for_each(&mut |key, value| {
                if !rule.is_alive(value, horizon) {
                    batch.delete(storage, key);
                }
                seen += 1;
                match seen < BURIED_TOGETHER {
                    true => ControlFlow::Continue(()),
                    false => {
                        next = Some([key, &[0]].concat());
                        ControlFlow::Break(())
                    }
                }
            })?;
            if !batch.is_empty() {
                self.store.write(batch, Durability::Buffered)?;
            }
        }
        Ok(())
    }

    /// Begins to change the lifetime of a table: storage forgets nothing of it any more, and what is dead goes
    /// before it could come back.
    pub(crate) fn end_lifetime(&self, table: &Table) -> Result<(), EngineError> {
        let stored = |(storage, _): &(String, Rule)| self.store.table_exists(storage);
        let definitions = self.definitions();
        let codec = definitions.codec(table.id)?;
        let rules = table_rules(table).into_iter().filter(stored);
        let (packed, rules): (Vec<_>, Vec<_>) =
            rules.partition(|(storage, _)| packed_in(codec, storage).is_some());
        for (storage, _) in &rules {
            if let Some(files) = self.store.local() {
                files.set_purge(storage, None)?;
            }
        }
        for index in packed.iter().filter_map(|(storage, _)| packed_in(codec, storage)) {
            crate::folding::repack::bury_index(self, index, self.clock.now())?;
        }
        bury(self.store.as_ref(), &rules, self.clock.now())
    }

    /// Remembers a definition that a reader may use after the lifetime has changed.
    pub(crate) fn retire(&self, codec: &Arc<TableCodec>) {
        let id = codec.table.id;
        self.maintainers.lock().remove(&id);
        let mut retired = self.retired.0.lock();
        retired.entry(id).or_default().push(Arc::downgrade(codec));
    }
}
