//! SQL over ordered keys, in one process.
//!
//! A [`Database`] is a directory; a [`Connection`] runs statements on it, one after another. Rows come as
//! Arrow record batches or as typed rows, as they are read.
//!
//! ```
//! use rukh::Database;
//!
//! let database = Database::open_in_memory()?;
//! let mut connection = database.connect();
//! connection.execute("CREATE TABLE logs (system TEXT, user_id TEXT, period INT, minutes BIGINT,
//!                     PRIMARY KEY (system, user_id, period))")?;
//! connection.execute("CREATE INDEX by_period ON logs (period, system, user_id)")?;
//! connection.execute("UPSERT INTO logs VALUES ('jericho', 'dave', 201510, 5)")?;
//!
//! let mut rows = connection.query("SELECT user_id, minutes FROM logs WHERE period = 201510")?;
//! while let Some(row) = rows.next_row()? {
//!     assert_eq!(row.get::<String>(0)?, "dave");
//!     assert_eq!(row.get::<i64>(1)?, 5);
//! }
//! # Ok::<(), rukh::Error>(())
//! ```
//!
//! Prepared statements keep their plan:
//!
//! ```
//! # let database = rukh::Database::open_in_memory()?;
//! # let mut connection = database.connect();
//! # connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT)")?;
//! let insert = connection.prepare("INSERT INTO t VALUES ($1, $2)")?;
//! for id in 0..3_i64 {
//!     connection.execute_prepared(&insert, &[id.into(), "x".into()])?;
//! }
//! let select = connection.prepare("SELECT name FROM t WHERE id = $1")?;
//! let mut rows = connection.query_prepared(&select, &[2_i64.into()])?;
//! assert_eq!(rows.next_row()?.map(|row| row.get::<String>(0)).transpose()?, Some("x".to_string()));
//! # Ok::<(), rukh::Error>(())
//! ```
//!
//! Several statements are one in a [`Transaction`], which rolls back unless it is committed. Of two that
//! change the same row the first to commit wins; the other gets an error, and may be run again:
//!
//! ```
//! # use rukh::ErrorKind;
//! # let database = rukh::Database::open_in_memory()?;
//! # let mut connection = database.connect();
//! # connection.execute("CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT)")?;
//! # connection.execute("INSERT INTO accounts VALUES (1, 100), (2, 0)")?;
//! loop {
//!     let mut transaction = connection.transaction()?;
//!     transaction.execute("UPDATE accounts SET balance = balance - 30 WHERE id = 1")?;
//!     transaction.execute("UPDATE accounts SET balance = balance + 30 WHERE id = 2")?;
//!     match transaction.commit() {
//!         Err(error) if error.kind == ErrorKind::Conflict => continue,
//!         other => break other?,
//!     }
//! }
//! # let mut rows = connection.query("SELECT balance FROM accounts ORDER BY id")?;
//! # assert_eq!(rows.next_row()?.map(|row| row.get::<i64>(0)).transpose()?, Some(70));
//! # assert_eq!(rows.next_row()?.map(|row| row.get::<i64>(0)).transpose()?, Some(30));
//! # Ok::<(), rukh::Error>(())
//! ```
//!
//! Errors say what a caller would do about them, with PostgreSQL's SQLSTATE and the place:
//!
//! ```
//! # let database = rukh::Database::open_in_memory()?;
//! # let mut connection = database.connect();
//! let error = connection.execute("SELECT * FROM nowhere").err().expect("there is no such table");
//! assert_eq!((error.sqlstate, error.position), ("42P01", Some(15)));
//! # Ok::<(), rukh::Error>(())
//! ```
//!
//! This is the only crate with a stable surface; the others are its parts.

mod backups;
mod connection;
mod database;
mod repair;
mod rows;
mod transaction;
mod users;
mod value;

pub use backups::Backups;
pub use connection::{Connection, NameEntry, NameKind, Outcome, Statement};
pub use database::{Database, Options};
pub use repair::repair;
pub use rows::{Row, Rows};
pub use rukh_keys::{DataType, Datum, IntervalStyle, ValueError};
pub use rukh_kv::{Backup, raise_descriptor_limit};
/// A parameter: a datum with its type.
pub use rukh_sql::Constant as Value;
pub use rukh_sql::Interval;
pub use rukh_sql::NUMERIC_NAN;
#[doc(hidden)]
pub use rukh_sql::check_coercions;
pub use rukh_sql::{
    Armed, Backend, Backends, CancelHandle, ColumnInfo, CopyClient, CopyShape, Description, ErrorKind,
    Notice, ProgressReport, QueryStats, RunPath, Split, SqlError as Error, StatementKind, TransactionStatus,
    Violated, function_name, shown_schema, split_statements,
};
pub use rukh_sql::{Repair, RepairedIndex, RepairedTable};
pub use rukh_sql::{
    TYPE_KEY, array_of_enums, arrow_type, data_type_of, element_of_enums, is_enum_oid, oid_of,
    taken_data_type,
};
pub use rukh_sql::{array_dimensions, array_elements, array_of_dimensions, array_text};
pub use rukh_sql::{arrow, binary, scram};
pub use transaction::Transaction;
pub use users::User;
pub use value::{FromDatum, values_of_array};

/// The result of an operation on a database.
pub type Result<T, E = Error> = std::result::Result<T, E>;
