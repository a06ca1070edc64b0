//! What a session does, as `pg_stat_activity` shows it.

use std::time::{SystemTime, UNIX_EPOCH};

use rukh::{Backend, TransactionStatus};

/// Most bytes of a statement that are shown, as PostgreSQL's `track_activity_query_size`.
const STATEMENT_BYTES_MAX: usize = 1024;

/// What a session does, and since when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing(Backend);

impl Doing {
    /// Records process id, user and address of a session.
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

    /// Returns what others see of it.
    pub(crate) fn as_backend(&self) -> &Backend {
        &self.0
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
