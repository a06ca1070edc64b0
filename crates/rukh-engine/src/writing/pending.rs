//! The changes of a statement before they are written: for each row key touched, what is stored
//! under it and what will be.
//!
//! Nothing here reads storage or knows indexes. A row that an UPDATE moves to another key *arrives*
//! there and takes its place at the end of the statement, when the row that was there has had the
//! chance to move away: `UPDATE t SET k = k + 1` works in any order.

use crate::Row;
use crate::forms::maintain::{Maintainer, RowChange};
use rukh_catalog::IndexId;
use rukh_keys::Datum;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What the statement's snapshot has under a key.
#[derive(Debug)]
pub(crate) enum Stored {
    /// Not known: no index or rule needed it.
    Unread,
    /// A row that was not read.
    There,
    Absent,
    Present(Row),
}

/// What the statement has made of a key so far.
#[derive(Debug)]
pub(crate) enum Image {
    /// What is stored, unchanged.
    Untouched,
    /// No row.
    Gone,
    Row(Row),
}

/// A key that the statement touches.
#[derive(Debug)]
pub(crate) struct PendingRow {
    pub(crate) stored: Stored,
    pub(crate) image: Image,
    /// A row that moves here at the end of the statement.
    pub(crate) arrival: Option<Row>,
}

impl PendingRow {
    /// Makes a key that nothing was done to yet.
    pub(crate) fn new(stored: Stored) -> Self {
        PendingRow {
            stored,
            image: Image::Untouched,
            arrival: None,
        }
    }

    /// Returns the row under the key now, arrivals not counted; `None` also where it is not known.
    pub(crate) fn row(&self) -> Option<&Row> {
        match (&self.image, &self.stored) {
            (Image::Row(row), _) => Some(row),
            (Image::Untouched, Stored::Present(row)) => Some(row),
            _ => None,
        }
    }
}

/// All keys of one table that the statement touches, in key order.
pub(crate) struct PendingTable {
    pub(crate) maintainer: Arc<Maintainer>,
    pub(crate) rows: BTreeMap<Vec<u8>, PendingRow>,
    /// For INSERT … ON CONFLICT DO NOTHING: by index, the keys of UNIQUE entries that `rows` will
    /// have. Made when needed; void once anything else changes `rows`.
    pub(crate) claims: Option<Claims>,
}

impl PendingTable {
    pub(crate) fn new(maintainer: Arc<Maintainer>) -> Self {
        PendingTable {
            maintainer,
            rows: BTreeMap::new(),
            claims: None,
        }
    }

    /// Returns the changes to be written at `now`, in key order: images before and after.
    pub(crate) fn changes(&self, now: i64) -> Vec<RowChange<'_>> {
        let codec = &self.maintainer.codec;
        let changed = self.rows.iter().filter_map(|(key, pending)| {
            let new = match &pending.image {
                Image::Untouched => return None,
                Image::Gone => None,
                Image::Row(row) => Some(row.as_slice()),
            };
            let old = match &pending.stored {
                Stored::Present(row) => Some(row.as_slice()),
                Stored::Unread | Stored::There | Stored::Absent => None,
            };
            Some(RowChange {
                key,
                old,
                new,
                times: new.and_then(|row| codec.times(row, now)),
                blind: matches!(pending.stored, Stored::Unread | Stored::There),
                is_there: matches!(pending.stored, Stored::There),
            })
        });
        changed.collect()
    }
}

/// The rows of a table that a statement has moved to other keys.
#[derive(Default)]
pub(crate) struct Moves {
    /// By the key that a row had before the statement, the key that it has now.
    now: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The other way round.
    before: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Moves {
    /// Notes that the row under a key moves; `is_written` if the statement has put it there.
    pub(crate) fn add(&mut self, from: &[u8], to: &[u8], is_written: bool) {
        let arrived = is_written.then(|| self.before.remove(from)).flatten();
        let before = arrived.unwrap_or_else(|| from.to_vec());
        self.now.insert(before.clone(), to.to_vec());
        self.before.insert(to.to_vec(), before);
    }

    /// Returns the key of a row that had this one before the statement; `None` if another has it now and this row none.
    pub(crate) fn key_of<'a>(&'a self, before: &'a [u8]) -> Option<&'a [u8]> {
        match self.now.get(before) {
            Some(now) => Some(now),
            None => (!self.before.contains_key(before)).then_some(before),
        }
    }
}

/// Returns roughly the memory that a row takes.
pub(crate) fn row_bytes(row: &[Datum]) -> u64 {
    let heap = row.iter().map(|datum| match datum {
        Datum::Text(text) => text.capacity(),
        Datum::Bytes(bytes) => bytes.capacity(),
        _ => 0,
    });
    (heap.sum::<usize>() + std::mem::size_of_val(row)) as u64
}

/// Rows whose keys are looked up together.
pub(crate) const CHUNK_ROWS: usize = 1024;

/// What INSERT does with a row whose key, or UNIQUE value, is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Fails with [`EngineError::UniqueViolation`](crate::EngineError::UniqueViolation).
    Error,
    /// Leaves the row out: ON CONFLICT DO NOTHING.
    Ignore,
    /// Leaves the row out if its primary key is taken; fails on a UNIQUE value that is.
    IgnoreKey,
    /// Leaves the row out if its value in this UNIQUE index is taken; fails on any other.
    IgnoreIndex(IndexId),
}

impl OnConflict {
    /// Whether a row whose primary key is taken is left out.
    pub(crate) fn ignores_key(self) -> bool {
        matches!(self, OnConflict::Ignore | OnConflict::IgnoreKey)
    }

    /// Whether a row whose value in this UNIQUE index is taken is left out.
    pub(crate) fn ignores_index(self, index: IndexId) -> bool {
        match self {
            OnConflict::Ignore => true,
            OnConflict::IgnoreIndex(id) => id == index,
            OnConflict::Error | OnConflict::IgnoreKey => false,
        }
    }
}

/// By index, keys of UNIQUE entries that pending rows will have.
pub(crate) type Claims = Vec<HashSet<Vec<u8>>>;
