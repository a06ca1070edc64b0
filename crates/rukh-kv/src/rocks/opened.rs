//! The state of a store while it is open.

use super::TableHandle;
use super::snapshot::{RocksSnapshot, Tables};
use crate::KvError;
use rocksdb::DB;
use std::sync::Arc;

/// The state while the store is open. Fields drop in this order.
pub(super) struct Open {
    pub(super) tables: Arc<Tables>,
    /// The column families that tables share, by name.
    pub(super) shared: Arc<Tables>,
    pub(super) latest: Arc<RocksSnapshot>,
    pub(super) db: Arc<DB>,
}

impl Open {
    pub(super) fn new(db: Arc<DB>, tables: Tables, shared: Tables) -> Open {
        let tables = Arc::new(tables);
        Open {
            latest: Arc::new(RocksSnapshot::new(Arc::clone(&tables), None)),
            tables,
            shared: Arc::new(shared),
            db,
        }
    }

    /// Returns every column family with tables, once.
    pub(super) fn families(&self) -> impl Iterator<Item = &Arc<TableHandle>> {
        let own = self.tables.values().filter(|table| table.share.is_none());
        own.chain(self.shared.values())
    }

    pub(super) fn table(&self, name: &str) -> Result<&Arc<TableHandle>, KvError> {
        self.tables.get(name).ok_or_else(|| KvError::unknown_table(name))
    }

    /// Returns the state after a change of the tables, or of the column families that they share.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Tables, &mut Tables)) -> Open {
        let mut tables = Tables::clone(&self.tables);
        let mut shared = Tables::clone(&self.shared);
        change(&mut tables, &mut shared);
        Open::new(Arc::clone(&self.db), tables, shared)
    }
}
