//! Elements of keys: columns, hashes of columns, expressions.

use rukh_keys::{DataType, SortOrder};
use serde::{Deserialize, Serialize};

use crate::{ColumnId, Table};

/// What one element of a key is computed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyExpr {
    /// The value of a column.
    Column(ColumnId),
    /// The first `bytes` (4, 8 or 16) of the MD5 of a column's value, as BINARY(`bytes`).
    Hash {
        /// Column hashed.
        column: ColumnId,
        /// Length of the hash in bytes.
        bytes: u8,
    },
    /// A deterministic expression over columns of the row (indexes only).
    Expression {
        /// Normalised SQL text; two expressions are the same if this text is.
        sql: String,
        /// Type of the result.
        ty: DataType,
        /// Whether the result may be NULL.
        nullable: bool,
        /// Columns that the expression reads.
        columns: Vec<ColumnId>,
    },
}

impl KeyExpr {
    /// Returns the columns that the element reads.
    pub fn columns(&self) -> Vec<ColumnId> {
        match self {
            KeyExpr::Column(column) | KeyExpr::Hash { column, .. } => vec![*column],
            KeyExpr::Expression { columns, .. } => columns.clone(),
        }
    }

    /// Returns the element as SQL: `user_id`, `HASH(url, 8)`, `lower(name)`.
    pub fn sql(&self, table: &Table) -> String {
        match self {
            KeyExpr::Column(column) => table.column_name(*column).to_string(),
            KeyExpr::Hash { column, bytes } => {
                format!("HASH({}, {bytes})", table.column_name(*column))
            }
            KeyExpr::Expression { sql, .. } => sql.clone(),
        }
    }
}

/// One element of a key with its sort order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyElement {
    /// What is stored.
    pub expr: KeyExpr,
    /// Ascending or descending.
    pub order: SortOrder,
}

/// A leading byte computed from key columns, to spread neighbouring keys over `buckets` ranges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaltOptions {
    /// Number of buckets, 2 to 256.
    pub buckets: u16,
    /// Key columns that the byte is computed from; `None` means the whole key.
    pub columns: Option<Vec<ColumnId>>,
}

/// Whether a key begins with these columns, in whatever order.
pub fn begins_with(elements: &[KeyElement], columns: &[ColumnId]) -> bool {
    let first = elements.get(..columns.len());
    first.is_some_and(|first| {
        let is_one = |element: &KeyElement| match element.expr {
            KeyExpr::Column(id) => columns.contains(&id),
            _ => false,
        };
        let has = |id: &ColumnId| first.iter().any(|element| element.expr == KeyExpr::Column(*id));
        first.iter().all(is_one) && columns.iter().all(has)
    })
}
