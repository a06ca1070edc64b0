//! Which tables there are.
//!
//! Rows of table 0 name them: the key is the name, the value a format and the number. The row with an empty name has the next number. Rows of table 1 are the numbers of
//! tables that were dropped, with the time of that, until their rows are forgotten.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use rukh_commit::Change;
use rukh_kv::{KvError, TableName};

use super::keys::{TableId, Tables, end_of, failed, full_key};
use super::shared::Shared;
use crate::Range;

const DIRECTORY: TableId = 0;
pub(super) const DROPPED: TableId = 1;

/// The number of the first table; those below are for the store itself.
const FIRST: TableId = 16;

/// The form of an entry of the directory.
const FORMAT: u8 = 1;

fn entry(id: TableId) -> Bytes {
    let mut value = BytesMut::new();
    value.put_u8(FORMAT);
    value.put_u32(id);
    value.freeze()
}

fn read_entry(value: &[u8]) -> Option<TableId> {
    match value.split_first()? {
        (&FORMAT, id) => Some(u32::from_be_bytes(id.try_into().ok()?)),
        _ => None,
    }
}

impl Shared {
    /// Reads all rows of one of the store's own tables, key and value.
    pub(super) fn read_own(&self, table: TableId) -> Result<Vec<(Bytes, Bytes)>, KvError> {
        let newest = self.state.read().newest;
        let range = Range::forward(full_key(table, b""), end_of(table));
        let mut rows = self.transactions.range(&self.rows, range, newest);
        let read = self.runtime.wait(async move {
            let mut all = Vec::new();
            while let Some((key, value)) = rows.next().await? {
                all.push((key.slice(4..), value));
            }
            Ok(all)
        });
        read.map_err(|error| failed("read the directory", error))
    }

    pub(super) fn read_directory(&self) -> Result<Tables, KvError> {
        let mut tables = Tables::new();
        for (name, value) in self.read_own(DIRECTORY)? {
            let name = String::from_utf8(name.to_vec()).ok();
            let found = name.clone().zip(read_entry(&value));
            let (name, id) = found.ok_or_else(|| KvError::Corruption {
                table: name,
                key: None,
                message: "an entry of the directory of tables is damaged".to_string(),
            })?;
            if !name.is_empty() {
                tables.insert(name, id);
            }
        }
        Ok(tables)
    }

    pub(super) fn create_table(&self, name: &TableName) -> Result<(), KvError> {
        let mut writer = self.writer.lock();
        let mut tables = Tables::clone(&self.state.read().tables);
        if tables.contains_key(name.as_str()) {
            return Err(KvError::TableExists {
                table: name.to_string(),
            });
        }
        self.check_open()?;
        let next = self.row(full_key(DIRECTORY, b""));
        let newest = self.state.read().newest;
        let read = self.read_rows(&self.transactions, std::slice::from_ref(&next), newest);
        let id = match read?.remove(0) {
            None => FIRST,
            Some(value) => read_entry(&value).ok_or_else(|| KvError::Corruption {
                table: None,
                key: None,
                message: "the next number of a table is damaged".to_string(),
            })?,
        };
        tables.insert(name.to_string(), id);
        let entry_row = self.row(full_key(DIRECTORY, name.as_bytes()));
        let changes = BTreeMap::from([
            (next, Change::Put(entry(id + 1))),
            (entry_row, Change::Put(entry(id))),
        ]);
        self.commit(&mut writer, Some(tables), |_, _| Ok(changes.clone()))
            .map(|_| ())
    }

    pub(super) fn drop_table(&self, name: &str) -> Result<(), KvError> {
        let mut writer = self.writer.lock();
        let mut tables = Tables::clone(&self.state.read().tables);
        let id = tables.remove(name).ok_or_else(|| KvError::unknown_table(name))?;
        let entry_row = self.row(full_key(DIRECTORY, name.as_bytes()));
        let dropped = self.row(full_key(DROPPED, &id.to_be_bytes()));
        let now = Bytes::copy_from_slice(&self.transactions.now().to_be_bytes());
        let changes = BTreeMap::from([(entry_row, Change::Delete), (dropped, Change::Put(now))]);
        self.commit(&mut writer, Some(tables), |_, _| Ok(changes.clone()))
            .map(|_| ())
    }
}
