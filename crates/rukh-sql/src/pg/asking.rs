//! The session that reads `pg_stat_activity`, and the sessions of all servers.

use std::sync::Arc;

use parking_lot::RwLock;
use rukh_engine::Engine;

use crate::exec::tally;

/// A session as others see it.
#[derive(Clone, Debug, Default)]
pub struct Backend {
    /// The number that clients know it by.
    pub pid: i32,
    /// Its role; none for an administrator's without a role.
    pub user: Option<String>,
    /// What the client calls itself.
    pub application: String,
    /// Where the client is.
    pub address: String,
    /// The client's port.
    pub port: i32,
    /// When it began, microseconds since 1970-01-01, as the other times.
    pub began: i64,
    /// When its transaction began, if there is one.
    pub transaction_began: Option<i64>,
    /// When the last statement began.
    pub statement_began: Option<i64>,
    /// When it began or ceased to work.
    pub changed: i64,
    /// As PostgreSQL says it: `active`, `idle`, `idle in transaction`, …
    pub state: &'static str,
    /// The last statement.
    pub statement: String,
}

/// A server of one protocol. Numbers of sessions are unique over all protocols.
pub trait Backends: Send + Sync {
    /// Returns the sessions that there are.
    fn list(&self) -> Vec<Backend>;
    /// Cancels what a session runs; false if there is no such session.
    fn cancel(&self, pid: i32) -> bool;
    /// Ends a session; false if there is no such session.
    fn terminate(&self, pid: i32) -> bool;
}

/// The servers of a database, one for each protocol.
#[derive(Clone, Default)]
pub(crate) struct Served(Arc<RwLock<Vec<Arc<dyn Backends>>>>);

impl Served {
    pub(crate) fn add(&self, backends: Arc<dyn Backends>) {
        self.0.write().push(backends);
    }

    pub(crate) fn all(&self) -> Vec<Arc<dyn Backends>> {
        self.0.read().clone()
    }

    pub(crate) fn list(&self) -> Vec<Backend> {
        let all = self.all();
        let mut list: Vec<Backend> = all.iter().flat_map(|backends| backends.list()).collect();
        list.sort_by_key(|backend| backend.pid);
        list
    }
}

/// The reading session.
#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) engine: Engine,
    pub(crate) served: Served,
    pub(crate) tally: Arc<tally::Entries>,
    /// The session's role.
    pub(crate) who: Arc<RwLock<Option<String>>>,
}

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Asking").field(&self.who).finish()
    }
}
