//! Totals by heads of blocks in place of rows: with those of the rows given out they are the totals of all rows.

use crate::support;
use rukh_catalog::{ColumnId, Lifetime, Table};
use rukh_engine::{
    ColumnTest, ColumnVector, Engine, EngineError, NoProgress, Row, ScanRequest, Snapshot, TotalWanted,
    Values,
};
use rukh_keys::{Datum, KeyRange};
use rukh_kv::{Durability, KvStore, MemoryStore, ScanSpec, WriteBatch};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const COLUMNS: &str =
    "k INTEGER, a INTEGER NULL, b VARCHAR NULL, d DECIMAL(30,2) NULL, f DOUBLE NULL, t TIME NULL";

/// A table whose block `n / 8` has some of its columns all NULL, others without any, long texts and short ones.
fn table(rows: i64) -> (Engine, Arc<Table>) {
    let engine = support::engine();
    engine.set_block_rows(8);
    engine.set_repack_rows(100_000);
    let table = support::create_table(&engine, "t", COLUMNS, "COLUMNAR k");
    let mut load = engine.load(table.id).unwrap();
    load.add((0..rows).map(|key| row(&table, key, 0)).collect())
        .unwrap();
    load.finish().unwrap();
    (engine, table)
}

fn row(table: &Table, key: i64, version: i64) -> Vec<Datum> {
    let seen = key * 37 % 101 + version;
    let null_if = |is_null: bool, text: String| if is_null { "NULL".to_string() } else { text };
    let a = null_if(key / 8 % 3 == 0 || key % 5 == 4, (seen - 50).to_string());
    let long = if key / 8 % 2 == 0 { 33 } else { 3 };
    let b = null_if(seen % 7 == 0, format!("'{}{seen}'", "x".repeat(long)));
    let d = null_if(key / 8 % 4 == 1, ((seen - 40) * 1_000_000_000_007).to_string());
    let f = null_if(
        false,
        match key % 13 {
            0 => "'NaN'".to_string(),
            1 => "-0.0".to_string(),
            _ => format!("{}.5", seen - 60),
        },
    );
    let t = null_if(key % 2 == 0, format!("'12:00:{:02}'", key.rem_euclid(60)));
    support::row(table, &format!("{key}, {a}, {b}, {d}, {f}, {t}"))
}

/// What a vector has, as ordered bytes; `None` for NULL.
fn values(vector: &ColumnVector, rows: usize) -> Vec<Option<Vec<u8>>> {
    let value = |row: usize| {
        let is_null = vector.nulls().is_some_and(|nulls| nulls[row]);
        let value = match vector.values() {
            Values::Int(values) => (values[row] ^ i64::MIN).to_be_bytes().to_vec(),
            Values::Wide(values) => (values[row] ^ i128::MIN).to_be_bytes().to_vec(),
            Values::Bytes(strings) => strings.get(row).to_vec(),
            Values::Coded(coded) => coded.get(row).to_vec(),
        };
        (!is_null).then_some(value)
    };
    (0..rows).map(value).collect()
}

/// Rows, and by column rows that are not NULL, the smallest and the greatest value; and how many blocks were answered by their heads.
type Found = (u64, Vec<(u64, Option<Vec<u8>>, Option<Vec<u8>>)>);

/// A scan of these columns between two keys.
struct Question<'a> {
    table: &'a Arc<Table>,
    columns: &'a [ColumnId],
    keys: (i64, i64),
    reverse: bool,
    test: Option<ColumnTest>,
}

impl Question<'_> {
    fn request(&self) -> ScanRequest {
        let layout = self.table.key_layout();
        let encoded = |key: i64| layout.encode(&[Datum::Int(key)]).unwrap();
        let (low, high) = self.keys;
        let mut request = ScanRequest::all(self.table.clone(), self.columns.to_vec());
        request.reverse = self.reverse;
        request.ranges = vec![KeyRange {
            start: encoded(low),
            limit: Some(encoded(high)),
        }];
        request.tests = self.test.clone().into_iter().collect();
        request
    }

    /// The totals of all rows, by heads where they can be if `by_heads`; and how many blocks were answered by them.
    fn totals(&self, snapshot: &Snapshot, by_heads: bool) -> Result<(Found, u64), EngineError> {
        let mut cursor = snapshot.scan_columnar(self.request())?;
        let width = self.columns.len();
        if by_heads {
            let wanted = |column| TotalWanted {
                column,
                least: true,
                greatest: true,
            };
            cursor.total((0..width).map(wanted).collect());
        } else {
            cursor.code(&(0..width).collect::<Vec<_>>());
        }
        let mut found = (0, vec![(0, None, None); width]);
        let mut add = |rows: u64, filled: Option<&[u64]>, columns: &[ColumnVector], count: usize| {
            found.0 += rows;
            for (at, (column, (sum, least, greatest))) in columns.iter().zip(&mut found.1).enumerate() {
                let values: Vec<Vec<u8>> = values(column, count).into_iter().flatten().collect();
                *sum += filled.map_or(values.len() as u64, |filled| filled[at]);
                for value in values {
                    if least.as_ref().is_none_or(|least| value < *least) {
                        *least = Some(value.clone());
                    }
                    *greatest = greatest.take().max(Some(value));
                }
            }
        };
        while let Some(batch) = cursor.next_batch(5)? {
            add(batch.rows as u64, None, &batch.columns, batch.rows);
        }
        let ends = cursor.totals()?;
        assert_eq!(ends.is_some(), by_heads);
        if let Some(ends) = ends {
            assert_eq!((ends.ends.rows, ends.ends.columns.len()), (2, width));
            add(ends.rows, Some(&ends.filled), &ends.ends.columns, 2);
        }
        Ok((found, cursor.counters().blocks_told))
    }
}

fn between(table: &Table, column: &str, low: i64, high: i64, null: bool) -> ColumnTest {
    ColumnTest {
        column: table.column_named(column).unwrap().id,
        ranges: vec![(
            Bound::Included(Datum::Int(low)),
            Bound::Included(Datum::Int(high)),
        )],
        null,
    }
}

#[test]
fn what_heads_tell_and_rows_are_all_rows() {
    let (engine, table) = table(400);
    let all: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
    let (mut from_heads, old) = (0, engine.snapshot());
    for version in 0..4 {
        match version {
            // Among the rows of some blocks, before the first and behind the last.
            1 => {
                let mut write = engine.begin().unwrap();
                let keys = [-5, -4, 17, 18, 100, 250, 900, 901];
                let rows = keys.map(|key| row(&table, key, 200)).to_vec();
                write.upsert(&table, &all, rows).unwrap();
                write.delete(&table, vec![row(&table, 300, 0)]).unwrap();
                write.commit(Durability::Buffered).unwrap();
            }
            2 => drop(
                engine
                    .repack_index(Engine::layout_id(&table), &NoProgress)
                    .unwrap(),
            ),
            3 => engine.truncate(table.id).unwrap(),
            _ => {}
        }
        let new = engine.snapshot();
        for columns in [&all[..], &all[1..2], &all[2..3], &all[3..], &[]] {
            for keys in [(-100, 1000), (0, 400), (16, 24), (10, 200), (64, 72), (500, 600)] {
                for (at, test) in [
                    None,
                    Some(between(&table, "k", 30, 310, false)),
                    Some(between(&table, "a", -20, 20, true)),
                ]
                .into_iter()
                .enumerate()
                {
                    let question = Question {
                        table: &table,
                        columns,
                        keys,
                        reverse: (at + version) % 2 == 1,
                        test,
                    };
                    for snapshot in [&old, &new] {
                        let (expected, none) = question.totals(snapshot, false).unwrap();
                        let (found, blocks) = question.totals(snapshot, true).unwrap();
                        assert_eq!(
                            found, expected,
                            "{version}: {columns:?} {keys:?} {:?}",
                            question.test
                        );
                        assert_eq!(none, 0);
                        from_heads += blocks;
                    }
                }
            }
        }
    }
    assert!(from_heads > 3000, "{from_heads}");
}

#[test]
fn heads_answer_wherever_they_can() {
    let (engine, table) = table(80);
    let id = |name: &str| table.column_named(name).unwrap().id;
    let from_heads = |columns: &[ColumnId], keys, test| {
        let question = Question {
            table: &table,
            columns,
            keys,
            reverse: false,
            test,
        };
        question.totals(&engine.snapshot(), true).unwrap().1
    };
    let blocks = engine
        .columnar_debt(Engine::layout_id(&table))
        .unwrap()
        .unwrap()
        .blocks;
    assert_eq!(blocks, 10);
    assert_eq!(from_heads(&[id("a"), id("d"), id("f")], (0, 80), None), 10);
    // Of long texts heads have the beginning only.
    assert_eq!(from_heads(&[id("b")], (0, 80), None), 5);
    // Blocks across the ends are read.
    assert_eq!(from_heads(&[id("a")], (4, 80), None), 9);
    assert_eq!(from_heads(&[id("a")], (4, 76), None), 8);
    assert_eq!(
        from_heads(&[], (8, 73), Some(between(&table, "k", 16, 71, false))),
        7
    );
    assert_eq!(
        from_heads(&[], (0, 80), Some(between(&table, "k", 17, 71, false))),
        6
    );
}

/// A columnar table with TTL of which some rows have died, some carry the time they live from, and blocks have all columns.
fn timed_table(from_column: bool) -> (Arc<dyn KvStore>, Engine, Arc<Table>) {
    let (store, clock): (Arc<dyn KvStore>, _) =
        (Arc::new(MemoryStore::new()), Arc::new(AtomicI64::new(1000)));
    let engine = support::open(store.clone());
    let time = clock.clone();
    engine.set_time_source(Arc::new(move || time.load(Ordering::Relaxed)));
    engine.set_block_rows(4);
    engine.set_repack_rows(100_000);
    // What was read before stays right; here storage is read each time.
    engine.set_open_blocks_bytes(0);
    let columns = "k INTEGER, a INTEGER NULL, since TIMESTAMP NULL, b VARCHAR NULL";
    let mut draft = support::table_draft("t", columns, "COLUMNAR k", None);
    draft.options.lifetime = Some(Lifetime {
        ttl_micros: 100,
        from: from_column.then_some(draft.columns[2].id),
        since_micros: 0,
    });
    draft.options.timed = true;
    let table = engine.create_table(draft).unwrap();
    let row = |key: i64| {
        let mut row = support::row(&table, &format!("{key}, {}, NULL, 'b{}'", key * 7 % 5, key % 3));
        row[2] = match key % 5 {
            0 => Datum::Null,
            _ => Datum::Timestamp(900 + key * 20),
        };
        row
    };
    for (now, keys) in [(1000, 0..4), (1050, 4..9), (1060, 9..14)] {
        clock.store(now, Ordering::Relaxed);
        let mut load = engine.load(table.id).unwrap();
        load.add(keys.map(row).collect()).unwrap();
        load.finish().unwrap();
    }
    clock.store(1120, Ordering::Relaxed);
    (store, engine, table)
}

/// Reads rows by their key, in either direction, and totals; what is found, or the error.
fn read_all_ways(engine: &Engine, table: &Arc<Table>) -> Vec<Result<Vec<Row>, EngineError>> {
    let snapshot = engine.snapshot();
    let mut ways = Vec::new();
    for reverse in [false, true] {
        let mut request = ScanRequest::all(table.clone(), table.columns.iter().map(|c| c.id).collect());
        request.reverse = reverse;
        let width = request.columns.len();
        ways.push(snapshot.scan(request).and_then(|mut cursor| {
            let mut rows = Vec::new();
            let mut sink = |view: &rukh_engine::RowView<'_>| {
                let datums = (0..width).map(|at| Ok(view.datum(at)?.into_owned()));
                rows.push(datums.collect::<Result<Row, EngineError>>()?);
                Ok(())
            };
            while cursor.next_rows(4, &mut sink)? > 0 {}
            Ok(rows)
        }));
    }
    let columns: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
    for by_heads in [false, true] {
        let question = Question {
            table,
            columns: &columns,
            keys: (-10, 100),
            reverse: false,
            test: None,
        };
        let found = question.totals(&snapshot, by_heads);
        ways.push(found.map(|(found, _)| vec![vec![Datum::Text(format!("{found:?}"))]]));
    }
    let points = (0..14).map(|key| snapshot.get(table, &[Datum::Int(key)]));
    let points: Result<Vec<Option<Row>>, _> = points.collect();
    ways.push(points.map(|rows| rows.into_iter().flatten().collect()));
    ways
}

#[test]
fn a_flipped_bit_of_a_block_with_times_is_an_error_that_names_it() {
    for from_column in [false, true] {
        let (store, engine, table) = timed_table(from_column);
        let expected: Vec<Vec<Row>> = read_all_ways(&engine, &table)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert!(
            !expected[0].is_empty() && expected[0].len() < 14,
            "{:?}",
            expected[0]
        );
        assert_eq!(expected[2], expected[3]);
        let blocks = table.blocks_name();
        let (mut pieces, snapshot) = (Vec::new(), store.snapshot());
        let mut cursor = snapshot.scan(&blocks, ScanSpec::all()).unwrap();
        while let Some(piece) = cursor.next().unwrap() {
            pieces.push((piece.key.to_vec(), piece.value.to_vec()));
        }
        let put = |key: &[u8], value: &[u8]| {
            let mut batch = WriteBatch::new();
            batch.put(&blocks, key, value);
            store.write(batch, Durability::Synced).unwrap();
        };
        let is_head = |key: &[u8]| key.starts_with(&[0, 0]);
        let heads = pieces.iter().filter(|(key, _)| is_head(key));
        let formats: Vec<u8> = heads.map(|(_, head)| head[0]).collect();
        assert!(
            formats.len() >= 3 && formats.iter().all(|format| [3, 5].contains(format)),
            "{formats:?}"
        );
        let mut unread = 0;
        for (key, value) in &pieces {
            // Of heads two bits of each byte, of columns one.
            let bits = if is_head(key) { 2 } else { 1 };
            for (at, bit) in
                (0..value.len()).flat_map(|at| (0..bits).map(move |nth| (at, (at + 3 * nth) % 8)))
            {
                let mut flipped = value.clone();
                flipped[at] ^= 1 << bit;
                put(key, &flipped);
                for (way, (found, expected)) in read_all_ways(&engine, &table)
                    .into_iter()
                    .zip(&expected)
                    .enumerate()
                {
                    match found {
                        Err(error) => {
                            let error = error.to_string();
                            let names = error.contains("corrupt data") && error.contains("t/");
                            assert!(names, "{error}");
                        }
                        // A block whose rows have all died is not read, and totals need no columns.
                        Ok(found) => {
                            assert_eq!(&found, expected, "way {way}, byte {at} bit {bit}");
                            assert!(!is_head(key), "way {way}, byte {at} bit {bit} of a head");
                            unread += 1;
                        }
                    }
                }
            }
            let report = engine.check_table(table.id, &NoProgress).unwrap();
            assert!(report.corrupt > 0, "{report:?}");
            put(key, value);
        }
        assert!(unread > 0);
        assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
    }
}
