//! What statements refuse, and what scans give, case by case.

use crate::support;
use crate::support::toy::ToyFunctions;
use rukh_catalog::CatalogError;
use rukh_engine::{
    Engine, EngineError, Load, OnConflict, Recovery, Row, RowCursor, RowView, ScanRequest, Snapshot, Source,
    Write,
};
use rukh_keys::{Datum, KeyRange, MaskedCompare, Span, hash_datum};
use rukh_kv::{Durability, KvStore, MemoryStore, WriteBatch};
use std::collections::HashMap;
use std::sync::Arc;

fn insert(engine: &Engine, name: &str, rows: Vec<Row>) -> Result<u64, EngineError> {
    let mut write = engine.begin()?;
    let count = write.insert(&support::table(engine, name), rows, OnConflict::Error)?;
    write.commit(Durability::Buffered)?;
    Ok(count)
}

fn numbers(engine: &Engine, count: i64) -> Vec<Row> {
    let table = support::table(engine, "t");
    (0..count)
        .map(|n| support::row(&table, &format!("{n}, {}, 'row {n}'", n % 10)))
        .collect()
}

fn filled(count: i64) -> Engine {
    let engine = support::engine();
    let table = support::create_table(&engine, "t", "k INTEGER, a INTEGER NULL, s VARCHAR NULL", "k");
    support::create_index(&engine, &table, "by_a", "a", "", false);
    insert(&engine, "t", numbers(&engine, count)).unwrap();
    engine
}

#[test]
fn everything_that_runs_can_move_between_threads() {
    fn sendable<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    sendable::<Write>();
    sendable::<RowCursor>();
    sendable::<Load>();
    shared::<Engine>();
    shared::<Snapshot>();
}

#[test]
fn null_is_refused_where_the_column_takes_none() {
    let engine = support::engine();
    support::create_table(&engine, "t", "k INTEGER, a INTEGER", "k");
    let error = insert(&engine, "t", vec![vec![Datum::Int(1), Datum::Null]]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "null value in column \"a\" of relation \"t\" violates not-null constraint"
    );
}

#[test]
fn a_row_of_another_width_is_refused() {
    let engine = filled(0);
    let error = insert(&engine, "t", vec![vec![Datum::Int(1)]]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a row of 1 columns does not fit relation \"t\", which has 3"
    );
}

/// Finds two texts whose four-byte hashes are the same.
fn colliding_texts() -> (String, String) {
    let mut seen = HashMap::new();
    for n in 0.. {
        let text = format!("{n}");
        if let Some(other) = seen.insert(hash_datum(&Datum::Text(text.clone()), 4), text.clone()) {
            return (other, text);
        }
    }
    unreachable!()
}

#[test]
fn rows_that_differ_under_one_hash_are_refused() {
    let (one, other) = colliding_texts();
    let engine = support::engine();
    let table = support::create_table(&engine, "t", "url VARCHAR, n INTEGER NULL", "HASH(url, 4)");
    let row = |text: &str, n| vec![Datum::Text(text.into()), Datum::Int(n)];
    insert(&engine, "t", vec![row(&one, 1)]).unwrap();
    let collides = |result: Result<u64, EngineError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, EngineError::HashCollision { .. }), "{error}");
        assert!(
            error
                .to_string()
                .starts_with("two rows of \"t\" differ in \"url\" but have the same key /x'")
        );
    };
    collides(insert(&engine, "t", vec![row(&other, 2)]));
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin().unwrap();
    collides(write.insert(&table, vec![row(&other, 2)], OnConflict::Ignore));
    collides(write.upsert(&table, &all, vec![row(&other, 2)]));
    drop(write);
    let mut write = engine.begin().unwrap();
    write.delete(&table, vec![row(&one, 1)]).unwrap();
    collides(write.insert(&table, vec![row(&one, 1), row(&other, 2)], OnConflict::Error));
    drop(write);
    let mut load = engine.load(table.id).unwrap();
    load.add(vec![row(&other, 2)]).unwrap();
    collides(load.finish());
    assert_eq!(insert(&engine, "t", vec![row("elsewhere", 3)]).unwrap(), 1);
    let mut write = engine.begin().unwrap();
    write
        .update(&table, vec![(row("elsewhere", 3), row(&other, 3))])
        .unwrap();
    collides(write.commit(Durability::Buffered).map(|_| 0));
    // One row may change its source under one hash.
    let mut write = engine.begin().unwrap();
    write
        .update(&table, vec![(row(&one, 1), row(&other, 2))])
        .unwrap();
    write.commit(Durability::Buffered).unwrap();
}

#[test]
fn a_statement_is_bounded_in_memory() {
    let engine = filled(10);
    engine.set_statement_bytes_max(10_000);
    let rows = numbers(&engine, 1000).split_off(10);
    let error = insert(&engine, "t", rows).unwrap_err();
    assert!(
        matches!(error, EngineError::StatementTooLarge { limit_bytes: 10_000 }),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("COPY"));
    let request = ScanRequest::all(support::table(&engine, "t"), Vec::new());
    assert_eq!(support::read(&engine.snapshot(), request).len(), 10);
}

#[test]
fn a_dropped_statement_leaves_nothing_and_frees_the_lock() {
    let engine = filled(1);
    let table = support::table(&engine, "t");
    let mut write = engine.begin().unwrap();
    write.delete(&table, numbers(&engine, 1)).unwrap();
    drop(write);
    let request = ScanRequest::all(table, Vec::new());
    assert_eq!(support::read(&engine.snapshot(), request).len(), 1);
    engine.begin().unwrap().commit(Durability::Synced).unwrap();
}

#[test]
fn one_statement_writes_at_a_time() {
    let engine = filled(0);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let engine = &engine;
            scope.spawn(move || {
                for m in 0..20 {
                    let row = support::row(&support::table(engine, "t"), &format!("{}, 1, ''", n * 20 + m));
                    insert(engine, "t", vec![row]).unwrap();
                }
            });
        }
    });
    let table = support::table(&engine, "t");
    let report = engine.check_table(table.id, &rukh_engine::NoProgress).unwrap();
    assert!(report.is_clean() && report.rows == 160, "{report:?}");
}

#[test]
fn a_reader_changes_nothing() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let open = || Engine::open(store.clone(), Arc::new(ToyFunctions), true);
    assert!(matches!(open(), Err(EngineError::ReadOnly)));
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", "k INTEGER", "k");
    let reader = open().unwrap();
    assert!(matches!(reader.begin(), Err(EngineError::ReadOnly)));
    assert!(matches!(reader.load(table.id), Err(EngineError::ReadOnly)));
    assert!(matches!(reader.truncate(table.id), Err(EngineError::ReadOnly)));
    assert!(matches!(
        reader.analyze(table.id, &rukh_engine::NoProgress),
        Err(EngineError::ReadOnly)
    ));
    assert_eq!(reader.snapshot().get(&table, &[Datum::Int(1)]).unwrap(), None);
}

#[test]
fn a_newer_format_is_refused() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    drop(support::open(store.clone()));
    let mut batch = WriteBatch::new();
    let newer = rukh_catalog::FORMAT_VERSION + 1;
    batch.put("catalog", b"format", newer.to_string().as_bytes());
    store.write(batch, Durability::Synced).unwrap();
    let error = Engine::open(store, Arc::new(ToyFunctions), false).err().unwrap();
    assert!(matches!(
        error,
        EngineError::Catalog(CatalogError::NewerFormat { found, supported })
            if found == newer && supported == newer - 1
    ));
}

#[test]
fn an_older_format_is_raised() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    support::create_table(&engine, "t", "k INTEGER", "k");
    drop(engine);
    let mut batch = WriteBatch::new();
    batch.put("catalog", b"format", b"1");
    store.write(batch, Durability::Synced).unwrap();
    let engine = support::open(store.clone());
    support::create_table(&engine, "u", "k INTEGER", "k");
    assert_eq!(engine.catalog().tables().count(), 2);
    let format = store.latest().get("catalog", b"format").unwrap();
    assert_eq!(
        format.as_deref(),
        Some(rukh_catalog::FORMAT_VERSION.to_string().as_bytes())
    );
}

#[test]
fn an_index_that_was_being_filled_is_filled_from_nothing() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", "k INTEGER, a INTEGER NULL", "k");
    support::create_index(&engine, &table, "by_a", "a", "", false);
    support::create_index(&engine, &table, "u", "a", "", true);
    let table = support::table(&engine, "t");
    let rows = ["1, 10", "2, 20", "3, 20"].map(|row| support::row(&table, row));
    insert(&engine, "t", rows[..2].to_vec()).unwrap();
    drop(engine);
    let mut building = rukh_catalog::Table::clone(&table);
    building
        .indexes
        .iter_mut()
        .for_each(|index| index.state = rukh_catalog::IndexState::Building);
    let mut batch = WriteBatch::new();
    batch.put(
        "catalog",
        &rukh_catalog::table_key(table.id),
        &rukh_catalog::encode_table(&building),
    );
    batch.put("i2", b"left over", b"");
    // A row that the unfinished UNIQUE index does not know of.
    let other = support::engine();
    support::create_table(&other, "t", "k INTEGER, a INTEGER NULL", "k");
    insert(&other, "t", rows.to_vec()).unwrap();
    let mut cursor = other
        .store()
        .snapshot()
        .scan("t1", rukh_kv::ScanSpec::all())
        .unwrap();
    while let Some(entry) = cursor.next().unwrap() {
        batch.put("t1", entry.key, entry.value);
    }
    store.write(batch, Durability::Synced).unwrap();
    let engine = support::open(store);
    let dropped = "duplicate key value violates unique constraint \"u\"";
    let expected = [
        Recovery::FilledIndex { index: "by_a".into() },
        Recovery::DroppedIndex {
            index: "u".into(),
            reason: dropped.into(),
        },
        Recovery::DroppedStorage { name: "i3".into() },
    ];
    assert_eq!(engine.recovered(), expected);
    let report = engine.check_table(table.id, &rukh_engine::NoProgress).unwrap();
    assert!(report.is_clean() && report.entries == 3, "{report:?}");
}

#[test]
fn an_index_that_an_older_format_filled_otherwise_is_filled_again() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", "k INTEGER, b VARCHAR NULL", "k");
    support::create_index(&engine, &table, "by_b", "b", "", false);
    support::create_index(&engine, &table, "by_lower", "lower(b)", "", false);
    let table = support::table(&engine, "t");
    insert(&engine, "t", vec![support::row(&table, "1, 'A'")]).unwrap();
    drop(engine);
    let mut batch = WriteBatch::new();
    batch.put("catalog", b"format", b"11");
    batch.put("i3", b"left over", b"");
    store.write(batch, Durability::Synced).unwrap();
    let state = |engine: &Engine, name: &str| support::table(engine, "t").index_named(name).unwrap().state;
    let reader = Engine::open(store.clone(), Arc::new(ToyFunctions), true).unwrap();
    assert_eq!(state(&reader, "by_b"), rukh_catalog::IndexState::Ready);
    assert_eq!(state(&reader, "by_lower"), rukh_catalog::IndexState::Broken);
    drop(reader);
    let engine = support::open(store.clone());
    let index = "by_lower".to_string();
    assert_eq!(engine.recovered(), [Recovery::FilledIndex { index }]);
    assert_eq!(state(&engine, "by_lower"), rukh_catalog::IndexState::Ready);
    let report = engine.check_table(table.id, &rukh_engine::NoProgress).unwrap();
    assert!(report.is_clean() && report.entries == 2, "{report:?}");
    drop(engine);
    assert_eq!(support::open(store).recovered(), []);
}

#[test]
fn snapshots_outlive_drops() {
    let engine = filled(5);
    let table = support::table(&engine, "t");
    let snapshot = engine.snapshot();
    engine.drop_table(table.id).unwrap();
    assert_eq!(
        support::read(&snapshot, ScanRequest::all(table.clone(), Vec::new())).len(),
        5
    );
    assert!(
        engine
            .snapshot()
            .scan(ScanRequest::all(table, Vec::new()))
            .is_err()
    );
}

#[test]
fn points_that_are_not_there_are_left_out() {
    let engine = filled(100);
    let table = support::table(&engine, "t");
    let layout = table.key_layout();
    for reverse in [false, true] {
        let keys = [-5, 3, 50, 99, 100, 200].map(|key| Span::prefix(vec![Datum::Int(key)]));
        let mut request = ScanRequest::all(table.clone(), Vec::new());
        (request.ranges, request.reverse) = (
            keys.iter().flat_map(|span| layout.ranges(span)).collect(),
            reverse,
        );
        let mut expected = vec![Datum::Int(3), Datum::Int(50), Datum::Int(99)];
        if reverse {
            expected.reverse();
        }
        let rows = support::read(&engine.snapshot(), request);
        assert_eq!(
            rows.into_iter().map(|row| row[0].clone()).collect::<Vec<_>>(),
            expected
        );
    }
}

/// Reads through by_a, with a filter on its entries.
fn filtered(engine: &Engine, limit: Option<u64>) -> (Vec<i64>, u64) {
    let table = support::table(engine, "t");
    let column = |name: &str| table.column_named(name).unwrap().id;
    let mut request = ScanRequest::all(table.clone(), vec![column("s"), column("k")]);
    request.source = Source::Index(table.index_named("by_a").unwrap().id);
    request.limit = limit;
    request.entry_columns = vec![column("k"), column("a")];
    request.entry_filter = Some(Box::new(|view: &RowView<'_>| {
        let k = view.datum(0)?.into_owned();
        Ok(matches!(k, Datum::Int(k) if k % 3 == 0) && view.datum(1)?.into_owned() == Datum::Int(4))
    }));
    let mut keys = Vec::new();
    let mut cursor = engine.snapshot().scan(request).unwrap();
    let mut sink = |view: &RowView<'_>| {
        let (Datum::Text(s), Datum::Int(k)) = (view.datum(0)?.into_owned(), view.datum(1)?.into_owned())
        else {
            panic!("types of s and k")
        };
        assert_eq!(s, format!("row {k}"));
        keys.push(k);
        Ok(())
    };
    while cursor.next_rows(4, &mut sink).unwrap() > 0 {}
    (keys, cursor.counters().lookups)
}

#[test]
fn entries_are_filtered_before_rows_are_looked_up() {
    let engine = filled(2000);
    let expected: Vec<i64> = (0..2000).filter(|k| k % 10 == 4 && k % 3 == 0).collect();
    assert_eq!(filtered(&engine, None), (expected.clone(), expected.len() as u64));
    assert_eq!(filtered(&engine, Some(3)), (expected[..3].to_vec(), 3));
}

#[test]
fn an_entry_filter_may_ask_only_for_what_entries_have() {
    let engine = filled(1);
    let table = support::table(&engine, "t");
    let mut request = ScanRequest::all(table.clone(), Vec::new());
    request.source = Source::Index(table.index_named("by_a").unwrap().id);
    request.entry_columns = vec![table.column_named("s").unwrap().id];
    request.entry_filter = Some(Box::new(|_| Ok(true)));
    assert!(engine.snapshot().scan(request).is_err());
}

#[test]
fn counting_touches_no_value() {
    let engine = filled(100);
    let table = support::table(&engine, "t");
    let (source, all) = (
        Source::Index(table.index_named("by_a").unwrap().id),
        vec![KeyRange::all()],
    );
    let layout = table.index_named("by_a").unwrap().key_layout(&table);
    let masked = MaskedCompare::new(Vec::new());
    let count = |source, ranges: Vec<KeyRange>| {
        engine
            .snapshot()
            .count(&table, source, ranges, masked.clone())
            .unwrap()
    };
    assert_eq!(count(Source::Table, all).0, 100);
    let (rows, counters) = count(source, layout.ranges(&Span::prefix(vec![Datum::Int(3)])));
    assert_eq!(
        (rows, counters.rows, counters.keys_examined, counters.lookups),
        (10, 10, 10, 0)
    );
}

#[test]
fn parts_of_a_scan_are_the_whole() {
    let engine = filled(5000);
    let table = support::table(&engine, "t");
    let span = Span {
        start: vec![Datum::Int(100)],
        end: vec![Datum::Int(4500)],
        ..Span::all()
    };
    let ranges = table.key_layout().ranges(&span);
    for parts in [1, 2, 7] {
        let split = engine
            .snapshot()
            .split(&table, Source::Table, ranges.clone(), parts)
            .unwrap();
        assert!(split.len() <= parts);
        let mut rows = Vec::new();
        for ranges in split {
            rows.extend(support::read(
                &engine.snapshot(),
                ScanRequest {
                    ranges,
                    ..ScanRequest::all(table.clone(), Vec::new())
                },
            ));
        }
        let keys: Vec<_> = rows.into_iter().map(|row| row[0].clone()).collect();
        assert_eq!(keys, (100..=4500).map(Datum::Int).collect::<Vec<_>>());
    }
}

#[test]
fn an_error_of_the_sink_ends_the_call() {
    let engine = filled(10);
    let table = support::table(&engine, "t");
    let ids = vec![table.columns[0].id];
    let mut cursor = engine.snapshot().scan(ScanRequest::all(table, ids)).unwrap();
    let stopped = cursor.next_rows(10, &mut |_| Err(EngineError::Cancelled));
    assert!(matches!(stopped, Err(EngineError::Cancelled)));
    let mut seen = 0;
    let mut sink = |_: &RowView<'_>| {
        seen += 1;
        Ok(())
    };
    assert_eq!(cursor.next_rows(100, &mut sink).unwrap(), 9);
    assert_eq!(seen, 9);
}

#[test]
fn statistics_count_rows_and_values() {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", "k INTEGER, a INTEGER NULL, s VARCHAR NULL", "k");
    let rows = (0..5000).map(|n| {
        let a = if n % 2 == 0 {
            Datum::Null
        } else {
            Datum::Int(n % 20)
        };
        vec![Datum::Int(n), a, Datum::Text("one".into())]
    });
    insert(&engine, "t", rows.collect()).unwrap();
    assert_eq!(engine.statistics(table.id), None);
    let statistics = engine.analyze(table.id, &rukh_engine::NoProgress).unwrap();
    assert_eq!(statistics.rows, 5000);
    let distinct: Vec<_> = statistics
        .columns
        .iter()
        .map(|column| (column.values.distinct, column.values.nulls))
        .collect();
    assert!((4800..=5000).contains(&distinct[0].0), "{distinct:?}");
    assert_eq!(distinct[1..], [(10, 2500), (1, 0)]);
    let row = |n: i64| vec![Datum::Int(n), Datum::Int(1), Datum::Null];
    insert(&engine, "t", (5000..5010).map(row).collect()).unwrap();
    assert_eq!(engine.growth(table.id), 10);
    let mut write = engine.begin().unwrap();
    write.delete(&table, (5000..5004).map(row).collect()).unwrap();
    let change = (row(5004), vec![Datum::Int(9000), Datum::Int(2), Datum::Null]);
    write.update(&table, vec![change]).unwrap();
    write.commit(Durability::Synced).unwrap();
    assert_eq!(engine.growth(table.id), 6);
    let engine = support::open(store);
    assert_eq!(engine.statistics(table.id).as_deref(), Some(&statistics));
    assert_eq!(engine.growth(table.id), 0);
    engine.truncate(table.id).unwrap();
    assert_eq!(engine.statistics(table.id), None);
}

#[test]
fn the_same_rows_give_the_same_statistics() {
    let row = |n: i64| {
        vec![
            Datum::Int(n),
            Datum::Int(n * n % 997),
            Datum::Text(format!("s{}", n % 70)),
        ]
    };
    let analyzed = |parts: Vec<Vec<i64>>| {
        let engine = support::open(Arc::new(MemoryStore::new()));
        let table = support::create_table(&engine, "t", "k INTEGER, a INTEGER NULL, s VARCHAR NULL", "k");
        for part in parts {
            insert(&engine, "t", part.into_iter().map(row).collect()).unwrap();
        }
        engine.analyze(table.id, &rukh_engine::NoProgress).unwrap()
    };
    // More rows than a sample has.
    let all: Vec<i64> = (0..40_000).collect();
    let (even, odd) = all.iter().partition::<Vec<i64>, _>(|n| *n % 2 == 0);
    let statistics = analyzed(vec![all]);
    assert_eq!(statistics, analyzed(vec![odd.into_iter().rev().collect(), even]));
    let [key, squares, texts] = statistics.columns.as_slice() else {
        panic!("{statistics:?}");
    };
    assert_eq!((key.values.bounds.len(), key.values.common.len()), (101, 0));
    assert!(squares.values.bounds.len() == 101, "{squares:?}");
    assert_eq!(texts.values.max, Some(Datum::Text("s9".into())));
}
