//! From one definition of a table to the next: what ALTER TABLE may do without rewriting rows.
//!
//! Rows name the layout that they were written with, and layouts name columns by their ids. A column that is
//! added or dropped makes a new layout; a column that a row's layout does not have reads as the column's
//! missing value, one that only the layout has is passed over.

use crate::check::check_definition;
use crate::error::invalid;
use crate::validate::{COLUMNS_MAX, check_key_types, check_primary_key, check_type, stored_columns};
use crate::{CatalogError, Column, ColumnId, FamilyId, IndexLayout, KeyElement, KeyExpr, RowLayout, Table};
use rukh_keys::{DataType, SortOrder};

impl Table {
    /// Returns the table with another declared column behind the others, which gets the next id.
    ///
    /// Fails on a name that is taken, and on a column of a family that has a missing value: rows without
    /// anything in a family have no entry there, so that old rows would look like those of NULLs.
    pub fn with_column(&self, column: Column) -> Result<Table, CatalogError> {
        if self.column_named(&column.name).is_some() {
            return Err(CatalogError::DuplicateColumn { column: column.name });
        }
        check_type(&column.name, &column.ty)?;
        if self.columns.len() >= COLUMNS_MAX {
            return invalid(format!("tables can have at most {COLUMNS_MAX} columns"));
        }
        if column.family != FamilyId(0) && column.values.missing.is_some() {
            return invalid(format!(
                "column \"{}\" of another family cannot have a default when it is added",
                column.name
            ));
        }
        let mut next = self.clone();
        let added = Column {
            id: ColumnId(self.next_column),
            ..column
        };
        next.columns.insert(self.declared_columns().len(), added);
        next.next_column += 1;
        next.with_new_layout()
    }

    /// Returns the table with another type of a column. Rows that are there keep the form of the old type, which
    /// their layout names; their values must be values of the new type.
    ///
    /// Fails on an id that is no column's, and on a type that columns cannot have.
    pub fn with_type(&self, id: ColumnId, ty: DataType) -> Result<Table, CatalogError> {
        let mut next = self.clone();
        let Some(column) = next.columns.iter_mut().find(|column| column.id == id) else {
            return invalid(format!("there is no column with id {}", id.0));
        };
        check_type(&column.name, &ty)?;
        column.ty = ty;
        next.with_new_layout()
    }

    /// Returns the table with another type of a column that the primary key or an index holds. All rows have to be written again, with
    /// all entries.
    ///
    /// Fails as [`Table::with_type`] does, and on a type that cannot be in a key.
    pub fn with_type_in_keys(&self, id: ColumnId, ty: DataType) -> Result<Table, CatalogError> {
        let mut next = self.with_type(id, ty)?;
        for column in next.columns.iter_mut().filter(|column| column.id == id) {
            column.values.missing = None;
        }
        next.check_keys()?;
        Ok(next)
    }

    /// Fails on an element of the primary key or of an index whose type cannot be in a key.
    pub fn check_keys(&self) -> Result<(), CatalogError> {
        let ordered = self.indexes.iter();
        let ordered = ordered.filter(|index| index.layout != IndexLayout::Columnar);
        let mut keys = std::iter::once(&self.primary_key).chain(ordered.map(|index| &index.elements));
        keys.try_for_each(|elements| check_key_types(elements, &self.columns))
    }

    /// Returns the table with its last declared column in the place and under the name of another, which is dropped.
    ///
    /// Fails on an id that is no column's, and as [`Table::without_column`] does.
    pub fn with_last_in_place_of(&self, id: ColumnId) -> Result<Table, CatalogError> {
        let mut next = self.clone();
        let last = self.declared_columns().len().checked_sub(1);
        let (Some(at), Some(last)) = (self.position(id), last) else {
            return invalid(format!("there is no column with id {}", id.0));
        };
        let last = next.columns.remove(last);
        let place = &mut next.columns[at];
        next.dropped.push((id, place.family));
        if let Some(comment) = next.comments.columns.remove(&id) {
            next.comments.columns.insert(last.id, comment);
        }
        place.id = last.id;
        place.ty = last.ty;
        place.values.missing = None;
        next.with_new_layout()
    }

    /// Returns a table that was declared without a primary key with one of this name, whose columns become NOT NULL. Its rows have to
    /// be written under their new keys, with all entries.
    ///
    /// Fails on a table that has a primary key, on elements that can be none of one, and as [`Table::without_column`] does.
    pub fn with_primary_key(&self, elements: Vec<KeyElement>, name: String) -> Result<Table, CatalogError> {
        let Some(row_id) = self.row_id() else {
            return invalid(format!(
                "multiple primary keys for table \"{}\" are not allowed",
                self.name
            ));
        };
        check_primary_key(&self.name, &self.columns, &elements)?;
        check_key_types(&elements, &self.columns)?;
        let mut next = self.clone();
        next.columns.remove(row_id);
        for id in elements.iter().flat_map(|element| element.expr.columns()) {
            for column in next.columns.iter_mut().filter(|column| column.id == id) {
                column.nullable = false;
            }
        }
        next.primary_key = elements;
        next.set_key_name(name);
        next.with_new_layout()
    }

    /// Returns the table without its primary key, with row ids: the columns stay NOT NULL. Its rows have to be written under their new
    /// keys, with all entries.
    ///
    /// Fails on a table that has none, and on one whose rows are spread or kept in versions by it.
    pub fn without_primary_key(&self) -> Result<Table, CatalogError> {
        let what = match () {
            () if self.row_id().is_some() => {
                return invalid(format!("table \"{}\" has no primary key", self.name));
            }
            () if self.salt.is_some() => Some("SALT_BUCKETS"),
            () if !self.options.split_on.is_empty() => Some("SPLIT ON"),
            () if self.options.versions.is_some() => Some("VERSIONS"),
            () => None,
        };
        if let Some(what) = what {
            let message = format!("{what} of table \"{}\" needs its primary key", self.name);
            return Err(CatalogError::Unsupported { message });
        }
        let mut next = self.clone();
        let id = ColumnId(next.next_column);
        next.next_column += 1;
        next.columns.push(Column::row_id(id));
        next.primary_key = vec![KeyElement {
            expr: KeyExpr::Column(id),
            order: SortOrder::Asc,
        }];
        next.named_key = None;
        next.prune_comments();
        next.comments.constraints.remove("");
        next.with_new_layout()
    }

    /// Returns the table without a column.
    ///
    /// Fails on a column that the primary key, an index, a CHECK constraint or a generated column reads.
    pub fn without_column(&self, id: ColumnId) -> Result<Table, CatalogError> {
        let mut next = self.clone();
        if let Some(column) = self.column(id) {
            next.dropped.push((id, column.family));
        }
        next.columns.retain(|column| column.id != id);
        next.comments.columns.remove(&id);
        next.with_new_layout()
    }

    /// Adds a layout of the present columns, unless the newest is one already, and checks the whole.
    fn with_new_layout(mut self) -> Result<Table, CatalogError> {
        let columns = stored_columns(&self);
        if self.row_layout().columns != columns {
            let Ok(version) = u16::try_from(self.layouts.len()) else {
                return invalid(format!(
                    "columns of table \"{}\" were added and dropped too often",
                    self.name
                ));
            };
            self.layouts.push(RowLayout { version, columns });
        }
        self.checked()
    }

    /// Returns a changed definition if it is valid.
    pub fn checked(self) -> Result<Table, CatalogError> {
        match check_definition(&self) {
            Ok(()) => Ok(self),
            Err(message) => invalid(message),
        }
    }
}
