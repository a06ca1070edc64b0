//! The check of definitions read from storage: what they mention must be there.
//!
//! Drafts are checked by `validate`, with messages for their authors. Here a definition is
//! checked that was valid once: bytes may have changed since, and nothing that reads rows by it
//! should have to doubt it.

use std::collections::BTreeSet;

use crate::validate::{check_columnar, check_type};
use crate::{ColumnId, FamilyId, Index, KeyElement, KeyExpr, Table};
use rukh_keys::DataType;

/// Checks the invariant of [`Table`]; says what is wrong.
pub(crate) fn check_definition(table: &Table) -> Result<(), String> {
    check_columns(table)?;
    table.check_counters().map_err(|error| error.to_string())?;
    table.check_layout().map_err(|error| error.to_string())?;
    check_families(table)?;
    check_key(table)?;
    check_layouts(table)?;
    check_expressions(table)?;
    check_lifetime(table)?;
    let mut ids = BTreeSet::new();
    for index in &table.indexes {
        require(ids.insert(index.id), || {
            format!("index id {} is given twice", index.id.0)
        })?;
        check_index(table, index)?;
    }
    Ok(())
}

fn require(holds: bool, message: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

fn check_columns(table: &Table) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let row_id = table
        .declared_columns()
        .iter()
        .find(|column| column.values.row_id);
    require(row_id.is_none(), || "a row id is not the last column".to_string())?;
    for column in &table.columns {
        let name = &column.name;
        require(ids.insert(column.id), || {
            format!("column id {} is given twice", column.id.0)
        })?;
        require(column.id.0 < table.next_column, || {
            format!("column \"{name}\" has an id not yet given")
        })?;
        check_type(name, &column.ty).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn check_families(table: &Table) -> Result<(), String> {
    let ids: BTreeSet<FamilyId> = table.families.iter().map(|family| family.id).collect();
    let first = table.families.first().map(|family| family.id);
    require(first == Some(FamilyId(0)), || {
        "the first family is not family 0".to_string()
    })?;
    require(ids.len() == table.families.len(), || {
        "a family id is given twice".to_string()
    })?;
    match table.columns.iter().find(|column| !ids.contains(&column.family)) {
        None => Ok(()),
        Some(column) => Err(format!("column \"{}\" belongs to no family", column.name)),
    }
}

fn check_key(table: &Table) -> Result<(), String> {
    check_elements(table, &table.primary_key)?;
    for element in &table.primary_key {
        let column = !matches!(element.expr, KeyExpr::Expression { .. });
        require(column, || "the primary key has an expression".to_string())?;
    }
    match &table.salt {
        Some(salt) => require((2..=256).contains(&salt.buckets), || {
            format!("{} salt buckets", salt.buckets)
        }),
        None => Ok(()),
    }
}

/// Elements are there, each once, and read columns of family 0.
fn check_elements(table: &Table, elements: &[KeyElement]) -> Result<(), String> {
    require(!elements.is_empty(), || "a key has no elements".to_string())?;
    for (at, element) in elements.iter().enumerate() {
        let again = elements[..at].iter().any(|other| other.expr == element.expr);
        require(!again, || "a key has an element twice".to_string())?;
        element
            .expr
            .columns()
            .into_iter()
            .try_for_each(|column| check_base_column(table, column))?;
        match &element.expr {
            KeyExpr::Hash { bytes, .. } => {
                require(matches!(bytes, 4 | 8 | 16), || format!("a hash of {bytes} bytes"))?;
            }
            KeyExpr::Expression { sql, ty, .. } => {
                check_type(sql, ty).map_err(|error| error.to_string())?;
            }
            KeyExpr::Column(_) => {}
        }
    }
    Ok(())
}

fn check_base_column(table: &Table, id: ColumnId) -> Result<(), String> {
    let column = table
        .column(id)
        .ok_or_else(|| format!("there is no column with id {}", id.0))?;
    require(column.family == FamilyId(0), || {
        format!("column \"{}\" is not in family 0", column.name)
    })
}

/// Layouts are numbered from 0, and the newest has every column outside of the key once.
fn check_layouts(table: &Table) -> Result<(), String> {
    for (position, layout) in table.layouts.iter().enumerate() {
        let version = layout.version;
        require(usize::from(version) == position, || {
            format!("layout {version} is at place {position}")
        })?;
        for (id, ty) in &layout.columns {
            check_type(&format!("id {}", id.0), ty).map_err(|error| error.to_string())?;
        }
    }
    let newest = table.layouts.last().ok_or("there is no row layout")?;
    let outside = table
        .columns
        .iter()
        .filter(|column| !table.in_primary_key(column.id));
    for column in outside {
        let times = newest.columns.iter().filter(|(id, _)| *id == column.id).count();
        require(times == 1, || {
            format!("column \"{}\" is {times} times in the row layout", column.name)
        })?;
    }
    Ok(())
}

/// CHECK constraints and generated columns read columns that are there, and missing values are of their type.
fn check_expressions(table: &Table) -> Result<(), String> {
    let generated = table
        .columns
        .iter()
        .filter_map(|column| column.values.generated.as_ref());
    let read = generated.flat_map(|generated| &generated.columns);
    for id in read.chain(table.checks.iter().flat_map(|check| &check.columns)) {
        require(table.column(*id).is_some(), || {
            format!("there is no column with id {}", id.0)
        })?;
    }
    for column in &table.columns {
        let missing = column.values.missing.as_ref();
        require(
            missing.is_none_or(|datum| column.ty.check(datum.clone()).as_ref() == Ok(datum)),
            || {
                format!(
                    "the missing value of column \"{}\" is not of its type",
                    column.name
                )
            },
        )?;
    }
    Ok(())
}

/// Rows of a table with a lifetime carry times, and the column it counts from holds times.
fn check_lifetime(table: &Table) -> Result<(), String> {
    table.check_lifetimes().map_err(|error| error.to_string())?;
    table.check_versions().map_err(|error| error.to_string())?;
    let Some(lifetime) = &table.options.lifetime else {
        return Ok(());
    };
    require(lifetime.ttl_micros > 0 && table.options.timed, || {
        "a lifetime without time".to_string()
    })?;
    let Some(id) = lifetime.from else {
        return Ok(());
    };
    let column = table.column(id);
    let column = column.ok_or_else(|| format!("there is no column with id {}", id.0))?;
    let is_time = matches!(
        column.ty,
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
    );
    require(is_time, || {
        format!("column \"{}\" holds no time to count from", column.name)
    })
}

fn check_index(table: &Table, index: &Index) -> Result<(), String> {
    let named = |message: String| format!("index \"{}\": {message}", index.name);
    check_elements(table, &index.elements).map_err(named)?;
    let predicate = index.predicate.iter().flat_map(|predicate| &predicate.columns);
    let mut read = predicate.chain(&index.include);
    read.try_for_each(|column| check_base_column(table, *column))
        .map_err(named)?;
    require(!index.former || table.keeps_former(index), || {
        named("it has entries of a history that is not there".to_string())
    })?;
    check_columnar(index).map_err(|error| named(error.to_string()))
}
