//! Indexes of histories: whatever becomes of rows, indexes and definitions, former images have the entries that they
//! should have, and reading them by an index shows what reading all of them shows.

use crate::support;
use rukh_catalog::{Index, IndexState, Table, Versions, encode_table, table_key};
use rukh_engine::{Engine, EngineError, NoProgress, Progress, Row, ScanRequest, Source};
use rukh_kv::{Durability, KvStore, MemoryStore, WriteBatch};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const COLUMNS: &str = "k INTEGER, a INTEGER NULL, s VARCHAR NULL, p VARCHAR NULL IN payload";
const ROWS: i64 = 2500;

/// Does something when a build has read its first rows.
struct During<'a> {
    engine: &'a Engine,
    act: RefCell<Option<Box<dyn FnOnce(&Engine) + 'a>>>,
}

impl Progress for During<'_> {
    fn total(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) {
        if let Some(act) = self.act.take() {
            act(self.engine);
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// The time of all databases here, which never stands still: later than that of any machine.
static CLOCK: AtomicI64 = AtomicI64::new(4_000_000_000_000_000);

/// Opens the database in a store.
fn open(store: Arc<dyn KvStore>) -> Engine {
    let engine = support::open(store);
    engine.set_rows_at_once(0);
    engine.set_time_source(Arc::new(|| CLOCK.fetch_add(1000, Ordering::Relaxed)));
    engine
}

/// A table of some thousand rows without VERSIONS, whose indexes are built beside writers.
fn plain() -> Engine {
    let engine = open(Arc::new(MemoryStore::new()));
    fill(&engine);
    engine
}

fn fill(engine: &Engine) {
    let table = engine
        .create_table(support::table_draft("t", COLUMNS, "k", None))
        .unwrap();
    let mut load = engine.load(table.id).unwrap();
    let row = |k: i64| support::row(&table, &format!("{k}, {}, 's{}', 'p'", 10 * k, k % 7));
    load.add((0..ROWS).map(row).collect()).unwrap();
    load.finish().unwrap();
}

/// The same with former images: more of some rows than are kept, others of rows that are gone.
fn versioned() -> Engine {
    let engine = plain();
    some_history(&engine);
    engine
}

fn some_history(engine: &Engine) {
    keep(engine, Some(3));
    for round in 0..4 {
        change(engine, 0..300, round);
    }
    remove(engine, 100..200);
    change(engine, 2000..2100, 9);
}

fn table(engine: &Engine) -> Arc<Table> {
    support::table(engine, "t")
}

fn index(engine: &Engine, name: &str) -> Index {
    table(engine).index_named(name).unwrap().clone()
}

/// Changes how many images of a row are kept.
fn keep(engine: &Engine, kept: Option<u32>) {
    let since_micros = engine.now();
    let change = |_: &rukh_catalog::Catalog, before: &Table| {
        let mut next = before.clone();
        next.options.versions = kept.map(|kept| Versions { kept, since_micros });
        next.options.timed = true;
        Ok::<_, EngineError>(next)
    };
    engine.alter_table(table(engine).id, change).unwrap();
}

fn change(engine: &Engine, keys: std::ops::Range<i64>, round: i64) {
    let table = table(engine);
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let row = |k: i64| match (k + round) % 11 {
        0 => format!("{k}, NULL, NULL, NULL"),
        _ => format!("{k}, {}, 'r{round}', 'p{round}'", (10 * k + round) % 50),
    };
    let rows = keys.map(|k| support::row(&table, &row(k))).collect();
    let mut write = engine.begin().unwrap();
    write.upsert(&table, &all, rows).unwrap();
    write.commit(Durability::Synced).unwrap();
}

fn remove(engine: &Engine, keys: std::ops::Range<i64>) {
    let table = table(engine);
    let mut write = engine.begin().unwrap();
    let rows = keys.filter_map(|k| {
        let key = support::key(&table.key_layout(), &k.to_string());
        write.snapshot().get(&table, &key).unwrap()
    });
    let rows = rows.collect();
    write.delete(&table, rows).unwrap();
    write.commit(Durability::Synced).unwrap();
}

fn create(engine: &Engine, name: &str, key: &str, progress: &dyn Progress) -> Result<(), EngineError> {
    create_where(engine, name, key, None, false, progress)
}

fn create_where(
    engine: &Engine,
    name: &str,
    key: &str,
    predicate: Option<&str>,
    unique: bool,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let table = table(engine);
    let include = if key.contains('s') { "" } else { "s" };
    let draft = support::index_draft(&table, name, key, include, predicate, unique);
    engine.create_index(table.id, draft, progress).map(drop)
}

fn images(engine: &Engine, source: Source) -> Vec<Row> {
    let Some(history) = table(engine).history() else {
        return Vec::new();
    };
    let request = ScanRequest {
        source,
        ..ScanRequest::all(Arc::new(history), Vec::new())
    };
    let mut rows = support::read(&engine.snapshot(), request);
    rows.sort();
    rows
}

/// Fails unless the scrub finds nothing, each index of the history shows all images that it should, and storage has what
/// definitions name. Returns how many images there are.
fn check(engine: &Engine) -> usize {
    let table = table(engine);
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let all = images(engine, Source::Table);
    let mut entries = 0;
    for index in table.history().iter().flat_map(|history| &history.indexes) {
        assert_eq!(index.state, IndexState::Ready);
        let partial = index.predicate.is_some();
        let found = images(engine, Source::Index(index.id));
        let is_more = |row: &&Row| matches!(row[1], rukh_keys::Datum::Int(a) if a > 5);
        let expected = all.iter().filter(|row| !partial || is_more(row));
        assert_eq!(found, expected.cloned().collect::<Vec<Row>>(), "{}", index.name);
        entries += found.len() as u64;
        let report = engine.check_index(index.id.history_of().unwrap(), &NoProgress);
        assert!(report.unwrap().is_clean());
    }
    let rows = support::read(&engine.snapshot(), ScanRequest::all(table.clone(), Vec::new()));
    assert_eq!(report.rows, (rows.len() + all.len()) as u64);
    assert!(report.entries >= entries);
    let indexes = table.indexes.iter().flat_map(Index::storage_names);
    let mut named: Vec<String> = table.storage_names().into_iter().chain(indexes).collect();
    named.extend(["catalog", "statistics"].map(String::from));
    named.sort();
    let mut stored = engine.store().tables();
    stored.sort();
    assert_eq!(stored, named);
    assert!(engine.builds().is_empty());
    all.len()
}

/// Builds an index while `act` happens, which must end well.
fn build_during(engine: &Engine, key: &str, act: impl FnOnce(&Engine)) -> usize {
    let during = During {
        engine,
        act: RefCell::new(Some(Box::new(act))),
    };
    create(engine, "i", key, &during).unwrap();
    assert!(during.act.borrow().is_none());
    assert_eq!(index(engine, "i").state, IndexState::Ready);
    check(engine)
}

#[test]
fn an_index_of_a_table_with_a_history_has_the_images_that_are_there() {
    let engine = versioned();
    assert_eq!(images(&engine, Source::Table).len(), 300 * 2 + 100);
    for (name, key, predicate) in [
        ("plain", "a, s DESC", None),
        ("with_key", "a, k DESC", None),
        ("expression", "double(a)", None),
        ("partial", "s", Some("a > 5")),
        ("hash", "HASH(s, 4)", None),
    ] {
        create_where(&engine, name, key, predicate, false, &NoProgress).unwrap();
        assert!(index(&engine, name).former);
    }
    assert_eq!(check(&engine), 700);
    change(&engine, 50..400, 17);
    remove(&engine, 0..60);
    // What a row had first goes with the third image that comes.
    assert_eq!(check(&engine), 700 + 100);
    keep(&engine, Some(2));
    assert_eq!(check(&engine), 400 + 100);
    keep(&engine, None);
    assert_eq!(check(&engine), 0);
    assert!(!index(&engine, "plain").former);
    keep(&engine, Some(5));
    assert!(index(&engine, "plain").former);
    let parts = engine.usage(Some(table(&engine).id)).unwrap();
    let named: Vec<&str> = parts.iter().map(|(part, _)| part.name.as_str()).collect();
    assert!(
        named.contains(&"plain:history") && named.contains(&"t:history"),
        "{named:?}"
    );
    change(&engine, 300..310, 3);
    assert_eq!(check(&engine), 10);
    engine.truncate(table(&engine).id).unwrap();
    assert_eq!(check(&engine), 0);
}

#[test]
fn a_unique_index_is_not_unique_over_what_was() {
    let engine = open(Arc::new(MemoryStore::new()));
    engine
        .create_table(support::table_draft("t", COLUMNS, "k", None))
        .unwrap();
    keep(&engine, Some(9));
    create_where(&engine, "u", "a", None, true, &NoProgress).unwrap();
    let table = table(&engine);
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    // Two rows hand one value to and fro.
    for round in 0..6 {
        let row = |k: i64| support::row(&table, &format!("{k}, {}, NULL, NULL", (k + round) % 2));
        let mut write = engine.begin().unwrap();
        write.upsert(&table, &all, vec![row(0), row(1)]).unwrap();
        write.commit(Durability::Synced).unwrap();
    }
    assert_eq!(check(&engine), 10);
    engine.rebuild_index(index(&engine, "u").id, &NoProgress).unwrap();
    assert_eq!(check(&engine), 10);
}

#[test]
fn images_that_come_and_go_while_an_index_is_built() {
    let engine = versioned();
    let images = build_during(&engine, "a, s", |engine| {
        change(engine, 0..50, 30);
        for round in 40..44 {
            change(engine, 2200..2300, round);
        }
        remove(engine, 2090..2110);
        change(engine, 150..160, 2);
    });
    assert_eq!(images, 700 + 200 + 10 + 10);
}

#[test]
fn a_history_that_is_emptied_while_an_index_is_built() {
    let engine = versioned();
    let images = build_during(&engine, "a", |engine| {
        engine.truncate(table(engine).id).unwrap();
        change(engine, 1..5, 3);
        change(engine, 2..7, 4);
    });
    assert_eq!(images, 3);
}

#[test]
fn a_history_that_begins_is_shortened_or_ends_while_an_index_is_built() {
    let engine = plain();
    let images = build_during(&engine, "a", |engine| {
        keep(engine, Some(4));
        change(engine, 1..5, 3);
    });
    assert_eq!(images, 4);
    let engine = versioned();
    let images = build_during(&engine, "a", |engine| keep(engine, Some(2)));
    assert_eq!(images, 400);
    let engine = versioned();
    assert_eq!(build_during(&engine, "a", |engine| keep(engine, None)), 0);
}

#[test]
fn rebuilding_while_a_history_begins() {
    let engine = plain();
    create(&engine, "i", "a", &NoProgress).unwrap();
    let during = During {
        engine: &engine,
        act: RefCell::new(Some(Box::new(|engine| {
            keep(engine, Some(4));
            change(engine, 1..5, 3);
            change(engine, 2..9, 4);
        }))),
    };
    engine.rebuild_index(index(&engine, "i").id, &during).unwrap();
    assert_eq!(check(&engine), 11);
    engine.disable_index(index(&engine, "i").id).unwrap();
    change(&engine, 2..9, 5);
    engine.rebuild_index(index(&engine, "i").id, &NoProgress).unwrap();
    assert_eq!(check(&engine), 18);
    engine.drop_index(index(&engine, "i").id).unwrap();
    assert_eq!(check(&engine), 18);
}

#[test]
fn a_build_that_was_cut_short_is_completed_when_the_database_is_opened() {
    let store = Arc::new(MemoryStore::new());
    let first = open(store.clone());
    fill(&first);
    some_history(&first);
    let during = During {
        engine: &first,
        act: RefCell::new(Some(Box::new(|first| {
            change(first, 0..50, 30);
            // As after the end of the process: another engine takes what is stored.
            let engine = open(store.clone());
            assert_eq!(check(&engine), 700);
            assert!(index(&engine, "i").former);
        }))),
    };
    // Storage was taken away beneath it.
    let _ = create(&first, "i", "a", &during);
}

/// Before format 9 indexes had no entries for images.
#[test]
fn an_older_database_reads_its_history_in_key_order_until_indexes_are_rebuilt() {
    let store = Arc::new(MemoryStore::new());
    let engine = open(store.clone());
    fill(&engine);
    some_history(&engine);
    create(&engine, "i", "a", &NoProgress).unwrap();
    let mut older = Table::clone(&table(&engine));
    older.indexes[0].former = false;
    let former = Index::storage_name_of(older.indexes[0].id.history());
    drop(engine);
    store.drop_table(&former).unwrap();
    let mut batch = WriteBatch::new();
    batch.put("catalog", b"format", b"8");
    batch.put("catalog", &table_key(older.id), &encode_table(&older));
    store.write(batch, Durability::Synced).unwrap();

    let engine = open(store);
    assert!(table(&engine).history().unwrap().indexes.is_empty());
    assert_eq!(check(&engine), 700);
    change(&engine, 0..350, 20);
    assert_eq!(check(&engine), 750);
    let request = ScanRequest {
        source: Source::Index(index(&engine, "i").id.history()),
        ..ScanRequest::all(Arc::new(table(&engine).history().unwrap()), Vec::new())
    };
    assert!(engine.snapshot().scan(request).is_err());
    engine.rebuild_index(index(&engine, "i").id, &NoProgress).unwrap();
    assert!(index(&engine, "i").former);
    assert_eq!(check(&engine), 750);
}

/// An entry that lacks its image, or the other way round, is reported, and the index is taken out of use.
#[test]
fn damage_is_found() {
    let engine = versioned();
    create(&engine, "i", "a", &NoProgress).unwrap();
    let id = index(&engine, "i").id;
    let storage = Index::storage_name_of(id.history());
    let mut cursor = engine
        .store()
        .snapshot()
        .scan(&storage, rukh_kv::ScanSpec::all())
        .unwrap();
    let first = cursor.next().unwrap().unwrap().key.to_vec();
    drop(cursor);
    let mut batch = WriteBatch::new();
    batch.delete(&storage, &first);
    engine.store().write(batch, Durability::Synced).unwrap();
    for report in [
        engine.check_table(table(&engine).id, &NoProgress).unwrap(),
        engine.check_index(id, &NoProgress).unwrap(),
    ] {
        assert_eq!((report.missing, report.dangling), (1, 0));
        assert_eq!(report.broken, [id]);
        assert!(report.findings[0].key.starts_with("t:history@i/"), "{report:?}");
    }
    assert!(engine.mark_broken(id).unwrap());
    let history = table(&engine).history().unwrap();
    assert_eq!(history.indexes[0].state, IndexState::Broken);
    engine.rebuild_index(id, &NoProgress).unwrap();
    assert_eq!(check(&engine), 700);
}

/// Columns of former images may be NULL though no row's are any more.
#[test]
fn images_are_older_than_what_is_said_of_rows() {
    let engine = versioned();
    change(&engine, 0..ROWS, 1);
    create(&engine, "before", "a", &NoProgress).unwrap();
    remove(&engine, 0..ROWS);
    let not_null = |_: &rukh_catalog::Catalog, before: &Table| {
        let mut next = before.clone();
        next.columns[1].nullable = false;
        next.indexes[0].once_nullable.push(next.columns[1].id);
        Ok::<_, EngineError>(next)
    };
    engine.alter_table(table(&engine).id, not_null).unwrap();
    let images = check(&engine);
    create(&engine, "after", "a, s", &NoProgress).unwrap();
    create(&engine, "double", "double(a)", &NoProgress).unwrap();
    assert_eq!(check(&engine), images);
}
