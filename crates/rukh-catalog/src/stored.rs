//! The stored form of definitions: the column family `catalog`.
//!
//! | key          | value                                   |
//! |--------------|-----------------------------------------|
//! | `format`     | the format version in decimal           |
//! | `next_id`    | the next table or index id, in decimal  |
//! | `table/<id>` | the table as JSON, id as eight digits   |
//! | `sequence/<id>`, `view/<id>`, `role/<id>`, `schema/<id>`, `type/<id>`, `function/<id>` | as tables are |
//! | `sequence_state/<id>` | the next number to give, in decimal, with a sign and a zero before it if it was set, or `end` |
//! | `import/<journal>` | the file that was imported last and may not be in the journal yet |
//!
//! JSON, because definitions are few, are read once per start, and should be readable in `rukh dump`.

use crate::check::check_definition;
use crate::{
    CatalogError, FunctionId, Index, KeyExpr, RoleId, SchemaId, SequenceId, Table, TableId, TypeId, ViewId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of every stored format of the database: catalog, keys, rows, index entries.
///
/// | version | what it added                                                                     |
/// |---------|-----------------------------------------------------------------------------------|
/// | 1       |                                                                                   |
/// | 2       | CHECK constraints, generated and added columns, sequences, views, comments        |
/// | 3       | times in values, lifetimes; indexes disabled or broken; ranges in a note `load`   |
/// |         | counters; columnar indexes                                                        |
/// | 4       | columnar tables; versions of rows; roles and their rights; CHECK OPTION of views  |
/// | 5       | heads of columnar blocks have the identity of their columns; patches in values;   |
/// |         | schemas; comments on views and sequences                                          |
/// | 6       | times in columnar blocks: lifetimes and versions of columnar tables and indexes   |
/// | 7       | keys of indexes on columns that were nullable once; lifetimes of families that    |
/// |         | began later; schemas that are being filled; columns of columnar blocks in pieces  |
/// | 8       | filters of columnar blocks; compression of tables                                 |
/// | 9       | entries of former images in indexes; tables and indexes that share column families |
/// | 10      | NUMERIC of up to 76 digits; precisions of timestamps                              |
/// | 11      | NaN among NUMERICs; CHAR(n) of more than n bytes in rows                          |
/// | 12      | `upper`, `lower` and `initcap` map a character to one character                   |
/// | 13      | row ids: tables without a primary key                                             |
/// | 14      | foreign keys                                                                      |
/// | 15      | columns of INTERVAL, JSON, JSONB and arrays                                       |
/// | 16      | enums                                                                             |
/// | 17      | domains                                                                           |
/// | 18      | dates and timestamps before the year 1, and infinities of them                    |
/// | 19      | functions                                                                         |
/// | 20      | composite types                                                                   |
/// | 21      | numbers of rows                                                                   |
/// | 22      | UNIQUE indexes whose NULLs are not distinct                                       |
pub const FORMAT_VERSION: u32 = 23;

/// Functions that give other texts since a format version: indexes of older databases that call them are filled again.
const CHANGED_FUNCTIONS: [(u32, &[&str]); 1] = [(12, &["upper", "lower", "initcap"])];

/// Key of the format version in the `catalog` column family.
pub const FORMAT_KEY: &[u8] = b"format";

/// Name of the column family that holds definitions.
pub struct StoredCatalog;

impl StoredCatalog {
    /// Name of the column family.
    pub const NAME: &'static str = "catalog";
    /// Key of the next id to give to a table or index, so that ids are not reused after a drop.
    pub const NEXT_ID_KEY: &'static [u8] = b"next_id";
    /// Prefix of the keys of tables.
    pub const TABLE_PREFIX: &'static [u8] = b"table/";
    /// Prefix of the keys of numbers of rows.
    pub const ROWS_PREFIX: &'static [u8] = b"rows/";
    /// Prefix of the keys of sequences.
    pub const SEQUENCE_PREFIX: &'static [u8] = b"sequence/";
    /// Prefix of the keys of views.
    pub const VIEW_PREFIX: &'static [u8] = b"view/";
    /// Prefix of the keys of roles.
    pub const ROLE_PREFIX: &'static [u8] = b"role/";
    /// Prefix of the keys of schemas.
    pub const SCHEMA_PREFIX: &'static [u8] = b"schema/";
    /// Prefix of the keys of types.
    pub const TYPE_PREFIX: &'static [u8] = b"type/";
    /// Prefix of the keys of functions.
    pub const FUNCTION_PREFIX: &'static [u8] = b"function/";
}

/// Returns the key of a table's definition.
pub fn table_key(id: TableId) -> Vec<u8> {
    format!("table/{:08}", id.0).into_bytes()
}

/// Returns the key of a sequence's definition.
pub fn sequence_key(id: SequenceId) -> Vec<u8> {
    format!("sequence/{:08}", id.0).into_bytes()
}

/// Returns the key of what a sequence gives next.
pub fn sequence_state_key(id: SequenceId) -> Vec<u8> {
    format!("sequence_state/{:08}", id.0).into_bytes()
}

/// Returns the key of the number of rows of a table, where it is kept.
pub fn rows_key(id: TableId) -> Vec<u8> {
    format!("rows/{:08}", id.0).into_bytes()
}

/// Returns the key of what was imported last with a journal.
pub fn import_key(journal: &str) -> Vec<u8> {
    format!("import/{journal}").into_bytes()
}

/// Returns the key of a view's definition.
pub fn view_key(id: ViewId) -> Vec<u8> {
    format!("view/{:08}", id.0).into_bytes()
}

/// Returns the key of a role's definition.
pub fn role_key(id: RoleId) -> Vec<u8> {
    format!("role/{:08}", id.0).into_bytes()
}

/// Returns the key of a schema's definition.
pub fn schema_key(id: SchemaId) -> Vec<u8> {
    format!("schema/{:08}", id.0).into_bytes()
}

/// Returns the key of a type's definition.
pub fn type_key(id: TypeId) -> Vec<u8> {
    format!("type/{:08}", id.0).into_bytes()
}

/// Returns the key of a function's definition.
pub fn function_key(id: FunctionId) -> Vec<u8> {
    format!("function/{:08}", id.0).into_bytes()
}

/// Writes the definition of a sequence, view, role, schema, type or function.
pub fn encode_object(object: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(object).expect("a definition has no map with keys that are not strings")
}

/// Reads the definition of a sequence, view, role, schema, type or function; fails with [`CatalogError::Corrupted`] that names the key.
pub fn decode_object<T: DeserializeOwned>(key: &[u8], value: &[u8]) -> Result<T, CatalogError> {
    serde_json::from_slice(value).map_err(|error| CatalogError::Corrupted {
        key: String::from_utf8_lossy(key).into_owned(),
        message: error.to_string(),
    })
}

/// Writes a table's definition.
pub fn encode_table(table: &Table) -> Vec<u8> {
    serde_json::to_vec(table).expect("a definition has no map with keys that are not strings")
}

/// Reads and checks a table's definition; fails with [`CatalogError::Corrupted`] that names the key.
pub fn decode_table(key: &[u8], value: &[u8]) -> Result<Table, CatalogError> {
    let corrupted = |message| CatalogError::Corrupted {
        key: String::from_utf8_lossy(key).into_owned(),
        message,
    };
    let table: Table = serde_json::from_slice(value).map_err(|error| corrupted(error.to_string()))?;
    check_definition(&table).map_err(corrupted)?;
    match table_key(table.id) == key {
        true => Ok(table),
        false => Err(corrupted(format!(
            "it has the definition of table {}",
            table.id.0
        ))),
    }
}

/// Writes the format version.
pub fn encode_format() -> Vec<u8> {
    FORMAT_VERSION.to_string().into_bytes()
}

/// Reads and checks the format version; a newer one is refused.
pub fn decode_format(value: &[u8]) -> Result<u32, CatalogError> {
    let text = String::from_utf8_lossy(value);
    let found: u32 = text.parse().map_err(|_| CatalogError::Corrupted {
        key: "format".to_string(),
        message: format!("{text:?} is no version"),
    })?;
    match found <= FORMAT_VERSION {
        true => Ok(found),
        false => Err(CatalogError::NewerFormat {
            found,
            supported: FORMAT_VERSION,
        }),
    }
}

/// Whether entries of an index that a database of the format `found` holds may not be those that this program would write.
pub fn is_outdated(index: &Index, found: u32) -> bool {
    let changed = CHANGED_FUNCTIONS.iter().filter(|(since, _)| found < *since);
    let changed: Vec<&str> = changed.flat_map(|(_, names)| *names).copied().collect();
    // A name that is a part of another, or of a literal, costs no more than that the index is filled once more.
    let calls = |sql: &str| {
        let sql = sql.to_ascii_lowercase();
        changed.iter().any(|name| sql.contains(name))
    };
    let elements = index.elements.iter().map(|element| &element.expr);
    let mut expressions = elements.filter_map(|expr| match expr {
        KeyExpr::Expression { sql, .. } => Some(sql),
        KeyExpr::Column(_) | KeyExpr::Hash { .. } => None,
    });
    expressions.any(|sql| calls(sql)) || index.predicate.iter().any(|predicate| calls(&predicate.sql))
}
