//! Which table lies where in a shared column family, durably: records in the column family `default`, which every
//! RocksDB has.
//!
//! | key                    | value                                         | example                             |
//! |------------------------|-----------------------------------------------|-------------------------------------|
//! | `table/<name>`         | number of the table, name of the column family | `table/t7` = `12 shared.0`         |
//! | `dropped/<number>`     | name of the column family                     | `dropped/0000000012` = `shared.0`   |
//! | `next`                 | the number of the next table                  | `13`                                |
//!
//! A table exists from the moment on that its record does, which is on disk before any write to the table. A drop
//! replaces the record by a tombstone, which goes in the batch with the keys, once no snapshot
//! reads them or when the database is opened next. So after a crash each key is of a table or of one that is named as
//! dropped.

use super::failure::{failure, table_failure};
use super::{PinnedIterator, TableHandle};
use crate::KvError;
use crate::name::RESERVED;
use rocksdb::{DB, ReadOptions, WriteBatch, WriteOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

const TABLE: &str = "table/";
const DROPPED: &str = "dropped/";
const NEXT: &str = "next";

/// What the directory of a database says.
#[derive(Default)]
pub(super) struct Records {
    /// By name: the number of the table and the name of its column family.
    pub(super) tables: BTreeMap<String, (u32, String)>,
    /// Numbers of tables of which there may be keys still, and the names of their column families.
    pub(super) dropped: Vec<(u32, String)>,
    /// The number to give next.
    pub(super) next: u32,
}

/// Reads the directory.
pub(super) fn read(db: &Arc<DB>) -> Result<Records, KvError> {
    let mut records = Records::default();
    let Some(family) = TableHandle::find(db, RESERVED) else {
        return Ok(records);
    };
    let mut pinned = PinnedIterator::new(&Arc::new(family), None, ReadOptions::default());
    let iterator = &mut pinned.iterator;
    iterator.seek_to_first();
    while let Some((key, value)) = iterator.item() {
        records.add(key, value).ok_or_else(|| KvError::Corruption {
            table: None,
            key: Some(key.to_vec()),
            message: "the directory of shared column families has a record that is none".to_owned(),
        })?;
        iterator.next();
    }
    let read = iterator.status();
    read.map_err(|error| table_failure("read the directory of shared column families", RESERVED, error))?;
    Ok(records)
}

impl Records {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let (key, value) = (str::from_utf8(key).ok()?, str::from_utf8(value).ok()?);
        if let Some(name) = key.strip_prefix(TABLE) {
            let (number, family) = value.split_once(' ')?;
            let place = (number.parse().ok()?, family.to_owned());
            self.tables.insert(name.to_owned(), place);
        } else if let Some(number) = key.strip_prefix(DROPPED) {
            self.dropped.push((number.parse().ok()?, value.to_owned()));
        } else if key == NEXT {
            self.next = value.parse().ok()?;
        } else {
            return None;
        }
        Some(())
    }
}

/// Enters a table, durably; `number` was not given before. It has no keys.
pub(super) fn add_table(
    db: &DB,
    name: &str,
    number: u32,
    family: &str,
    synced: &WriteOptions,
) -> Result<(), KvError> {
    // The keys of a table end where those of the next number begin.
    let Some(next) = number.checked_add(1) else {
        return Err(KvError::Unsupported {
            operation: "more tables than there are numbers",
        });
    };
    let mut batch = WriteBatch::default();
    batch.put(format!("{TABLE}{name}"), format!("{number} {family}"));
    batch.put(NEXT, next.to_string());
    db.write_opt(batch, synced)
        .map_err(|error| table_failure(&format!("create table \"{name}\""), name, error))
}

/// Says that a table is no more, and that its keys are to go, durably.
pub(super) fn drop_table(
    db: &DB,
    name: &str,
    number: u32,
    family: &str,
    synced: &WriteOptions,
) -> Result<(), KvError> {
    let mut batch = WriteBatch::default();
    batch.delete(format!("{TABLE}{name}"));
    batch.put(dropped_key(number), family);
    db.write_opt(batch, synced)
        .map_err(|error| failure(&format!("drop table \"{name}\""), error))
}

/// Takes out the record of a table that was dropped and has no keys any more.
pub(super) fn forget(batch: &mut WriteBatch, number: u32) {
    batch.delete(dropped_key(number));
}

fn dropped_key(number: u32) -> String {
    format!("{DROPPED}{number:010}")
}
