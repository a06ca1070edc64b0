//! Columnar indexes: bits that flip, snapshots that stay, and repacks beside writers.

use crate::support;
use rukh_catalog::Table;
use rukh_engine::{
    Engine, EngineError, FindingKind, NoProgress, OnConflict, Row, ScanCounters, ScanRequest, Snapshot,
    Source, Values,
};
use rukh_kv::{Durability, KvStore, MemoryStore, ScanSpec, WriteBatch};
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const COLUMNS: &str = "k INTEGER, s VARCHAR, a INTEGER NULL, b VARCHAR NULL, d DECIMAL(30,2) NULL";

fn database(rows: i64) -> (Arc<dyn KvStore>, Engine) {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", COLUMNS, "k, s");
    upsert(&engine, 0..rows, 0);
    support::create_index(&engine, &table, "c", "COLUMNAR k, s", "a, b, d", false);
    (store, engine)
}

fn row(table: &Table, key: i64, version: i64) -> Row {
    let text = format!(
        "{key}, 's{}', {}, 'b{version}', {}",
        key % 3,
        key + version,
        key * 1_000_003
    );
    support::row(table, &text)
}

fn upsert(engine: &Engine, keys: impl Iterator<Item = i64>, version: i64) {
    let table = support::table(engine, "t");
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let rows = keys.map(|key| row(&table, key, version)).collect();
    let mut write = engine.begin().unwrap();
    write.upsert(&table, &all, rows).unwrap();
    write.commit(Durability::Buffered).unwrap();
}

fn index(engine: &Engine) -> Source {
    Source::Index(support::table(engine, "t").index_named("c").unwrap().id)
}

fn read(engine: &Engine, snapshot: &Snapshot) -> Vec<Row> {
    let table = support::table(engine, "t");
    let mut request = ScanRequest::all(table, Vec::new());
    request.source = index(engine);
    support::read(snapshot, request)
}

fn repack(engine: &Engine) -> u64 {
    let table = support::table(engine, "t");
    let id = table.index_named("c").unwrap().id;
    engine.repack_index(id, &NoProgress).unwrap()
}

/// Reads all columns; rows or the error.
fn scan(engine: &Engine) -> Result<Vec<Row>, EngineError> {
    let table = support::table(engine, "t");
    let columns: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let width = columns.len();
    let mut request = ScanRequest::all(table, columns);
    request.source = index(engine);
    let mut cursor = engine.snapshot().scan(request)?;
    let mut rows = Vec::new();
    let mut sink = |view: &rukh_engine::RowView<'_>| {
        let datums = (0..width).map(|at| Ok(view.datum(at)?.into_owned()));
        rows.push(datums.collect::<Result<Row, EngineError>>()?);
        Ok(())
    };
    while cursor.next_rows(5, &mut sink)? > 0 {}
    Ok(rows)
}

#[test]
fn a_flipped_bit_is_an_error_that_names_the_block() {
    let (store, engine) = database(10);
    // What was read before stays right; here storage is read each time.
    engine.set_open_blocks_bytes(0);
    upsert(&engine, [3, 4].into_iter(), 1);
    let expected = scan(&engine).unwrap();
    let blocks = store
        .tables()
        .into_iter()
        .find(|name| name.ends_with(".c"))
        .unwrap();
    let mut pieces = Vec::new();
    let snapshot = store.snapshot();
    let mut cursor = snapshot.scan(&blocks, ScanSpec::all()).unwrap();
    while let Some(piece) = cursor.next().unwrap() {
        pieces.push((piece.key.to_vec(), piece.value.to_vec()));
    }
    drop(cursor);
    assert!(pieces.len() > 6 * 2, "{} pieces", pieces.len());
    let put = |key: &[u8], value: &[u8]| {
        let mut batch = WriteBatch::new();
        batch.put(&blocks, key, value);
        store.write(batch, Durability::Synced).unwrap();
    };
    let mut unread = 0;
    for (key, value) in &pieces {
        for at in 0..value.len() {
            let mut flipped = value.clone();
            flipped[at] ^= 1 << (at % 8);
            put(key, &flipped);
            match scan(&engine) {
                Err(EngineError::Corruption { name, key, .. }) => {
                    assert_eq!(name, "t@c");
                    assert!(key.starts_with('/'), "{key}");
                }
                // What changes have replaced need not be read.
                Ok(rows) => {
                    assert_eq!(rows, expected);
                    unread += usize::from(at == 0);
                }
                other => panic!("{other:?}"),
            }
        }
        let table = support::table(&engine, "t");
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(
            report
                .findings
                .iter()
                .any(|finding| finding.kind == FindingKind::Corrupt),
            "{report:?}"
        );
        put(key, value);
    }
    assert!(unread * 8 < pieces.len(), "{unread} of {} pieces", pieces.len());
    // One that is gone is noticed as well; without its head, a block is stray.
    for (key, value) in &pieces {
        let mut batch = WriteBatch::new();
        batch.delete(&blocks, key);
        store.write(batch, Durability::Synced).unwrap();
        let table = support::table(&engine, "t");
        assert!(!engine.check_table(table.id, &NoProgress).unwrap().is_clean());
        put(key, value);
    }
    assert_eq!(scan(&engine).unwrap(), expected);
}

/// A text that no other number has, in no order.
fn scattered(key: i64) -> String {
    format!("{:016x}", (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A columnar table of rows with such texts, of which each has every tenth NULL, in blocks of 64 rows.
fn scattered_table(rows: i64) -> (Arc<dyn KvStore>, Engine) {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    engine.set_block_rows(64);
    let columns = "k INTEGER, h VARCHAR NULL, n BIGINT NULL, f INTEGER";
    let table = support::create_table(&engine, "t", columns, "COLUMNAR k");
    let row = |key: i64| match key % 10 {
        0 => support::row(&table, &format!("{key}, NULL, NULL, {}", key % 3)),
        _ => support::row(
            &table,
            &format!(
                "{key}, '{}', {}, {}",
                scattered(key),
                key * 1_000_003 % 77_777_777,
                key % 3
            ),
        ),
    };
    let mut load = engine.load(table.id).unwrap();
    load.add((0..rows).map(row).collect()).unwrap();
    load.finish().unwrap();
    (store, engine)
}

/// The keys of the rows that have one of these values in a column, or NULL if that is wanted; and what was read.
fn keys_with(
    engine: &Engine,
    column: &str,
    values: &[rukh_keys::Datum],
    null: bool,
) -> Result<(Vec<rukh_keys::Datum>, ScanCounters), EngineError> {
    let table = support::table(engine, "t");
    let mut sorted = values.to_vec();
    sorted.sort();
    let point = |value: &rukh_keys::Datum| (Bound::Included(value.clone()), Bound::Included(value.clone()));
    let id = table.column_named("k").unwrap().id;
    let mut request = ScanRequest::all(table.clone(), vec![id]);
    request.tests = vec![rukh_engine::ColumnTest {
        column: table.column_named(column).unwrap().id,
        ranges: sorted.iter().map(point).collect(),
        null,
    }];
    let mut cursor = engine.snapshot().scan_columnar(request)?;
    let mut keys = Vec::new();
    while let Some(batch) = cursor.next_batch(100)? {
        let rukh_engine::Values::Int(values) = batch.columns[0].values() else {
            panic!("keys are integers")
        };
        keys.extend(values.iter().map(|key| rukh_keys::Datum::Int(*key)));
    }
    Ok((keys, cursor.counters()))
}

#[test]
fn filters_rule_out_blocks_that_lack_a_value() {
    use rukh_keys::Datum;
    let rows = 64 * 100;
    let (_, engine) = scattered_table(rows);
    let blocks = table_debt(&engine).blocks;
    assert!(blocks >= 90, "{blocks}");
    let text = |key: i64| Datum::Text(scattered(key));
    let check = |engine: &Engine, expected: &dyn Fn(i64) -> bool| {
        let mut read = 0;
        for key in (0..rows + 100).step_by(37) {
            let (keys, counters) = keys_with(engine, "h", &[text(key)], false).unwrap();
            let is_there = key < rows && key % 10 != 0 && expected(key);
            assert_eq!(
                keys,
                if is_there {
                    vec![Datum::Int(key)]
                } else {
                    Vec::new()
                },
                "{key}"
            );
            assert_eq!(
                counters.blocks_read + counters.blocks_pruned,
                table_debt(engine).blocks
            );
            read += counters.blocks_read;
        }
        read
    };
    // 175 values: the block of each, and one of about eighty others.
    let read = check(&engine, &|_| true);
    assert!(read < 175 + 175 * 5, "{read}");
    let several: Vec<Datum> = [11, 6001, 77_777].map(text).to_vec();
    let (keys, counters) = keys_with(&engine, "h", &several, false).unwrap();
    assert_eq!(keys, [Datum::Int(11), Datum::Int(6001)]);
    assert!(counters.blocks_read < 20, "{counters:?}");
    // With NULL, every block has a row.
    let (keys, _) = keys_with(&engine, "h", &several, true).unwrap();
    assert_eq!(keys.len() as i64, rows / 10 + 2);
    // What changes beside blocks have is found, and after it became part of them.
    let table = support::table(&engine, "t");
    let mut write = engine.begin().unwrap();
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let changed = [7, 74, 3700].map(|key| support::row(&table, &format!("{key}, 'another', 5, 1")));
    write.upsert(&table, &all, changed.to_vec()).unwrap();
    write.commit(Durability::Buffered).unwrap();
    for _ in 0..2 {
        let is_same = |key: i64| ![7, 74, 3700].contains(&key);
        check(&engine, &is_same);
        let (keys, _) = keys_with(&engine, "h", &[Datum::Text("another".into())], false).unwrap();
        assert_eq!(keys, [7, 74, 3700].map(Datum::Int));
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{report:?}");
        engine
            .repack_index(Engine::layout_id(&table), &NoProgress)
            .unwrap();
    }
}

#[test]
fn a_filter_that_is_damaged_is_an_error_that_names_it() {
    let (store, engine) = scattered_table(200);
    engine.set_open_blocks_bytes(0);
    let snapshot = store.snapshot();
    let filters = ScanSpec::ranges(vec![rukh_keys::KeyRange::prefix(vec![0xff, 0xff, 0, 2])]);
    let blocks = store
        .tables()
        .into_iter()
        .find(|name| name.ends_with(".c"))
        .unwrap();
    let mut cursor = snapshot.scan(&blocks, filters).unwrap();
    let mut found = Vec::new();
    while let Some(filter) = cursor.next().unwrap() {
        found.push((filter.key.to_vec(), filter.value.to_vec()));
    }
    assert!(found.len() >= 3, "{}", found.len());
    let put = |key: &[u8], value: Option<&[u8]>| {
        let mut batch = WriteBatch::new();
        match value {
            Some(value) => batch.put(&blocks, key, value),
            None => batch.delete(&blocks, key),
        };
        store.write(batch, Durability::Synced).unwrap();
    };
    let table = support::table(&engine, "t");
    let sought = [rukh_keys::Datum::Text(format!("8{}", &scattered(77_777)[1..]))];
    for (key, value) in &found {
        for at in 0..value.len() {
            let mut flipped = value.clone();
            flipped[at] ^= 1 << (at % 8);
            put(key, Some(&flipped));
            match keys_with(&engine, "h", &sought, false) {
                Err(EngineError::Corruption { key, message, .. }) => {
                    assert!(
                        key.starts_with('/') && message.contains("column 2"),
                        "{key} {message}"
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(!report.is_clean());
        put(key, None);
        assert!(keys_with(&engine, "h", &sought, false).is_err());
        assert!(!engine.check_table(table.id, &NoProgress).unwrap().is_clean());
        put(key, Some(value));
    }
    assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
    // A repack takes filters away with their blocks.
    let mut write = engine.begin().unwrap();
    let rows = support::read(write.snapshot(), ScanRequest::all(table.clone(), Vec::new()));
    write.delete(&table, rows).unwrap();
    write.commit(Durability::Buffered).unwrap();
    engine
        .repack_index(Engine::layout_id(&table), &NoProgress)
        .unwrap();
    assert_eq!(store.snapshot().count(&blocks, ScanSpec::all()).unwrap().0, 0);
}

/// Rows of the table of [`kept_databases`] by key.
type Kept = BTreeMap<i64, Row>;

/// Engines over stores of their own with the same empty columnar table, that keep nothing, little and all of its blocks.
fn kept_databases() -> Vec<Engine> {
    let engines = [0, 60_000, 64 << 20].map(|bytes| {
        let engine = support::engine();
        engine.set_block_rows(48);
        engine.set_repack_rows(40);
        engine.set_open_blocks_bytes(bytes);
        let columns = "k INTEGER, h VARCHAR NULL, n BIGINT NULL, f INTEGER, u VARCHAR";
        support::create_table(&engine, "t", columns, "COLUMNAR k");
        engine
    });
    engines.into()
}

/// Reads the keys of the rows that pass tests, by blocks, from the first to the last or the other way round.
fn keys_passing(
    engine: &Engine,
    snapshot: &Snapshot,
    tests: &[(&str, Bound<rukh_keys::Datum>, Bound<rukh_keys::Datum>, bool)],
    reverse: bool,
) -> Vec<i64> {
    let table = support::table(engine, "t");
    let id = |name: &str| table.column_named(name).unwrap().id;
    let mut request = ScanRequest::all(table.clone(), vec![id("k")]);
    request.reverse = reverse;
    let test = |(name, low, high, null): &(&str, Bound<_>, Bound<_>, bool)| rukh_engine::ColumnTest {
        column: id(name),
        ranges: vec![(low.clone(), high.clone())],
        null: *null,
    };
    request.tests = tests.iter().map(test).collect();
    let mut cursor = snapshot.scan_columnar(request).unwrap();
    let mut keys = Vec::new();
    while let Some(batch) = cursor.next_batch(100).unwrap() {
        let Values::Int(values) = batch.columns[0].values() else {
            panic!("keys are integers")
        };
        keys.extend(values);
    }
    keys
}

#[test]
fn what_is_kept_of_blocks_changes_no_scan() {
    use rukh_keys::Datum;
    let engines = kept_databases();
    let table = support::table(&engines[0], "t");
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let mut state = 0x5eed_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let row = |key: i64, version: i64| {
        let nulls = key % 10 == 0;
        let text = match nulls {
            true => format!("{key}, NULL, NULL, {}, 'u{version}'", (key + version) % 3),
            false => format!(
                "{key}, '{}', {}, {}, '{}'",
                scattered(key + version),
                (key + version) * 1_000_003 % 77_777_777,
                (key + version) % 3,
                scattered(key * 31)
            ),
        };
        support::row(&table, &text)
    };
    let mut rows = Kept::new();
    let mut seen: Vec<(Vec<Snapshot>, Kept)> = Vec::new();
    for version in 0..60_i64 {
        let start = random(1500) as i64;
        let changed: Vec<i64> = match version % 4 {
            0 => (start..start + 400).collect(),
            _ => (0..random(30)).map(|_| random(1900) as i64).collect(),
        };
        let changed: Vec<i64> = changed
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let is_gone = version % 5 == 3;
        let repacked = random(3) == 0;
        for engine in &engines {
            let table = support::table(engine, "t");
            let mut write = engine.begin().unwrap();
            if is_gone {
                let gone = changed.iter().filter_map(|key| rows.get(key).cloned());
                write.delete(&table, gone.collect()).unwrap();
            } else {
                let new = changed.iter().map(|key| row(*key, version));
                write.upsert(&table, &all, new.collect()).unwrap();
            }
            write.commit(Durability::Buffered).unwrap();
            if repacked {
                engine
                    .repack_index(Engine::layout_id(&table), &NoProgress)
                    .unwrap();
            }
        }
        for key in changed {
            match is_gone {
                true => rows.remove(&key),
                false => rows.insert(key, row(key, version)),
            };
        }
        if seen.len() == 3 {
            seen.remove(random(3) as usize);
        }
        seen.push((engines.iter().map(Engine::snapshot).collect(), rows.clone()));
        for _ in 0..6 {
            let value =
                |column: usize, key: i64| rows.get(&key).map_or(Datum::Null, |row| row[column].clone());
            let point = |name, datum: Datum, null| {
                (name, Bound::Included(datum.clone()), Bound::Included(datum), null)
            };
            let key = random(1900) as i64;
            let mut tests = Vec::new();
            if random(2) == 0 {
                tests.push(point("f", Datum::Int(random(3) as i64), false));
            }
            match (random(5), value(1, key), value(2, key)) {
                (0, text @ Datum::Text(_), _) => tests.push(point("h", text, random(2) == 0)),
                (1, _, number @ Datum::Int(_)) => tests.push(point("n", number, random(2) == 0)),
                (2, text @ Datum::Text(_), _) => {
                    tests.push(("h", Bound::Unbounded, Bound::Excluded(text), random(2) == 0))
                }
                (3, _, number @ Datum::Int(_)) => {
                    tests.push(("n", Bound::Excluded(number), Bound::Unbounded, false))
                }
                _ => {
                    let start = Datum::Text(scattered(key * 31)[..5].to_string());
                    tests.push((
                        "u",
                        Bound::Included(start),
                        Bound::Excluded(Datum::Text("g".into())),
                        false,
                    ));
                }
            }
            let reverse = random(3) == 0;
            for (snapshots, rows) in &seen {
                let passes = |row: &Row| {
                    tests.iter().all(|(name, low, high, null)| {
                        let value = &row[table.columns.iter().position(|c| c.name == *name).unwrap()];
                        match value.is_null() {
                            true => *null,
                            false => (low.clone(), high.clone()).contains(value),
                        }
                    })
                };
                let mut expected: Vec<i64> = rows
                    .iter()
                    .filter(|(_, row)| passes(row))
                    .map(|(key, _)| *key)
                    .collect();
                if reverse {
                    expected.reverse();
                }
                for (engine, snapshot) in engines.iter().zip(snapshots) {
                    assert_eq!(
                        keys_passing(engine, snapshot, &tests, reverse),
                        expected,
                        "{version} {tests:?}"
                    );
                }
                // Readers of single rows keep, and take what is kept.
                let key = random(1900) as i64;
                for snapshot in snapshots {
                    assert_eq!(
                        snapshot.get(&table, &[Datum::Int(key)]).unwrap(),
                        rows.get(&key).cloned()
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_kept_of_blocks_is_not_read_again() {
    let engine = &kept_databases()[2];
    let table = support::table(engine, "t");
    let mut load = engine.load(table.id).unwrap();
    let row = |key: i64| {
        support::row(
            &table,
            &format!("{key}, '{}', {key}, {}, 'u'", scattered(key), key % 3),
        )
    };
    load.add((0..2000).map(row).collect()).unwrap();
    load.finish().unwrap();
    let text = rukh_keys::Datum::Text(scattered(77));
    let read = |column: &str, value: &rukh_keys::Datum| {
        let (keys, counters) = keys_with(engine, column, std::slice::from_ref(value), false).unwrap();
        (keys.len(), counters.bytes_read)
    };
    let one = rukh_keys::Datum::Int(1);
    for (column, value, found) in [("f", &one, 667), ("h", &text, 1)] {
        let (first, again) = (read(column, value), read(column, value));
        assert_eq!((first.0, again.0), (found, found));
        assert!(first.1 > 1000 && again.1 == 0, "{column} {first:?} {again:?}");
    }
    // What changes is read.
    let mut write = engine.begin().unwrap();
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    write.upsert(&table, &all, (500..600).map(row).collect()).unwrap();
    write.commit(Durability::Buffered).unwrap();
    engine
        .repack_index(Engine::layout_id(&table), &NoProgress)
        .unwrap();
    let (found, bytes) = read("f", &one);
    assert_eq!(found, 667);
    assert!(bytes > 0);
    assert_eq!(read("f", &one), (667, 0));
}

#[test]
fn points_of_a_table_in_rows_need_no_snapshot_where_another_is_columnar() {
    let (_, engine) = scattered_table(10);
    let rows = support::create_table(&engine, "rows", "k INTEGER, v INTEGER", "k");
    let columns = support::table(&engine, "t");
    let before = (engine.latest(rows.id), engine.latest(columns.id));
    let mut write = engine.begin().unwrap();
    for (table, row) in [(&rows, "1, 1"), (&columns, "1000, NULL, 1, 1")] {
        let ids: Vec<_> = table.columns.iter().map(|column| column.id).collect();
        write.upsert(table, &ids, vec![support::row(table, row)]).unwrap();
    }
    write.commit(Durability::Buffered).unwrap();
    let is_there = |snapshot: &Snapshot, table: &Table, key: i64| {
        snapshot
            .get(table, &[rukh_keys::Datum::Int(key)])
            .unwrap()
            .is_some()
    };
    assert!(is_there(&before.0, &rows, 1));
    assert!(!is_there(&before.1, &columns, 1000));
    assert!(is_there(&engine.latest(columns.id), &columns, 1000));
}

#[test]
fn changes_beside_blocks_are_known() {
    let engine = columnar_table();
    engine.set_repack_rows(1000);
    upsert(&engine, 0..30, 0);
    let table = support::table(&engine, "t");
    let index = table.indexes[0].id;
    let mut known = engine.changes_beside_blocks(table.id);
    known.sort();
    assert_eq!(known, [(None, 30), (Some(index), 30)]);
    repack(&engine);
    let mut known = engine.changes_beside_blocks(table.id);
    known.sort();
    assert_eq!(known, [(None, 30), (Some(index), 0)]);
}

#[test]
fn snapshots_stay_as_they_are() {
    let (_, engine) = database(20);
    let mut seen = Vec::new();
    for version in 1..6 {
        let snapshot = engine.snapshot();
        let rows = read(&engine, &snapshot);
        seen.push((snapshot, rows));
        upsert(&engine, (0..25).filter(|key| key % version == 0), version);
        repack(&engine);
        for (snapshot, rows) in &seen {
            assert_eq!(&read(&engine, snapshot), rows);
        }
    }
    assert_eq!(repack(&engine), 0);
    let debt = engine.columnar_debt(match index(&engine) {
        Source::Index(id) => id,
        Source::Table => unreachable!(),
    });
    let debt = debt.unwrap().unwrap();
    assert_eq!(debt.delta_rows, 0);
    assert!(debt.blocks >= 5, "{debt:?}");
}

#[test]
fn changes_are_folded_by_those_who_make_them() {
    let (_, engine) = database(0);
    let Source::Index(id) = index(&engine) else {
        unreachable!()
    };
    for key in 0..200 {
        upsert(&engine, [key * 7 % 200].into_iter(), 0);
        let debt = engine.columnar_debt(id).unwrap().unwrap();
        assert!(debt.delta_rows <= 30, "{debt:?}");
    }
    let table = support::table(&engine, "t");
    assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
    assert_eq!(read(&engine, &engine.snapshot()).len(), 200);
}

#[test]
fn repacks_lose_nothing_of_writers_beside_them() {
    let (_, engine) = database(60);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (engine, done) = (&engine, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                repack(engine);
            }
        });
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let table = support::table(engine, "t");
                let snapshot = engine.snapshot();
                let rows = support::read(&snapshot, ScanRequest::all(table, Vec::new()));
                assert_eq!(read(engine, &snapshot), rows);
            }
        });
        for version in 1..40_i64 {
            upsert(engine, (0..80).filter(|key| key % 7 == version % 7), version);
            let table = support::table(engine, "t");
            let mut write = engine.begin().unwrap();
            let gone: Vec<Row> = read(engine, write.snapshot())
                .into_iter()
                .filter(|row| row[0] == rukh_keys::Datum::Int(version))
                .collect();
            write.delete(&table, gone).unwrap();
            write
                .insert(&table, vec![row(&table, 1000 + version, 0)], OnConflict::Error)
                .unwrap();
            write.commit(Durability::Buffered).unwrap();
            if version == 20 {
                engine.truncate(table.id).unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let table = support::table(&engine, "t");
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// A columnar table with a columnar index.
fn columnar_table() -> Engine {
    let engine = support::engine();
    let table = support::create_table(&engine, "t", COLUMNS, "COLUMNAR k, s");
    support::create_index(&engine, &table, "c", "COLUMNAR a DESC", "b, d", false);
    engine
}

fn load(engine: &Engine, keys: impl Iterator<Item = i64>, version: i64) -> Result<u64, EngineError> {
    let table = support::table(engine, "t");
    let mut load = engine.load(table.id)?;
    load.add(keys.map(|key| row(&table, key, version)).collect())?;
    load.finish()
}

/// Compares table and index with the rows that there should be, and scrubs them.
fn compare(engine: &Engine, expected: &BTreeMap<i64, i64>) {
    let table = support::table(engine, "t");
    let rows: Vec<Row> = expected
        .iter()
        .map(|(key, version)| row(&table, *key, *version))
        .collect();
    let snapshot = engine.snapshot();
    let all = || ScanRequest::all(table.clone(), Vec::new());
    assert_eq!(support::read(&snapshot, all()), rows);
    let mut by_index = read(engine, &snapshot);
    by_index.sort();
    assert_eq!(by_index, rows);
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.rows, rows.len() as u64);
}

fn table_debt(engine: &Engine) -> rukh_engine::ColumnarDebt {
    let id = Engine::layout_id(&support::table(engine, "t"));
    engine.columnar_debt(id).unwrap().unwrap()
}

#[test]
fn loads_become_blocks_where_nothing_is_stored() {
    let engine = columnar_table();
    engine.set_repack_rows(1000);
    let mut expected = BTreeMap::new();
    let mut bring = |keys: Vec<i64>| {
        load(&engine, keys.iter().copied(), 0).unwrap();
        expected.extend(keys.into_iter().map(|key| (key, 0)));
        compare(&engine, &expected);
        table_debt(&engine)
    };
    let first = bring((0..40).collect());
    assert_eq!(first.delta_rows, 0);
    assert!(first.blocks >= 10, "{first:?}");
    // Before, behind, and in a gap.
    assert_eq!(bring((-20..0).collect()).delta_rows, 0);
    assert_eq!(bring((100..140).collect()).delta_rows, 0);
    assert_eq!(bring((60..80).collect()).delta_rows, 0);
    // Around and among stored rows.
    let among = bring((41..60).chain(80..100).chain(140..150).step_by(2).collect());
    // Those of a would-be block with rows of others within are changes.
    assert!((1..=6).contains(&among.delta_rows), "{among:?}");
    let before = among.delta_rows;
    let among = bring((42..60).chain(82..100).chain(142..150).step_by(2).collect());
    assert!(among.delta_rows > before + 10, "{among:?}");
    // A key that is in a block, and one that is beside blocks.
    for taken in [5, 44] {
        let failed = load(&engine, [1000, taken].into_iter(), 1);
        assert!(
            matches!(failed, Err(EngineError::UniqueViolation { .. })),
            "{failed:?}"
        );
        compare(&engine, &expected);
    }
    let id = Engine::layout_id(&support::table(&engine, "t"));
    assert!(engine.repack_index(id, &NoProgress).unwrap() > 0);
    assert_eq!(table_debt(&engine).delta_rows, 0);
    compare(&engine, &expected);
}

#[test]
fn repacks_and_loads_beside_each_other_leave_no_blocks_that_overlap() {
    let engine = columnar_table();
    let done = AtomicBool::new(false);
    let mut expected = BTreeMap::new();
    thread::scope(|scope| {
        let (repacked, done) = (&engine, &done);
        scope.spawn(move || {
            let table = support::table(repacked, "t");
            while !done.load(Ordering::Relaxed) {
                for id in [Engine::layout_id(&table), table.indexes[0].id] {
                    repacked.repack_index(id, &NoProgress).unwrap();
                }
            }
        });
        for round in 0..30_i64 {
            // Single rows far apart, then loads between them.
            let single = [round * 100, round * 100 + 50];
            upsert(&engine, single.into_iter(), round);
            expected.extend(single.map(|key| (key, round)));
            let loaded = round * 100 + 10..round * 100 + 40;
            load(&engine, loaded.clone(), round).unwrap();
            expected.extend(loaded.map(|key| (key, round)));
        }
        done.store(true, Ordering::Relaxed);
    });
    compare(&engine, &expected);
}

#[test]
fn a_flipped_bit_in_a_columnar_table_is_an_error_on_every_way_to_its_rows() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    // What was read before stays right; here storage is read each time.
    engine.set_open_blocks_bytes(0);
    support::create_table(&engine, "t", COLUMNS, "COLUMNAR k, s");
    load(&engine, 0..9, 0).unwrap();
    let table = support::table(&engine, "t");
    let blocks = table.blocks_name();
    let snapshot = store.snapshot();
    let mut cursor = snapshot.scan(&blocks, ScanSpec::all()).unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = cursor.next().unwrap() {
        pieces.push((piece.key.to_vec(), piece.value.to_vec()));
    }
    let put = |key: &[u8], value: &[u8]| {
        let mut batch = WriteBatch::new();
        batch.put(&blocks, key, value);
        store.write(batch, Durability::Synced).unwrap();
    };
    let columns: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    for (key, value) in &pieces {
        for at in 0..value.len() {
            let mut flipped = value.clone();
            flipped[at] ^= 1 << (at % 8);
            put(key, &flipped);
            let snapshot = engine.snapshot();
            let mut failed = 0;
            for key in 0..9 {
                let stored = row(&table, key, 0);
                match snapshot.get(&table, &stored[..2]) {
                    Ok(found) => assert_eq!(found, Some(stored)),
                    Err(_) => failed += 1,
                }
            }
            assert!(failed > 0, "no row notices {at}");
            for reverse in [false, true] {
                let mut request = ScanRequest::all(table.clone(), columns.clone());
                request.reverse = reverse;
                let mut cursor = snapshot.scan(request).unwrap();
                let mut sink = |_: &rukh_engine::RowView<'_>| Ok(());
                let outcome = loop {
                    match cursor.next_rows(4, &mut sink) {
                        Ok(0) => break Ok(()),
                        Ok(_) => {}
                        Err(error) => break Err(error),
                    }
                };
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains("corrupt data") && error.contains("t/"), "{error}");
            }
            let report = engine.check_table(table.id, &NoProgress).unwrap();
            assert!(report.corrupt > 0, "{report:?}");
        }
        put(key, value);
    }
    assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
}
