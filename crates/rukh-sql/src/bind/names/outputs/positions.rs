//! Constants in ORDER BY, GROUP BY and DISTINCT ON: an integer is the position of an output column, in parentheses, too; nothing else is
//! allowed.
//!
//! | written                                  | is                                               |
//! |------------------------------------------|--------------------------------------------------|
//! | `ORDER BY (1)`, `GROUP BY ((1))`         | `ORDER BY 1`, `GROUP BY 1`                       |
//! | `SELECT DISTINCT ON (1) a`               | `SELECT DISTINCT ON (a) a`                       |
//! | `SELECT a … GROUP BY ROLLUP (1)`         | `SELECT a … GROUP BY ROLLUP (a)`                 |
//! | `ORDER BY 'x'`, `GROUP BY 1.5`           | error 42601                                      |
//! | `ORDER BY -1`, `ORDER BY 0`              | error 42P10                                      |
//!
//! DataFusion takes `(1)`, `'x'` and `-1` for values that all rows have, and numbers in DISTINCT ON and ROLLUP as well.

use std::ops::ControlFlow;

use rukh_error::SqlError;
use rukh_syntax::place_of;
use rukh_syntax::sqlparser::ast::{
    Expr, GroupByExpr, OrderByKind, Query, Select, SelectItem, UnaryOperator, Value, ValueWithSpan,
};

/// Whether an item of a SELECT list is one column.
pub(crate) fn is_one_column(item: &SelectItem) -> bool {
    matches!(
        item,
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
    )
}

/// Reads constants of GROUP BY.
///
/// # Errors
/// 42P10 where there is no such column, 42601 on other constants, 0A000 behind a star of which it is not known how many columns it is.
pub(crate) fn of_groups(select: &mut Select) -> ControlFlow<SqlError> {
    let items = select.projection.as_slice();
    if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        for key in keys {
            if let Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) = key {
                for key in sets.iter_mut().flatten() {
                    put_column(key, "GROUP BY", items)?;
                }
            }
            read(key, "GROUP BY")?;
        }
    }
    ControlFlow::Continue(())
}

/// Puts the column of a SELECT list in the place of its position.
///
/// # Errors
/// As [`of_groups`].
pub(crate) fn put_column(key: &mut Expr, clause: &str, items: &[SelectItem]) -> ControlFlow<SqlError> {
    let Some(position) = read(key, clause)? else {
        return ControlFlow::Continue(());
    };
    let columns = items.iter().take_while(|item| is_one_column(item)).count();
    let item = position
        .checked_sub(1)
        .and_then(|place| items[..columns].get(place));
    match item {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => *key = expr.clone(),
        _ if columns < items.len() => {
            let message = format!("a position in {clause} behind * is not supported here");
            return ControlFlow::Break(SqlError::unsupported(message).with_hint("Name the column."));
        }
        _ => return ControlFlow::Break(no_column(position, clause)),
    }
    ControlFlow::Continue(())
}

/// Reads constants of ORDER BY.
///
/// # Errors
/// 42601 and 42P10, as [`of_groups`]. Whether there are so many columns is DataFusion's to say, which knows what stars are.
pub(crate) fn of_order(query: &mut Query) -> ControlFlow<SqlError> {
    if let Some(order) = &mut query.order_by
        && let OrderByKind::Expressions(keys) = &mut order.kind
    {
        for key in keys {
            read(&mut key.expr, "ORDER BY")?;
        }
    }
    ControlFlow::Continue(())
}

/// Takes the parentheses of a position away, and returns it; `None` if a key is no constant.
fn read(key: &mut Expr, clause: &str) -> ControlFlow<SqlError, Option<usize>> {
    let mut bare = &*key;
    while let Expr::Nested(inner) = bare {
        bare = inner;
    }
    let (value, is_negative) = match bare {
        Expr::Value(value) => (value, false),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } if let Expr::Value(value) = expr.as_ref()
            && matches!(value.value, Value::Number(..)) =>
        {
            (value, true)
        }
        _ => return ControlFlow::Continue(None),
    };
    let position = match &value.value {
        Value::Placeholder(_) => return ControlFlow::Continue(None),
        Value::Number(text, _) => text.parse::<i32>().ok(),
        _ => None,
    };
    let Some(position) = position else {
        let message = format!("non-integer constant in {clause}");
        return ControlFlow::Break(placed(SqlError::syntax(message), value));
    };
    match usize::try_from(position) {
        Ok(0) => ControlFlow::Break(placed(no_column(0, clause), value)),
        Ok(position) if !is_negative => {
            let bare = bare.clone();
            *key = bare;
            ControlFlow::Continue(Some(position))
        }
        _ => ControlFlow::Break(placed(no_column(format_args!("-{position}"), clause), value)),
    }
}

fn no_column(position: impl std::fmt::Display, clause: &str) -> SqlError {
    SqlError::statement(
        "42P10",
        format!("{clause} position {position} is not in select list"),
    )
}

fn placed(error: SqlError, value: &ValueWithSpan) -> SqlError {
    match place_of(value.span) {
        Some(place) => error.at(place),
        None => error,
    }
}
