//! The sessions of a server as others see them: `pg_stat_activity`, and who may end them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rukh::{Backend, Backends, TransactionStatus};

use crate::server::Server;

/// Most bytes of a statement that are shown, as PostgreSQL's `track_activity_query_size`.
const STATEMENT_BYTES_MAX: usize = 1024;

/// What a session does, and since when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing(Backend);

impl Doing {
    /// Notes who a session is.
    pub(crate) fn begin(pid: i32, user: Option<String>, address: std::net::SocketAddr) -> Self {
        let now = now();
        Doing(Backend {
            pid,
            user,
            address: address.ip().to_string(),
            port: i32::from(address.port()),
            began: now,
            changed: now,
            state: "idle",
            ..Backend::default()
        })
    }

    /// Notes that a statement begins.
    pub(crate) fn statement(&mut self, text: &str) {
        let end = (0..=STATEMENT_BYTES_MAX.min(text.len()))
            .rev()
            .find(|end| text.is_char_boundary(*end));
        self.0.statement.clear();
        self.0.statement.push_str(&text[..end.unwrap_or(0)]);
        let now = now();
        self.0.statement_began = Some(now);
        self.0.transaction_began.get_or_insert(now);
        self.0.changed = now;
        self.0.state = "active";
    }

    /// Notes that the session waits for its client.
    pub(crate) fn waits(&mut self, status: TransactionStatus) {
        let state = match status {
            TransactionStatus::Idle => "idle",
            TransactionStatus::Open => "idle in transaction",
            TransactionStatus::Aborted => "idle in transaction (aborted)",
        };
        if status == TransactionStatus::Idle {
            self.0.transaction_began = None;
        }
        if self.0.state != state {
            self.0.changed = now();
            self.0.state = state;
        }
    }

    /// Notes what the client calls itself.
    pub(crate) fn application(&mut self, name: String) {
        self.0.application = name;
    }
}

/// Returns microseconds since 1970-01-01.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A server, as its database knows it: it may be gone.
pub(crate) struct OfServer(pub(crate) std::sync::Weak<Server>);

impl OfServer {
    fn with<T>(&self, ask: impl FnOnce(&Arc<Server>) -> T) -> Option<T> {
        self.0.upgrade().map(|server| ask(&server))
    }
}

impl Backends for OfServer {
    fn list(&self) -> Vec<Backend> {
        let all = |server: &Arc<Server>| {
            let slots = server.registry().slots();
            slots.iter().map(|slot| slot.doing.lock().0.clone()).collect()
        };
        self.with(all).unwrap_or_default()
    }

    fn cancel(&self, pid: i32) -> bool {
        let slot = self.with(|server| server.registry().slot(pid)).flatten();
        slot.as_ref().is_some_and(|slot| {
            slot.cancel_running();
            true
        })
    }

    fn terminate(&self, pid: i32) -> bool {
        let slot = self.with(|server| server.registry().slot(pid)).flatten();
        slot.as_ref().is_some_and(|slot| {
            slot.terminate();
            true
        })
    }
}
