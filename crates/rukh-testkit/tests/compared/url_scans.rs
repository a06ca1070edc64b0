//! Generated scans of URLs: every way to ask for them gives the rows that PostgreSQL gives.
//!
//! The rows are those of `rukh-bench`. `RUKH_URL_SCANS` says how many, `RUKH_SEED` which questions:
//!
//! ```text
//! RUKH_URL_SCANS=10000000 cargo test --release --workspace --test url_scans -- --nocapture
//! ```

#![allow(clippy::unwrap_used)]

use std::io::BufWriter;
use std::time::Instant;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rukh::Database;
use rukh_bench::{UrlScan, UrlScans};
use rukh_keys::{DataType, Datum};
use rukh_testkit::client::Client;
use rukh_testkit::postgres::{self, PostgresDatabase};
use rukh_testkit::scripts::statements;
use rukh_testkit::seed::{Cases, number};
use rukh_testkit::tokens::is_ordered;
use rukh_testkit::translate::{Translator, with_hint};
use rukh_testkit::{load, need, paths};

/// Rows of the table by default.
const ROWS: u64 = 20_000;

/// Rounds of questions: each asks a point, a prefix, an index and a subset of the fields.
const ROUNDS: u64 = 25;

#[test]
fn scans_are_found_by_any_fields() {
    let Some(postgres) = need::or_skip("url_scans", postgres::database()) else {
        return;
    };
    let rows = number("RUKH_URL_SCANS").unwrap_or(ROWS);
    let cases = Cases::from_environment("url_scans", ROUNDS);
    let scans = UrlScans::new(rows, 1);
    let directory = tempfile::tempdir().unwrap();
    let csv = directory.path().join("scans.csv");
    let file = std::fs::File::create(&csv).unwrap();
    scans
        .clone()
        .write_csv(&mut BufWriter::with_capacity(1 << 20, file))
        .unwrap();
    let database = Database::open(directory.path().join("db")).unwrap();
    let mut pair = Pair {
        rukh: Client::new(&database),
        postgres,
        translator: Translator::new(),
    };
    pair.load(&csv.display().to_string());
    pair.rukh.check("url_scans").unwrap();
    let mut count = 0;
    for case in cases.iter() {
        let random = &mut case.random();
        for sql in questions(&scans, rows, random) {
            if let Err(difference) = pair.compare(&sql) {
                panic!("{}\n{sql}\n{difference}", case.replay());
            }
            count += 1;
        }
    }
    println!("{rows} rows, {count} questions: the same rows");
}

struct Pair {
    rukh: Client,
    postgres: PostgresDatabase,
    translator: Translator,
}

impl Pair {
    /// Makes the table and the index of the script, and loads the file into both databases.
    fn load(&mut self, csv: &str) {
        let script = paths::read_script("url_scans");
        let columns = UrlScans::COLUMNS.join(", ");
        let copy = format!("COPY url_scans ({columns}) FROM '{csv}' WITH (FORMAT csv, HEADER true)");
        let is_definition = |sql: &&str| sql.starts_with("CREATE ");
        let statements = statements(&script);
        let definitions: Vec<&str> = statements
            .iter()
            .map(|statement| statement.sql.trim())
            .filter(is_definition)
            .collect();
        assert!(definitions.len() >= 2, "the script makes a table and an index");
        for sql in definitions {
            self.rukh.run(sql).unwrap();
            if let Some(sql) = self.translator.translate(sql) {
                self.postgres.execute(&sql).unwrap();
            }
        }
        let started = Instant::now();
        self.rukh.run(&copy).unwrap();
        println!("Rukh: COPY in {:.1} s", started.elapsed().as_secs_f64());
        let started = Instant::now();
        load::copy_from(&mut self.postgres, &copy).unwrap();
        println!("PostgreSQL: COPY in {:.1} s", started.elapsed().as_secs_f64());
        self.postgres.execute("ANALYZE url_scans").unwrap();
    }

    /// Asks as written, by a full scan, and without the direct path.
    fn compare(&mut self, sql: &str) -> Result<(), String> {
        let translated = self.translator.translate(sql).unwrap();
        let expected = self
            .postgres
            .query(&translated)
            .map_err(|error| format!("PostgreSQL: {error}"))?;
        let ways = [
            ("as written", sql.to_owned(), "auto"),
            ("by a full scan", with_hint(sql, "FULL_SCAN"), "auto"),
            ("without the direct path", sql.to_owned(), "general"),
        ];
        for (way, sql, path) in ways {
            self.rukh
                .run(&format!("SET execution_path = {path}"))
                .map_err(|error| error.to_string())?;
            let table = self.rukh.query(&sql).map_err(|error| format!("{way}: {error}"))?;
            table
                .same_rows(expected.clone(), is_ordered(&sql))
                .map_err(|difference| format!("{way}: {difference}"))?;
        }
        Ok(())
    }
}

/// A point read, a prefix range, an index range and a masked scan on a subset of the ten fields.
fn questions(scans: &UrlScans, rows: u64, random: &mut StdRng) -> Vec<String> {
    let row = scans.row(random.random_range(0..rows));
    let fields = conditions(&row);
    let all: Vec<&str> = fields.iter().map(String::as_str).collect();
    let prefix = random.random_range(1..=4);
    let time = DataType::TIMESTAMP.format_text(&Datum::Timestamp(row.stime));
    let mut subset = all.clone();
    subset.shuffle(random);
    subset.truncate(random.random_range(1..=4));
    let subset = subset.join(" AND ");
    vec![
        format!(
            "SELECT * FROM url_scans WHERE {} AND stime = '{time}'",
            all.join(" AND ")
        ),
        format!("SELECT * FROM url_scans WHERE {}", all[..prefix].join(" AND ")),
        format!(
            "SELECT md5url, sitecode, ip, port, scanmemo FROM url_scans WHERE {} AND {} AND status = {}",
            fields[4], fields[3], row.status
        ),
        format!("SELECT count(*), min(stime), max(url), sum(port) FROM url_scans WHERE {subset}"),
        format!(
            "SELECT md5url, stime FROM url_scans WHERE {subset} AND code <> 200 ORDER BY stime DESC, md5url LIMIT 20"
        ),
    ]
}

/// One condition for each of the ten fields, in their order.
fn conditions(row: &UrlScan) -> [String; 10] {
    let day = DataType::Date.format_text(&Datum::Date(row.sdate));
    [
        format!("md5url = '{}'", row.md5url),
        format!("sitecode = '{}'", row.sitecode),
        format!("status = {}", row.status),
        format!("code = {}", row.code),
        format!("sdate = '{day}'"),
        format!("type = '{}'", row.kind),
        format!("free = {}", row.free),
        format!("close = {}", row.close),
        format!("queue = {}", row.queue),
        format!("scantype = {}", row.scantype),
    ]
}
