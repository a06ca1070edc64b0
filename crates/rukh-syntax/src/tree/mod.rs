//! The trees of statements: what the descent reads, and what a session runs.

mod changes;
mod copy;
mod functions;
mod names;
mod objects;
mod procedural;
mod roles;
mod rows;
mod statement;
mod tables;
mod transaction;

pub use changes::{AlterAction, AlterTableStatement, Computed, IndexAction};
pub use copy::{
    CopyDirection, CopyFormat, CopyHeader, CopyOptions, CopySource, CopyStatement, ForcedColumns,
    GivenColumns, RejectOptions,
};
pub use functions::{
    FunctionAction, FunctionBody, FunctionDefinition, FunctionName, FunctionStatement, ParameterDefinition,
    ReturnsDefinition,
};
pub use names::{CommentTarget, Expression, Name, ObjectName, TypeName, folded, undefined_type};
pub use objects::{AlterSequenceStatement, CreateViewStatement, Ownable, OwnedBy, Restart, SequenceOptions};
pub use procedural::{
    Condition, Declaration, Fragment, Handler, Into, LoopQuery, ProcedureAction, ProcedureBlock,
    ProcedureStep, Raise, Raised, Target, VariableKind,
};
pub use roles::{GrantObjects, GrantedRights, RoleOptions, RoleStatement, Secret};
pub use rows::{
    DeleteStatement, InsertStatement, MergeAction, MergeClause, MergeKind, MergeStatement, Overriding,
    UpdateStatement,
};
pub use statement::{
    AddedPlace, AttributeAction, Discarded, DomainAction, DomainDefinition, ExplainFormat,
    ExtensionStatement, FetchedRows, KeptStatement, LockStatement, SchemaStatement, ShowStatement, Statement,
    TypeStatement, VacuumStatement, WritesStatement,
};
pub use tables::{
    CheckDefinition, ColumnDefinition, CreateIndexStatement, CreateTableStatement, FamilyDefinition,
    ForeignKeyDefinition, IdentityDefinition, IdentityKind, KeyElementDefinition, KeyExprDefinition,
    LifetimeDefinition, LikeClause, OnCommit, SaltDefinition, TEMPORARY, TableOptionsDefinition, TableSource,
    UniqueDefinition,
};
pub use transaction::{Isolation, TransactionModes, TransactionStatement};
