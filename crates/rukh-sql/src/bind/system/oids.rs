//! Numbers of objects, as PostgreSQL's clients know objects by.
//!
//! | object                               | number                                              |
//! |--------------------------------------|-----------------------------------------------------|
//! | tables, indexes, sequences, views, enums | 16384 and the id in the catalog, which is never reused |
//! | arrays of enums                      | 2^28 and the number of the enum                     |
//! | the index of a primary key           | 2^30 and the id of its table                        |
//! | constraints                          | 5 * 2^28, and the id of the table or index          |
//! | CHECK constraints                    | 6 * 2^28, by table and place                        |
//! | functions                            | 2 * 2^28, and their place in the list of them       |
//! | roles                                | 8 * 2^28, and their id; the owner of what no role owns is 10 |
//! | defaults; labels of enums            | 7 * 2^28, by table and column; by type and place    |
//! | tables of `pg_catalog`               | PostgreSQL's, where clients know it                 |
//! | types, `public`, `pg_catalog`        | PostgreSQL's                                        |
//! | other schemas                        | 3 * 2^28, and a hash of the name                    |
//! | types of rows of tables and views    | 9 * 2^28, and the id in the catalog                 |
//! | arrays of these                      | 10 * 2^28, and the id in the catalog                |
//!
//! They fit 32 bits, and are the same each time that a database is opened.

use rukh_catalog::{ColumnId, RoleId, Table, TableId, TypeId};
use rukh_functions::types::FIRST_OID;

/// The first number of what users make.
const FIRST: i64 = FIRST_OID as i64;
/// Functions have numbers from this one on.
pub(crate) const PROCS: i64 = 2 << 28;
const SCHEMAS: i64 = 3 << 28;
const PRIMARY_KEYS: i64 = 4 << 28;
const CONSTRAINTS: i64 = 5 << 28;
const CHECKS: i64 = 6 << 28;
const DEFAULTS: i64 = 7 << 28;
const ROLES: i64 = 8 << 28;
const ROWS: i64 = 9 << 28;
const ARRAYS_OF_ROWS: i64 = 10 << 28;
/// How many numbers there are after each of these.
const RANGE: i64 = 1 << 28;

/// The owner of everything.
pub(crate) const OWNER: i64 = 10;
/// The database.
pub(crate) const DATABASE: i64 = 5;
/// The method of indexes by key.
pub(crate) const BTREE: i64 = 403;
/// The method of columnar indexes.
pub(crate) const COLUMNAR: i64 = 12_403;
/// The method of tables.
pub(crate) const HEAP: i64 = 2;
/// The tablespace.
pub(crate) const TABLESPACE: i64 = 1663;
/// Tables of `pg_catalog` whose numbers no client knows have numbers from this one on.
pub(crate) const OTHER_SYSTEM_TABLES: i64 = 14_000;
/// The schema `pg_catalog`.
pub(crate) const PG_CATALOG: i64 = 11;
/// The schema `information_schema`.
pub(crate) const INFORMATION_SCHEMA: i64 = 13_000;

/// Returns the number of an object by its id in the catalog.
pub(crate) fn object(id: u32) -> i64 {
    FIRST + i64::from(id)
}

/// Returns the number of the type of a table's or view's rows.
pub(crate) fn row_type(id: u32) -> i64 {
    ROWS + i64::from(id) % RANGE
}

/// Returns the number of the type of arrays of a table's or view's rows.
pub(crate) fn array_of_rows(id: u32) -> i64 {
    ARRAYS_OF_ROWS + i64::from(id) % RANGE
}

/// Returns the number of the index that is a primary key.
pub(crate) fn primary_key(table: TableId) -> i64 {
    PRIMARY_KEYS + i64::from(table.0) % RANGE
}

/// Returns the number of the constraint of a table's primary key, or of a unique index.
pub(crate) fn constraint(id: u32) -> i64 {
    CONSTRAINTS + i64::from(id) % RANGE
}

/// Returns the number of a role.
pub(crate) fn role(id: RoleId) -> i64 {
    ROLES + i64::from(id.0)
}

/// Returns the number of a CHECK constraint.
pub(crate) fn check(table: &Table, at: usize) -> i64 {
    CHECKS + (i64::from(table.id.0) * 256 + at as i64) % RANGE
}

/// Returns the number of a CHECK of a domain, whose id no table has.
pub(crate) fn domain_check(domain: u32, at: usize) -> i64 {
    CHECKS + (i64::from(domain) * 256 + at as i64) % RANGE
}

/// Returns the number of a FOREIGN KEY constraint.
pub(crate) fn foreign_key(table: &Table, at: usize) -> i64 {
    // CHECK constraints have the numbers from the other end on.
    CHECKS + (i64::from(table.id.0) * 256 + 255 - at as i64) % RANGE
}

/// Returns the number of a column's default.
pub(crate) fn default(table: &Table, column: ColumnId) -> i64 {
    DEFAULTS + (i64::from(table.id.0) * 2048 + i64::from(column.0)) % RANGE
}

/// Returns the number of a label of an enum.
pub(crate) fn label(ty: TypeId, at: usize) -> i64 {
    DEFAULTS + (i64::from(ty.0) * 2048 + at as i64) % RANGE
}

/// Returns the number of a schema.
pub(crate) fn schema(name: &str) -> i64 {
    match name {
        "pg_catalog" => PG_CATALOG,
        "public" => 2200,
        "information_schema" => INFORMATION_SCHEMA,
        other => {
            let hash = other.bytes().fold(0xcbf2_9ce4_u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
            SCHEMAS + i64::from(hash) % RANGE
        }
    }
}

/// Returns the number of a table of `pg_catalog` or `information_schema`, by its place in the list of them.
pub(crate) fn system_table(name: &str, at: usize) -> i64 {
    match name {
        "pg_am" => 2601,
        "pg_attrdef" => 2604,
        "pg_attribute" => 1249,
        "pg_authid" => 1260,
        "pg_class" => 1259,
        "pg_collation" => 3456,
        "pg_constraint" => 2606,
        "pg_database" => 1262,
        "pg_depend" => 2608,
        "pg_description" => 2609,
        "pg_enum" => 3501,
        "pg_extension" => 3079,
        "pg_index" => 2610,
        "pg_inherits" => 2611,
        "pg_language" => 2612,
        "pg_namespace" => 2615,
        "pg_opclass" => 2616,
        "pg_opfamily" => 2753,
        "pg_operator" => 2617,
        "pg_proc" => 1255,
        "pg_rewrite" => 2618,
        "pg_sequence" => 2224,
        "pg_shdescription" => 2396,
        "pg_tablespace" => 1213,
        "pg_trigger" => 2620,
        "pg_type" => 1247,
        _ => OTHER_SYSTEM_TABLES + at as i64,
    }
}

/// Returns a number that is written as text.
pub(crate) fn number(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}
