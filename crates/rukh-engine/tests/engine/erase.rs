//! Rows that are removed past the batch: all of them go, with their entries, or none.

use crate::support;
use rukh_catalog::Table;
use rukh_engine::{Engine, EngineError, NoProgress, OnConflict, ScanRequest};
use rukh_keys::{Datum, Edge, Span};
use rukh_kv::{Durability, Fault, FaultStore, KvStore, MemoryStore, RocksOptions, RocksStore};
use std::sync::Arc;

const COLUMNS: &str = "a INTEGER, b VARCHAR, c INTEGER NULL, p VARCHAR NULL IN payload";

/// Indexes that begin as the primary key does, and others; one partial, one UNIQUE, one by expression.
const INDEXES: &[(&str, &str, Option<&str>, bool)] = &[
    ("same", "a, c", None, false),
    ("same_unique", "a, b, c", None, true),
    ("whole", "a", None, false),
    ("down", "a DESC", None, false),
    ("other", "c, a", None, false),
    ("partial", "a, b DESC", Some("c > 4"), false),
    ("computed", "double(c), b", None, false),
];

fn table(engine: &Engine) -> Arc<Table> {
    support::table(engine, "t")
}

fn filled(store: Arc<dyn KvStore>, salt: Option<u16>) -> Engine {
    let engine = support::open(store);
    let draft = support::table_draft("t", COLUMNS, "a, b", salt);
    engine.create_table(draft).unwrap();
    for (name, key, predicate, unique) in INDEXES {
        let table = table(&engine);
        let draft = support::index_draft(&table, name, key, "", *predicate, *unique);
        engine.create_index(table.id, draft, &NoProgress).unwrap();
    }
    fill(&engine);
    engine
}

fn fill(engine: &Engine) {
    let table = table(engine);
    let mut write = engine.begin().unwrap();
    let rows = (0..8).flat_map(|a| (0..9).map(move |b| (a, b)));
    let rows = rows.map(|(a, b)| {
        let (c, p) = match (a * b) % 5 {
            0 => ("NULL".to_string(), "NULL"),
            c => (c.to_string(), "'p'"),
        };
        support::row(&table, &format!("{a}, 'b{b}', {c}, {p}"))
    });
    write.insert(&table, rows.collect(), OnConflict::Error).unwrap();
    write.commit(Durability::Synced).unwrap();
}

fn rows(engine: &Engine) -> Vec<Vec<Datum>> {
    let table = table(engine);
    support::read(&engine.snapshot(), ScanRequest::all(table, Vec::new()))
}

fn check(engine: &Engine, expected: &[Vec<Datum>]) {
    let mut found = rows(engine);
    let mut expected = expected.to_vec();
    found.sort_by_key(|row| format!("{row:?}"));
    expected.sort_by_key(|row| format!("{row:?}"));
    assert_eq!(found, expected);
    let report = engine.check_table(table(engine).id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(engine.store().local().unwrap().load_files().unwrap(), []);
}

fn span(start: &[Datum], start_edge: Edge, end: &[Datum], end_edge: Edge) -> Span {
    Span {
        start: start.to_vec(),
        start_edge,
        end: end.to_vec(),
        end_edge,
    }
}

fn spans() -> Vec<Vec<Span>> {
    use Edge::{Excluded, Included};
    let (a, b) = (|a| Datum::Int(a), |b: &str| Datum::Text(b.into()));
    vec![
        vec![Span::all()],
        vec![Span::prefix(vec![a(3)])],
        vec![Span::prefix(vec![a(1)]), Span::prefix(vec![a(5)])],
        vec![span(&[a(2)], Excluded, &[a(6)], Included)],
        vec![span(&[a(2), b("b4")], Included, &[a(2)], Included)],
        vec![span(&[a(2), b("b4")], Excluded, &[a(4), b("b1")], Included)],
        vec![span(&[a(6)], Included, &[], Included)],
        vec![span(&[], Included, &[a(1)], Excluded)],
        vec![Span::prefix(vec![a(99)])],
    ]
}

fn stores() -> (tempfile::TempDir, Vec<Arc<dyn KvStore>>) {
    let directory = tempfile::tempdir().unwrap();
    let rocks = RocksStore::open(directory.path(), &RocksOptions::default()).unwrap();
    (directory, vec![Arc::new(MemoryStore::new()), Arc::new(rocks)])
}

#[test]
fn spans_take_all_rows_in_them_and_no_other() {
    for salt in [None, Some(3)] {
        let (_directory, stores) = stores();
        for store in stores {
            let engine = filled(store, salt);
            engine.set_load_bytes_max(500);
            let all = rows(&engine);
            for spans in spans() {
                let layout = table(&engine).key_layout();
                let is_in = |row: &Vec<Datum>| spans.iter().any(|span| span.contains(&layout, &row[..2]));
                let (gone, left): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_in);
                let write = engine.begin().unwrap();
                let table = table(&engine);
                assert!(!write.has_more_rows(&table, &spans, gone.len() as u64).unwrap());
                let mut erase = write.erase(table.id).unwrap();
                erase.add_spans(&spans, &NoProgress).unwrap();
                assert_eq!(erase.finish(&NoProgress).unwrap(), gone.len() as u64);
                check(&engine, &left);
                engine.truncate(table.id).unwrap();
                fill(&engine);
            }
        }
    }
}

#[test]
fn rows_are_removed_one_by_one_and_once() {
    let (_directory, stores) = stores();
    for store in stores {
        let engine = filled(store, None);
        engine.set_load_bytes_max(500);
        let all = rows(&engine);
        let table = table(&engine);
        let third = |row: &&Vec<Datum>| row[2] == Datum::Int(3);
        let gone: Vec<_> = all.iter().filter(third).cloned().collect();
        let mut write = engine.begin().unwrap();
        assert_eq!(write.delete(&table, gone[..4].to_vec()).unwrap(), 4);
        let mut erase = write.erase(table.id).unwrap();
        erase.add(gone.clone()).unwrap();
        erase.add(gone[2..].to_vec()).unwrap();
        assert_eq!(erase.finish(&NoProgress).unwrap(), gone.len() as u64);
        let left: Vec<_> = all.iter().filter(|row| !third(row)).cloned().collect();
        check(&engine, &left);
        // What is gone can come again.
        let mut write = engine.begin().unwrap();
        write.insert(&table, gone, OnConflict::Error).unwrap();
        write.commit(Durability::Synced).unwrap();
        check(&engine, &all);
    }
}

#[test]
fn what_is_dropped_leaves_no_trace() {
    let engine = filled(Arc::new(MemoryStore::new()), None);
    let all = rows(&engine);
    let mut erase = engine.begin().unwrap().erase(table(&engine).id).unwrap();
    erase.add(all.clone()).unwrap();
    drop(erase);
    check(&engine, &all);
    struct Cancelled;
    impl rukh_engine::Progress for Cancelled {
        fn total(&self, _: Option<u64>) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let mut erase = engine.begin().unwrap().erase(table(&engine).id).unwrap();
    let cancelled = erase.add_spans(&[Span::prefix(vec![Datum::Int(1)])], &Cancelled);
    assert!(matches!(cancelled, Err(EngineError::Cancelled)), "{cancelled:?}");
    drop(erase);
    check(&engine, &all);
}

#[test]
fn transactions_that_changed_the_table_conflict() {
    let engine = filled(Arc::new(MemoryStore::new()), None);
    let table = table(&engine);
    let transaction = engine.transaction();
    let mut write = transaction.write().unwrap();
    let row = support::row(&table, "3, 'new', 1, NULL");
    write.insert(&table, vec![row], OnConflict::Error).unwrap();
    assert!(!write.may_erase(&table));
    write.commit(Durability::Synced).unwrap();
    let write = engine.begin().unwrap();
    assert!(write.may_erase(&table));
    let mut erase = write.erase(table.id).unwrap();
    erase
        .add_spans(&[Span::prefix(vec![Datum::Int(3)])], &NoProgress)
        .unwrap();
    erase.finish(&NoProgress).unwrap();
    let failed = transaction.commit(Durability::Synced);
    assert!(matches!(failed, Err(EngineError::Conflict { .. })), "{failed:?}");
}

/// Every write fails once in every way: the rows are all there, or those that were to go are gone.
#[test]
fn a_write_fails() {
    let removal = |engine: &Engine| -> Result<(), EngineError> {
        let table = table(engine);
        let mut erase = engine.begin()?.erase(table.id)?;
        let one = rows(engine)
            .into_iter()
            .filter(|row| row[0] == Datum::Int(0))
            .take(2);
        erase.add(one.collect())?;
        erase.add_spans(&[Span::prefix(vec![Datum::Int(5)])], &NoProgress)?;
        erase.finish(&NoProgress).map(drop)
    };
    let counting = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let engine = filled(counting.clone(), None);
    let before = rows(&engine);
    counting.fail_write(u64::MAX, Fault::Refuse);
    removal(&engine).unwrap();
    let (after, writes) = (rows(&engine), counting.writes());
    assert!(before.len() == after.len() + 11 && writes > 10, "{writes}");
    for fault in [Fault::Refuse, Fault::Halt, Fault::LoseAnswer] {
        for n in 1..=writes {
            let memory: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
            let store = Arc::new(FaultStore::new(memory.clone()));
            let engine = filled(store.clone(), None);
            store.fail_write(n, fault);
            let done = removal(&engine).is_ok();
            drop(engine);
            let engine = support::open(memory);
            let found = rows(&engine);
            assert!(found == after || !done && found == before, "{fault:?} {n}");
            check(&engine, &found);
        }
    }
}

/// A build that runs meanwhile has the entries of the rows that are left.
#[test]
fn beside_the_build_of_an_index() {
    struct During<'a>(&'a Engine, std::cell::Cell<bool>);
    impl rukh_engine::Progress for During<'_> {
        fn total(&self, _: Option<u64>) {}
        fn advance(&self, _: u64) {
            if self.1.replace(true) {
                return;
            }
            let engine = self.0;
            let one = rows(engine)
                .into_iter()
                .filter(|row| row[0] == Datum::Int(0))
                .take(3);
            let mut erase = engine.begin().unwrap().erase(table(engine).id).unwrap();
            erase.add(one.collect()).unwrap();
            erase
                .add_spans(&[Span::prefix(vec![Datum::Int(5)])], &NoProgress)
                .unwrap();
            assert_eq!(erase.finish(&NoProgress).unwrap(), 12);
        }
        fn cancelled(&self) -> bool {
            false
        }
    }
    let engine = filled(Arc::new(MemoryStore::new()), None);
    engine.set_rows_at_once(0);
    let table = table(&engine);
    let draft = support::index_draft(&table, "late", "b, c", "", None, false);
    let during = During(&engine, std::cell::Cell::new(false));
    engine.create_index(table.id, draft, &during).unwrap();
    assert!(during.1.get());
    let left = rows(&engine);
    assert_eq!(left.len(), 60);
    check(&engine, &left);
}
