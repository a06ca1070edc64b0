//! Queries on `pg_catalog` that never have rows: of a table that has none, or for what does not exist.

use std::ops::ControlFlow;

use rukh_syntax::Walk;
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, GroupByExpr, Ident, JoinConstraint,
    JoinOperator, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Value, Visitor,
};

use super::syntax::system_name;
use super::system_tables::system_table;
use crate::bind::names::outputs::output_names::name_of;
use crate::bind::spelling::select_calls::calls_aggregate;

/// Columns of texts that are NULL in every row.
const ALWAYS_NULL: &[&str] = &[
    "reloptions",
    "relacl",
    "attacl",
    "attoptions",
    "attfdwoptions",
    "nspacl",
    "datacl",
    "proacl",
    "typacl",
    "spcacl",
    "spcoptions",
];

pub(super) fn null() -> Expr {
    Expr::Cast {
        kind: rukh_syntax::sqlparser::ast::CastKind::Cast,
        expr: Box::new(Expr::Value(Value::Null.into())),
        data_type: DataType::Varchar(None),
        array: false,
        format: None,
    }
}

pub(super) fn boolean(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

/// Whether a query, but for its aggregates, has no rows whatever there is.
pub(super) fn has_no_rows(select: &Select) -> bool {
    select.from.iter().any(is_empty)
}

/// Whether the condition of a query is one that [`without_rows`] has left.
pub(super) fn is_never(select: &Select) -> bool {
    let mut condition = select.selection.as_ref();
    while let Some(Expr::BinaryOp {
        left,
        op: BinaryOperator::And,
        ..
    }) = condition
    {
        condition = Some(left);
    }
    condition == Some(&never())
}

/// A condition that is never true, and stands in no statement of a user: `WHERE false` is a query of the user's, with types of its own.
fn never() -> Expr {
    Expr::IsTrue(Box::new(boolean(false)))
}

/// Whether a FROM item never has rows.
fn is_empty(item: &TableWithJoins) -> bool {
    let mut empty = is_empty_factor(&item.relation);
    for join in &item.joins {
        let right = is_empty_factor(&join.relation);
        empty = match join.join_operator {
            JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => empty || right,
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => right,
            JoinOperator::FullOuter(_) => empty && right,
            _ => empty,
        };
    }
    empty
}

fn is_empty_factor(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { name, args: None, .. } => match system_name(name) {
            Some((Some(schema), name)) => {
                schema == "pg_catalog" && system_table(&name).is_some_and(|table| table.is_empty)
            }
            _ => false,
        },
        TableFactor::Table {
            name,
            args: Some(arguments),
            ..
        } => {
            let is_unnest = system_name(name).is_some_and(|(_, name)| name == "unnest");
            is_unnest && matches!(arguments.args.as_slice(), [argument] if is_null_argument(argument))
        }
        TableFactor::Function { name, args, .. } => {
            let is_unnest = system_name(name).is_some_and(|(_, name)| name == "unnest");
            is_unnest && matches!(args.as_slice(), [argument] if is_null_argument(argument))
        }
        TableFactor::UNNEST { array_exprs, .. } => {
            matches!(array_exprs.as_slice(), [expr] if is_always_null(expr))
        }
        TableFactor::Derived { subquery, .. } => gives_nothing(subquery),
        TableFactor::NestedJoin { table_with_joins, .. } => is_empty(table_with_joins),
        _ => false,
    }
}

fn is_null_argument(argument: &FunctionArg) -> bool {
    matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_always_null(expr))
}

fn is_always_null(expr: &Expr) -> bool {
    match expr {
        Expr::CompoundIdentifier(parts) if parts.len() == 2 => {
            let name = parts.last().map(|name| name.value.to_lowercase());
            name.is_some_and(|name| ALWAYS_NULL.contains(&name.as_str()))
        }
        _ => false,
    }
}

/// Whether a query never has rows, or one that aggregates nothing to NULL.
pub(super) fn gives_nothing(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    if !has_no_rows(select) && !is_never(select) {
        return false;
    }
    match select.projection.as_slice() {
        _ if !aggregates(select) => true,
        [
            SelectItem::UnnamedExpr(Expr::Function(call))
            | SelectItem::ExprWithAlias {
                expr: Expr::Function(call),
                ..
            },
        ] => {
            let name = call.name.to_string();
            matches!(name.as_str(), "array_agg" | "string_agg" | "min" | "max") && is_ungrouped(select)
        }
        _ => false,
    }
}

fn is_ungrouped(select: &Select) -> bool {
    matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty())
}

/// Whether a query gives a row where there are none.
pub(super) fn aggregates(select: &Select) -> bool {
    !is_ungrouped(select) || select.having.is_some() || calls_aggregate(&select.projection)
}

/// Leaves of a query that has no rows the names of its columns and its parameters.
pub(super) fn without_rows(select: &mut Select) {
    let mut parameters = Parameters::default();
    let _ = select.selection.walk(&mut parameters);
    select
        .from
        .iter_mut()
        .for_each(|item| without_conditions(item, &mut parameters));
    for item in &mut select.projection {
        let expr = match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr,
            _ => continue,
        };
        if matches!(
            expr,
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)
        ) {
            continue;
        }
        let _ = expr.walk(&mut parameters);
        let name = name_of(expr);
        // What an array holds may be compared with anything.
        let is_element = matches!(expr, Expr::Function(call) if call.name.to_string() == "unnest");
        *expr = match is_element {
            true => Expr::Value(Value::Null.into()),
            false => null(),
        };
        if let (SelectItem::UnnamedExpr(expr), Some(name)) = (&mut *item, name) {
            let expr = std::mem::replace(expr, boolean(false));
            let alias = Ident::with_quote('"', name);
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
    let nothing = |selection, name: String| Expr::BinaryOp {
        left: Box::new(selection),
        op: BinaryOperator::And,
        right: Box::new(Expr::IsNull(Box::new(Expr::Value(
            Value::Placeholder(name).into(),
        )))),
    };
    select.selection = Some(parameters.0.into_iter().fold(never(), nothing));
}

/// Leaves of the conditions of joins that have no rows their parameters.
fn without_conditions(item: &mut TableWithJoins, parameters: &mut Parameters) {
    let joined = item.joins.iter_mut();
    for join in joined {
        let constraint = match &mut join.join_operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint) => constraint,
            _ => continue,
        };
        if let JoinConstraint::On(condition) = constraint {
            let _ = condition.walk(parameters);
            *condition = boolean(false);
        }
    }
    let factors =
        std::iter::once(&mut item.relation).chain(item.joins.iter_mut().map(|join| &mut join.relation));
    for factor in factors {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            without_conditions(table_with_joins, parameters);
        }
    }
}

#[derive(Default)]
struct Parameters(Vec<String>);

impl Visitor for Parameters {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && !self.0.contains(name)
        {
            self.0.push(name.clone());
        }
        ControlFlow::Continue(())
    }
}
