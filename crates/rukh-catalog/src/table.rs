//! Tables, their columns and families.

use rukh_keys::{DataType, Datum, KeyColumn, KeyLayout, Salt};
use serde::{Deserialize, Serialize};

use crate::{Index, KeyElement, KeyExpr, SaltOptions};

/// Identifies a table for its whole life; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableId(pub u32);

/// Identifies a column within its table; never reused, so dropped columns leave no trace in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ColumnId(pub u32);

/// Identifies a family within its table; family 0 always exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FamilyId(pub u16);

/// Identifies an index for its whole life; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IndexId(pub u32);

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Stable identity; names may change.
    pub id: ColumnId,
    /// Name as folded by the SQL dialect.
    pub name: String,
    /// Declared type.
    pub ty: DataType,
    /// Whether NULL may be stored.
    pub nullable: bool,
    /// Default as SQL text, evaluated when a row is inserted without a value.
    pub default: Option<String>,
    /// Family the column's value is stored in; key columns belong to family 0.
    pub family: FamilyId,
}

/// A group of columns stored together, in a column family of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Identity within the table.
    pub id: FamilyId,
    /// Name as given; the first family is `default` unless named.
    pub name: String,
    /// Options of this family.
    pub options: FamilyOptions,
}

/// Options that a family has of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FamilyOptions {
    /// Compression below the upper levels: `none`, `lz4` or `zstd`.
    pub compression: Option<String>,
}

/// Options of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableOptions {
    /// Rows are only ever inserted, never changed: index maintenance reads no old row.
    pub immutable: bool,
    /// Keys at which storage is split in advance, as prefixes of the primary key.
    pub split_on: Vec<Vec<Datum>>,
}

/// The columns that a row version holds in its value, in stored order.
///
/// Adding or dropping a column appends a layout; rows name the layout they were written with, so
/// nothing is rewritten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowLayout {
    /// Number written in each row's header; position in [`Table::layouts`].
    pub version: u16,
    /// Columns stored in the value, with the types they had.
    pub columns: Vec<(ColumnId, DataType)>,
}

/// A table: columns, primary key, families, indexes.
///
/// Invariant: made by [`crate::validate_table`], so every id that it mentions exists, the primary key
/// is not empty, and `layouts` is not empty with `layouts[v].version == v`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Identity.
    pub id: TableId,
    /// Schema name; `public` unless said otherwise.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// Live columns in declared order.
    pub columns: Vec<Column>,
    /// Elements of the primary key in key order.
    pub primary_key: Vec<KeyElement>,
    /// Leading salt byte of the primary key, if any.
    pub salt: Option<SaltOptions>,
    /// Families; the first is the one that says whether a row exists.
    pub families: Vec<Family>,
    /// Options.
    pub options: TableOptions,
    /// Row layouts, oldest first; rows are written with the last.
    pub layouts: Vec<RowLayout>,
    /// Indexes in order of creation.
    pub indexes: Vec<Index>,
    /// Next column id to give.
    pub next_column: u32,
}

impl Table {
    /// Returns the column with this id.
    pub fn column(&self, id: ColumnId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// Returns the column with this name (already folded).
    pub fn column_named(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the position of a column in declared order.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// Returns the index with this id.
    pub fn index(&self, id: IndexId) -> Option<&Index> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// Returns the index with this name.
    pub fn index_named(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// Returns the layout of the primary key, salt included.
    pub fn key_layout(&self) -> KeyLayout {
        let columns = self.key_columns(&self.primary_key);
        let salt = self.salt.as_ref().map(|salt| Salt {
            buckets: salt.buckets,
            columns: self.salt_positions(salt),
        });
        KeyLayout::new(columns, salt)
    }

    /// Returns the key columns that these elements make, in order.
    pub(crate) fn key_columns(&self, elements: &[KeyElement]) -> Vec<KeyColumn> {
        elements.iter().map(|element| self.key_column(element)).collect()
    }

    /// Returns type, order and nullability of one key element.
    pub fn key_column(&self, element: &KeyElement) -> KeyColumn {
        let (ty, nullable) = self.element_type(&element.expr);
        KeyColumn {
            ty,
            order: element.order,
            nullable,
        }
    }

    /// Returns whether the value of `column` can be read back from the primary key.
    pub fn in_primary_key(&self, column: ColumnId) -> bool {
        self.primary_key
            .iter()
            .any(|element| element.expr == KeyExpr::Column(column))
    }

    /// Returns the row layout that new rows are written with.
    pub fn row_layout(&self) -> &RowLayout {
        self.layouts.last().expect("a validated table has a row layout")
    }

    /// Returns the columns of `family` that are stored in the value, in stored order.
    pub fn value_columns(&self, layout: &RowLayout, family: FamilyId) -> Vec<(ColumnId, DataType)> {
        let in_family = |id: ColumnId| match self.column(id) {
            Some(column) => column.family == family,
            None => family == FamilyId(0),
        };
        layout
            .columns
            .iter()
            .filter(|(id, _)| in_family(*id))
            .cloned()
            .collect()
    }

    /// Returns the name of the column family that holds a table family: `t7` or `t7.f2`.
    pub fn storage_name(&self, family: FamilyId) -> String {
        match family.0 {
            0 => format!("t{}", self.id.0),
            n => format!("t{}.f{n}", self.id.0),
        }
    }

    /// Returns the printed name of a column family of this table: `logs` or `logs.payload`.
    pub fn display_name(&self, family: FamilyId) -> String {
        match self.families.iter().find(|f| f.id == family) {
            Some(f) if f.id.0 != 0 => format!("{}.{}", self.name, f.name),
            _ => self.name.clone(),
        }
    }

    /// Returns the name of a column, or a placeholder for one that was dropped.
    pub fn column_name(&self, id: ColumnId) -> &str {
        self.column(id).map_or("(dropped)", |column| column.name.as_str())
    }

    fn element_type(&self, expr: &KeyExpr) -> (DataType, bool) {
        match expr {
            KeyExpr::Column(id) => self.column_type(*id),
            KeyExpr::Hash { column, bytes } => {
                (DataType::Binary(u32::from(*bytes)), self.column_type(*column).1)
            }
            KeyExpr::Expression { ty, nullable, .. } => (*ty, *nullable),
        }
    }

    fn column_type(&self, id: ColumnId) -> (DataType, bool) {
        let column = self.column(id).expect("a validated table knows its key columns");
        (column.ty, column.nullable)
    }

    fn salt_positions(&self, salt: &SaltOptions) -> Vec<usize> {
        let all = 0..self.primary_key.len();
        match &salt.columns {
            None => all.collect(),
            Some(on) => all
                .filter(|i| self.primary_key[*i].expr.columns().iter().any(|c| on.contains(c)))
                .collect(),
        }
    }
}
