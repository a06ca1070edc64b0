//! ALTER TABLE and ALTER INDEX.

use rukh_catalog::ForeignTiming;

use super::names::{Expression, Name, ObjectName, TypeName};
use super::objects::AlterSequenceStatement;
use super::tables::{
    CheckDefinition, ColumnDefinition, ForeignKeyDefinition, IdentityDefinition, IdentityKind,
    KeyElementDefinition, LifetimeDefinition, UniqueDefinition,
};

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
        /// What it refers to.
        foreign_keys: Vec<ForeignKeyDefinition>,
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
    /// ADD CONSTRAINT … FOREIGN KEY.
    AddForeignKey(ForeignKeyDefinition),
    /// VALIDATE CONSTRAINT.
    ValidateConstraint(Name),
    /// ALTER CONSTRAINT: when a foreign key is checked.
    AlterConstraint {
        /// The constraint.
        name: Name,
        /// DEFERRABLE, INITIALLY DEFERRED.
        timing: ForeignTiming,
    },
    /// ADD CONSTRAINT … UNIQUE.
    AddUnique(UniqueDefinition),
    /// ADD CONSTRAINT … UNIQUE USING INDEX.
    UseIndex {
        /// The name of the constraint, which the index gets; its own if there is none.
        name: Option<Name>,
        /// The index.
        index: Name,
    },
    /// ADD CONSTRAINT … PRIMARY KEY.
    AddPrimaryKey {
        /// Its name, if the statement says one.
        name: Option<Name>,
        /// Its elements.
        elements: Vec<KeyElementDefinition>,
        /// Where it stands.
        position: usize,
    },
    /// DROP CONSTRAINT.
    DropConstraint {
        /// The constraint.
        name: Name,
        /// Whether an unknown constraint is only worth a notice.
        if_exists: bool,
        /// Whether foreign keys that need it go, too.
        cascade: bool,
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
        ty: TypeName,
        /// USING: what the new value is computed from.
        using: Option<Expression>,
    },
    /// SET (ttl = …), or RESET (ttl).
    SetLifetime(LifetimeDefinition),
    /// SET (versions = n), or RESET (versions).
    SetVersions(Option<u32>),
    /// What is said of PostgreSQL's storage, without effect here.
    Storage {
        /// The column that it is said of, if it is not the table.
        column: Option<Name>,
        /// The index that it names.
        index: Option<Name>,
        /// Notices.
        notices: Vec<String>,
    },
}

/// What a column's values are made by, if not by statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {
    /// A sequence of its own.
    Identity,
    /// An expression.
    Expression,
}

/// What ALTER INDEX does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexAction {
    /// RENAME TO.
    RenameTo(Name),
    /// REBUILD: fills the index again.
    Rebuild,
    /// DISABLE: empties the index, which is neither read nor maintained then.
    Disable,
    /// ENABLE: fills the index unless it is Ready.
    Enable,
    /// REPACK: makes blocks of what a columnar index has beside them.
    Repack,
    /// What is said of PostgreSQL's storage, without effect here: notices.
    Storage(Vec<String>),
}
