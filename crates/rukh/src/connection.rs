//! Connections: statements, prepared statements, cancellation, progress.

use std::sync::Arc;

use rukh_sql::{
    CancelHandle, CopyClient, Description, ImportNote, Notice, Prepared, ProgressReport, ProgressSink,
    QueryStats, Session, StatementKind, TransactionStatus,
};

use crate::{DataType, Error, Result, Rows, Transaction, Value};

/// Runs statements one after another.
pub struct Connection {
    pub(crate) session: Session,
}

/// Result of one statement.
pub struct Outcome {
    /// Command tag as PostgreSQL gives it: `SELECT`, `INSERT 0 4`, `CREATE TABLE`.
    pub tag: String,
    /// Rows, for statements that give some; the statement runs on while they are read.
    pub rows: Option<Rows>,
    /// Messages beside the result.
    pub notices: Vec<Notice>,
}

/// A statement parsed once, to be run with parameters `$1`, `$2`, ….
#[derive(Clone, Debug)]
pub struct Statement(Prepared);

impl Statement {
    /// Returns the text.
    pub fn sql(&self) -> &str {
        self.0.sql()
    }

    /// Whether it is COPY FROM STDIN or COPY TO STDOUT, to be run by [`Connection::execute_copy`].
    pub fn is_client_copy(&self) -> bool {
        self.0.is_client_copy()
    }

    /// Returns it with a number in the place of parameter `at`, counted from 1; `None` if a value of DECIMAL holds the number, or it is none.
    ///
    /// Such a number has no value that could be a parameter. Where it stands in the statement, it compares exactly.
    pub fn with_wide_number(&self, at: usize, number: &str) -> Result<Option<Statement>> {
        Ok(self.0.with_wide_number(at, number)?.map(Statement))
    }

    /// Returns it with parameters, by their numbers from 1, cast to types that no column has: `INTERVAL`, `SMALLINT[]`.
    ///
    /// The value of such a parameter is a text, as the cast reads it. Without the cast it is a text to operators and functions.
    pub fn with_casts(&self, casts: &[(usize, String)]) -> Result<Statement> {
        Ok(Statement(self.0.with_casts(casts)?))
    }

    /// Returns what kind of statement this is.
    pub fn kind(&self) -> StatementKind {
        self.0.kind()
    }
}

/// What a name in the catalog stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A table.
    Table,
    /// An index.
    Index,
    /// A column.
    Column,
}

/// A name in the catalog, for completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameEntry {
    /// What it stands for.
    pub kind: NameKind,
    /// The name.
    pub name: String,
    /// The table of an index or column.
    pub parent: Option<String>,
}

impl Connection {
    pub(crate) fn new(session: Session) -> Self {
        Connection { session }
    }

    /// Runs one statement; a closing semicolon is allowed.
    ///
    /// A statement that fails has changed nothing.
    pub fn execute(&mut self, sql: &str) -> Result<Outcome> {
        self.session.execute(sql).map(Outcome::from)
    }

    /// Runs one statement that gives rows; fails with 42601 when it gives none.
    pub fn query(&mut self, sql: &str) -> Result<Rows> {
        rows_of(self.execute(sql)?)
    }

    /// Parses a statement to be run with parameters.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        self.session.prepare(sql).map(Statement)
    }

    /// Returns the types of a statement's parameters and the columns of its rows, without running it.
    ///
    /// `given[0]` is the type of `$1`, if it is not to be inferred. Fails on names that do not exist.
    pub fn describe(
        &mut self,
        statement: &Statement,
        given: &[Option<DataType>],
    ) -> Result<Arc<Description>> {
        self.session.describe(&statement.0, given)
    }

    /// Gives a prepared statement a name, by which `EXECUTE` finds it, as `PREPARE` does; `types` are those of
    /// [`Connection::describe`]. Fails with 42P05 if there is such a name.
    pub fn name_prepared(
        &mut self,
        name: &str,
        statement: &Statement,
        types: &[Option<DataType>],
    ) -> Result<()> {
        self.session.name_prepared(name, &statement.0, types)
    }

    /// Removes a name; nothing happens if there is none.
    pub fn forget_prepared(&mut self, name: &str) {
        self.session.forget_prepared(name);
    }

    /// Sets the client that runs the statements from now on, for `current_user` and `pg_backend_pid()`: the
    /// name of a user, and the number of its connection.
    pub fn set_client(&mut self, user: &str, pid: i32) {
        self.session.set_client(user, pid);
    }

    /// Returns the value of a setting as SHOW prints it; fails with 42704 on an unknown name.
    pub fn setting(&self, name: &str) -> Result<String> {
        self.session.setting(name)
    }

    /// Changes a setting as SET does.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.session.set(name, value)
    }

    /// Makes the present settings those that RESET and DISCARD ALL give: what a client's connection begins with.
    pub fn keep_settings(&mut self) {
        self.session.keep_settings();
    }

    /// Runs a prepared statement; `params[0]` is `$1`.
    pub fn execute_prepared(&mut self, statement: &Statement, params: &[Value]) -> Result<Outcome> {
        self.session
            .execute_prepared(&statement.0, params)
            .map(Outcome::from)
    }

    /// Runs COPY FROM STDIN or COPY TO STDOUT with `client` at the other end.
    pub fn execute_copy(&mut self, statement: &Statement, client: &mut dyn CopyClient) -> Result<Outcome> {
        let outcome = self.session.execute_with_client(&statement.0, &[], client);
        outcome.map(Outcome::from)
    }

    /// Runs a prepared statement that gives rows.
    pub fn query_prepared(&mut self, statement: &Statement, params: &[Value]) -> Result<Rows> {
        rows_of(self.execute_prepared(statement, params)?)
    }

    /// Runs COPY FROM, outside of a transaction block, and notes `file` in the same atomic step under the name of
    /// a journal, in place of the file before: what [`Connection::imported_last`] returns until
    /// [`Connection::forget_import`], also after a crash.
    pub fn execute_import(&mut self, sql: &str, journal: &str, file: &str) -> Result<Outcome> {
        let note = ImportNote {
            journal: journal.to_owned(),
            file: file.to_owned(),
        };
        self.session.execute_import(sql, note).map(Outcome::from)
    }

    /// Returns what [`Connection::execute_import`] noted last under the name of a journal.
    pub fn imported_last(&self, journal: &str) -> Result<Option<String>> {
        Ok(self.session.engine().imported_last(journal)?)
    }

    /// Removes what is noted under the name of a journal.
    pub fn forget_import(&mut self, journal: &str) -> Result<()> {
        Ok(self.session.engine().forget_import(journal)?)
    }

    /// Begins a transaction, which is rolled back unless it is committed.
    ///
    /// Fails with 25001 in a transaction block that an earlier BEGIN has opened.
    pub fn transaction(&mut self) -> Result<Transaction<'_>> {
        Transaction::begin(self)
    }

    /// Returns whether a transaction block is open, and whether an error has aborted it.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.session.transaction_status()
    }

    /// Aborts the transaction block that is open, as an error of a statement does; does nothing outside of one.
    pub fn abort_transaction(&mut self) {
        self.session.abort();
    }

    /// Takes the notices of the last statement, if it failed: those of a statement that ended are in its [`Outcome`].
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.session.take_notices()
    }

    /// Returns a handle that ends the running statement from another thread, with SQLSTATE 57014.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.session.cancel_handle()
    }

    /// Reports to `listener` how far long statements are: COPY, CREATE INDEX, CHECK.
    pub fn on_progress(&mut self, listener: Box<dyn Fn(&ProgressReport) + Send + Sync>) {
        self.session.set_progress(ProgressSink::to(listener.into()));
    }

    /// Returns what the last query did, as `SHOW LAST QUERY STATS` prints it.
    pub fn last_query_stats(&self) -> Option<QueryStats> {
        self.session.last_stats()
    }

    /// Returns all names of the catalog, for completion.
    pub fn catalog_names(&self) -> Vec<NameEntry> {
        let catalog = self.session.engine().catalog();
        let mut names = Vec::new();
        for table in catalog.tables() {
            let parent = Some(table.name.clone());
            names.push(NameEntry {
                kind: NameKind::Table,
                name: table.name.clone(),
                parent: None,
            });
            names.extend(table.declared_columns().iter().map(|column| NameEntry {
                kind: NameKind::Column,
                name: column.name.clone(),
                parent: parent.clone(),
            }));
            names.extend(table.indexes.iter().map(|index| NameEntry {
                kind: NameKind::Index,
                name: index.name.clone(),
                parent: parent.clone(),
            }));
        }
        names
    }
}

impl From<rukh_sql::Outcome> for Outcome {
    fn from(outcome: rukh_sql::Outcome) -> Self {
        Outcome {
            tag: outcome.tag,
            rows: outcome.rows.map(Rows::new),
            notices: outcome.notices,
        }
    }
}

fn rows_of(outcome: Outcome) -> Result<Rows> {
    let tag = outcome.tag;
    outcome
        .rows
        .ok_or_else(|| Error::syntax(format!("{tag} gives no rows")))
}
