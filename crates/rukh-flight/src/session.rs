//! A session: its user, the connections to the database that it uses, prepared statements, transactions.
//!
//! Calls of one session may overlap. Each statement takes a connection of its own, or that of its transaction;
//! connections are kept for the next statement. What the client has SET is said again to each of them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use rukh::{Backend, Connection, Database, Error, TransactionStatus};

use crate::held::{Held, Shared, held};
use crate::prepared::PreparedStatement;
use crate::run::Running;

/// Called for a statement that has run: the connection, if it still is the statement's, its text, how long it
/// took, and whether it did what it says.
pub type OnStatement = Arc<dyn Fn(Option<&rukh::Connection>, &str, Duration, bool) + Send + Sync>;

/// Connections that a session keeps for its next statements.
const IDLE_MAX: usize = 8;
/// Prepared statements that a session may have.
const PREPARED_MAX: usize = 10_000;
/// Transactions that a session may have open.
const TRANSACTIONS_MAX: usize = 100;
/// Statements that a session may run at a time.
const RUNNING_MAX: usize = 256;
/// SET statements that a session may have run.
const SETTINGS_MAX: usize = 1_000;
/// Results that wait to be fetched once.
const TICKETS_MAX: usize = 1_000;
/// Most bytes of a statement that are shown to others.
const SHOWN_BYTES_MAX: usize = 1024;

/// What sessions begin with.
#[derive(Clone)]
pub(crate) struct Beginning {
    /// Their settings.
    pub(crate) settings: Arc<[(String, String)]>,
    /// Callback for each of their statements.
    pub(crate) on_statement: Option<OnStatement>,
}

/// A session.
pub(crate) struct Session {
    /// Its number, by which others cancel it.
    pub(crate) pid: i32,
    user: Option<String>,
    address: SocketAddr,
    began: i64,
    database: Arc<dyn Shared<Database>>,
    /// What all sessions start with.
    defaults: Beginning,
    state: Mutex<State>,
    last: AtomicU64,
}

/// What of a session changes.
struct State {
    idle: Vec<Pooled>,
    said: Vec<String>,
    prepared: HashMap<Bytes, Arc<PreparedStatement>>,
    transactions: HashMap<Bytes, Arc<Transaction>>,
    tickets: HashMap<Bytes, ()>,
    running: HashMap<u64, Arc<Running>>,
    used: Instant,
    changed: i64,
    statement: String,
    statement_began: Option<i64>,
    is_over: bool,
}

/// A connection that is not in use, and how many of the session's settings it knows.
struct Pooled {
    connection: Box<dyn Held<Connection>>,
    known: usize,
}

/// A transaction of a client.
pub(crate) struct Transaction {
    connection: Mutex<Box<dyn Held<Connection>>>,
    /// SET statements that become the session's by a commit.
    said: Mutex<Vec<String>>,
    /// The number of the statement that began last.
    latest: AtomicU64,
    used: Mutex<Instant>,
    idle_max: Option<Duration>,
    deadline: Option<Instant>,
}

/// Where a statement runs.
#[derive(Clone)]
pub(crate) enum Place {
    /// By itself.
    Alone,
    /// In a transaction.
    Within(Arc<Transaction>),
}

/// A connection in use.
pub(crate) enum Taken<'a> {
    Pooled(Lease),
    Within(MutexGuard<'a, Box<dyn Held<Connection>>>),
}

impl Taken<'_> {
    pub(crate) fn connection(&mut self) -> &mut Connection {
        match self {
            Taken::Pooled(lease) => {
                let pooled = lease.pooled.as_mut();
                pooled.expect("it is there until it is dropped").connection.get()
            }
            Taken::Within(connection) => connection.get(),
        }
    }
}

/// A connection that goes back to its session.
pub(crate) struct Lease {
    session: Arc<Session>,
    pooled: Option<Pooled>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(pooled) = self.pooled.take() {
            self.session.give_back(pooled);
        }
    }
}

impl Place {
    /// Takes the connection of the place, waiting while another call starts a statement in the same transaction.
    pub(crate) fn take<'a>(&'a self, session: &Arc<Session>) -> Result<Taken<'a>, Error> {
        match self {
            Place::Alone => Ok(Taken::Pooled(session.lease()?)),
            Place::Within(transaction) => {
                *transaction.used.lock() = Instant::now();
                Ok(Taken::Within(transaction.connection.lock()))
            }
        }
    }

    /// Notes that a statement begins, and that it is the one to cancel.
    pub(crate) fn begins(&self, number: u64) {
        if let Place::Within(transaction) = self {
            transaction.latest.store(number, Ordering::Relaxed);
        }
    }

    /// Returns whether this is the place of statements of a transaction.
    pub(crate) fn is(&self, transaction: &Arc<Transaction>) -> bool {
        matches!(self, Place::Within(within) if Arc::ptr_eq(within, transaction))
    }

    /// Returns whether cancelling the connection would cancel this statement.
    pub(crate) fn is_latest(&self, number: u64) -> bool {
        match self {
            Place::Alone => true,
            Place::Within(transaction) => transaction.latest.load(Ordering::Relaxed) == number,
        }
    }
}

impl Session {
    /// Begins a session of a user, or of an administrator of a database without users.
    pub(crate) fn new(
        pid: i32,
        user: Option<String>,
        address: SocketAddr,
        database: Arc<dyn Shared<Database>>,
        defaults: Beginning,
    ) -> Self {
        Session {
            pid,
            user,
            address,
            began: now(),
            database,
            defaults,
            state: Mutex::new(State {
                idle: Vec::new(),
                said: Vec::new(),
                prepared: HashMap::new(),
                transactions: HashMap::new(),
                tickets: HashMap::new(),
                running: HashMap::new(),
                used: Instant::now(),
                changed: now(),
                statement: String::new(),
                statement_began: None,
                is_over: false,
            }),
            last: AtomicU64::new(0),
        }
    }

    /// Notes that the client is there; false if the session is over.
    pub(crate) fn touch(&self) -> bool {
        let mut state = self.state.lock();
        state.used = Instant::now();
        !state.is_over
    }

    fn lease(self: &Arc<Self>) -> Result<Lease, Error> {
        let (pooled, said) = {
            let mut state = self.state.lock();
            let pooled = state.idle.pop();
            let known = pooled.as_ref().map_or(0, |pooled| pooled.known);
            (pooled, state.said[known..].to_vec())
        };
        let mut pooled = match pooled {
            Some(pooled) => pooled,
            None => Pooled {
                connection: held(self.connect()?),
                known: 0,
            },
        };
        for statement in &said {
            pooled.connection.get().execute(statement)?;
        }
        pooled.known += said.len();
        Ok(Lease {
            session: self.clone(),
            pooled: Some(pooled),
        })
    }

    fn connect(&self) -> Result<Connection, Error> {
        let mut connection = self.database.get().connect();
        if let Some(user) = &self.user {
            connection.set_user(user);
        }
        // Without users every client has the name of the database.
        connection.set_client(self.user.as_deref().unwrap_or("rukh"), self.pid);
        for (name, value) in self.defaults.settings.iter() {
            connection.set(name, value)?;
        }
        connection.keep_settings();
        Ok(connection)
    }

    fn give_back(&self, mut pooled: Pooled) {
        let mut state = self.state.lock();
        let idle = pooled.connection.get().transaction_status() == TransactionStatus::Idle;
        if idle && !state.is_over && state.idle.len() < IDLE_MAX {
            state.idle.push(pooled);
        }
    }

    /// Keeps a SET statement that has run, for the connections to come.
    pub(crate) fn set(&self, place: &Place, statement: String) -> Result<(), Error> {
        if let Place::Within(transaction) = place {
            transaction.said.lock().push(statement);
            return Ok(());
        }
        let mut state = self.state.lock();
        if state.said.len() >= SETTINGS_MAX {
            return Err(too_many("settings"));
        }
        state.said.push(statement);
        Ok(())
    }

    /// Begins a transaction; it takes a connection of its own.
    pub(crate) fn begin_transaction(self: &Arc<Self>, id: Bytes) -> Result<(), Error> {
        if self.state.lock().transactions.len() >= TRANSACTIONS_MAX {
            return Err(too_many("open transactions"));
        }
        let mut lease = self.lease()?;
        let Some(Pooled { mut connection, .. }) = lease.pooled.take() else {
            return Err(Error::internal("a lease holds a connection"));
        };
        connection.get().execute("BEGIN")?;
        let idle_max = limit(connection.get(), "idle_in_transaction_session_timeout");
        let open_max = limit(connection.get(), "transaction_timeout");
        let transaction = Transaction {
            idle_max,
            deadline: open_max.map(|limit| Instant::now() + limit),
            connection: Mutex::new(connection),
            said: Mutex::default(),
            latest: AtomicU64::new(0),
            used: Mutex::new(Instant::now()),
        };
        self.state.lock().transactions.insert(id, Arc::new(transaction));
        Ok(())
    }

    /// Returns where a statement is to run: in the transaction that it names, if it names one.
    pub(crate) fn place(&self, transaction: Option<&Bytes>) -> Result<Place, Error> {
        let Some(id) = transaction.filter(|id| !id.is_empty()) else {
            return Ok(Place::Alone);
        };
        let found = self.state.lock().transactions.get(id).cloned();
        found.map(Place::Within).ok_or_else(no_transaction)
    }

    /// Ends a transaction, by a commit or not; it is over even if that fails.
    pub(crate) fn end_transaction(&self, id: &Bytes, commit: bool) -> Result<(), Error> {
        let transaction = self.state.lock().transactions.remove(id);
        let transaction = transaction.ok_or_else(no_transaction)?;
        let mut connection = transaction.connection.lock();
        let connection = connection.get();
        if !commit {
            return connection.execute("ROLLBACK").map(drop);
        }
        let outcome = connection.execute("COMMIT")?;
        if outcome.tag != "COMMIT" {
            let message = "the transaction was aborted by an earlier error, and has been rolled back";
            return Err(Error::statement("25P02", message));
        }
        let said = std::mem::take(&mut *transaction.said.lock());
        said.into_iter()
            .try_for_each(|statement| self.set(&Place::Alone, statement))
    }

    /// Keeps a prepared statement.
    pub(crate) fn add_prepared(&self, handle: Bytes, prepared: PreparedStatement) -> Result<(), Error> {
        let mut state = self.state.lock();
        if state.prepared.len() >= PREPARED_MAX {
            return Err(too_many("prepared statements"));
        }
        state.prepared.insert(handle, Arc::new(prepared));
        Ok(())
    }

    /// Returns a prepared statement.
    pub(crate) fn prepared(&self, handle: &Bytes) -> Result<Arc<PreparedStatement>, Error> {
        let found = self.state.lock().prepared.get(handle).cloned();
        found.ok_or_else(|| Error::statement("26000", "the prepared statement does not exist"))
    }

    /// Forgets a prepared statement.
    pub(crate) fn close_prepared(&self, handle: &Bytes) {
        self.state.lock().prepared.remove(handle);
    }

    /// Keeps a ticket that may be used once.
    pub(crate) fn add_ticket(&self, once: Bytes) -> Result<(), Error> {
        let mut state = self.state.lock();
        if state.tickets.len() >= TICKETS_MAX {
            return Err(too_many("results that wait to be fetched"));
        }
        state.tickets.insert(once, ());
        Ok(())
    }

    /// Takes a ticket that may be used once.
    pub(crate) fn use_ticket(&self, once: &Bytes) -> Result<(), Error> {
        let taken = self.state.lock().tickets.remove(once);
        taken.ok_or_else(|| Error::statement("34000", "the statement has run, and its result was fetched"))
    }

    /// Notes that a statement is to run.
    pub(crate) fn begin(&self, text: &str, ticket: Option<Bytes>) -> Result<Arc<Running>, Error> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let running = Arc::new(Running::new(number, ticket));
        let mut state = self.state.lock();
        if state.is_over {
            return Err(Error::statement("57P01", "the session is over"));
        }
        if state.running.len() >= RUNNING_MAX {
            return Err(too_many("statements at a time"));
        }
        let end = (0..=SHOWN_BYTES_MAX.min(text.len()))
            .rev()
            .find(|end| text.is_char_boundary(*end));
        state.statement.clear();
        state.statement.push_str(&text[..end.unwrap_or(0)]);
        state.statement_began = Some(now());
        state.changed = now();
        state.running.insert(number, running.clone());
        Ok(running)
    }

    /// Runs a statement whose rows are not read, and reports it to the callback.
    pub(crate) fn reporting<T>(
        &self,
        connection: &mut Connection,
        text: &str,
        run: impl FnOnce(&mut Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let result = run(connection);
        self.tell(Some(connection), text, started.elapsed(), result.is_ok());
        result
    }

    /// Logs a statement that has run.
    pub(crate) fn tell(&self, connection: Option<&Connection>, text: &str, elapsed: Duration, is_ok: bool) {
        if let Some(report) = &self.defaults.on_statement {
            report(connection, text, elapsed, is_ok);
        }
    }

    /// Notes that a statement has ended.
    pub(crate) fn end(&self, number: u64) {
        let mut state = self.state.lock();
        state.running.remove(&number);
        state.used = Instant::now();
        if state.running.is_empty() {
            state.changed = now();
        }
    }

    /// Cancels what runs; only what was fetched by a ticket, if one is given. Returns whether there was anything to cancel.
    pub(crate) fn cancel(&self, ticket: Option<&Bytes>) -> bool {
        let running: Vec<_> = self.state.lock().running.values().cloned().collect();
        let of_ticket = running
            .iter()
            .filter(|running| ticket.is_none() || running.ticket.as_ref() == ticket);
        of_ticket.filter(|running| running.cancel()).count() > 0
    }

    /// Ends the session: what runs is cancelled, transactions are rolled back.
    pub(crate) fn close(&self) {
        let (idle, transactions) = {
            let mut state = self.state.lock();
            state.is_over = true;
            state.prepared.clear();
            state.tickets.clear();
            (
                std::mem::take(&mut state.idle),
                std::mem::take(&mut state.transactions),
            )
        };
        self.cancel(None);
        drop((idle, transactions));
    }

    /// Rolls back transactions that were open or idle for too long, with what still runs in them; returns whether the session
    /// itself has been idle for longer than it may.
    pub(crate) fn has_expired(&self, idle_max: Duration) -> bool {
        let at = Instant::now();
        let (expired, running, is_idle) = {
            let mut state = self.state.lock();
            let busy = !state.running.is_empty();
            let expired = state.transactions.extract_if(|_, transaction| {
                let used = *transaction.used.lock();
                let idle = transaction
                    .idle_max
                    .is_some_and(|max| at.duration_since(used) > max && !busy);
                idle || transaction.deadline.is_some_and(|deadline| at >= deadline)
            });
            let expired: Vec<_> = expired.map(|(_, transaction)| transaction).collect();
            let running: Vec<_> = match expired.is_empty() {
                true => Vec::new(),
                false => state.running.values().cloned().collect(),
            };
            (
                expired,
                running,
                !busy && at.duration_since(state.used) > idle_max,
            )
        };
        for transaction in &expired {
            running
                .iter()
                .for_each(|running| running.cancel_within(transaction));
        }
        is_idle
    }

    /// Returns whether nothing runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.lock().running.is_empty()
    }

    /// Returns how others see the session.
    pub(crate) fn backend(&self) -> Backend {
        let state = self.state.lock();
        let shown = match (state.running.is_empty(), state.transactions.is_empty()) {
            (false, _) => "active",
            (true, false) => "idle in transaction",
            (true, true) => "idle",
        };
        Backend {
            pid: self.pid,
            user: self.user.clone(),
            application: "Arrow Flight SQL".to_string(),
            address: self.address.ip().to_string(),
            port: i32::from(self.address.port()),
            began: self.began,
            statement_began: state.statement_began,
            changed: state.changed,
            state: shown,
            statement: state.statement.clone(),
            ..Backend::default()
        }
    }
}

fn no_transaction() -> Error {
    Error::statement(
        "25000",
        "there is no such transaction; it may have ended, or been idle for too long",
    )
}

fn too_many(what: &str) -> Error {
    Error::statement("54000", format!("too many {what} in one session"))
}

/// Returns a limit of time that a setting says in milliseconds; none if it is 0.
pub(crate) fn limit(connection: &Connection, setting: &str) -> Option<Duration> {
    let value = connection.setting(setting).ok()?.parse().ok()?;
    (value > 0).then(|| Duration::from_millis(value))
}

/// Returns microseconds since 1970-01-01.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
