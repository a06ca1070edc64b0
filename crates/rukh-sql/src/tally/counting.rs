//! The count of one statement that runs.

use std::sync::Arc;
use std::time::Instant;

use super::entries::Entry;
use crate::context::{RunPath, StatementContext};

/// A statement that is counted when this is dropped at the latest.
pub(crate) struct Counting {
    pub(crate) entry: Arc<Entry>,
    pub(crate) started: Instant,
    /// What the statement has read by, if it has read anything.
    pub(crate) ran: Option<(Arc<StatementContext>, RunPath)>,
    pub(crate) rows: u64,
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
        let counters = self.ran.as_ref().map(|(context, _)| context.totals.load());
        let path = self.ran.as_ref().map(|(_, path)| *path);
        let keys = counters.map_or(0, |counters| counters.keys_examined);
        self.entry.add(self.started.elapsed(), self.rows, keys, path);
    }
}
