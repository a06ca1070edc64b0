//! Tables, their columns and families.

use crate::View;
use std::collections::BTreeMap;

use rukh_keys::{DataType, Datum, KeyColumn, KeyLayout, Salt};
use serde::{Deserialize, Serialize};

use crate::error::invalid;
use crate::key::begins_with;
use crate::{
    CatalogError, ColumnId, Domain, FamilyId, ForeignKey, Index, IndexId, IndexState, KeyElement, KeyExpr,
    SaltOptions, TableId,
};

/// Most columns that a columnar table ever had: blocks number them by their ids.
const BLOCK_COLUMNS_MAX: u32 = 60_000;

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
    /// Where values come from that no statement gives, beside the default.
    #[serde(default, skip_serializing_if = "ColumnValues::is_plain")]
    pub values: ColumnValues,
}

/// Where values of a column come from that no statement gives, beside the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnValues {
    /// The value in rows that are older than the column; NULL if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Datum>,
    /// GENERATED ALWAYS AS … STORED: computed from other columns whenever a row is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
    /// GENERATED … AS IDENTITY; the default then names the sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// COUNTER: adding to it does not read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counter: bool,
    /// The domain that the column is declared of; its type is that of the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Box<Domain>>,
    /// The key of a table that was declared without one; see [`Column::row_id`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row_id: bool,
    /// The type is shown as it is declared, and not as what it is short for: VARCHAR, not TEXT, or TIMESTAMP(6), not TIMESTAMP; and arrays
    /// of them. Values are the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
}

/// The name of the column of row ids, with a mark at its end that is neither typed nor shown.
const ROW_ID: &str = "row id\u{2063}";

impl Column {
    /// Whether the column is declared TEXT, or as arrays of it.
    pub fn is_text(&self) -> bool {
        !self.values.declared && self.ty.element().unwrap_or(self.ty) == DataType::Varchar(None)
    }

    /// Returns the type as SQL, as it is declared.
    pub fn type_sql(&self) -> String {
        let array = if self.ty.element().is_some() { "[]" } else { "" };
        let scalar = self.ty.element().unwrap_or(self.ty);
        let moment = match scalar {
            DataType::Time { precision: 6 } => "TIME(6)",
            DataType::Timestamp { precision: 6 } => "TIMESTAMP(6)",
            DataType::TimestampTz { precision: 6 } => "TIMESTAMP(6) WITH TIME ZONE",
            _ => "",
        };
        match self.values.declared {
            _ if self.is_text() => format!("TEXT{array}"),
            true if !moment.is_empty() => format!("{moment}{array}"),
            _ => self.ty.to_string(),
        }
    }

    /// Makes the key of a table that is declared without one: a number that each row gets when it is inserted, microseconds since
    /// 1970-01-01 00:00 UTC or one more than the greatest before. It is the last column of its table, and only those that write rows know of it.
    pub fn row_id(id: ColumnId) -> Column {
        Column {
            id,
            name: ROW_ID.to_string(),
            ty: DataType::BigInt,
            nullable: false,
            default: None,
            family: FamilyId(0),
            values: ColumnValues {
                row_id: true,
                ..ColumnValues::default()
            },
        }
    }
}

impl Column {
    /// Returns the default, which may be that of the domain.
    pub fn default_sql(&self) -> Option<&str> {
        let of_domain = || {
            self.values
                .domain
                .as_ref()
                .and_then(|domain| domain.default_sql())
        };
        self.default.as_deref().or_else(of_domain)
    }
}

impl ColumnValues {
    fn is_plain(&self) -> bool {
        *self == ColumnValues::default()
    }
}

/// The expression of a generated column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// Normalised SQL text.
    pub sql: String,
    /// Columns that the expression reads.
    pub columns: Vec<ColumnId>,
}

/// Whether a statement may give a value of its own to an identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// It may not: GENERATED ALWAYS AS IDENTITY.
    Always,
    /// It may: GENERATED BY DEFAULT AS IDENTITY.
    ByDefault,
}

/// What COMMENT ON says of a table, its columns, indexes and constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comments {
    /// Of the table itself.
    pub table: Option<String>,
    /// Of columns.
    pub columns: BTreeMap<ColumnId, String>,
    /// Of indexes.
    pub indexes: BTreeMap<IndexId, String>,
    /// Of constraints by their names; that of the primary key, which is the table's, is empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constraints: BTreeMap<String, String>,
}

impl Comments {
    fn is_empty(&self) -> bool {
        *self == Comments::default()
    }

    /// Gives what is said of a constraint the name that it has got.
    pub fn rename_constraint(&mut self, old: &str, new: &str) {
        if let Some(text) = self.constraints.remove(old) {
            self.constraints.insert(new.to_string(), text);
        }
    }
}

/// A CHECK constraint: a condition that is not false for any row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name, unique within the table.
    pub name: String,
    /// Normalised SQL text.
    pub sql: String,
    /// Columns that the condition reads.
    pub columns: Vec<ColumnId>,
    /// NOT VALID, and not validated since: rows that were there when it was added may break it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
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
    /// TTL of its own: how long its values live after they changed, in microseconds; they are NULL then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_micros: Option<i64>,
    /// VERSIONS of its own: how many images of a row, the present one counted, have its values; older ones
    /// have NULL there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<u32>,
    /// Since when values count that carry no time, if the TTL came later: microseconds since 1970-01-01 00:00 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_micros: Option<i64>,
}

/// Options of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableOptions {
    /// Rows are only ever inserted, never changed: index maintenance reads no old row.
    pub immutable: bool,
    /// Keys at which storage is split in advance, as prefixes of the primary key.
    pub split_on: Vec<Vec<Datum>>,
    /// TTL: how long rows live; for ever if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
    /// Whether rows and index entries carry the time they were written. Once they do, they always will.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed: bool,
    /// Whether rows are stored in blocks, column by column, with what changes beside them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub columnar: bool,
    /// Whether the statement that makes the table is still writing its rows: CREATE TABLE … AS. A database that is
    /// opened with such a table drops it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filling: bool,
    /// VERSIONS: how former images of rows are kept; they are not if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    /// COMPRESSION of all that is stored of the table, rows, blocks and index entries, but for families that have one of their
    /// own: `none`, `lz4` or `zstd`. Programs that do not know of it store them as any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
}

/// How long the rows of a table live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// How long, in microseconds; at least one.
    pub ttl_micros: i64,
    /// The column that says since when: a date or timestamp. If absent it is when the row was last written.
    pub from: Option<ColumnId>,
    /// Since when rows count that carry no time, because they are older than the lifetime: microseconds
    /// since 1970-01-01 00:00 UTC.
    pub since_micros: i64,
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

/// How a table keeps former images of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// How many images of a row are kept, the present one counted; at least two.
    pub kept: u32,
    /// Since when images stand that carry no time, because they are older than VERSIONS: microseconds since
    /// 1970-01-01 00:00 UTC.
    pub since_micros: i64,
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
    /// Name of the primary key where it is another than [`default_key_name`] makes: [`Table::key_name`] reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_key: Option<String>,
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
    /// CHECK constraints in order of creation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// FOREIGN KEY constraints of which this is the referencing table, in order of creation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// What COMMENT ON says of the table, its columns and indexes.
    #[serde(default, skip_serializing_if = "Comments::is_empty")]
    pub comments: Comments,
    /// Columns that are gone, with the families in which older rows hold them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<(ColumnId, FamilyId)>,
    /// What the rows are of, if this is a materialized view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub materialized: Option<Box<Materialized>>,
}

/// What makes a table a materialized view: its rows are those that a query gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Materialized {
    /// The query, with what it reads; schema and name are the table's, and the id is 0.
    pub query: View,
    /// Whether the rows are there: they are not after WITH NO DATA.
    pub populated: bool,
}

/// Returns the name of the primary key of a table where no statement says another.
pub fn default_key_name(table: &str) -> String {
    made_name(table, "", "pkey")
}

/// Makes the name of what is defined without one: `t_a_idx` of `t`, `a` and `idx`. Of what is longer than 63 bytes the longer of the first
/// two parts loses its end, as in PostgreSQL's `makeObjectName`.
pub fn made_name(first: &str, second: &str, label: &str) -> String {
    let parts = [first, second, label].into_iter().filter(|part| !part.is_empty());
    let over = parts
        .map(|part| part.len() + 1)
        .sum::<usize>()
        .saturating_sub(NAME_BYTES_MAX + 1);
    let (mut first_bytes, mut second_bytes) = (first.len(), second.len());
    for _ in 0..over {
        match first_bytes > second_bytes {
            true => first_bytes -= 1,
            false => second_bytes = second_bytes.saturating_sub(1),
        }
    }
    let cut = |text: &str, bytes: usize| text[..text.floor_char_boundary(bytes)].to_string();
    let parts = [
        cut(first, first_bytes),
        cut(second, second_bytes),
        label.to_string(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

/// Most bytes of a name that is made.
const NAME_BYTES_MAX: usize = 63;

impl Table {
    /// Returns a table whose only column is a value of a domain, for what compiles its conditions.
    pub fn of_domain(domain: &Domain) -> Table {
        let column = Column {
            id: ColumnId(0),
            name: Domain::VALUE.to_string(),
            ty: domain.ty,
            nullable: true,
            default: None,
            family: FamilyId(0),
            values: ColumnValues::default(),
        };
        Table {
            id: TableId(0),
            schema: domain.schema.clone(),
            name: domain.name.clone(),
            next_column: 1,
            columns: vec![column],
            primary_key: Vec::new(),
            named_key: None,
            salt: None,
            families: Vec::new(),
            options: TableOptions::default(),
            layouts: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            comments: Comments::default(),
            dropped: Vec::new(),
            materialized: None,
        }
    }

    /// Whether the table is a materialized view whose rows are not there.
    pub fn is_unpopulated(&self) -> bool {
        self.materialized
            .as_ref()
            .is_some_and(|materialized| !materialized.populated)
    }

    /// Returns the column with this id.
    pub fn column(&self, id: ColumnId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// Returns the column with this name (already folded).
    pub fn column_named(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether a constraint of the table has this name.
    pub fn has_constraint(&self, name: &str) -> bool {
        let of_index = || {
            self.indexes
                .iter()
                .any(|index| index.constraint && index.name == name)
        };
        self.checks.iter().any(|check| check.name == name)
            || self.foreign_key(name).is_some()
            || self.key_name().as_deref() == Some(name)
            || of_index()
    }

    /// Returns the name by which [`Comments`] has a constraint; `None` if there is none of the name.
    pub fn constraint_comment(&self, name: &str) -> Option<String> {
        let has_index = || {
            self.indexes
                .iter()
                .any(|index| index.unique && index.name == name)
        };
        let is_named = self.checks.iter().any(|check| check.name == name) || self.foreign_key(name).is_some();
        if is_named || has_index() {
            return Some(name.to_string());
        }
        (self.key_name().as_deref() == Some(name)).then(String::new)
    }

    /// Returns the name of the primary key and of its index; `None` in a table with row ids.
    pub fn key_name(&self) -> Option<String> {
        let named = || self.named_key.clone();
        let name = || named().unwrap_or_else(|| default_key_name(&self.name));
        self.row_id().is_none().then(name)
    }

    /// Gives the primary key a name.
    pub fn set_key_name(&mut self, name: String) {
        self.named_key = (name != default_key_name(&self.name)).then_some(name);
    }

    /// Forgets what COMMENT ON says of constraints that are gone.
    pub fn prune_comments(&mut self) {
        let mut comments = std::mem::take(&mut self.comments.constraints);
        comments.retain(|name, _| name.is_empty() || self.constraint_comment(name).is_some());
        self.comments.constraints = comments;
    }

    /// Returns the columns that were declared: all but the row id.
    pub fn declared_columns(&self) -> &[Column] {
        match self.columns.split_last() {
            Some((last, declared)) if last.values.row_id => declared,
            _ => &self.columns,
        }
    }

    /// Returns the primary key that was declared: nothing, in a table with row ids.
    pub fn declared_key(&self) -> &[KeyElement] {
        match self.row_id() {
            Some(_) => &[],
            None => &self.primary_key,
        }
    }

    /// Returns the position of the row id, in a table that was declared without a primary key.
    pub fn row_id(&self) -> Option<usize> {
        let declared = self.declared_columns().len();
        (declared < self.columns.len()).then_some(declared)
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

    /// Returns the constraint of this name.
    pub fn foreign_key(&self, name: &str) -> Option<&ForeignKey> {
        self.foreign_keys.iter().find(|key| key.name == name)
    }

    /// Whether no two rows have the same values in these columns, none of them NULL: they are the primary key, or those of a UNIQUE index without a condition.
    pub fn are_unique(&self, columns: &[ColumnId]) -> bool {
        let unique = self
            .indexes
            .iter()
            .filter(|index| index.unique && index.predicate.is_none() && index.state == IndexState::Ready);
        let indexes = unique.map(|index| index.elements.as_slice());
        std::iter::once(self.declared_key())
            .chain(indexes)
            .any(|elements| elements.len() == columns.len() && begins_with(elements, columns))
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
            None => self.dropped_from(id) == family,
        };
        layout
            .columns
            .iter()
            .filter(|(id, _)| in_family(*id))
            .cloned()
            .collect()
    }

    /// Checks that a columnar table has nothing that blocks cannot serve: rows are one value.
    ///
    /// Fails with [`CatalogError::Unsupported`].
    pub fn check_layout(&self) -> Result<(), CatalogError> {
        if !self.is_columnar() {
            return Ok(());
        }
        let what = if self.families.len() > 1 {
            "more than one family"
        } else if self.next_column > BLOCK_COLUMNS_MAX {
            "so many columns that were added and dropped"
        } else {
            return Ok(());
        };
        Err(CatalogError::Unsupported {
            message: format!("access method \"columnar\" does not support tables with {what}"),
        })
    }

    /// Checks that lifetimes fit each other and the columns.
    ///
    /// Values of a family must not outlive their row, which they cannot renew and are not renewed with.
    pub fn check_lifetimes(&self) -> Result<(), CatalogError> {
        let Some(ttl) = self
            .families
            .iter()
            .filter_map(|family| family.options.ttl_micros)
            .max()
        else {
            return Ok(());
        };
        let outlives = |lifetime: &Lifetime| lifetime.from.is_some() || lifetime.ttl_micros < ttl;
        if self.options.lifetime.as_ref().is_some_and(outlives) {
            let message =
                "the TTL of a family cannot be longer than that of its table, which cannot be FROM a column";
            return invalid(message.to_string());
        }
        if ttl <= 0 || !self.options.timed || self.families[0].options.ttl_micros.is_some() {
            return invalid(
                "a family's TTL needs a family beside the first, and rows that carry times".to_string(),
            );
        }
        let mortal = |column: &&Column| {
            let family = self.families.iter().find(|family| family.id == column.family);
            !column.nullable && family.is_some_and(|family| family.options.ttl_micros.is_some())
        };
        match self.columns.iter().find(mortal) {
            None => Ok(()),
            Some(column) => invalid(format!(
                "column \"{}\" cannot be NOT NULL in a family with a TTL",
                column.name
            )),
        }
    }

    /// Returns the name of the column family that holds a table family: `t7` or `t7.f2`; `t7.h` or `t7.h.f2`
    /// of a history.
    pub fn storage_name(&self, family: FamilyId) -> String {
        let table = match self.id.history_of() {
            None => format!("t{}", self.id.0),
            Some(table) => format!("t{}.h", table.0),
        };
        match family.0 {
            0 => table,
            n => format!("{table}.f{n}"),
        }
    }

    /// Whether rows are stored in blocks, column by column.
    pub fn is_columnar(&self) -> bool {
        self.options.columnar
    }

    /// Returns the name of the column family that holds the blocks of a columnar table: `t7.c`. Changes
    /// that are in no block yet are in that of [`Table::storage_name`].
    pub fn blocks_name(&self) -> String {
        format!("t{}.c", self.id.0)
    }

    /// Returns the names of all column families of the table and its history, without its indexes.
    pub fn storage_names(&self) -> Vec<String> {
        let families = self.families.iter().map(|family| self.storage_name(family.id));
        let blocks = self.is_columnar().then(|| self.blocks_name());
        let history = self.history().map(|history| history.storage_names());
        families
            .chain(blocks)
            .chain(history.into_iter().flatten())
            .collect()
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

    fn dropped_from(&self, id: ColumnId) -> FamilyId {
        let found = self.dropped.iter().find(|(dropped, _)| *dropped == id);
        found.map_or(FamilyId(0), |(_, family)| *family)
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
