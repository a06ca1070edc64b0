//! Keys in the table of HBase that all tables share, and errors as a store gives them.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use rukh_kv::KvError;

use crate::Error;

/// The table of HBase that has all rows.
pub(super) const ROWS: &str = "rows";

/// The number of a table.
pub(super) type TableId = u32;

/// Tables by name.
pub(super) type Tables = BTreeMap<String, TableId>;

/// The key of a row in HBase.
pub(super) fn full_key(table: TableId, key: &[u8]) -> Bytes {
    let mut full = BytesMut::with_capacity(4 + key.len());
    full.put_u32(table);
    full.put_slice(key);
    full.freeze()
}

/// The key behind the last of a table.
pub(super) fn end_of(table: TableId) -> Bytes {
    full_key(table + 1, b"")
}

/// Makes an error of a store from one of HBase.
pub(super) fn failed(operation: &str, error: Error) -> KvError {
    let reason = error.to_string();
    let operation = operation.to_string();
    match error {
        Error::Client(error) if error.is_unreachable() => KvError::Unreachable { operation, reason },
        Error::Client(error) if error.is_not_ready() => KvError::NotReady { operation, reason },
        Error::Client(_) => KvError::Io {
            operation,
            source: std::io::Error::other(reason),
        },
        Error::SnapshotTooOld { .. } => KvError::SnapshotTooOld { reason },
        Error::Damaged { row, .. } => KvError::Corruption {
            table: None,
            key: Some(row.key.to_vec()),
            message: reason,
        },
    }
}
