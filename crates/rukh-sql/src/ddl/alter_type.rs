//! ALTER COLUMN … TYPE: to types that hold every value there is as it is.
//!
//! | from                  | to                                                          |
//! |-----------------------|-------------------------------------------------------------|
//! | integers              | wider integers                                              |
//! | REAL                  | DOUBLE                                                      |
//! | DECIMAL(p, s)         | DECIMAL(more, s)                                            |
//! | TIME(p)               | TIME(more)                                                  |
//! | CHAR(n)               | CHAR(more), VARCHAR, VARCHAR(n or more)                     |
//! | VARCHAR(n)            | VARCHAR, VARCHAR(more)                                      |
//! | VARBINARY(n)          | VARBINARY, VARBINARY(more)                                  |
//!
//! Rows are not written anew: they name the layout that they were written with, and layouts name types. Keys and
//! index entries name none, so that a column in one of them may only get a type of the same encoding, which is
//! a longer VARCHAR or VARBINARY. Blocks of columnar tables name none either, and have other numbers for REAL than
//! for DOUBLE.

use rukh_catalog::{Catalog, Column, ColumnId, Table};
use rukh_keys::DataType;

use crate::expressions::evaluate_default;
use crate::sequences::sequence_of_default;
use crate::views::views_on;
use rukh_error::SqlError;

/// Returns a table with another type of a column.
pub(super) fn retyped(
    catalog: &Catalog,
    table: &Table,
    id: ColumnId,
    ty: DataType,
) -> Result<Table, SqlError> {
    let column = table.column(id).expect("the caller found the column");
    if column.ty == ty {
        return Ok(table.clone());
    }
    check_not_read(catalog, table, column)?;
    if !holds_all(column.ty, ty) {
        let (from, to) = (column.ty.postgres_name(), ty.postgres_name());
        let message = format!(
            "changing the type of column \"{}\" from {from} to {to} is not supported",
            column.name
        );
        return Err(SqlError::unsupported(message).with_hint(
            "Types can only become wider. Add a column of the new type, fill it by UPDATE, and drop the old one.",
        ));
    }
    if table.is_columnar() && !has_one_vector(column.ty, ty) {
        let message = format!(
            "cannot alter type of column \"{}\" because table \"{}\" is columnar",
            column.name, table.name
        );
        return Err(SqlError::unsupported(message));
    }
    if !has_one_encoding(column.ty, ty) {
        check_not_in_key(table, column)?;
    }
    if let Some(sql) = &column.default
        && sequence_of_default(sql).is_none()
    {
        evaluate_default(sql, &ty, &column.name)?;
    }
    Ok(table.with_type(id, ty)?)
}

/// Whether each value of a type is one of another, in the same form.
fn holds_all(from: DataType, to: DataType) -> bool {
    let grows = |from: u32, to: Option<u32>| to.is_none_or(|to| from <= to);
    match (from, to) {
        (DataType::Real, DataType::Double) => true,
        (
            DataType::Decimal { precision, scale },
            DataType::Decimal {
                precision: wider,
                scale: same,
            },
        ) => scale == same && precision <= wider,
        (DataType::Time { precision }, DataType::Time { precision: finer }) => precision <= finer,
        (DataType::Char(length), DataType::Char(longer)) => length <= longer,
        // As many bytes are as many characters at most.
        (DataType::Char(length), DataType::Varchar(limit)) => grows(length, limit),
        (DataType::Varchar(Some(limit)), DataType::Varchar(longer))
        | (DataType::Varbinary(Some(limit)), DataType::Varbinary(longer)) => grows(limit, longer),
        _ => match (from.min_max(), to.min_max()) {
            (Some((min, max)), Some((lower, upper))) if from.is_integer() && to.is_integer() => {
                lower <= min && max <= upper
            }
            _ => false,
        },
    }
}

/// Whether blocks of columnar tables have the values of two types in the same form.
fn has_one_vector(from: DataType, to: DataType) -> bool {
    has_one_encoding(from, to) || !matches!(from, DataType::Real | DataType::Char(_))
}

/// Whether keys and index entries of two types are the same bytes.
fn has_one_encoding(from: DataType, to: DataType) -> bool {
    matches!(
        (from, to),
        (DataType::Varchar(_), DataType::Varchar(_)) | (DataType::Varbinary(_), DataType::Varbinary(_))
    )
}

/// Fails if the primary key or an index holds a column.
fn check_not_in_key(table: &Table, column: &Column) -> Result<(), SqlError> {
    let mut key = table
        .primary_key
        .iter()
        .flat_map(|element| element.expr.columns());
    let refused = |why: String| {
        let message = format!("cannot alter type of column \"{}\" because {why}", column.name);
        SqlError::unsupported(message)
    };
    if key.any(|id| id == column.id) {
        return Err(refused("it is part of the primary key".to_string()));
    }
    let held = |index: &&rukh_catalog::Index| {
        index.columns_read(table).contains(&column.id) || index.include.contains(&column.id)
    };
    match table.indexes.iter().find(held) {
        None => Ok(()),
        Some(index) => Err(refused(format!("index \"{}\" reads it", index.name))
            .with_hint("Drop the index, and create it again afterwards.")),
    }
}

/// Fails on a column that views or generated columns read, and on one whose type is part of what it is.
fn check_not_read(catalog: &Catalog, table: &Table, column: &Column) -> Result<(), SqlError> {
    let refused = |what: &str, detail: String| {
        let message = format!("cannot alter type of a column used by {what}");
        Err(SqlError::unsupported(message).with_detail(detail))
    };
    if let Some(view) = views_on(catalog, table.id, Some(column.id)).first() {
        let detail = format!("view {} depends on column \"{}\"", view.name, column.name);
        return refused("a view or rule", detail);
    }
    let reads = |other: &&Column| {
        let expression = other.values.generated.as_ref();
        expression.is_some_and(|generated| generated.columns.contains(&column.id))
    };
    if let Some(generated) = table.columns.iter().find(reads) {
        let detail = format!(
            "Column \"{}\" is used by generated column \"{}\".",
            column.name, generated.name
        );
        return refused("a generated column", detail);
    }
    if column.values.counter {
        let message = format!("cannot alter type of counter \"{}\"", column.name);
        return Err(SqlError::unsupported(message));
    }
    Ok(())
}
