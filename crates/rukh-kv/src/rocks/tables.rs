//! How tables of a store on disk come, change and go.

use super::failure::table_failure;
use super::options::Family;
use super::purge::Purged;
use super::share::{self, Share};
use super::{RocksStore, TableHandle, directory, open, options};
use crate::{KvError, KvStore, TableName, TableOptions};
use rocksdb::DB;
use std::sync::Arc;

impl RocksStore {
    /// Creates an empty table, durably.
    pub(super) fn create(&self, name: &TableName, options: &TableOptions) -> Result<(), KvError> {
        let mut next = self.definition.lock();
        let (db, own) = {
            let open = self.writable()?;
            let own = open.tables.values().filter(|table| table.share.is_none());
            (Arc::clone(&open.db), own.count())
        };
        if self.table_exists(name) {
            return Err(KvError::TableExists {
                table: name.to_string(),
            });
        }
        let family = match own < self.own_families {
            true => None,
            false => share::family_name(options, *next),
        };
        let handle = match family {
            None => self.create_family(&db, name, options)?,
            Some(family) => self.create_part(&db, name, &family, &mut next)?,
        };
        self.change_tables(|tables, _| {
            tables.insert(handle.name.clone(), Arc::new(handle));
        })
    }

    /// Makes a table with a column family of its own.
    fn create_family(
        &self,
        db: &Arc<DB>,
        name: &TableName,
        options: &TableOptions,
    ) -> Result<TableHandle, KvError> {
        let filter = match options.purged {
            true => Some(Purged::Table(self.purges.add(name)?)),
            false => None,
        };
        self.add_family(db, name, options, filter, false)
    }

    /// Makes a table in a shared column family.
    fn create_part(
        &self,
        db: &Arc<DB>,
        name: &TableName,
        family: &str,
        next: &mut u32,
    ) -> Result<TableHandle, KvError> {
        let home = self.shared_family(db, family)?;
        let number = *next;
        // Not given again, even if the record should be there after an error.
        *next = number.saturating_add(1);
        directory::add_table(db, name, number, family, &self.synced)?;
        Ok(home.part(name, Share::new(number, family)))
    }

    /// Returns a shared column family, made if it is the first time that it is needed.
    fn shared_family(&self, db: &Arc<DB>, name: &str) -> Result<Arc<TableHandle>, KvError> {
        if let Some(known) = self.writable()?.shared.get(name) {
            return Ok(Arc::clone(known));
        }
        let options = share::options_of(name).unwrap_or_default();
        let handle = Arc::new(self.add_family(db, name, &options, self.purges.filter_of(name), true)?);
        self.change_tables(|_, shared| {
            shared.insert(handle.name.clone(), Arc::clone(&handle));
        })?;
        Ok(handle)
    }

    fn add_family(
        &self,
        db: &Arc<DB>,
        name: &str,
        options: &TableOptions,
        filter: Option<Purged>,
        is_shared: bool,
    ) -> Result<TableHandle, KvError> {
        let family = Family {
            stored: options,
            filter,
            is_shared,
        };
        let native = options::family(&self.options, &self.cache, family);
        let fail = |error| table_failure(&format!("create table \"{name}\""), name, error);
        db.create_cf(name, &native).map_err(fail)?;
        let handle = TableHandle::find(db, name).ok_or_else(|| KvError::unknown_table(name))?;
        *handle.options.lock() = options.clone();
        Ok(handle)
    }

    /// Gives a table other options, if its column family is its own.
    pub(super) fn configure(&self, table: &TableHandle, options: &TableOptions) -> Result<(), KvError> {
        if table.share.is_some() {
            return Ok(());
        }
        let changes = options::table_changes(&self.options, options);
        let changes: Vec<(&str, &str)> = changes
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let result = table.db.set_options_cf(&table.family, &changes);
        result.map_err(|error| table_failure("configure a table", &table.name, error))?;
        *table.options.lock() = options.clone();
        Ok(())
    }

    /// Drops the column family of a table.
    fn drop_family(&self, table: &TableHandle) -> Result<(), KvError> {
        let name = &table.name;
        let Err(error) = table.db.drop_cf(name) else {
            return Ok(());
        };
        // RocksDB drops it, and then writes a file with all options, which may find no space: the stored list decides.
        match open::family_names(&self.path, &self.options) {
            Ok(stored) if !stored.iter().any(|stored| **stored == **name) => Ok(()),
            _ => Err(table_failure(&format!("drop table \"{name}\""), name, error)),
        }
    }

    /// Drops a table, durably.
    pub(super) fn remove(&self, name: &str) -> Result<(), KvError> {
        let _definition = self.definition.lock();
        let handle = self.writable_table(name)?;
        self.change_tables(|tables, _| {
            tables.remove(name);
        })?;
        let dropped = match &handle.share {
            None => self.drop_family(&handle),
            Some(share) => directory::drop_table(&handle.db, name, share.number, &share.family, &self.synced),
        };
        match &dropped {
            Ok(()) => {
                self.purges.remove(&handle);
                if let Some(share) = &handle.share {
                    share.give_up();
                }
            }
            Err(_) => {
                // The table is still there. Should the store be closed by now, a reopen shows it.
                let _ = self.change_tables(|tables, _| {
                    tables.insert(handle.name.clone(), Arc::clone(&handle));
                });
            }
        }
        dropped
    }
}
