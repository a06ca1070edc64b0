//! Rukh, through its public API.

use std::path::Path;

use rukh::{Connection, DataType, Database, Datum, Options, Value};
use rukh_bench::{UrlScan, UrlScans};

use crate::peer::{Failure, Peer};
use crate::scans;

/// A connection to a database that holds the table.
pub struct RukhPeer {
    connection: Connection,
}

impl RukhPeer {
    /// Makes a database in `directory` and loads the table from a CSV file, its index included.
    pub fn load(directory: &Path, csv: &Path, cache_mib: u32) -> Result<(), Failure> {
        let mut peer = RukhPeer::open(directory, cache_mib)?;
        peer.connection.execute(scans::RUKH_TABLE)?;
        peer.connection.execute(scans::INDEX)?;
        let columns = UrlScans::COLUMNS.join(", ");
        let file = csv.display().to_string().replace('\'', "''");
        let copy = format!("COPY scans ({columns}) FROM '{file}' WITH (FORMAT csv, HEADER true)");
        peer.connection.execute(&copy)?;
        Ok(())
    }

    /// Adds the readings, from a CSV file.
    pub fn load_readings(directory: &Path, csv: &Path, cache_mib: u32) -> Result<(), Failure> {
        let mut peer = RukhPeer::open(directory, cache_mib)?;
        peer.connection.execute(scans::READINGS_TABLE)?;
        let file = csv.display().to_string().replace('\'', "''");
        peer.connection
            .execute(&format!("COPY readings FROM '{file}' WITH (FORMAT csv)"))?;
        Ok(())
    }

    /// Reads pairs of numbers.
    fn read_numbers(&mut self, sql: &str) -> Result<u64, Failure> {
        let statement = self.connection.prepare(sql)?;
        let mut rows = self.connection.query_prepared(&statement, &[])?;
        let mut count = 0;
        while let Some(row) = rows.next_row()? {
            std::hint::black_box((row.get::<i64>(0)?, row.get::<i64>(1)?));
            count += 1;
        }
        Ok(count)
    }

    /// Opens the database in `directory`, making it when there is none.
    pub fn open(directory: &Path, cache_mib: u32) -> Result<RukhPeer, Failure> {
        let cache_bytes = (cache_mib as usize) << 20;
        let database = Database::open_with(
            directory,
            Options {
                cache_bytes,
                ..Options::default()
            },
        )?;
        Ok(RukhPeer {
            connection: database.connect(),
        })
    }

    /// Runs a statement once for each list of parameters; every row is read as two texts.
    fn read_texts(
        &mut self,
        sql: &str,
        all_params: impl Iterator<Item = Vec<Value>>,
    ) -> Result<u64, Failure> {
        let statement = self.connection.prepare(sql)?;
        let mut count = 0;
        for params in all_params {
            let mut rows = self.connection.query_prepared(&statement, &params)?;
            while let Some(row) = rows.next_row()? {
                std::hint::black_box((row.get::<String>(0)?, row.get::<String>(1)?));
                count += 1;
            }
        }
        Ok(count)
    }
}

impl Peer for RukhPeer {
    fn points(&mut self, keys: &[UrlScan]) -> Result<u64, Failure> {
        self.read_texts(scans::POINT, keys.iter().map(key_values))
    }

    fn prefixes(&mut self, sites: &[String]) -> Result<u64, Failure> {
        self.read_texts(
            scans::PREFIX,
            sites.iter().map(|site| vec![Value::from(site.as_str())]),
        )
    }

    fn by_index(&mut self, days: &[(i32, i16)]) -> Result<u64, Failure> {
        let params = days
            .iter()
            .map(|(day, code)| vec![date(*day), Value::from(*code)]);
        self.read_texts(scans::BY_INDEX, params)
    }

    fn covered(&mut self, days: &[(i32, i16)]) -> Result<u64, Failure> {
        let params = days
            .iter()
            .map(|(day, code)| vec![date(*day), Value::from(*code)]);
        self.read_texts(scans::COVERED, params)
    }

    fn plain_points(&mut self, keys: &[UrlScan]) -> Result<u64, Failure> {
        let mut count = 0;
        for key in keys {
            let day = DataType::Date.format_text(&Datum::Date(key.sdate));
            let moment = DataType::TIMESTAMP.format_text(&Datum::Timestamp(key.stime));
            let text = scans::point_text(key, &format!("'{day}'"), &format!("'{moment}'"));
            let mut rows = self.connection.query(&text)?;
            while let Some(row) = rows.next_row()? {
                std::hint::black_box((row.get::<String>(0)?, row.get::<String>(1)?));
                count += 1;
            }
        }
        Ok(count)
    }

    fn skip_scan(&mut self, sql: &str) -> Result<u64, Failure> {
        self.read_numbers(sql)
    }

    fn range(&mut self) -> Result<u64, Failure> {
        let mut rows = self.connection.query(scans::RANGE)?;
        let mut count = 0;
        while let Some(batch) = rows.next_batch()? {
            count += std::hint::black_box(batch).num_rows() as u64;
        }
        Ok(count)
    }

    fn last_values(&mut self) -> Result<u64, Failure> {
        self.read_numbers(scans::RUKH_LAST)
    }

    fn masked_scan(&mut self) -> Result<u64, Failure> {
        let sql = "SELECT /*+ NO_INDEX */ sitecode, md5url FROM scans
            WHERE code = 404 AND sdate > $1 AND sdate < $2 AND free = false";
        self.read_texts(
            sql,
            [vec![date(scans::AFTER_DAY), date(scans::BEFORE_DAY)]].into_iter(),
        )
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let mut rows = self.connection.query(scans::COUNT)?;
        let row = rows
            .next_row()?
            .ok_or_else(|| Failure::new("count(*) gave no row"))?;
        Ok(row.get::<i64>(0)? as u64)
    }

    fn keys_examined(&self) -> Option<u64> {
        self.connection
            .last_query_stats()
            .map(|stats| stats.counters.keys_examined)
    }
}

fn key_values(row: &UrlScan) -> Vec<Value> {
    vec![
        Value::from(row.sitecode.as_str()),
        Value::from(row.md5url.as_str()),
        Value::from(row.status),
        Value::from(row.code),
        date(row.sdate),
        Value::from(row.free),
        Value::from(row.close),
        Value::from(row.queue),
        Value::from(row.scantype),
        Value::new(Datum::Timestamp(row.stime), DataType::TIMESTAMP),
    ]
}

fn date(day: i32) -> Value {
    Value::new(Datum::Date(day), DataType::Date)
}
