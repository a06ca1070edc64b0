//! Rows as values, by the columns of their relations: what `whole_rows` finds is written as columns, `(r).*` as fields.

use std::ops::ControlFlow;

use datafusion::arrow::datatypes::Field;
use rukh_error::SqlError;
use rukh_functions::functions::json::make::ROW;
use rukh_syntax::make::{binary, call, case};
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, SelectItem, Value,
    Visitor, VisitorMut,
};
use rukh_syntax::{Walk, folded, record_star};

use super::{Column, Relation, Spelled, fields_of, shown, table_of, truth};
use crate::bind::names::outputs::output_names::name_of;
use crate::bind::names::whole_rows::{RowUse, is_mark, row_use};
use crate::bind::spelling::rows::{self, RECORD};
use crate::bind::spelling::spelled;

/// Whether an item is `(row).*`.
pub(super) fn is_record_star(item: &SelectItem) -> bool {
    record_of_star(item).is_some()
}

/// Returns the row of `(row).*` without its parentheses; the parser reads the star as a field of a name of its own.
pub(super) fn record_of_star(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            let (mut record, name) = rows::field(expr)?;
            while let Expr::Nested(within) = record {
                record = within;
            }
            (name == record_star()).then_some(record)
        }
        _ => None,
    }
}

/// Spells out rows in a select list over relations of these names and columns.
pub(crate) fn spell_out_list(
    items: &mut Vec<SelectItem>,
    relations: &[(&str, Vec<Field>)],
) -> Result<(), SqlError> {
    let quoted = |text: &str| Ident::with_quote('"', text);
    let relation = |(table, fields): &(&str, Vec<Field>)| {
        let column = |field: &Field| Column {
            name: field.name().clone(),
            fields: fields_of(field),
            own_name: field.name().clone(),
            expr: Expr::CompoundIdentifier(vec![quoted(table), quoted(field.name())]),
            merged: false,
            relation: None,
        };
        (
            Some(quoted(table).to_string()),
            fields.iter().map(column).collect(),
        )
    };
    let relations: Vec<Relation> = relations.iter().map(relation).collect();
    let spelled = Spelled {
        columns: relations
            .iter()
            .flat_map(|(_, columns)| columns.clone())
            .collect(),
        relations,
        merged: Vec::new(),
    };
    name_rows(items, &spelled);
    spell_out_record_stars(items, &spelled)?;
    spelled.spell_out_rows(items);
    Ok(())
}

/// Gives items with rows in them the names that they have before the rows are spelled out.
pub(super) fn name_rows(items: &mut [SelectItem], spelled: &Spelled) {
    struct Rows<'s>(&'s Spelled);

    impl Visitor for Rows<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match row_use(expr) {
                Some((name, RowUse::Value))
                    if !self.0.columns.iter().any(|column| column.name == folded(name)) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    for item in items {
        if let SelectItem::UnnamedExpr(expr) = item
            && expr.walk(&mut Rows(spelled)).is_break()
            && let Some(name) = name_of(expr)
        {
            *item = SelectItem::ExprWithAlias {
                alias: Ident::with_quote('"', name),
                expr: expr.clone(),
            };
        }
    }
}

/// Spells `(row).*` as the fields of the row: a relation, a column, or `ROW(…)`.
pub(super) fn spell_out_record_stars(items: &mut Vec<SelectItem>, spelled: &Spelled) -> Result<(), SqlError> {
    for item in std::mem::take(items) {
        let Some(record) = record_of_star(&item) else {
            items.push(item);
            continue;
        };
        let names = match record {
            Expr::Identifier(name) => Some((None, folded(name))),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., table, name] => Some((Some(folded(table)), folded(name))),
                _ => None,
            },
            _ => None,
        };
        let column = names.as_ref().and_then(|(table, name)| {
            let of_table = |relation: &&Relation| table.is_none() || table_of(relation) == *table;
            let mut columns = spelled
                .relations
                .iter()
                .filter(of_table)
                .flat_map(|(_, columns)| columns);
            columns.find(|column| column.name == *name)
        });
        let relation = names.filter(|(table, _)| table.is_none()).and_then(|(_, name)| {
            let mut relations = spelled.relations.iter();
            relations.find(|relation| table_of(relation).as_ref() == Some(&name))
        });
        if let Some(values) = rows::values(record) {
            let fields = values
                .into_iter()
                .enumerate()
                .map(|(at, expr)| SelectItem::ExprWithAlias {
                    expr,
                    alias: Ident::with_quote('"', format!("f{}", at + 1)),
                });
            items.extend(fields);
        } else if let Some(column) = column {
            if column.fields.is_empty() {
                let message = format!("column notation .* applied to {}, which is no row", column.name);
                return Err(SqlError::statement("42809", message));
            }
            let field = |name: &String| SelectItem::ExprWithAlias {
                expr: rows::field_access(column.expr.clone(), name),
                alias: Ident::with_quote('"', name),
            };
            items.extend(column.fields.iter().map(field));
        } else if let Some((_, columns)) = relation {
            let visible = columns.iter().filter(|column| !is_mark(&column.name));
            items.extend(visible.map(shown));
        } else {
            return Err(SqlError::unsupported(
                "(row).* is supported of relations, columns and ROW(…)",
            ));
        }
    }
    Ok(())
}

/// Spells out rows that are read whole. Of relations around a query only those that are made JSON.
pub(super) struct RowsOut<'a> {
    pub(super) relations: &'a [Relation],
    pub(super) columns: &'a [Column],
    pub(super) depth: usize,
}

impl VisitorMut for RowsOut<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Some((name, used_as)) = row_use(expr).map(|(name, used_as)| (folded(name), used_as)) else {
            return ControlFlow::Continue(());
        };
        let is_of_another = self.depth > 0 && !matches!(used_as, RowUse::Json | RowUse::Fields);
        // A column comes before a relation.
        if is_of_another || self.columns.iter().any(|column| column.name == name) {
            return ControlFlow::Continue(());
        }
        let relation = self
            .relations
            .iter()
            .find(|relation| table_of(relation).as_ref() == Some(&name));
        if let Some((_, columns)) = relation {
            let (marks, columns): (Vec<&Column>, Vec<&Column>) =
                columns.iter().partition(|column| is_mark(&column.name));
            let mark = marks.first().map(|mark| mark.expr.clone());
            *expr = used_row(expr, used_as, mark, &columns);
        }
        ControlFlow::Continue(())
    }
}

/// Spells out a test on a row; `mark` is true in rows that no outer join made up.
fn used_row(expr: &Expr, used_as: RowUse, mark: Option<Expr>, columns: &[&Column]) -> Expr {
    let exprs = || columns.iter().map(|column| column.expr.clone());
    let all = |tests: Vec<Expr>| {
        let both = |left: Expr, right: Expr| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        };
        Expr::Nested(Box::new(tests.into_iter().reduce(both).unwrap_or_else(truth)))
    };
    match used_as {
        RowUse::IsNull => all(columns.iter().map(|column| null_test(column, true)).collect()),
        RowUse::IsNotNull => all(columns.iter().map(|column| null_test(column, false)).collect()),
        RowUse::Field => field(expr, columns).unwrap_or_else(|| expr.clone()),
        RowUse::Fields => with_columns(expr, columns),
        RowUse::Value => {
            let pair = |column: &&Column| [string(&column.own_name), column.expr.clone()];
            if_there(mark, call(RECORD, columns.iter().flat_map(pair).collect()))
        }
        RowUse::Count => with_argument(expr, mark.unwrap_or_else(truth)),
        RowUse::CountDistinct => with_argument(expr, if_there(mark, call("struct", exprs().collect()))),
        RowUse::Json => {
            let pair = |column: &&Column| [string(&column.own_name), column.expr.clone()];
            let row = call(ROW, columns.iter().flat_map(pair).collect());
            match spelled::is_aggregate(expr) {
                true => with_argument(expr, if_there(mark, row)),
                false => if_there(mark, with_argument(expr, row)),
            }
        }
    }
}

/// Returns whether a column of a row is NULL, or is not: one that is a row itself is not for NULLs in it.
fn null_test(column: &Column, is_null: bool) -> Expr {
    let value = column.expr.clone();
    match (column.fields.is_empty(), is_null) {
        (true, true) => Expr::IsNull(Box::new(value)),
        (true, false) => Expr::IsNotNull(Box::new(value)),
        (false, is_null) => {
            let count = Expr::Value(Value::Number(u8::from(is_null).to_string(), false).into());
            binary(&call("num_nulls", vec![value]), BinaryOperator::Eq, &count)
        }
    }
}

fn string(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_string()).into())
}

/// Returns the column that `(t).a` names; `None` if the relation has no such column.
fn field(access: &Expr, columns: &[&Column]) -> Option<Expr> {
    let (_, name) = rows::field(access)?;
    let column = columns.iter().find(|column| column.own_name == name)?;
    Some(column.expr.clone())
}

/// Returns `ROW(…)` with the columns of a relation in the place of the first star.
fn with_columns(row: &Expr, columns: &[&Column]) -> Expr {
    let mut row = row.clone();
    if let Expr::Function(function) = &mut row
        && let FunctionArguments::List(list) = &mut function.args
    {
        let is_star = |argument: &FunctionArg| {
            matches!(
                argument,
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_))
            )
        };
        if let Some(at) = list.args.iter().position(is_star) {
            let exprs = columns.iter().map(|column| column.expr.clone());
            let arguments = exprs.map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)));
            list.args.splice(at..=at, arguments.collect::<Vec<_>>());
        }
    }
    row
}

/// Makes NULL of what is made of a row that an outer join made up.
fn if_there(mark: Option<Expr>, value: Expr) -> Expr {
    match mark {
        Some(mark) => case(vec![(mark, value)], None),
        None => value,
    }
}

/// Returns a call with another argument.
fn with_argument(expr: &Expr, argument: Expr) -> Expr {
    let mut expr = expr.clone();
    if let Expr::Function(function) = &mut expr
        && let FunctionArguments::List(list) = &mut function.args
    {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))];
    }
    expr
}
