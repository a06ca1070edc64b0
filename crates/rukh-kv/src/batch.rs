//! Changes that happen together: the write batch.
//!
//! All keys and values of a batch lie in one buffer, in the order of the operations, so that a
//! statement that changes thousands of rows allocates a few times and not per row.

use crate::hex::{Hex, HexRange, ShortHex};
use rukh_keys::KeyRange;
use std::fmt;

/// Changes to any number of tables that a store applies in order and all at once.
///
/// Display prints one operation per line, as [`WriteOp`] does.
#[derive(Clone, Default)]
pub struct WriteBatch {
    tables: Vec<String>,
    entries: Vec<Entry>,
    data: Vec<u8>,
}

/// One operation: its bytes lie between the end of the entry before and `value_end`.
#[derive(Clone, Copy)]
struct Entry {
    kind: Kind,
    slot: u32,
    key_end: usize,
    value_end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Put,
    Delete,
    Merge,
    /// The "key" is the start, the "value" the limit.
    DeleteRange,
    /// As `DeleteRange`, to the end of the table.
    DeleteFrom,
}

/// One change of a [`WriteBatch`].
///
/// | operation   | prints as           |
/// |-------------|---------------------|
/// | put         | `put t/6b31 = 7631` |
/// | delete      | `del t/6b31`        |
/// | deleterange | `del t/[61 - 62)`   |
/// | merge       | `merge t/6b31 + 01` |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOp<'a> {
    /// Sets the value of a key.
    Put {
        /// The table changed.
        table: &'a str,
        /// The key set.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// Removes a key; one that is not there is no error.
    Delete {
        /// The table changed.
        table: &'a str,
        /// The key removed.
        key: &'a [u8],
    },
    /// Removes all keys from `start` up to, not including, `limit`.
    DeleteRange {
        /// The table changed.
        table: &'a str,
        /// The first key removed.
        start: &'a [u8],
        /// The first key kept; none removes to the end of the table.
        limit: Option<&'a [u8]>,
    },
    /// Folds an operand into the value of a key by the store's merge operator.
    Merge {
        /// The table changed.
        table: &'a str,
        /// The key changed.
        key: &'a [u8],
        /// What its value is changed by.
        operand: &'a [u8],
    },
}

impl WriteBatch {
    /// Makes an empty batch.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Makes an empty batch with room for `ops` operations and `bytes` bytes of keys and values.
    pub fn with_capacity(ops: usize, bytes: usize) -> WriteBatch {
        WriteBatch {
            tables: Vec::new(),
            entries: Vec::with_capacity(ops),
            data: Vec::with_capacity(bytes),
        }
    }

    /// Sets the value of `key`.
    pub fn put(&mut self, table: &str, key: &[u8], value: &[u8]) {
        self.push(Kind::Put, table, key, value);
    }

    /// Removes `key`, if it is there.
    pub fn delete(&mut self, table: &str, key: &[u8]) {
        self.push(Kind::Delete, table, key, &[]);
    }

    /// Removes all keys of `range`; an empty range removes nothing.
    pub fn delete_range(&mut self, table: &str, range: &KeyRange) {
        match &range.limit {
            Some(limit) => self.push(Kind::DeleteRange, table, &range.start, limit),
            None => self.push(Kind::DeleteFrom, table, &range.start, &[]),
        }
    }

    /// Folds `operand` into the value of `key` by the store's merge operator.
    pub fn merge(&mut self, table: &str, key: &[u8], operand: &[u8]) {
        self.push(Kind::Merge, table, key, operand);
    }

    /// Adds all operations of `other` after those of this batch.
    pub fn append(&mut self, other: &WriteBatch) {
        for op in other.ops() {
            match op {
                WriteOp::Put { table, key, value } => self.put(table, key, value),
                WriteOp::Delete { table, key } => self.delete(table, key),
                WriteOp::Merge { table, key, operand } => self.merge(table, key, operand),
                WriteOp::DeleteRange {
                    table,
                    start,
                    limit: Some(limit),
                } => {
                    self.push(Kind::DeleteRange, table, start, limit);
                }
                WriteOp::DeleteRange {
                    table,
                    start,
                    limit: None,
                } => {
                    self.push(Kind::DeleteFrom, table, start, &[]);
                }
            }
        }
    }

    /// Removes all operations and keeps the memory.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.entries.clear();
        self.data.clear();
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of operations on a table.
    pub fn len_of(&self, table: &str) -> usize {
        let slot = self.tables.iter().position(|name| name == table);
        slot.map_or(0, |slot| {
            self.entries
                .iter()
                .filter(|entry| entry.slot as usize == slot)
                .count()
        })
    }

    /// Returns whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of bytes of all keys, values, operands and range limits.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Returns the operations in the order in which they were added.
    pub fn ops(&self) -> impl Iterator<Item = WriteOp<'_>> {
        self.slotted().map(|(_, op)| op)
    }

    /// Returns the names of the tables changed, each once; a slot counts positions in here.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Returns the operations, each with the slot of its table.
    pub(crate) fn slotted(&self) -> impl Iterator<Item = (usize, WriteOp<'_>)> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let key = &self.data[start..entry.key_end];
            let value = &self.data[entry.key_end..entry.value_end];
            start = entry.value_end;
            (entry.slot as usize, self.op(*entry, key, value))
        })
    }

    fn op<'a>(&'a self, entry: Entry, key: &'a [u8], value: &'a [u8]) -> WriteOp<'a> {
        let table = &self.tables[entry.slot as usize];
        match entry.kind {
            Kind::Put => WriteOp::Put { table, key, value },
            Kind::Delete => WriteOp::Delete { table, key },
            Kind::Merge => WriteOp::Merge {
                table,
                key,
                operand: value,
            },
            Kind::DeleteRange => WriteOp::DeleteRange {
                table,
                start: key,
                limit: Some(value),
            },
            Kind::DeleteFrom => WriteOp::DeleteRange {
                table,
                start: key,
                limit: None,
            },
        }
    }

    fn push(&mut self, kind: Kind, table: &str, key: &[u8], value: &[u8]) {
        let slot = self.slot(table);
        self.data.extend_from_slice(key);
        let key_end = self.data.len();
        self.data.extend_from_slice(value);
        self.entries.push(Entry {
            kind,
            slot,
            key_end,
            value_end: self.data.len(),
        });
    }

    /// Returns the slot of `table`. A statement changes a table and its indexes in turn, so the
    /// list is short and searched as it is.
    fn slot(&mut self, table: &str) -> u32 {
        let known = self.tables.iter().position(|name| name == table);
        let slot = known.unwrap_or_else(|| {
            self.tables.push(table.to_owned());
            self.tables.len() - 1
        });
        u32::try_from(slot).expect("a batch names fewer than 2^32 tables")
    }
}

impl fmt::Display for WriteBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ops().try_for_each(|op| writeln!(f, "{op}"))
    }
}

impl fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.ops().map(|op| op.to_string()))
            .finish()
    }
}

impl PartialEq for WriteBatch {
    fn eq(&self, other: &WriteBatch) -> bool {
        self.ops().eq(other.ops())
    }
}

impl Eq for WriteBatch {}

impl<'a> WriteOp<'a> {
    /// Returns the table that is changed.
    pub fn table(&self) -> &'a str {
        match self {
            WriteOp::Put { table, .. }
            | WriteOp::Delete { table, .. }
            | WriteOp::DeleteRange { table, .. }
            | WriteOp::Merge { table, .. } => table,
        }
    }
}

impl fmt::Display for WriteOp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteOp::Put { table, key, value } => write!(f, "put {table}/{} = {}", Hex(key), ShortHex(value)),
            WriteOp::Delete { table, key } => write!(f, "del {table}/{}", Hex(key)),
            WriteOp::DeleteRange { table, start, limit } => {
                write!(f, "del {table}/{}", HexRange { start, limit: *limit })
            }
            WriteOp::Merge { table, key, operand } => {
                write!(f, "merge {table}/{} + {}", Hex(key), ShortHex(operand))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: &[u8], limit: Option<&[u8]>) -> KeyRange {
        KeyRange {
            start: start.to_vec(),
            limit: limit.map(<[u8]>::to_vec),
        }
    }

    fn sample() -> WriteBatch {
        let mut batch = WriteBatch::new();
        batch.put("t", b"k1", b"v1");
        batch.delete("u", b"");
        batch.delete_range("t", &range(b"a", Some(b"b")));
        batch.delete_range("t", &range(b"c", None));
        batch.merge("t", b"k1", &[1]);
        batch
    }

    #[test]
    fn operations_print_in_order() {
        let text = "put t/6b31 = 7631\ndel u/\ndel t/[61 - 62)\ndel t/[63 - ]\nmerge t/6b31 + 01\n";
        assert_eq!(sample().to_string(), text);
    }

    #[test]
    fn operations_and_bytes_are_counted() {
        let batch = sample();
        assert_eq!((batch.len(), batch.bytes(), batch.tables().len()), (5, 10, 2));
        assert!(!batch.is_empty());
    }

    #[test]
    fn appending_keeps_order_and_tables() {
        let mut twice = WriteBatch::with_capacity(10, 20);
        twice.append(&sample());
        assert_eq!(twice, sample());
        twice.append(&sample());
        assert_eq!(twice.to_string(), sample().to_string().repeat(2));
        twice.clear();
        assert_eq!(twice, WriteBatch::new());
    }
}
