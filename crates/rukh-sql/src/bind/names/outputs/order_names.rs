//! What the keys of ORDER BY and DISTINCT ON name: output columns and columns of FROM.
//!
//! | written                                         | orders by                                  |
//! |-------------------------------------------------|--------------------------------------------|
//! | `SELECT upper(a) AS a FROM t ORDER BY a`        | the output column                          |
//! | `SELECT upper(a) AS a FROM t ORDER BY t.a`      | the column of the table                    |
//! | `SELECT b AS a FROM t ORDER BY -a`              | the column of the table: only a name that stands alone is one of the output |
//! | `SELECT b AS a, c AS a FROM t ORDER BY a`       | error 42702                                |
//! | `SELECT DISTINCT a + 1 FROM t ORDER BY a + 1`   | the output column                          |
//! | `DISTINCT ON (a, b) … ORDER BY b, a`            | the same groups as `DISTINCT ON (b, a)`    |
//! | `DISTINCT ON (a, b) … ORDER BY a`               | `a, b`                                     |
//!
//! DataFusion takes the second for ambiguous and the third for the output column. So the output column gets a
//! name that no statement contains and that is shown as its own (`output_names`). Where it is the column of a subquery
//! in FROM or WITH, the alias of the subquery lists the names that the statement outside knows.
//!
//! To DataFusion keys of DISTINCT ON are in an order, each once, and all of them in ORDER BY.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast::{
    Distinct, Expr, Ident, OrderByExpr, OrderByKind, OrderByOptions, Query, Select, SelectItem, SetExpr,
    TableAlias, TableAliasColumnDef, TableFactor, Visitor,
};
use rukh_syntax::{HIDDEN, Walk, folded, shown_name};

use crate::bind::names::outputs::positions::{self, is_one_column};

/// Ends the name of an output column that ORDER BY does not mean.
const PASSED_BY: &str = "by";

/// Puts output columns in the place of their names and positions in DISTINCT ON, each once and in parentheses: they are not names any more.
///
/// # Errors
/// 42702 where a key names several output columns; those of [`positions`].
pub(crate) fn settle_distinct_on(select: &mut Select) -> ControlFlow<SqlError> {
    let Some(Distinct::On(on)) = &mut select.distinct else {
        return ControlFlow::Continue(());
    };
    let items = select.projection.as_slice();
    let mut settled: Vec<Expr> = Vec::with_capacity(on.len());
    for mut key in on.drain(..) {
        while let Expr::Nested(inner) = key {
            key = *inner;
        }
        if let Expr::Identifier(_) = &key
            && let Some(value) = place(&key, items, "DISTINCT ON")?.and_then(|place| value_of(&items[place]))
        {
            key = value.clone();
        } else {
            positions::put_column(&mut key, "DISTINCT ON", items)?;
        }
        if !settled.iter().any(|known| are_same(known, &key)) {
            settled.push(Expr::Nested(Box::new(key)));
        }
    }
    *on = settled;
    ControlFlow::Continue(())
}

/// Settles what the keys of ORDER BY are.
///
/// # Errors
/// 42702 where a key names several output columns.
pub(crate) fn settle(query: &mut Query) -> ControlFlow<SqlError> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return ControlFlow::Continue(());
    };
    let mut none = Vec::new();
    let keys = match &mut query.order_by {
        Some(order) => match &mut order.kind {
            OrderByKind::Expressions(keys) => keys,
            OrderByKind::All(_) => return ControlFlow::Continue(()),
        },
        None => &mut none,
    };
    let mut places = Vec::with_capacity(keys.len());
    for key in keys.iter() {
        places.push(place(&key.expr, &select.projection, "ORDER BY")?);
    }
    if order_distinct_on(select, keys, &mut places) {
        step_aside(select, keys);
        return ControlFlow::Continue(());
    }
    step_aside(select, keys);
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
    for (key, place) in keys.iter_mut().zip(places) {
        if matches!(key.expr, Expr::Value(_)) {
            continue;
        }
        // DataFusion compares what SELECT DISTINCT orders by by names.
        let of_key = |item: &SelectItem| match item {
            SelectItem::ExprWithAlias { expr, .. } => *expr == key.expr,
            _ => false,
        };
        let place = match place {
            None if is_distinct => select.projection.iter().position(of_key),
            place => place,
        };
        if let Some(SelectItem::ExprWithAlias { alias, .. }) = place.map(|place| &select.projection[place]) {
            key.expr = Expr::Identifier(alias.clone());
        }
    }
    ControlFlow::Continue(())
}

/// Returns the place of the output column that a key names, or is the position of.
fn place(key: &Expr, items: &[SelectItem], clause: &str) -> ControlFlow<SqlError, Option<usize>> {
    let name = match key {
        Expr::Identifier(name) => folded(name),
        Expr::Value(value) => {
            let columns = items.iter().take_while(|item| is_one_column(item)).count();
            let position = value.value.to_string().parse::<usize>().ok();
            let place = position.and_then(|position| position.checked_sub(1));
            return ControlFlow::Continue(place.filter(|place| *place < columns));
        }
        _ => return ControlFlow::Continue(None),
    };
    let is_named = |item: &&SelectItem| output_name(item).is_some_and(|known| shown_name(&known) == name);
    let mut named = items.iter().enumerate().filter(|(_, item)| is_named(item));
    let Some((place, first)) = named.next() else {
        return ControlFlow::Continue(None);
    };
    // Columns may be the same by other names.
    let are_columns = |item: &SelectItem| value_of(item).is_some_and(|value| is_column(value, &name));
    let is_other =
        |item: &SelectItem| value_of(item) != value_of(first) && !(are_columns(item) && are_columns(first));
    if named.any(|(_, item)| is_other(item)) {
        let error = SqlError::statement("42702", format!("{clause} \"{name}\" is ambiguous"));
        return ControlFlow::Break(error);
    }
    ControlFlow::Continue(Some(place))
}

fn value_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Has ORDER BY beside DISTINCT ON be of the columns of FROM, with the keys of both in one order; returns whether there is a DISTINCT ON.
fn order_distinct_on(
    select: &mut Select,
    keys: &mut Vec<OrderByExpr>,
    places: &mut Vec<Option<usize>>,
) -> bool {
    let Some(Distinct::On(on)) = &mut select.distinct else {
        return false;
    };
    if keys.is_empty() {
        return true;
    }
    for (key, place) in keys.iter_mut().zip(places.iter()) {
        if let Some(value) = place.and_then(|place| value_of(&select.projection[place])) {
            key.expr = Expr::Nested(Box::new(value.clone()));
        }
    }
    let mut left = std::mem::take(on);
    for key in keys.iter() {
        let is_key = |other: &Expr| are_same(other, &key.expr);
        match left.iter().position(is_key) {
            Some(at) => on.push(left.remove(at)),
            None if on.iter().any(is_key) => {}
            None => break,
        }
    }
    // What ORDER BY does not get to comes last, in any order.
    let is_all = |key: &OrderByExpr| on.iter().any(|other| are_same(other, &key.expr));
    if keys.iter().all(is_all) {
        places.resize(places.len() + left.len(), None);
        keys.extend(left.iter().map(|key| OrderByExpr {
            expr: key.clone(),
            options: OrderByOptions::default(),
            with_fill: None,
        }));
    }
    on.append(&mut left);
    let mut seen: Vec<Expr> = Vec::with_capacity(keys.len());
    keys.retain(|key| {
        let is_new = !seen.iter().any(|known| are_same(known, &key.expr));
        seen.push(key.expr.clone());
        is_new
    });
    true
}

/// Whether two expressions are known to be the same; a column may have its table before it.
fn are_same(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::Nested(one), other) | (other, Expr::Nested(one)) => are_same(one, other),
        (Expr::Identifier(column), qualified @ Expr::CompoundIdentifier(_))
        | (qualified @ Expr::CompoundIdentifier(_), Expr::Identifier(column)) => {
            is_column(qualified, &folded(column))
        }
        _ => one == other,
    }
}

/// Has output columns that keys pass by step aside: a name within an expression is that of a column of FROM.
fn step_aside(select: &mut Select, keys: &[OrderByExpr]) {
    let mut named = Named::default();
    for key in keys {
        if !matches!(key.expr, Expr::Identifier(_)) {
            let _ = key.expr.walk(&mut named);
        }
    }
    for (at, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::ExprWithAlias { expr, alias } = item else {
            continue;
        };
        let name = folded(alias);
        if named.0.contains(&name) && !is_column(expr, &name) {
            *alias = Ident::with_quote('"', format!("{name}{HIDDEN}{PASSED_BY}{at}"));
        }
    }
}

/// Gives a subquery of FROM the names of its columns, if some of them stepped aside.
pub(crate) fn name_derived(relation: &mut TableFactor) {
    if let TableFactor::Derived {
        subquery,
        alias: Some(alias),
        ..
    } = relation
    {
        name_columns(subquery, alias);
    }
}

/// Gives the queries of WITH the names of their columns, where some of them stepped aside.
pub(crate) fn name_with(query: &mut Query) {
    for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        name_columns(&cte.query, &mut cte.alias);
    }
}

fn name_columns(query: &Query, alias: &mut TableAlias) {
    if !alias.columns.is_empty() {
        return;
    }
    let Some(select) = first_select(&query.body) else {
        return;
    };
    let names: Option<Vec<String>> = select.projection.iter().map(output_name).collect();
    let Some(names) = names else { return };
    if names.iter().all(|name| name_outside(name) == name) {
        return;
    }
    let column = |name: &String| TableAliasColumnDef {
        name: Ident::with_quote('"', name_outside(name)),
        data_type: None,
    };
    alias.columns = names.iter().map(column).collect();
}

/// Returns the name by which a statement around a query knows one of its output columns.
fn name_outside(name: &str) -> &str {
    match name.contains(&format!("{HIDDEN}{PASSED_BY}")) {
        true => shown_name(name),
        false => name,
    }
}

/// The SELECT that names the columns of a query.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(folded(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(folded),
        _ => None,
    }
}

/// Whether an expression is the column of a name.
fn is_column(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Identifier(column) => folded(column) == name,
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|last| folded(last) == name),
        Expr::Nested(inner) => is_column(inner, name),
        _ => false,
    }
}

/// The columns that expressions name.
#[derive(Default)]
struct Named(HashSet<String>);

impl Visitor for Named {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => {
                self.0.insert(folded(name));
            }
            Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().map(folded)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
