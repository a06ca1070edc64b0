//! What can be wrong with a definition.

use thiserror::Error;

/// A definition that is not valid, or a name that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CatalogError {
    /// No table of that name.
    #[error("relation \"{name}\" does not exist")]
    UnknownTable {
        /// The name in the request.
        name: String,
    },
    /// No index of that name.
    #[error("index \"{name}\" does not exist")]
    UnknownIndex {
        /// The name in the request.
        name: String,
    },
    /// No column of that name in the table.
    #[error("column \"{column}\" of relation \"{table}\" does not exist")]
    UnknownColumn {
        /// Table searched.
        table: String,
        /// The name in the request.
        column: String,
    },
    /// A table or index of that name exists already.
    #[error("relation \"{name}\" already exists")]
    DuplicateRelation {
        /// The name.
        name: String,
    },
    /// A column is named twice in one definition.
    #[error("column \"{column}\" specified more than once")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// A table without a primary key.
    #[error("table \"{table}\" needs a PRIMARY KEY: rows are kept in its order")]
    NoPrimaryKey {
        /// The table.
        table: String,
    },
    /// A number outside of its bounds.
    #[error("{message}")]
    Value {
        /// What is wrong, as PostgreSQL would say it.
        message: String,
    },
    /// An option with a value outside its domain, or a definition that makes no sense.
    #[error("{message}")]
    Invalid {
        /// What is wrong, as PostgreSQL would say it.
        message: String,
    },
    /// A definition that is understood, and that Rukh does not have.
    #[error("{message}")]
    Unsupported {
        /// What is not supported, as PostgreSQL would say it.
        message: String,
    },
    /// The stored catalog was written by a newer program.
    #[error("the database has format {found}, this program reads up to format {supported}")]
    NewerFormat {
        /// Format found.
        found: u32,
        /// Highest format understood.
        supported: u32,
    },
    /// A stored definition that does not decode.
    #[error("catalog entry {key} is corrupted: {message}")]
    Corrupted {
        /// The entry's key.
        key: String,
        /// What the decoder said.
        message: String,
    },
}

/// Says what is wrong with a definition.
pub(crate) fn invalid<T>(message: String) -> Result<T, CatalogError> {
    Err(CatalogError::Invalid { message })
}
