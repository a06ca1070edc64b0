//! Opening a database: the files at a path, and the tables in them.

use super::failure::open_failure;
use super::logs::{self, LogDamage};
use super::options::Family;
use super::purge::Purges;
use super::share::{self, Share};
use super::snapshot::Tables;
use super::{RocksOptions, TableHandle, directory, options};
use crate::name::RESERVED;
use crate::{KvError, TableOptions};
use rocksdb::{Cache, ColumnFamilyDescriptor, DB};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

/// Returns whether there is a database at `path`; `NotADatabase` where there is something else.
pub(super) fn database_exists(path: &Path) -> Result<bool, KvError> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(KvError::NotADatabase {
                path: path.to_owned(),
            });
        }
        entries => entries,
    };
    let entries = entries.and_then(|entries| {
        entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect()
    });
    let entries: Vec<_> =
        entries.map_err(|error| KvError::io(format!("open database \"{}\"", path.display()), error))?;
    if entries.iter().any(|name| name == "CURRENT") {
        return Ok(true);
    }
    if entries.iter().all(|name| is_left_by_creation(name)) {
        return Ok(false);
    }
    Err(KvError::NotADatabase {
        path: path.to_owned(),
    })
}

/// Returns the places in logs at which RocksDB ends reading though whole records follow. Fails with `DamagedLog` where that is the first record
/// of a log: opening the database would forget all of it, and with the definitions whole tables.
pub(super) fn check_logs(path: &Path) -> Result<Vec<LogDamage>, KvError> {
    let mut damaged = logs::log_damage(path);
    damaged.retain(|log| log.is_followed);
    match damaged.iter().find(|log| log.offset == 0) {
        Some(log) => Err(KvError::DamagedLog {
            log: Some(log.clone()),
            table: None,
        }),
        None => Ok(damaged),
    }
}

/// Returns whether a file may be what an interrupted creation of a database leaves.
fn is_left_by_creation(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let named = ["LOCK", "LOG", "IDENTITY"].contains(&&*name);
    named || name.starts_with("LOG.old.") || name.starts_with("MANIFEST-") || name.ends_with(".dbtmp")
}

/// Returns the names of all column families but the one that every database has.
pub(super) fn family_names(path: &Path, options: &RocksOptions) -> Result<Vec<String>, KvError> {
    let names =
        DB::list_cf(&options::database(options, 0), path).map_err(|error| open_failure(path, error))?;
    Ok(names.into_iter().filter(|name| name != RESERVED).collect())
}

/// Opens the database with these column families.
pub(super) fn open_database(
    path: &Path,
    names: &[String],
    options: &RocksOptions,
    cache: &Cache,
    purges: &Purges,
) -> Result<DB, KvError> {
    let database = options::database(options, names.len());
    let names = names.iter().map(String::as_str).chain([RESERVED]);
    let mut families = Vec::new();
    for name in names {
        let stored = match share::is_shared(name) {
            true => share::options_of(name)
                .ok_or_else(|| corrupted(format!("column family {name:?} is not known")))?,
            false => TableOptions::default(),
        };
        let family = Family {
            stored: &stored,
            filter: purges.filter_of(name),
            is_shared: share::is_shared(name),
        };
        families.push(ColumnFamilyDescriptor::new(
            name,
            options::family(options, cache, family),
        ));
    }
    let db = if options.read_only {
        DB::open_cf_descriptors_read_only(&database, path, families, false)
    } else {
        DB::open_cf_descriptors(&database, path, families)
    };
    db.map_err(|error| open_failure(path, error))
}

/// Finds the tables in the column families of a database, and the column families that tables share; the number is that of
/// the next table. What is left of tables that were dropped is removed, unless the database is only read.
pub(super) fn find_tables(
    db: &Arc<DB>,
    families: &[String],
    read_only: bool,
) -> Result<(Tables, Tables, u32), KvError> {
    let (mut tables, mut shared) = (Tables::new(), Tables::new());
    for family in families {
        let Some(handle) = TableHandle::find(db, family) else {
            continue;
        };
        let of = match share::options_of(family) {
            Some(stored) => {
                *handle.options.lock() = stored;
                &mut shared
            }
            None => &mut tables,
        };
        of.insert(handle.name.clone(), Arc::new(handle));
    }
    let records = directory::read(db)?;
    for (name, (number, family)) in records.tables {
        let Some(home) = shared.get(family.as_str()) else {
            if read_only {
                // It was made by the process that writes since the column families were listed.
                continue;
            }
            return Err(corrupted(format!(
                "table \"{name}\" lies in \"{family}\", which is not there"
            )));
        };
        let table = Arc::new(home.part(&name, Share::new(number, &family)));
        if tables.insert(table.name.clone(), table).is_some() {
            return Err(corrupted(format!("table \"{name}\" is there twice")));
        }
    }
    if !read_only {
        for (number, family) in records.dropped {
            if let Some(home) = shared.get(family.as_str()) {
                let removed = share::remove(home, number);
                removed.map_err(|error| {
                    super::failure::failure("remove what is left of a dropped table", error)
                })?;
            }
        }
    }
    Ok((tables, shared, records.next))
}

fn corrupted(message: String) -> KvError {
    KvError::Corruption {
        table: None,
        key: None,
        message,
    }
}
