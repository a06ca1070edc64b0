//! The log of slow statements: those that took at least `log_min_duration_statement`, with their plans.
//!
//! ```text
//! 2026-11-21 23:40:01.123456+00 duration: 1234.567 ms  statement: SELECT sum(minutes) FROM logs
//!   aggregate gby=[], aggr=[sum(logs.minutes)]
//!     full scan on table logs
//!       …
//! ```
//!
//! A statement that gives rows is over when the last one was read, or the rest is not wanted any more. All
//! sessions of a database write to one place: a file, or standard error.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;
use rukh_keys::{DataType, Datum};

use crate::exec::context::StatementContext;
use crate::exec::plan_text::plan_lines;
use rukh_error::SqlError;

/// Characters of a statement that are written at most.
const STATEMENT_CHARS_MAX: usize = 10_000;

/// Where slow statements are written.
#[derive(Default)]
pub struct SlowLog {
    /// None stands for standard error.
    file: Option<Mutex<File>>,
}

impl SlowLog {
    /// Writes to standard error.
    pub fn to_stderr() -> Self {
        SlowLog::default()
    }

    /// Appends to a file, made if it is not there.
    pub fn to_file(path: &Path) -> Result<Self, SqlError> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| {
            SqlError::io(format!("could not open log file \"{}\": {error}", path.display()))
        })?;
        Ok(SlowLog {
            file: Some(Mutex::new(file)),
        })
    }

    fn write(&self, entry: &str) {
        // A log that cannot be written must not fail the statement it logs.
        let _ = match &self.file {
            Some(file) => file.lock().write_all(entry.as_bytes()),
            None => std::io::stderr().write_all(entry.as_bytes()),
        };
    }
}

/// How a query ran, for the plan in the log.
pub(crate) enum Ran {
    /// By a direct plan, printed before it ran.
    Direct(Vec<String>),
    /// By DataFusion.
    General(Arc<dyn ExecutionPlan>, Arc<StatementContext>),
}

/// A statement that is logged if it turns out to be slow, when this is dropped at the latest.
pub(crate) struct Watch {
    pub(crate) log: Arc<SlowLog>,
    pub(crate) min: Duration,
    pub(crate) started: Instant,
    pub(crate) sql: String,
    pub(crate) ran: Option<Ran>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let elapsed = self.started.elapsed();
        if elapsed >= self.min {
            self.log.write(&self.entry(elapsed));
        }
    }
}

impl Watch {
    fn entry(&self, elapsed: Duration) -> String {
        let sql: String = self.sql.trim().chars().take(STATEMENT_CHARS_MAX).collect();
        let mut entry = format!(
            "{} duration: {:.3} ms  statement: {sql}\n",
            now(),
            elapsed.as_secs_f64() * 1000.0
        );
        let lines = match &self.ran {
            None => Vec::new(),
            Some(Ran::Direct(lines)) => lines.clone(),
            Some(Ran::General(plan, context)) => plan_lines(plan, context),
        };
        for line in lines {
            entry += &format!("  {line}\n");
        }
        entry
    }
}

fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    DataType::TIMESTAMP_TZ.format_text(&Datum::Timestamp(micros))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::session::Shared;
    use rukh_kv::MemoryStore;

    #[test]
    fn slow_statements_are_logged_with_their_plans() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("slow.log");
        let mut shared = Shared::open(Arc::new(MemoryStore::new()), false).expect("memory opens");
        shared.set_slow_log(SlowLog::to_file(&path).expect("a file can be made"), None);
        let mut session = shared.session();
        let mut run = |sql: &str| {
            let rows = session
                .execute(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"))
                .rows;
            if let Some(mut rows) = rows {
                while rows.next_batch().expect("rows can be read").is_some() {}
            }
        };
        run("CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)");
        run("SET log_min_duration_statement = 0");
        run("INSERT INTO t VALUES (1, 2)");
        run("SELECT n FROM t WHERE id = 1");
        run("SELECT sum(n) FROM t GROUP BY n % 2");
        run("SET log_min_duration_statement = '1h'");
        run("SELECT n FROM t WHERE id = 2");
        let text = std::fs::read_to_string(&path).expect("the log was written");
        let entries: Vec<&str> = text
            .lines()
            .filter_map(|line| Some(line.split_once("statement: ")?.1))
            .collect();
        assert_eq!(
            entries,
            [
                "INSERT INTO t VALUES (1, 2)",
                "SELECT n FROM t WHERE id = 1",
                "SELECT sum(n) FROM t GROUP BY n % 2",
            ],
            "{text}"
        );
        assert!(text.contains("\n  point lookup on table t\n"), "{text}");
        assert!(text.contains("full scan on table t\n"), "{text}");
    }
}
