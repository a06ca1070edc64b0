//! A statement, and the small kinds of it.

use rukh_keys::DataType;
use sqlparser::ast;

use super::changes::{AlterTableStatement, IndexAction};
use super::copy::{CopyOptions, CopyStatement};
use super::functions::FunctionStatement;
use super::names::{CommentTarget, Expression, Name, ObjectName, TypeName};
use super::objects::{AlterSequenceStatement, CreateViewStatement, Ownable, OwnedBy, SequenceOptions};
use super::procedural::ProcedureBlock;
use super::roles::RoleStatement;
use super::rows::{DeleteStatement, InsertStatement, MergeStatement, UpdateStatement};
use super::tables::{CheckDefinition, CreateIndexStatement, CreateTableStatement};
use super::transaction::TransactionStatement;

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
    Writes(Box<WritesStatement>),
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
    /// DO: a block of PL/pgSQL.
    Do(Box<ProcedureBlock>),
    /// COMMENT ON.
    Comment {
        /// What the comment is of.
        on: CommentTarget,
        /// The text, or none.
        text: Option<String>,
    },
    /// CREATE VIEW.
    CreateView(Box<CreateViewStatement>),
    /// REFRESH MATERIALIZED VIEW.
    Refresh {
        /// The view.
        name: ObjectName,
        /// Whether rows that stay are left as they are.
        concurrently: bool,
        /// Whether the rows are computed; they are gone otherwise.
        with_data: bool,
    },
    /// DROP VIEW.
    DropView {
        /// Views to drop, at least one.
        names: Vec<ObjectName>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether views that read them go, too.
        cascade: bool,
        /// Whether they are materialized ones.
        materialized: bool,
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
        /// RESTART IDENTITY: whether their sequences restart.
        restart: bool,
        /// Whether tables that refer to them are emptied, too.
        cascade: bool,
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
    /// SET.
    Set {
        /// The setting, in lower case.
        name: String,
        /// The new value as text, or `None` for the default.
        value: Option<String>,
        /// Whether it holds for the present transaction only.
        local: bool,
    },
    /// RESET.
    Reset {
        /// The setting, in lower case; all of them in RESET ALL.
        name: Option<String>,
    },
    /// CREATE EXTENSION and its kin.
    Extension(ExtensionStatement),
    /// BEGIN, COMMIT, SAVEPOINT and their kin.
    Transaction(TransactionStatement),
    /// CREATE USER, GRANT and their kin.
    Role(Box<RoleStatement>),
    /// PREPARE, EXECUTE, DECLARE, FETCH and their kin.
    Kept(Box<KeptStatement>),
    /// ALTER SEQUENCE.
    AlterSequence(Box<AlterSequenceStatement>),
    /// ALTER VIEW or SEQUENCE … RENAME TO.
    Rename {
        /// What gets another name.
        kind: Ownable,
        /// Its name.
        name: ObjectName,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Its new name.
        new: Name,
    },
    /// CREATE SCHEMA and its kin.
    Schema(Box<SchemaStatement>),
    /// CREATE TYPE and its kin.
    Type(Box<TypeStatement>),
    /// CREATE FUNCTION and its kin.
    Function(Box<FunctionStatement>),
    /// ALTER TABLE, VIEW or SEQUENCE … SET SCHEMA.
    SetSchema {
        /// What is moved.
        kind: Ownable,
        /// Its name.
        name: ObjectName,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Where it goes.
        schema: Name,
    },
}

/// A statement whose WITH writes.
#[derive(Clone, Debug, PartialEq)]
pub struct WritesStatement {
    /// The queries of WITH that write, in order: INSERT, UPSERT, UPDATE or DELETE.
    pub parts: Vec<Statement>,
    /// What stands behind WITH: a query, or one that writes.
    pub statement: Statement,
}

/// A statement about what a session keeps by name.
#[derive(Clone, Debug, PartialEq)]
pub enum KeptStatement {
    /// PREPARE.
    Prepare {
        /// The name.
        name: Name,
        /// Types of the first parameters; `None` of those that are UNKNOWN, and of those in `casts`.
        types: Vec<Option<DataType>>,
        /// Types that are cast to, by the numbers of parameters from 1: `INTERVAL`, `INTEGER[]`, and those that the database defines.
        casts: Vec<(usize, String)>,
        /// The statement's text.
        sql: String,
    },
    /// EXECUTE.
    Execute {
        /// The name.
        name: Name,
        /// Values of the parameters.
        arguments: Vec<Expression>,
    },
    /// DEALLOCATE; no name for all.
    Deallocate(Option<Name>),
    /// DECLARE.
    Declare {
        /// The name.
        name: Name,
        /// The text of the query.
        sql: String,
        /// That of the whole statement.
        statement: String,
        /// Whether it goes backward, too.
        scrolls: bool,
        /// Whether it outlives its transaction, if that is committed.
        holds: bool,
    },
    /// FETCH and MOVE.
    Fetch {
        /// The cursor.
        name: Name,
        /// Which rows.
        rows: FetchedRows,
        /// Whether they are passed over.
        moves: bool,
    },
    /// CLOSE; no name for all.
    Close(Option<Name>),
    /// DISCARD.
    Discard(Discarded),
}

/// What DISCARD forgets of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// All that it has set, prepared and locked, and what is temporary.
    All,
    /// Plans.
    Plans,
    /// What `currval` and `lastval` give, and numbers taken in advance.
    Sequences,
    /// Temporary relations.
    Temporary,
}

/// The rows that FETCH asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchedRows {
    /// So many from here on; 0 is the present one.
    Next(u64),
    /// All that follow.
    All,
    /// So many before the present one, the nearest first; 0 is the present one.
    Backward(u64),
    /// All before the present one, the nearest first.
    BackwardAll,
    /// The one so many rows after the present one, or before it.
    Relative(i64),
    /// The one of this number, from 1; from the end if negative.
    Absolute(i64),
}

/// What becomes of a field of a composite type.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeAction {
    /// ADD ATTRIBUTE.
    Add {
        /// The field.
        name: Name,
        /// Its type.
        ty: TypeName,
    },
    /// DROP ATTRIBUTE.
    Drop {
        /// The field.
        name: Name,
        /// Whether a missing field is only worth a notice.
        if_exists: bool,
    },
    /// ALTER ATTRIBUTE … TYPE.
    Type {
        /// The field.
        name: Name,
        /// What its type is from now on.
        ty: TypeName,
    },
    /// RENAME ATTRIBUTE.
    Rename {
        /// The field.
        name: Name,
        /// What it is called from now on.
        new: Name,
    },
}

/// A statement about types; what all objects have, a name, a schema and an owner, is changed as theirs.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeStatement {
    /// CREATE TYPE … AS ENUM.
    CreateEnum {
        /// The type.
        name: ObjectName,
        /// Its labels in their order.
        labels: Vec<Name>,
    },
    /// CREATE TYPE … AS (…).
    CreateRecord {
        /// The type.
        name: ObjectName,
        /// Its fields in their order.
        fields: Vec<(Name, TypeName)>,
    },
    /// ALTER TYPE … of a composite type's fields.
    AlterRecord {
        /// The type.
        name: ObjectName,
        /// What becomes of its fields, one after the other.
        actions: Vec<AttributeAction>,
    },
    /// ALTER TYPE … ADD VALUE.
    AddValue {
        /// The type.
        name: ObjectName,
        /// Whether an existing label is only worth a notice.
        if_not_exists: bool,
        /// The label.
        label: Name,
        /// Where it stands.
        place: AddedPlace,
    },
    /// ALTER TYPE … RENAME VALUE.
    RenameValue {
        /// The type.
        name: ObjectName,
        /// The label.
        old: Name,
        /// What it is called from now on.
        new: Name,
    },
    /// CREATE DOMAIN.
    CreateDomain(Box<DomainDefinition>),
    /// ALTER DOMAIN.
    AlterDomain {
        /// The domain.
        name: ObjectName,
        /// What becomes of it.
        action: Box<DomainAction>,
    },
    /// DROP TYPE, DROP DOMAIN.
    Drop {
        /// Whether the statement says DOMAIN.
        domains: bool,
        /// Types to drop, at least one.
        names: Vec<ObjectName>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether columns of them go, too.
        cascade: bool,
    },
}

/// A domain as CREATE DOMAIN has it.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainDefinition {
    /// The domain.
    pub name: ObjectName,
    /// The type of its values.
    pub ty: TypeName,
    /// Where the type stands.
    pub position: usize,
    /// DEFAULT.
    pub default: Option<Expression>,
    /// NULL or NOT NULL, if either is said.
    pub nullable: Option<bool>,
    /// CHECK constraints.
    pub checks: Vec<CheckDefinition>,
}

/// An action of ALTER DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainAction {
    /// SET DEFAULT, DROP DEFAULT.
    Default(Option<Expression>),
    /// SET NOT NULL, DROP NOT NULL: whether NULL is a value.
    Nullable(bool),
    /// ADD CHECK.
    Add(CheckDefinition),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// The constraint.
        name: Name,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
    },
    /// RENAME CONSTRAINT.
    RenameConstraint {
        /// The constraint.
        old: Name,
        /// Its new name.
        new: Name,
    },
    /// VALIDATE CONSTRAINT.
    Validate(Name),
}

/// Where a label is added to an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddedPlace {
    /// Behind all others.
    Last,
    /// BEFORE this one.
    Before(Name),
    /// AFTER this one.
    After(Name),
}

/// A statement about extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionStatement {
    /// CREATE EXTENSION.
    Create {
        /// The extension.
        name: Name,
    },
    /// DROP EXTENSION.
    Drop {
        /// The extensions.
        names: Vec<Name>,
        /// Whether an unknown extension is only worth a notice.
        if_exists: bool,
    },
    /// COMMENT ON EXTENSION.
    Comment {
        /// The extension.
        name: Name,
    },
}

/// A statement about schemas.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaStatement {
    /// CREATE SCHEMA.
    Create {
        /// The schema.
        name: Name,
        /// Whether an existing schema is only worth a notice.
        if_not_exists: bool,
        /// AUTHORIZATION.
        owner: Option<Name>,
        /// What is created in it, in the order in which it is made.
        elements: Vec<Statement>,
    },
    /// ALTER SCHEMA … RENAME TO.
    Rename {
        /// The schema.
        old: Name,
        /// Its new name.
        new: Name,
    },
    /// DROP SCHEMA.
    Drop {
        /// Schemas to drop, at least one.
        names: Vec<Name>,
        /// Whether an unknown name is only worth a notice.
        if_exists: bool,
        /// Whether what they hold goes, too.
        cascade: bool,
    },
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
