//! [`SqlError`], and how the errors of the crates below become one.

use rukh_catalog::CatalogError;
use rukh_engine::EngineError;
use rukh_keys::{JsonError, ValueError};
use rukh_kv::KvError;
use rukh_syntax::StatementError;
use std::io;
use thiserror::Error;

use crate::datafusion_errors::function_error;

/// What a caller would do differently about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The statement is wrong; the same statement will fail again.
    Statement,
    /// The data break a rule of the table.
    Constraint,
    /// Another session changed the same rows; trying again may succeed.
    Conflict,
    /// Stored bytes that do not decode.
    Corruption,
    /// The machine failed: disk, files, memory.
    Io,
    /// The statement was cancelled.
    Cancelled,
}

/// An error as users see it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SqlError {
    /// What a caller would do about it.
    pub kind: ErrorKind,
    /// Five characters, as in PostgreSQL.
    pub sqlstate: &'static str,
    /// Lower case, no final stop, names the object.
    pub message: String,
    /// Further facts, as sentences.
    pub detail: Option<String>,
    /// What to do about it, as sentences.
    pub hint: Option<String>,
    /// Place in the statement, in characters from 1.
    pub position: Option<usize>,
    /// What has the constraint that the data break.
    pub violated: Option<Box<Violated>>,
}

/// What has a constraint that data break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violated {
    /// Name of the table, without its schema.
    pub table: String,
}

impl SqlError {
    /// Makes an error of the statement with this SQLSTATE.
    pub fn statement(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Statement, sqlstate, message)
    }

    /// Makes an error of data that break a rule, with this SQLSTATE.
    pub fn constraint(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Constraint, sqlstate, message)
    }

    /// Makes a syntax error, 42601.
    pub fn syntax(message: impl Into<String>) -> Self {
        Self::statement("42601", message)
    }

    /// Makes an error for something that Rukh does not do, 0A000.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::statement("0A000", message)
    }

    /// Makes an error for an unknown table, 42P01.
    pub fn undefined_table(name: &str) -> Self {
        Self::statement("42P01", format!("relation \"{name}\" does not exist"))
    }

    /// Makes an error for an unknown column, 42703.
    pub fn undefined_column(name: &str) -> Self {
        Self::statement("42703", format!("column \"{name}\" does not exist"))
    }

    /// Makes the error for a condition of another type than BOOLEAN, 42804: `AND`, `WHERE`.
    pub fn no_condition(place: &str, ty: &str) -> Self {
        let message = format!("argument of {place} must be type boolean, not type {ty}");
        Self::statement("42804", message)
    }

    /// Makes the error of a cancelled statement, 57014.
    pub fn cancelled() -> Self {
        Self::new(
            ErrorKind::Cancelled,
            "57014",
            "canceling statement due to user request",
        )
    }

    /// Makes an error of the machine, 58030.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, "58030", message)
    }

    /// Makes the error of a call of the system that failed: 53100 without space, 53000 without descriptors, else 58030.
    pub fn of_system(message: impl Into<String>, source: &io::Error) -> Self {
        let state = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "53100",
            _ if source.to_string().contains("Too many open files") => "53000",
            _ => "58030",
        };
        Self::new(ErrorKind::Io, state, message)
    }

    /// Makes the error for stored bytes that are not what was written, XX001.
    pub fn corruption(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corruption, "XX001", message)
    }

    /// Makes the error for a state that the program excludes, XX000.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, "XX000", message)
    }

    /// Adds the place in the statement, unless one is known.
    pub fn at(mut self, position: usize) -> Self {
        self.position.get_or_insert(position);
        self
    }

    /// Adds the table whose constraint the data break.
    pub fn of_table(mut self, table: &str) -> Self {
        self.violated = Some(Box::new(Violated {
            table: table.to_string(),
        }));
        self
    }

    /// Adds further facts.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Makes an error without detail, hint and place.
    pub fn new(kind: ErrorKind, sqlstate: &'static str, message: impl Into<String>) -> Self {
        SqlError {
            kind,
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            violated: None,
        }
    }
}

impl From<StatementError> for SqlError {
    fn from(error: StatementError) -> Self {
        let kind = match error.sqlstate {
            "XX000" => ErrorKind::Io,
            _ => ErrorKind::Statement,
        };
        SqlError {
            kind,
            sqlstate: error.sqlstate,
            message: error.message,
            detail: error.detail,
            hint: error.hint,
            position: error.position,
            violated: None,
        }
    }
}

impl From<ValueError> for SqlError {
    fn from(error: ValueError) -> Self {
        let made = SqlError::statement(value_sqlstate(&error), error.to_string());
        match error {
            ValueError::Json(JsonError::Invalid { detail }) => made.with_detail(detail),
            ValueError::InvalidRecord { detail, .. } => made.with_detail(detail),
            ValueError::NoNetwork { .. } => made.with_detail("Value has bits set to right of mask."),
            ValueError::Json(JsonError::Nul) => made.with_detail("\\u0000 cannot be converted to text."),
            ValueError::DateOrder { .. } => {
                made.with_hint("The month is read first: DateStyle is \"ISO, MDY\".")
            }
            ValueError::WideForKey { .. } => made.with_hint("VARCHAR(n) holds n characters in keys, too."),
            ValueError::NotFinite { value: "NaN", .. } => {
                made.with_hint("NUMERIC, or NUMERIC(p,s) with p of 39 and more, holds NaN.")
            }
            _ => made,
        }
    }
}

impl From<JsonError> for SqlError {
    fn from(error: JsonError) -> Self {
        ValueError::from(error).into()
    }
}

fn value_sqlstate(error: &ValueError) -> &'static str {
    match error {
        ValueError::OutOfRange { .. }
        | ValueError::IntegerOutOfRange { .. }
        | ValueError::FloatOverflow
        | ValueError::FloatUnderflow
        | ValueError::NumericOverflow { .. } => "22003",
        ValueError::NotFinite { .. } => "0A000",
        ValueError::DateTimeOutOfRange { .. }
        | ValueError::DateOrder { .. }
        | ValueError::MomentBeyond { .. }
        | ValueError::MomentOutOfRange { .. } => "22008",
        ValueError::ZoneOutOfRange { .. } => "22009",
        ValueError::DivisionByZero => "22012",
        ValueError::TooLong { .. } => "22001",
        ValueError::WideForKey { .. } => "54000",
        ValueError::InvalidArray { .. } | ValueError::InvalidRecord { .. } => "22P02",
        ValueError::ArrayDimensions => "0A000",
        ValueError::InvalidText { .. } | ValueError::NoNetwork { .. } => "22P02",
        ValueError::InvalidDateTime { .. } => "22007",
        ValueError::Json(JsonError::Invalid { .. }) => "22P02",
        ValueError::Json(JsonError::Nul) => "22P05",
        ValueError::Json(JsonError::TooDeep) => "54001",
        ValueError::Json(JsonError::TooLong) => "54000",
        ValueError::Json(JsonError::NumberTooLong) => "22003",
        ValueError::IntervalOutOfRange { .. } => "22015",
        ValueError::InvalidHexDigit { .. }
        | ValueError::OddHexDigits
        | ValueError::UnknownZone { .. }
        | ValueError::InvalidModifier { .. } => "22023",
        ValueError::NullByte => "22021",
        ValueError::TypeMismatch { .. } => "42804",
        ValueError::NotNull { .. } => "23502",
        ValueError::UnknownType { .. } => "42704",
        ValueError::ColumnCount { .. } => "XX000",
    }
}

impl From<CatalogError> for SqlError {
    fn from(error: CatalogError) -> Self {
        let message = error.to_string();
        match error {
            CatalogError::UnknownTable { .. } => SqlError::statement("42P01", message),
            CatalogError::UnknownIndex { .. } => SqlError::statement("42704", message),
            CatalogError::UnknownColumn { .. } => SqlError::statement("42703", message),
            CatalogError::DuplicateRelation { .. } => SqlError::statement("42P07", message),
            CatalogError::DuplicateColumn { .. } => SqlError::statement("42701", message),
            CatalogError::NoPrimaryKey { .. } | CatalogError::Invalid { .. } => {
                SqlError::statement("42P16", message)
            }
            CatalogError::Value { .. } => SqlError::statement("22023", message),
            CatalogError::Unsupported { .. } => SqlError::unsupported(message),
            CatalogError::NewerFormat { .. } => SqlError::new(ErrorKind::Io, "58030", message)
                .with_hint("Open the database with a newer version of rukh."),
            CatalogError::Corrupted { .. } => SqlError::new(ErrorKind::Corruption, "XX001", message),
        }
    }
}

impl From<EngineError> for SqlError {
    fn from(error: EngineError) -> Self {
        let table = error.constrained_table().map(str::to_string);
        let error = without_table(error);
        match table {
            Some(table) => error.of_table(&table),
            None => error,
        }
    }
}

fn without_table(error: EngineError) -> SqlError {
    let message = error.to_string();
    match error {
        EngineError::Catalog(error) => error.into(),
        EngineError::Kv(error) => error.into(),
        EngineError::Value(error) => error.into(),
        EngineError::UniqueViolation { key, .. } => SqlError::new(ErrorKind::Constraint, "23505", message)
            .with_detail(format!("Key {key} already exists.")),
        EngineError::NotNullViolation { row, .. } => SqlError::new(ErrorKind::Constraint, "23502", message)
            .with_detail(format!("Failing row contains {row}.")),
        EngineError::DomainNull { .. } => SqlError::new(ErrorKind::Constraint, "23502", message),
        EngineError::DomainViolation { .. } => SqlError::new(ErrorKind::Constraint, "23514", message),
        EngineError::CheckViolation { row, .. } => SqlError::new(ErrorKind::Constraint, "23514", message)
            .with_detail(format!("Failing row contains {row}.")),
        EngineError::SequenceExhausted { .. } => SqlError::statement("2200H", message),
        EngineError::HashCollision { .. } => SqlError::new(ErrorKind::Constraint, "23505", message)
            .with_hint("Use a longer hash, or add the column to the primary key."),
        EngineError::Corruption { .. } | EngineError::TableLost { .. } => {
            with_advice(SqlError::new(ErrorKind::Corruption, "XX001", message), &error)
        }
        EngineError::StatementTooLarge { .. } => SqlError::new(ErrorKind::Io, "54000", message)
            .with_hint("Split the statement, or load the rows with COPY."),
        EngineError::TransactionTooLarge { .. } => {
            with_advice(SqlError::new(ErrorKind::Io, "53400", message), &error)
        }
        EngineError::Conflict { .. } => {
            with_advice(SqlError::new(ErrorKind::Conflict, "40001", message), &error)
        }
        EngineError::Deadlock => with_advice(SqlError::new(ErrorKind::Conflict, "40P01", message), &error),
        EngineError::Locked { .. } | EngineError::LockTimeout => {
            SqlError::new(ErrorKind::Conflict, "55P03", message)
        }
        EngineError::Cancelled => SqlError::cancelled(),
        EngineError::ReadOnly => SqlError::statement("25006", message),
        EngineError::ReferencedMissing { .. }
        | EngineError::MixedNulls { .. }
        | EngineError::StillReferenced { .. } => {
            with_advice(SqlError::new(ErrorKind::Constraint, "23503", message), &error)
        }
        EngineError::TruncatesReferenced { .. } => with_advice(SqlError::unsupported(message), &error),
        EngineError::InTransaction { .. } => SqlError::statement("25001", message),
        EngineError::IndexBusy { .. } => SqlError::statement("55006", message),
        EngineError::IndexNotReady { .. } | EngineError::IndexDropped | EngineError::Immutable { .. } => {
            with_advice(SqlError::statement("55000", message), &error)
        }
        EngineError::RowWidth { .. } => SqlError::internal(message),
        EngineError::Function { source, .. } => function_error(source),
        EngineError::Io { source, .. } => SqlError::of_system(message, &source),
        EngineError::CompletedLater { source } => {
            let mut mapped = SqlError::from(*source);
            mapped.detail = Some(
                "The load was visible in part when that happened; no session sees any of it yet.".to_string(),
            );
            mapped.hint = Some(
                "The load is completed by the next statement that writes, once that can be done.".to_string(),
            );
            mapped
        }
        _ => SqlError::new(ErrorKind::Io, "57P03", message),
    }
}

/// Adds what the engine has to say beside the message.
fn with_advice(mut error: SqlError, source: &EngineError) -> SqlError {
    error.detail = source.detail();
    error.hint = source.hint().map(str::to_string);
    error
}

impl From<KvError> for SqlError {
    fn from(error: KvError) -> Self {
        let message = error.to_string();
        match error {
            KvError::Corruption { table, .. } => {
                let error = SqlError::new(ErrorKind::Corruption, "XX001", message);
                match table {
                    Some(_) => error.with_hint(
                        "SHOW STATS shows the owner of that storage; a damaged index can be filled again with ALTER INDEX … REBUILD.",
                    ),
                    None => error,
                }
            }
            KvError::DamagedLog { .. } => SqlError::new(ErrorKind::Corruption, "XX001", message).with_hint(
                "Restore a backup, or save what can be read into another database: rukh repair DIR TARGET.",
            ),
            KvError::DiskFull { .. } => SqlError::new(ErrorKind::Io, "53100", message),
            KvError::TooManyFiles { .. } => SqlError::new(ErrorKind::Io, "53000", message)
                .with_hint("Raise the limit of open files of the process (ulimit -n, LimitNOFILE)."),
            KvError::SnapshotGone => {
                SqlError::new(ErrorKind::Conflict, "40001", message).with_hint("Run the transaction again.")
            }
            KvError::Cancelled => SqlError::cancelled(),
            KvError::ReadOnly => SqlError::statement("25006", message),
            KvError::AlreadyOpen { path } => SqlError::new(ErrorKind::Io, "55006", message).with_hint(
                match path.to_string_lossy().contains("://") {
                    true => "One process at a time has a database on HBase.",
                    false => "Another process has the database open; open it with --read-only to look at it.",
                },
            ),
            KvError::NotADatabase { .. } | KvError::NotFound { .. } => {
                SqlError::new(ErrorKind::Io, "3D000", message)
            }
            KvError::NotBackups { .. } | KvError::UnknownBackup { .. } => {
                SqlError::statement("58P01", message)
            }
            KvError::DirectoryExists { .. } => SqlError::statement("58P02", message),
            KvError::InsideDatabase { .. } => SqlError::statement("22023", message),
            KvError::Unsupported { .. } => SqlError::unsupported(message),
            KvError::UnknownScheme { url, .. } => SqlError::unsupported(message).with_hint(format!(
                "Databases and backups are directories; one of this name is \"./{url}\"."
            )),
            KvError::Unreachable { .. } => SqlError::new(ErrorKind::Io, "08006", message),
            KvError::NotReady { .. } => SqlError::new(ErrorKind::Io, "57P03", message),
            KvError::OutcomeUnknown { .. } => SqlError::new(ErrorKind::Io, "08007", message)
                .with_hint("Look whether the rows are there before you run the statement again."),
            KvError::InvalidUrl { .. } => SqlError::statement("22023", message),
            KvError::SnapshotTooOld { .. } => {
                SqlError::new(ErrorKind::Conflict, "72000", message).with_hint("Run the transaction again.")
            }
            KvError::TakenOver { .. } => SqlError::new(ErrorKind::Io, "55006", message)
                .with_hint("Open the database again once the other process has closed it."),
            KvError::TooLong { .. } => SqlError::statement("54000", message),
            // Names of storage are no names of tables.
            KvError::UnknownTable { table } => {
                let message = "a table or index that the statement uses was dropped meanwhile";
                SqlError::statement("55000", message)
                    .with_detail(format!("Storage \"{table}\" is not there."))
            }
            _ => SqlError::io(message),
        }
    }
}

/// Makes an error of a store that could not be opened.
pub fn storage_error(error: KvError) -> SqlError {
    error.into()
}
