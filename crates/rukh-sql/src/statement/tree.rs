//! The tree of a statement: what the parts of this folder read, and what the session runs.

use datafusion::sql::sqlparser::ast::{self, Expr};
use rukh_catalog::CheckOption;
use rukh_engine::Numbering;
use rukh_keys::{DataType, SortOrder};

use super::{
    AlterSequenceStatement, LifetimeDefinition, MergeStatement, OwnedBy, TransactionStatement, source,
};
use rukh_error::SqlError;

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, WITH.
    Query(Box<ast::Query>),
    /// INSERT and UPSERT.
    Insert(Box<InsertStatement>),
    /// UPDATE.
    Update(Box<UpdateStatement>),
    /// DELETE.
    Delete(Box<DeleteStatement>),
    /// MERGE.
    Merge(Box<MergeStatement>),
    /// WITH whose queries write, and the statement behind it.
    Writes(Box<super::WritesStatement>),
    /// CREATE TABLE.
    CreateTable(Box<CreateTableStatement>),
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndexStatement>),
    /// ALTER TABLE.
    AlterTable(Box<AlterTableStatement>),
    /// ALTER INDEX.
    AlterIndex {
        /// The index.
        name: ObjectName,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// What becomes of it.
        action: IndexAction,
    },
    /// REINDEX INDEX.
    ReindexIndex {
        /// The index.
        name: ObjectName,
    },
    /// REINDEX TABLE.
    ReindexTable {
        /// The table.
        name: ObjectName,
    },
    /// COMMENT ON.
    Comment {
        /// What the comment is of.
        on: CommentTarget,
        /// The text, or none.
        text: Option<String>,
    },
    /// CREATE VIEW.
    CreateView(Box<CreateViewStatement>),
    /// DROP VIEW.
    DropView {
        /// Views to drop, at least one.
        names: Vec<ObjectName>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether views that read them go, too.
        cascade: bool,
    },
    /// CREATE SEQUENCE.
    CreateSequence {
        /// The sequence.
        name: ObjectName,
        /// Whether an existing sequence is only worth a notice.
        if_not_exists: bool,
        /// How it counts.
        options: SequenceOptions,
        /// OWNED BY.
        owned_by: Option<OwnedBy>,
    },
    /// DROP SEQUENCE.
    DropSequence {
        /// Sequences to drop, at least one.
        names: Vec<ObjectName>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether what depends on them goes, too.
        cascade: bool,
    },
    /// DROP TABLE.
    DropTable {
        /// Tables to drop, at least one.
        names: Vec<ObjectName>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether what depends on them goes, too.
        cascade: bool,
    },
    /// DROP INDEX.
    DropIndex {
        /// Indexes to drop, at least one.
        names: Vec<ObjectName>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
    },
    /// TRUNCATE.
    Truncate {
        /// Tables to empty, at least one.
        tables: Vec<ObjectName>,
        /// What becomes of their sequences.
        numbering: Numbering,
    },
    /// EXPLAIN.
    Explain {
        /// Whether the statement is also run.
        analyze: bool,
        /// Whether the access paths that were not taken are listed.
        alternatives: bool,
        /// How the plan is printed.
        format: ExplainFormat,
        /// A query or a write.
        statement: Box<Statement>,
    },
    /// SHOW and DESCRIBE.
    Show(ShowStatement),
    /// CHECK TABLE.
    CheckTable {
        /// The table.
        name: ObjectName,
    },
    /// CHECK INDEX.
    CheckIndex {
        /// The index.
        name: ObjectName,
    },
    /// ANALYZE, UPDATE STATISTICS.
    Analyze {
        /// The table, or all tables.
        table: Option<ObjectName>,
    },
    /// COPY.
    Copy(Box<CopyStatement>),
    /// BACKUP DATABASE.
    Backup {
        /// The directory of backups.
        directory: String,
        /// How many of the newest backups stay; all unless it is said.
        keep: Option<usize>,
    },
    /// CHECKPOINT.
    Checkpoint {
        /// The directory of a copy to make, if one is named.
        directory: Option<String>,
    },
    /// COMPACT.
    Compact {
        /// The table, or all tables.
        table: Option<ObjectName>,
    },
    /// VACUUM.
    Vacuum(VacuumStatement),
    /// LOCK TABLE.
    Lock(LockStatement),
    /// SET, RESET.
    Set {
        /// The setting, in lower case.
        name: String,
        /// The new value as text, or `None` for the default.
        value: Option<String>,
        /// Whether it holds for the present transaction only.
        local: bool,
    },
    /// RESET ALL.
    ResetAll,
    /// BEGIN, COMMIT, SAVEPOINT and their kin.
    Transaction(TransactionStatement),
    /// CREATE USER, GRANT and their kin.
    Role(Box<super::RoleStatement>),
    /// PREPARE, EXECUTE, DECLARE, FETCH and their kin.
    Kept(Box<super::KeptStatement>),
    /// ALTER SEQUENCE.
    AlterSequence(Box<super::AlterSequenceStatement>),
    /// ALTER VIEW or SEQUENCE … RENAME TO.
    Rename {
        /// What gets another name.
        kind: super::Ownable,
        /// Its name.
        name: ObjectName,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Its new name.
        new: Name,
    },
    /// CREATE SCHEMA and its kin.
    Schema(Box<super::SchemaStatement>),
    /// ALTER TABLE, VIEW or SEQUENCE … SET SCHEMA.
    SetSchema {
        /// What is moved.
        kind: super::Ownable,
        /// Its name.
        name: ObjectName,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Where it goes.
        schema: Name,
    },
}

/// LOCK TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockStatement {
    /// The tables, at least one.
    pub tables: Vec<ObjectName>,
    /// Whether others may change their rows.
    pub others_write: bool,
    /// Whether it fails where it would wait.
    pub nowait: bool,
}

/// VACUUM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VacuumStatement {
    /// The tables; none for all.
    pub tables: Vec<ObjectName>,
    /// Whether they are rewritten in their most compact form.
    pub full: bool,
    /// Whether they are analyzed.
    pub analyze: bool,
}

/// A table or index as named in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// Schema, if named.
    pub schema: Option<String>,
    /// Name, folded to lower case unless it was quoted.
    pub name: String,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

impl ObjectName {
    /// Makes the error for a relation that is not there, named as the statement names it.
    pub(crate) fn undefined(&self) -> SqlError {
        let schema = self.schema.as_deref().filter(|schema| !schema.is_empty());
        let name = match schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        };
        SqlError::undefined_table(&name).at(self.position)
    }

    /// Takes a name from a tree; fails on more than schema and name.
    pub fn from_ast(name: &ast::ObjectName) -> Result<Self, SqlError> {
        let parts: Vec<_> = name.0.iter().filter_map(ast::ObjectNamePart::as_ident).collect();
        let position = parts.first().and_then(|part| source::place_of(part.span));
        let (schema, last) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] => (Some(folded(schema)), name),
            _ => {
                let error = SqlError::unsupported("cross-database references are not supported");
                return Err(position.map_or(error.clone(), |position| error.at(position)));
            }
        };
        Ok(ObjectName {
            schema,
            name: folded(last),
            position: position.unwrap_or(1),
        })
    }
}

/// Returns an identifier of a tree as PostgreSQL reads it: in lower case unless quoted.
pub(crate) fn folded(ident: &ast::Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// What ALTER INDEX does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexAction {
    /// RENAME TO.
    RenameTo(Name),
    /// REBUILD: fills the index anew.
    Rebuild,
    /// DISABLE: empties the index; nobody reads or maintains it.
    Disable,
    /// ENABLE: fills the index unless it is Ready.
    Enable,
    /// REPACK: makes blocks of what a columnar index has beside them.
    Repack,
}

/// A column, family or option as named in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Name, folded to lower case unless it was quoted.
    pub text: String,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The tree.
    pub expr: Expr,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStatement {
    /// WITH before the statement.
    pub with: Option<ast::With>,
    /// The statement as sqlparser reads it.
    pub ast: ast::Update,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteStatement {
    /// WITH before the statement.
    pub with: Option<ast::With>,
    /// The statement as sqlparser reads it.
    pub ast: ast::Delete,
}

/// INSERT INTO or UPSERT INTO.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertStatement {
    /// WITH before the statement; a query of rows has it, too.
    pub with: Option<ast::With>,
    /// The statement as sqlparser reads an INSERT.
    pub ast: ast::Insert,
    /// Whether existing rows are replaced in the columns named.
    pub upsert: bool,
    /// OVERRIDING … VALUE.
    pub overriding: Option<Overriding>,
    /// The condition of a partial index that ON CONFLICT names.
    pub arbiter: Option<Expr>,
}

/// What becomes of values that are given for identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// OVERRIDING SYSTEM VALUE: they are taken, also for GENERATED ALWAYS.
    System,
    /// OVERRIDING USER VALUE: they are passed over for numbers of the sequence.
    User,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableStatement {
    /// The table.
    pub name: ObjectName,
    /// Whether an existing table is only worth a notice.
    pub if_not_exists: bool,
    /// Columns in order.
    pub columns: Vec<ColumnDefinition>,
    /// The primary key, if one is declared for the table or a column.
    pub primary_key: Option<Vec<KeyElementDefinition>>,
    /// UNIQUE constraints of columns and of the table.
    pub uniques: Vec<UniqueDefinition>,
    /// CHECK constraints of columns and of the table.
    pub checks: Vec<CheckDefinition>,
    /// FAMILY clauses of the table, in order.
    pub families: Vec<FamilyDefinition>,
    /// Everything after the columns.
    pub options: TableOptionsDefinition,
    /// LIKE clauses, in order.
    pub likes: Vec<LikeClause>,
    /// AS query: columns and rows are those of a query.
    pub source: Option<TableSource>,
}

/// `LIKE table`: columns of another table, and what belongs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LikeClause {
    /// The other table.
    pub table: ObjectName,
    /// How many columns of the statement stand before those of the other table.
    pub at: usize,
    /// INCLUDING COMMENTS.
    pub comments: bool,
    /// INCLUDING CONSTRAINTS: CHECK constraints.
    pub constraints: bool,
    /// INCLUDING DEFAULTS.
    pub defaults: bool,
    /// INCLUDING GENERATED.
    pub generated: bool,
    /// INCLUDING IDENTITY.
    pub identity: bool,
    /// INCLUDING INDEXES: the primary key, UNIQUE constraints and indexes.
    pub indexes: bool,
    /// INCLUDING STORAGE: families.
    pub storage: bool,
}

/// The query of CREATE TABLE … AS.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSource {
    /// Names of the first columns, instead of those of the query.
    pub names: Vec<Name>,
    /// The query.
    pub query: Box<ast::Query>,
    /// Whether its rows are taken, too.
    pub with_data: bool,
}

/// One column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Name.
    pub name: Name,
    /// Type.
    pub ty: DataType,
    /// `Some(false)` for NOT NULL, `Some(true)` for NULL.
    pub nullable: Option<bool>,
    /// DEFAULT.
    pub default: Option<Expression>,
    /// FAMILY of the column, if it names one.
    pub family: Option<Name>,
    /// GENERATED ALWAYS AS (expression) STORED.
    pub generated: Option<Expression>,
    /// GENERATED … AS IDENTITY, or SERIAL.
    pub identity: Option<IdentityDefinition>,
    /// COUNTER.
    pub counter: bool,
}

/// A column that takes its values from a sequence of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentityDefinition {
    /// How it was declared.
    pub kind: IdentityKind,
    /// How the sequence counts.
    pub options: SequenceOptions,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

/// How an identity column was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityKind {
    /// GENERATED ALWAYS AS IDENTITY.
    Always,
    /// GENERATED BY DEFAULT AS IDENTITY.
    ByDefault,
    /// SERIAL and the like.
    Serial,
}

/// Options of a sequence; those that are not given have defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// AS.
    pub ty: Option<DataType>,
    /// INCREMENT.
    pub increment: Option<i64>,
    /// MINVALUE.
    pub min: Option<i64>,
    /// MAXVALUE.
    pub max: Option<i64>,
    /// START.
    pub start: Option<i64>,
    /// CACHE.
    pub cache: Option<u32>,
    /// CYCLE.
    pub cycle: bool,
}

/// What COMMENT ON names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentTarget {
    /// A table.
    Table(ObjectName),
    /// A column of a table.
    Column {
        /// The table.
        table: ObjectName,
        /// The column.
        column: Name,
    },
    /// An index.
    Index(ObjectName),
    /// A view.
    View(ObjectName),
    /// A sequence.
    Sequence(ObjectName),
    /// A schema.
    Schema(Name),
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateViewStatement {
    /// The view.
    pub name: ObjectName,
    /// Whether a view of the name is replaced.
    pub or_replace: bool,
    /// Names of the first columns.
    pub columns: Vec<Name>,
    /// The query.
    pub query: Box<ast::Query>,
    /// WITH CHECK OPTION.
    pub check: Option<CheckOption>,
}

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTableStatement {
    /// The table.
    pub name: ObjectName,
    /// Whether an unknown table is only worth a notice.
    pub if_exists: bool,
    /// What is done, one after another.
    pub actions: Vec<AlterAction>,
}

/// What a column's values are made by, if not by statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {
    /// A sequence of its own.
    Identity,
    /// An expression.
    Expression,
}

/// One action of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// REPACK: makes blocks of what a columnar table has beside them.
    Repack,
    /// RENAME TO.
    RenameTo(Name),
    /// RENAME COLUMN old TO new.
    RenameColumn {
        /// The column.
        old: Name,
        /// Its new name.
        new: Name,
    },
    /// RENAME CONSTRAINT old TO new.
    RenameConstraint {
        /// The constraint.
        old: Name,
        /// Its new name.
        new: Name,
    },
    /// ALTER FAMILY … SET (TTL = …, VERSIONS = n) and RESET.
    SetFamily {
        /// The family.
        family: Name,
        /// TTL in microseconds, or none any more.
        ttl_micros: Option<Option<i64>>,
        /// VERSIONS, or those of the table again.
        versions: Option<Option<u32>>,
    },
    /// ALTER COLUMN … ADD GENERATED … AS IDENTITY.
    AddIdentity {
        /// The column.
        column: Name,
        /// How it takes its values.
        identity: IdentityDefinition,
    },
    /// ALTER COLUMN … DROP IDENTITY, or DROP EXPRESSION.
    DropComputed {
        /// The column.
        column: Name,
        /// Which of the two.
        computed: Computed,
        /// Whether a column that is none of these is only worth a notice.
        if_exists: bool,
    },
    /// ALTER COLUMN … SET GENERATED ALWAYS | BY DEFAULT.
    SetIdentity {
        /// The column.
        column: Name,
        /// How it takes its values.
        kind: IdentityKind,
    },
    /// ALTER COLUMN … RESTART, or SET with options of a sequence: of that of the column.
    AlterNumbers {
        /// The column.
        column: Name,
        /// What changes, of a sequence that has no name yet.
        sequence: Box<AlterSequenceStatement>,
        /// SET GENERATED beside them: how the column takes its values.
        kind: Option<IdentityKind>,
    },
    /// ADD COLUMN.
    AddColumn {
        /// The column.
        column: Box<ColumnDefinition>,
        /// Its CHECK constraints.
        checks: Vec<CheckDefinition>,
        /// Its UNIQUE constraint.
        uniques: Vec<UniqueDefinition>,
        /// Whether a column of the name is only worth a notice.
        if_not_exists: bool,
    },
    /// DROP COLUMN.
    DropColumn {
        /// The column.
        name: Name,
        /// Whether an unknown column is only worth a notice.
        if_exists: bool,
        /// Whether indexes and generated columns that read it go, too.
        cascade: bool,
    },
    /// ADD CONSTRAINT … CHECK.
    AddCheck(CheckDefinition),
    /// ADD CONSTRAINT … UNIQUE.
    AddUnique(UniqueDefinition),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// The constraint.
        name: Name,
        /// Whether an unknown constraint is only worth a notice.
        if_exists: bool,
    },
    /// ALTER COLUMN … SET DEFAULT, or DROP DEFAULT.
    SetDefault {
        /// The column.
        column: Name,
        /// The default, or none.
        default: Option<Expression>,
    },
    /// ALTER COLUMN … SET NOT NULL, or DROP NOT NULL.
    SetNullable {
        /// The column.
        column: Name,
        /// Whether NULL may be stored.
        nullable: bool,
    },
    /// ALTER COLUMN … TYPE.
    SetType {
        /// The column.
        column: Name,
        /// Its new type.
        ty: DataType,
    },
    /// SET (ttl = …), or RESET (ttl).
    SetLifetime(LifetimeDefinition),
    /// SET (versions = n), or RESET (versions).
    SetVersions(Option<u32>),
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDefinition {
    /// Name, if one is given.
    pub name: Option<Name>,
    /// The condition.
    pub condition: Expression,
}

/// One element of a primary key or an index.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyElementDefinition {
    /// What is stored.
    pub expr: KeyExprDefinition,
    /// ASC, which is the default, or DESC.
    pub order: SortOrder,
    /// Place in the statement, in characters from 1.
    pub position: usize,
}

/// What one element of a key is computed from.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyExprDefinition {
    /// A column.
    Column(Name),
    /// `HASH(column, bytes)`.
    Hash {
        /// Column hashed.
        column: Name,
        /// 4, 8 or 16.
        bytes: u8,
    },
    /// Any other expression; indexes only.
    Expression(Box<Expr>),
}

/// A UNIQUE constraint, which becomes a unique index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqueDefinition {
    /// Name, if one is given.
    pub name: Option<Name>,
    /// Columns.
    pub columns: Vec<Name>,
}

/// A FAMILY clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyDefinition {
    /// Name.
    pub name: Name,
    /// Columns stored in the family.
    pub columns: Vec<Name>,
    /// `none`, `lz4` or `zstd`.
    pub compression: Option<String>,
    /// TTL, in microseconds.
    pub ttl_micros: Option<i64>,
    /// VERSIONS.
    pub versions: Option<u32>,
}

/// Options of CREATE TABLE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptionsDefinition {
    /// SALT_BUCKETS.
    pub salt: Option<SaltDefinition>,
    /// IMMUTABLE_ROWS.
    pub immutable: bool,
    /// TTL.
    pub lifetime: Option<LifetimeDefinition>,
    /// USING: whether it says columnar.
    pub columnar: Option<bool>,
    /// VERSIONS, if said; `None` in it is one version.
    pub versions: Option<Option<u32>>,
    /// COMPRESSION.
    pub compression: Option<String>,
    /// SPLIT ON: each key is one or more constants for the first elements of the primary key.
    pub split_on: Vec<Vec<Expression>>,
}

/// `SALT_BUCKETS = n [ON (columns)]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaltDefinition {
    /// Number of buckets, 2 to 256.
    pub buckets: u16,
    /// Columns, or `None` for the whole key.
    pub columns: Option<Vec<Name>>,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndexStatement {
    /// Name, if one is given.
    pub name: Option<Name>,
    /// The table.
    pub table: ObjectName,
    /// UNIQUE.
    pub unique: bool,
    /// Whether an existing index is only worth a notice.
    pub if_not_exists: bool,
    /// Elements in order.
    pub elements: Vec<KeyElementDefinition>,
    /// INCLUDE columns.
    pub include: Vec<Name>,
    /// WHERE.
    pub predicate: Option<Expression>,
    /// USING columnar.
    pub columnar: bool,
}

/// How EXPLAIN prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// The same in a list, as clients of PostgreSQL read it: what `FORMAT JSON` of EXECUTE gives.
    JsonList,
}

/// SHOW and DESCRIBE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShowStatement {
    /// SHOW TABLES.
    Tables,
    /// SHOW INDEXES.
    Indexes {
        /// The table, or all tables.
        table: Option<ObjectName>,
    },
    /// SHOW CREATE TABLE, SHOW CREATE VIEW.
    CreateTable {
        /// The table.
        name: ObjectName,
    },
    /// DESCRIBE, SHOW COLUMNS.
    Columns {
        /// The table.
        name: ObjectName,
    },
    /// SHOW LAST QUERY STATS.
    LastQueryStats,
    /// SHOW STATS.
    Stats {
        /// The table, or all tables.
        table: Option<ObjectName>,
    },
    /// SHOW DATABASE STATS.
    DatabaseStats,
    /// DESCRIBE FILE.
    File {
        /// Path of the file.
        file: String,
        /// How it is written.
        options: CopyOptions,
    },
    /// SHOW BACKUPS.
    Backups {
        /// The directory of backups.
        directory: String,
    },
    /// SHOW of one setting, its name in lower case.
    Setting(String),
    /// SHOW ALL.
    All,
}

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
