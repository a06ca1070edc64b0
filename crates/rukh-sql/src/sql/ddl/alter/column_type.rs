//! ALTER COLUMN … TYPE: to types that hold every value there is as it is, and with values that are computed.
//!
//! | from                  | to                                                          |
//! |-----------------------|-------------------------------------------------------------|
//! | integers              | wider integers                                              |
//! | REAL                  | DOUBLE                                                      |
//! | DECIMAL(p, s)         | DECIMAL(more, s)                                            |
//! | TIME(p), TIMESTAMP(p) | TIME(more), TIMESTAMP(more), with a time zone as before     |
//! | CHAR(n)               | CHAR(more), VARCHAR, VARCHAR(n or more)                     |
//! | VARCHAR(n)            | VARCHAR, VARCHAR(more)                                      |
//! | VARBINARY(n)          | VARBINARY, VARBINARY(more)                                  |
//!
//! For these, rows are not rewritten: they name the layout that they were written with, and layouts name types. Keys and
//! index entries name none: of a column in one of them all rows are written under their new keys, unless the two types have the same
//! bytes ([`DataType::has_key_bytes_of`]). Blocks of columnar tables name none either, and have other numbers for REAL than for DOUBLE.
//!
//! For other types, and with USING, all rows are rewritten, in one batch with the definition; those of a column of a key or an index under
//! their new keys. CHECK constraints, expressions and conditions of indexes that read the column are typed again, as if they were new.

use rukh_catalog::{Catalog, Check, Column, ColumnId, ColumnValues, FamilyId, Index, KeyExpr, Table};
use rukh_functions::casts::table::{Context, Kind, context};
use rukh_keys::DataType;
use rukh_syntax::sqlparser::ast::Expr;
use rukh_syntax::{Expression, TypeName, data_type, folded, quoted};

use crate::bind::names::views::views_on;
use crate::bind::spelling::parsing::parse_expression;
use crate::bind::types::expressions::evaluate_default;
use crate::pg::sequences::sequence_of_default;
use crate::sql::ddl::create_index::{index_predicate, key_expression};
use crate::sql::ddl::stored::{generated_column, typed_check};
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;

/// A table with another type of a column.
pub(in crate::sql::ddl) struct Retyped {
    /// The table as it shall be.
    pub(in crate::sql::ddl) table: Table,
    /// The table with the column before and after, if its values are other ones: those after are generated.
    pub(in crate::sql::ddl) through: Option<Table>,
    /// The column, and that of `through` after, if it keeps its identity.
    pub(in crate::sql::ddl) retyped: Option<(ColumnId, ColumnId)>,
}

impl Retyped {
    /// The values stay what they are.
    fn kept(table: Table) -> Retyped {
        Retyped {
            table,
            through: None,
            retyped: None,
        }
    }
}

/// Returns USING unless it says what happens without: `USING id::bigint` of a column `id` that becomes one.
pub(in crate::sql::ddl) fn other_values<'u>(
    name: &str,
    ty: &TypeName,
    using: Option<&'u Expression>,
) -> Option<&'u Expression> {
    using.filter(|using| {
        let of_column = |expr: &Expr| matches!(expr, Expr::Identifier(ident) if folded(ident) == name);
        let is_cast = match &using.expr {
            Expr::Cast {
                expr, data_type: to, ..
            } => of_column(expr) && data_type(to).ok() == ty.known().ok(),
            expr => of_column(expr),
        };
        !is_cast
    })
}

/// Returns a table with another type of a column, whose values may be computed by `using`; `own` is the column by itself.
pub(in crate::sql::ddl) fn retyped(
    catalog: &Catalog,
    table: &Table,
    id: ColumnId,
    ty: DataType,
    (own, using): (&Expression, Option<&Expression>),
) -> Result<Retyped, SqlError> {
    let column = table.column(id).expect("the caller found the column");
    if column.ty == ty && using.is_none() {
        return Ok(Retyped::kept(table.clone()));
    }
    check_not_read(catalog, table, column)?;
    if let Some(sql) = &column.default
        && sequence_of_default(sql).is_none()
    {
        evaluate_default(sql, &ty, &column.name)?;
    }
    let has_other_entries = !column.ty.has_key_bytes_of(&ty) && is_computed_with(table, column);
    if using.is_some() || has_other_entries || !keeps_values(table, column.ty, ty) {
        return converted(table, column, ty, (own, using));
    }
    Ok(Retyped::kept(table.with_type(id, ty)?))
}

/// Whether a column keeps its values, and its identity, with another type.
pub(in crate::sql::ddl) fn keeps_values(table: &Table, from: DataType, to: DataType) -> bool {
    holds_all(from, to) && (!table.is_columnar() || has_one_vector(from, to))
}

/// Recomputes the values of a column: a column of the new type is generated from it, and replaces it.
fn converted(
    table: &Table,
    column: &Column,
    ty: DataType,
    (own, using): (&Expression, Option<&Expression>),
) -> Result<Retyped, SqlError> {
    let refused = |why: &str| {
        let message = format!("cannot alter type of column \"{}\" because {why}", column.name);
        Err(SqlError::unsupported(message))
    };
    let numbers = column.default.as_deref().and_then(sequence_of_default).is_some();
    if (column.values.identity.is_some() || numbers) && !ty.is_integer() {
        return refused("it takes numbers of a sequence");
    }
    if column.family != FamilyId(0) {
        return refused("it is of another family than the first");
    }
    if column.values.generated.is_some() {
        return refused("it is a generated column");
    }
    if using.is_none() && !is_assignable(column.ty, ty) {
        let (name, ty) = (&column.name, ty.postgres_name());
        let message = format!("column \"{name}\" cannot be cast automatically to type {ty}");
        let hint = format!("You might need to specify \"USING {}::{ty}\".", quoted(name));
        return Err(SqlError::statement("42804", message).with_hint(hint));
    }
    let after = Column {
        name: format!("{}{HIDDEN}", column.name),
        ty,
        default: None,
        // That the column is NOT NULL is checked of the table as it shall be.
        nullable: true,
        values: ColumnValues::default(),
        ..column.clone()
    };
    let (checks, table) = without_checks_of(table, column.id);
    let mut through = table.with_column(after)?;
    let at = through.declared_columns().len() - 1;
    let generated = generated_column(&through, &through.columns[at], using.unwrap_or(own), &[])?;
    through.columns[at].values = ColumnValues {
        generated: Some(generated),
        ..ColumnValues::default()
    };
    let (next, retyped) = match is_in_key(&table, column) {
        false => (through.with_last_in_place_of(column.id)?, None),
        true => (
            table.with_type_in_keys(column.id, ty)?,
            Some((column.id, through.columns[at].id)),
        ),
    };
    Ok(Retyped {
        table: typed_again(next, column.id, checks)?,
        through: Some(through),
        retyped,
    })
}

/// Returns the CHECK constraints that read a column, with their places, and the table without them.
fn without_checks_of(table: &Table, id: ColumnId) -> (Vec<(usize, Check)>, Table) {
    let mut rest = table.clone();
    let reads = |check: &Check| check.columns.contains(&id);
    rest.checks.retain(|check| !reads(check));
    let checks = table.checks.iter().cloned().enumerate();
    (checks.filter(|(_, check)| reads(check)).collect(), rest)
}

/// Types again what reads a column that has another type now: these CHECK constraints, conditions and expressions of indexes.
fn typed_again(mut table: Table, id: ColumnId, checks: Vec<(usize, Check)>) -> Result<Table, SqlError> {
    let expression = |sql: &str| {
        let expr = parse_expression(sql)?;
        Ok::<_, SqlError>(Expression { expr, position: 0 })
    };
    for (at, check) in checks {
        let (typed, sql) = typed_check(&table, &expression(&check.sql)?)?;
        let columns = typed.columns;
        table.checks.insert(
            at,
            Check {
                sql,
                columns,
                ..check
            },
        );
    }
    let typed = table.clone();
    for index in &mut table.indexes {
        if let Some(condition) = index
            .predicate
            .as_mut()
            .filter(|condition| condition.columns.contains(&id))
        {
            *condition = index_predicate(&typed, &expression(&condition.sql)?)?;
        }
        for element in &mut index.elements {
            if let KeyExpr::Expression { sql, columns, .. } = &element.expr
                && columns.contains(&id)
            {
                element.expr = key_expression(&typed, &expression(sql)?.expr)?;
            }
        }
    }
    table.check_keys()?;
    Ok(table)
}

/// Whether PostgreSQL assigns values of a type to columns of another without a cast.
fn is_assignable(from: DataType, to: DataType) -> bool {
    context(Kind::of(from), Kind::of(to)).is_some_and(|context| context != Context::Explicit)
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
        (DataType::Numeric { .. }, to) if to == DataType::NUMERIC => true,
        (DataType::Time { precision }, DataType::Time { precision: finer })
        | (DataType::Timestamp { precision }, DataType::Timestamp { precision: finer })
        | (DataType::TimestampTz { precision }, DataType::TimestampTz { precision: finer }) => {
            precision <= finer
        }
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
    from.has_key_bytes_of(&to) || !matches!(from, DataType::Real | DataType::Char(_))
}

/// Whether the primary key or an index holds a column.
fn is_in_key(table: &Table, column: &Column) -> bool {
    let mut key = table
        .primary_key
        .iter()
        .flat_map(|element| element.expr.columns());
    let held =
        |index: &Index| index.columns_read(table).contains(&column.id) || index.include.contains(&column.id);
    key.any(|id| id == column.id) || table.indexes.iter().any(held)
}

/// Whether an index is made of an expression with a column.
fn is_computed_with(table: &Table, column: &Column) -> bool {
    let mut elements = table.indexes.iter().flat_map(|index| &index.elements);
    elements.any(|element| match &element.expr {
        KeyExpr::Expression { columns, .. } => columns.contains(&column.id),
        KeyExpr::Column(_) | KeyExpr::Hash { .. } => false,
    })
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
