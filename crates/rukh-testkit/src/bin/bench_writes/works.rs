//! The works: each gives lines of the report.

use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rukh::Value;
use rukh_bench::UrlScans;
use rukh_testkit::postgres::PostgresServer;

use crate::engines::{Engine, Failure, at_once, bytes_below, feed, forget_peak, peak_bytes, rukh, sqlite};
use crate::report::{Bar, Figure, Line};

/// Rows of a batch.
const BATCH: usize = 1000;
/// Cells that counters are in.
const CELLS: usize = 100;

/// What all works need.
pub struct Setting<'a> {
    pub directory: &'a Path,
    pub postgres: Option<&'a PostgresServer>,
    pub rows: usize,
    pub connections: usize,
}

fn must_run(engine: &dyn Engine, statements: &[String]) -> Result<(), Failure> {
    at_once(engine, 1, &|_| statements.to_vec()).map(drop)
}

/// Makes the same on PostgreSQL, and runs statements there; `None` without a server.
fn on_postgres(
    setting: &Setting<'_>,
    before: &[String],
    connections: usize,
    statements: &(dyn Fn(usize) -> Vec<String> + Sync),
) -> Result<Option<Duration>, Failure> {
    let Some(server) = setting.postgres else {
        return Ok(None);
    };
    must_run(server, &["DROP TABLE IF EXISTS t".to_owned()])?;
    must_run(server, before)?;
    at_once(server, connections, statements).map(Some)
}

/// Many connections add to few cells.
pub fn counters(setting: &Setting<'_>) -> Result<Vec<Line>, Failure> {
    let adds = setting.rows / setting.connections;
    let fill = |ty: &str| {
        let cells: Vec<String> = (0..CELLS).map(|k| format!("({k}, 0)")).collect();
        vec![
            format!("CREATE TABLE t (k INTEGER PRIMARY KEY, c {ty})"),
            format!("INSERT INTO t VALUES {}", cells.join(", ")),
        ]
    };
    let statements = |number: usize| {
        let mut random = StdRng::seed_from_u64(number as u64);
        let add = |_| {
            format!(
                "UPDATE t SET c = c + 1 WHERE k = {}",
                random.random_range(0..CELLS)
            )
        };
        (0..adds).map(add).collect()
    };
    let engine = rukh(setting.directory, "counters")?;
    must_run(&engine, &fill("COUNTER"))?;
    let ours = at_once(&engine, setting.connections, &statements)?;
    let mut rows = engine.0.connect().query("SELECT sum(c) FROM t")?.next_row()?;
    let sum = rows.take().map(|row| row.datum(0).clone());
    let all = (adds * setting.connections).to_string();
    if sum.as_ref().map(|sum| format!("{sum:?}").contains(&all)) != Some(true) {
        return Err(format!("adds were lost: {sum:?}, not {all}").into());
    }
    let theirs = on_postgres(setting, &fill("BIGINT"), setting.connections, &statements)?;
    let per_second = |time: Duration| Figure::PerSecond(adds * setting.connections, time);
    Ok(vec![Line {
        work: format!("counter adds, {} connections, {CELLS} cells", setting.connections),
        rukh: per_second(ours),
        postgres: theirs.map(per_second),
        sqlite: None,
        bar: Bar::Better(Some(3.0), None),
    }])
}

/// Rows of random keys, a batch a statement.
fn batches(rows: usize, upsert: &str) -> Vec<String> {
    let mut random = StdRng::seed_from_u64(1);
    let mut row = |_| {
        let (k, a) = (
            random.random_range(0..rows * 2),
            random.random_range(0..1_000_000),
        );
        (k, format!("({k}, {a}, 'name {}', {})", a % 5000, a % 77))
    };
    let batch = |_| {
        // PostgreSQL takes each key once a statement.
        let values: std::collections::BTreeMap<usize, String> = (0..BATCH).map(&mut row).collect();
        let values: Vec<String> = values.into_values().collect();
        upsert.replace("{}", &values.join(", "))
    };
    (0..rows / BATCH).map(batch).collect()
}

const RUKH_UPSERT: &str = "UPSERT INTO t (k, a, name, n) VALUES {}";
const UPSERT: &str = "INSERT INTO t (k, a, name, n) VALUES {} ON CONFLICT (k) DO UPDATE SET a = excluded.a, \
     name = excluded.name, n = excluded.n";

fn table(indexes: &[&str]) -> Vec<String> {
    let table = "CREATE TABLE t (k BIGINT PRIMARY KEY, a BIGINT, name VARCHAR(40), n INTEGER)".to_owned();
    let indexes = indexes.iter().map(|index| format!("CREATE INDEX {index}"));
    std::iter::once(table).chain(indexes).collect()
}

const TWO_INDEXES: &[&str] = &["t_a ON t (a)", "t_name ON t (name, n)"];

/// Batches of upserts into a table with two indexes, each durable.
pub fn upserts(setting: &Setting<'_>) -> Result<Vec<Line>, Failure> {
    let engine = rukh(setting.directory, "upserts")?;
    must_run(&engine, &table(TWO_INDEXES))?;
    let ours = at_once(&engine, 1, &|_| batches(setting.rows, RUKH_UPSERT))?;
    let theirs = on_postgres(setting, &table(TWO_INDEXES), 1, &|_| {
        batches(setting.rows, UPSERT)
    })?;
    let lite = sqlite(
        setting.directory,
        &table(TWO_INDEXES),
        &batches(setting.rows, UPSERT),
    )?;
    let per_second = |time: Duration| Figure::PerSecond(setting.rows, time);
    Ok(vec![Line {
        work: format!("UPSERT in batches of {BATCH}, 2 indexes"),
        rukh: per_second(ours),
        postgres: theirs.map(per_second),
        sqlite: lite.map(per_second),
        bar: Bar::Better(Some(2.0), Some(2.0)),
    }])
}

/// Commits of one row.
pub fn commits(setting: &Setting<'_>) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for connections in [1, setting.connections] {
        // Long enough that what the disk takes up in the first moments does not count.
        let count = setting.rows / if connections == 1 { 50 } else { 5 };
        let each = (count / connections).max(1);
        let statements = |number: usize| {
            let insert =
                |nth: usize| format!("INSERT INTO t VALUES ({}, {nth}, 'name', 1)", number * each + nth);
            (0..each).map(insert).collect::<Vec<String>>()
        };
        let engine = rukh(setting.directory, &format!("commits{connections}"))?;
        must_run(&engine, &table(&[]))?;
        let ours = at_once(&engine, connections, &statements)?;
        let theirs = on_postgres(setting, &table(&[]), connections, &statements)?;
        let lite = match connections {
            1 => sqlite(setting.directory, &table(&[]), &statements(0))?,
            _ => None,
        };
        let per_second = |time: Duration| Figure::PerSecond(each * connections, time);
        lines.push(Line {
            work: format!("commits of one row, {connections} connections"),
            rukh: per_second(ours),
            postgres: theirs.map(per_second),
            sqlite: lite.map(per_second),
            bar: Bar::Better(Some(1.0), Some(1.0)),
        });
    }
    Ok(lines)
}

/// What covering indexes cost writers.
pub fn covering(setting: &Setting<'_>) -> Result<Vec<Line>, Failure> {
    let all = [
        "c1 ON t (a) INCLUDE (name, n)",
        "c2 ON t (name) INCLUDE (a, n)",
        "c3 ON t (n, a) INCLUDE (name)",
        "c4 ON t (a DESC, n) INCLUDE (name)",
    ];
    let mut none = None;
    let mut lines = Vec::new();
    for count in 0..=all.len() {
        let engine = rukh(setting.directory, &format!("covering{count}"))?;
        must_run(&engine, &table(&all[..count]))?;
        let time = at_once(&engine, 1, &|_| batches(setting.rows, RUKH_UPSERT))?;
        let none = *none.get_or_insert(time);
        lines.push(Line {
            work: format!("UPSERT in batches of {BATCH}, {count} covering indexes"),
            rukh: Figure::Times(time.as_secs_f64() / none.as_secs_f64()),
            postgres: None,
            sqlite: None,
            bar: Bar::AtMost(count as f64 + 1.5),
        });
    }
    Ok(lines)
}

/// How many statements a connection runs in a second while `work` does. Another seed makes other changes: one that was made already would be none.
fn beside(
    engine: &dyn Engine,
    seed: u64,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let mut connection = engine.connect()?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| -> Result<f64, Failure> {
            let (mut random, mut count, started) = (StdRng::seed_from_u64(seed), 0_u32, Instant::now());
            while !stop.load(Ordering::Relaxed) {
                let (k, a) = (random.random_range(0..100_000), random.random_range(0..1000));
                connection.run(&format!("UPDATE t SET a = {a} WHERE k = {k}"))?;
                count += 1;
            }
            Ok(f64::from(count) / started.elapsed().as_secs_f64())
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        let rate = writer.join().map_err(|_| "a writer panicked")??;
        done.map(|()| rate)
    })
}

/// The rate of a writer while an index is being filled, as part of its rate without that.
pub fn online(setting: &Setting<'_>) -> Result<Vec<Line>, Failure> {
    let engine = rukh(setting.directory, "online")?;
    must_run(&engine, &table(&[]))?;
    must_run(&engine, &batches(setting.rows * 4, RUKH_UPSERT))?;
    let mut builder = engine.connect()?;
    let started = Instant::now();
    let during = beside(&engine, 9, || builder.run("CREATE INDEX t_name ON t (name, a)"))?;
    let time = started.elapsed();
    let alone = beside(&engine, 10, || {
        std::thread::sleep(time);
        Ok(())
    })?;
    Ok(vec![Line {
        work: format!("a writer during CREATE INDEX of {} rows", setting.rows * 4),
        rukh: Figure::Times(during / alone),
        postgres: None,
        sqlite: None,
        bar: Bar::AtLeast(0.7),
    }])
}

/// The slowest hundredth of point reads while `work` runs, in microseconds.
fn slow_reads(engine: &crate::engines::Rukh, rows: usize, stop: &AtomicBool) -> Result<f64, Failure> {
    let mut connection = engine.0.connect();
    let statement = connection.prepare("SELECT a FROM t WHERE k = $1")?;
    let (mut random, mut times) = (StdRng::seed_from_u64(5), Vec::new());
    while !stop.load(Ordering::Relaxed) || times.len() < 1000 {
        let key = Value::new(
            rukh::Datum::Int(random.random_range(0..rows as i64)),
            rukh::DataType::BigInt,
        );
        let started = Instant::now();
        connection.query_prepared(&statement, &[key])?.next_row()?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() * 99 / 100].as_secs_f64() * 1e6)
}

/// Point reads while rows are loaded.
pub fn reads(setting: &Setting<'_>) -> Result<Vec<Line>, Failure> {
    let engine = rukh(setting.directory, "reads")?;
    must_run(&engine, &table(TWO_INDEXES))?;
    must_run(&engine, &batches(setting.rows, RUKH_UPSERT))?;
    let idle = slow_reads(&engine, setting.rows, &AtomicBool::new(true))?;
    let stop = AtomicBool::new(false);
    let loading = std::thread::scope(|scope| -> Result<f64, Failure> {
        let loader = scope.spawn(|| {
            let done = must_run(&engine, &batches(setting.rows, RUKH_UPSERT));
            stop.store(true, Ordering::Relaxed);
            done
        });
        let slow = slow_reads(&engine, setting.rows, &stop);
        loader.join().map_err(|_| "a loader panicked")??;
        slow
    })?;
    Ok(vec![Line {
        work: format!("p99 of point reads while loading (idle {idle:.0} us, then {loading:.0} us)"),
        rukh: Figure::Times(loading / idle),
        postgres: None,
        sqlite: None,
        bar: Bar::AtMost(5.0),
    }])
}

const URL_SCANS: &str = "md5url CHAR(32) NOT NULL, sitecode CHAR(10) NOT NULL, status SMALLINT NOT NULL, \
     code SMALLINT NOT NULL, sdate DATE NOT NULL, type VARCHAR(20) NOT NULL, free BOOLEAN NOT NULL, \
     close BOOLEAN NOT NULL, queue BOOLEAN NOT NULL, scantype SMALLINT NOT NULL, stime TIMESTAMP, url VARCHAR, \
     ip VARCHAR(45), port INTEGER, intime TIMESTAMP, scanmemo VARCHAR";
const URL_SCANS_KEY: &str =
    "PRIMARY KEY (md5url, sitecode, status, code, sdate, type, free, close, queue, scantype, stime)";

const URL_SCANS_INDEX: &str = "CREATE INDEX by_site ON url_scans (sitecode, sdate)";

/// What one engine did with the CSV: all of it, the index alone, and the bytes on disk.
#[derive(Clone, Copy)]
struct Imported {
    all: Duration,
    index: Duration,
    bytes: u64,
}

/// A table of sixteen columns from CSV, with its primary key and an index.
pub fn import(setting: &Setting<'_>) -> Result<Vec<Line>, Failure> {
    let rows = setting.rows * 10;
    let csv = setting.directory.join("url_scans.csv");
    let mut file = BufWriter::new(std::fs::File::create(&csv)?);
    UrlScans::new(rows as u64, 1).write_csv(&mut file)?;
    drop(file);
    forget_peak();
    let ours = import_into_rukh(setting, &csv)?;
    let peak = peak_bytes();
    let postgres = setting.postgres.map(|server| import_into_postgres(server, &csv));
    let postgres = postgres.transpose()?;
    let sqlite = import_into_sqlite(setting, &csv)?;
    std::fs::remove_file(&csv)?;
    let line = |what: &str, figure: &dyn Fn(Imported) -> Figure, bar| Line {
        work: format!("{what} of {rows} url_scans"),
        rukh: figure(ours),
        postgres: postgres.map(figure),
        sqlite: sqlite.map(figure),
        bar,
    };
    let per_second = |time| Figure::PerSecond(rows, time);
    let mut lines = vec![
        line(
            "import with primary key and index",
            &|imported| per_second(imported.all),
            Bar::Better(Some(3.0), Some(5.0)),
        ),
        line(
            "CREATE INDEX",
            &|imported| per_second(imported.index),
            Bar::Better(Some(1.0), None),
        ),
        line(
            "bytes on disk",
            &|imported| Figure::Bytes(imported.bytes),
            Bar::Better(Some(4.0), Some(3.0)),
        ),
    ];
    lines.extend(peak.map(|peak| Line {
        work: format!("most memory during the import of {rows} url_scans"),
        rukh: Figure::Bytes(peak),
        postgres: None,
        sqlite: None,
        bar: Bar::Megabytes(2000.0),
    }));
    Ok(lines)
}

fn import_into_rukh(setting: &Setting<'_>, csv: &Path) -> Result<Imported, Failure> {
    let engine = rukh(setting.directory, "import")?;
    let started = Instant::now();
    must_run(
        &engine,
        &[
            format!("CREATE TABLE url_scans ({URL_SCANS}, {URL_SCANS_KEY})"),
            format!(
                "COPY url_scans FROM '{}' WITH (FORMAT csv, HEADER true)",
                csv.display()
            ),
        ],
    )?;
    let index = Instant::now();
    must_run(&engine, &[URL_SCANS_INDEX.to_owned()])?;
    let (all, index) = (started.elapsed(), index.elapsed());
    must_run(&engine, &["CHECKPOINT".to_owned(), "COMPACT".to_owned()])?;
    let bytes = bytes_below(&setting.directory.join("import"))?;
    Ok(Imported { all, index, bytes })
}

fn import_into_postgres(server: &PostgresServer, csv: &Path) -> Result<Imported, Failure> {
    let mut client = PostgresServer::connect(server, "postgres")?;
    client.batch_execute("DROP TABLE IF EXISTS url_scans")?;
    let started = Instant::now();
    client.batch_execute(&format!("CREATE TABLE url_scans ({URL_SCANS})"))?;
    let mut writer = client.copy_in("COPY url_scans FROM STDIN WITH (FORMAT csv, HEADER true)")?;
    std::io::copy(&mut std::fs::File::open(csv)?, &mut writer)?;
    writer.finish()?;
    client.batch_execute(&format!("ALTER TABLE url_scans ADD {URL_SCANS_KEY}"))?;
    let index = Instant::now();
    client.batch_execute(URL_SCANS_INDEX)?;
    let (all, index) = (started.elapsed(), index.elapsed());
    let row = client.query_one("SELECT pg_total_relation_size('url_scans')", &[])?;
    let bytes = row.get::<_, i64>(0) as u64;
    Ok(Imported { all, index, bytes })
}

/// `None` where SQLite is not installed.
fn import_into_sqlite(setting: &Setting<'_>, csv: &Path) -> Result<Option<Imported>, Failure> {
    let file = setting.directory.join("sqlite-import");
    let rows = [
        format!("CREATE TABLE url_scans ({URL_SCANS}, {URL_SCANS_KEY})"),
        format!(".import --csv --skip 1 \"{}\" url_scans", csv.display()),
    ];
    let Some(copied) = feed(&file, &rows)? else {
        return Ok(None);
    };
    let index = feed(&file, &[URL_SCANS_INDEX.to_owned()])?.unwrap_or_default();
    let bytes = std::fs::metadata(&file)?.len();
    Ok(Some(Imported {
        all: copied + index,
        index,
        bytes,
    }))
}
