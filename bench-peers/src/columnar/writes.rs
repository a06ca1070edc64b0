//! How fast tables and indexes of either layout take rows.
//!
//! Statements are prepared, and `synchronous_commit` is off: what is compared is the work, not the disk. Columnar tables and indexes are
//! repacked by the writers, which fold what is past 5 %; the report says what is left at the end.

use std::time::Instant;

use rukh::{Connection, DataType, Datum, Statement, Value};
use rukh_bench::Random;

use super::bars::{Bar, Bars};
use super::layouts::{ask, open};
use crate::arguments::Arguments;
use crate::files;
use crate::peer::Failure;

/// A way to store a table that is written to: its name, what stands behind CREATE TABLE, and its index.
struct Written {
    name: &'static str,
    using: &'static str,
    index: Option<&'static str>,
    repack: Option<&'static str>,
}

const ROWS: Written = Written {
    name: "rows",
    using: "",
    index: None,
    repack: None,
};
const COVERING: Written = Written {
    name: "rows, covering index",
    using: "",
    index: Some("CREATE INDEX w_b ON w (b) INCLUDE (c, d, e)"),
    repack: None,
};
const COLUMNAR_INDEX: Written = Written {
    name: "rows, columnar index",
    using: "",
    index: Some("CREATE INDEX w_b ON w USING columnar (b)"),
    repack: Some("ALTER INDEX w_b REPACK"),
};
const COLUMNAR: Written = Written {
    name: "columnar",
    using: " USING columnar",
    index: None,
    repack: Some("ALTER TABLE w REPACK"),
};

/// Rows of a statement that writes many.
const BATCH: u64 = 100;

/// Rows a second of each kind of writes.
struct Rates {
    single: f64,
    batched: f64,
    churned: f64,
    appended: f64,
}

/// Measures all ways.
pub fn measure(arguments: &Arguments, bars: &mut Bars) -> Result<(), Failure> {
    println!(
        "{:24} {:>12} {:>12} {:>16} {:>12}",
        "rows a second", "single", "batches", "at 5 % delta", "appended"
    );
    let rows = written(arguments, &ROWS)?;
    let covering = written(arguments, &COVERING)?;
    let index = written(arguments, &COLUMNAR_INDEX)?;
    let columnar = written(arguments, &COLUMNAR)?;
    println!();
    let mut note = |work: &str, ratio: f64, limit: f64| bars.note(work, ratio, Bar::AtLeast(limit));
    note(
        "single UPSERT, columnar index/covering index",
        index.single / covering.single,
        0.6,
    );
    note(
        "batched UPSERT, columnar index/covering index",
        index.batched / covering.batched,
        0.6,
    );
    note(
        "random UPSERT at 5 % delta, repack running (columnar)/rows",
        columnar.churned / rows.churned,
        0.5,
    );
    note(
        "appends in the order of time (columnar)/rows",
        columnar.appended / rows.appended,
        1.0,
    );
    Ok(())
}

fn written(arguments: &Arguments, way: &Written) -> Result<Rates, Failure> {
    eprintln!("writing: {}", way.name);
    let place = arguments.dir.join("written");
    files::remove(&place)?;
    let stored = (arguments.rows / 5).max(10_000);
    let database = open(&place, arguments.cache_mib)?;
    let mut connection = database.connect();
    connection.execute(&format!(
        "CREATE TABLE w (a BIGINT PRIMARY KEY, b INTEGER NOT NULL, c VARCHAR, d DOUBLE, e TIMESTAMP){}",
        way.using
    ))?;
    // A table of its own, so that rows come behind all others.
    connection.execute(&format!(
        "CREATE TABLE l (at TIMESTAMP, host INTEGER, c VARCHAR, d DOUBLE, PRIMARY KEY (at, host)){}",
        way.using
    ))?;
    if let Some(index) = way.index {
        connection.execute(index)?;
    }
    connection.execute("SET synchronous_commit = off")?;
    for first in (1..=stored).step_by(100_000) {
        let last = (first + 99_999).min(stored);
        connection.execute(&format!(
            "INSERT INTO w SELECT n, n % 1000, 'text ' || CAST(n AS VARCHAR), n / 8.0, TIMESTAMP '2020-01-01 00:00:00'
             FROM generate_series({first}, {last}) AS s(n)"
        ))?;
    }
    if let Some(repack) = way.repack {
        connection.execute(repack)?;
    }
    let mut random = Random::new(arguments.seed, 5);
    let (one, many) = (upsert(&mut connection, 1)?, upsert(&mut connection, BATCH)?);
    let reads = arguments.reads;
    let mut key = || 1 + random.below(stored);
    let single = rate(&mut connection, &one, reads, 1, &mut |at| row(key(), at))?;
    let batched = rate(&mut connection, &many, reads * 5, BATCH, &mut |at| row(key(), at))?;
    // As many changes as writers leave before they fold: 5 % of the rows, or what is folded at least.
    let delta = (stored / 20).max(65_536);
    rate(&mut connection, &many, delta, BATCH, &mut |at| row(key(), at))?;
    let churned = rate(&mut connection, &many, reads * 25, BATCH, &mut |at| {
        row(key(), at)
    })?;
    let state = match way.repack {
        Some(_) => ask(&mut connection, "SHOW INDEXES FROM w")?.1,
        None => Vec::new(),
    };
    let parameters: Vec<String> = (0..BATCH).map(|_| "(?, ?, ?, ?)".to_string()).collect();
    let append = numbered(&format!("UPSERT INTO l VALUES {}", parameters.join(", ")));
    let append = connection.prepare(&append)?;
    let appended = rate(&mut connection, &append, reads * 25, BATCH, &mut entry)?;
    let (_, counted) = ask(&mut connection, "SELECT count(*) FROM w")?;
    if counted != [stored.to_string()] {
        let message = format!("{}: {counted:?} rows after upserts of {stored}", way.name);
        return Err(Failure::new(message));
    }
    println!(
        "{:24} {single:12.0} {batched:12.0} {churned:16.0} {appended:12.0}",
        way.name
    );
    if let Some(state) = state.iter().find(|cell| cell.contains("columnar:")) {
        println!("{:24} after upserts at 5 % delta: {state}", "");
    }
    Ok(Rates {
        single,
        batched,
        churned,
        appended,
    })
}

fn upsert(connection: &mut Connection, rows: u64) -> Result<Statement, Failure> {
    let parameters: Vec<String> = (0..rows).map(|_| "(?, ?, ?, ?, ?)".to_string()).collect();
    let sql = numbered(&format!("UPSERT INTO w VALUES {}", parameters.join(", ")));
    Ok(connection.prepare(&sql)?)
}

/// Writes `$1`, `$2`, … for each `?`.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let first = parts.next().unwrap_or_default().to_string();
    parts.enumerate().fold(first, |sql, (at, part)| {
        let number = at + 1;
        format!("{sql}${number}{part}")
    })
}

fn row(key: u64, at: u64) -> Vec<Value> {
    vec![
        Value::new(Datum::Int(key as i64), DataType::BigInt),
        Value::new(Datum::Int((at % 1000) as i64), DataType::Integer),
        Value::from(format!("new {at}").as_str()),
        Value::new(Datum::Float(at as f64 / 8.0), DataType::Double),
        Value::new(
            Datum::Timestamp(1_600_000_000_000_000 + at as i64),
            DataType::TIMESTAMP,
        ),
    ]
}

fn entry(at: u64) -> Vec<Value> {
    vec![
        Value::new(
            Datum::Timestamp(1_600_000_000_000_000 + (at / 4) as i64 * 1000),
            DataType::TIMESTAMP,
        ),
        Value::new(Datum::Int((at % 4) as i64), DataType::Integer),
        Value::from(format!("line {at}").as_str()),
        Value::new(Datum::Float(at as f64 / 8.0), DataType::Double),
    ]
}

/// Returns how many rows a second are taken.
fn rate(
    connection: &mut Connection,
    statement: &Statement,
    rows: u64,
    batch: u64,
    values: &mut dyn FnMut(u64) -> Vec<Value>,
) -> Result<f64, Failure> {
    let started = Instant::now();
    for first in (0..rows).step_by(batch as usize) {
        let params: Vec<Value> = (first..first + batch).flat_map(&mut *values).collect();
        connection.execute_prepared(statement, &params)?;
    }
    Ok(rows.next_multiple_of(batch) as f64 / started.elapsed().as_secs_f64())
}
