//! What a batch makes of rows: its operations in their order, folded into one change of each row.

use std::collections::BTreeMap;

use bytes::Bytes;
use rukh_commit::{Change, Time};
use rukh_kv::{KvError, Traffic, WriteBatch, WriteOp};

use super::keys::{TableId, end_of, failed, full_key};
use super::shared::Shared;
use crate::{Range, Row, Transactions};

/// The longest key that HBase takes, with the number of its table, bytes.
const KEY_BYTES_MAX: usize = i16::MAX as usize;

/// The longest value: servers refuse cells of more than 10 MiB unless they are configured otherwise, and a lock has the value, the key of its primary and more.
const VALUE_BYTES_MAX: usize = (10 << 20) - (64 << 10);

/// How a batch reads what it changes.
struct Read<'a> {
    transactions: &'a Transactions,
    at: Time,
}

type Changes = BTreeMap<Row, Change<Bytes>>;

impl Shared {
    /// Writes a batch, all of it or nothing.
    pub(super) fn write(&self, batch: &WriteBatch) -> Result<Traffic, KvError> {
        let mut writer = self.writer.lock();
        self.check_open()?;
        let tables = self.state.read().tables.clone();
        let id = |table: &str| {
            tables
                .get(table)
                .copied()
                .ok_or_else(|| KvError::unknown_table(table))
        };
        batch
            .tables()
            .iter()
            .try_for_each(|table| id(table).map(|_| ()))?;
        self.commit(&mut writer, None, |transactions, start| {
            let read = Read {
                transactions,
                at: start,
            };
            let mut changes = Changes::new();
            for operation in batch.ops() {
                match operation {
                    WriteOp::Put { table, key, value } => {
                        let value = Bytes::copy_from_slice(value);
                        changes.insert(self.checked_row(id(table)?, key)?, Change::Put(checked(value)?));
                    }
                    WriteOp::Delete { table, key } => {
                        changes.insert(self.checked_row(id(table)?, key)?, Change::Delete);
                    }
                    WriteOp::DeleteRange {
                        table,
                        start: from,
                        limit,
                    } => {
                        self.delete_range(id(table)?, (from, limit), &read, &mut changes)?;
                    }
                    WriteOp::Merge { table, key, operand } => {
                        let row = self.checked_row(id(table)?, key)?;
                        let value = self.merged(table, (key, &row), operand, &read, &changes)?;
                        changes.insert(row, Change::Put(checked(value)?));
                    }
                }
            }
            Ok(changes)
        })
    }

    fn checked_row(&self, table: TableId, key: &[u8]) -> Result<Row, KvError> {
        match key.len() + 4 {
            bytes if bytes > KEY_BYTES_MAX => Err(KvError::TooLong {
                what: "key",
                bytes: key.len() as u64,
                bytes_max: KEY_BYTES_MAX as u64 - 4,
            }),
            _ => Ok(self.row(full_key(table, key))),
        }
    }

    /// Deletes the rows of a range that are there at a time, or by an earlier operation.
    fn delete_range(
        &self,
        table: TableId,
        (from, limit): (&[u8], Option<&[u8]>),
        read: &Read<'_>,
        changes: &mut Changes,
    ) -> Result<(), KvError> {
        if limit.is_some_and(|limit| limit <= from) {
            return Ok(());
        }
        let start = full_key(table, from);
        let limit = limit.map_or_else(|| end_of(table), |limit| full_key(table, limit));
        let within = self.row(start.clone())..self.row(limit.clone());
        changes
            .range_mut(within)
            .for_each(|(_, change)| *change = Change::Delete);
        let range = Range::forward(start, limit);
        let mut rows = read.transactions.range(&self.rows, range, read.at);
        let found = self.runtime.wait(async move {
            let mut keys = Vec::new();
            while let Some((key, _)) = rows.next().await? {
                keys.push(key);
            }
            Ok(keys)
        });
        for key in found.map_err(|error| failed("read a range that is deleted", error))? {
            changes.insert(self.row(key), Change::Delete);
        }
        Ok(())
    }

    /// Folds an operand into what an earlier operation has made of a row, or into what is there at a time.
    fn merged(
        &self,
        table: &str,
        (key, row): (&[u8], &Row),
        operand: &[u8],
        read: &Read<'_>,
        changes: &Changes,
    ) -> Result<Bytes, KvError> {
        let Some(operator) = &self.merge else {
            return Err(KvError::Unsupported { operation: "merge" });
        };
        let value = match changes.get(row) {
            Some(Change::Put(value)) => Some(value.clone()),
            Some(_) => None,
            None => self
                .read_rows(read.transactions, std::slice::from_ref(row), read.at)?
                .remove(0),
        };
        rukh_kv::fold(&**operator, table, key, value.as_deref(), &[operand]).map(Bytes::from)
    }
}

fn checked(value: Bytes) -> Result<Bytes, KvError> {
    match value.len() {
        bytes if bytes > VALUE_BYTES_MAX => Err(KvError::TooLong {
            what: "value",
            bytes: bytes as u64,
            bytes_max: VALUE_BYTES_MAX as u64,
        }),
        _ => Ok(value),
    }
}
