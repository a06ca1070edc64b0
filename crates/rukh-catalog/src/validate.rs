//! From a draft to a definition: every rule a table or index must keep.

use std::collections::BTreeSet;

use rukh_keys::{DataType, Datum, NUMERIC_HALF, SortOrder};

use crate::error::invalid;
use crate::{
    CatalogError, Check, Column, ColumnId, Family, FamilyId, Index, IndexId, IndexLayout, IndexPredicate,
    IndexState, KeyElement, KeyExpr, RowLayout, SaltOptions, Table, TableId, TableOptions,
};

/// Most columns of one key.
const KEY_COLUMNS_MAX: usize = 64;

/// Most columns of one table, as in PostgreSQL.
pub(crate) const COLUMNS_MAX: usize = 1600;

/// What CREATE TABLE says, names resolved to positions by order: column `i` gets id `i`.
#[derive(Clone, Debug, Default)]
pub struct TableDraft {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub name: String,
    /// Columns; `id` must equal the position.
    pub columns: Vec<Column>,
    /// Elements of the primary key.
    pub primary_key: Vec<KeyElement>,
    /// Name of the primary key, if it is not the usual one.
    pub key_name: Option<String>,
    /// Salt, if there is to be any.
    pub salt: Option<SaltOptions>,
    /// Families beside the first; empty when the table has one.
    pub families: Vec<Family>,
    /// Options.
    pub options: TableOptions,
    /// CHECK constraints.
    pub checks: Vec<Check>,
}

/// What CREATE INDEX says.
#[derive(Clone, Debug)]
pub struct IndexDraft {
    /// Index name.
    pub name: String,
    /// UNIQUE or not.
    pub unique: bool,
    /// NULLS DISTINCT, or NULLS NOT DISTINCT.
    pub nulls_distinct: bool,
    /// Whether UNIQUE is said by a constraint of the table.
    pub constraint: bool,
    /// Elements as declared.
    pub elements: Vec<KeyElement>,
    /// INCLUDE columns.
    pub include: Vec<ColumnId>,
    /// WHERE of a partial index.
    pub predicate: Option<IndexPredicate>,
    /// How entries are stored.
    pub layout: IndexLayout,
}

/// Checks a draft and makes the table; primary-key columns become NOT NULL, as in PostgreSQL.
///
/// Fails with the first rule broken: names given twice, no or too long a primary key, a key column
/// named twice, salt outside 2..=256 or on columns outside the key, split keys that do not fit.
pub fn validate_table(draft: TableDraft, id: TableId) -> Result<Table, CatalogError> {
    check_columns(&draft)?;
    check_primary_key(&draft.name, &draft.columns, &draft.primary_key)?;
    check_key_types(&draft.primary_key, &draft.columns)?;
    check_salt(&draft)?;
    let mut columns = draft.columns;
    for element in &draft.primary_key {
        for column in element.expr.columns() {
            columns[column.0 as usize].nullable = false;
        }
    }
    let mut families = vec![default_family()];
    families.extend(draft.families);
    let mut table = Table {
        id,
        schema: draft.schema,
        name: draft.name,
        next_column: columns.len() as u32,
        columns,
        primary_key: draft.primary_key,
        named_key: None,
        salt: draft.salt,
        families,
        options: draft.options,
        layouts: Vec::new(),
        indexes: Vec::new(),
        checks: draft.checks,
        foreign_keys: Vec::new(),
        comments: Default::default(),
        dropped: Vec::new(),
        materialized: None,
    };
    if let Some(name) = draft.key_name {
        table.set_key_name(name);
    }
    check_families(&table)?;
    table.check_lifetimes()?;
    table.check_versions()?;
    table.check_counters()?;
    table.check_layout()?;
    table.layouts.push(first_layout(&table));
    table.options.split_on = checked_splits(&table)?;
    Ok(table)
}

/// Checks a draft and makes the index, in state [`IndexState::Building`].
///
/// Fails on no or too many elements, an element or INCLUDE column named twice, a bad hash length.
pub fn validate_index(draft: IndexDraft, table: &Table, id: IndexId) -> Result<Index, CatalogError> {
    check_elements(&draft.elements, |column| table.column_name(column).to_string())?;
    check_key_types(&draft.elements, &table.columns)?;
    let mut seen = BTreeSet::new();
    for column in &draft.include {
        let name = table.column_name(*column).to_string();
        if !seen.insert(*column) {
            return Err(CatalogError::DuplicateColumn { column: name });
        }
        if table.column(*column).is_some_and(|c| c.family != FamilyId(0)) {
            return invalid(format!(
                "column \"{name}\" of another family cannot be included in an index"
            ));
        }
    }
    let index = Index {
        id,
        name: draft.name,
        unique: draft.unique,
        nulls_distinct: draft.nulls_distinct,
        constraint: draft.constraint || !draft.unique,
        elements: draft.elements,
        include: draft.include,
        predicate: draft.predicate,
        state: IndexState::Building,
        layout: draft.layout,
        once_nullable: Vec::new(),
        former: false,
    };
    let index = Index {
        former: table.keeps_former(&index),
        ..index
    };
    check_columnar(&index)?;
    check_index_families(&index, table)?;
    match index.key_elements(table).len() <= KEY_COLUMNS_MAX {
        true => Ok(index),
        false => invalid(format!(
            "cannot use more than {KEY_COLUMNS_MAX} columns in an index"
        )),
    }
}

/// Checks that a columnar index is such as it can serve: it finds rows by no
/// key, and computes nothing.
///
/// Fails with [`CatalogError::Unsupported`].
pub fn check_columnar(index: &Index) -> Result<(), CatalogError> {
    let is_computed = |element: &KeyElement| matches!(element.expr, KeyExpr::Expression { .. });
    let what = match index.layout {
        IndexLayout::Rows => return Ok(()),
        IndexLayout::Columnar if index.unique => "unique indexes",
        IndexLayout::Columnar if index.predicate.is_some() => "partial indexes",
        IndexLayout::Columnar if index.elements.iter().any(is_computed) => "index expressions",
        IndexLayout::Columnar => return Ok(()),
    };
    Err(CatalogError::Unsupported {
        message: format!("access method \"columnar\" does not support {what}"),
    })
}

fn check_index_families(index: &Index, table: &Table) -> Result<(), CatalogError> {
    let outside = |id: &ColumnId| table.column(*id).is_some_and(|c| c.family != FamilyId(0));
    match index.columns_read(table).into_iter().find(outside) {
        None => Ok(()),
        Some(id) => invalid(format!(
            "column \"{}\" of another family cannot be indexed",
            table.column_name(id)
        )),
    }
}

fn check_columns(draft: &TableDraft) -> Result<(), CatalogError> {
    let mut seen = BTreeSet::new();
    for (position, column) in draft.columns.iter().enumerate() {
        debug_assert_eq!(column.id.0 as usize, position);
        if !seen.insert(&column.name) {
            return Err(CatalogError::DuplicateColumn {
                column: column.name.clone(),
            });
        }
        check_type(&column.name, &column.ty)?;
    }
    match draft.columns.len() <= COLUMNS_MAX {
        true => Ok(()),
        false => invalid(format!("tables can have at most {COLUMNS_MAX} columns")),
    }
}

/// Checks what a type name may not say: lengths and digits outside of their bounds.
pub(crate) fn check_type(column: &str, ty: &DataType) -> Result<(), CatalogError> {
    match ty {
        DataType::Decimal { precision, scale } if *precision == 0 || *precision > 38 || scale > precision => {
            invalid(format!(
                "NUMERIC({precision},{scale}) of column \"{column}\": precision must be between 1 and 38, scale between 0 and precision"
            ))
        }
        DataType::Numeric { precision, scale }
            if *scale > NUMERIC_HALF || !(*scale..=scale + NUMERIC_HALF).contains(precision) =>
        {
            invalid(format!(
                "NUMERIC({precision},{scale}) of column \"{column}\": at most {NUMERIC_HALF} digits can be before the point and after it"
            ))
        }
        DataType::Char(0)
        | DataType::Binary(0)
        | DataType::Varchar(Some(0))
        | DataType::Varbinary(Some(0)) => invalid(format!(
            "length for type of column \"{column}\" must be at least 1"
        )),
        DataType::Char(n) | DataType::Binary(n) if *n > 65_535 => invalid(format!(
            "length for type of column \"{column}\" cannot exceed 65535"
        )),
        DataType::Time { precision } if *precision > 6 => invalid(format!(
            "TIME({precision}) precision of column \"{column}\" must be between 0 and 6"
        )),
        _ => Ok(()),
    }
}

/// Checks a primary key of a table with this name and these columns.
pub(crate) fn check_primary_key(
    table: &str,
    columns: &[Column],
    primary_key: &[KeyElement],
) -> Result<(), CatalogError> {
    if primary_key.is_empty() {
        return Err(CatalogError::NoPrimaryKey {
            table: table.to_string(),
        });
    }
    for element in primary_key {
        if let KeyExpr::Expression { sql, .. } = &element.expr {
            return invalid(format!(
                "a primary key is made of columns and HASH(column, n), not of {sql}"
            ));
        }
    }
    check_elements(primary_key, |id| {
        let column = columns.iter().find(|column| column.id == id);
        column.map_or_else(String::new, |column| column.name.clone())
    })
}

fn check_elements(elements: &[KeyElement], name: impl Fn(ColumnId) -> String) -> Result<(), CatalogError> {
    if elements.is_empty() || elements.len() > KEY_COLUMNS_MAX {
        return invalid(format!("a key has between 1 and {KEY_COLUMNS_MAX} columns"));
    }
    for (position, element) in elements.iter().enumerate() {
        if let KeyExpr::Hash { bytes, .. } = &element.expr
            && !matches!(bytes, 4 | 8 | 16)
        {
            return invalid(format!("HASH takes 4, 8 or 16 bytes, not {bytes}"));
        }
        if elements[..position].iter().any(|e| e.expr == element.expr) {
            let column = element
                .expr
                .columns()
                .first()
                .map(|c| name(*c))
                .unwrap_or_default();
            return Err(CatalogError::DuplicateColumn { column });
        }
    }
    Ok(())
}

/// Checks that values of all elements may be in keys.
pub(crate) fn check_key_types(elements: &[KeyElement], columns: &[Column]) -> Result<(), CatalogError> {
    for element in elements {
        let (name, ty) = match &element.expr {
            KeyExpr::Hash { .. } => continue,
            KeyExpr::Expression { sql, ty, .. } => (sql.as_str(), *ty),
            KeyExpr::Column(id) => match columns.iter().find(|column| column.id == *id) {
                Some(column) => (column.name.as_str(), column.ty),
                None => continue,
            },
        };
        if !ty.is_of_keys() {
            return Err(CatalogError::Unsupported {
                message: format!("\"{name}\" of type {} cannot be in a key", ty.postgres_name()),
            });
        }
    }
    Ok(())
}

fn check_salt(draft: &TableDraft) -> Result<(), CatalogError> {
    let Some(salt) = &draft.salt else { return Ok(()) };
    if !(2..=256).contains(&salt.buckets) {
        return invalid(format!(
            "SALT_BUCKETS must be between 2 and 256, not {}",
            salt.buckets
        ));
    }
    let key: Vec<_> = draft.primary_key.iter().flat_map(|e| e.expr.columns()).collect();
    match salt.columns.iter().flatten().find(|c| !key.contains(c)) {
        None => Ok(()),
        Some(c) => invalid(format!(
            "SALT_BUCKETS ON names column \"{}\", which is not part of the primary key",
            draft.columns[c.0 as usize].name
        )),
    }
}

fn check_families(table: &Table) -> Result<(), CatalogError> {
    let mut seen = BTreeSet::new();
    for family in &table.families {
        if !seen.insert(&family.name) {
            return invalid(format!("family \"{}\" specified more than once", family.name));
        }
    }
    for element in &table.primary_key {
        for id in element.expr.columns() {
            if table
                .column(id)
                .is_some_and(|column| column.family != FamilyId(0))
            {
                return invalid(format!(
                    "key column \"{}\" cannot belong to a family",
                    table.column_name(id)
                ));
            }
        }
    }
    Ok(())
}

fn default_family() -> Family {
    Family {
        id: FamilyId(0),
        name: "default".to_string(),
        options: Default::default(),
    }
}

/// Returns the value columns of a new table: fixed-width ones first, so that their offsets are known.
fn first_layout(table: &Table) -> RowLayout {
    RowLayout {
        version: 0,
        columns: stored_columns(table),
    }
}

pub(crate) fn stored_columns(table: &Table) -> Vec<(ColumnId, DataType)> {
    let outside_key = table
        .columns
        .iter()
        .filter(|column| !table.in_primary_key(column.id));
    outside_key.map(|column| (column.id, column.ty)).collect()
}

/// Checks split keys against the primary key and returns them in key order.
fn checked_splits(table: &Table) -> Result<Vec<Vec<Datum>>, CatalogError> {
    let key = table.key_columns(&table.primary_key);
    let mut splits = Vec::new();
    for split in &table.options.split_on {
        if split.is_empty() || split.len() > key.len() {
            return invalid("a SPLIT ON key must be a prefix of the primary key".to_string());
        }
        let checked = split
            .iter()
            .zip(&key)
            .map(|(datum, column)| column.ty.check(datum.clone()));
        let checked: Result<Vec<_>, _> = checked.collect();
        splits.push(checked.map_err(|e| CatalogError::Invalid {
            message: format!("SPLIT ON: {e}"),
        })?);
    }
    splits.sort_by(|a, b| compare_in_key_order(a, b, &key));
    splits.dedup();
    Ok(splits)
}

fn compare_in_key_order(a: &[Datum], b: &[Datum], key: &[rukh_keys::KeyColumn]) -> std::cmp::Ordering {
    let columns = a.iter().zip(b).zip(key);
    let unequal = columns
        .map(|((x, y), column)| match column.order {
            SortOrder::Asc => x.cmp(y),
            SortOrder::Desc => y.cmp(x),
        })
        .find(|ordering| ordering.is_ne());
    unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
}
