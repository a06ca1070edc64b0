//! Definitions: tables, indexes, families, and their stored form.
//!
//! A definition is plain data; this crate says which definitions are valid, which key layout they
//! give, and how they are written to the `catalog` column family. Nothing here touches storage,
//! parses SQL or evaluates an expression: expressions are kept as SQL text with the columns they
//! read, and `rukh-sql` compiles them.
//!
//! Start reading at [`Table`], then [`Catalog`].

mod alter;
mod catalog;
mod check;
mod counter;
mod domain;
mod error;
mod foreign;
mod function;
mod ids;
mod index;
mod key;
mod object;
mod role;
mod stored;
mod table;
mod validate;
mod versions;

pub use catalog::{Catalog, PUBLIC};
pub use domain::{Domain, DomainCheck};
pub use error::CatalogError;
pub use foreign::{ForeignAction, ForeignKey, ForeignTiming, can_refer};
pub use function::{Function, FunctionId, Parameter, Returns, ValueType, Volatility};
pub use ids::{ColumnId, FamilyId, IndexId, TableId};
pub use index::{Index, IndexLayout, IndexPredicate, IndexState};
pub use key::{KeyElement, KeyExpr, SaltOptions, begins_with};
pub use object::{
    CheckOption, Schema, SchemaId, Sequence, SequenceId, Type, TypeId, TypeKind, View, ViewColumn, ViewId,
    has_type, with_type,
};
pub use role::{Grant, GrantTarget, Membership, Rights, Role, RoleId};
pub use stored::{
    FORMAT_KEY, FORMAT_VERSION, StoredCatalog, decode_format, decode_object, decode_table, encode_format,
    encode_object, encode_table, function_key, import_key, is_outdated, role_key, rows_key, schema_key,
    sequence_key, sequence_state_key, table_key, type_key, view_key,
};
pub use table::{
    Check, Column, ColumnValues, Comments, Family, FamilyOptions, Generated, Identity, Lifetime,
    Materialized, RowLayout, Table, TableOptions, Versions, default_key_name, made_name,
};
pub use validate::{IndexDraft, TableDraft, check_columnar, validate_index, validate_table};
pub use versions::{ROW_END, ROW_START, VERSIONS_MAX};
