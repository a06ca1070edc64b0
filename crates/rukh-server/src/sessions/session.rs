//! A session: the messages of one client, answered one after another.
//!
//! | messages                       | transaction                                                       |
//! |--------------------------------|-------------------------------------------------------------------|
//! | one statement in a query       | its own                                                           |
//! | several statements in a query  | one for all of them, until one of them is BEGIN or COMMIT         |
//! | one Execute before a Sync      | its own                                                           |
//! | several Executes before a Sync | one for all of them                                               |
//!
//! A statement that cannot stand in a transaction block, such as VACUUM, commits what precedes it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgwire::messages::PgWireFrontendMessage as Request;
use rukh::{Connection, Error, Notice, Outcome, Statement, StatementKind, TransactionStatus};
use tracing::debug;

use crate::clients::registry::Slot;
use crate::clients::shared::Server;
use crate::clients::startup::{REPORTED, report};
use crate::protocol::messages::{self, Severity};
use crate::protocol::wire::{FAREWELL, Wire, WireError};
use crate::sessions::portal::{Portal, Prepared};
use crate::setup::metering;

/// Parsed texts that a session keeps.
const PARSED_MAX: usize = 256;

/// Prepared statements that a session may have.
const PREPARED_MAX: usize = 10_000;

/// One client.
pub(crate) struct Session {
    pub(crate) server: Arc<Server>,
    pub(crate) wire: Wire,
    pub(crate) connection: Connection,
    pub(crate) slot: Arc<Slot>,
    pub(crate) prepared: HashMap<String, Arc<Prepared>>,
    pub(crate) portals: HashMap<String, Portal>,
    /// Texts parsed before: clients send the same ones again and again.
    parsed: HashMap<String, Statement>,
    /// Whether the transaction block that is open is not of the client's making.
    implicit: bool,
    /// Whether messages are passed over until the next Sync.
    pub(crate) skipping: bool,
    limits: Limits,
    /// When the transaction block that is open must have ended.
    block_deadline: Option<Instant>,
    /// Whether a transaction was cancelled because it took too long: the connection ends with it.
    is_late: bool,
    reported: Vec<String>,
    notices_from: u8,
}

/// How long things may take; `None` for ever.
#[derive(Clone, Copy, Default)]
struct Limits {
    statement: Option<Duration>,
    transaction: Option<Duration>,
    idle: Option<Duration>,
    idle_in_transaction: Option<Duration>,
}

/// Why a request was not carried out.
pub(crate) enum Failure {
    /// The error is sent to the client; the connection goes on.
    Error(Box<Error>),
    /// The connection is over.
    Wire(WireError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(Box::new(error))
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Failure::Wire(error)
    }
}

impl Session {
    /// Starts a session for a client that has logged in.
    pub(crate) fn new(server: Arc<Server>, wire: Wire, connection: Connection, slot: Arc<Slot>) -> Self {
        let mut session = Session {
            server,
            wire,
            connection,
            slot,
            prepared: HashMap::new(),
            portals: HashMap::new(),
            parsed: HashMap::new(),
            implicit: false,
            skipping: false,
            limits: Limits::default(),
            block_deadline: None,
            is_late: false,
            reported: Vec::new(),
            notices_from: 0,
        };
        session.read_settings();
        session.reported = session.reported_now();
        session
    }

    /// Answers messages until the client leaves or is sent away.
    pub(crate) fn run(&mut self, notices: Vec<Notice>) -> Result<(), WireError> {
        self.tell(notices)?;
        self.ready()?;
        loop {
            self.wire.set_wait(self.wait())?;
            let request = match self.wire.receive() {
                Ok(Request::Terminate(_)) => return Ok(()),
                Ok(request) => request,
                Err(error @ WireError::Encoding { kind }) => {
                    self.reject(Error::statement("22021", error.to_string()), kind)?;
                    continue;
                }
                Err(WireError::Idle) => return self.end_idle(),
                Err(WireError::Closed)
                    if self.server.registry().is_stopping() || self.slot.is_terminated() =>
                {
                    let message = "terminating connection due to administrator command";
                    return self.end(Error::statement("57P01", message));
                }
                Err(WireError::Protocol(message)) => {
                    return self.end(Error::statement("08P01", message));
                }
                Err(error) => return Err(error),
            };
            self.answer(request)?;
        }
    }

    fn answer(&mut self, request: Request) -> Result<(), WireError> {
        match request {
            Request::Sync(_) => self.sync(),
            _ if self.skipping => Ok(()),
            Request::Query(query) => self.simple_query(&query.query),
            Request::Flush(_) => self.wire.flush(),
            request => match self.extended(request) {
                Ok(()) => Ok(()),
                Err(Failure::Error(error)) => {
                    self.skipping = true;
                    self.connection.abort_transaction();
                    self.fail_at(*error, 0)
                }
                Err(Failure::Wire(error)) => Err(error),
            },
        }
    }

    /// Ends what was sent since the last Sync.
    fn sync(&mut self) -> Result<(), WireError> {
        self.skipping = false;
        if let Err(error) = self.end_implicit() {
            self.fail_at(error, 0)?;
        }
        if self.connection.transaction_status() == TransactionStatus::Idle {
            self.portals.clear();
        }
        self.ready()
    }

    /// Commits the implicit transaction block; rolls it back after an error.
    pub(crate) fn end_implicit(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.implicit) {
            return Ok(());
        }
        self.portals.clear();
        self.block_deadline = None;
        match self.connection.transaction_status() {
            TransactionStatus::Aborted => self.connection.execute("ROLLBACK").map(drop),
            _ => self.connection.execute("COMMIT").map(drop),
        }
    }

    /// Prepares the transaction for a statement of this kind; `alone` says that it is all that there is
    /// until the end of what the client has sent. Returns the tag if there is nothing left to do.
    pub(crate) fn before(&mut self, kind: StatementKind, alone: bool) -> Result<Option<&'static str>, Error> {
        let idle = self.connection.transaction_status() == TransactionStatus::Idle;
        match kind {
            StatementKind::Read | StatementKind::Write if idle && !alone => {
                self.connection.execute("BEGIN")?;
                self.implicit = true;
            }
            StatementKind::Begin if self.implicit => {
                self.implicit = false;
                return Ok(Some("BEGIN"));
            }
            StatementKind::End => {
                self.implicit = false;
                self.portals.clear();
            }
            StatementKind::Alone => self.end_implicit()?,
            _ => {}
        }
        Ok(None)
    }

    /// Notes what a statement of this kind may have changed.
    pub(crate) fn after(&mut self, kind: StatementKind) -> Result<(), WireError> {
        match kind {
            StatementKind::Begin => {
                self.block_deadline = self.limits.transaction.map(|limit| Instant::now() + limit);
            }
            StatementKind::End => {
                self.block_deadline = None;
                self.report_settings()?;
            }
            StatementKind::Setting | StatementKind::Transaction => self.report_settings()?,
            _ => {}
        }
        Ok(())
    }

    /// Returns a parsed statement; `None` for a text without one.
    pub(crate) fn parse(
        connection: &mut Connection,
        parsed: &mut HashMap<String, Statement>,
        sql: &str,
    ) -> Result<Option<Statement>, Error> {
        let aborted = connection.transaction_status() == TransactionStatus::Aborted;
        if let Some(statement) = parsed.get(sql).filter(|_| !aborted) {
            return Ok(Some(statement.clone()));
        }
        let split = rukh::split_statements(sql);
        if split.statements.is_empty() && split.rest.is_empty() {
            return Ok(None);
        }
        let statement = connection.prepare(sql)?;
        if parsed.len() >= PARSED_MAX {
            parsed.clear();
        }
        parsed.insert(sql.to_string(), statement.clone());
        Ok(Some(statement))
    }

    /// Returns connection and parsed texts, both to be changed.
    pub(crate) fn parser(&mut self) -> (&mut Connection, &mut HashMap<String, Statement>) {
        (&mut self.connection, &mut self.parsed)
    }

    /// Fails if there are too many prepared statements.
    pub(crate) fn check_prepared(&self) -> Result<(), Error> {
        match self.prepared.len() < PREPARED_MAX {
            true => Ok(()),
            false => Err(Error::statement("54000", "too many prepared statements")
                .with_hint("Close or DEALLOCATE those that are not used any more.")),
        }
    }

    /// Runs a statement under its deadline; `text` is what others see of it.
    pub(crate) fn timed<T>(
        &mut self,
        text: &str,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let now = Instant::now();
        let limit = self.limits.statement.map(|limit| now + limit);
        // What stands in no block is a transaction by itself.
        let transaction = match self.connection.transaction_status() {
            TransactionStatus::Idle => self.limits.transaction.map(|limit| now + limit),
            _ => self.block_deadline,
        };
        let deadline = [limit, transaction].into_iter().flatten().min();
        if let Some(at) = self.slot.start(deadline) {
            self.server.timeouts().add(&self.slot, at);
        }
        // However long the client takes none of its rows: what bounds a statement is its deadline.
        self.wire.set_patience(None);
        self.slot.doing.lock().statement(text);
        let started = Instant::now();
        let result = run(self);
        self.slot.stop();
        if self.server.config().http.is_some() {
            metering::count_statement(Some(&self.connection), text, started.elapsed(), result.is_ok());
        }
        debug!(
            pid = self.slot.pid,
            query = self.slot.statements(),
            kind = metering::kind_of(text),
            ok = result.is_ok(),
            micros = started.elapsed().as_micros(),
            "statement"
        );
        match result {
            Err(Failure::Error(mut error)) if error.sqlstate == "57014" && self.slot.has_timed_out() => {
                self.is_late = transaction.is_some_and(|at| at <= Instant::now());
                error.message = match self.is_late {
                    true => "canceling statement due to transaction timeout".to_string(),
                    false => "canceling statement due to statement timeout".to_string(),
                };
                Err(Failure::Error(error))
            }
            result => result,
        }
    }

    /// Fails if the statement is to end.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        match self.slot.cancel.is_cancelled() {
            true => Err(Error::cancelled()),
            false => Ok(()),
        }
    }

    /// Sends the notices of a statement.
    pub(crate) fn tell(&mut self, notices: Vec<Notice>) -> Result<(), WireError> {
        for notice in notices {
            if severity(notice.severity) >= self.notices_from {
                self.wire.push(messages::notice(&notice))?;
            }
        }
        Ok(())
    }

    /// Sends the end of a statement that gave no rows, or whose rows have been sent.
    pub(crate) fn complete(&mut self, outcome: Outcome, rows: u64) -> Result<(), WireError> {
        self.wire.push(messages::complete(&outcome.tag, rows))
    }

    /// Reports an error in a message of this type, which was not carried out.
    fn reject(&mut self, error: Error, kind: u8) -> Result<(), WireError> {
        if self.skipping {
            return Ok(());
        }
        self.connection.abort_transaction();
        self.fail_at(error, 0)?;
        match kind {
            QUERY => self.ready(),
            _ => {
                self.skipping = true;
                Ok(())
            }
        }
    }

    /// Reports an error, behind the notices of its statement; its place is counted behind `offset` characters.
    pub(crate) fn fail_at(&mut self, error: Error, offset: usize) -> Result<(), WireError> {
        let notices = self.connection.take_notices();
        self.tell(notices)?;
        self.wire.push(messages::error(&error, Severity::Error, offset))
    }

    /// Invites the client to go on.
    pub(crate) fn ready(&mut self) -> Result<(), WireError> {
        let status = self.connection.transaction_status();
        if status == TransactionStatus::Idle {
            self.block_deadline = None;
        }
        self.slot.doing.lock().waits(status);
        self.wire.push(messages::ready(status))?;
        // A client that does not read is as idle as one that says nothing.
        self.wire.set_patience(self.wait());
        self.wire.flush()
    }

    /// Returns how long the client may be silent.
    fn wait(&self) -> Option<Duration> {
        if self.is_late {
            return Some(SHORTEST_WAIT);
        }
        match self.connection.transaction_status() {
            TransactionStatus::Idle => self.limits.idle,
            _ => {
                let left = self.block_deadline.map(|deadline| {
                    deadline
                        .saturating_duration_since(Instant::now())
                        .max(SHORTEST_WAIT)
                });
                [self.limits.idle_in_transaction, left]
                    .into_iter()
                    .flatten()
                    .min()
            }
        }
    }

    fn end_idle(&mut self) -> Result<(), WireError> {
        let in_block = self.connection.transaction_status() != TransactionStatus::Idle;
        let is_past = |deadline: Instant| deadline <= Instant::now();
        let is_late = self.is_late || (in_block && self.block_deadline.is_some_and(is_past));
        let (sqlstate, message) = match (is_late, in_block) {
            (true, _) => ("25P04", "terminating connection due to transaction timeout"),
            (false, true) => (
                "25P03",
                "terminating connection due to idle-in-transaction timeout",
            ),
            (false, false) => ("57P05", "terminating connection due to idle-session timeout"),
        };
        self.end(Error::statement(sqlstate, message))
    }

    /// Sends the client the reason why the connection ends.
    fn end(&mut self, error: Error) -> Result<(), WireError> {
        self.wire.push(messages::error(&error, Severity::Fatal, 0))?;
        self.wire.set_patience(Some(FAREWELL));
        self.wire.flush()
    }

    /// Reads again what settings say of timeouts and notices.
    fn read_settings(&mut self) {
        let connection = &self.connection;
        let time = |name: &str| {
            let value = connection.setting(name).ok()?.parse().ok()?;
            (value > 0).then(|| Duration::from_millis(value))
        };
        self.limits = Limits {
            statement: time("statement_timeout"),
            transaction: time("transaction_timeout"),
            idle: time("idle_session_timeout"),
            idle_in_transaction: time("idle_in_transaction_session_timeout"),
        };
        let from = connection.setting("client_min_messages").unwrap_or_default();
        self.notices_from = severity(&from.to_uppercase());
        let application = connection.setting("application_name").unwrap_or_default();
        self.slot.doing.lock().application(application);
    }

    fn reported_now(&self) -> Vec<String> {
        let value = |(_, setting): &(&str, &str)| self.connection.setting(setting).unwrap_or_default();
        REPORTED.iter().map(value).collect()
    }

    /// Sends the client which of the settings that it cares for have changed.
    fn report_settings(&mut self) -> Result<(), WireError> {
        self.read_settings();
        let now = self.reported_now();
        for ((name, _), (before, now)) in REPORTED.iter().zip(self.reported.iter().zip(&now)) {
            if before != now {
                report(&mut self.wire, name, now.clone())?;
            }
        }
        self.reported = now;
        Ok(())
    }
}

/// The type of a message with a text of the simple protocol.
const QUERY: u8 = b'Q';

/// The socket takes no shorter time.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Returns how severe a message is, for comparison.
fn severity(name: &str) -> u8 {
    match name {
        "ERROR" => 3,
        "WARNING" => 2,
        "NOTICE" => 1,
        _ => 0,
    }
}
