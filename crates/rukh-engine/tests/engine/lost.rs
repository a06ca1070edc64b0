//! Storage that is not there though a definition names it: what is left where a damaged log has lost the statement that dropped a table or
//! rebuilt an index.

use crate::support;
use rukh_catalog::IndexState;
use rukh_engine::{Engine, EngineError, NoProgress, OnConflict, Recovery, ScanRequest, Source};
use rukh_kv::{Durability, KvStore};
use std::sync::Arc;

fn insert(engine: &Engine, table: &str, rows: &[&str]) -> Result<(), EngineError> {
    let table = support::table(engine, table);
    let mut write = engine.begin()?;
    let rows = rows.iter().map(|row| support::row(&table, row)).collect();
    write.insert(&table, rows, OnConflict::Error)?;
    write.commit(Durability::Synced).map(|_| ())
}

fn database(key: &str, by_a: &str) -> Arc<dyn KvStore> {
    let store = support::memory();
    let engine = support::open(store.clone());
    for name in ["t", "u"] {
        let table = support::create_table(&engine, name, "k INTEGER, a INTEGER NULL, p VARCHAR NULL", key);
        support::create_index(&engine, &table, &format!("{name}_a"), by_a, "", false);
        insert(&engine, name, &["1, 10, 'x'", "2, 20, NULL"]).unwrap();
    }
    store
}

fn state(engine: &Engine, table: &str) -> IndexState {
    support::table(engine, table).indexes[0].state
}

#[test]
fn an_index_without_its_storage_is_broken_until_it_is_rebuilt() {
    for (key, by_a) in [
        ("k", "a"),
        ("k", "COLUMNAR a"),
        ("COLUMNAR k", "a"),
        ("COLUMNAR k", "COLUMNAR a"),
    ] {
        let store = database(key, by_a);
        let id = support::table(&support::open(store.clone()), "t").indexes[0].id;
        let names = support::table(&support::open(store.clone()), "t").indexes[0].storage_names();
        for name in &names {
            store.drop_table(name).unwrap();
        }
        let read_only = Engine::open(store.clone(), Arc::new(support::toy::ToyFunctions), true).unwrap();
        assert_eq!(state(&read_only, "t"), IndexState::Broken, "{key}, {by_a}");
        drop(read_only);
        let engine = support::open(store.clone());
        let recovery = Recovery::BrokenIndex { index: "t_a".into() };
        assert_eq!(engine.recovered(), std::slice::from_ref(&recovery));
        assert!(recovery.is_loss());
        assert_eq!(
            (state(&engine, "t"), state(&engine, "u")),
            (IndexState::Broken, IndexState::Ready)
        );
        let table = support::table(&engine, "t");
        let mut request = ScanRequest::all(table.clone(), Vec::new());
        request.source = Source::Index(id);
        assert!(matches!(
            engine.snapshot().scan(request),
            Err(EngineError::IndexNotReady { .. })
        ));
        insert(&engine, "t", &["3, 30, 'y'"]).unwrap();
        // The next open finds it as it was marked.
        drop(engine);
        let engine = support::open(store);
        assert_eq!(
            (engine.recovered(), state(&engine, "t")),
            (&[][..], IndexState::Broken)
        );
        engine.rebuild_index(id, &NoProgress).unwrap();
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(
            report.is_clean() && report.entries == 3,
            "{key}, {by_a}: {report:?}"
        );
    }
}

#[test]
fn a_table_without_its_storage_says_so_and_can_be_dropped() {
    for key in ["k", "COLUMNAR k"] {
        let store = database(key, "a");
        let engine = support::open(store.clone());
        let lost = support::table(&engine, "t").storage_names().remove(0);
        drop(engine);
        store.drop_table(&lost).unwrap();
        for read_only in [true, false] {
            let functions = Arc::new(support::toy::ToyFunctions);
            let engine = Engine::open(store.clone(), functions, read_only).unwrap();
            assert_eq!(engine.recovered(), [Recovery::LostTable { table: "t".into() }]);
            let table = support::table(&engine, "t");
            assert_eq!(engine.lost(table.id), Some(lost.clone()));
            let refused = engine
                .snapshot()
                .scan(ScanRequest::all(table.clone(), Vec::new()));
            let Err(EngineError::TableLost { table: name, storage }) = refused else {
                panic!("{key}: rows of a table that is not there");
            };
            assert_eq!((name.as_str(), &storage), ("t", &lost));
            let other = support::table(&engine, "u");
            let rows = support::read(&engine.snapshot(), ScanRequest::all(other, Vec::new()));
            assert_eq!(rows.len(), 2);
            if !read_only {
                assert!(matches!(
                    insert(&engine, "t", &["5, 1, NULL"]),
                    Err(EngineError::TableLost { .. })
                ));
                insert(&engine, "u", &["5, 1, NULL"]).unwrap();
                engine.drop_table(table.id).unwrap();
                support::create_table(&engine, "t", "k INTEGER", "k");
                insert(&engine, "t", &["1"]).unwrap();
            }
        }
        let engine = support::open(store);
        assert_eq!(engine.recovered(), []);
        let table = support::table(&engine, "t");
        let rows = support::read(&engine.snapshot(), ScanRequest::all(table, Vec::new()));
        assert_eq!(rows.len(), 1);
    }
}
