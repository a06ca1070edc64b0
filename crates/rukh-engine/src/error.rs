//! Errors of the engine: one variant for each case that a caller handles in its own way.

use rukh_catalog::CatalogError;
use rukh_keys::ValueError;
use rukh_kv::KvError;
use std::path::PathBuf;
use thiserror::Error;

/// An error of the engine. After an error of a statement nothing of it is stored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A definition that is not valid, or a name that is not known.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The storage failed.
    #[error(transparent)]
    Kv(KvError),
    /// A datum that its column does not take.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Two rows with the same values of a primary key or UNIQUE index (23505).
    #[error("duplicate key value violates unique constraint \"{constraint}\"")]
    UniqueViolation {
        /// Name of the table.
        table: String,
        /// Name of the index, or `<table>_pkey`.
        constraint: String,
        /// Columns or expressions of the constraint, as SQL.
        columns: Vec<String>,
        /// Columns and values: `(user_id, period)=(dave, 201510)`.
        key: String,
    },
    /// NULL for a column that takes none (23502).
    #[error("null value in column \"{column}\" of relation \"{table}\" violates not-null constraint")]
    NotNullViolation {
        /// Name of the column.
        column: String,
        /// Name of the table.
        table: String,
        /// The values of the row: `(1, a, null)`.
        row: String,
    },
    /// A row for which a CHECK constraint is false (23514).
    #[error("new row for relation \"{table}\" violates check constraint \"{constraint}\"")]
    CheckViolation {
        /// Name of the table.
        table: String,
        /// Name of the constraint.
        constraint: String,
        /// The values of the row: `(1, a, null)`.
        row: String,
    },
    /// A NULL of a domain that has none (23502).
    #[error("domain {domain} does not allow null values")]
    DomainNull {
        /// Name of the domain.
        domain: String,
    },
    /// A value for which a CHECK of its domain is false (23514).
    #[error("value for domain {domain} violates check constraint \"{constraint}\"")]
    DomainViolation {
        /// Name of the domain.
        domain: String,
        /// Name of the constraint.
        constraint: String,
    },
    /// A row that refers to one that is not there (23503).
    #[error("insert or update on table \"{table}\" violates foreign key constraint \"{constraint}\"")]
    ReferencedMissing {
        /// Name of the referencing table.
        table: String,
        /// Name of the constraint.
        constraint: String,
        /// Columns and values: `(user_id)=(7)`.
        key: String,
        /// Name of the referenced table.
        referenced: String,
    },
    /// A row with NULL in some referencing columns of a constraint with MATCH FULL, and not in all (23503).
    #[error("insert or update on table \"{table}\" violates foreign key constraint \"{constraint}\"")]
    MixedNulls {
        /// Name of the referencing table.
        table: String,
        /// Name of the constraint.
        constraint: String,
    },
    /// A row that others refer to was to be removed, or to get another key (23503).
    #[error(
        "update or delete on table \"{table}\" violates foreign key constraint \"{constraint}\" on table \"{referencing}\""
    )]
    StillReferenced {
        /// Name of the referenced table.
        table: String,
        /// Name of the constraint.
        constraint: String,
        /// Name of the referencing table.
        referencing: String,
        /// Columns and values: `(id)=(7)`.
        key: String,
    },
    /// A table that others refer to was to be emptied without them (0A000).
    #[error("cannot truncate a table referenced in a foreign key constraint")]
    TruncatesReferenced {
        /// Name of the referenced table.
        table: String,
        /// Name of the referencing table.
        referencing: String,
    },
    /// A sequence that has no number left (2200H).
    #[error(
        "nextval: reached {} value of sequence \"{sequence}\" ({limit})",
        if *.increasing { "maximum" } else { "minimum" }
    )]
    SequenceExhausted {
        /// Name of the sequence.
        sequence: String,
        /// Whether it counts up.
        increasing: bool,
        /// Its last number.
        limit: i64,
    },
    /// Two rows whose hashed key columns differ, but not their hashes.
    #[error("two rows of \"{table}\" differ in \"{column}\" but have the same key {key}")]
    HashCollision {
        /// Name of the table.
        table: String,
        /// Hashed column in which the rows differ.
        column: String,
        /// The key they share: `/x'5eb63bbbe01eeed0'`.
        key: String,
    },
    /// Stored bytes are not what the engine writes (XX001).
    #[error("corrupt data at {name}{key}: {message}")]
    Corruption {
        /// Table, table family or index: `t`, `t.payload`, `t@by_host`.
        name: String,
        /// The key, decoded if it can be: `/1/5`, else `/x'00ff'`.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// A statement changes more than one atomic batch may hold in memory (54000).
    #[error("statement changes more than {} MiB", .limit_bytes >> 20)]
    StatementTooLarge {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// A row of a table whose rows are only added and removed was to be changed (55000).
    #[error("rows of table \"{table}\" cannot be changed")]
    Immutable {
        /// Name of the table.
        table: String,
    },
    /// A transaction changes more than may be held in memory (53400).
    #[error("transaction changes more than {} MiB", .limit_bytes >> 20)]
    TransactionTooLarge {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// Another has committed a change of what a transaction changes; run again, it may succeed (40001).
    #[error("could not serialize access due to concurrent update")]
    Conflict {
        /// Name of the table.
        table: String,
        /// What has changed, a sentence.
        cause: &'static str,
    },
    /// Another transaction holds a lock of a row that the statement changes, and the statement does not wait (55P03).
    #[error("could not obtain lock on row in relation \"{table}\"")]
    Locked {
        /// Name of the table.
        table: String,
    },
    /// A lock of a row was not given up in time (55P03).
    #[error("canceling statement due to lock timeout")]
    LockTimeout,
    /// Transactions wait for one another in a circle, which this statement would have closed (40P01).
    #[error("deadlock detected")]
    Deadlock,
    /// The caller's [`Progress`](crate::Progress) requested a stop (57014).
    #[error("canceling statement due to user request")]
    Cancelled,
    /// A change of a database that was opened for reading (25006).
    #[error("cannot change a database opened read-only")]
    ReadOnly,
    /// A bulk load was cut short while it became visible, or the log could not be synced: only opening
    /// the database again, for writing, can find out what is stored and complete it (57P03).
    #[error("the database must be opened again for writing to complete what was cut short")]
    RecoveryNeeded,
    /// The definition of a table is there, and its rows are not: the end of the log was lost, and with it the statement that dropped the
    /// table (XX001).
    #[error("the rows of table \"{table}\" are lost: storage \"{storage}\" is not there")]
    TableLost {
        /// Name of the table.
        table: String,
        /// What is not there.
        storage: String,
    },
    /// Storage ran out of space, or of descriptors, when a bulk load was visible in part. Readers see what there was before; the load is
    /// completed, and writers go on, once the trouble has passed (53100, 53000).
    #[error("{source}")]
    CompletedLater {
        /// What happened.
        source: Box<EngineError>,
    },
    /// An index that is not yet filled was to be read.
    #[error("index \"{index}\" is not ready")]
    IndexNotReady {
        /// Name of the index.
        index: String,
    },
    /// An index is being filled by another (55006).
    #[error("index \"{index}\" is being built")]
    IndexBusy {
        /// Name of the index.
        index: String,
    },
    /// A statement that cannot be taken back, within a transaction (25001).
    #[error("{what} cannot run inside a transaction block")]
    InTransaction {
        /// The statement.
        what: &'static str,
    },
    /// An index was dropped while it was being built (55000).
    #[error("the index was dropped while it was being built")]
    IndexDropped,
    /// A row with more or fewer datums than the table has columns: the caller planned against
    /// another version of the table.
    #[error("a row of {found} columns does not fit relation \"{table}\", which has {expected}")]
    RowWidth {
        /// Name of the table.
        table: String,
        /// Columns of the table.
        expected: usize,
        /// Datums given.
        found: usize,
    },
    /// An expression or predicate of an index failed on a row, or did not compile.
    #[error("{source}")]
    Function {
        /// The expression as SQL.
        sql: String,
        /// What its evaluation said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file of a bulk load could not be written or read.
    #[error("could not {operation} \"{}\": {source}", path.display())]
    Io {
        /// What was being done, as in "could not …".
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
}

impl EngineError {
    /// Returns what PostgreSQL sends as DETAIL, a sentence, where there is more to say.
    pub fn detail(&self) -> Option<String> {
        match self {
            EngineError::UniqueViolation { key, .. } => Some(format!("Key {key} already exists.")),
            EngineError::HashCollision { .. } => {
                Some("The row is refused because writing it would replace the other.".to_string())
            }
            EngineError::ReferencedMissing { key, referenced, .. } => {
                Some(format!("Key {key} is not present in table \"{referenced}\"."))
            }
            EngineError::MixedNulls { .. } => {
                Some("MATCH FULL does not allow mixing of null and nonnull key values.".to_string())
            }
            EngineError::StillReferenced { key, referencing, .. } => {
                Some(format!("Key {key} is still referenced from table \"{referencing}\"."))
            }
            EngineError::TruncatesReferenced { table, referencing } => {
                Some(format!("Table \"{referencing}\" references \"{table}\"."))
            }
            EngineError::Function { sql, .. } => Some(format!("While evaluating {sql}.")),
            EngineError::Conflict { table, cause } if table.is_empty() => Some(cause.to_string()),
            EngineError::Conflict { table, cause } => Some(format!("Table \"{table}\": {cause}")),
            EngineError::Deadlock => {
                Some("Another transaction waits for rows that this one has locked, and has locked one that this one wants.".to_string())
            }
            _ => None,
        }
    }

    /// Returns the table whose constraint a row breaks.
    pub fn constrained_table(&self) -> Option<&str> {
        match self {
            EngineError::UniqueViolation { table, .. }
            | EngineError::NotNullViolation { table, .. }
            | EngineError::CheckViolation { table, .. }
            | EngineError::ReferencedMissing { table, .. }
            | EngineError::MixedNulls { table, .. }
            | EngineError::StillReferenced {
                referencing: table, ..
            } => Some(table),
            EngineError::CompletedLater { source } => source.constrained_table(),
            _ => None,
        }
    }

    /// Returns what the user could do, a sentence, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            EngineError::StatementTooLarge { .. } => {
                Some("Use COPY for loads, or change fewer rows in one statement.")
            }
            EngineError::TransactionTooLarge { .. } => {
                Some("Commit in parts, or load the rows with COPY outside of a transaction.")
            }
            EngineError::TruncatesReferenced { .. } => {
                Some("Truncate the referencing table at the same time, or use TRUNCATE ... CASCADE.")
            }
            EngineError::Immutable { .. } => {
                Some("Rows of a table with IMMUTABLE_ROWS can be added and removed.")
            }
            EngineError::Conflict { .. } | EngineError::Deadlock => {
                Some("The transaction might succeed if retried.")
            }
            EngineError::HashCollision { .. } => Some("Use a longer HASH in the primary key."),
            EngineError::Corruption { .. } => {
                Some("Run CHECK TABLE; a damaged index can be filled again with ALTER INDEX … REBUILD.")
            }
            EngineError::TableLost { .. } => Some(
                "It was dropped, or rewritten, by a statement that a damaged log has lost. DROP TABLE removes it; a backup may have its rows, and \
                 rukh repair DIR TARGET saves what is left of a table.",
            ),
            EngineError::IndexNotReady { .. } => {
                Some("SHOW INDEXES shows its state; ALTER INDEX … REBUILD fills it again.")
            }
            _ => None,
        }
    }
}

/// A cancelled scan is a cancelled statement; anything else is the storage's failure.
impl From<KvError> for EngineError {
    fn from(error: KvError) -> Self {
        match error {
            KvError::Cancelled => EngineError::Cancelled,
            other => EngineError::Kv(other),
        }
    }
}
