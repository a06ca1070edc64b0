//! Compaction on demand.
//!
//! Tables that share a column family lie next to one another, small ones in one file. Compacted one by one they would
//! rewrite it each time, so neighbours are compacted together.
//!
//! A compaction cannot be stopped through the binding, so what is large is compacted piece by piece: a piece ends with a file of the
//! lowest level, and the next begins right behind, so that each of these files is written once.
//!
//! | files of the lowest level | pieces                              |
//! |---------------------------|-------------------------------------|
//! | none, or one              | all                                 |
//! | `a..c`, `e..g`, `i..k`    | `..c`, `c\0..g`, `g\0..`            |

use super::TableHandle;
use super::failure::failure;
use super::snapshot::Tables;
use crate::KvError;
use rocksdb::{BottommostLevelCompaction, CompactOptions, LiveFile, WriteBatch, properties};
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

/// Where the files of the lowest level end, by column family.
#[derive(Default)]
pub(super) struct Ends(BTreeMap<String, BTreeSet<Vec<u8>>>);

impl Ends {
    /// Looks at the files that there are.
    pub(super) fn of(files: Vec<LiveFile>) -> Self {
        let mut lowest: BTreeMap<String, i32> = BTreeMap::new();
        for file in &files {
            let level = lowest.entry(file.column_family_name.clone()).or_default();
            *level = file.level.max(*level);
        }
        let mut ends: BTreeMap<String, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for file in files {
            // Files of the level above all others lie in no order.
            let is_lowest = file.level > 0 && lowest.get(&file.column_family_name) == Some(&file.level);
            if let Some(end) = file.end_key.filter(|_| is_lowest) {
                ends.entry(file.column_family_name).or_default().insert(end);
            }
        }
        Ends(ends)
    }

    /// Cuts a range of a column family into pieces, from and up to keys; the last has the limit of the range.
    fn pieces(&self, family: &str, range: Option<&KeyRange>) -> Vec<(Option<Vec<u8>>, Option<Vec<u8>>)> {
        let mut start = range.map(|range| range.start.clone());
        let limit = range.and_then(|range| range.limit.clone());
        let mut pieces = Vec::new();
        let ends = self.0.get(family).into_iter().flatten().filter(|end| {
            range.is_none_or(|range| {
                **end >= range.start && range.limit.as_ref().is_none_or(|limit| *end < limit)
            })
        });
        let ends: Vec<&Vec<u8>> = ends.collect();
        // Behind the last nothing is left, but for what lies in memory and in higher levels.
        for end in ends.iter().take(ends.len().saturating_sub(1)) {
            pieces.push((start.take(), Some(end.to_vec())));
            let mut next = end.to_vec();
            next.push(0);
            start = Some(next);
        }
        pieces.push((start, limit));
        pieces
    }
}

/// Rewrites a range of a table's column family, or all of that, in its most compact form; stops between two pieces when `goes_on`
/// says no.
pub(super) fn range(
    table: &TableHandle,
    range: Option<&KeyRange>,
    ends: &Ends,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<(), KvError> {
    let family = table.share.as_ref().map_or(&*table.name, |share| &*share.family);
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
    // A compaction returns no error; the count of errors shows it.
    let errors = || table.db.property_int_value(properties::BACKGROUND_ERRORS);
    let before = errors().ok().flatten();
    for (nth, (start, limit)) in ends.pieces(family, range).into_iter().enumerate() {
        if nth > 0 && !goes_on() {
            break;
        }
        let (start, limit) = (start.as_deref(), limit.as_deref());
        table
            .db
            .compact_range_cf_opt(&table.family, start, limit, &options);
    }
    if errors().ok().flatten() <= before {
        return Ok(());
    }
    let operation = format!("compact table \"{}\"", table.name);
    // Where that ended all writing, a write of nothing returns why.
    table
        .db
        .write(WriteBatch::default())
        .map_err(|error| failure(&operation, error))?;
    let message = "a background error occurred; the file LOG of the database names it";
    Err(KvError::io(operation, io::Error::other(message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(family: &str, level: i32, start: &str, end: &str) -> LiveFile {
        LiveFile {
            column_family_name: family.to_owned(),
            name: String::new(),
            size: 1,
            level,
            start_key: Some(start.as_bytes().to_vec()),
            end_key: Some(end.as_bytes().to_vec()),
            num_entries: 1,
            num_deletions: 0,
        }
    }

    fn key(text: &str) -> Option<Vec<u8>> {
        Some(text.as_bytes().to_vec())
    }

    #[test]
    fn pieces_end_with_files_and_leave_nothing_out() {
        let ends = Ends::of(vec![
            file("t", 0, "a", "z"),
            file("t", 5, "b", "d"),
            file("t", 6, "i", "k"),
            file("t", 6, "a", "c"),
            file("t", 6, "e", "g"),
            file("other", 0, "a", "c"),
            file("other", 0, "b", "d"),
        ]);
        assert_eq!(
            ends.pieces("t", None),
            [(None, key("c")), (key("c\0"), key("g")), (key("g\0"), None)]
        );
        let part = KeyRange {
            start: b"d".to_vec(),
            limit: key("j"),
        };
        assert_eq!(ends.pieces("t", Some(&part)), [(key("d"), key("j"))]);
        let more = KeyRange {
            start: b"b".to_vec(),
            limit: None,
        };
        assert_eq!(
            ends.pieces("t", Some(&more)),
            [(key("b"), key("c")), (key("c\0"), key("g")), (key("g\0"), None)]
        );
        for family in ["other", "none"] {
            assert_eq!(ends.pieces(family, None), [(None, None)], "{family}");
        }
    }
}
