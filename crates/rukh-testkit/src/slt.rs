//! The sqllogictest files of `tests/slt`, run on Rukh and on PostgreSQL.
//!
//! Each file has a database of its own. A file says with `onlyif rukh` what PostgreSQL does not
//! know; everything else must hold on both, so the expected rows are PostgreSQL's word as well.
//!
//! | value          | printed as |
//! |----------------|------------|
//! | NULL           | `NULL`     |
//! | empty text     | `(empty)`  |
//! | line end       | `\n`       |
//!
//! `CLOCK 2024-05-01 12:00:00` makes Rukh's time stand still there; PostgreSQL does not know it.
//!
//! An error is printed as `SQLSTATE: message`; `statement error` takes a regular expression that is
//! found in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use rukh::TransactionStatus;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner, default_normalizer, default_validator};

use crate::client::Client;
use crate::postgres::{PostgresDatabase, PostgresError};
use crate::table::Table;
use crate::translate::Translator;

/// What a file says that a store without files of this machine refuses or does not have.
pub const OF_FILES: [&str; 4] = ["columnar", "COLUMNAR", "BACKUP", "CHECKPOINT"];

/// Rukh as sqllogictest sees it.
pub struct SltRukh {
    client: Client,
    /// What makes blocks of all columnar tables and indexes after each statement that is no query.
    repacker: Option<Client>,
}

/// An error of Rukh, printed for sqllogictest.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", .0.sqlstate, .0.message)]
pub struct RukhError(rukh::Error);

impl SltRukh {
    /// Runs scripts on this connection.
    pub fn new(client: Client) -> Self {
        SltRukh {
            client,
            repacker: None,
        }
    }

    /// Runs scripts on this connection, while another one repacks whatever is columnar.
    pub fn repacked(client: Client) -> Self {
        SltRukh {
            repacker: Some(client.another()),
            client,
        }
    }
}

impl DB for SltRukh {
    type Error = RukhError;
    type ColumnType = DefaultColumnType;

    /// Runs a statement on a thread of its own: the runner holds this one as an executor of futures,
    /// and another cannot start inside of it.
    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, RukhError> {
        let client = &mut self.client;
        if let Some(time) = sql.strip_prefix("CLOCK ") {
            client.set_clock(time);
            return Ok(DBOutput::StatementComplete(0));
        }
        let result = std::thread::scope(|scope| scope.spawn(|| client.run(sql)).join());
        let output = result.expect("a statement does not panic").map_err(RukhError)?;
        if let (Some(repacker), None) = (&mut self.repacker, &output.table) {
            std::thread::scope(|scope| scope.spawn(|| repack_all(repacker)).join())
                .expect("a repack does not panic");
        }
        Ok(match &output.table {
            Some(table) => rows(table),
            None => DBOutput::StatementComplete(output.count()),
        })
    }

    fn engine_name(&self) -> &str {
        "rukh"
    }

    fn error_sql_state(error: &RukhError) -> Option<String> {
        Some(error.0.sqlstate.to_owned())
    }
}

/// [`SltRukh`] that runs each query through a view, too.
pub struct SltViews {
    rukh: SltRukh,
    found: Arc<Mutex<ThroughViews>>,
}

/// Queries that were run through views.
#[derive(Debug, Default)]
pub struct ThroughViews {
    /// Their number.
    pub count: usize,
    /// How often they were run again after a change of their tables, or as a table.
    pub count_changed: usize,
    /// Those that gave other rows, or an error.
    pub differences: Vec<String>,
}

impl ThroughViews {
    /// Notes rows of a view that are not those of its query, in any order.
    fn compare(
        &mut self,
        sql: &str,
        mut rows: Vec<Vec<String>>,
        of_view: Result<Vec<Vec<String>>, RukhError>,
    ) {
        rows.sort();
        let of_view = of_view.map(|mut of_view| {
            of_view.sort();
            of_view
        });
        match of_view {
            Ok(of_view) if of_view == rows => {}
            Ok(of_view) => self.differences.push(format!("{sql}\n{rows:?}\n{of_view:?}")),
            Err(error) => self.differences.push(format!("{sql}\n{error}")),
        }
    }
}

/// Rows of a view.
struct ViewRows {
    rows: Vec<Vec<String>>,
    /// The same after changes of its tables, and of a table of its rows, if these could be.
    changed: Vec<(&'static str, Result<Vec<Vec<String>>, RukhError>)>,
}

/// What a query says whose rows are others each time, or which cannot be that of a view.
const OF_NO_VIEW: [&str; 13] = [
    "now(",
    "current_",
    "clock_timestamp",
    "random",
    "gen_random_uuid() from",
    "nextval",
    "currval",
    "lastval",
    "pg_",
    "information_schema",
    "for update",
    "for share",
    "system_time",
];

/// What a query may say that shows rows of tables as values: they have the columns that their tables have by now, in PostgreSQL, too.
const OF_ROWS: [&str; 6] = [
    "json",
    "::text",
    "as text",
    "is null",
    "is not null",
    "from airlines",
];

/// What a query says that calls a function whose text names columns, or names one in a text: these are not renamed, in PostgreSQL neither.
const OF_BODIES: [&str; 4] = ["in_city(", "keys(", " ids(", "has_column_privilege("];

const SHOW_VIEW: &str = "SELECT * FROM through_view";

/// The variable with which each query runs in all ways.
const ALL_WAYS: &str = "SLT_ALL_WAYS";

/// SQLSTATEs of CREATE VIEW for what cannot be one: not supported, no right, a session that only reads, parameters, no columns, no schema.
const REFUSED: [&str; 6] = ["0A000", "42501", "25006", "42P02", "42P16", "3F000"];

impl SltViews {
    /// Runs scripts on this connection, and notes queries and differences.
    pub fn new(client: Client, found: Arc<Mutex<ThroughViews>>) -> Self {
        SltViews {
            rukh: SltRukh::new(client),
            found,
        }
    }

    /// Whether a statement is a query that a view can have.
    fn is_query(sql: &str) -> bool {
        let sql = sql.trim_start().to_ascii_lowercase();
        let begins = ["select", "values", "with", "table", "("];
        let writes = ["insert", "update", "delete", "upsert", "merge"];
        let is_with_write = sql.starts_with("with") && writes.iter().any(|word| sql.contains(word));
        begins.iter().any(|word| sql.starts_with(word))
            && !is_with_write
            && !OF_NO_VIEW.iter().any(|word| sql.contains(word))
    }

    /// Runs a query through a view, and again after changes of its tables; `None` if a view cannot have it.
    fn through_view(&mut self, sql: &str, columns: usize) -> Result<Option<ViewRows>, RukhError> {
        let names: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
        let names = names.join(", ");
        let create = format!("CREATE VIEW through_view ({names}) AS {sql}");
        let as_table = format!("CREATE TABLE through_table ({names}) AS {sql}");
        match self.rukh.run(&create) {
            Err(error) if REFUSED.contains(&error.0.sqlstate) => return Ok(None),
            created => created?,
        };
        let rows = self.rukh.run(SHOW_VIEW);
        let tables = self.columns_of_tables()?;
        // One of three ways for each query, or all.
        let is_all = std::env::var_os(ALL_WAYS).is_some();
        let lower = sql.to_ascii_lowercase();
        let may_have_rows = OF_ROWS.iter().any(|word| lower.contains(word));
        let calls_body = OF_BODIES.iter().any(|word| lower.contains(word));
        let later = match may_have_rows {
            true => Vec::new(),
            false => later_columns(&tables),
        };
        let renamed = match may_have_rows || calls_body {
            true => Vec::new(),
            false => renamed_column(&tables, sql),
        };
        let ways: [(&str, Vec<String>, &str); 3] = [
            ("with later columns", later, SHOW_VIEW),
            ("with a column renamed", renamed, SHOW_VIEW),
            ("kept as a table", vec![as_table], "SELECT * FROM through_table"),
        ];
        let mut changed = Vec::new();
        for (at, (how, statements, query)) in ways.into_iter().enumerate() {
            if is_all || at == sql.len() % 3 {
                changed.extend(self.rows_after(&statements, query).map(|rows| (how, rows)));
            }
        }
        self.rukh.run("DROP VIEW through_view")?;
        match rows {
            Ok(DBOutput::Rows { rows, .. }) => Ok(Some(ViewRows { rows, changed })),
            Err(error) if error.0.sqlstate == "0A000" => Ok(None),
            rows => rows.map(|_| None),
        }
    }

    fn columns_of_tables(&mut self) -> Result<Tables, RukhError> {
        let shown = self.rukh.client.query(
            "SELECT format('%I.%I', t.table_schema, t.table_name), quote_ident(c.column_name) FROM information_schema.tables t
             JOIN information_schema.columns c USING (table_schema, table_name)
             WHERE t.table_type = 'BASE TABLE' AND t.table_schema NOT IN ('pg_catalog', 'information_schema')",
        );
        let mut tables = Tables::new();
        for row in shown.map_err(RukhError)?.rows {
            if let [Some(table), Some(column)] = row.as_slice() {
                tables.entry(table.clone()).or_default().insert(column.clone());
            }
        }
        Ok(tables)
    }

    /// Runs a query after these statements, which are taken back; `None` if there are none, or one of them is not supported.
    fn rows_after(
        &mut self,
        statements: &[String],
        query: &str,
    ) -> Option<Result<Vec<Vec<String>>, RukhError>> {
        if statements.is_empty() {
            return None;
        }
        self.rukh.run("BEGIN").ok()?;
        let done = statements.iter().try_for_each(|sql| self.rukh.run(sql).map(drop));
        let rows = match done.and_then(|()| self.rukh.run(query)) {
            Ok(DBOutput::Rows { rows, .. }) => Some(Ok(rows)),
            Ok(_) => None,
            Err(error) if REFUSED.contains(&error.0.sqlstate) => None,
            Err(error) => Some(Err(error)),
        };
        self.rukh.run("ROLLBACK").ok()?;
        rows
    }
}

/// The columns of tables.
type Tables = BTreeMap<String, BTreeSet<String>>;

/// Returns statements that give each table the columns of all others, and one more.
fn later_columns(tables: &Tables) -> Vec<String> {
    let mut all: BTreeSet<&str> = tables.values().flatten().map(String::as_str).collect();
    all.insert("later_column");
    let statement = |(table, columns): (&String, &BTreeSet<String>)| {
        let later = all.iter().filter(|name| !columns.contains(**name));
        let adds: Vec<String> = later.map(|name| format!("ADD COLUMN {name} text")).collect();
        (!adds.is_empty()).then(|| format!("ALTER TABLE {table} {}", adds.join(", ")))
    };
    tables.iter().filter_map(statement).collect()
}

/// Returns a statement that renames one of the columns that a query may name.
fn renamed_column(tables: &Tables, sql: &str) -> Vec<String> {
    let columns = tables
        .iter()
        .flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
    let named: Vec<_> = columns
        .filter(|(_, column)| sql.contains(column.as_str()))
        .collect();
    let chosen = named.get(sql.len() % named.len().max(1));
    let statement =
        chosen.map(|(table, column)| format!("ALTER TABLE {table} RENAME COLUMN {column} TO renamed_column"));
    statement.into_iter().collect()
}

impl DB for SltViews {
    type Error = RukhError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, RukhError> {
        let output = self.rukh.run(sql)?;
        let DBOutput::Rows { types, rows } = &output else {
            return Ok(output);
        };
        // In a transaction block an error of CREATE VIEW would end it.
        let is_alone = self.rukh.client.connection().transaction_status() == TransactionStatus::Idle;
        if types.is_empty() || !is_alone || !Self::is_query(sql) {
            return Ok(output);
        }
        let again = self.through_view(sql, types.len());
        let mut found = self.found.lock().expect("no test panics with it");
        match again {
            Ok(None) => {}
            Ok(Some(ViewRows { rows: again, changed })) => {
                found.count += 1;
                found.compare(sql, rows.clone(), Ok(again));
                for (how, again) in changed {
                    found.count_changed += 1;
                    found.compare(&format!("{sql}\n({how})"), rows.clone(), again);
                }
            }
            Err(error) => found.differences.push(format!("{sql}\n{error}")),
        }
        Ok(output)
    }

    fn engine_name(&self) -> &str {
        "rukh"
    }

    fn error_sql_state(error: &RukhError) -> Option<String> {
        SltRukh::error_sql_state(error)
    }
}

/// Repacks all tables and indexes; those that are not columnar refuse it.
fn repack_all(client: &mut Client) {
    for (what, show) in [("TABLE", "SHOW TABLES"), ("INDEX", "SHOW INDEXES")] {
        let Ok(shown) = client.query(show) else {
            continue;
        };
        let name = shown.columns.iter().position(|column| column == "name");
        for row in &shown.rows {
            if let Some(Some(name)) = name.and_then(|at| row.get(at)) {
                match client.run(&format!("ALTER {what} \"{name}\" REPACK")) {
                    Ok(_) => {}
                    // Not columnar, no table, or gone meanwhile.
                    Err(error) if ["42809", "42P01"].contains(&error.sqlstate) => {}
                    Err(error) => panic!("{what} {name}: {error}"),
                }
            }
        }
    }
}

/// PostgreSQL as sqllogictest sees it.
pub struct SltPostgres {
    database: PostgresDatabase,
    translator: Translator,
}

impl SltPostgres {
    /// Runs scripts on this database.
    pub fn new(database: PostgresDatabase) -> Self {
        SltPostgres {
            database,
            translator: Translator::new(),
        }
    }
}

impl DB for SltPostgres {
    type Error = PostgresError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, PostgresError> {
        let Some(sql) = self.translator.translate(sql) else {
            return Ok(DBOutput::StatementComplete(0));
        };
        let (table, count) = self.database.run(&sql)?;
        Ok(match table {
            Some(table) => rows(&table),
            None => DBOutput::StatementComplete(count),
        })
    }

    fn engine_name(&self) -> &str {
        "postgres"
    }
}

/// Runs a file on a database; the error says where and what.
pub fn run_file<D>(path: &Path, database: D) -> Result<(), String>
where
    D: DB<ColumnType = DefaultColumnType> + Send + 'static,
{
    let mut slot = Some(database);
    let mut runner = Runner::new(move || {
        let database = slot.take().expect("a script has one connection");
        async move { Ok(database) }
    });
    runner.with_column_validator(same_types);
    runner
        .run_file(path)
        .map_err(|error| error.display(false).to_string())
}

/// Writes what a database says into a file, in the place of what the file expects.
pub fn update_file<D>(path: &Path, database: D) -> Result<(), String>
where
    D: DB<ColumnType = DefaultColumnType> + Send + 'static,
{
    let mut slot = Some(database);
    let mut runner = Runner::new(move || {
        let database = slot.take().expect("a script has one connection");
        async move { Ok(database) }
    });
    let updated = runner.update_test_file(path, " ", default_validator, default_normalizer, same_types);
    // Our databases answer at once, so that there is nothing to wake.
    let mut updated = pin!(updated);
    loop {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(outcome) = updated.as_mut().poll(&mut context) {
            return outcome.map_err(|error| error.to_string());
        }
    }
}

/// Whether the columns are as many, and of the types, that the file says.
#[allow(clippy::ptr_arg)]
fn same_types(actual: &Vec<DefaultColumnType>, expected: &Vec<DefaultColumnType>) -> bool {
    let same = |(a, b): (&DefaultColumnType, &DefaultColumnType)| *a == DefaultColumnType::Any || a == b;
    actual.len() == expected.len() && actual.iter().zip(expected).all(same)
}

/// A table as sqllogictest takes it; column types are not compared.
pub fn rows(table: &Table) -> DBOutput<DefaultColumnType> {
    let rows = table
        .rows
        .iter()
        .map(|row| row.iter().map(|value| printed(value.as_deref())).collect());
    DBOutput::Rows {
        types: vec![DefaultColumnType::Any; table.columns.len()],
        rows: rows.collect(),
    }
}

fn printed(value: Option<&str>) -> String {
    match value {
        None => "NULL".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(text) => text.replace('\n', "\\n"),
    }
}
