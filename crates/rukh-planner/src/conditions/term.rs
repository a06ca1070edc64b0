//! Terms: what a predicate speaks about, and their types.

use rukh_catalog::{ColumnId, Table};
use rukh_keys::DataType;

/// Marks the id of an index expression.
const EXPRESSION: u32 = 1 << 31;
/// Marks the id of the hash of a column.
const HASH: u32 = 1 << 30;
/// Bits of a column id inside the id of a hash.
const HASH_COLUMN: u32 = (1 << 28) - 1;

/// Something a row has one value of: a column, an index expression, the hash of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(pub u32);

/// A [`TermId`] taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A column of the table.
    Column(ColumnId),
    /// An expression: its position in [`Query::expressions`](crate::Query::expressions).
    Expression(u32),
    /// The first `bytes` of the hash of a column, as `HASH(column, bytes)` in a key.
    Hash {
        /// Column hashed.
        column: ColumnId,
        /// 4, 8 or 16.
        bytes: u8,
    },
}

impl TermId {
    /// The term of a column.
    pub const fn column(id: ColumnId) -> TermId {
        TermId(id.0)
    }

    /// The term of the expression at this position of the query's list.
    pub const fn expression(position: u32) -> TermId {
        TermId(EXPRESSION | position)
    }

    /// The term of the first `bytes` (4, 8 or 16) of a column's hash.
    pub const fn hash(id: ColumnId, bytes: u8) -> TermId {
        let code = match bytes {
            4 => 1,
            8 => 2,
            _ => 3,
        };
        TermId(HASH | code << 28 | (id.0 & HASH_COLUMN))
    }

    /// Takes the id apart.
    pub const fn kind(self) -> TermKind {
        if self.0 & EXPRESSION != 0 {
            return TermKind::Expression(self.0 & !EXPRESSION);
        }
        if self.0 & HASH == 0 {
            return TermKind::Column(ColumnId(self.0));
        }
        let bytes = 2 << ((self.0 >> 28) & 3);
        TermKind::Hash {
            column: ColumnId(self.0 & HASH_COLUMN),
            bytes,
        }
    }

    /// The column, if the term is one.
    pub const fn as_column(self) -> Option<ColumnId> {
        match self.kind() {
            TermKind::Column(id) => Some(id),
            _ => None,
        }
    }
}

/// Type and nullability of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermType {
    /// Type of the values.
    pub ty: DataType,
    /// Whether a row may have NULL here.
    pub nullable: bool,
}

/// Knows the types of terms.
pub trait TermTypes {
    /// Returns the type of a term, or `None` if it is not known: predicates on it are not
    /// understood then.
    fn term_type(&self, term: TermId) -> Option<TermType>;
}

/// Knows the columns of a table and their hashes, no expressions.
impl TermTypes for Table {
    fn term_type(&self, term: TermId) -> Option<TermType> {
        match term.kind() {
            TermKind::Column(id) => self.column(id).map(|column| TermType {
                ty: column.ty,
                nullable: column.nullable,
            }),
            TermKind::Hash { column, bytes } => self.column(column).map(|column| TermType {
                ty: DataType::Binary(u32::from(bytes)),
                nullable: column.nullable,
            }),
            TermKind::Expression(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_apart_as_they_were_put_together() {
        let column = ColumnId(1599);
        assert_eq!(TermId::column(column).kind(), TermKind::Column(column));
        assert_eq!(TermId::expression(7).kind(), TermKind::Expression(7));
        for bytes in [4, 8, 16] {
            assert_eq!(
                TermId::hash(column, bytes).kind(),
                TermKind::Hash { column, bytes }
            );
        }
    }
}
