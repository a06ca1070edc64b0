//! The table that both engines hold, and the keys of the questions.
//!
//! ```text
//! scans (sitecode, md5url, status, code, sdate, free, close, queue, scantype, stime)   60 bytes of key
//! scans_by_day (sdate, code)
//! ```
//!
//! Every key column has a fixed width, so that both engines compare the same bytes. SQLite holds days
//! and moments as integers and the table WITHOUT ROWID, which is its best for such a key.

use rukh_bench::{Random, UrlScan, UrlScans};

/// Rukh's table.
pub const RUKH_TABLE: &str = "CREATE TABLE scans (
    sitecode CHAR(10) NOT NULL, md5url CHAR(32) NOT NULL, status SMALLINT NOT NULL, code SMALLINT NOT NULL,
    sdate DATE NOT NULL, free BOOLEAN NOT NULL, close BOOLEAN NOT NULL, queue BOOLEAN NOT NULL,
    scantype TINYINT NOT NULL, stime TIMESTAMP NOT NULL,
    type VARCHAR NOT NULL, url VARCHAR, ip VARCHAR, port INTEGER, intime TIMESTAMP, scanmemo VARCHAR,
    PRIMARY KEY (sitecode, md5url, status, code, sdate, free, close, queue, scantype, stime))";

/// SQLite's table.
pub const SQLITE_TABLE: &str = "CREATE TABLE scans (
    sitecode TEXT NOT NULL, md5url TEXT NOT NULL, status INTEGER NOT NULL, code INTEGER NOT NULL,
    sdate INTEGER NOT NULL, free INTEGER NOT NULL, close INTEGER NOT NULL, queue INTEGER NOT NULL,
    scantype INTEGER NOT NULL, stime INTEGER NOT NULL,
    type TEXT NOT NULL, url TEXT, ip TEXT, port INTEGER, intime INTEGER, scanmemo TEXT,
    PRIMARY KEY (sitecode, md5url, status, code, sdate, free, close, queue, scantype, stime)) WITHOUT ROWID";

/// The index, in both.
pub const INDEX: &str = "CREATE INDEX scans_by_day ON scans (sdate, code)";

/// One row by its whole key. SQLite numbers `$1`, `$2` by their first appearance, which is their order.
pub const POINT: &str = "SELECT url, ip FROM scans WHERE sitecode = $1 AND md5url = $2 AND status = $3
    AND code = $4 AND sdate = $5 AND free = $6 AND close = $7 AND queue = $8 AND scantype = $9 AND stime = $10";

/// The first ten rows of one site.
pub const PREFIX: &str = "SELECT md5url, url FROM scans WHERE sitecode = $1 LIMIT 10";

/// 300 rows of one day and code: index entries, and a lookup for each.
pub const BY_INDEX: &str = "SELECT url, ip FROM scans WHERE sdate = $1 AND code = $2 LIMIT 300";

/// 300 entries of one day and code, which hold all wanted columns.
pub const COVERED: &str = "SELECT sitecode, md5url FROM scans WHERE sdate = $1 AND code = $2 LIMIT 300";

/// Columns of all rows.
pub const RANGE: &str = "SELECT md5url, url, ip FROM scans";

/// Sensors, each of which has as many readings as the others.
pub const SENSORS: u64 = 1000;

/// Readings of sensors, in both.
pub const READINGS_TABLE: &str = "CREATE TABLE readings (
    sensor INTEGER NOT NULL, at BIGINT NOT NULL, value DOUBLE PRECISION NOT NULL, PRIMARY KEY (sensor, at))";

/// Rukh's last reading of each sensor.
pub const RUKH_LAST: &str = "SELECT DISTINCT ON (sensor) sensor, at FROM readings ORDER BY sensor, at DESC";

/// SQLite's last reading of each sensor, by a seek for each.
pub const SQLITE_LAST: &str = "WITH RECURSIVE sensors (sensor) AS (
    SELECT min(sensor) FROM readings
    UNION ALL
    SELECT (SELECT min(sensor) FROM readings WHERE sensor > sensors.sensor) FROM sensors WHERE sensor IS NOT NULL)
    SELECT sensor, (SELECT max(at) FROM readings WHERE readings.sensor = sensors.sensor) FROM sensors
    WHERE sensor IS NOT NULL";

/// Seconds between the readings of a sensor.
pub const READING_SECONDS: u64 = 60;

/// Returns about `rows` readings: sensor, second, value.
pub fn readings(rows: u64) -> impl Iterator<Item = (u64, u64, f64)> {
    let of_each = (rows / SENSORS).max(1);
    let of_sensor = move |sensor: u64| {
        (0..of_each).map(move |at| (sensor, at * READING_SECONDS, (at % 977) as f64 / 8.0))
    };
    (0..SENSORS).flat_map(of_sensor)
}

/// Returns the statement that reads 10,000 keys, given as the product of two lists.
pub fn skip_scan(rows: u64, seed: u64) -> String {
    let mut random = Random::new(seed, 1 << 60);
    let of_each = (rows / SENSORS).max(1);
    let mut distinct = |count: usize, below: u64| {
        let mut some = std::collections::BTreeSet::new();
        while some.len() < count.min(below as usize) {
            some.insert(random.below(below));
        }
        some
    };
    let texts = |some: std::collections::BTreeSet<u64>, scale: u64| {
        let texts: Vec<String> = some.into_iter().map(|one| (one * scale).to_string()).collect();
        texts.join(", ")
    };
    format!(
        "SELECT sensor, at FROM readings WHERE sensor IN ({}) AND at IN ({})",
        texts(distinct(500, SENSORS), 1),
        texts(distinct(20, of_each), READING_SECONDS)
    )
}

/// Returns the point read with its key written out.
pub fn point_text(row: &UrlScan, day: &str, moment: &str) -> String {
    format!(
        "SELECT url, ip FROM scans WHERE sitecode = '{}' AND md5url = '{}' AND status = {} AND code = {} AND sdate = {day}
         AND free = {} AND close = {} AND queue = {} AND scantype = {} AND stime = {moment}",
        row.sitecode, row.md5url, row.status, row.code, row.free, row.close, row.queue, row.scantype
    )
}

/// All rows.
pub const COUNT: &str = "SELECT count(*) FROM scans";

/// First day, excluded, of the scan by conditions in the middle of the key: 2016-12-01.
pub const AFTER_DAY: i32 = 17_136;
/// Last day, excluded: 2016-12-10.
pub const BEFORE_DAY: i32 = 17_145;

/// The keys that one round asks for.
pub struct Questions {
    /// Rows whose whole keys are read.
    pub points: Vec<UrlScan>,
    /// Sites whose first rows are read.
    pub sites: Vec<String>,
    /// Days and codes whose rows are read.
    pub days: Vec<(i32, i16)>,
    /// The statement that lists the parts of 10,000 keys.
    pub skip_scan: String,
}

impl Questions {
    /// Draws the keys of a round at random from the rows of the table.
    pub fn draw(rows: u64, seed: u64, round: u32, reads: u64) -> Questions {
        let table = UrlScans::new(rows, seed);
        let mut random = Random::new(seed, u64::from(round) | 1 << 63);
        let mut some = |count: u64| -> Vec<UrlScan> {
            (0..count.max(1)).map(|_| table.row(random.below(rows))).collect()
        };
        Questions {
            points: some(reads),
            sites: some(reads / 10).into_iter().map(|row| row.sitecode).collect(),
            days: some(reads / 100)
                .into_iter()
                .map(|row| (row.sdate, 404))
                .collect(),
            skip_scan: skip_scan(rows, seed),
        }
    }
}
