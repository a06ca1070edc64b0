//! Operations on a whole database: backups, checkpoints, compaction, disk usage.
//!
//! A bulk load becomes part of several column families one after another (`ingest`), with files that a
//! copy of the database would not have. So no copy is made meanwhile: both hold `copying`.

use crate::state::shared::Engine;
use crate::{EngineError, Progress};
use rukh_catalog::{Index, Table, TableId};
use rukh_kv::{Backup, StoreUsage, TableUsage};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// A family of a table, or an index, as storage has it.
#[derive(Clone, Debug)]
pub struct StoredPart {
    /// The table.
    pub table: Arc<Table>,
    /// What of it.
    pub kind: PartKind,
    /// Name of the table, of its family (`t.payload`), or of the index; `i:history` of its former images.
    pub name: String,
    /// Name of the column family.
    pub storage: String,
}

/// What a column family holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The rows of a table, in its first family.
    Rows,
    /// Values of another family.
    Family,
    /// Entries of an index.
    Index,
    /// Former images of rows, in any family.
    History,
}

impl Engine {
    /// Adds a backup of the present state to a directory; writers go on meanwhile, the end of a bulk
    /// load waits.
    pub fn backup(&self, directory: &Path) -> Result<Backup, EngineError> {
        self.inner.check_writable()?;
        let _copying = self.inner.copying.lock();
        Ok(self.inner.store.local_files("backups")?.backup(directory)?)
    }

    /// Writes the present state into a directory that must not exist, as a database of its own.
    pub fn checkpoint(&self, directory: &Path) -> Result<(), EngineError> {
        self.inner.check_writable()?;
        let _copying = self.inner.copying.lock();
        Ok(self
            .inner
            .store
            .local_files("checkpoints")?
            .checkpoint(directory)?)
    }

    /// Moves what is in memory into sorted files, where the store has any.
    pub fn flush(&self) -> Result<(), EngineError> {
        self.inner.check_writable()?;
        Ok(self.inner.store.local().map_or(Ok(()), |files| files.flush())?)
    }

    /// Rewrites the parts of a table, or of all tables, in their most compact form, without what is dead;
    /// progress counts parts.
    pub fn compact(&self, table: Option<TableId>, progress: &dyn Progress) -> Result<(), EngineError> {
        self.inner.check_writable()?;
        let parts = self.stored_parts(table);
        progress.total(Some(parts.len() as u64));
        for part in &parts {
            if progress.cancelled() {
                return Err(EngineError::Cancelled);
            }
            let removed = self.inner.remove_dead(part.table.id, &part.storage);
            // Of one that was dropped meanwhile nothing is left: it may go at any moment.
            if self.inner.store.table_exists(&part.storage) {
                removed?;
            }
        }
        let storages: Vec<String> = parts.into_iter().map(|part| part.storage).collect();
        let mut is_cancelled = false;
        self.inner.store.compact_all(&storages, &mut |done| {
            progress.advance(done);
            is_cancelled = progress.cancelled();
            match is_cancelled {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        match is_cancelled {
            true => Err(EngineError::Cancelled),
            false => Ok(()),
        }
    }

    /// Returns what the parts of a table, or of all tables, take up.
    pub fn usage(&self, table: Option<TableId>) -> Result<Vec<(StoredPart, TableUsage)>, EngineError> {
        let store = &self.inner.store;
        let parts = self.stored_parts(table).into_iter();
        parts
            .filter_map(|part| match store.table_usage(&part.storage) {
                Ok(usage) => Some(Ok((part, usage))),
                Err(error) => store.table_exists(&part.storage).then(|| Err(error.into())),
            })
            .collect()
    }

    /// Returns what the database takes up beside its tables in files of this machine.
    pub fn store_usage(&self) -> Result<StoreUsage, EngineError> {
        let usage = self.inner.store.local().map(|files| files.usage());
        Ok(usage.transpose()?.unwrap_or_default())
    }

    fn stored_parts(&self, table: Option<TableId>) -> Vec<StoredPart> {
        let catalog = self.catalog();
        let tables = catalog
            .tables()
            .filter(|candidate| table.is_none_or(|id| candidate.id == id));
        tables.flat_map(parts_of).collect()
    }
}

/// Returns the column families of a table and its indexes.
fn parts_of(table: &Arc<Table>) -> Vec<StoredPart> {
    let families = table.families.iter().enumerate().map(|(nth, family)| StoredPart {
        table: table.clone(),
        kind: if nth == 0 {
            PartKind::Rows
        } else {
            PartKind::Family
        },
        name: match nth {
            0 => table.name.clone(),
            _ => format!("{}.{}", table.name, family.name),
        },
        storage: table.storage_name(family.id),
    });
    let part = |name: String, storage: String| StoredPart {
        table: table.clone(),
        kind: PartKind::Index,
        name,
        storage,
    };
    let own_blocks = table.is_columnar().then(|| StoredPart {
        table: table.clone(),
        kind: PartKind::Rows,
        name: format!("{}.blocks", table.name),
        storage: table.blocks_name(),
    });
    let indexes = table.indexes.iter().flat_map(|index| {
        let blocks = index
            .is_columnar()
            .then(|| part(format!("{}.blocks", index.name), index.blocks_name()));
        let former = index.former.then(|| {
            let storage = Index::storage_name_of(index.id.history());
            part(format!("{}:history", index.name), storage)
        });
        std::iter::once(part(index.name.clone(), index.storage_name()))
            .chain(blocks)
            .chain(former)
    });
    let history = table.history();
    let history = history.iter().flat_map(|history| {
        history.families.iter().map(|family| StoredPart {
            kind: PartKind::History,
            ..part(history.display_name(family.id), history.storage_name(family.id))
        })
    });
    families.chain(own_blocks).chain(indexes).chain(history).collect()
}
