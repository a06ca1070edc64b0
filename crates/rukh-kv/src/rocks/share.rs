//! Tables that share a column family.
//!
//! A column family costs memory, time when the database is opened, and, whenever one is made or dropped, a
//! file with the options of all of them. So tables beyond the first [`RocksOptions::own_families`] lie
//! together in a few: each has a number, and its keys have the number before them, four bytes with the
//! highest first. Numbers are never given twice, so that the keys of a dropped table belong to no other.
//!
//! | column family             | holds tables                                               |
//! |---------------------------|------------------------------------------------------------|
//! | `shared.0` … `shared.3`   | stored as tables are by default                            |
//! | `shared.0.zstd`           | compressed by `zstd`, `lz4` or `none`                      |
//! | `shared.0.8192`           | with blocks of 8192 bytes                                  |
//! | `shared.0.purged`         | whose values may be forgotten                              |
//! | `shared.0.purged.lz4.8192` | all of these                                              |
//!
//! The first number of the name is that of the table, modulo the number of families for each way to store tables: with several,
//! their compactions run beside one another. `directory` records which table lies where.
//!
//! [`RocksOptions::own_families`]: crate::RocksOptions::own_families

use super::{TableHandle, directory};
use crate::name::SHARED;
use crate::{Compression, TableOptions};
use rocksdb::{ReadOptions, WriteBatch};
use rukh_keys::KeyRange;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a table's number before its keys.
pub(super) const NUMBER_BYTES: usize = 4;

/// Families for tables that are stored in the same way.
const FAMILIES: u32 = 4;

/// So many `ff` behind a number are near the end of its keys.
const ALMOST_ALL_BYTES: usize = 64;

/// The part of a column family that a table has.
pub(super) struct Share {
    /// The number of the table.
    pub(super) number: u32,
    /// Name of the column family.
    pub(super) family: String,
    /// Whether its keys go with the last reader.
    dropped: AtomicBool,
}

impl Share {
    pub(super) fn new(number: u32, family: &str) -> Share {
        Share {
            number,
            family: family.to_owned(),
            dropped: AtomicBool::new(false),
        }
    }

    /// Removes the keys once they have no reader. The directory names the table as
    /// dropped already.
    pub(super) fn give_up(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// Returns the keys of the table; the limit is there.
    fn range(&self) -> KeyRange {
        range_of(self.number)
    }
}

/// Returns all keys that begin with a number; the limit is there.
fn range_of(number: u32) -> KeyRange {
    KeyRange {
        start: number.to_be_bytes().to_vec(),
        // Numbers end before the last, see `directory`.
        limit: Some(number.saturating_add(1).to_be_bytes().to_vec()),
    }
}

/// Returns the name of the column family for a table with this number; none for a table that cannot share.
pub(super) fn family_name(options: &TableOptions, number: u32) -> Option<String> {
    let TableOptions {
        large_value_bytes,
        purged,
        compression,
        block_bytes,
        own_family,
    } = options;
    if *own_family || *large_value_bytes != TableOptions::default().large_value_bytes {
        return None;
    }
    let compression = compression.map(|compression| match compression {
        Compression::None => "none".to_owned(),
        Compression::Lz4 => "lz4".to_owned(),
        Compression::Zstd => "zstd".to_owned(),
    });
    let parts = [
        Some((number % FAMILIES).to_string()),
        purged.then(|| "purged".to_owned()),
        compression,
        block_bytes.map(|bytes| bytes.to_string()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(format!("{SHARED}{}", parts.join(".")))
}

/// Returns how the tables of a column family are stored that [`family_name`] named; none for another.
pub(super) fn options_of(family: &str) -> Option<TableOptions> {
    let mut parts = family.strip_prefix(SHARED)?.split('.');
    parts.next()?.parse::<u32>().ok()?;
    let mut options = TableOptions::default();
    for part in parts {
        match part {
            "purged" => options.purged = true,
            "none" => options.compression = Some(Compression::None),
            "lz4" => options.compression = Some(Compression::Lz4),
            "zstd" => options.compression = Some(Compression::Zstd),
            bytes => options.block_bytes = Some(bytes.parse().ok()?),
        }
    }
    Some(options)
}

/// Whether a column family is one that tables share.
pub(super) fn is_shared(family: &str) -> bool {
    family.starts_with(SHARED)
}

/// Splits a key of a shared column family into the number of the table and its key.
pub(super) fn split_number(native: &[u8]) -> Option<(u32, &[u8])> {
    let (number, key) = native.split_first_chunk::<NUMBER_BYTES>()?;
    Some((u32::from_be_bytes(*number), key))
}

impl TableHandle {
    /// Returns a key as the column family has it; a table with one of its own copies nothing.
    #[inline]
    pub(super) fn native<'a>(&self, key: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.share {
            None => Cow::Borrowed(key),
            Some(share) => Cow::Owned([&share.number.to_be_bytes(), key].concat()),
        }
    }

    /// As [`TableHandle::native`], in a buffer.
    #[inline]
    pub(super) fn native_in<'a>(&self, key: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        match &self.share {
            None => key,
            Some(_) => {
                self.put_native(key, buffer);
                buffer
            }
        }
    }

    /// Copies a key as the column family has it.
    #[inline]
    pub(super) fn put_native(&self, key: &[u8], into: &mut Vec<u8>) {
        into.clear();
        if let Some(share) = &self.share {
            into.extend_from_slice(&share.number.to_be_bytes());
        }
        into.extend_from_slice(key);
    }

    /// Returns the table's key of one in the column family.
    #[inline]
    pub(super) fn key_of<'a>(&self, native: &'a [u8]) -> &'a [u8] {
        native.get(self.number_bytes()..).unwrap_or_default()
    }

    /// Returns how many bytes stand before the table's keys.
    #[inline]
    pub(super) fn number_bytes(&self) -> usize {
        match self.share {
            None => 0,
            Some(_) => NUMBER_BYTES,
        }
    }

    /// Returns a range as the column family has it; that of a table that shares one has a limit.
    pub(super) fn native_range(&self, range: &KeyRange) -> KeyRange {
        match &self.share {
            None => range.clone(),
            Some(share) => {
                let limit = range
                    .limit
                    .as_deref()
                    .map(|limit| self.native(limit).into_owned());
                KeyRange {
                    start: self.native(&range.start).into_owned(),
                    limit: limit.or(share.range().limit),
                }
            }
        }
    }

    /// Returns options to read nothing but a range of the table.
    pub(super) fn bounds(&self, range: &KeyRange) -> ReadOptions {
        let range = self.native_range(range);
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(range.start);
        if let Some(limit) = range.limit {
            options.set_iterate_upper_bound(limit);
        }
        options
    }
}

impl Drop for TableHandle {
    fn drop(&mut self) {
        if let Some(share) = &self.share
            && share.dropped.load(Ordering::Acquire)
        {
            // What cannot be removed now is removed when the database is opened next.
            let _ = remove(self, share.number);
        }
    }
}

/// Removes the keys of a table that was dropped and has no reader from a column family, and its name from
/// the directory.
pub(super) fn remove(family: &TableHandle, number: u32) -> Result<(), rocksdb::Error> {
    let range = range_of(number);
    let limit = range.limit.unwrap_or_default();
    // Whole files go at once. The last key of one may be the end that is given here, but not that of a neighbour.
    let end = [&range.start[..], &[0xff; ALMOST_ALL_BYTES]].concat();
    family
        .db
        .delete_file_in_range_cf(&family.family, &range.start, &end)?;
    let mut options = ReadOptions::default();
    options.set_iterate_lower_bound(range.start.clone());
    options.set_iterate_upper_bound(limit.clone());
    let mut rest = family.db.raw_iterator_cf_opt(&family.family, options);
    rest.seek_to_first();
    // Also where what is there cannot be read, it goes.
    let is_empty = rest.key().is_none() && rest.status().is_ok();
    let mut batch = WriteBatch::default();
    if !is_empty {
        batch.delete_range_cf(&family.family, &range.start, &limit);
    }
    directory::forget(&mut batch, number);
    family.db.write(batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_named_after_how_their_tables_are_stored() {
        let zstd = Some(Compression::Zstd);
        for (purged, compression, block_bytes, name) in [
            (false, None, None, "shared.3"),
            (true, None, None, "shared.3.purged"),
            (false, zstd, None, "shared.3.zstd"),
            (true, zstd, Some(8192), "shared.3.purged.zstd.8192"),
        ] {
            let options = TableOptions {
                purged,
                compression,
                block_bytes,
                ..TableOptions::default()
            };
            assert_eq!(family_name(&options, 7).as_deref(), Some(name));
            assert_eq!(options_of(name), Some(options));
        }
        for options in [
            TableOptions {
                own_family: true,
                ..TableOptions::default()
            },
            TableOptions {
                large_value_bytes: Some(5),
                ..TableOptions::default()
            },
        ] {
            assert_eq!(family_name(&options, 7), None);
        }
        for name in ["shared", "shared.", "shared.x", "shared.0.new", "t7"] {
            assert_eq!(options_of(name), None, "{name}");
        }
    }

    #[test]
    fn the_keys_of_a_number_end_before_those_of_the_next() {
        let range = range_of(0x01ff);
        assert_eq!(range.start, [0, 0, 1, 0xff]);
        assert_eq!(range.limit, Some(vec![0, 0, 2, 0]));
        assert_eq!(split_number(&[0, 0, 1, 0xff, 7]), Some((0x01ff, &[7][..])));
        assert_eq!(split_number(&[0, 0, 1]), None);
    }
}
