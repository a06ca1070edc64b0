//! How long scans of a columnar table take with and without changes beside its blocks, and of a database just opened; in one
//! thread, without anything above the engine.
//!
//! ```text
//! cargo run --release -p rukh-engine --example beside -- [rows] [changes|cold …]
//! ```
//!
//! `changes` scans without changes, beside those of one row in a hundred, and beside as many where a row is written before
//! each scan. `cold` asks a database just opened, after the system has forgotten its files, where it lets us.

use rukh_catalog::{
    Column, ColumnId, ColumnValues, FamilyId, KeyElement, KeyExpr, Table, TableDraft, TableOptions,
};
use rukh_engine::{ColumnTest, Engine, NoFunctions, NoProgress, ScanRequest, Values};
use rukh_keys::{DataType, Datum, SortOrder};
use rukh_kv::{Durability, RocksOptions, RocksStore};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// One row in so many is changed.
const CHANGED: u64 = 100;

/// Number of runs of each question; the first, the second and the fastest are printed.
const ROUNDS: usize = 9;

const COLUMNS: [(&str, DataType); 12] = [
    ("orderkey", DataType::BigInt),
    ("line", DataType::Integer),
    ("quantity", DataType::Integer),
    ("price", DataType::BigInt),
    ("discount", DataType::Integer),
    ("tax", DataType::Integer),
    ("flag", DataType::Varchar(None)),
    ("status", DataType::Varchar(None)),
    ("shipped", DataType::Date),
    ("received", DataType::Date),
    ("mode", DataType::Varchar(None)),
    ("comment", DataType::Varchar(None)),
];

fn create(engine: &Engine) -> Arc<Table> {
    let column = |(at, (name, ty)): (usize, &(&str, DataType))| Column {
        id: ColumnId(at as u32),
        name: name.to_string(),
        ty: *ty,
        nullable: false,
        default: None,
        family: FamilyId(0),
        values: ColumnValues::default(),
    };
    let element = |at: u32| KeyElement {
        expr: KeyExpr::Column(ColumnId(at)),
        order: SortOrder::Asc,
    };
    let draft = TableDraft {
        name: "lines".to_string(),
        columns: COLUMNS.iter().enumerate().map(column).collect(),
        primary_key: vec![element(0), element(1)],
        options: TableOptions {
            columnar: true,
            ..TableOptions::default()
        },
        ..TableDraft::default()
    };
    engine.create_table(draft).expect("nothing fails here")
}

fn row(at: u64, version: u64) -> Vec<Datum> {
    let mix = |salt: u64| (at ^ salt << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7;
    let text = |some: &[&str], salt: u64| Datum::Text(some[(mix(salt) % some.len() as u64) as usize].into());
    vec![
        Datum::Int((at / 4) as i64),
        Datum::Int((at % 4) as i64),
        Datum::Int((mix(1) % 50 + version) as i64),
        Datum::Int((mix(2) % 10_000_000) as i64),
        Datum::Int((mix(3) % 11) as i64),
        Datum::Int((mix(4) % 9) as i64),
        text(&["A", "N", "R"], 5),
        text(&["F", "O"], 6),
        Datum::Date((9000 + mix(7) % 2500) as i32),
        Datum::Date((9000 + mix(8) % 2500) as i32),
        text(&["AIR", "MAIL", "RAIL", "SHIP", "TRUCK"], 9),
        Datum::Text(format!("{:x} {:x}", mix(10), mix(11) % 4096)),
    ]
}

fn upsert(engine: &Engine, table: &Arc<Table>, rows: Vec<Vec<Datum>>) {
    let named: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin().expect("nothing fails here");
    write.upsert(table, &named, rows).expect("nothing fails here");
    write.commit(Durability::Buffered).expect("nothing fails here");
}

/// Counts the rows that pass two tests, and adds up their quantities.
fn few(engine: &Engine, table: &Arc<Table>) -> (u64, i64) {
    let point = |column: u32, value: i64| ColumnTest {
        column: ColumnId(column),
        ranges: vec![(
            Bound::Included(Datum::Int(value)),
            Bound::Included(Datum::Int(value)),
        )],
        null: false,
    };
    let mut request = ScanRequest::all(table.clone(), vec![ColumnId(2)]);
    request.tests = vec![point(4, 5), point(5, 2)];
    sum(engine, request)
}

/// Counts all rows, and adds up two columns.
fn all(engine: &Engine, table: &Arc<Table>) -> (u64, i64) {
    sum(
        engine,
        ScanRequest::all(table.clone(), vec![ColumnId(2), ColumnId(3)]),
    )
}

/// Finds a few whole rows of all.
fn whole(engine: &Engine, table: &Arc<Table>) -> (u64, i64) {
    let mut request = ScanRequest::all(table.clone(), (2..12).map(ColumnId).collect());
    let some = (Datum::Int(7_000_000), Datum::Int(7_000_200));
    request.tests = vec![ColumnTest {
        column: ColumnId(3),
        ranges: vec![(Bound::Included(some.0), Bound::Excluded(some.1))],
        null: false,
    }];
    sum(engine, request)
}

fn sum(engine: &Engine, request: ScanRequest) -> (u64, i64) {
    let mut cursor = engine
        .snapshot()
        .scan_columnar(request)
        .expect("nothing fails here");
    let (mut rows, mut sum) = (0, 0);
    while let Some(batch) = cursor.next_batch(8192).expect("nothing fails here") {
        rows += batch.rows as u64;
        for column in &batch.columns {
            if let Values::Int(values) = column.values() {
                sum += values.iter().sum::<i64>();
            }
        }
    }
    (rows, sum)
}

/// Rows found, and the sum of what they have.
type Question = fn(&Engine, &Arc<Table>) -> (u64, i64);

/// Returns the milliseconds that this thread has spent on a core, where the system reports it.
fn on_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|time| time.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e6
}

fn timed(name: &str, mut ask: impl FnMut(bool) -> (u64, i64)) {
    let mut times = Vec::with_capacity(ROUNDS);
    let mut found = (0, 0);
    for _ in 0..ROUNDS {
        ask(false);
        let (started, before) = (Instant::now(), on_core());
        found = ask(true);
        times.push((started.elapsed().as_secs_f64() * 1e3, on_core() - before));
    }
    let least = |of: fn(&(f64, f64)) -> f64| times.iter().map(of).fold(f64::INFINITY, f64::min);
    println!(
        "{name:40} first {:8.2} second {:8.2} fastest {:8.2} ms, on core {:8.2} ms, {found:?}",
        times[0].0,
        times[1].0,
        least(|time| time.0),
        least(|time| time.1),
    );
}

/// Returns how often this process has read from files, and how many bytes came from disk, where the system reports it.
fn reads() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse().ok())
            .unwrap_or_default()
    };
    (number("syscr:"), number("read_bytes:"))
}

/// Asks where it is time to.
fn timely(is_time: bool, ask: impl FnOnce() -> (u64, i64)) -> (u64, i64) {
    match is_time {
        true => ask(),
        false => (0, 0),
    }
}

const QUESTIONS: [(&str, Question); 3] = [("two conditions", few), ("all rows", all), ("whole rows", whole)];

fn changes(engine: &Engine, table: &Arc<Table>, rows: u64) {
    for (name, ask) in QUESTIONS {
        timed(&format!("{name}, no changes"), |is_time| {
            timely(is_time, || ask(engine, table))
        });
    }
    let changed: Vec<u64> = (0..rows).filter(|at| at % CHANGED == 7).collect();
    for some in changed.chunks(1000) {
        upsert(engine, table, some.iter().map(|at| row(*at, 1)).collect());
    }
    for (name, ask) in QUESTIONS {
        let name = format!("{name}, one in {CHANGED} changed");
        timed(&name, |is_time| timely(is_time, || ask(engine, table)));
    }
    let mut at = 0;
    for (name, ask) in QUESTIONS {
        timed(&format!("{name}, written before each"), |is_time| {
            if !is_time {
                at = (at + 7919 * CHANGED) % rows;
                upsert(engine, table, vec![row(at, 2)]);
            }
            timely(is_time, || ask(engine, table))
        });
    }
}

fn open(place: &Path) -> Engine {
    let store = RocksStore::open(place, &RocksOptions::default()).expect("nothing fails here");
    let engine = Engine::open(Arc::new(store), Arc::new(NoFunctions), false).expect("nothing fails here");
    engine.set_open_blocks_bytes(1 << 30);
    engine.set_repack_rows(u64::MAX / 4);
    engine
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows = arguments
        .first()
        .map_or(1_000_000, |rows| rows.parse().expect("nothing fails here"));
    let named = arguments.get(1..).unwrap_or_default();
    let is_chosen = |name: &str| named.is_empty() || named.iter().any(|one| one == name);
    let directory = tempfile::tempdir_in(".").expect("nothing fails here");
    let place = directory.path().join("db");
    let engine = open(&place);
    let table = create(&engine);
    let mut load = engine.load(table.id).expect("nothing fails here");
    for first in (0..rows).step_by(1000) {
        load.add((first..(first + 1000).min(rows)).map(|at| row(at, 0)).collect())
            .expect("nothing fails here");
    }
    load.finish().expect("nothing fails here");
    engine
        .repack_index(Engine::layout_id(&table), &NoProgress)
        .expect("nothing fails here");
    if is_chosen("changes") {
        changes(&engine, &table, rows);
    }
    drop(engine);
    for (name, ask) in QUESTIONS.into_iter().filter(|_| is_chosen("cold")) {
        for _ in 0..3 {
            let engine = open(&place);
            let forgotten = std::process::Command::new("sync").status().is_ok()
                && std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok();
            let (started, before) = (Instant::now(), reads());
            let found = ask(&engine, &table);
            let took = started.elapsed().as_secs_f64() * 1e3;
            let after = reads();
            println!(
                "{name:40} just opened {took:8.2} ms, {:6} reads, {:8} KiB, files forgotten: {forgotten}, {found:?}",
                after.0 - before.0,
                (after.1 - before.1) >> 10,
            );
        }
    }
}
