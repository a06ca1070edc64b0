//! `ARRAY(SELECT …)`: the rows of a query as an array, which is empty if there are none.
//!
//! | written                               | becomes, within `array_or_empty(…)`                                    |
//! |---------------------------------------|------------------------------------------------------------------------|
//! | `ARRAY(SELECT x FROM t ORDER BY y)`   | `(SELECT array_agg(x ORDER BY y) FROM t)`                               |
//! | `ARRAY(SELECT x … ORDER BY y LIMIT 3)`| `(SELECT array_agg(x ORDER BY n) FROM (SELECT x, row_number() OVER (ORDER BY y) … ORDER BY y LIMIT 3) (x, n))` |
//! | `ARRAY(query ORDER BY x)`             | `(SELECT array_agg(x ORDER BY x) FROM (query) (x))`                     |
//! | `ARRAY(any other query)`              | its rows, numbered as they come                                         |
//!
//! The first may read the query around; the others may where DataFusion plans it.

use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    Distinct, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, Ident, OrderByExpr,
    OrderByKind, Query, Select, SelectItem, SetExpr, Value, Visitor, WindowSpec, WindowType,
};

use super::row_functions;
use rukh_syntax::HIDDEN;
use rukh_syntax::Walk;
use rukh_syntax::folded;
use rukh_syntax::make::call;
use rukh_syntax::make::{derived, select};

/// Makes a subquery that aggregates of `ARRAY(SELECT …)`.
pub(super) fn spelled(function: &Function) -> Option<Expr> {
    let FunctionArguments::Subquery(query) = &function.args else {
        return None;
    };
    let name = function.name.0.last()?.as_ident()?;
    if !name.value.eq_ignore_ascii_case("array") {
        return None;
    }
    let aggregated = aggregated(query)
        .or_else(|| of_numbered(query))
        .or_else(|| of_any(query))?;
    Some(call("array_or_empty", vec![Expr::Subquery(Box::new(aggregated))]))
}

/// The only column of a SELECT.
fn only_item(select: &Select) -> Option<&Expr> {
    match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] => Some(item),
        _ => None,
    }
}

/// Breaks off at a function that gives rows: no aggregate takes one.
struct OfRows;

impl Visitor for OfRows {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let gives_rows = |function: &Function| {
            let name = function
                .name
                .0
                .last()
                .and_then(|part| part.as_ident())
                .map(folded);
            name.is_some_and(|name| ["unnest", "generate_series"].contains(&name.as_str()))
                || row_functions::is_of_rows(function)
        };
        match expr {
            Expr::Function(function) if gives_rows(function) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns the keys that a query is ordered by; those that name its only column by its place are that column.
fn keys_of(query: &Query, item: Option<&Expr>) -> Option<Vec<OrderByExpr>> {
    let Some(order) = &query.order_by else {
        return Some(Vec::new());
    };
    let OrderByKind::Expressions(keys) = &order.kind else {
        return None;
    };
    let mut keys = keys.clone();
    for key in &mut keys {
        if let (true, Some(item)) = (is_first(&key.expr), item) {
            key.expr = item.clone();
        }
    }
    Some(keys)
}

fn is_first(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(&value.value, Value::Number(digits, _) if digits == "1"))
}

/// Makes `array_agg(item ORDER BY keys)`.
fn array_agg(item: Expr, keys: Vec<OrderByExpr>) -> Option<Expr> {
    let Expr::Function(mut function) = call("array_agg", vec![item]) else {
        return None;
    };
    if let (false, FunctionArguments::List(list)) = (keys.is_empty(), &mut function.args) {
        list.clauses.push(FunctionArgumentClause::OrderBy(keys));
    }
    Some(Expr::Function(function))
}

/// Aggregates the rows of a SELECT where they stand.
fn aggregated(query: &Query) -> Option<Query> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let parted = query.limit_clause.is_some() || query.fetch.is_some() || query.with.is_some();
    if grouped || select.distinct.is_some() || parted {
        return None;
    }
    let item = only_item(select)?;
    if item.walk(&mut OfRows).is_break() {
        return None;
    }
    let function = array_agg(item.clone(), keys_of(query, Some(item))?)?;
    let mut select = select.clone();
    select.projection = vec![SelectItem::UnnamedExpr(function)];
    Some(Query {
        body: Box::new(SetExpr::Select(select)),
        order_by: None,
        ..query.clone()
    })
}

fn name(of: &str) -> Ident {
    Ident::with_quote('"', format!("{of}{HIDDEN}"))
}

/// Makes `row_number() OVER (ORDER BY keys)`.
fn row_number(keys: Vec<OrderByExpr>) -> Option<Expr> {
    let Expr::Function(mut number) = call("row_number", Vec::new()) else {
        return None;
    };
    number.over = Some(WindowType::WindowSpec(WindowSpec {
        window_name: None,
        partition_by: Vec::new(),
        order_by: keys,
        window_frame: None,
    }));
    Some(Expr::Function(number))
}

/// Numbers the rows of a SELECT that has an order, and aggregates them by their numbers.
fn of_numbered(query: &Query) -> Option<Query> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let item = only_item(select)?;
    let keys = keys_of(query, Some(item))?;
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_)));
    if keys.is_empty() || is_distinct || item.walk(&mut OfRows).is_break() {
        return None;
    }
    let mut numbered = select.clone();
    numbered.projection.push(SelectItem::ExprWithAlias {
        expr: row_number(keys)?,
        alias: name("place"),
    });
    let inner = Query {
        body: Box::new(SetExpr::Select(numbered)),
        ..query.clone()
    };
    aggregated_from(inner, vec![name("element"), name("place")], Some(name("place")))
}

/// Aggregates the rows of any query, in the order of its column if the query has that.
fn of_any(query: &Query) -> Option<Query> {
    let keys = keys_of(query, None)?;
    let column = |key: &OrderByExpr| match (&key.expr, query.body.as_ref()) {
        (first, _) if is_first(first) => true,
        (Expr::Identifier(wanted), SetExpr::Select(select)) => match select.projection.as_slice() {
            [SelectItem::ExprWithAlias { alias, .. }] => folded(alias) == folded(wanted),
            [SelectItem::UnnamedExpr(item)] => *item == key.expr,
            _ => false,
        },
        (expr, SetExpr::Select(select)) => only_item(select) == Some(expr),
        _ => false,
    };
    if !keys.iter().all(column) {
        return None;
    }
    if keys.is_empty() {
        return of_unordered(query);
    }
    let mut inner = query.clone();
    if query.limit_clause.is_none() && query.fetch.is_none() {
        inner.order_by = None;
    }
    let mut made = aggregated_from(inner, vec![name("element")], None)?;
    if let (Some(key), SetExpr::Select(select)) = (keys.first(), made.body.as_mut()) {
        let element = Expr::Identifier(name("element"));
        let key = OrderByExpr {
            expr: element.clone(),
            ..key.clone()
        };
        select.projection = vec![SelectItem::UnnamedExpr(array_agg(element, vec![key])?)];
    }
    Some(made)
}

/// Numbers the rows of a query as they come, and aggregates them by their numbers.
fn of_unordered(query: &Query) -> Option<Query> {
    let item = |expr: Expr, alias: &str| SelectItem::ExprWithAlias {
        expr,
        alias: name(alias),
    };
    let numbered = vec![
        item(Expr::Identifier(name("element")), "element"),
        item(row_number(Vec::new())?, "place"),
    ];
    let from = derived(query.clone(), &format!("all{HIDDEN}"), vec![name("element")]);
    let numbered = select(numbered, from, None);
    aggregated_from(
        numbered,
        vec![name("element"), name("place")],
        Some(name("place")),
    )
}

/// Makes `SELECT array_agg(first column ORDER BY by) FROM (query) AS … (columns)`.
fn aggregated_from(query: Query, columns: Vec<Ident>, by: Option<Ident>) -> Option<Query> {
    let element = Expr::Identifier(columns.first()?.clone());
    let key = |by: Ident| OrderByExpr {
        expr: Expr::Identifier(by),
        options: Default::default(),
        with_fill: None,
    };
    let function = array_agg(element, by.map(key).into_iter().collect())?;
    let from = derived(query, &format!("rows{HIDDEN}"), columns);
    Some(select(vec![SelectItem::UnnamedExpr(function)], from, None))
}
