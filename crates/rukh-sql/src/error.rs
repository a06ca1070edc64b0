//! The one place where inner errors become what a user sees: kind, SQLSTATE, message, place.
//!
//! SQLSTATEs are PostgreSQL's (appendix A of its manual).

use datafusion::arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use rukh_catalog::CatalogError;
use rukh_engine::EngineError;
use rukh_keys::ValueError;
use rukh_kv::KvError;
use thiserror::Error;

use crate::output_names::{HIDDEN, shown_name};

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
}

impl SqlError {
    /// Makes an error of the statement with this SQLSTATE.
    pub fn statement(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Statement, sqlstate, message)
    }

    /// Makes an error of data that break a rule, with this SQLSTATE.
    pub(crate) fn constraint(sqlstate: &'static str, message: impl Into<String>) -> Self {
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

    /// Makes the error for stored bytes that are not what was written, XX001.
    pub(crate) fn corruption(message: impl Into<String>) -> Self {
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

    fn new(kind: ErrorKind, sqlstate: &'static str, message: impl Into<String>) -> Self {
        SqlError {
            kind,
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
        }
    }
}

impl From<ValueError> for SqlError {
    fn from(error: ValueError) -> Self {
        SqlError::statement(value_sqlstate(&error), error.to_string())
    }
}

fn value_sqlstate(error: &ValueError) -> &'static str {
    match error {
        ValueError::OutOfRange { .. }
        | ValueError::IntegerOutOfRange { .. }
        | ValueError::NumericOverflow { .. } => "22003",
        ValueError::DateTimeOutOfRange { .. } => "22008",
        ValueError::TooLong { .. } => "22001",
        ValueError::InvalidText { .. } => "22P02",
        ValueError::InvalidDateTime { .. } => "22007",
        ValueError::InvalidHexDigit { .. }
        | ValueError::OddHexDigits
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
        let message = error.to_string();
        match error {
            EngineError::Catalog(error) => error.into(),
            EngineError::Kv(error) => error.into(),
            EngineError::Value(error) => error.into(),
            EngineError::UniqueViolation { key, .. } => {
                SqlError::new(ErrorKind::Constraint, "23505", message)
                    .with_detail(format!("Key {key} already exists."))
            }
            EngineError::NotNullViolation { .. } => SqlError::new(ErrorKind::Constraint, "23502", message),
            EngineError::CheckViolation { row, .. } => SqlError::new(ErrorKind::Constraint, "23514", message)
                .with_detail(format!("Failing row contains {row}.")),
            EngineError::SequenceExhausted { .. } => SqlError::statement("2200H", message),
            EngineError::HashCollision { .. } => SqlError::new(ErrorKind::Constraint, "23505", message)
                .with_hint("Use a longer hash, or add the column to the primary key."),
            EngineError::Corruption { .. } => SqlError::new(ErrorKind::Corruption, "XX001", message),
            EngineError::StatementTooLarge { .. } => SqlError::new(ErrorKind::Io, "54000", message)
                .with_hint("Split the statement, or load the rows with COPY."),
            EngineError::TransactionTooLarge { .. } => {
                with_advice(SqlError::new(ErrorKind::Io, "53400", message), &error)
            }
            EngineError::Conflict { .. } => {
                with_advice(SqlError::new(ErrorKind::Conflict, "40001", message), &error)
            }
            EngineError::Cancelled => SqlError::cancelled(),
            EngineError::ReadOnly => SqlError::statement("25006", message),
            EngineError::IndexBusy { .. } => SqlError::statement("55006", message),
            EngineError::IndexNotReady { .. } | EngineError::IndexDropped => {
                SqlError::statement("55000", message)
            }
            EngineError::RowWidth { .. } => SqlError::internal(message),
            EngineError::Function { source, .. } => function_error(source),
            EngineError::Io { .. } => SqlError::io(message),
            _ => SqlError::new(ErrorKind::Io, "57P03", message),
        }
    }
}

/// Adds what the engine has to say beside the message.
fn with_advice(mut error: SqlError, source: &EngineError) -> SqlError {
    error.detail = source.detail();
    error.hint = source.hint().map(str::to_string);
    error
}

/// An index expression that failed on a row failed with an error of ours.
fn function_error(source: Box<dyn std::error::Error + Send + Sync>) -> SqlError {
    match source.downcast::<SqlError>() {
        Ok(error) => *error,
        Err(other) => SqlError::internal(other.to_string()),
    }
}

impl From<KvError> for SqlError {
    fn from(error: KvError) -> Self {
        let message = error.to_string();
        match error {
            KvError::Corruption { .. } => SqlError::new(ErrorKind::Corruption, "XX001", message),
            KvError::DiskFull { .. } => SqlError::new(ErrorKind::Io, "53100", message),
            KvError::Cancelled => SqlError::cancelled(),
            KvError::ReadOnly => SqlError::statement("25006", message),
            KvError::AlreadyOpen { .. } => SqlError::new(ErrorKind::Io, "55006", message)
                .with_hint("Another process has the database open; open it with --read-only to look at it."),
            KvError::NotADatabase { .. } | KvError::NotFound { .. } => {
                SqlError::new(ErrorKind::Io, "3D000", message)
            }
            KvError::NotBackups { .. } | KvError::UnknownBackup { .. } => {
                SqlError::statement("58P01", message)
            }
            KvError::DirectoryExists { .. } => SqlError::statement("58P02", message),
            KvError::InsideDatabase { .. } => SqlError::statement("22023", message),
            KvError::Unsupported { .. } => SqlError::unsupported(message),
            _ => SqlError::io(message),
        }
    }
}

/// Makes an error of a store that could not be opened.
pub fn storage_error(error: KvError) -> SqlError {
    error.into()
}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(source) => function_error(source),
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => (*inner).into(),
            DataFusionError::Collection(errors) => match errors.into_iter().next() {
                Some(first) => first.into(),
                None => SqlError::internal("an error without a text"),
            },
            DataFusionError::Shared(shared) => shared_error(&shared),
            DataFusionError::SchemaError(error, _) => schema_error(&error),
            DataFusionError::SQL(error, _) => SqlError::syntax(error.to_string()),
            DataFusionError::NotImplemented(message) => SqlError::unsupported(message),
            DataFusionError::ResourcesExhausted(message) => SqlError::new(ErrorKind::Io, "53200", message),
            DataFusionError::ArrowError(error, _) => arrow_error(*error),
            DataFusionError::IoError(error) => SqlError::io(error.to_string()),
            DataFusionError::Plan(message) => plan_error(message),
            DataFusionError::Execution(message) => execution_error(message),
            other => SqlError::internal(other.strip_backtrace()),
        }
    }
}

/// A shared error cannot be taken apart; one of ours inside it is copied.
fn shared_error(shared: &DataFusionError) -> SqlError {
    match shared {
        DataFusionError::External(source) => match source.downcast_ref::<SqlError>() {
            Some(error) => error.clone(),
            None => SqlError::internal(source.to_string()),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => shared_error(inner),
        DataFusionError::Shared(inner) => shared_error(inner),
        DataFusionError::ResourcesExhausted(message) => SqlError::new(ErrorKind::Io, "53200", message),
        DataFusionError::Execution(message) => execution_error(message.clone()),
        other => SqlError::internal(other.strip_backtrace()),
    }
}

fn schema_error(error: &SchemaError) -> SqlError {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            if let Some(table) = &field.relation
                && !valid_fields
                    .iter()
                    .any(|valid| valid.relation.as_ref() == Some(table))
            {
                let message = format!("missing FROM-clause entry for table \"{}\"", table.table());
                return SqlError::statement("42P01", message);
            }
            let is_twin =
                |valid: &&Column| valid.name.contains(HIDDEN) && shown_name(&valid.name) == field.name;
            if valid_fields.iter().any(|valid| is_twin(&valid)) {
                return ambiguous(&field.name);
            }
            let name = match &field.relation {
                Some(relation) => format!("{}.{}", relation.table(), field.name),
                None => format!("\"{}\"", field.name),
            };
            SqlError::statement("42703", format!("column {name} does not exist"))
        }
        SchemaError::AmbiguousReference { field } => ambiguous(&field.name),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            SqlError::statement("42701", format!("column \"{name}\" specified more than once"))
        }
    }
}

fn ambiguous(column: &str) -> SqlError {
    SqlError::statement("42702", format!("column reference \"{column}\" is ambiguous"))
}

fn arrow_error(error: ArrowError) -> SqlError {
    match error {
        ArrowError::DivideByZero => SqlError::statement("22012", "division by zero"),
        ArrowError::CastError(message) if message.contains("ast string '") => unreadable(&message),
        ArrowError::CastError(message) => SqlError::statement("22P02", lower_first(&message)),
        ArrowError::ArithmeticOverflow(message) => SqlError::statement("22003", lower_first(&message)),
        ArrowError::ExternalError(source) => function_error(source),
        other => SqlError::internal(other.to_string()),
    }
}

/// Arrow says `Cannot cast string '4x' to value of Int32 type`.
fn unreadable(message: &str) -> SqlError {
    let text = between(message, "ast string '", "' to value of");
    let ty = between(message, "to value of ", " type");
    match (text, ty) {
        (Some(text), Some(ty)) => {
            let message = format!("invalid input syntax for type {}: \"{text}\"", postgres_type(ty));
            SqlError::statement("22P02", message)
        }
        _ => SqlError::statement("22P02", lower_first(message)),
    }
}

/// DataFusion's planner tells what is wrong in words only.
fn plan_error(message: String) -> SqlError {
    if let Some(name) = between(&message, "table '", "' not found") {
        let bare = name
            .strip_prefix("rukh.public.")
            .or_else(|| name.strip_prefix("rukh."));
        return SqlError::undefined_table(bare.unwrap_or(name));
    }
    if let Some(name) = between(&message, "Invalid function '", "'") {
        return SqlError::statement("42883", format!("function {name} does not exist"));
    }
    if message.contains("must be in the GROUP BY clause")
        || message.contains("must appear in the GROUP BY")
        || message.contains("ggregate functions are not allowed")
    {
        return SqlError::statement("42803", lower_first(&message));
    }
    if message.contains("annot infer common argument type") {
        return SqlError::statement("42883", lower_first(&message));
    }
    if let Some(call) = between(&message, "argument types '", "'") {
        let error = SqlError::statement(
            "42883",
            format!("function {} does not exist", postgres_types(call)),
        );
        return error.with_hint(
            "No function matches the given name and argument types. You might need to add type casts.",
        );
    }
    if message.contains("Cannot coerce") || message.contains("cannot be cast") {
        return SqlError::statement("42804", lower_first(&message));
    }
    SqlError::statement("42601", lower_first(&message))
}

/// Writes a call as DataFusion names it, `lower(Int32, Utf8)`, with PostgreSQL's types.
fn postgres_types(call: &str) -> String {
    let Some((name, types)) = call.strip_suffix(')').and_then(|call| call.split_once('(')) else {
        return call.to_string();
    };
    let types: Vec<String> = types.split(", ").map(postgres_type).collect();
    format!("{name}({})", types.join(", "))
}

/// Returns PostgreSQL's name of a type that Arrow's errors name.
fn postgres_type(arrow: &str) -> String {
    let name = match arrow {
        "Utf8" | "Utf8View" | "LargeUtf8" => "text",
        "Int8" => "tinyint",
        "Int16" => "smallint",
        "Int32" => "integer",
        "Int64" => "bigint",
        "Float32" => "real",
        "Float64" => "double precision",
        "Boolean" => "boolean",
        "Binary" => "bytea",
        "Date32" => "date",
        "Null" => "unknown",
        "Timestamp(µs)" => "timestamp",
        other => return other.to_lowercase(),
    };
    name.to_string()
}

fn execution_error(message: String) -> SqlError {
    if message.contains("returned more than one row") {
        let message = "more than one row returned by a subquery used as an expression";
        return SqlError::statement("21000", message);
    }
    match message.contains("laceholder") {
        true => SqlError::statement("42P02", lower_first(&message)),
        false => SqlError::statement("22000", lower_first(&message)),
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(start)? + start.len()..];
    Some(&rest[..rest.find(end)?])
}

fn lower_first(message: &str) -> String {
    let mut characters = message.trim_end_matches('.').chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}
