//! How fast columnar tables take rows and give out single ones, beside tables in rows; without anything above the engine.
//!
//! ```text
//! cargo run --release -p rukh-engine --example columnar -- [rows] [points|lookups|prefix|churn|steady|append …]
//! ```
//!
//! Without names all is measured, of both layouts: microseconds a question, or rows a second. `churn` writes random rows
//! while another thread repacks without end, `steady` where only the writers fold changes; `append` writes rows in the order of their keys.

use rukh_catalog::{
    Column, ColumnId, ColumnValues, FamilyId, KeyElement, KeyExpr, Table, TableDraft, TableOptions,
};
use rukh_engine::{Engine, NoFunctions, NoProgress, PointReader, ScanRequest};
use rukh_keys::{DataType, Datum, DatumRef, KeyRange, SortOrder};
use rukh_kv::{Durability, RocksOptions, RocksStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Rows of a statement that writes many.
const BATCH: u64 = 100;

/// Questions of each kind.
const QUESTIONS: u64 = 20_000;

/// A column: name, type, whether it may be NULL.
type Named = (&'static str, DataType, bool);

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

fn create(engine: &Engine, name: &str, columns: &[Named], key: usize, columnar: bool) -> Arc<Table> {
    let column = |(at, (name, ty, nullable)): (usize, &Named)| Column {
        id: ColumnId(at as u32),
        name: name.to_string(),
        ty: *ty,
        nullable: *nullable,
        default: None,
        family: FamilyId(0),
        values: ColumnValues::default(),
    };
    let element = |at: usize| KeyElement {
        expr: KeyExpr::Column(ColumnId(at as u32)),
        order: SortOrder::Asc,
    };
    let draft = TableDraft {
        name: name.to_string(),
        columns: columns.iter().enumerate().map(column).collect(),
        primary_key: (0..key).map(element).collect(),
        options: TableOptions {
            columnar,
            ..TableOptions::default()
        },
        ..TableDraft::default()
    };
    engine.create_table(draft).expect("nothing fails here")
}

fn upsert(engine: &Engine, table: &Arc<Table>, rows: Vec<Vec<Datum>>) {
    let named: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin().expect("nothing fails here");
    write.upsert(table, &named, rows).expect("nothing fails here");
    write.commit(Durability::Buffered).expect("nothing fails here");
}

fn repack(engine: &Engine, table: &Table) {
    if table.is_columnar() {
        engine
            .repack_index(Engine::layout_id(table), &NoProgress)
            .expect("nothing fails here");
    }
}

/// Ten columns of key, six others.
const SCANS: [Named; 16] = [
    ("sitecode", DataType::Char(10), false),
    ("md5url", DataType::Char(32), false),
    ("status", DataType::SmallInt, false),
    ("code", DataType::SmallInt, false),
    ("sdate", DataType::Date, false),
    ("free", DataType::Boolean, false),
    ("close", DataType::Boolean, false),
    ("queue", DataType::Boolean, false),
    ("scantype", DataType::TinyInt, false),
    ("stime", DataType::TIMESTAMP, false),
    ("type", DataType::Varchar(None), false),
    ("url", DataType::Varchar(None), true),
    ("ip", DataType::Varchar(None), true),
    ("port", DataType::Integer, true),
    ("intime", DataType::TIMESTAMP, true),
    ("scanmemo", DataType::Varchar(None), true),
];

/// Rows that have a site in common.
const SITE_ROWS: u64 = 500;

fn scan(at: u64) -> Vec<Datum> {
    let mix = |salt: u64| (at ^ salt << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7;
    vec![
        Datum::Text(format!("{:010}", 1_000_000_000 + at / SITE_ROWS)),
        Datum::Text(format!("{:016x}{:016x}", mix(1), mix(2))),
        Datum::Int((mix(3) % 3) as i64),
        Datum::Int([200, 301, 404, 500][(mix(4) % 4) as usize]),
        Datum::Date(17_000 + (mix(5) % 365) as i32),
        Datum::Boolean(mix(6) % 2 == 0),
        Datum::Boolean(mix(7) % 9 == 0),
        Datum::Boolean(false),
        Datum::Int((mix(8) % 5) as i64),
        Datum::Timestamp(1_480_000_000_000_000 + (mix(9) % 31_536_000) as i64 * 1_000_000),
        Datum::Text(["page", "script", "image"][(mix(10) % 3) as usize].to_string()),
        Datum::Text(format!(
            "https://www{}.example/{}/{:x}",
            at / SITE_ROWS,
            mix(11) % 1000,
            mix(12)
        )),
        Datum::Text(format!("10.{}.{}.{}", mix(13) % 4, mix(14) % 256, mix(15) % 256)),
        Datum::Int([80, 443, 8080][(mix(16) % 3) as usize]),
        Datum::Timestamp(1_480_000_000_000_000 + (mix(17) % 31_536_000) as i64 * 1_000_000),
        Datum::Null,
    ]
}

/// Number of rounds of questions; the fastest counts.
const ROUNDS: u32 = 5;

fn fastest(mut round: impl FnMut()) -> Duration {
    let once = |_| {
        let started = Instant::now();
        round();
        started.elapsed()
    };
    (0..=ROUNDS).map(once).min().expect("nothing fails here")
}

fn reads(engine: &Engine, table: &Arc<Table>, rows: u64, is_chosen: &dyn Fn(&str) -> bool) {
    let layout = if table.is_columnar() { "columnar" } else { "rows" };
    let wanted = vec![ColumnId(11), ColumnId(12)];
    let keys: Vec<Vec<Datum>> = {
        let mut random = Random(88_172_645_463_325_252);
        let mut one = |_| scan(random.below(rows))[..10].to_vec();
        (0..QUESTIONS).map(&mut one).collect()
    };
    let refs = |key: &'_ [Datum]| {
        key.iter()
            .map(|datum| datum.as_ref().into_owned())
            .collect::<Vec<_>>()
    };
    if is_chosen("points") {
        let reader =
            PointReader::new(&engine.snapshot(), table.id, wanted.clone()).expect("nothing fails here");
        let took = fastest(|| {
            for key in &keys {
                let key: Vec<DatumRef<'_>> = key.iter().map(Datum::as_ref).collect();
                let (row, _) = reader
                    .read(&engine.latest(table.id), &key)
                    .expect("nothing fails here");
                assert_eq!(row.expect("nothing fails here").len(), 2);
            }
        });
        println!("{layout:8} points  {:10.3} us a row", micros(took, QUESTIONS));
    }
    if is_chosen("prefix") {
        let some = vec![ColumnId(1), ColumnId(11)];
        let reader = PointReader::new(&engine.snapshot(), table.id, some).expect("nothing fails here");
        let took = fastest(|| {
            for key in &keys {
                let site = [key[0].as_ref()];
                let cancel = Arc::new(AtomicBool::new(false));
                let latest = engine.latest(table.id);
                let (rows, _) = reader
                    .read_prefix(&latest, &site, false, Some(10), 100, cancel)
                    .expect("nothing fails here");
                assert_eq!(rows.expect("nothing fails here").len(), 10);
            }
        });
        println!(
            "{layout:8} prefix  {:10.3} us for 10 rows",
            micros(took, QUESTIONS)
        );
    }
    if is_chosen("lookups") {
        let layout_of_keys = table.key_layout();
        let range = |key: &Vec<Datum>| {
            let start = layout_of_keys.encode(&refs(key)).expect("nothing fails here");
            let limit = Some([start.as_slice(), &[0]].concat());
            KeyRange { start, limit }
        };
        let lists: Vec<Vec<KeyRange>> = keys
            .chunks(300)
            .map(|some| KeyRange::merge(some.iter().map(range).collect()))
            .collect();
        let took = fastest(|| {
            for ranges in &lists {
                let request = ScanRequest {
                    ranges: ranges.clone(),
                    limit: Some(300),
                    ..ScanRequest::all(table.clone(), wanted.clone())
                };
                let mut cursor = engine.snapshot().scan(request).expect("nothing fails here");
                let mut bytes = 0;
                let mut sink = |view: &rukh_engine::RowView<'_>| {
                    for column in 0..2 {
                        if let DatumRef::Text(text) = view.datum(column)? {
                            bytes += text.len();
                        }
                    }
                    Ok(())
                };
                while cursor.next_rows(300, &mut sink).expect("nothing fails here") > 0 {}
                assert!(bytes > 0);
            }
        });
        println!("{layout:8} lookups {:10.3} us a row", micros(took, QUESTIONS));
    }
}

fn micros(took: Duration, count: u64) -> f64 {
    took.as_secs_f64() * 1e6 / count as f64
}

const WRITTEN: [Named; 5] = [
    ("a", DataType::BigInt, false),
    ("b", DataType::Integer, false),
    ("c", DataType::Varchar(None), true),
    ("d", DataType::Double, true),
    ("e", DataType::TIMESTAMP, true),
];

fn written(key: u64, at: u64) -> Vec<Datum> {
    vec![
        Datum::Int(key as i64),
        Datum::Int((at % 1000) as i64),
        Datum::Text(format!("new {at}")),
        Datum::Float(at as f64 / 8.0),
        Datum::Timestamp(1_600_000_000_000_000 + at as i64),
    ]
}

fn churn(engine: &Engine, columnar: bool, stored: u64, count: u64, repacked: bool) {
    let name = if repacked { "churn" } else { "steady" };
    let table = create(engine, name, &WRITTEN, 1, columnar);
    for first in (0..stored).step_by(1000) {
        upsert(
            engine,
            &table,
            (first..(first + 1000).min(stored))
                .map(|key| written(key, key))
                .collect(),
        );
    }
    repack(engine, &table);
    let mut random = Random(88_172_645_463_325_252);
    let mut write = |count: u64| {
        for first in (0..count).step_by(BATCH as usize) {
            let rows = (first..first + BATCH).map(|at| written(random.below(stored), at));
            upsert(engine, &table, rows.collect());
        }
    };
    write((stored / 20).max(65_536));
    let done = AtomicBool::new(false);
    let took = thread::scope(|scope| {
        let repacking = scope.spawn(|| {
            let mut passes = 0;
            while repacked && columnar && !done.load(Ordering::Relaxed) {
                repack(engine, &table);
                passes += 1;
            }
            passes
        });
        let started = Instant::now();
        write(count);
        let took = started.elapsed();
        done.store(true, Ordering::Relaxed);
        let passes: u64 = repacking.join().expect("nothing fails here");
        if repacked && columnar {
            println!("         passes  {passes:10}");
        }
        took
    });
    let layout = if columnar { "columnar" } else { "rows" };
    println!(
        "{layout:8} {name:7} {:10.0} rows a second",
        count as f64 / took.as_secs_f64()
    );
}

fn append(engine: &Engine, columnar: bool, count: u64) {
    let columns = [
        ("at", DataType::TIMESTAMP, false),
        ("host", DataType::Integer, false),
        ("c", DataType::Varchar(None), true),
        ("d", DataType::Double, true),
    ];
    let table = create(engine, "l", &columns, 2, columnar);
    let row = |at: u64| {
        vec![
            Datum::Timestamp(1_600_000_000_000_000 + (at / 4) as i64 * 1000),
            Datum::Int((at % 4) as i64),
            Datum::Text(format!("line {at}")),
            Datum::Float(at as f64 / 8.0),
        ]
    };
    let started = Instant::now();
    for first in (0..count).step_by(BATCH as usize) {
        upsert(engine, &table, (first..first + BATCH).map(row).collect());
    }
    let layout = if columnar { "columnar" } else { "rows" };
    println!(
        "{layout:8} append  {:10.0} rows a second",
        count as f64 / started.elapsed().as_secs_f64()
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows = arguments
        .first()
        .map_or(200_000, |rows| rows.parse().expect("nothing fails here"));
    let named = arguments.get(1..).unwrap_or_default();
    let is_chosen = |name: &str| {
        let kinds = ["rows", "columnar"];
        let mut of_work = named
            .iter()
            .filter(|one| !kinds.contains(&one.as_str()))
            .peekable();
        of_work.peek().is_none() || of_work.any(|one| one == name)
    };
    for columnar in [false, true] {
        let layout = if columnar { "columnar" } else { "rows" };
        let other = if columnar { "rows" } else { "columnar" };
        if named.iter().any(|one| one == other) && !named.iter().any(|one| one == layout) {
            continue;
        }
        let directory = tempfile::tempdir().expect("nothing fails here");
        let store = RocksStore::open(directory.path().join("db"), &RocksOptions::default())
            .expect("nothing fails here");
        let engine = Engine::open(Arc::new(store), Arc::new(NoFunctions), false).expect("nothing fails here");
        if ["points", "prefix", "lookups"].into_iter().any(is_chosen) {
            let table = create(&engine, "scans", &SCANS, 10, columnar);
            let mut load = engine.load(table.id).expect("nothing fails here");
            for first in (0..rows).step_by(1000) {
                load.add((first..(first + 1000).min(rows)).map(scan).collect())
                    .expect("nothing fails here");
            }
            load.finish().expect("nothing fails here");
            reads(&engine, &table, rows, &is_chosen);
        }
        if is_chosen("churn") {
            churn(&engine, columnar, rows, rows * 5, true);
        }
        if is_chosen("steady") {
            churn(&engine, columnar, rows, rows * 5, false);
        }
        if is_chosen("append") {
            append(&engine, columnar, rows * 5);
        }
    }
}
