//! Names a store knows: of tables, and of files that wait to be ingested.

use crate::KvError;
use std::fmt;
use std::ops::Deref;

/// The column family that every RocksDB has of itself: the directory of tables that share others.
pub(crate) const RESERVED: &str = "default";

/// What the names of column families begin with that tables share.
pub(crate) const SHARED: &str = "shared.";

/// The name of a table, which is the name of its column family if it has one of its own.
///
/// Invariant: not empty, no NUL character, not the reserved name `default`, and not one that begins with `shared.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName(String);

impl TableName {
    /// Takes a name; [`KvError::InvalidTableName`] when a store could not hold it.
    pub fn new(name: impl Into<String>) -> Result<TableName, KvError> {
        let name = name.into();
        if name.is_empty() || name == RESERVED || name.starts_with(SHARED) || name.contains('\0') {
            return Err(KvError::InvalidTableName { name });
        }
        Ok(TableName(name))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for TableName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a finished file of sorted entries that waits to be ingested.
///
/// A name stays valid over a reopen of the store, so that it can be written into a durable record
/// of what is to be ingested; it is never given to another file of the same database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadFile(String);

impl LoadFile {
    /// Names a file again, from a name that was written down before.
    pub fn new(name: impl Into<String>) -> LoadFile {
        LoadFile(name.into())
    }

    /// Returns the name as text, to be written down.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LoadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_store_cannot_hold_are_refused() {
        for name in ["", "default", "shared.0", "a\0b"] {
            assert!(TableName::new(name).is_err(), "{name:?}");
        }
        assert_eq!(
            TableName::new("t@by_host")
                .map(|name| name.to_string())
                .ok()
                .as_deref(),
            Some("t@by_host")
        );
    }
}
