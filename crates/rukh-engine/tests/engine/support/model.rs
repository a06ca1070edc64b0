//! Random histories and their model: a map from primary key to row.
//!
//! Tables, keys and indexes are drawn from lists that hold the nasty cases: text last and first in
//! a key, hashes, salt, NULLs in UNIQUE indexes, partial indexes whose expressions fail outside of
//! their predicate, a second family. After every statement the outcome, the table, every index in
//! its order, and the scrub must agree with the model.
//!
//! Some statements run in a transaction with savepoints, which must make no difference to what they
//! do, and whose end decides whether they happened. Several transactions at once are in `sessions`.

use super::toy::ToyFunctions;
use proptest::prelude::*;
use proptest::sample::{Index as Pick, subsequence};
use rukh_catalog::{ColumnId, Index, KeyExpr, Table};
use rukh_engine::{
    ColumnTest, Engine, EngineError, NoProgress, OnConflict, Row, RowFunctions, Savepoint, ScanRequest,
    Snapshot, Source, Transaction, Write,
};
use rukh_keys::{DataType, Datum, KeyLayout, hash_datum};
use rukh_kv::{Durability, KvStore};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

pub const COLUMNS: &str = "k INTEGER, s VARCHAR, a INTEGER NULL, b VARCHAR NULL, c BOOLEAN NULL, \
    d DECIMAL(10,2) NULL, f DOUBLE NULL, p VARBINARY NULL IN payload";

pub const KEYS: &[&str] = &[
    "k",
    "s",
    "k, s",
    "k, s DESC",
    "s, k",
    "s DESC",
    "HASH(s, 8), k",
    "k DESC, HASH(s, 16)",
    "COLUMNAR k, s",
    "COLUMNAR s DESC, k",
    "COLUMNAR HASH(s, 8), k",
];

/// Key (behind COLUMNAR, of a columnar index), included columns, predicate, UNIQUE.
pub type IndexText = (&'static str, &'static str, Option<&'static str>, bool);

pub const INDEXES: &[IndexText] = &[
    ("a", "", None, false),
    ("a DESC, b", "d", None, false),
    ("b", "a, c", None, false),
    ("HASH(b, 8)", "b", None, false),
    ("c, f DESC, d", "", None, false),
    ("s", "", None, false),
    ("s DESC, k DESC", "f", None, false),
    ("double(a), b", "", None, false),
    ("lower(b)", "b", Some("a > 1"), false),
    ("inverse(a)", "a", Some("a > 0"), false),
    ("a", "", None, true),
    ("a, b", "c", None, true),
    ("b DESC", "", None, true),
    ("s, a", "b, d", None, true),
    ("lower(b)", "", None, true),
    ("a", "b", Some("b IS NOT NULL"), true),
    ("c, k", "", None, true),
    ("COLUMNAR k, s", "a, b, c, d, f", None, false),
    ("COLUMNAR a DESC, b", "d, f", None, false),
    ("COLUMNAR c, HASH(b, 8), d DESC", "", None, false),
    ("ALIKE a, b DESC", "", None, true),
    ("ALIKE s", "c", Some("a > 0"), true),
];

#[derive(Clone, Debug)]
pub enum Op {
    Insert(Vec<Row>, bool),
    Upsert(Vec<Row>, Vec<usize>),
    Update(Vec<(Pick, Row)>),
    Delete(Vec<Pick>),
    Truncate,
    Reopen,
    CreateIndex(Pick),
    DropIndex(Pick),
    Repack,
    /// Has the number of rows be kept.
    CountRows,
    Hold,
    Begin,
    Commit,
    Rollback,
    Savepoint,
    RollbackTo(Pick),
}

fn text() -> impl Strategy<Value = Datum> {
    prop_oneof![
        Just(""),
        Just("a"),
        Just("A"),
        Just("b"),
        Just("a\0"),
        Just("\0"),
        Just("ab")
    ]
    .prop_map(|text| Datum::Text(text.into()))
}

fn nullable(strategy: impl Strategy<Value = Datum>) -> impl Strategy<Value = Datum> {
    prop_oneof![1 => Just(Datum::Null), 4 => strategy]
}

pub fn row() -> impl Strategy<Value = Row> {
    let float = prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), Just(1.5), Just(-1.5)];
    (
        (-1_i64..4).prop_map(Datum::Int),
        text(),
        nullable((-1_i64..4).prop_map(Datum::Int)),
        nullable(text()),
        nullable(any::<bool>().prop_map(Datum::Boolean)),
        nullable((-150_i128..150).prop_map(Datum::Decimal)),
        nullable(float.prop_map(|value| DataType::Double.check(Datum::Float(value)).unwrap())),
        nullable(prop::collection::vec(any::<u8>(), 0..3).prop_map(Datum::Bytes)),
    )
        .prop_map(|(k, s, a, b, c, d, f, p)| vec![k, s, a, b, c, d, f, p])
}

pub fn op() -> impl Strategy<Value = Op> {
    let rows = || prop::collection::vec(row(), 1..5);
    let named = subsequence((2..8).collect::<Vec<usize>>(), 0..=6);
    let all = (2..8).collect::<Vec<usize>>();
    let pick = any::<Pick>;
    prop_oneof![
        6 => (rows(), any::<bool>()).prop_map(|(rows, ignore)| Op::Insert(rows, ignore)),
        4 => (rows(), prop_oneof![Just(all), named]).prop_map(|(rows, named)| Op::Upsert(rows, named)),
        4 => prop::collection::vec((pick(), row()), 1..4).prop_map(Op::Update),
        3 => prop::collection::vec(pick(), 1..4).prop_map(Op::Delete),
        1 => Just(Op::Truncate),
        1 => Just(Op::Reopen),
        2 => pick().prop_map(Op::CreateIndex),
        1 => pick().prop_map(Op::DropIndex),
        3 => Just(Op::Repack),
        1 => Just(Op::Hold),
        2 => Just(Op::CountRows),
        3 => Just(Op::Begin),
        2 => Just(Op::Commit),
        1 => Just(Op::Rollback),
        2 => Just(Op::Savepoint),
        2 => pick().prop_map(Op::RollbackTo),
    ]
}

/// What must happen to a statement.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    Done(u64),
    Violation,
}

/// A statement that changes rows, with the stored rows it picked.
#[derive(Clone, Debug)]
pub enum Statement {
    Insert(Vec<Row>, bool),
    Upsert(Vec<Row>, Vec<usize>),
    Update(Vec<(Row, Row)>),
    Delete(Vec<Row>),
}

impl Statement {
    /// Picks the rows of an operation; `None` for those that are no such statement.
    pub fn of(op: Op, model: &Model) -> Option<Statement> {
        Some(match op {
            Op::Insert(rows, ignore) => Statement::Insert(rows, ignore),
            Op::Upsert(rows, named) => Statement::Upsert(rows, named),
            Op::Update(changes) => {
                let old = model.pick(changes.iter().map(|(pick, _)| *pick));
                let new = changes.into_iter().map(|(_, row)| row);
                Statement::Update(old.into_iter().zip(new).collect())
            }
            Op::Delete(picks) => Statement::Delete(model.pick(picks.into_iter())),
            _ => return None,
        })
    }

    fn give(&self, write: &mut Write, table: &Arc<Table>) -> Result<u64, EngineError> {
        match self.clone() {
            Statement::Insert(rows, true) => write.insert(table, rows, OnConflict::Ignore),
            Statement::Insert(rows, false) => write.insert(table, rows, OnConflict::Error),
            Statement::Upsert(rows, named) => {
                let named = [0, 1].into_iter().chain(named);
                let ids: Vec<_> = named.map(|at| ColumnId(at as u32)).collect();
                write.upsert(table, &ids, rows)
            }
            Statement::Update(changes) => write.update(table, changes),
            Statement::Delete(rows) => write.delete(table, rows),
        }
    }

    /// Runs the statement in database and model; both must take it, or both refuse it.
    /// Returns whether they took it.
    pub fn run(&self, mut write: Write, table: &Arc<Table>, model: &mut Model) -> bool {
        let mut next = model.clone();
        let expected = match self.expect(&mut next, table) {
            Outcome::Done(_) if !next.is_consistent(table) => Outcome::Violation,
            outcome => outcome,
        };
        let outcome = self.give(&mut write, table).and_then(|count| {
            write.commit(Durability::Buffered)?;
            Ok(count)
        });
        match outcome {
            Ok(count) => assert_eq!(Outcome::Done(count), expected),
            Err(EngineError::UniqueViolation { .. }) => assert_eq!(Outcome::Violation, expected),
            Err(error) => panic!("{error}"),
        }
        let taken = expected != Outcome::Violation;
        if taken {
            *model = next;
        }
        taken
    }

    fn expect(&self, model: &mut Model, table: &Table) -> Outcome {
        match self {
            Statement::Insert(rows, ignore) => model.insert(table, rows, *ignore),
            Statement::Upsert(rows, named) => model.upsert(table, rows, named),
            Statement::Update(changes) => model.update(table, changes),
            Statement::Delete(rows) => {
                rows.iter()
                    .for_each(|row| drop(model.rows.remove(&Model::key(table, row))));
                Outcome::Done(rows.len() as u64)
            }
        }
    }
}

/// The rows that there should be, under the datums of their primary keys.
#[derive(Clone, Default)]
pub struct Model {
    pub rows: BTreeMap<Vec<Datum>, Row>,
}

/// The datums of key elements, one list a row; expressions only where the predicate is true.
fn element_datums(table: &Table, elements: &[rukh_catalog::KeyElement], row: &Row) -> Vec<Datum> {
    let datum = |id: &ColumnId| &row[table.position(*id).unwrap()];
    let element = |element: &rukh_catalog::KeyElement| match &element.expr {
        KeyExpr::Column(id) => datum(id).clone(),
        KeyExpr::Hash { column, bytes } => hash_datum(datum(column), *bytes),
        KeyExpr::Expression { sql, ty, .. } => evaluate(table, sql, ty, row),
    };
    elements.iter().map(element).collect()
}

fn evaluate(table: &Table, sql: &str, ty: &DataType, row: &Row) -> Datum {
    let function = ToyFunctions.compile(table, sql, ty).unwrap();
    function.evaluate(&[row]).unwrap().remove(0)
}

fn has_entry(table: &Table, index: &Index, row: &Row) -> bool {
    let predicate = index.predicate.as_ref();
    predicate.is_none_or(|p| evaluate(table, &p.sql, &DataType::Boolean, row) == Datum::Boolean(true))
}

impl Model {
    pub fn key(table: &Table, row: &Row) -> Vec<Datum> {
        element_datums(table, &table.primary_key, row)
    }

    /// The UNIQUE values of a row that no other row may have.
    pub fn unique_values(table: &Table, row: &Row) -> Vec<(String, Vec<Datum>)> {
        let unique = table
            .indexes
            .iter()
            .filter(|index| index.unique && has_entry(table, index, row));
        let values = unique.map(|index| (index, element_datums(table, &index.elements, row)));
        values
            .filter(|(index, datums)| !index.nulls_distinct || !datums.iter().any(Datum::is_null))
            .map(|(index, datums)| (index.name.clone(), datums))
            .collect()
    }

    fn is_consistent(&self, table: &Table) -> bool {
        let mut seen = BTreeSet::new();
        let mut values = self
            .rows
            .values()
            .flat_map(|row| Model::unique_values(table, row));
        values.all(|value| seen.insert(value))
    }

    fn insert(&mut self, table: &Table, rows: &[Row], ignore: bool) -> Outcome {
        let mut count = 0;
        for row in rows {
            let taken = self.rows.contains_key(&Model::key(table, row));
            let mut next = self.clone();
            next.rows.insert(Model::key(table, row), row.clone());
            match (ignore, taken) {
                (false, true) => return Outcome::Violation,
                (true, true) => continue,
                (true, false) if !next.is_consistent(table) => continue,
                _ => {}
            }
            *self = next;
            count += 1;
        }
        Outcome::Done(count)
    }

    fn upsert(&mut self, table: &Table, rows: &[Row], named: &[usize]) -> Outcome {
        for row in rows {
            let mut row = row.clone();
            if let Some(before) = self.rows.get(&Model::key(table, &row)) {
                (2..row.len())
                    .filter(|at| !named.contains(at))
                    .for_each(|at| row[at] = before[at].clone());
            }
            self.rows.insert(Model::key(table, &row), row);
        }
        Outcome::Done(rows.len() as u64)
    }

    fn update(&mut self, table: &Table, changes: &[(Row, Row)]) -> Outcome {
        for (old, _) in changes {
            self.rows.remove(&Model::key(table, old));
        }
        for (_, new) in changes {
            if self.rows.insert(Model::key(table, new), new.clone()).is_some() {
                return Outcome::Violation;
            }
        }
        Outcome::Done(changes.len() as u64)
    }

    /// Picks different rows.
    fn pick(&self, picks: impl Iterator<Item = Pick>) -> Vec<Row> {
        let mut chosen = BTreeMap::new();
        if !self.rows.is_empty() {
            for pick in picks {
                let (key, row) = self.rows.iter().nth(pick.index(self.rows.len())).unwrap();
                chosen.insert(key, row.clone());
            }
        }
        chosen.into_values().collect()
    }

    /// The rows in the order of a layout over elements of theirs.
    fn sorted<'a>(
        rows: impl Iterator<Item = &'a Row>,
        table: &Table,
        layout: &KeyLayout,
        elements: &[rukh_catalog::KeyElement],
    ) -> Vec<Row> {
        let mut rows: Vec<_> = rows
            .map(|row| (element_datums(table, elements, row), row))
            .collect();
        rows.sort_by(|(a, _), (b, _)| layout.compare(a, b));
        rows.into_iter().map(|(_, row)| row.clone()).collect()
    }
}

struct World {
    store: Arc<dyn KvStore>,
    engine: Engine,
    /// What is committed.
    model: Model,
    transaction: Option<Open>,
    /// Snapshots of former moments, with what they should show.
    held: Vec<(Snapshot, Model)>,
}

/// A transaction with what it should see, and its savepoints with what they should bring back.
struct Open {
    transaction: Transaction,
    model: Model,
    savepoints: Vec<(Savepoint, Model)>,
}

impl World {
    fn table(&self) -> Arc<Table> {
        super::table(&self.engine, "t")
    }

    fn commit(&mut self) {
        if let Some(open) = self.transaction.take() {
            open.transaction.commit(Durability::Buffered).unwrap();
            self.model = open.model;
        }
    }

    fn statement(&mut self, op: Op) {
        let table = self.table();
        let (write, model) = match &mut self.transaction {
            Some(open) => (open.transaction.write().unwrap(), &mut open.model),
            None => (self.engine.begin().unwrap(), &mut self.model),
        };
        if let Some(statement) = Statement::of(op, model) {
            statement.run(write, &table, model);
        }
    }

    fn apply(&mut self, op: Op) {
        // Definitions change outside of transactions.
        if matches!(
            op,
            Op::Truncate | Op::Reopen | Op::CreateIndex(_) | Op::DropIndex(_)
        ) {
            self.commit();
        }
        match op {
            Op::Insert(..) | Op::Upsert(..) | Op::Update(_) | Op::Delete(_) => self.statement(op),
            Op::Begin => {
                self.commit();
                self.transaction = Some(Open {
                    transaction: self.engine.transaction(),
                    model: self.model.clone(),
                    savepoints: Vec::new(),
                });
            }
            Op::Commit => self.commit(),
            Op::Rollback => self.transaction = None,
            Op::Savepoint => {
                if let Some(open) = &mut self.transaction {
                    let savepoint = open.transaction.savepoint();
                    open.savepoints.push((savepoint, open.model.clone()));
                }
            }
            Op::RollbackTo(pick) => {
                if let Some(open) = &mut self.transaction
                    && !open.savepoints.is_empty()
                {
                    open.savepoints.truncate(pick.index(open.savepoints.len()) + 1);
                    let (savepoint, model) = &open.savepoints[open.savepoints.len() - 1];
                    open.transaction.roll_back_to(savepoint);
                    open.model = model.clone();
                }
            }
            Op::Truncate => {
                self.engine.truncate(self.table().id).unwrap();
                self.model.rows.clear();
            }
            Op::Reopen => {
                self.held.clear();
                self.engine = super::open(self.store.clone());
            }
            Op::CountRows => count_rows(&self.engine, &self.table()),
            Op::Hold => self.held.push((self.engine.snapshot(), self.model.clone())),
            Op::CreateIndex(pick) => {
                let pick = pick.index(INDEXES.len());
                if INDEXES[pick].0.starts_with("COLUMNAR") && self.store.local().is_none() {
                    return;
                }
                let created = create_index(&self.engine, pick);
                let refused = matches!(created, Err(EngineError::UniqueViolation { .. }));
                assert!(created.is_ok() || refused, "{created:?}");
            }
            Op::Repack => {
                let table = self.table();
                if table.is_columnar() {
                    self.engine
                        .repack_index(Engine::layout_id(&table), &NoProgress)
                        .unwrap();
                }
                for index in self.table().indexes.iter().filter(|index| index.is_columnar()) {
                    self.engine.repack_index(index.id, &NoProgress).unwrap();
                }
            }
            Op::DropIndex(pick) => {
                let table = self.table();
                if !table.indexes.is_empty() {
                    let index = &table.indexes[pick.index(table.indexes.len())];
                    self.engine.drop_index(index.id).unwrap();
                }
            }
        }
    }

    /// Compares what is committed, and what the transaction sees, with their models.
    fn check(&self) {
        check(&self.engine, &self.engine.snapshot(), &self.model);
        for (snapshot, model) in &self.held {
            let table = snapshot.catalog.table_named("public", "t").unwrap();
            check_rows(snapshot, table, model);
        }
        if let Some(open) = &self.transaction {
            check(&self.engine, &open.transaction.snapshot(), &open.model);
        }
    }
}

/// Compares table, indexes and scrub with the model.
pub fn check(engine: &Engine, snapshot: &Snapshot, model: &Model) {
    let table = super::table(engine, "t");
    check_rows(snapshot, &table, model);
    let report = engine.check_table_at(snapshot, table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.rows, model.rows.len() as u64);
}

/// Counts the rows of a table, whose number is kept from then on.
pub fn count_rows(engine: &Engine, table: &Arc<Table>) {
    let snapshot = engine.snapshot();
    if let Some(count) = engine.begin_row_count(&snapshot, table).unwrap() {
        let rows = super::read(&snapshot, ScanRequest::all(table.clone(), Vec::new())).len();
        count.finish(rows as u64);
    }
    let kept = engine.snapshot().kept_rows(table).unwrap();
    assert!(kept.is_some() || !engine.can_count_rows(&snapshot, table));
}

/// Compares table and indexes with the model.
fn check_rows(snapshot: &Snapshot, table: &Arc<Table>, model: &Model) {
    let mut rows = super::read(snapshot, ScanRequest::all(table.clone(), Vec::new()));
    let layout = table.key_layout();
    if table.salt.is_some() {
        rows.sort_by(|a, b| layout.compare(&Model::key(table, a), &Model::key(table, b)));
    }
    let kept = snapshot.kept_rows(table).unwrap();
    assert!(kept.is_none_or(|kept| kept == rows.len() as u64), "{kept:?}");
    let stored = model.rows.values();
    let mut expected = Model::sorted(stored.clone(), table, &layout, &table.primary_key);
    assert_eq!(rows, expected);
    for (key, row) in &model.rows {
        assert_eq!(snapshot.get(table, key).unwrap().as_ref(), Some(row));
    }
    if table.is_columnar() {
        check_columns(snapshot, table, &expected);
    }
    if table.salt.is_none() {
        let mut request = ScanRequest::all(table.clone(), Vec::new());
        request.reverse = true;
        expected.reverse();
        assert_eq!(super::read(snapshot, request), expected);
    }
    for index in &table.indexes {
        let (layout, elements) = (index.key_layout(table), index.key_elements(table));
        let with_entry = stored.clone().filter(|row| has_entry(table, index, row));
        let mut expected = Model::sorted(with_entry, table, &layout, &elements);
        for reverse in [false, true] {
            let mut request = ScanRequest::all(table.clone(), Vec::new());
            (request.source, request.reverse) = (Source::Index(index.id), reverse);
            assert_eq!(super::read(snapshot, request), expected, "{index:?}");
            expected.reverse();
        }
    }
}

/// Compares what a columnar table gives by columns, and its count, with the rows that there should be.
fn check_columns(snapshot: &Snapshot, table: &Arc<Table>, expected: &[Row]) {
    let columns: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let mut request = ScanRequest::all(table.clone(), columns);
    // A test that all rows pass has them read by blocks.
    request.tests = vec![ColumnTest {
        column: ColumnId(0),
        ranges: vec![(Bound::Unbounded, Bound::Unbounded)],
        null: true,
    }];
    let mut rows = super::read(snapshot, request);
    if table.salt.is_some() {
        let layout = table.key_layout();
        rows.sort_by(|a, b| layout.compare(&Model::key(table, a), &Model::key(table, b)));
    }
    assert_eq!(rows, expected);
    let all = ScanRequest::all(table.clone(), Vec::new());
    let counted = snapshot
        .count(table, Source::Table, all.ranges, all.masked)
        .unwrap();
    assert_eq!(counted.0, expected.len() as u64);
}

fn create_index(engine: &Engine, pick: usize) -> Result<(), EngineError> {
    let (key, include, predicate, unique) = INDEXES[pick];
    let table = super::table(engine, "t");
    let name = format!("i{pick}");
    if table.index_named(&name).is_some() {
        return Ok(());
    }
    let draft = super::index_draft(&table, &name, key, include, predicate, unique);
    engine.create_index(table.id, draft, &NoProgress).map(drop)
}

/// Creates the table with some of the indexes.
pub fn create(engine: &Engine, key: &str, salt: Option<u16>, indexes: &[usize]) {
    engine
        .create_table(super::table_draft("t", COLUMNS, key, salt))
        .unwrap();
    for index in indexes {
        create_index(engine, *index).unwrap();
    }
}

/// Runs a history, comparing with the model after every statement.
pub fn run(key: &str, salt: Option<u16>, indexes: &[usize], ops: Vec<Op>, store: Arc<dyn KvStore>) {
    let engine = super::open(store.clone());
    create(&engine, key, salt, indexes);
    let mut world = World {
        store,
        engine,
        model: Model::default(),
        transaction: None,
        held: Vec::new(),
    };
    for op in ops {
        world.apply(op);
        world.check();
    }
}
