//! Databases: opened once per process, shared by connections.

use std::path::Path;
use std::sync::Arc;

use rukh_kv::{KvStore, MemoryStore, RocksOptions, RocksStore};
use rukh_sql::{CounterMerge, Shared};

use crate::{Connection, Error, Result};

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Refuses every write; several processes may read one database at a time.
    pub read_only: bool,
    /// Makes the directory and an empty database when there is none.
    pub create: bool,
    /// Memory for blocks read from disk, bytes.
    pub cache_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            read_only: false,
            create: true,
            cache_bytes: 256 << 20,
        }
    }
}

/// An open database; cheap to clone, closed when the last clone and connection are gone.
#[derive(Clone)]
pub struct Database {
    shared: Shared,
}

/// Where sorting puts what does not fit in memory, in the directory of the database.
const TEMPORARY_DIRECTORY: &str = "tmp";

impl Database {
    /// Opens the database in a directory, making it when there is none.
    ///
    /// Fails when the directory is no database, another process has it open, its format is newer than
    /// this program, or it is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Options::default())
    }

    /// Opens the database in a directory with options; errors as [`Database::open`].
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let rocks = RocksOptions {
            read_only: options.read_only,
            create_if_missing: options.create && !options.read_only,
            block_cache_bytes: options.cache_bytes,
            merge: Some(Arc::new(CounterMerge)),
            ..RocksOptions::default()
        };
        let store = RocksStore::open(path.as_ref(), &rocks).map_err(rukh_sql::storage_error)?;
        let database = Self::over(Arc::new(store), options.read_only)?;
        if !options.read_only {
            let engine = database.shared.engine();
            engine.set_load_directory(path.as_ref().join(TEMPORARY_DIRECTORY));
        }
        Ok(database)
    }

    /// Makes an empty database in memory, for tests and trials.
    pub fn open_in_memory() -> Result<Self> {
        Self::over(
            Arc::new(MemoryStore::with_merge_operator(Arc::new(CounterMerge))),
            false,
        )
    }

    fn over(store: Arc<dyn KvStore>, read_only: bool) -> Result<Self, Error> {
        Ok(Database {
            shared: Shared::open(store, read_only)?,
        })
    }

    /// Starts a connection; connections may run statements at the same time.
    pub fn connect(&self) -> Connection {
        Connection::new(self.shared.session())
    }

    /// Takes time from `source` instead of the system's clock, in microseconds since 1970-01-01 00:00 UTC:
    /// for tests and simulations of what TTL removes. Time never goes back while a database is open.
    pub fn set_time_source(&self, source: Arc<dyn Fn() -> i64 + Send + Sync>) {
        self.shared.engine().set_time_source(source);
    }

    /// Calls `visit` with every stored key and value, decoded, as a line of text; stops when it says so.
    pub fn dump(&self, visit: &mut dyn FnMut(&str) -> bool) -> Result<()> {
        rukh_sql::dump(&self.shared, visit)
    }
}
