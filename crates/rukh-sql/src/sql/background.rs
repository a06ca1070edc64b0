//! Statistics that follow the rows: a thread that analyzes tables of which much has changed.
//!
//! It wakes every [`NAP`], looks for tables whose statistics are no longer true (`Engine::stale_tables`),
//! and analyzes one after another, on a snapshot, beside readers and writers. It works half of the time
//! only, and leaves a table alone for ten times as long as it took, so that a table that changes all the
//! time costs a tenth of a core at most. It ends with the database: the drop of the last session waits
//! for it, some thousand rows at most.
//!
//! A plan depends on statistics alone, so this changes plans when it has run and at no other time.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rukh_catalog::TableId;
use rukh_engine::{Engine, EngineError, Progress};

use rukh_error::SqlError;

/// Time between two looks for stale tables.
pub(crate) const NAP: Duration = Duration::from_secs(30);

/// How many times longer than its ANALYZE took a table is left alone.
const REST: u32 = 10;

/// Longest rest between two steps.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Keeps the statistics of a database true while it lives.
pub(crate) struct Background {
    shared: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by the thread and the sessions that end it.
#[derive(Default)]
struct State {
    is_ended: Mutex<bool>,
    ended: Condvar,
}

impl State {
    /// Waits, and returns whether the thread should end.
    fn wait(&self, time: Duration) -> bool {
        let mut is_ended = self.is_ended.lock();
        if !*is_ended {
            self.ended.wait_for(&mut is_ended, time);
        }
        *is_ended
    }

    fn is_ended(&self) -> bool {
        *self.is_ended.lock()
    }
}

impl Background {
    /// Starts the thread, which looks for stale tables every `nap`.
    pub(crate) fn start(engine: Engine, nap: Duration) -> Result<Self, SqlError> {
        let shared = Arc::new(State::default());
        let state = shared.clone();
        let thread = std::thread::Builder::new()
            .name("rukh-analyze".to_string())
            .spawn(move || run(&engine, &state, nap));
        let thread = thread.map_err(|error| {
            SqlError::io(format!(
                "could not start the thread that keeps statistics: {error}"
            ))
        })?;
        Ok(Background {
            shared,
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.shared.is_ended.lock() = true;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to be waited for.
            let _ = thread.join();
        }
    }
}

/// Analyzes stale tables until the database is closed.
fn run(engine: &Engine, state: &State, nap: Duration) {
    let mut rests: HashMap<TableId, Instant> = HashMap::new();
    while !state.wait(nap) {
        rests.retain(|_, until| Instant::now() < *until);
        for id in engine.stale_tables() {
            if rests.contains_key(&id) {
                continue;
            }
            let began = Instant::now();
            let gentle = Gentle {
                state,
                began: Mutex::new(began),
            };
            // A failure is retried later; a session that reads or writes the table gets the error itself.
            let _ = engine.refresh_statistics(id, &gentle);
            if state.is_ended() {
                return;
            }
            rests.insert(id, Instant::now() + began.elapsed() * REST);
        }
    }
}

/// Analyzes all stale tables at once, on the calling thread.
pub(crate) fn refresh(engine: &Engine) -> Result<(), EngineError> {
    for id in engine.stale_tables() {
        engine.refresh_statistics(id, &rukh_engine::NoProgress)?;
    }
    Ok(())
}

/// Rests after each step for as long as it took.
struct Gentle<'a> {
    state: &'a State,
    /// When the present step began.
    began: Mutex<Instant>,
}

impl Progress for Gentle<'_> {
    fn total(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) {
        let mut began = self.began.lock();
        self.state.wait(began.elapsed().min(PAUSE_MAX));
        *began = Instant::now();
    }

    fn cancelled(&self) -> bool {
        self.state.is_ended()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shared;

    #[test]
    fn the_thread_analyzes_what_has_changed_and_ends_with_the_database() {
        let store = Arc::new(rukh_kv::MemoryStore::new());
        let shared = Shared::open(store, false).expect("a new database");
        let mut session = shared.session();
        let mut run = |sql: &str| session.execute(sql).map(|_| ()).expect("a statement");
        run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)");
        run("INSERT INTO t SELECT n, n % 7 FROM generate_series(1, 20000) AS s(n)");
        run("CREATE TABLE small (id INTEGER PRIMARY KEY)");
        run("INSERT INTO small SELECT n FROM generate_series(1, 49) AS s(n)");
        let engine = shared.engine().clone();
        let stale = engine.stale_tables();
        assert_eq!(stale.len(), 1, "a table of 49 rows is not yet");
        let table = stale[0];
        let background = Background::start(engine.clone(), Duration::from_millis(1)).expect("a thread");
        let deadline = Instant::now() + Duration::from_secs(300);
        while engine.statistics(table).is_none() {
            assert!(Instant::now() < deadline, "nobody analyzes the table");
            std::thread::yield_now();
        }
        assert_eq!(engine.statistics(table).map(|known| known.rows), Some(20_000));
        run("UPDATE t SET a = 3 WHERE id <= 2000");
        drop(background);
        let strong = Arc::strong_count(engine.store());
        run("UPDATE t SET a = 4 WHERE id <= 2000");
        assert_eq!(
            Arc::strong_count(engine.store()),
            strong,
            "no thread holds the store"
        );
        assert_eq!(engine.stale_tables().len(), 1, "nobody looks any more");
    }
}
