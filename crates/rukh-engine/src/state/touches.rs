//! What statements touch, as commits name it to storage and as row locks know it.
//!
//! A key of a row, or of a UNIQUE index, is named by its table and a fingerprint of 64 bits. Changed definitions are not named: a
//! commit compares them itself (`transaction`).

use crate::state::row_locks::{LockKey, LockMode};
use rukh_catalog::{ColumnId, IndexId, TableId};
use rukh_kv::{Touch, TouchKind, Version};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

/// How rows are locked that a transaction reads, until its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLock {
    /// As if they were changed: two transactions that do so conflict.
    Update,
    /// So that no other transaction may change them; others may do the same.
    Share,
}

/// Names what the statements of one database touch. All names are of version 0 until [`read_at`] gives them another.
#[derive(Default)]
pub(crate) struct Touches {
    hasher: RandomState,
}

impl Touches {
    /// Names the key of a row.
    pub(crate) fn row(&self, table: TableId, key: &[u8]) -> Touch {
        Touch {
            key: self.hasher.hash_one((table.0, key)),
            ..whole(table, TouchKind::Changed)
        }
    }

    /// Names the key of a row that is only added to.
    pub(crate) fn added(&self, table: TableId, key: &[u8]) -> Touch {
        Touch {
            kind: TouchKind::Added,
            ..self.row(table, key)
        }
    }

    /// Names the key of a row that is locked.
    pub(crate) fn locked(&self, table: TableId, key: &[u8], lock: RowLock) -> Touch {
        Touch {
            kind: match lock {
                RowLock::Update => TouchKind::Locked,
                RowLock::Share => TouchKind::Shared,
            },
            ..self.row(table, key)
        }
    }

    /// Names a key of a UNIQUE index.
    pub(crate) fn unique(&self, table: TableId, index: IndexId, key: &[u8]) -> Touch {
        Touch {
            key: self.hasher.hash_one((table.0, index.0, key)),
            ..whole(table, TouchKind::Changed)
        }
    }
}

impl Touches {
    /// Names a value of referenced columns, which a statement refers to: conflicts with one that takes it away, and with one that brings it.
    pub(crate) fn referred(&self, table: TableId, value: &ReferredValue) -> Touch {
        Touch {
            kind: TouchKind::Added,
            ..self.reference_ends(table, value)
        }
    }

    /// Names a value of referenced columns that no row has any more.
    pub(crate) fn reference_ends(&self, table: TableId, (columns, value): &ReferredValue) -> Touch {
        Touch {
            key: self.hasher.hash_one((table.0, "referred", columns, value)),
            ..whole(table, TouchKind::Changed)
        }
    }
}

/// Columns of a referenced table, ascending, and their values as a key.
pub(crate) type ReferredValue = (Vec<ColumnId>, Vec<u8>);

/// Names a table: one that is to be as it was ([`TouchKind::SharedRelation`]), or of which any row may have changed ([`TouchKind::ChangedRelation`]).
pub(crate) fn whole(table: TableId, kind: TouchKind) -> Touch {
    Touch {
        relation: table.0,
        key: 0,
        kind,
        since: 0,
    }
}

/// Says which version of the state it was that all of these were read from.
pub(crate) fn read_at(version: Version, touched: &mut [Touch]) {
    touched.iter_mut().for_each(|touch| touch.since = version);
}

/// Returns the table of what is touched.
pub(crate) fn table_of(touch: &Touch) -> TableId {
    TableId(touch.relation)
}

/// Returns what is locked, and how, where transactions wait for one another.
fn lock_of(touch: &Touch) -> (LockKey, LockMode) {
    let mode = match touch.kind {
        TouchKind::Changed | TouchKind::Locked | TouchKind::SharedRelation | TouchKind::ChangedRelation => {
            LockMode::Exclusive
        }
        TouchKind::Added => LockMode::Added,
        TouchKind::Shared => LockMode::Shared,
    };
    ((table_of(touch), touch.key), mode)
}

/// Returns the locks of keys that are touched: of the tables, and of the keys in their order.
pub(crate) fn wanted_locks(touched: &[Touch]) -> impl Iterator<Item = (LockKey, LockMode)> {
    let is_key =
        |touch: &&Touch| !matches!(touch.kind, TouchKind::SharedRelation | TouchKind::ChangedRelation);
    let tables: BTreeSet<TableId> = touched.iter().filter(is_key).map(table_of).collect();
    let tables = tables.into_iter().map(|table| ((table, 0), LockMode::Within));
    tables.chain(touched.iter().map(lock_of))
}
