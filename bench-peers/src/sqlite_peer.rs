//! SQLite, bundled, set up for this table as its documentation recommends.
//!
//! The load is one transaction of prepared inserts without journal and sync, the index made at the end.
//! Reads have the same cache as Rukh's, and the operating system's file cache below, as Rukh has.

use std::path::Path;
use std::sync::mpsc;
use std::thread;

use rukh_bench::{UrlScan, UrlScans};
use rusqlite::{Connection, OpenFlags, ToSql, params};

use crate::peer::{Failure, Peer};
use crate::scans;

/// Rows handed over at once from the thread that generates them.
const BATCH: usize = 10_000;

/// A connection to a database that holds the table.
pub struct SqlitePeer {
    connection: Connection,
}

impl SqlitePeer {
    /// Returns the version of the library.
    pub fn version() -> &'static str {
        rusqlite::version()
    }

    /// Makes the database `file` and loads the table; rows come from a thread that generates them.
    pub fn load(file: &Path, rows: u64, seed: u64, cache_mib: u32) -> Result<(), Failure> {
        let mut connection = Connection::open(file)?;
        connection.execute_batch("PRAGMA page_size = 8192; PRAGMA synchronous = OFF")?;
        connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
        set_cache(&connection, cache_mib)?;
        connection.execute_batch(scans::SQLITE_TABLE)?;
        let transaction = connection.transaction()?;
        let (sender, receiver) = mpsc::sync_channel::<Vec<UrlScan>>(4);
        thread::scope(|scope| {
            scope.spawn(move || generate(rows, seed, &sender));
            insert(&transaction, receiver)
        })?;
        transaction.commit()?;
        connection.execute_batch(scans::INDEX)?;
        Ok(())
    }

    /// Adds the readings.
    pub fn load_readings(file: &Path, rows: u64, cache_mib: u32) -> Result<(), Failure> {
        let mut connection = Connection::open(file)?;
        connection.execute_batch("PRAGMA synchronous = OFF")?;
        connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
        set_cache(&connection, cache_mib)?;
        connection.execute_batch(&format!("{} WITHOUT ROWID", scans::READINGS_TABLE))?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO readings VALUES (?, ?, ?)")?;
            for (sensor, at, value) in scans::readings(rows) {
                insert.execute(params![sensor, at, value])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Reads pairs of numbers.
    fn read_numbers(&self, sql: &str) -> Result<u64, Failure> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            std::hint::black_box((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
            count += 1;
        }
        Ok(count)
    }

    /// Opens the database `file` for reading.
    pub fn open(file: &Path, cache_mib: u32) -> Result<SqlitePeer, Failure> {
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        set_cache(&connection, cache_mib)?;
        Ok(SqlitePeer { connection })
    }

    /// Runs a statement once for each list of parameters; every row is read as two texts.
    fn read_texts<'a>(
        &self,
        sql: &str,
        all_params: impl Iterator<Item = Vec<&'a dyn ToSql>>,
    ) -> Result<u64, Failure> {
        let mut statement = self.connection.prepare(sql)?;
        let mut count = 0;
        for params in all_params {
            let mut rows = statement.query(params.as_slice())?;
            while let Some(row) = rows.next()? {
                std::hint::black_box((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
                count += 1;
            }
        }
        Ok(count)
    }
}

impl Peer for SqlitePeer {
    fn points(&mut self, keys: &[UrlScan]) -> Result<u64, Failure> {
        self.read_texts(scans::POINT, keys.iter().map(key_params))
    }

    fn prefixes(&mut self, sites: &[String]) -> Result<u64, Failure> {
        self.read_texts(scans::PREFIX, sites.iter().map(|site| vec![site as &dyn ToSql]))
    }

    fn by_index(&mut self, days: &[(i32, i16)]) -> Result<u64, Failure> {
        let params = days
            .iter()
            .map(|(day, code)| vec![day as &dyn ToSql, code as &dyn ToSql]);
        self.read_texts(scans::BY_INDEX, params)
    }

    fn covered(&mut self, days: &[(i32, i16)]) -> Result<u64, Failure> {
        let params = days
            .iter()
            .map(|(day, code)| vec![day as &dyn ToSql, code as &dyn ToSql]);
        self.read_texts(scans::COVERED, params)
    }

    fn plain_points(&mut self, keys: &[UrlScan]) -> Result<u64, Failure> {
        let mut count = 0;
        for key in keys {
            let text = scans::point_text(key, &key.sdate.to_string(), &key.stime.to_string());
            count += self.read_texts(&text, [Vec::new()].into_iter())?;
        }
        Ok(count)
    }

    fn skip_scan(&mut self, sql: &str) -> Result<u64, Failure> {
        self.read_numbers(sql)
    }

    fn range(&mut self) -> Result<u64, Failure> {
        let mut statement = self.connection.prepare(scans::RANGE)?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            std::hint::black_box((row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?));
            count += 1;
        }
        Ok(count)
    }

    fn last_values(&mut self) -> Result<u64, Failure> {
        self.read_numbers(scans::SQLITE_LAST)
    }

    fn masked_scan(&mut self) -> Result<u64, Failure> {
        let sql = "SELECT sitecode, md5url FROM scans NOT INDEXED
            WHERE code = 404 AND sdate > $1 AND sdate < $2 AND free = 0";
        let params: Vec<&dyn ToSql> = vec![&scans::AFTER_DAY, &scans::BEFORE_DAY];
        self.read_texts(sql, [params].into_iter())
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let count: i64 = self.connection.query_row(scans::COUNT, [], |row| row.get(0))?;
        Ok(count as u64)
    }

    fn keys_examined(&self) -> Option<u64> {
        None
    }
}

fn set_cache(connection: &Connection, cache_mib: u32) -> Result<(), Failure> {
    // A negative size is in KiB.
    connection.pragma_update(None, "cache_size", -i64::from(cache_mib) * 1024)?;
    Ok(())
}

fn generate(rows: u64, seed: u64, sender: &mpsc::SyncSender<Vec<UrlScan>>) {
    let mut table = UrlScans::new(rows, seed).peekable();
    while table.peek().is_some() {
        let batch = table.by_ref().take(BATCH).collect();
        if sender.send(batch).is_err() {
            return; // The load has failed, and says why itself.
        }
    }
}

fn insert(connection: &Connection, batches: mpsc::Receiver<Vec<UrlScan>>) -> Result<(), Failure> {
    let mut statement =
        connection.prepare("INSERT INTO scans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for row in batches.into_iter().flatten() {
        statement.execute(params![
            row.sitecode,
            row.md5url,
            row.status,
            row.code,
            row.sdate,
            row.free,
            row.close,
            row.queue,
            row.scantype,
            row.stime,
            row.kind,
            row.url,
            row.ip,
            row.port,
            row.intime,
            row.scanmemo,
        ])?;
    }
    Ok(())
}

fn key_params(row: &UrlScan) -> Vec<&dyn ToSql> {
    vec![
        &row.sitecode,
        &row.md5url,
        &row.status,
        &row.code,
        &row.sdate,
        &row.free,
        &row.close,
        &row.queue,
        &row.scantype,
        &row.stime,
    ]
}
