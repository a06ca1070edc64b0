//! Databases: opened once per process, shared by connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rukh_hbase_store::HbaseStore;
use rukh_kv::{KvStore, LogDamage, MemoryStore, RocksOptions, RocksStore};
use rukh_sql::{CounterMerge, Shared, SlowLog};

use crate::repair::opening_error;
use crate::{Connection, Error, Result};

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Refuses every write; several processes may read one database in a directory at a time.
    pub read_only: bool,
    /// Makes the directory and an empty database when there is none.
    pub create: bool,
    /// Memory for blocks read from disk, bytes; blocks of columnar tables that are kept open for reads by key take half as
    /// much beside it.
    pub cache_bytes: usize,
    /// One budget for caches, write buffers, queries, loads and statements, bytes, in place of what each
    /// has by itself, `cache_bytes` too. At least 64 MiB; less counts as that.
    pub memory_bytes: Option<u64>,
    /// From which duration on statements are logged, unless a session says otherwise by
    /// `SET log_min_duration_statement`.
    pub log_min_duration: Option<Duration>,
    /// The file that slow statements are appended to; standard error unless given.
    pub log_file: Option<PathBuf>,
    /// Whether tables of which much has changed are analyzed in the background, so that plans follow
    /// the rows; never in a database that is only read.
    pub auto_analyze: bool,
    /// How many tables, families and indexes lie apart from one another on disk at most; further ones, of many that are small, lie
    /// together. What the variable `RUKH_OWN_FAMILIES` of the environment says unless given, or 200.
    pub own_families: Option<usize>,
    /// On HBase, how long a request may take with all its attempts.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            read_only: false,
            create: true,
            cache_bytes: 256 << 20,
            memory_bytes: None,
            log_min_duration: None,
            log_file: None,
            auto_analyze: true,
            own_families: None,
            patience: Duration::from_secs(30),
        }
    }
}

/// The least memory budget, in bytes.
const MEMORY_BYTES_MIN: u64 = 64 << 20;

/// An open database; cheap to clone, closed when the last clone and connection are gone.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Shared,
    /// What storage lost.
    losses: Arc<[String]>,
}

/// What the URL of a database on HBase begins with.
const ON_HBASE: &str = "hbase://";

/// Where sorting puts what does not fit in memory, in the directory of the database.
const TEMPORARY_DIRECTORY: &str = "tmp";

impl Database {
    /// Opens the database in a directory, or in a namespace of an HBase, `hbase://host:port[,host:port…]/namespace`, making it when there is none.
    ///
    /// Fails when the directory is no database, another process has it open, its format is newer than
    /// this program, or it is damaged; on HBase when no server is reached within [`Options::patience`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Options::default())
    }

    /// Opens the database in a directory with options; errors as [`Database::open`].
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref();
        let budget = options.memory_bytes.map(|bytes| bytes.max(MEMORY_BYTES_MIN));
        let mut database = match path.to_str().filter(|path| path.starts_with(ON_HBASE)) {
            Some(url) => Self::open_on_hbase(url, &options)?,
            None => Self::open_directory(path, &options, budget)?,
        };
        if let Some(bytes) = budget {
            database.shared.set_memory(bytes, bytes / 2)?;
        }
        let log = match &options.log_file {
            Some(file) => SlowLog::to_file(file)?,
            None => SlowLog::to_stderr(),
        };
        database.shared.set_slow_log(log, options.log_min_duration);
        if options.auto_analyze {
            database.shared.keep_statistics()?;
        }
        Ok(database)
    }

    fn open_on_hbase(url: &str, options: &Options) -> Result<Self> {
        let store = HbaseStore::open(
            url,
            rukh_hbase_store::Options {
                create: options.create && !options.read_only,
                merge: Some(Arc::new(CounterMerge)),
                patience: options.patience,
            },
        );
        let store = store.map_err(rukh_sql::storage_error)?;
        Self::over(Arc::new(store), options.read_only)
    }

    fn open_directory(path: &Path, options: &Options, budget: Option<u64>) -> Result<Self> {
        let mut rocks = RocksOptions {
            read_only: options.read_only,
            create_if_missing: options.create && !options.read_only,
            block_cache_bytes: options.cache_bytes,
            own_families: options.own_families,
            merge: Some(Arc::new(CounterMerge)),
            ..RocksOptions::default()
        };
        if let Some(bytes) = budget {
            let part = |share: u64| usize::try_from(bytes / share).unwrap_or(usize::MAX);
            (rocks.block_cache_bytes, rocks.write_buffer_bytes) = (part(4), part(8));
        }
        let open_blocks_bytes = rocks.block_cache_bytes / 2;
        let store = RocksStore::open(path, &rocks);
        let store = store.map_err(|error| opening_error(path, error))?;
        let ends = |log: &LogDamage| format!("{log}: what was committed from there on is gone");
        let losses: Vec<String> = store.damaged_logs().iter().map(ends).collect();
        let mut database = Self::over(Arc::new(store), options.read_only)?;
        database.losses = losses.into();
        let engine = database.shared.engine();
        engine.set_open_blocks_bytes(open_blocks_bytes);
        if !options.read_only {
            engine.set_load_directory(path.join(TEMPORARY_DIRECTORY));
        }
        Ok(database)
    }

    /// Makes an empty database in memory, for tests and trials. Its statistics change by ANALYZE and
    /// [`Database::refresh_statistics`] alone.
    pub fn open_in_memory() -> Result<Self> {
        Self::over(
            Arc::new(MemoryStore::with_merge_operator(Arc::new(CounterMerge))),
            false,
        )
    }

    /// Makes an empty database in memory that does without files of this machine, as on a store which is elsewhere: for tests of that.
    #[doc(hidden)]
    pub fn open_without_files() -> Result<Self> {
        Self::over(
            Arc::new(MemoryStore::without_files(Arc::new(CounterMerge))),
            false,
        )
    }

    fn over(store: Arc<dyn KvStore>, read_only: bool) -> Result<Self, Error> {
        Ok(Database {
            shared: Shared::open(store, read_only)?,
            losses: Arc::default(),
        })
    }

    /// Says what was found to be lost when the database was opened, each a sentence without its end: what a damaged log had from some place on,
    /// tables whose rows are not there, indexes that are broken. Nothing of a database that is whole.
    pub fn losses(&self) -> Vec<String> {
        let recovered = self.shared.engine().recovered().iter();
        let lost = recovered.filter(|recovery| recovery.is_loss());
        let lost = lost.map(ToString::to_string);
        self.losses.iter().cloned().chain(lost).collect()
    }

    /// Starts a connection; connections may run statements at the same time.
    pub fn connect(&self) -> Connection {
        Connection::new(self.shared.session())
    }

    /// Analyzes the tables of which more rows have changed since their last ANALYZE than 50 and a tenth
    /// of those that there were, as [`Options::auto_analyze`] has it done in the background, and returns
    /// when that is done.
    pub fn refresh_statistics(&self) -> Result<()> {
        self.shared.refresh_statistics()
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
