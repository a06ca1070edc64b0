//! SET: which columns a statement assigns what to.

use std::borrow::Cow;

use datafusion::arrow::array::RecordBatch;
use rukh_catalog::{Column, ColumnId};
use rukh_functions::scalars::{assigned_datums, check_assigned};
use rukh_keys::{DataType, Datum};
use rukh_syntax::make::{derived, select_from};
use rukh_syntax::sqlparser::ast::{
    self, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, SelectItem,
    SetExpr, Value,
};
use rukh_syntax::{ObjectName, folded, subscripts};

use super::elements;
use super::target::Target;
use super::values::{computed_kind, is_default};
use crate::bind::names::query_width::width_of;
use crate::bind::spelling::moment_words::moment_cast;
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;

/// Returns the columns of SET with their expressions; DEFAULT becomes the column's default. The statement has the table under the
/// name `relation`.
pub(super) fn assignments(
    target: &Target,
    relation: &str,
    given: &[ast::Assignment],
) -> Result<Vec<(ColumnId, Expr)>, SqlError> {
    let mut found: Vec<(ColumnId, Expr)> = Vec::with_capacity(given.len());
    // Columns of which elements are assigned to; more of them may be.
    let mut in_elements = Vec::new();
    for (name, value) in given.iter().map(pairs).collect::<Result<Vec<_>, _>>()?.concat() {
        let subscripts = subscripts(name);
        let (name, value) = (ObjectName::from_ast(name)?, value.as_ref());
        // The name before that of a field is the column's.
        let field = name.schema.as_ref().map(|_| name.clone());
        let name = match &name.schema {
            Some(column) => ObjectName {
                schema: None,
                name: column.clone(),
                position: name.position,
            },
            None => name,
        };
        let column = target.column(&name, "update")?;
        let before = found.iter().position(|(id, _)| *id == column.id);
        if (field.is_some() || !subscripts.is_empty()) && computed_kind(column).is_none() {
            let stored = || Expr::CompoundIdentifier(vec![quoted(relation), quoted(&column.name)]);
            let value_before = before.map_or_else(stored, |at| found[at].1.clone());
            let changed = match (&field, column.ty) {
                (Some(field), DataType::Record(of)) if subscripts.is_empty() => {
                    elements::with_field(&value_before, of, field, value)?
                }
                (Some(field), ty) => return Err(no_field(field, ty)),
                (None, ty) => elements::changed(value_before, ty, &subscripts, value)
                    .map_err(|error| error.at(name.position))?,
            };
            match before {
                Some(at) if in_elements.contains(&column.id) => found[at].1 = changed,
                Some(_) => return Err(assigned_twice(&name)),
                None => {
                    in_elements.push(column.id);
                    found.push((column.id, changed));
                }
            }
            continue;
        }
        if before.is_some() {
            return Err(assigned_twice(&name));
        }
        match computed_kind(column) {
            None => found.push((column.id, defaulted(column, value)?)),
            // It is computed anyway.
            Some(_) if is_default(value) && column.values.generated.is_some() => {}
            Some(_) if is_default(value) => found.push((column.id, defaulted(column, value)?)),
            Some(kind) => {
                let message = format!("column \"{}\" can only be updated to DEFAULT", name.name);
                return Err(SqlError::statement("428C9", message)
                    .at(name.position)
                    .with_detail(format!("Column \"{}\" is {kind}.", name.name)));
            }
        }
    }
    Ok(found)
}

fn no_field(field: &ObjectName, ty: DataType) -> SqlError {
    let column = field.schema.as_deref().unwrap_or_default();
    let ty = ty.postgres_name();
    let message = format!(
        "cannot assign to field \"{}\" of column \"{column}\" because its type {ty} is not a composite type",
        field.name
    );
    SqlError::statement("42804", message).at(field.position)
}

fn assigned_twice(name: &ObjectName) -> SqlError {
    let message = format!("multiple assignments to same column \"{}\"", name.name);
    SqlError::statement("42601", message).at(name.position)
}

fn quoted(text: &str) -> Ident {
    Ident::with_quote('"', text)
}

/// Whether an expression is a literal or a parameter, whose text is read as a value of the column.
pub(super) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_literal(inner),
        Expr::Value(_) => true,
        _ => false,
    }
}

/// Returns for each column of a query whether it is a literal.
pub(super) fn literals_of(query: &ast::Query, width: usize) -> Vec<bool> {
    let mut literals = vec![false; width];
    let SetExpr::Select(select) = query.body.as_ref() else {
        return literals;
    };
    let is_item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(is_literal(expr)),
        _ => None,
    };
    // Behind a star, columns are counted from the end.
    let items = select.projection.iter().map(is_item);
    let is_whole = items.clone().all(|item| item.is_some());
    for (literal, item) in literals.iter_mut().zip(items.clone().map_while(|item| item)) {
        *literal = item;
    }
    if !is_whole {
        for (literal, item) in literals.iter_mut().rev().zip(items.rev().map_while(|item| item)) {
            *literal = item;
        }
    }
    literals
}

/// Returns the values of the `nth` column of a batch as they are stored in a column.
pub(super) fn assigned(
    batch: &RecordBatch,
    nth: usize,
    column: &Column,
    is_literal: bool,
) -> Result<Vec<Datum>, SqlError> {
    if !is_literal {
        check_assigned(batch.schema_ref().field(nth), &column.ty, &column.name)?;
    }
    assigned_datums(batch.column(nth), &column.ty, &column.name)
}

/// Takes `(a, b) = (1, 2)` and `(a, b) = (SELECT …)` apart.
fn pairs(assignment: &ast::Assignment) -> Result<Vec<(&ast::ObjectName, Cow<'_, Expr>)>, SqlError> {
    let names = match &assignment.target {
        AssignmentTarget::ColumnName(name) => return Ok(vec![(name, Cow::Borrowed(&assignment.value))]),
        AssignmentTarget::Tuple(names) => names,
    };
    let values: Vec<Cow<'_, Expr>> = match &assignment.value {
        Expr::Tuple(values) => values.iter().map(Cow::Borrowed).collect(),
        Expr::Nested(value) => vec![Cow::Borrowed(&**value)],
        Expr::Function(call) if is_row(call) => row_values(call)?,
        Expr::Subquery(query) if names.len() > 1 => columns_of(query, names.len())?,
        value @ Expr::Subquery(_) => vec![Cow::Borrowed(value)],
        _ => {
            let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
            return Err(SqlError::unsupported(message));
        }
    };
    match values.len() == names.len() {
        true => Ok(names.iter().zip(values).collect()),
        false => Err(SqlError::syntax(
            "number of columns does not match number of values",
        )),
    }
}

fn is_row(call: &ast::Function) -> bool {
    matches!(call.name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| folded(name) == "row"))
}

/// Returns the values of `ROW(…)`.
fn row_values(call: &ast::Function) -> Result<Vec<Cow<'_, Expr>>, SqlError> {
    let FunctionArguments::List(list) = &call.args else {
        return Err(SqlError::syntax("ROW takes values"));
    };
    let values = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(Cow::Borrowed(value)),
        other => Err(SqlError::syntax(format!("{other} is no value of a row"))),
    });
    values.collect()
}

/// Makes a subquery of each column of one.
fn columns_of<'a>(query: &ast::Query, count: usize) -> Result<Vec<Cow<'a, Expr>>, SqlError> {
    if let Some(width) = width_of(query)
        && width != count
    {
        return Err(SqlError::syntax(
            "number of columns does not match number of values",
        ));
    }
    Ok((0..count)
        .map(|nth| Cow::Owned(column_of_query(query, nth, count)))
        .collect())
}

/// Makes `(SELECT c FROM (query) AS r (…, c, …))`; of a plain query its item is taken.
fn column_of_query(query: &ast::Query, nth: usize, count: usize) -> Expr {
    let mut query = query.clone();
    let is_plain = query.order_by.is_none() && width_of(&query).is_some();
    match query.body.as_mut() {
        SetExpr::Select(select)
            if is_plain
                && select.distinct.is_none()
                && matches!(&select.group_by, ast::GroupByExpr::Expressions(by, _) if by.is_empty()) =>
        {
            select.projection = vec![select.projection[nth].clone()];
        }
        _ => {
            let column = |nth: usize| Ident::with_quote('"', format!("column{HIDDEN}{nth}"));
            let item = SelectItem::UnnamedExpr(Expr::Identifier(column(nth)));
            let names = (0..count).map(column).collect();
            query = select_from(vec![item], vec![derived(query, "row", names)], None);
        }
    }
    Expr::Subquery(Box::new(query))
}

fn defaulted(column: &Column, value: &Expr) -> Result<Expr, SqlError> {
    match (is_default(value), column.default_sql()) {
        (false, _) => Ok(moment_cast(value, &column.ty).unwrap_or_else(|| value.clone())),
        (true, None) => Ok(Expr::Value(Value::Null.into())),
        (true, Some(sql)) => crate::bind::spelling::parsing::parse_expression(sql),
    }
}
