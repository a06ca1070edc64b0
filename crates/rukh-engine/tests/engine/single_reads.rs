//! Rows by whole keys and by short prefixes of them: a columnar table gives what the same table in rows does, whatever of its
//! blocks is kept, and wherever its rows are.

use crate::support;
use proptest::prelude::*;
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{Engine, NoProgress, PointReader, Row, Snapshot};
use rukh_keys::{Datum, DatumRef};
use rukh_kv::Durability;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const COLUMNS: &str =
    "a CHAR(4), b BOOLEAN, c BOOLEAN, d SMALLINT, e VARCHAR, f INTEGER NULL, g VARCHAR NULL";

const KEYS: [&str; 5] = [
    "a, b, c, d, e",
    "a DESC, b, c DESC, d DESC, e",
    "c, b, a, e DESC, d",
    "e, d, a, b, c",
    "HASH(e, 4), e, b DESC, c, d, a",
];

/// What is done to both tables.
#[derive(Clone, Debug)]
enum Step {
    Put(Vec<(u8, u8, u8)>),
    Remove(u8),
    Repack,
    /// Lets columns go that were kept, and keeps so many bytes of them from now on.
    Keep(usize),
    /// Reads all rows and prefixes of these bytes; twice, for what the first time is kept.
    Read(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let put = prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..20);
    prop_oneof![
        4 => put.prop_map(Step::Put),
        1 => any::<u8>().prop_map(Step::Remove),
        2 => Just(Step::Repack),
        1 => prop_oneof![Just(0), Just(100_000), Just(1 << 20)].prop_map(Step::Keep),
        3 => any::<u8>().prop_map(Step::Read),
    ]
}

fn row(one: u8, two: u8, value: u8) -> Row {
    vec![
        Datum::Text(["", "a", "a b", "\u{1}", "ab", "zzzz"][usize::from(one % 6)].to_string()),
        Datum::Boolean(two & 1 != 0),
        Datum::Boolean(two & 4 != 0),
        Datum::Int(i64::from(two >> 3) % 5 - 2),
        Datum::Text("xy".repeat(usize::from(one / 6 % 3))),
        match value {
            0 => Datum::Null,
            some => Datum::Int(some.into()),
        },
        match value % 3 {
            0 => Datum::Null,
            _ => Datum::Text(format!("value {value}")),
        },
    ]
}

fn table(key: &str) -> (Engine, [Arc<Table>; 2]) {
    let engine = support::engine();
    let tables = [("rows", ""), ("blocks", "COLUMNAR ")];
    let made = tables
        .map(|(name, columnar)| support::create_table(&engine, name, COLUMNS, &format!("{columnar}{key}")));
    (engine, made)
}

fn write(engine: &Engine, table: &Arc<Table>, rows: &[Row], gone: bool) {
    let all: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin().unwrap();
    match gone {
        true => write.delete(table, rows.to_vec()).map(|_| ()).unwrap(),
        false => write.upsert(table, &all, rows.to_vec()).map(|_| ()).unwrap(),
    }
    write.commit(Durability::Buffered).unwrap();
}

/// The requested columns: some of the key, some others, one twice.
fn columns() -> Vec<ColumnId> {
    [6, 0, 4, 5, 6, 3].map(ColumnId).to_vec()
}

fn readers(engine: &Engine, tables: &[Arc<Table>; 2]) -> [PointReader; 2] {
    [0, 1].map(|nth| PointReader::new(&engine.snapshot(), tables[nth].id, columns()).unwrap())
}

fn both<T: PartialEq + std::fmt::Debug>(
    engine: &Engine,
    tables: &[Arc<Table>; 2],
    read: impl Fn(usize, &Snapshot) -> T,
) -> T {
    let [expected, found] = [0, 1].map(|nth| read(nth, &engine.latest(tables[nth].id)));
    assert_eq!(found, expected);
    found
}

/// Compares points and prefixes of both tables.
fn compare(engine: &Engine, tables: &[Arc<Table>; 2], keys: &[Vec<Datum>]) {
    let readers = readers(engine, tables);
    for key in keys {
        let key: Vec<DatumRef<'_>> = key.iter().map(Datum::as_ref).collect();
        both(engine, tables, |nth, snapshot| {
            readers[nth].read(snapshot, &key).unwrap().0
        });
        for (length, reverse) in (0..key.len()).flat_map(|length| [(length, false), (length, true)]) {
            for (fetch, most) in [
                (None, 100),
                (Some(3), 100),
                (Some(1), 100),
                (None, 4),
                (Some(9), 2),
            ] {
                both(engine, tables, |nth, snapshot| {
                    let stop = Arc::new(AtomicBool::new(false));
                    let read = readers[nth].read_prefix(snapshot, &key[..length], reverse, fetch, most, stop);
                    read.unwrap().0
                });
            }
        }
    }
}

/// Makes the key of a row: a datum for each element.
fn key_of(table: &Table, row: &Row) -> Vec<Datum> {
    let elements = table.primary_key.iter();
    let datum = |element: &rukh_catalog::KeyElement| match &element.expr {
        rukh_catalog::KeyExpr::Column(id) => row[table.position(*id).unwrap()].clone(),
        rukh_catalog::KeyExpr::Hash { column, bytes } => {
            rukh_keys::hash_datum(&row[table.position(*column).unwrap()], *bytes)
        }
        other => panic!("{other:?}"),
    };
    elements.map(datum).collect()
}

fn run(key: &str, block_rows: usize, steps: &[Step]) {
    let (engine, tables) = table(key);
    engine.set_block_rows(block_rows);
    engine.set_repack_rows(1_000_000);
    let mut known: Vec<Row> = Vec::new();
    for step in steps {
        match step {
            Step::Put(some) => {
                let rows: Vec<Row> = some
                    .iter()
                    .map(|(one, two, value)| row(*one, *two, *value))
                    .collect();
                tables
                    .iter()
                    .for_each(|table| write(&engine, table, &rows, false));
                known.extend(rows);
            }
            Step::Remove(at) if !known.is_empty() => {
                let gone = known[usize::from(*at) % known.len()].clone();
                tables
                    .iter()
                    .for_each(|table| write(&engine, table, std::slice::from_ref(&gone), true));
            }
            Step::Remove(_) => {}
            Step::Repack => {
                let id = Engine::layout_id(&tables[1]);
                engine.repack_index(id, &NoProgress).unwrap();
            }
            Step::Keep(bytes) => engine.set_open_blocks_bytes(*bytes),
            Step::Read(other) => {
                let mut keys: Vec<Vec<Datum>> = known.iter().map(|row| key_of(&tables[0], row)).collect();
                keys.truncate(12);
                keys.push(key_of(&tables[0], &row(*other, other.wrapping_mul(7), 0)));
                compare(&engine, &tables, &keys);
                compare(&engine, &tables, &keys);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_columnar_table_gives_what_a_table_in_rows_does(
        key in prop::sample::select(&KEYS[..]),
        block_rows in prop_oneof![Just(3_usize), Just(8), Just(64)],
        steps in prop::collection::vec(step(), 1..12),
    ) {
        run(key, block_rows, &steps);
    }
}

#[test]
fn rows_of_pieces_are_read_from_what_is_kept() {
    let (engine, tables) = table(KEYS[0]);
    engine.set_block_rows(512);
    engine.set_repack_rows(1_000_000);
    let many: Vec<Row> = (0..=255_u8)
        .flat_map(|one| (0..16_u8).map(move |two| row(one, two * 16 + one % 16, one ^ two)))
        .collect();
    tables
        .iter()
        .for_each(|table| write(&engine, table, &many, false));
    let id = Engine::layout_id(&tables[1]);
    engine.repack_index(id, &NoProgress).unwrap();
    let keys: Vec<Vec<Datum>> = many
        .iter()
        .step_by(37)
        .map(|row| key_of(&tables[0], row))
        .collect();
    compare(&engine, &tables, &keys);
    compare(&engine, &tables, &keys);
}

#[test]
fn a_snapshot_reads_what_was_there_after_blocks_were_made_anew() {
    let (engine, tables) = table(KEYS[0]);
    let id = Engine::layout_id(&tables[1]);
    let rows: Vec<Row> = (0..60).map(|one| row(one, one, 1)).collect();
    let changed: Vec<Row> = (0..60).map(|one| row(one, one, 2)).collect();
    let [_, reader] = readers(&engine, &tables);
    let keys: Vec<Vec<Datum>> = rows.iter().map(|row| key_of(&tables[0], row)).collect();
    let read = |snapshot: &Snapshot| -> Vec<Option<Row>> {
        let refs = |key: &'_ Vec<Datum>| {
            let key: Vec<DatumRef<'_>> = key.iter().map(Datum::as_ref).collect();
            reader.read(snapshot, &key).unwrap().0
        };
        keys.iter().map(refs).collect()
    };
    write(&engine, &tables[1], &rows, false);
    engine.repack_index(id, &NoProgress).unwrap();
    let before = engine.snapshot();
    let first = read(&before);
    assert_eq!(read(&before), first);
    write(&engine, &tables[1], &changed, false);
    engine.repack_index(id, &NoProgress).unwrap();
    let after = engine.snapshot();
    let second = read(&after);
    assert_ne!(first, second);
    for _ in 0..3 {
        assert_eq!((read(&before), read(&after)), (first.clone(), second.clone()));
    }
}
