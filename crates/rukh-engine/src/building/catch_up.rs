//! Bringing an index from one state of its table to a later one.
//!
//! A pass looks at the rows that writers have touched between two snapshots (`builds`), derives their
//! entries in the one and the other, and writes the difference. All that goes, goes before anything
//! comes, so that a UNIQUE key which one row gave up is free for another, whatever their order.
//!
//! Former images are those of the rows that were touched: each is there or not, and has the same entry as long as it is.

use crate::forms::codec::TableCodec;
use crate::forms::entry::DELETED;
use crate::forms::maintain::{EntryChange, Maintainer, RowChange};
use crate::forms::row::{self, Times};
use crate::progress::check_cancelled;
use crate::reading::lifetime::{Live, table_rules};
use crate::reading::lookup::fetch_values;
use crate::reading::snapshot::Snapshot;
use crate::state::builds::{Build, BuildPhase};
use crate::state::shared::Inner;
use crate::writing::history::images_of;
use crate::writing::unique::net_changes;
use crate::{EngineError, Progress, Row};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, ScanSpec, WriteBatch};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rows looked at together.
const CHUNK_ROWS: usize = 1024;

/// One pass: an index, and the states before and after.
pub(crate) struct Pass<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) build: &'a Build,
    /// Of the table with no other index, and of its history if that has the index.
    pub(crate) maintainers: &'a [Maintainer],
    pub(crate) before: &'a Snapshot,
    pub(crate) after: &'a Snapshot,
    /// The number under which keys are noted.
    pub(crate) number: u32,
    pub(crate) ranges: Vec<KeyRange>,
}

/// Which half of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Removals,
    Additions,
}

impl Pass<'_> {
    /// Writes the difference, not synced; returns how many rows were looked at.
    ///
    /// Fails with [`EngineError::UniqueViolation`] on two rows of the state after with one UNIQUE key.
    pub(crate) fn run(&self, progress: &dyn Progress) -> Result<u64, EngineError> {
        let Some((table, history)) = self.maintainers.split_first() else {
            return Ok(0);
        };
        self.build.enter(BuildPhase::CatchingUp, 0);
        let rows = self.rows(table, progress)?;
        for history in history {
            self.images(table, history, progress)?;
        }
        Ok(rows)
    }

    /// Writes the difference that rows make.
    fn rows(&self, table: &Maintainer, progress: &dyn Progress) -> Result<u64, EngineError> {
        let mut rows = 0;
        for half in [Half::Removals, Half::Additions] {
            self.touched(progress, &mut |keys| {
                rows += keys.len() as u64;
                self.apply(table, &keys, half)
            })?;
            if half == Half::Removals && !self.ranges.is_empty() {
                let storage = &table.codec.families[0].storage;
                self.chunks(self.before, storage, &self.ranges, 0, progress, &mut |keys| {
                    rows += keys.len() as u64;
                    self.apply(table, &keys, half)
                })?;
            }
        }
        Ok(rows)
    }

    /// Writes the difference that former images of the rows make.
    fn images(
        &self,
        table: &Maintainer,
        history: &Maintainer,
        progress: &dyn Progress,
    ) -> Result<(), EngineError> {
        let storage = &history.codec.families[0].storage;
        for (half, there) in [(Half::Removals, self.before), (Half::Additions, self.after)] {
            let mut apply = |keys: Vec<Vec<u8>>| self.apply(history, &keys, half);
            self.touched(progress, &mut |rows| {
                for row in rows {
                    let images = [images_of(&table.codec, &history.codec, &row)?];
                    self.chunks(there, storage, &images, 0, progress, &mut apply)?;
                }
                Ok(())
            })?;
            if half == Half::Removals && !self.ranges.is_empty() {
                // Only TRUNCATE removes ranges of rows that have images, and it removes all.
                self.chunks(there, storage, &[KeyRange::all()], 0, progress, &mut apply)?;
            }
        }
        Ok(())
    }

    /// Shows the keys of the rows that were touched, many at a time.
    fn touched(
        &self,
        progress: &dyn Progress,
        visit: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let touched = [KeyRange::prefix(self.number.to_be_bytes().to_vec())];
        self.chunks(self.after, &self.build.touched(), &touched, 4, progress, visit)
    }

    /// Shows the keys in ranges of a column family, many at a time, without their first bytes.
    fn chunks(
        &self,
        snapshot: &Snapshot,
        storage: &str,
        ranges: &[KeyRange],
        skipped: usize,
        progress: &dyn Progress,
        visit: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for range in ranges {
            let mut cursor = snapshot
                .kv
                .scan(storage, ScanSpec::ranges(vec![range.clone()]).keys_only())?;
            loop {
                check_cancelled(progress)?;
                self.build.check()?;
                let mut keys = Vec::new();
                let ended = cursor.for_each(&mut |key, _| {
                    keys.push(key.get(skipped..).unwrap_or_default().to_vec());
                    match keys.len() < CHUNK_ROWS {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    }
                })?;
                if !keys.is_empty() {
                    self.build.advance(keys.len() as u64);
                    visit(keys)?;
                }
                if ended {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Writes what becomes of the entries of some rows, one half of it.
    fn apply(&self, maintainer: &Maintainer, keys: &[Vec<u8>], half: Half) -> Result<(), EngineError> {
        let Some(index) = maintainer.indexes.first() else {
            return Ok(());
        };
        let codec = &maintainer.codec;
        let old = rows_at(self.before, codec, keys)?;
        let new = rows_at(self.after, codec, keys)?;
        let changes = keys
            .iter()
            .zip(old.iter().zip(&new))
            .map(|(key, (old, new))| RowChange {
                key,
                old: old.as_ref().map(|(row, _)| row.as_slice()),
                new: new.as_ref().map(|(row, _)| row.as_slice()),
                times: new.as_ref().and_then(|(_, times)| *times),
                blind: false,
                is_there: false,
            });
        let changes: Vec<RowChange<'_>> = changes.collect();
        let storage = &index.codec.storage;
        let mut batch = WriteBatch::new();
        let entries = index.changes(&changes)?;
        match half {
            Half::Removals => {
                let removed = entries.into_iter().filter_map(|entry| entry.removed);
                // A block may have the entry still.
                match index.codec.blocks() {
                    Some(_) => removed.for_each(|key| batch.put(storage, &key, DELETED)),
                    None => removed.for_each(|key| batch.delete(storage, &key)),
                }
            }
            Half::Additions => {
                let added = entries.into_iter().map(|entry| EntryChange {
                    removed: None,
                    ..entry
                });
                // Definitions do not know how long entries live of an index that is to replace another.
                let live = Live {
                    kv: self.inner.store.latest(),
                    rules: Arc::new(table_rules(&codec.table).into_iter().collect()),
                    now: self.after.now(),
                };
                let latest = self.after.with_kv(Arc::new(live));
                for change in net_changes(codec, index, &changes, added.collect(), &latest)? {
                    let value = change.value.unwrap_or_default();
                    batch.put(storage, &change.key, &value);
                }
            }
        }
        match batch.is_empty() {
            true => Ok(()),
            false => Ok(self.inner.store.write(batch, Durability::Buffered)?),
        }
    }
}

/// Returns the rows that a snapshot has under keys, with the times that they carry.
fn rows_at(
    snapshot: &Snapshot,
    codec: &TableCodec,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<(Row, Option<Times>)>>, EngineError> {
    let mut families = Vec::with_capacity(codec.families.len());
    for family in &codec.families {
        families.push(fetch_values(snapshot.kv.as_ref(), &family.storage, keys)?);
    }
    let stored = |(at, key): (usize, &Vec<u8>)| {
        let values: Vec<Option<&[u8]>> = families.iter().map(|family| family[at].as_deref()).collect();
        let Some(main) = values[0] else {
            return Ok(None);
        };
        Ok(Some((codec.decode_row(key, &values)?, row::times(main))))
    };
    keys.iter().enumerate().map(stored).collect()
}
