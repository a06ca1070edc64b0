//! Compaction on demand.
//!
//! Tables that share a column family lie next to one another, small ones in one file. Compacted one by one they would
//! have it written anew each time, so neighbours are compacted together.

use super::TableHandle;
use super::snapshot::Tables;
use crate::KvError;
use rocksdb::{BottommostLevelCompaction, CompactOptions, properties};
use rukh_keys::KeyRange;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// Tables that are compacted at once.
pub(super) struct Group {
    /// One of them.
    pub(super) first: Arc<TableHandle>,
    /// What they have of the column family; none is all of it.
    pub(super) range: Option<KeyRange>,
    /// How many they are.
    pub(super) tables: u64,
}

/// Puts those of some tables together that have no other table between them.
pub(super) fn groups(present: &Tables, names: &[String]) -> Vec<Group> {
    let mut groups = Vec::new();
    let wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let mut families: BTreeMap<&str, BTreeMap<u32, &Arc<TableHandle>>> = BTreeMap::new();
    for table in present.values() {
        match &table.share {
            Some(share) => {
                families
                    .entry(&share.family)
                    .or_default()
                    .insert(share.number, table);
            }
            None if wanted.contains(&*table.name) => groups.push(Group {
                first: Arc::clone(table),
                range: None,
                tables: 1,
            }),
            None => {}
        }
    }
    for tables in families.values() {
        let mut before = false;
        for table in tables.values() {
            let is_wanted = wanted.contains(&*table.name);
            if is_wanted {
                let range = table.native_range(&KeyRange::all());
                match groups.last_mut().filter(|_| before) {
                    Some(Group {
                        range: Some(known),
                        tables,
                        ..
                    }) => {
                        known.limit = range.limit;
                        *tables += 1;
                    }
                    _ => groups.push(Group {
                        first: Arc::clone(table),
                        range: Some(range),
                        tables: 1,
                    }),
                }
            }
            before = is_wanted;
        }
    }
    groups
}

/// Rewrites a range of a table's column family, or all of that, in its most compact form.
pub(super) fn range(table: &TableHandle, range: Option<KeyRange>) -> Result<(), KvError> {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
    let start = range.as_ref().map(|range| range.start.as_slice());
    let limit = range.as_ref().and_then(|range| range.limit.as_deref());
    // A compaction returns no error; the count of errors tells.
    let errors = || table.db.property_int_value(properties::BACKGROUND_ERRORS);
    let before = errors().ok().flatten();
    table
        .db
        .compact_range_cf_opt(&table.family, start, limit, &options);
    match errors().ok().flatten() > before {
        true => Err(KvError::io(
            format!("compact table \"{}\"", table.name),
            io::Error::other("a background error occurred; the file LOG of the database tells which"),
        )),
        false => Ok(()),
    }
}
