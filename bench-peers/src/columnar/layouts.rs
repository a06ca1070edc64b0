//! The layouts of tables that are compared, and how they are loaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rukh::{Connection, Database, Datum, Options};
use rukh_bench::UrlScans;

use super::lineitem;
use crate::arguments::Arguments;
use crate::files;
use crate::peer::Failure;
use crate::scans;

/// How tables are stored.
pub struct Layout {
    /// Its name, and that of its directory.
    pub name: &'static str,
    /// What stands behind CREATE TABLE.
    pub using: &'static str,
    /// The indexes.
    pub indexes: &'static [&'static str],
}

/// Tables in rows.
pub const ROWS: usize = 0;
/// Tables in rows with a columnar index of all columns.
pub const INDEX: usize = 1;
/// Columnar tables.
pub const TABLE: usize = 2;

/// All layouts.
pub const LAYOUTS: [Layout; 3] = [
    Layout {
        name: "rows",
        using: "",
        indexes: &[scans::INDEX],
    },
    Layout {
        name: "index",
        using: "",
        indexes: &[
            "CREATE INDEX scans_all ON scans USING columnar",
            "CREATE INDEX lineitem_all ON lineitem USING columnar",
        ],
    },
    Layout {
        name: "columnar",
        using: " USING columnar",
        indexes: &[scans::INDEX],
    },
];

impl Layout {
    /// Returns its directory.
    pub fn place(&self, arguments: &Arguments) -> PathBuf {
        arguments.dir.join(self.name)
    }

    /// Opens its database with the cache of the command line.
    pub fn open(&self, arguments: &Arguments) -> Result<Connection, Failure> {
        Ok(open(&self.place(arguments), arguments.cache_mib)?.connect())
    }

    /// Loads both tables.
    pub fn load(&self, arguments: &Arguments, csv: &Path, lines: &Path) -> Result<(), Failure> {
        eprintln!("loading {}", self.name);
        let place = self.place(arguments);
        files::remove(&place)?;
        let started = Instant::now();
        let mut connection = self.open(arguments)?;
        connection.execute(&format!("{}{}", scans::RUKH_TABLE, self.using))?;
        connection.execute(&format!("{}{}", lineitem::TABLE, self.using))?;
        let columns = UrlScans::COLUMNS.join(", ");
        for (table, file) in [
            (format!("scans ({columns})"), csv),
            ("lineitem".to_string(), lines),
        ] {
            let file = file.display().to_string().replace('\'', "''");
            connection.execute(&format!(
                "COPY {table} FROM '{file}' WITH (FORMAT csv, HEADER true)"
            ))?;
        }
        for index in self.indexes {
            connection.execute(index)?;
        }
        connection.execute("ANALYZE scans")?;
        connection.execute("ANALYZE lineitem")?;
        connection.execute("CHECKPOINT")?;
        println!("load {:<9} {:7.1} s", self.name, started.elapsed().as_secs_f64());
        Ok(())
    }

    /// Returns the bytes of its files.
    pub fn bytes(&self, arguments: &Arguments) -> Result<u64, Failure> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.place(arguments))? {
            let entry = entry?;
            let is_sorted = entry.path().extension().is_some_and(|ending| ending == "sst");
            bytes += if is_sorted { entry.metadata()?.len() } else { 0 };
        }
        Ok(bytes)
    }
}

/// Opens or makes a database.
pub fn open(place: &Path, cache_mib: u32) -> Result<Database, Failure> {
    let options = Options {
        cache_bytes: (cache_mib as usize) << 20,
        ..Options::default()
    };
    Ok(Database::open_with(place, options)?)
}

/// Asks once: rows, and the cells of the first 100.
pub fn ask(connection: &mut Connection, sql: &str) -> Result<(u64, Vec<String>), Failure> {
    let mut rows = connection.query(sql)?;
    let (mut count, mut cells) = (0, Vec::new());
    while let Some(row) = rows.next_row()? {
        if count < 100 {
            cells.extend((0..row.len()).map(|at| cell(row.datum(at))));
        }
        count += 1;
    }
    Ok((count, cells))
}

fn cell(datum: &Datum) -> String {
    match datum {
        Datum::Int(value) => value.to_string(),
        Datum::Float(value) => value.to_string(),
        Datum::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Has the system forget the pages of files; `false` where it does not let us.
pub fn forget_files() -> Result<bool, Failure> {
    Command::new("sync").status()?;
    Ok(fs::write("/proc/sys/vm/drop_caches", "3").is_ok())
}
