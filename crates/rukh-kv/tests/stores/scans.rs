//! The property that a scan shows what a naive filter shows, on random tables, ranges and masks.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rukh_keys::{DataType, Datum, Edge, KeyColumn, KeyLayout, KeyRange, MaskedCompare, SortOrder};
use rukh_kv::{Durability, KvCursor, KvSnapshot, KvStore, ScanSpec, ScanStats, TableOptions, WriteBatch};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Keys are three numbers of this many values, so that tables are dense and masks hit.
const VALUES: i64 = 7;
const COLUMNS: usize = 3;

pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A change of a table.
#[derive(Debug, Clone)]
pub enum Change {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(KeyRange),
    Flush,
}

/// A scan, and how many entries to take one by one before the rest is visited.
#[derive(Debug, Clone)]
pub struct Scan {
    pub spec: ScanSpec,
    singly: usize,
    /// Where the scan is sent after each of its first entries, if that lies ahead.
    skips: Vec<Vec<u8>>,
}

fn layout() -> KeyLayout {
    let column = KeyColumn {
        ty: DataType::TinyInt,
        order: SortOrder::Asc,
        nullable: false,
    };
    KeyLayout::new(vec![column; COLUMNS], None)
}

pub fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(0..VALUES, COLUMNS).prop_map(|numbers| {
        let datums: Vec<Datum> = numbers.into_iter().map(Datum::Int).collect();
        layout().encode(&datums).unwrap()
    })
}

/// An end of a range: a key, a part of one, or the byte string just after one.
fn end() -> impl Strategy<Value = Vec<u8>> {
    (key(), 0..=COLUMNS + 1).prop_map(|(mut key, bytes)| {
        key.push(0);
        key.truncate(bytes);
        key
    })
}

fn range() -> impl Strategy<Value = KeyRange> {
    prop_oneof![
        3 => (end(), end()).prop_map(|(a, b)| KeyRange { start: a.clone().min(b.clone()), limit: Some(a.max(b)) }),
        2 => key().prop_map(KeyRange::point),
        1 => (end(), option::of(end())).prop_map(|(start, limit)| KeyRange { start, limit }),
    ]
}

/// Ranges as they come, or sorted and disjoint as the planner makes them.
fn ranges() -> impl Strategy<Value = Vec<KeyRange>> {
    prop_oneof![
        1 => Just(vec![KeyRange::all()]),
        2 => vec(range(), 0..8),
        3 => vec(range(), 0..20).prop_map(KeyRange::merge),
    ]
}

/// A test on some columns, each of one or two intervals.
fn masked() -> impl Strategy<Value = MaskedCompare> {
    let intervals = vec((0..VALUES, 0..VALUES), 1..3);
    vec((0..COLUMNS, intervals), 0..3).prop_map(|tests| {
        let test = |(column, intervals): (usize, Vec<(i64, i64)>)| {
            let ends: Vec<_> = intervals
                .iter()
                .map(|(low, high)| (Datum::Int(*low), Datum::Int(*high)))
                .collect();
            let intervals: Vec<_> = ends
                .iter()
                .map(|(low, high)| (Some((low, Edge::Included)), Some((high, Edge::Included))))
                .collect();
            layout().field_test(column, &intervals, false).unwrap()
        };
        MaskedCompare::new(tests.into_iter().map(test).collect())
    })
}

pub fn scan() -> impl Strategy<Value = Scan> {
    let limit = option::weighted(0.3, 0..40_u64);
    (
        ranges(),
        masked(),
        any::<bool>(),
        limit,
        any::<bool>(),
        0..30_usize,
        vec(key(), 0..6),
    )
        .prop_map(
            |(ranges, masked, reverse, limit, keys_only, singly, skips)| Scan {
                spec: ScanSpec {
                    ranges,
                    masked,
                    reverse,
                    limit,
                    keys_only,
                    read_ahead: false,
                    cancel: None,
                },
                singly,
                skips,
            },
        )
}

pub fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        20 => (key(), vec(any::<u8>(), 0..4)).prop_map(|(key, value)| Change::Put(key, value)),
        4 => key().prop_map(Change::Delete),
        1 => range().prop_map(Change::DeleteRange),
        1 => Just(Change::Flush),
    ];
    vec(change, 0..400)
}

/// Applies changes to a new table and to a map, and returns the map.
pub fn apply(store: &dyn KvStore, table: &str, changes: &[Change]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    store.create_table(table, &TableOptions::default()).unwrap();
    let mut model = BTreeMap::new();
    for group in changes.chunks(50) {
        let mut batch = WriteBatch::new();
        for change in group {
            match change {
                Change::Put(key, value) => {
                    batch.put(table, key, value);
                    model.insert(key.clone(), value.clone());
                }
                Change::Delete(key) => {
                    batch.delete(table, key);
                    model.remove(key);
                }
                Change::DeleteRange(range) => {
                    batch.delete_range(table, range);
                    model.retain(|key, _| !range.contains(key));
                }
                Change::Flush => {
                    store
                        .write(std::mem::take(&mut batch), Durability::Buffered)
                        .unwrap();
                    crate::suite::flush(store);
                }
            }
        }
        store.write(batch, Durability::Buffered).unwrap();
    }
    model
}

/// What a scan of a map shows.
pub fn filter(model: &BTreeMap<Vec<u8>, Vec<u8>>, spec: &ScanSpec) -> Entries {
    let wanted = |key: &[u8]| spec.ranges.iter().any(|range| range.contains(key)) && spec.masked.matches(key);
    let value = |value: &Vec<u8>| if spec.keys_only { Vec::new() } else { value.clone() };
    let entries = model.iter().filter(|(key, _)| wanted(key));
    let mut entries: Entries = entries
        .map(|(key, stored)| (key.clone(), value(stored)))
        .collect();
    if spec.reverse {
        entries.reverse();
    }
    entries.truncate(spec.limit.map_or(usize::MAX, |limit| limit as usize));
    entries
}

/// What a scan of a store shows: some entries one by one, the rest visited.
pub fn show(snapshot: &dyn KvSnapshot, table: &str, scan: &Scan) -> (Entries, ScanStats) {
    let mut cursor = snapshot.scan(table, scan.spec.clone()).unwrap();
    let mut entries = Vec::new();
    while entries.len() < scan.singly {
        match cursor.next().unwrap() {
            Some(entry) => entries.push((entry.key.to_vec(), entry.value.to_vec())),
            None => break,
        }
    }
    visit_all(&mut *cursor, &mut entries);
    (entries, cursor.stats())
}

/// What a scan of a map shows that is sent ahead after each of its first entries.
pub fn filter_with_skips(model: &BTreeMap<Vec<u8>, Vec<u8>>, scan: &Scan) -> Entries {
    let all = ScanSpec {
        limit: None,
        ..scan.spec.clone()
    };
    let mut left = filter(model, &all).into_iter().peekable();
    let mut skips = scan.skips.iter();
    let mut entries = Entries::new();
    while entries.len() < scan.spec.limit.map_or(usize::MAX, |limit| limit as usize)
        && let Some(entry) = left.next()
    {
        entries.push(entry);
        if let Some(bound) = skips.next() {
            let is_before = |entry: &(Vec<u8>, Vec<u8>)| match scan.spec.reverse {
                true => entry.0 >= *bound,
                false => entry.0 < *bound,
            };
            while left.next_if(is_before).is_some() {}
        }
    }
    entries
}

/// What a scan of a store shows that is sent ahead after each of its first entries.
pub fn show_with_skips(snapshot: &dyn KvSnapshot, table: &str, scan: &Scan) -> Entries {
    let mut cursor = snapshot.scan(table, scan.spec.clone()).unwrap();
    let mut entries = Vec::new();
    for bound in &scan.skips {
        match cursor.next().unwrap() {
            Some(entry) => entries.push((entry.key.to_vec(), entry.value.to_vec())),
            None => break,
        }
        cursor.skip_to(bound).unwrap();
    }
    visit_all(&mut *cursor, &mut entries);
    entries
}

/// What a scan of a store shows that is narrowed, after some entries, to what another scan asks for.
pub fn show_narrowed(snapshot: &dyn KvSnapshot, table: &str, scan: &Scan, to: &ScanSpec) -> Option<Entries> {
    let spec = ScanSpec {
        limit: None,
        ..scan.spec.clone()
    };
    let mut cursor = snapshot.scan(table, spec).unwrap();
    let mut entries = Vec::new();
    while entries.len() < scan.singly
        && let Some(entry) = cursor.next().unwrap()
    {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    if !cursor.narrow(to.ranges.clone(), to.masked.clone()) {
        return None;
    }
    visit_all(&mut *cursor, &mut entries);
    Some(entries)
}

/// What a scan of a map shows that is narrowed so.
pub fn filter_narrowed(model: &BTreeMap<Vec<u8>, Vec<u8>>, scan: &Scan, to: &ScanSpec) -> Entries {
    let spec = |masked: &MaskedCompare| ScanSpec {
        limit: None,
        masked: masked.clone(),
        ..scan.spec.clone()
    };
    let mut entries = filter(model, &spec(&scan.spec.masked));
    let ended = entries.len() < scan.singly;
    entries.truncate(scan.singly);
    let last = entries.last().map(|(key, _)| key.clone());
    let is_ahead = |key: &[u8]| {
        last.as_deref().is_none_or(|last| match scan.spec.reverse {
            true => key < last,
            false => key > last,
        })
    };
    let is_in = |key: &[u8]| to.ranges.iter().any(|range| range.contains(key));
    let rest = filter(model, &spec(&to.masked)).into_iter();
    entries.extend(rest.filter(|(key, _)| !ended && is_ahead(key) && is_in(key)));
    entries
}

fn visit_all(cursor: &mut dyn KvCursor, entries: &mut Entries) {
    let done = cursor.for_each(&mut |key, value| {
        entries.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    });
    assert!(done.unwrap());
    assert_eq!(cursor.next().unwrap(), None);
}

fn bytes(entries: &Entries) -> u64 {
    entries
        .iter()
        .map(|(key, value)| (key.len() + value.len()) as u64)
        .sum()
}

/// Checks that the scans of a table, and of a snapshot that later changes must not touch, show
/// what a filter shows.
pub fn scans_are_filters(
    store: &dyn KvStore,
    table: &str,
    changes: &[Change],
    scans: &[Scan],
) -> Result<(), TestCaseError> {
    let model = apply(store, table, changes);
    let snapshot = store.snapshot();
    let check = |snapshot: &dyn KvSnapshot| {
        for scan in scans {
            let expected = filter(&model, &scan.spec);
            let (shown, stats) = show(snapshot, table, scan);
            prop_assert_eq!(&shown, &expected, "{:?}", scan);
            let expected_with_skips = filter_with_skips(&model, scan);
            prop_assert_eq!(
                show_with_skips(snapshot, table, scan),
                expected_with_skips,
                "{:?}",
                scan
            );
            for to in scans.iter().map(|other| &other.spec) {
                if let Some(shown) = show_narrowed(snapshot, table, scan, to) {
                    prop_assert_eq!(shown, filter_narrowed(&model, scan, to), "{:?} to {:?}", scan, to);
                }
            }
            let (count, counted) = snapshot.count(table, scan.spec.clone()).unwrap();
            prop_assert_eq!(count, expected.len() as u64);
            prop_assert_eq!(stats.keys_examined, count + stats.masked_misses);
            prop_assert_eq!(stats.bytes_read, bytes(&expected));
            prop_assert_eq!(
                ScanStats {
                    bytes_read: 0,
                    ..stats
                },
                ScanStats {
                    bytes_read: 0,
                    ..counted
                }
            );
        }
        Ok(())
    };
    check(&*store.latest())?;
    let mut batch = WriteBatch::new();
    batch.delete_range(table, &KeyRange::all());
    store.write(batch, Durability::Buffered).unwrap();
    check(&*snapshot)?;
    store.drop_table(table).unwrap();
    check(&*snapshot)
}
