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

mod connection;
mod database;
mod rows;
mod value;

pub use connection::{Connection, NameEntry, NameKind, Outcome, Statement};
pub use database::{Database, Options};
pub use rows::{Row, Rows};
pub use rukh_keys::{DataType, Datum};
pub use rukh_sql::arrow;
pub use rukh_sql::{
    CancelHandle, ColumnInfo, ErrorKind, Notice, ProgressReport, QueryStats, RunPath, Split,
    SqlError as Error, split_statements,
};
pub use value::{FromDatum, Value};

/// The result of an operation on a database.
pub type Result<T, E = Error> = std::result::Result<T, E>;
