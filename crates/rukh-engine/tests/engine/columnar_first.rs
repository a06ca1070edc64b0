//! Scans for the first rows of some order: these are given out, and blocks that have none of them are passed over.

use crate::support;
use proptest::prelude::*;
use rukh_catalog::Table;
use rukh_engine::{ColumnTest, Engine, FirstRows, NullsWanted, Row, ScanCounters, ScanRequest, Values};
use rukh_keys::{Datum, KeyRange};
use rukh_kv::Durability;
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

/// `k` ascends with the key, `n` with it but for NULLs, `m` too but some rows have the same; the others go up and down.
const COLUMNS: &str =
    "k INTEGER, s VARCHAR, a INTEGER NULL, b VARCHAR NULL, d DECIMAL(30,2) NULL, n BIGINT NULL, m VARCHAR";
const ROWS: i64 = 300;
const BLOCK_ROWS: usize = 8;

/// A table in blocks, without changes beside them.
fn table() -> (Engine, Arc<Table>) {
    let engine = support::engine();
    engine.set_block_rows(BLOCK_ROWS);
    engine.set_repack_rows(100_000);
    support::create_table(&engine, "t", COLUMNS, "COLUMNAR k, s");
    let table = support::table(&engine, "t");
    let mut write = engine.load(table.id).unwrap();
    write
        .add((0..ROWS).map(|key| row(&table, key, 0)).collect())
        .unwrap();
    write.finish().unwrap();
    (engine, table)
}

/// What decides whether a row is a good one.
fn seen(key: i64) -> i64 {
    key * 37 % 101
}

fn row(table: &Table, key: i64, round: i64) -> Row {
    let seen = seen(key);
    let null_if = |is_null: bool, text: String| if is_null { "NULL".to_string() } else { text };
    let a = null_if(seen % 9 == 0, (seen - 50).to_string());
    // Long texts differ behind what heads keep of them.
    let b = null_if(
        seen % 7 == 0,
        format!("'{}{}{seen}'", "x".repeat(30 + (seen % 7) as usize), seen % 7),
    );
    let d = (seen + round) * 1_000_000_007;
    let n = null_if(key % 11 == 3 || key / 8 % 5 == 1, (key - round).to_string());
    let m = format!(
        "'{:05}{}'",
        key / 3,
        "y".repeat(if key / 64 % 2 == 0 { 3 } else { 29 })
    );
    support::row(table, &format!("{key}, 's', {a}, {b}, {d}, {n}, {m}"))
}

/// The best rows go, and others come.
fn change(engine: &Engine, table: &Arc<Table>) {
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin().unwrap();
    let rows = (0..ROWS).filter(|key| seen(*key) > 95 || seen(*key) < 4);
    write
        .upsert(table, &all, rows.map(|key| row(table, key, 50)).collect())
        .unwrap();
    let gone = (0..ROWS).filter(|key| seen(*key) == 95 || *key > ROWS - 6 || *key < 11);
    write
        .delete(table, gone.map(|key| row(table, key, 0)).collect())
        .unwrap();
    write.commit(Durability::Buffered).unwrap();
}

/// Which rows are wanted, and how many.
#[derive(Clone, Debug)]
struct Question {
    ranges: Vec<KeyRange>,
    tests: Vec<ColumnTest>,
    reverse: bool,
    either_end: bool,
}

fn everywhere() -> Question {
    Question {
        ranges: vec![KeyRange::all()],
        tests: Vec::new(),
        reverse: false,
        either_end: false,
    }
}

/// Reads a column of the table by blocks, only as far as some of its rows matter; NULL as `None`, numbers as ordered bytes.
fn read_first(
    engine: &Engine,
    question: &Question,
    column: usize,
    first: Vec<FirstRows>,
) -> (Vec<Option<Vec<u8>>>, ScanCounters) {
    let table = support::table(engine, "t");
    let read = |coded: bool| {
        let mut request = ScanRequest::all(table.clone(), vec![table.columns[column].id]);
        request.first = first.clone();
        request.ranges = question.ranges.clone();
        request.tests = question.tests.clone();
        request.reverse = question.reverse;
        request.either_end = question.either_end;
        let mut cursor = engine.snapshot().scan_columnar(request).unwrap();
        if coded {
            cursor.code(&[0]);
        }
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next_batch(4).unwrap() {
            let vector = &batch.columns[0];
            for row in 0..batch.rows {
                let is_null = vector.nulls().is_some_and(|nulls| nulls[row]);
                let value = match vector.values() {
                    Values::Int(values) => (values[row] ^ i64::MIN).to_be_bytes().to_vec(),
                    Values::Wide(values) => (values[row] ^ i128::MIN).to_be_bytes().to_vec(),
                    Values::Bytes(strings) => strings.get(row).to_vec(),
                    Values::Coded(coded) => coded.get(row).to_vec(),
                };
                rows.push((!is_null).then_some(value));
            }
        }
        // The second time what was read is kept.
        let counters = ScanCounters {
            bytes_read: 0,
            ..cursor.counters()
        };
        (rows, counters)
    };
    let (rows, counters) = read(false);
    assert_eq!(read(true), (rows.clone(), counters));
    (rows, counters)
}

/// The rows that are wanted of these, in their order.
fn wanted_of(mut rows: Vec<Option<Vec<u8>>>, first: &FirstRows) -> Vec<Option<Vec<u8>>> {
    rows.retain(|row| row.is_some() || first.nulls != NullsWanted::Never);
    rows.sort_by(|left, right| {
        let nulls = left.is_none().cmp(&right.is_none());
        let nulls = match first.nulls {
            NullsWanted::First => nulls.reverse(),
            _ => nulls,
        };
        let values = left.cmp(right);
        nulls.then(if first.descending {
            values.reverse()
        } else {
            values
        })
    });
    if let (true, Some(last)) = (first.ties, rows.get(first.count - 1)) {
        let last = last.clone();
        let end = rows.iter().rposition(|row| *row == last).unwrap() + 1;
        rows.truncate(end);
    }
    if !first.ties {
        rows.truncate(first.count);
    }
    rows
}

/// Asks for all kinds of first rows of a column; returns the blocks that were passed over.
fn compare(engine: &Engine, question: &Question, column: usize) -> u64 {
    let id = support::table(engine, "t").columns[column].id;
    let (all, whole) = read_first(engine, question, column, Vec::new());
    let mut pruned = 0;
    for descending in [false, true] {
        for nulls in [NullsWanted::First, NullsWanted::Last, NullsWanted::Never] {
            for (count, ties) in [(1, false), (1, true), (3, true), (40, true), (1000, true)] {
                let first = FirstRows {
                    column: id,
                    descending,
                    nulls,
                    count,
                    ties,
                };
                let (given, counters) = read_first(engine, question, column, vec![first]);
                assert_eq!(
                    wanted_of(given, &first),
                    wanted_of(all.clone(), &first),
                    "{first:?}, {question:?}, {counters:?}"
                );
                assert_eq!(
                    counters.blocks_read + counters.blocks_pruned,
                    whole.blocks_read + whole.blocks_pruned
                );
                pruned += counters.blocks_pruned - whole.blocks_pruned;
                // Either end, for one scan.
                let other = FirstRows {
                    descending: !descending,
                    ..first
                };
                let (given, _) = read_first(engine, question, column, vec![first, other]);
                for one in [first, other] {
                    assert_eq!(wanted_of(given.clone(), &one), wanted_of(all.clone(), &one));
                }
            }
        }
    }
    pruned
}

#[test]
fn first_rows_are_found_and_blocks_passed_over() {
    let (engine, table) = table();
    for changed in [false, true] {
        if changed {
            change(&engine, &table);
        }
        for column in [0, 2, 3, 4, 5, 6] {
            let pruned = compare(&engine, &everywhere(), column);
            assert!(pruned > 80, "{column}: {pruned}");
        }
    }
}

#[test]
fn the_last_of_ascending_values_take_one_block() {
    let (engine, table) = table();
    let read = |column: usize, reverse: bool| {
        let last = FirstRows {
            column: table.columns[column].id,
            descending: true,
            nulls: NullsWanted::Last,
            count: 3,
            ties: true,
        };
        // The last blocks are known only where all are.
        let question = Question {
            reverse,
            ..everywhere()
        };
        read_first(&engine, &question, column, Vec::new());
        read_first(&engine, &question, column, vec![last]).1.blocks_read
    };
    let all = |reverse: bool| [0, 5, 6].map(|column| read(column, reverse));
    // The block before the last one may have some of the last three, as far as heads show.
    assert_eq!(all(false), [1, 1, 2]);
    assert_eq!(all(true), [1, 1, 1]);
    // As long as what is beside it leaves rows enough in it.
    change(&engine, &table);
    assert!(read(0, false) <= 3);
}

#[test]
fn a_scan_begins_where_the_first_rows_are() {
    let (engine, table) = table();
    read_first(&engine, &everywhere(), 0, Vec::new());
    let read = |descending: bool, reverse: bool| {
        let first = FirstRows {
            column: table.columns[0].id,
            descending,
            nulls: NullsWanted::Last,
            count: 3,
            ties: true,
        };
        // A block some of whose rows a test refuses proves nothing before it is read.
        let question = Question {
            reverse,
            either_end: true,
            tests: vec![test_of("a", -20, 30)],
            ..everywhere()
        };
        let (rows, counters) = read_first(&engine, &question, 0, vec![first]);
        let (all, _) = read_first(&engine, &question, 0, Vec::new());
        assert_eq!(wanted_of(rows, &first), wanted_of(all, &first));
        counters.blocks_read
    };
    for descending in [false, true] {
        for reverse in [false, true] {
            assert!(read(descending, reverse) <= 3, "{descending} {reverse}");
        }
    }
}

/// A test on a column between two numbers.
fn test_of(column: &str, low: i64, high: i64) -> ColumnTest {
    ColumnTest {
        column: CHANGED.1.column_named(column).unwrap().id,
        ranges: vec![(
            Bound::Included(Datum::Int(low)),
            Bound::Included(Datum::Int(high)),
        )],
        null: column == "n",
    }
}

/// A table with changes beside its blocks.
static CHANGED: LazyLock<(Engine, Arc<Table>)> = LazyLock::new(|| {
    let (engine, table) = table();
    change(&engine, &table);
    (engine, table)
});
static UNCHANGED: LazyLock<(Engine, Arc<Table>)> = LazyLock::new(table);

fn any_range() -> impl Strategy<Value = Vec<KeyRange>> {
    let keys = prop::collection::btree_set(-3..ROWS + 3, 0..7);
    keys.prop_map(|keys| {
        let keys: Vec<i64> = keys.into_iter().collect();
        let layout = CHANGED.1.key_layout();
        let encoded = |key: i64| {
            layout
                .encode(&[Datum::Int(key), Datum::Text(String::new())])
                .unwrap()
        };
        let ranges = keys.chunks_exact(2).map(|ends| KeyRange {
            start: encoded(ends[0]),
            limit: Some(encoded(ends[1])),
        });
        match keys.len() {
            0..2 => vec![KeyRange::all()],
            _ => ranges.collect(),
        }
    })
}

fn any_test() -> impl Strategy<Value = ColumnTest> {
    prop_oneof![
        (0..ROWS).prop_map(|low| test_of("k", low, ROWS)),
        (0..ROWS).prop_map(|high| test_of("n", 0, high)),
        (-60..0i64, 0..60i64).prop_map(|(low, high)| test_of("a", low, high)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn first_rows_are_found_in_ranges_and_under_tests(
        ranges in any_range(),
        tests in prop::collection::vec(any_test(), 0..3),
        (reverse, either_end, changed) in any::<(bool, bool, bool)>(),
    ) {
        let (engine, _) = if changed { &*CHANGED } else { &*UNCHANGED };
        let question = Question { ranges, tests, reverse, either_end };
        // A scan of all rows caches the heads of all blocks.
        read_first(engine, &everywhere(), 0, Vec::new());
        for column in [0, 2, 3, 5, 6] {
            compare(engine, &question, column);
        }
    }
}
