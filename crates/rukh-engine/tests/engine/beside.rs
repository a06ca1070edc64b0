//! Changes beside blocks are shown as they are in each snapshot, whether they were cached, read again, or are a transaction's own.

use crate::support;
use rukh_catalog::{ColumnId, Lifetime, SaltOptions, Table};
use rukh_engine::{ColumnTest, Engine, NoProgress, Row, ScanRequest, Snapshot, Source};
use rukh_keys::{Datum, KeyRange};
use rukh_kv::Durability;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Keys are below.
const KEYS: u64 = 400;

/// Microseconds that rows of a table of mortals live.
const LIFE: i64 = 30;

/// Rows by key, and when they were written.
type Rows = BTreeMap<i64, (Row, i64)>;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn key(&mut self) -> i64 {
        self.below(KEYS) as i64
    }
}

/// What is scanned: a columnar table, salted or with rows that die or neither, or a columnar index of a table in rows, whose entries move.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Table,
    Mortal,
    Salted,
    Index,
}

fn create(kind: Kind, kept_bytes: usize) -> Engine {
    let engine = support::engine();
    engine.set_block_rows(24);
    engine.set_repack_rows(1000);
    engine.set_open_blocks_bytes(kept_bytes);
    let columns = "k INTEGER, a INTEGER NULL, t VARCHAR NULL, w DECIMAL(30,2) NULL, f BOOLEAN";
    let key = if kind == Kind::Index { "k" } else { "COLUMNAR k" };
    let mut draft = support::table_draft("t", columns, key, None);
    if kind == Kind::Salted {
        draft.salt = Some(SaltOptions {
            buckets: 3,
            columns: None,
        });
    }
    if kind == Kind::Mortal {
        draft.options.lifetime = Some(Lifetime {
            ttl_micros: LIFE,
            from: None,
            since_micros: 0,
        });
        draft.options.timed = true;
    }
    let table = engine.create_table(draft).unwrap();
    if kind == Kind::Index {
        support::create_index(&engine, &table, "c", "COLUMNAR f, a DESC, k", "t, w", false);
    }
    engine
}

fn source(table: &Table) -> Source {
    match table.index_named("c") {
        Some(index) => Source::Index(index.id),
        None => Source::Table,
    }
}

fn repack(engine: &Engine) {
    let table = support::table(engine, "t");
    let id = match table.index_named("c") {
        Some(index) => index.id,
        None => Engine::layout_id(&table),
    };
    engine.repack_index(id, &NoProgress).unwrap();
}

fn row(table: &Table, key: i64, version: i64) -> Row {
    let mut text = match (key + version) % 7 {
        0 => format!("{key}, NULL, NULL, NULL, false"),
        1 => format!("{key}, {}, 'short', {version}, true", version % 5),
        _ => format!(
            "{key}, {}, 'text {} of {key}', {}000000000000000007, {}",
            (key * version) % 11,
            version % 3,
            key % 5,
            key % 2 == 0
        ),
    };
    for column in 5..table.columns.len() {
        text += &format!(", {}", (key + version + column as i64) % 4);
    }
    support::row(table, &text)
}

/// A question: tests by column, columns, and of tables a range of keys.
#[derive(Debug)]
struct Question {
    tests: Vec<(usize, Bound<Datum>, Bound<Datum>, bool)>,
    columns: Vec<usize>,
    keys: Option<(i64, i64)>,
    reverse: bool,
    rows: usize,
}

fn question(random: &mut Random, columns: usize, kind: Kind) -> Question {
    let mut tests = Vec::new();
    for _ in 0..random.below(3) {
        let point = |datum: Datum| (Bound::Included(datum.clone()), Bound::Included(datum));
        let null = random.below(2) == 0;
        let (column, (low, high)) = match random.below(5) {
            0 => (1, point(Datum::Int(random.below(11) as i64))),
            1 => (
                2,
                (Bound::Excluded(Datum::Text("short".into())), Bound::Unbounded),
            ),
            2 => (3, (Bound::Unbounded, Bound::Included(Datum::Decimal(300)))),
            3 => (4, point(Datum::Boolean(null))),
            _ => (0, (Bound::Included(Datum::Int(random.key())), Bound::Unbounded)),
        };
        tests.push((column, low, high, null));
    }
    // Each column once; those of the key now and then.
    let mut shown: BTreeSet<usize> = (0..random.below(4))
        .map(|_| random.below(columns as u64) as usize)
        .collect();
    if random.below(3) > 0 {
        shown.insert(0);
    }
    let (one, other) = (random.key(), random.key());
    Question {
        tests,
        columns: shown.into_iter().collect(),
        keys: (matches!(kind, Kind::Table | Kind::Mortal) && random.below(3) == 0)
            .then_some((one.min(other), one.max(other))),
        reverse: random.below(3) == 0,
        rows: [1, 5, 64, 10_000][random.below(4) as usize],
    }
}

/// The values of the requested columns, row by row; or as many empty rows as there are.
fn ask(snapshot: &Snapshot, table: &Arc<Table>, question: &Question) -> Vec<Row> {
    let id = |at: &usize| table.columns[*at].id;
    let columns: Vec<ColumnId> = question.columns.iter().map(id).collect();
    let mut request = ScanRequest::all(table.clone(), columns);
    request.source = source(table);
    request.reverse = question.reverse;
    let test = |(column, low, high, null): &(usize, Bound<Datum>, Bound<Datum>, bool)| ColumnTest {
        column: id(column),
        ranges: vec![(low.clone(), high.clone())],
        null: *null,
    };
    request.tests = question.tests.iter().map(test).collect();
    if let Some((start, end)) = question.keys {
        let key = |key: i64| table.key_layout().encode(&[Datum::Int(key)]).unwrap();
        request.ranges = vec![KeyRange {
            start: key(start),
            limit: Some(key(end)),
        }];
    }
    let mut cursor = snapshot.scan_columnar(request).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next_batch(question.rows).unwrap() {
        for row in 0..batch.rows {
            let datums = batch.columns.iter().map(|column| datum(column, row));
            rows.push(datums.collect());
        }
    }
    rows
}

fn datum(column: &rukh_engine::ColumnVector, row: usize) -> Datum {
    use rukh_engine::Values;
    use rukh_keys::DataType;
    if column.nulls().is_some_and(|nulls| nulls[row]) {
        return Datum::Null;
    }
    match (column.values(), column.data_type()) {
        (Values::Int(values), DataType::Boolean) => Datum::Boolean(values[row] != 0),
        (Values::Int(values), _) => Datum::Int(values[row]),
        (Values::Wide(values), _) => Datum::Decimal(values[row]),
        (Values::Bytes(strings), _) => Datum::Text(String::from_utf8(strings.get(row).to_vec()).unwrap()),
        (Values::Coded(coded), _) => Datum::Text(String::from_utf8(coded.get(row).to_vec()).unwrap()),
    }
}

/// What it should be, in the order of the key of a table; others are compared without order.
fn expected(rows: &Rows, alive_since: i64, table: &Table, question: &Question) -> Vec<Row> {
    let passes = |(row, written): &&(Row, i64)| {
        if *written <= alive_since {
            return false;
        }
        let within = |key: i64| {
            question
                .keys
                .is_none_or(|(start, end)| (start..end).contains(&key))
        };
        let Datum::Int(key) = row[0] else {
            panic!("keys are integers")
        };
        within(key)
            && question
                .tests
                .iter()
                .all(|(column, low, high, null)| match &row[*column] {
                    Datum::Null => *null,
                    datum => (low.clone(), high.clone()).contains(datum),
                })
    };
    // Rows are older than columns that were added since.
    let value = |row: &Row, at: usize| row.get(at).cloned().unwrap_or(Datum::Int(9));
    assert!(question.columns.iter().all(|at| *at < table.columns.len()));
    let rows = rows.values().filter(passes);
    let shown = rows.map(|(row, _)| question.columns.iter().map(|at| value(row, *at)).collect());
    let mut shown: Vec<Row> = shown.collect();
    if question.reverse {
        shown.reverse();
    }
    shown
}

fn check(snapshot: &Snapshot, rows: &Rows, question: &Question, kind: Kind, when: &str) {
    let table = snapshot.catalog.table_named("public", "t").unwrap().clone();
    if question.columns.iter().any(|at| *at >= table.columns.len()) {
        return;
    }
    let alive_since = match kind {
        Kind::Mortal => snapshot.now() - LIFE,
        _ => i64::MIN,
    };
    let mut found = ask(snapshot, &table, question);
    let mut expected = expected(rows, alive_since, &table, question);
    if matches!(kind, Kind::Salted | Kind::Index) {
        found.sort();
        expected.sort();
    }
    assert_eq!(found, expected, "{when}: {kind:?} {question:?}");
}

fn write(mut write: rukh_engine::Write, rows: &mut Rows, changed: &[i64], is_gone: bool, version: i64) {
    let table = write
        .snapshot()
        .catalog
        .table_named("public", "t")
        .unwrap()
        .clone();
    let all: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
    if is_gone {
        let whole = |row: &Row| {
            let mut row = row.clone();
            row.resize(table.columns.len(), Datum::Int(9));
            row
        };
        let gone = changed.iter().filter_map(|key| rows.get(key));
        let gone = gone.map(|(row, _)| whole(row)).collect();
        write.delete(&table, gone).unwrap();
        changed.iter().for_each(|key| drop(rows.remove(key)));
    } else {
        let new: Vec<Row> = changed.iter().map(|key| row(&table, *key, version)).collect();
        let now = write.snapshot().now();
        let written = new.iter().map(|row| (row.clone(), now));
        rows.extend(changed.iter().copied().zip(written));
        write.upsert(&table, &all, new).unwrap();
    }
    write.commit(Durability::Buffered).unwrap();
}

fn add_column(engine: &Engine) {
    let table = support::table(engine, "t");
    let added = engine.alter_table(table.id, |_, before| {
        let mut column = before.columns[1].clone();
        column.name = format!("added{}", before.columns.len());
        column.values.missing = Some(Datum::Int(9));
        before.with_column(column).map_err(rukh_engine::EngineError::from)
    });
    added.unwrap();
}

fn model(kind: Kind, kept_bytes: usize, seed: u64) {
    let mut random = Random(seed);
    let engine = create(kind, kept_bytes);
    let time = Arc::new(AtomicI64::new(1000));
    let clock = time.clone();
    engine.set_time_source(Arc::new(move || clock.load(Ordering::Relaxed)));
    let mut rows = Rows::new();
    let mut seen: Vec<(Snapshot, Rows)> = Vec::new();
    for version in 0..45_i64 {
        time.fetch_add(random.below(8) as i64, Ordering::Relaxed);
        let start = random.key();
        let changed: BTreeSet<i64> = match random.below(6) {
            0 => (start..start + 120).filter(|key| *key < KEYS as i64).collect(),
            1 => BTreeSet::new(),
            _ => (0..random.below(20)).map(|_| random.key()).collect(),
        };
        let changed: Vec<i64> = changed.into_iter().collect();
        let is_gone = random.below(4) == 0;
        if !changed.is_empty() {
            write(engine.begin().unwrap(), &mut rows, &changed, is_gone, version);
        }
        match random.below(12) {
            0..4 => repack(&engine),
            4 if kind != Kind::Index => add_column(&engine),
            _ => {}
        }
        if seen.len() == 3 {
            seen.remove(random.below(3) as usize);
        }
        seen.push((engine.snapshot(), rows.clone()));
        let transaction = engine.transaction();
        let mut own = rows.clone();
        for _ in 0..5 {
            let columns = support::table(&engine, "t").columns.len();
            let question = question(&mut random, columns, kind);
            let times = 1 + random.below(3);
            for nth_time in 0..times {
                for (nth, (snapshot, rows)) in seen.iter().enumerate() {
                    check(
                        snapshot,
                        rows,
                        &question,
                        kind,
                        &format!("{version}, {nth}, {nth_time}"),
                    );
                }
                check(&engine.snapshot(), &rows, &question, kind, "now");
                check(&transaction.snapshot(), &own, &question, kind, "in a transaction");
            }
            let changed: BTreeSet<i64> = (0..random.below(3)).map(|_| random.key()).collect();
            let changed: Vec<i64> = changed.into_iter().collect();
            if !changed.is_empty() {
                let is_gone = random.below(3) == 0;
                write(
                    transaction.write().unwrap(),
                    &mut own,
                    &changed,
                    is_gone,
                    version + 1000,
                );
            }
        }
        if random.below(3) == 0 {
            transaction.commit(Durability::Buffered).unwrap();
            rows = own;
            check(
                &engine.snapshot(),
                &rows,
                &question(&mut random, 5, kind),
                kind,
                "committed",
            );
        }
    }
    let table = support::table(&engine, "t");
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn kept_changes_change_no_scan_of_a_table() {
    for kept_bytes in [0, 20_000, 64 << 20] {
        model(Kind::Table, kept_bytes, 0x5eed);
        model(Kind::Table, kept_bytes, 7);
    }
}

#[test]
fn kept_changes_change_no_scan_of_rows_that_die() {
    for kept_bytes in [20_000, 64 << 20] {
        model(Kind::Mortal, kept_bytes, 0xdead);
    }
}

#[test]
fn kept_changes_change_no_scan_of_a_salted_table() {
    for kept_bytes in [20_000, 64 << 20] {
        model(Kind::Salted, kept_bytes, 0x5a17);
    }
}

#[test]
fn kept_changes_change_no_scan_of_an_index() {
    for kept_bytes in [20_000, 64 << 20] {
        model(Kind::Index, kept_bytes, 0x1dea);
    }
}
