//! What one statement runs with: its snapshot, hints, settings, cancellation, and what it counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use datafusion::catalog::TableProvider;
use parking_lot::Mutex;
use rukh_engine::{Engine, ScanCounters, Snapshot};
use rukh_kv::Traffic;

use crate::exec::hints::TableHint;
use crate::exec::known_statistics::KnownStatistics;
use crate::exec::session_settings::client::Client;
use crate::exec::session_settings::notice::Notice;
use crate::exec::session_settings::settings::Methods;
use rukh_error::SqlError;

/// Ends the running statement of a session from another thread.
///
/// A statement forgets the requests that came before it began. A caller that announces a statement before it has begun
/// arms the handle first: a request that follows is not forgotten then.
#[derive(Clone, Debug, Default)]
pub struct CancelHandle {
    requested: Arc<AtomicBool>,
    /// How many have armed it.
    armed: Arc<AtomicUsize>,
}

impl CancelHandle {
    /// Asks the running statement to end with SQLSTATE 57014.
    pub fn cancel(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Forgets earlier requests, and keeps later ones, whatever statements begin, until what is returned is dropped.
    pub fn arm(&self) -> Armed {
        self.armed.fetch_add(1, Ordering::Relaxed);
        self.forget();
        Armed(self.clone())
    }

    /// Forgets earlier requests unless the handle is armed; called when a statement starts.
    pub(crate) fn reset(&self) {
        if self.armed.load(Ordering::Relaxed) == 0 {
            self.forget();
        }
    }

    fn forget(&self) {
        self.requested.store(false, Ordering::Relaxed);
    }

    /// Returns whether the statement should end.
    pub fn is_cancelled(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Returns the flag itself, which long scans look at.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.requested.clone()
    }

    /// Fails with SQLSTATE 57014 if the statement should end.
    pub(crate) fn check(&self) -> Result<(), SqlError> {
        match self.is_cancelled() {
            true => Err(SqlError::cancelled()),
            false => Ok(()),
        }
    }
}

/// A handle whose requests are kept until this is dropped.
#[derive(Debug)]
#[must_use = "the handle is armed as long as this lives"]
pub struct Armed(CancelHandle);

impl Armed {
    /// Asks what runs, or is about to, to end with SQLSTATE 57014.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Forgets earlier requests.
    pub fn forget(&self) {
        self.0.forget();
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.0.armed.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Which way a statement ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPath {
    /// One key access, without DataFusion.
    Direct,
    /// A DataFusion plan.
    General,
}

/// Totals of all scans of a statement; scans of several threads add to it.
#[derive(Debug, Default)]
pub(crate) struct Totals(Mutex<ScanCounters>);

impl Totals {
    /// Adds what one scan counted, but for its rows: not all of them reach the client.
    pub(crate) fn add(&self, scan: &ScanCounters) {
        *self.0.lock() += ScanCounters { rows: 0, ..*scan };
    }

    /// Adds rows given to the client.
    pub(crate) fn add_rows(&self, rows: u64) {
        self.0.lock().rows += rows;
    }

    /// Returns the totals so far.
    pub(crate) fn load(&self) -> ScanCounters {
        *self.0.lock()
    }
}

/// What a statement did, for SHOW LAST QUERY STATS and EXPLAIN ANALYZE.
#[derive(Clone, Debug)]
pub struct QueryStats {
    /// Which way it ran.
    pub path: RunPath,
    /// Counts of all its scans; `rows` are those given to the client.
    pub counters: ScanCounters,
    /// What its reads and its commit took of servers elsewhere.
    pub traffic: Traffic,
    /// Microseconds until the plan was ready.
    pub planning_us: u64,
    /// Microseconds from start to last row.
    pub elapsed_us: u64,
}

/// What one part of a direct plan did.
#[derive(Debug, Default)]
struct PartStats {
    counters: ScanCounters,
    elapsed: Duration,
}

/// What one statement runs with.
pub(crate) struct StatementContext {
    pub(crate) engine: Engine,
    pub(crate) snapshot: Snapshot,
    pub(crate) statistics: Arc<KnownStatistics>,
    pub(crate) hints: Vec<TableHint>,
    pub(crate) cancel: CancelHandle,
    pub(crate) notices: Mutex<Vec<Notice>>,
    pub(crate) totals: Totals,
    /// What the snapshot had counted when the statement began.
    traffic_before: Traffic,
    /// What the commit took.
    committed: Mutex<Traffic>,
    /// What each part of a direct plan that has several did, by position.
    parts: Mutex<Vec<PartStats>>,
    pub(crate) started: Instant,
    /// When the statement began, in microseconds since 1970.
    pub(crate) began: i64,
    planning_us: AtomicU64,
    finished_us: AtomicU64,
    /// Most partitions of one scan.
    pub(crate) parallelism: usize,
    /// Tables of this statement's own: rows in memory.
    pub(crate) tables: Vec<(String, Arc<dyn TableProvider>)>,
    /// Ways of reading that the planner may take.
    pub(crate) methods: Methods,
    /// The user and settings of the statement.
    pub(crate) client: Client,
}

impl std::fmt::Debug for StatementContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementContext")
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}

impl StatementContext {
    /// Starts a statement on this snapshot.
    pub(crate) fn new(
        engine: Engine,
        snapshot: Snapshot,
        statistics: Arc<KnownStatistics>,
        hints: Vec<TableHint>,
        cancel: CancelHandle,
        parallelism: usize,
        client: Client,
    ) -> Self {
        StatementContext {
            began: engine.now(),
            engine,
            traffic_before: snapshot.traffic(),
            committed: Mutex::default(),
            snapshot,
            statistics,
            hints,
            cancel,
            notices: Mutex::default(),
            totals: Totals::default(),
            parts: Mutex::default(),
            started: Instant::now(),
            planning_us: AtomicU64::new(0),
            finished_us: AtomicU64::new(0),
            parallelism,
            tables: Vec::new(),
            methods: client.settings.methods,
            client,
        }
    }

    /// Adds tables that only this statement sees.
    pub(crate) fn with_tables(mut self, tables: Vec<(String, Arc<dyn TableProvider>)>) -> Self {
        self.tables.extend(tables);
        self
    }

    /// Says when the statement began, in microseconds since 1970.
    pub(crate) fn at(self, began: i64) -> Self {
        StatementContext { began, ..self }
    }

    /// Adds a notice, once.
    pub(crate) fn notice(&self, notice: Notice) {
        let mut notices = self.notices.lock();
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }

    /// Adds what the commit took of servers elsewhere.
    pub(crate) fn add_commit(&self, traffic: Traffic) {
        *self.committed.lock() += traffic;
    }

    /// Adds what a part of a direct plan did: counts, and the time that it took.
    pub(crate) fn add_to_part(&self, at: usize, counters: &ScanCounters, elapsed: Duration) {
        let mut parts = self.parts.lock();
        let known = parts.len().max(at + 1);
        parts.resize_with(known, PartStats::default);
        parts[at].counters += *counters;
        parts[at].elapsed += elapsed;
    }

    /// Returns what a part of a direct plan did so far.
    pub(crate) fn part(&self, at: usize) -> (ScanCounters, Duration) {
        let parts = self.parts.lock();
        parts
            .get(at)
            .map_or_else(Default::default, |part| (part.counters, part.elapsed))
    }

    /// Marks the end of planning.
    pub(crate) fn planned(&self) {
        self.planning_us.store(self.elapsed_us(), Ordering::Relaxed);
    }

    /// Marks the end of the statement.
    pub(crate) fn finished(&self) {
        self.finished_us.store(self.elapsed_us(), Ordering::Relaxed);
        self.snapshot.finish();
    }

    /// Returns what the statement has done so far.
    pub(crate) fn stats(&self, path: RunPath) -> QueryStats {
        let mut traffic = self.snapshot.traffic() - self.traffic_before;
        traffic += *self.committed.lock();
        QueryStats {
            path,
            counters: self.totals.load(),
            traffic,
            planning_us: self.planning_us.load(Ordering::Relaxed),
            elapsed_us: u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the time since the statement started, or that it took.
    pub(crate) fn elapsed(&self) -> Duration {
        match self.finished_us.load(Ordering::Relaxed) {
            0 => self.started.elapsed(),
            finished => Duration::from_micros(finished),
        }
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
