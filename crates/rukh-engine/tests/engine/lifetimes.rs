//! Lifetimes and versions against a model: a list of operations under a clock that is moved by hand, with storage
//! that forgets the dead of one column family and not yet of another.
use crate::support;
use proptest::prelude::*;
use rukh_catalog::{Index, Lifetime, Table, Versions};
use rukh_engine::{Engine, EngineError, NoProgress, OnConflict, Row, ScanRequest, Snapshot, Source};
use rukh_keys::{Datum, KeyRange, MaskedCompare};
use rukh_kv::{Durability, KvStore, MemoryStore, RocksOptions, RocksStore};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const TTL: i64 = 100;

/// A step of a history. Keys and values are few, so that they meet.
#[derive(Clone, Debug)]
enum Step {
    Pass(i64),
    Insert {
        k: i64,
        a: i64,
        u: i64,
        ts: i64,
    },
    Upsert {
        k: i64,
        a: i64,
    },
    UpdateAll {
        a: i64,
        to: i64,
    },
    Delete {
        k: i64,
    },
    /// Compacts one of the column families.
    Compact(usize),
    Reopen,
    /// Changes how long rows live; 0 is for ever.
    Live {
        ttl: i64,
        from_column: bool,
    },
    /// Changes how many versions are kept; 1 is none but the row.
    Keep(u32),
    Rebuild,
}

fn step() -> impl Strategy<Value = Step> {
    let (k, a, u) = (0..6_i64, 0..4_i64, 0..4_i64);
    prop_oneof![
        4 => (1..70_i64).prop_map(Step::Pass),
        6 => (k.clone(), a.clone(), u, -150..50_i64)
            .prop_map(|(k, a, u, ts)| Step::Insert { k, a, u, ts }),
        3 => (k.clone(), a.clone()).prop_map(|(k, a)| Step::Upsert { k, a }),
        2 => (a.clone(), a).prop_map(|(a, to)| Step::UpdateAll { a, to }),
        2 => k.prop_map(|k| Step::Delete { k }),
        4 => (0..8_usize).prop_map(Step::Compact),
        1 => Just(Step::Reopen),
        1 => (prop_oneof![Just(0), Just(50), Just(TTL), Just(200)], any::<bool>())
            .prop_map(|(ttl, from_column)| Step::Live { ttl, from_column }),
        1 => (1..5_u32).prop_map(Step::Keep),
        1 => Just(Step::Rebuild),
    ]
}

/// A row as the model knows it.
#[derive(Clone, Debug)]
struct Known {
    row: Row,
    /// When it was written; `None` if it carries no time.
    written: Option<i64>,
    /// Since when its life counts; `None` if it carries no time.
    counted: Option<i64>,
}

/// What a row was.
#[derive(Clone, Debug)]
struct Former {
    known: Known,
    start: i64,
    end: i64,
}

struct World {
    store: Arc<dyn KvStore>,
    engine: Engine,
    clock: Arc<AtomicI64>,
    rows: BTreeMap<i64, Known>,
    lifetime: Option<Lifetime>,
    versions: Option<Versions>,
    /// By key, oldest first.
    former: BTreeMap<i64, Vec<Former>>,
    timed: bool,
}

impl World {
    fn new(lifetime: Option<i64>) -> World {
        World::on(Arc::new(MemoryStore::new()), lifetime)
    }

    fn on(store: Arc<dyn KvStore>, lifetime: Option<i64>) -> World {
        let clock = Arc::new(AtomicI64::new(1000));
        let engine = open(&store, &clock);
        let columns =
            "k INTEGER, a INTEGER NULL, u INTEGER NULL, ts TIMESTAMP NULL, p INTEGER NULL IN payload";
        let mut draft = support::table_draft("t", columns, "k", None);
        let lifetime = lifetime.map(|ttl_micros| Lifetime {
            ttl_micros,
            from: None,
            since_micros: 1000,
        });
        draft.options.lifetime = lifetime;
        draft.options.timed = lifetime.is_some();
        let table = engine.create_table(draft).unwrap();
        support::create_index(&engine, &table, "by_a", "a", "u", false);
        support::create_index(&engine, &table, "u", "u", "", true);
        World {
            store,
            engine,
            clock,
            rows: BTreeMap::new(),
            timed: lifetime.is_some(),
            lifetime,
            versions: None,
            former: BTreeMap::new(),
        }
    }

    fn now(&self) -> i64 {
        self.clock.load(Ordering::Relaxed)
    }

    fn table(&self) -> Arc<Table> {
        support::table(&self.engine, "t")
    }

    /// Forgets the expired rows; from then on they conflict with nothing.
    fn bury(&mut self) {
        let Some(lifetime) = self.lifetime else { return };
        let now = self.now();
        let lives = |known: &Known| {
            let counted = known.counted.unwrap_or(lifetime.since_micros);
            counted == i64::MAX || now < counted + lifetime.ttl_micros
        };
        self.rows.retain(|_, known| lives(known));
        for former in self.former.values_mut() {
            former.retain(|former| lives(&former.known));
        }
    }

    /// Keeps what a row was that is about to change.
    fn end(&mut self, k: i64) {
        let (Some(versions), Some(known)) = (self.versions, self.rows.get(&k).cloned()) else {
            return;
        };
        let start = known.written.unwrap_or(versions.since_micros);
        let end = self.now();
        let former = self.former.entry(k).or_default();
        if start < end {
            former.push(Former { known, start, end });
        }
        self.forget();
    }

    /// Forgets what is too much.
    fn forget(&mut self) {
        let kept = self.versions.map_or(0, |versions| versions.kept as usize - 1);
        for former in self.former.values_mut() {
            former.drain(..former.len().saturating_sub(kept));
        }
    }

    fn keep(&mut self, kept: u32) {
        let since_micros = self.versions.map_or(self.now(), |versions| versions.since_micros);
        self.versions = (kept > 1).then_some(Versions { kept, since_micros });
        let versions = self.versions;
        let change = |_: &rukh_catalog::Catalog, before: &Table| {
            let mut next = before.clone();
            next.options.versions = versions;
            next.options.timed |= versions.is_some();
            Ok::<_, EngineError>(next)
        };
        self.engine.alter_table(self.table().id, change).unwrap();
        self.timed |= versions.is_some();
        self.forget();
    }

    fn known(&self, row: Row) -> Known {
        let from_column = self.lifetime.is_some_and(|lifetime| lifetime.from.is_some());
        let counted = match (&row[3], from_column) {
            (Datum::Timestamp(ts), true) => *ts,
            (_, true) => i64::MAX,
            (_, false) => self.now(),
        };
        Known {
            row,
            written: self.timed.then_some(self.now()),
            counted: self.timed.then_some(counted),
        }
    }

    fn step(&mut self, step: &Step) {
        if let Step::Pass(micros) = step {
            self.clock.fetch_add(*micros, Ordering::Relaxed);
        }
        self.bury();
        match *step {
            Step::Pass(_) => {}
            Step::Insert { k, a, u, ts } => self.insert(k, a, u, ts),
            Step::Upsert { k, a } => self.upsert(k, a),
            Step::UpdateAll { a, to } => self.update(a, to),
            Step::Delete { k } => self.delete(k),
            Step::Compact(nth) => {
                let table = self.table();
                let mut names: Vec<String> = table.indexes.iter().flat_map(Index::storage_names).collect();
                for table in std::iter::once(Table::clone(&table)).chain(table.history()) {
                    names.extend(table.families.iter().map(|family| table.storage_name(family.id)));
                }
                if let Some(name) = names.get(nth) {
                    self.store.compact(name).unwrap();
                }
            }
            Step::Reopen => self.engine = open(&self.store, &self.clock),
            Step::Live { ttl, from_column } => self.live(ttl, from_column),
            Step::Keep(kept) => self.keep(kept),
            Step::Rebuild => self.rebuild(),
        }
        // A row may be dead when it is written.
        self.bury();
    }

    fn insert(&mut self, k: i64, a: i64, u: i64, ts: i64) {
        let u = match u {
            0 => Datum::Null,
            u => Datum::Int(u),
        };
        let ts = Datum::Timestamp(self.now() + ts);
        let payload = if a % 2 == 0 { Datum::Null } else { Datum::Int(a) };
        let row = vec![Datum::Int(k), Datum::Int(a), u.clone(), ts, payload];
        let taken =
            self.rows.contains_key(&k) || self.rows.values().any(|known| !u.is_null() && known.row[2] == u);
        let mut write = self.engine.begin().unwrap();
        let written = write
            .insert(&self.table(), vec![row.clone()], OnConflict::Error)
            .and_then(|_| write.commit(Durability::Synced));
        match written {
            Ok(_) => assert!(!taken, "{row:?} is taken"),
            Err(EngineError::UniqueViolation { .. }) => assert!(taken, "{row:?} is free"),
            Err(error) => panic!("{error}"),
        }
        if !taken {
            let known = self.known(row);
            self.rows.insert(k, known);
        }
    }

    /// Names the key and one column.
    fn upsert(&mut self, k: i64, a: i64) {
        let table = self.table();
        let mut row = vec![
            Datum::Int(k),
            Datum::Int(a),
            Datum::Null,
            Datum::Null,
            Datum::Null,
        ];
        let named = [table.columns[0].id, table.columns[1].id];
        let mut write = self.engine.begin().unwrap();
        write.upsert(&table, &named, vec![row.clone()]).unwrap();
        write.commit(Durability::Synced).unwrap();
        self.end(k);
        if let Some(before) = self.rows.get(&k) {
            row[2..].clone_from_slice(&before.row[2..]);
        }
        let known = self.known(row);
        self.rows.insert(k, known);
    }

    fn update(&mut self, a: i64, to: i64) {
        let changed = |row: &Row| {
            let mut next = row.clone();
            next[1] = Datum::Int(to);
            next
        };
        let chosen = self
            .rows
            .iter()
            .filter(|(_, known)| known.row[1] == Datum::Int(a));
        let chosen: Vec<(i64, Row)> = chosen.map(|(k, known)| (*k, known.row.clone())).collect();
        let mut write = self.engine.begin().unwrap();
        let changes = chosen.iter().map(|(_, row)| (row.clone(), changed(row)));
        write.update(&self.table(), changes.collect()).unwrap();
        write.commit(Durability::Synced).unwrap();
        for (k, row) in chosen {
            self.end(k);
            let known = self.known(changed(&row));
            self.rows.insert(k, known);
        }
    }

    fn delete(&mut self, k: i64) {
        self.end(k);
        let Some(known) = self.rows.remove(&k) else { return };
        let mut write = self.engine.begin().unwrap();
        assert_eq!(write.delete(&self.table(), vec![known.row]).unwrap(), 1);
        write.commit(Durability::Synced).unwrap();
    }

    fn live(&mut self, ttl: i64, from_column: bool) {
        let table = self.table();
        let since = self.lifetime.map_or(self.now(), |lifetime| lifetime.since_micros);
        let lifetime = (ttl > 0).then_some(Lifetime {
            ttl_micros: ttl,
            from: from_column.then_some(table.columns[3].id),
            since_micros: since,
        });
        let change = |_: &rukh_catalog::Catalog, before: &Table| {
            let mut next = before.clone();
            next.options.lifetime = lifetime;
            next.options.timed |= lifetime.is_some();
            Ok::<_, EngineError>(next)
        };
        self.engine.alter_table(table.id, change).unwrap();
        self.lifetime = lifetime;
        self.timed |= lifetime.is_some();
        self.bury();
    }

    fn rebuild(&mut self) {
        let table = self.table();
        self.engine
            .drop_index(table.index_named("by_a").unwrap().id)
            .unwrap();
        support::create_index(&self.engine, &table, "by_a", "a", "u", false);
    }

    /// Every way of reading shows the rows of the model, and scrub finds nothing.
    fn compare(&self) {
        let table = self.table();
        let snapshot = self.engine.snapshot();
        let expected: Vec<Row> = self.rows.values().map(|known| known.row.clone()).collect();
        let all = ScanRequest::all(table.clone(), Vec::new());
        assert_eq!(support::read(&snapshot, all), expected);
        let mut by_a = expected.clone();
        by_a.sort_by_key(|row| match (&row[1], &row[0]) {
            (Datum::Int(a), Datum::Int(k)) => (*a, *k),
            _ => unreachable!("both are numbers"),
        });
        for index in &table.indexes {
            let request = |reverse| ScanRequest {
                source: Source::Index(index.id),
                reverse,
                ..ScanRequest::all(table.clone(), Vec::new())
            };
            if index.name == "by_a" {
                assert_eq!(support::read(&snapshot, request(false)), by_a);
                by_a.reverse();
                assert_eq!(support::read(&snapshot, request(true)), by_a);
            }
            let limited = ScanRequest {
                limit: Some(2),
                ..request(false)
            };
            assert_eq!(support::read(&snapshot, limited).len(), expected.len().min(2));
        }
        let sources = table.indexes.iter().map(|index| Source::Index(index.id));
        for source in sources.chain([Source::Table]) {
            let all = vec![KeyRange::all()];
            let counted = snapshot.count(&table, source, all, MaskedCompare::new(Vec::new()));
            assert_eq!(counted.unwrap().0, expected.len() as u64);
        }
        for k in 0..6 {
            let row = snapshot.get(&table, &[Datum::Int(k)]).unwrap();
            assert_eq!(row.as_ref(), self.rows.get(&k).map(|known| &known.row));
        }
        self.compare_history(&snapshot, &table);
        let report = self.engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
    }
}

impl World {
    /// The present images with when they were written, and the former ones with their ends, are those of the model.
    fn compare_history(&self, snapshot: &Snapshot, table: &Table) {
        let Some((standing, history)) = table.standing().zip(table.history()) else {
            assert!(self.versions.is_none());
            return;
        };
        let since = self.versions.unwrap().since_micros;
        let period = |row: &Row, times: &[i64]| {
            let times = times.iter().map(|micros| Datum::Timestamp(*micros));
            row.iter().cloned().chain(times).collect::<Row>()
        };
        let expected: Vec<Row> = self
            .rows
            .values()
            .map(|known| period(&known.row, &[known.written.unwrap_or(since)]))
            .collect();
        let read = |table: Table| support::read(snapshot, ScanRequest::all(Arc::new(table), Vec::new()));
        assert_eq!(read(standing), expected);
        let newest_first = self.former.values().flat_map(|former| former.iter().rev());
        let expected: Vec<Row> = newest_first
            .map(|former| period(&former.known.row, &[former.start, former.end]))
            .collect();
        assert_eq!(read(history.clone()), expected);
        assert_eq!(history.indexes.len(), table.indexes.len());
        let mut sorted = expected;
        sorted.sort();
        for index in &history.indexes {
            let request = ScanRequest {
                source: Source::Index(index.id),
                ..ScanRequest::all(Arc::new(history.clone()), Vec::new())
            };
            let mut images = support::read(snapshot, request);
            images.sort();
            assert_eq!(images, sorted, "{}", index.name);
        }
    }
}

fn open(store: &Arc<dyn KvStore>, clock: &Arc<AtomicI64>) -> Engine {
    let engine = support::open(store.clone());
    let clock = clock.clone();
    engine.set_time_source(Arc::new(move || clock.load(Ordering::Relaxed)));
    engine
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_dead_is_gone_for_every_reader(
        lifetime in prop::option::of(Just(TTL)),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut world = World::new(lifetime);
        for step in &steps {
            world.step(step);
            world.compare();
        }
    }
}

#[test]
fn compaction_removes_the_dead_once_nobody_sees_them() {
    let mut world = World::new(Some(TTL));
    world.insert(1, 1, 1, 0);
    let snapshot = world.engine.snapshot();
    world.clock.fetch_add(TTL, Ordering::Relaxed);
    let stored = |world: &World| {
        let storage = world.table().storage_name(rukh_catalog::FamilyId(0));
        world.store.compact(&storage).unwrap();
        world
            .store
            .snapshot()
            .count(&storage, rukh_kv::ScanSpec::all())
            .unwrap()
            .0
    };
    assert_eq!(stored(&world), 1, "a statement that began before sees the row");
    assert_eq!(
        snapshot
            .get(&world.table(), &[Datum::Int(1)])
            .unwrap()
            .map(|row| row.len()),
        Some(5)
    );
    drop(snapshot);
    assert_eq!(stored(&world), 0);
}

#[test]
fn a_shorter_life_waits_for_those_who_read_by_the_longer() {
    let mut world = World::new(None);
    world.insert(1, 1, 1, 0);
    let snapshot = world.engine.snapshot();
    world.live(50, false);
    world.clock.fetch_add(50, Ordering::Relaxed);
    let table = world.table();
    let storage = table.storage_name(rukh_catalog::FamilyId(0));
    world.store.compact(&storage).unwrap();
    assert!(snapshot.get(&table, &[Datum::Int(1)]).unwrap().is_some());
    drop(snapshot);
    world.store.compact(&storage).unwrap();
    let left = world
        .store
        .snapshot()
        .count(&storage, rukh_kv::ScanSpec::all())
        .unwrap()
        .0;
    assert_eq!(left, 0);
    world.bury();
    world.compare();
}

/// RocksDB asks what may be forgotten only in column families that were made, or opened, with that question.
#[test]
fn compact_removes_what_is_dead_of_a_lifetime_that_came_later() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), &RocksOptions::default()).unwrap();
    let mut world = World::on(Arc::new(store), None);
    (0..5).for_each(|k| world.insert(k, k, k, 0));
    world.live(50, false);
    let left = |world: &World| {
        world.engine.compact(None, &NoProgress).unwrap();
        let table = world.table();
        let indexes = table.indexes.iter().map(|index| index.storage_name());
        let parts = std::iter::once(table.storage_name(rukh_catalog::FamilyId(0))).chain(indexes);
        let snapshot = world.store.snapshot();
        let count = |part: String| snapshot.count(&part, rukh_kv::ScanSpec::all()).unwrap().0;
        parts.map(count).collect::<Vec<_>>()
    };
    world.clock.fetch_add(49, Ordering::Relaxed);
    assert_eq!(left(&world), [5, 5, 5]);
    world.upsert(1, 3);
    let reader = world.engine.snapshot();
    world.clock.fetch_add(1, Ordering::Relaxed);
    assert_eq!(left(&world), [5, 5, 5], "somebody reads as of before");
    drop(reader);
    assert_eq!(left(&world), [1, 1, 1]);
    world.bury();
    world.compare();
}
