//! Stored bytes that are not what the engine writes: an error that names the key, never a panic,
//! never a row that is silently missing.

use crate::support;
use proptest::prelude::*;
use rukh_engine::{Engine, EngineError, FindingKind, NoProgress, OnConflict, RowView, ScanRequest, Source};
use rukh_kv::{Durability, KvStore, MemoryStore, ScanSpec, WriteBatch};
use std::ops::ControlFlow;
use std::sync::Arc;

const COLUMNS: &str =
    "k INTEGER, s VARCHAR, a INTEGER NULL, d DATE NULL, c BOOLEAN NULL, p VARCHAR NULL IN payload";

fn database() -> (Arc<dyn KvStore>, Engine) {
    let store: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let engine = support::open(store.clone());
    let table = support::create_table(&engine, "t", COLUMNS, "k, s");
    support::create_index(&engine, &table, "by_a", "a", "d", false);
    support::create_index(&engine, &table, "u", "c, a", "", true);
    support::create_index(&engine, &table, "by_d", "d DESC, s", "", false);
    let table = support::table(&engine, "t");
    let rows = [
        "1, 'x', 5, 2024-01-01, true, 'p'",
        "2, 'y', 6, NULL, NULL, NULL",
        "3, '', 7, 2024-01-02, false, ''",
    ];
    let mut write = engine.begin().unwrap();
    write
        .insert(
            &table,
            rows.iter().map(|row| support::row(&table, row)).collect(),
            OnConflict::Error,
        )
        .unwrap();
    write.commit(Durability::Synced).unwrap();
    (store, engine)
}

fn put(store: &dyn KvStore, table: &str, key: &[u8], value: &[u8]) {
    let mut batch = WriteBatch::new();
    batch.put(table, key, value);
    store.write(batch, Durability::Synced).unwrap();
}

fn delete(store: &dyn KvStore, table: &str, key: &[u8]) {
    let mut batch = WriteBatch::new();
    batch.delete(table, key);
    store.write(batch, Durability::Synced).unwrap();
}

fn entries(store: &dyn KvStore, table: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = store.snapshot().scan(table, ScanSpec::all()).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = cursor.next().unwrap() {
        all.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    all
}

/// Reads all columns through a source; returns the rows or the first error.
fn scan(engine: &Engine, source: Source) -> Result<usize, EngineError> {
    let table = support::table(engine, "t");
    let columns: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let width = columns.len();
    let mut request = ScanRequest::all(table, columns);
    request.source = source;
    let mut cursor = engine.snapshot().scan(request)?;
    let mut rows = 0;
    let mut sink = |view: &RowView<'_>| {
        rows += 1;
        (0..width).try_for_each(|at| view.datum(at).map(drop))
    };
    while cursor.next_rows(10, &mut sink)? > 0 {}
    Ok(rows)
}

fn index(engine: &Engine, name: &str) -> Source {
    Source::Index(support::table(engine, "t").index_named(name).unwrap().id)
}

fn corruption(result: Result<usize, EngineError>) -> String {
    match result {
        Err(error @ EngineError::Corruption { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_name_the_key() {
    let (store, engine) = database();
    let rows = entries(store.as_ref(), "t1");
    put(store.as_ref(), "t1", &rows[0].0, b"\x09zz");
    assert_eq!(
        corruption(scan(&engine, Source::Table)),
        "corrupt data at t/1/'x': value has unknown format 9"
    );
    put(store.as_ref(), "t1", &rows[0].0, &rows[0].1);
    put(store.as_ref(), "t1", &rows[1].0, b"\x01\x09\x00");
    assert_eq!(
        corruption(scan(&engine, index(&engine, "by_a"))),
        "corrupt data at t/2/'y': value has unknown row layout 9"
    );
    put(store.as_ref(), "t1", &rows[1].0, &rows[1].1);
    let payload = entries(store.as_ref(), "t1.f1");
    put(
        store.as_ref(),
        "t1.f1",
        &payload[0].0,
        &[&payload[0].1[..], b"x"].concat(),
    );
    assert_eq!(
        corruption(scan(&engine, Source::Table)),
        "corrupt data at t.payload/1/'x': value of 10 bytes should have 9"
    );
}

#[test]
fn an_entry_without_its_row_is_an_error() {
    let (store, engine) = database();
    let rows = entries(store.as_ref(), "t1");
    delete(store.as_ref(), "t1", &rows[0].0);
    assert_eq!(
        corruption(scan(&engine, index(&engine, "by_a"))),
        "corrupt data at t@by_a/5/1/'x': the entry is dangling: there is no row t/1/'x'"
    );
    assert_eq!(
        corruption(scan(&engine, index(&engine, "u"))),
        "corrupt data at t@u/true/5: the entry is dangling: there is no row t/1/'x'"
    );
}

#[test]
fn scrub_tells_missing_dangling_and_differing_entries() {
    let (store, engine) = database();
    let by_a = entries(store.as_ref(), "i2");
    let unique = entries(store.as_ref(), "i3");
    delete(store.as_ref(), "i2", &by_a[0].0);
    put(store.as_ref(), "i2", &by_a[1].0, &by_a[0].1);
    put(store.as_ref(), "i2", b"\xff\xff", b"");
    let mut other = by_a[2].0.clone();
    other[4] += 1;
    put(store.as_ref(), "i2", &other, &by_a[2].1);
    put(store.as_ref(), "i3", &unique[0].0, &unique[1].1);
    delete(store.as_ref(), "t1", &entries(store.as_ref(), "t1")[2].0);
    let report = engine
        .check_table(support::table(&engine, "t").id, &NoProgress)
        .unwrap();
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    let expected = [
        "missing t@by_a/5/1/'x'",
        "differing t@by_a/6/2/'y'",
        "dangling t.payload/3/''",
        "dangling t@by_a/7/3/'': there is no row t/3/''",
        "dangling t@by_a/8/3/'': there is no row t/3/''",
        "corrupt t@by_a/x'ffff': value of 0 bytes is too short",
        "dangling t@u/false/7: row t/1/'x' should have t@u/true/5",
        "dangling t@by_d/2024-01-02/''/3: there is no row t/3/''",
    ];
    for line in expected {
        assert!(
            findings.iter().any(|finding| finding.starts_with(line)),
            "{line} in {findings:#?}"
        );
    }
    let counted = [
        FindingKind::Missing,
        FindingKind::Dangling,
        FindingKind::Differing,
        FindingKind::Corrupt,
    ]
    .map(|kind| {
        report
            .findings
            .iter()
            .filter(|finding| finding.kind == kind)
            .count() as u64
    });
    assert_eq!(
        counted,
        [report.missing, report.dangling, report.differing, report.corrupt]
    );
}

#[test]
fn scrub_lists_a_hundred_findings_and_counts_all() {
    let (store, engine) = database();
    for n in 0..200_u8 {
        put(store.as_ref(), "t1", &[n], b"");
    }
    let report = engine
        .check_table(support::table(&engine, "t").id, &NoProgress)
        .unwrap();
    assert_eq!((report.corrupt, report.findings.len()), (200, 100));
}

proptest! {
    /// Whatever one changed, cut or added byte does: reading, scrubbing, dumping and changing rows
    /// give answers or errors.
    #[test]
    fn no_bytes_panic(
        target in prop::sample::select(&["t1", "t1.f1", "i2", "i3", "i4"][..]),
        pick in any::<prop::sample::Index>(),
        in_key in any::<bool>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in 0_u8..3,
    ) {
        let (store, engine) = database();
        let all = entries(store.as_ref(), target);
        let (mut key, mut value) = all[pick.index(all.len())].clone();
        delete(store.as_ref(), target, &key);
        let bytes = if in_key { &mut key } else { &mut value };
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            match cut {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                _ => bytes.insert(at, byte),
            }
        }
        put(store.as_ref(), target, &key, &value);
        let table = support::table(&engine, "t");
        let sources = [Source::Table, index(&engine, "by_a"), index(&engine, "u"), index(&engine, "by_d")];
        for source in sources {
            match scan(&engine, source) {
                Ok(_) | Err(EngineError::Corruption { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        engine.check_table(table.id, &NoProgress).unwrap();
        engine.dump(&mut |_| ControlFlow::Continue(())).unwrap();
        let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
        let mut write = engine.begin().unwrap();
        let _ = write.upsert(&table, &all, vec![support::row(&table, "1, 'x', 50, NULL, true, NULL")]);
        let _ = write.commit(Durability::Synced);
    }
}
