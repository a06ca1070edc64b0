//! COPY.

use sqlparser::ast;

use super::names::{Expression, Name, ObjectName};

/// COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyStatement {
    /// What is read or written inside of the database.
    pub source: CopySource,
    /// Whether rows go into the table or come out of it.
    pub direction: CopyDirection,
    /// Paths of the files; COPY TO has one. None for STDIN and STDOUT: the client.
    pub files: Vec<String>,
    /// How the files are written.
    pub options: CopyOptions,
    /// WHERE of COPY FROM: the rows that are taken.
    pub selection: Option<Expression>,
}

/// The inner end of a COPY.
#[derive(Clone, Debug, PartialEq)]
pub enum CopySource {
    /// A table.
    Table {
        /// The table.
        name: ObjectName,
        /// Columns in the order of the file; empty for all columns in declared order.
        columns: Vec<Name>,
    },
    /// A query, for COPY TO.
    Query(Box<ast::Query>),
}

/// The direction of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// COPY … FROM: from the file into the table.
    From,
    /// COPY … TO: into the file.
    To,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Comma-separated values, one row a line.
    Csv,
    /// JSON objects, one a line.
    Json,
    /// Parquet.
    Parquet,
    /// Arrow's IPC format: a file, or for COPY FROM also a stream.
    Arrow,
    /// Arrow's IPC format as a stream.
    ArrowStream,
    /// PostgreSQL's text format: one row a line, special characters behind backslashes.
    Text,
    /// PostgreSQL's binary format.
    Binary,
}

/// The first line of a CSV file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyHeader {
    /// A row like any other.
    #[default]
    None,
    /// The names of the columns, which say what the fields are.
    Names,
    /// Something to pass over.
    Skip,
}

/// Options of COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// Format, as given or by the file's name.
    pub format: CopyFormat,
    /// The first line of a CSV or text file.
    pub header: CopyHeader,
    /// Separates the fields of a CSV or text file.
    pub delimiter: u8,
    /// Quotes fields of a CSV file.
    pub quote: u8,
    /// Guards a quote within a quoted field; the quote itself unless said otherwise.
    pub escape: u8,
    /// The unquoted field of a CSV file, or the field of a text file, that is NULL.
    pub null: String,
    /// Column to fill with 1, 2, 3 … in the order of the files.
    pub row_number: Option<Name>,
    /// What becomes of records that are no rows of the table.
    pub rejects: RejectOptions,
    /// Columns of a CSV file whose quotes mean something else.
    pub forced: ForcedColumns,
}

/// FORCE_QUOTE, FORCE_NULL and FORCE_NOT_NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForcedColumns {
    /// Columns whose values are written in quotes, unless they are NULL.
    pub quote: Option<GivenColumns>,
    /// Columns in which the word for NULL is NULL also in quotes.
    pub null: Option<GivenColumns>,
    /// Columns in which it never is.
    pub not_null: Option<GivenColumns>,
}

/// Columns that an option is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenColumns {
    /// `*`.
    All,
    /// A list.
    Named(Vec<Name>),
}

/// What COPY FROM does with records that are no rows of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectOptions {
    /// Whether they are passed over; else the first ends the COPY.
    pub ignore: bool,
    /// How many may be passed over; any number unless it is said.
    pub limit: Option<u64>,
    /// A file to write them to, with the reasons.
    pub file: Option<String>,
}
