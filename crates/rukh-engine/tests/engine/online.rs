//! Indexes that are built while others write: whatever happens meanwhile, the index that comes out has
//! the entries of the rows that are there, and one that may not be leaves nothing.
//!
//! What happens meanwhile is done by the build's own watcher, which is called when the writer lock is
//! free, so that each case is the same in every run; threads that write for all they can come last.

use crate::support;
use rukh_catalog::{Index, IndexState, Table};
use rukh_engine::{BuildPhase, Engine, EngineError, NoProgress, OnConflict, Progress, ScanRequest};
use rukh_kv::{Durability, KvStore, MemoryStore, RocksOptions, RocksStore};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const COLUMNS: &str = "k INTEGER, a INTEGER NULL, s VARCHAR NULL, p VARCHAR NULL IN payload";
const ROWS: i64 = 3000;

/// Runs an action when the build has read this many thousand rows, and cancels if set to.
struct During<'a> {
    engine: &'a Engine,
    act: RefCell<Option<Box<dyn FnOnce(&Engine) + 'a>>>,
    cancel: Cell<bool>,
    seen: RefCell<Vec<BuildPhase>>,
}

impl<'a> During<'a> {
    fn new(engine: &'a Engine, act: impl FnOnce(&Engine) + 'a) -> Self {
        During {
            engine,
            act: RefCell::new(Some(Box::new(act))),
            cancel: Cell::new(false),
            seen: RefCell::default(),
        }
    }
}

impl Progress for During<'_> {
    fn total(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) {
        if let Some(act) = self.act.take() {
            act(self.engine);
        }
    }

    fn cancelled(&self) -> bool {
        let phases = self.engine.builds().into_iter().map(|build| build.phase);
        self.seen.borrow_mut().extend(phases);
        self.cancel.get()
    }
}

/// A table of some thousand rows, whose indexes are built beside writers.
fn filled(store: Arc<dyn KvStore>) -> Engine {
    let engine = support::open(store);
    engine.set_rows_at_once(0);
    let table = engine
        .create_table(support::table_draft("t", COLUMNS, "k", None))
        .unwrap();
    let mut load = engine.load(table.id).unwrap();
    let row = |k: i64| support::row(&table, &format!("{k}, {}, 's{}', 'p'", 10 * k, k % 7));
    load.add((0..ROWS).map(row).collect()).unwrap();
    load.finish().unwrap();
    engine
}

fn engine() -> Engine {
    filled(Arc::new(MemoryStore::new()))
}

fn table(engine: &Engine) -> Arc<Table> {
    support::table(engine, "t")
}

fn create(
    engine: &Engine,
    name: &str,
    key: &str,
    unique: bool,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let table = table(engine);
    let draft = support::index_draft(&table, name, key, "", None, unique);
    engine.create_index(table.id, draft, progress).map(drop)
}

fn upsert(engine: &Engine, rows: &[&str]) {
    let table = table(engine);
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin().unwrap();
    let rows = rows.iter().map(|row| support::row(&table, row)).collect();
    write.upsert(&table, &all, rows).unwrap();
    write.commit(Durability::Synced).unwrap();
}

fn delete(engine: &Engine, key: &str) {
    let table = table(engine);
    let mut write = engine.begin().unwrap();
    let key = support::key(&table.key_layout(), key);
    let row = write.snapshot().get(&table, &key).unwrap().unwrap();
    write.delete(&table, vec![row]).unwrap();
    write.commit(Durability::Synced).unwrap();
}

fn index(engine: &Engine, name: &str) -> Option<Index> {
    table(engine).index_named(name).cloned()
}

/// Fails unless the scrub finds nothing, and storage has what definitions name.
fn check(engine: &Engine) -> u64 {
    let table = table(engine);
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let entries = ScanRequest::all(table.clone(), Vec::new());
    let rows = support::read(&engine.snapshot(), entries).len() as u64;
    let indexes = table.indexes.len() as u64;
    assert_eq!((report.rows, report.entries), (rows, rows * indexes));
    let named = table.families.len() + table.indexes.len();
    assert_eq!(
        engine.store().tables().len(),
        named + 2,
        "{:?}",
        engine.store().tables()
    );
    assert_eq!(engine.store().local().unwrap().load_files().unwrap(), []);
    assert!(engine.builds().is_empty());
    rows
}

/// Builds an index while `act` happens, which must end well.
fn build_during(unique: bool, act: impl FnOnce(&Engine)) -> Engine {
    let engine = engine();
    let during = During::new(&engine, act);
    create(&engine, "i", "a, s", unique, &during).unwrap();
    assert!(during.act.borrow().is_none());
    let seen = during.seen.take();
    for phase in [BuildPhase::Reading, BuildPhase::Writing, BuildPhase::CatchingUp] {
        assert!(seen.contains(&phase), "{phase:?}");
    }
    assert_eq!(index(&engine, "i").unwrap().state, IndexState::Ready);
    check(&engine);
    drop(during);
    engine
}

#[test]
fn rows_that_come_change_and_go() {
    for unique in [false, true] {
        build_during(unique, |engine| {
            upsert(
                engine,
                &[
                    "5, 77, 'new', NULL",
                    "2999, NULL, NULL, NULL",
                    "9000, 1, 'x', 'y'",
                ],
            );
            delete(engine, "7");
            delete(engine, "9000");
            upsert(engine, &["7, 8, 'again', 'q'"]);
            delete(engine, "2998");
            // It is not read, though it is there.
            let building = index(engine, "i").unwrap();
            assert_eq!(building.state, IndexState::Building);
        });
    }
}

#[test]
fn a_unique_value_moves_from_row_to_row() {
    build_during(true, |engine| {
        // Row 20 takes what 10 had; rows 1 and 2 change places.
        upsert(engine, &["10, -1, 's', NULL"]);
        upsert(engine, &["20, 100, 's3', NULL"]);
        upsert(engine, &["1, 20, 's2', NULL", "2, 10, 's1', NULL"]);
    });
}

#[test]
fn a_table_is_truncated_and_filled_again() {
    let engine = build_during(true, |engine| {
        engine.truncate(table(engine).id).unwrap();
        upsert(engine, &["1, 1, 's', 'p'", "4000, 2, 's', 'p'"]);
    });
    assert_eq!(check(&engine), 2);
}

#[test]
fn rows_are_loaded() {
    let engine = build_during(true, |engine| {
        let table = table(engine);
        let mut load = engine.load(table.id).unwrap();
        let row = |k: i64| support::row(&table, &format!("{k}, {k}, 'l', NULL"));
        load.add((10_000..13_000).map(row).collect()).unwrap();
        load.finish().unwrap();
    });
    assert_eq!(check(&engine), 6000);
}

#[test]
fn transactions_that_end_before_the_switch_succeed() {
    let engine = engine();
    let table = table(&engine);
    let transaction = engine.transaction();
    let mut write = transaction.write().unwrap();
    let row = support::row(&table, "70000, 1, 'tx', NULL");
    write.insert(&table, vec![row], OnConflict::Error).unwrap();
    write.commit(Durability::Synced).unwrap();
    let during = During::new(&engine, |_| {
        transaction.commit(Durability::Synced).unwrap();
    });
    create(&engine, "i", "a", false, &during).unwrap();
    assert_eq!(check(&engine), ROWS as u64 + 1);
}

#[test]
fn a_transaction_that_does_not_know_the_index_conflicts() {
    let engine = engine();
    let table = table(&engine);
    let transaction = engine.transaction();
    let mut write = transaction.write().unwrap();
    let row = support::row(&table, "70000, 1, 'tx', NULL");
    write.insert(&table, vec![row], OnConflict::Error).unwrap();
    write.commit(Durability::Synced).unwrap();
    create(&engine, "i", "a", false, &NoProgress).unwrap();
    let failed = transaction.commit(Durability::Synced);
    assert!(matches!(failed, Err(EngineError::Conflict { .. })), "{failed:?}");
    assert_eq!(check(&engine), ROWS as u64);
}

#[test]
fn duplicates_end_a_unique_build() {
    let engine = engine();
    let failed = create(&engine, "i", "s", true, &NoProgress);
    let Err(EngineError::UniqueViolation { key, .. }) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(key, "(s)=(s0)");
    assert!(index(&engine, "i").is_none());
    check(&engine);
    // One that comes while the index is built ends it as well.
    let during = During::new(&engine, |engine| upsert(engine, &["8000, 50, 'twice', NULL"]));
    let failed = create(&engine, "i", "a", true, &during);
    let Err(EngineError::UniqueViolation { key, .. }) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(key, "(a)=(50)");
    assert!(index(&engine, "i").is_none());
    check(&engine);
}

#[test]
fn a_cancelled_build_leaves_nothing() {
    let engine = engine();
    let during = During::new(&engine, |_| {});
    during.cancel.set(true);
    let failed = create(&engine, "i", "a", false, &during);
    assert!(matches!(failed, Err(EngineError::Cancelled)), "{failed:?}");
    assert!(index(&engine, "i").is_none());
    check(&engine);
}

#[test]
fn an_index_or_its_table_is_dropped() {
    let engine = engine();
    let during = During::new(&engine, |engine| {
        engine.drop_index(index(engine, "i").unwrap().id).unwrap();
    });
    let failed = create(&engine, "i", "a", false, &during);
    assert!(matches!(failed, Err(EngineError::IndexDropped)), "{failed:?}");
    check(&engine);
    let during = During::new(&engine, |engine| engine.drop_table(table(engine).id).unwrap());
    let failed = create(&engine, "i", "a", false, &during);
    assert!(matches!(failed, Err(EngineError::IndexDropped)), "{failed:?}");
    assert_eq!(engine.store().tables(), ["catalog", "statistics"]);
}

#[test]
fn a_changed_table_begins_the_build_again() {
    let engine = engine();
    let during = During::new(&engine, |engine| {
        let renamed = engine.alter_table(table(engine).id, |_, before| {
            let mut next = before.clone();
            next.columns[1].name = "amount".into();
            Ok::<_, EngineError>(next)
        });
        renamed.unwrap();
    });
    create(&engine, "i", "a", false, &during).unwrap();
    check(&engine);
}

#[test]
fn several_at_once_of_one_table() {
    let engine = engine();
    let inner = During::new(&engine, |engine| {
        upsert(engine, &["3, 33, 'y', NULL"]);
        delete(engine, "4");
    });
    let outer = During::new(&engine, |engine| {
        upsert(engine, &["1, 11, 'x', NULL"]);
        create(engine, "second", "s, a", true, &inner).unwrap();
        upsert(engine, &["2, 22, 'z', NULL"]);
    });
    create(&engine, "first", "a", true, &outer).unwrap();
    assert_eq!(table(&engine).indexes.len(), 2);
    check(&engine);
}

#[test]
fn rebuilding_gives_the_old_index_until_the_new_one_is_there() {
    let engine = engine();
    create(&engine, "i", "a", true, &NoProgress).unwrap();
    let before = index(&engine, "i").unwrap();
    let during = During::new(&engine, |engine| {
        let now = index(engine, "i").unwrap();
        assert_eq!((now.id, now.state), (before.id, IndexState::Ready));
        let busy = engine.rebuild_index(now.id, &NoProgress);
        assert!(matches!(busy, Err(EngineError::IndexBusy { .. })), "{busy:?}");
        let busy = engine.disable_index(now.id);
        assert!(matches!(busy, Err(EngineError::IndexBusy { .. })), "{busy:?}");
        upsert(engine, &["1, -5, 'x', NULL"]);
        delete(engine, "2");
    });
    let id = engine.rebuild_index(before.id, &during).unwrap();
    assert_ne!(id, before.id);
    assert_eq!(index(&engine, "i").unwrap().id, id);
    check(&engine);
}

#[test]
fn a_disabled_index_is_empty_until_it_is_rebuilt() {
    let engine = engine();
    create(&engine, "i", "a", true, &NoProgress).unwrap();
    let id = index(&engine, "i").unwrap().id;
    engine.disable_index(id).unwrap();
    assert_eq!(index(&engine, "i").unwrap().state, IndexState::Disabled);
    // Nothing guards the value, and nothing is written to the index.
    upsert(&engine, &["1, 20, 'x', NULL"]);
    let entries = rukh_kv::ScanSpec::all();
    let stored = engine
        .store()
        .latest()
        .count(&Index::storage_name_of(id), entries);
    assert_eq!(stored.unwrap().0, 0);
    let failed = engine.rebuild_index(id, &NoProgress);
    assert!(
        matches!(failed, Err(EngineError::UniqueViolation { .. })),
        "{failed:?}"
    );
    assert_eq!(index(&engine, "i").unwrap().state, IndexState::Disabled);
    delete(&engine, "1");
    engine.rebuild_index(id, &NoProgress).unwrap();
    assert_eq!(index(&engine, "i").unwrap().state, IndexState::Ready);
    check(&engine);
}

#[test]
fn a_broken_index_is_kept_but_not_read() {
    let engine = engine();
    create(&engine, "i", "a", false, &NoProgress).unwrap();
    let id = index(&engine, "i").unwrap().id;
    assert!(engine.mark_broken(id).unwrap());
    assert!(!engine.mark_broken(id).unwrap());
    let mut request = ScanRequest::all(table(&engine), Vec::new());
    request.source = rukh_engine::Source::Index(id);
    let refused = engine.snapshot().scan(request).map(drop);
    assert!(
        matches!(refused, Err(EngineError::IndexNotReady { .. })),
        "{refused:?}"
    );
    upsert(&engine, &["1, 20, 'x', NULL"]);
    check(&engine);
    engine.rebuild_index(id, &NoProgress).unwrap();
    assert_eq!(index(&engine, "i").unwrap().state, IndexState::Ready);
    check(&engine);
}

/// What a killed process leaves is filled at the next open, and what a rebuild left is removed.
#[test]
fn a_build_that_was_cut_short_is_completed_when_the_database_is_opened() {
    let store = Arc::new(MemoryStore::new());
    let first = filled(store.clone());
    create(&first, "old", "s", false, &NoProgress).unwrap();
    let old = index(&first, "old").unwrap().id;
    let during = During::new(&first, |first| {
        let rebuilding = During::new(first, |first| {
            upsert(first, &["1, -5, 'x', NULL"]);
            // As after the end of the process: another engine takes what is stored.
            let engine = support::open(store.clone());
            assert_eq!(index(&engine, "i").unwrap().state, IndexState::Ready);
            assert_eq!(index(&engine, "old").unwrap().id, old);
            check(&engine);
        });
        rebuilding.cancel.set(false);
        let _ = first.rebuild_index(old, &rebuilding);
    });
    let _ = create(&first, "i", "a", true, &during);
}

#[test]
fn writers_that_never_rest() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), &RocksOptions::default()).unwrap();
    let engine = filled(Arc::new(store));
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..3_u64 {
            let (engine, stop, written) = (&engine, &stop, &written);
            scope.spawn(move || {
                let mut state = writer + 1;
                let mut next = |limit: u64| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    (state >> 33) % limit
                };
                while !stop.load(Ordering::Relaxed) {
                    // Each has rows, and values, of its own.
                    let k = 3 * next(ROWS as u64 / 3) + writer;
                    let table = table(engine);
                    let mut write = engine.begin().unwrap();
                    let key = support::key(&table.key_layout(), &k.to_string());
                    let stored = write.snapshot().get(&table, &key).unwrap();
                    match stored.filter(|_| next(3) == 0) {
                        Some(row) => drop(write.delete(&table, vec![row]).unwrap()),
                        None => {
                            let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
                            let a = 10 * k + next(9);
                            let row = support::row(&table, &format!("{k}, {a}, 's{}', NULL", next(5)));
                            write.upsert(&table, &all, vec![row]).unwrap();
                        }
                    }
                    write.commit(Durability::Buffered).unwrap();
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..4 {
            let before = written.load(Ordering::Relaxed);
            create(&engine, &format!("plain{round}"), "s, a", false, &NoProgress).unwrap();
            create(&engine, &format!("unique{round}"), "a", true, &NoProgress).unwrap();
            let id = index(&engine, &format!("plain{round}")).unwrap().id;
            engine.rebuild_index(id, &NoProgress).unwrap();
            let id = index(&engine, &format!("unique{round}")).unwrap().id;
            let report = engine.check_index(id, &NoProgress).unwrap();
            assert!(report.is_clean(), "{report:?}");
            assert!(written.load(Ordering::Relaxed) > before);
            engine.drop_index(id).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    check(&engine);
}
