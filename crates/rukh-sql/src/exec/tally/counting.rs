//! The count of one statement that runs.

use std::sync::Arc;
use std::time::Instant;

use super::entries::Entry;
use crate::exec::context::{QueryStats, RunPath, StatementContext};

/// A statement that is counted when this is dropped at the latest.
pub(crate) struct Counting {
    pub(crate) entry: Arc<Entry>,
    pub(crate) started: Instant,
    /// What the statement has read by, if it has read anything.
    pub(crate) ran: Option<ReadBy>,
    pub(crate) rows: u64,
}

/// What counts the keys that a statement has read.
pub(crate) enum ReadBy {
    /// Its context, until it ends.
    Context(Arc<StatementContext>, RunPath),
    /// Nothing any more: it is over.
    Past(QueryStats),
}

impl ReadBy {
    fn path_and_keys(&self) -> (RunPath, u64) {
        match self {
            ReadBy::Context(context, path) => (*path, context.totals.load().keys_examined),
            ReadBy::Past(stats) => (stats.path, stats.counters.keys_examined),
        }
    }
}

impl Counting {
    /// Takes the rows that a statement has changed from its tag.
    pub(crate) fn changed(mut self, tag: &str) -> Self {
        let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
        self.rows = count.unwrap_or(0);
        self
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let read = self.ran.as_ref().map(ReadBy::path_and_keys);
        let keys = read.map_or(0, |(_, keys)| keys);
        self.entry.add(
            self.started.elapsed(),
            self.rows,
            keys,
            read.map(|(path, _)| path),
        );
    }
}
