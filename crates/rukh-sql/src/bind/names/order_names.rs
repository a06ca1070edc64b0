//! ORDER BY of a column of FROM beside an output column of the same name.
//!
//! | written                                         | orders by                                  |
//! |-------------------------------------------------|--------------------------------------------|
//! | `SELECT upper(a) AS a FROM t ORDER BY a`        | the output column                          |
//! | `SELECT upper(a) AS a FROM t ORDER BY t.a`      | the column of the table                    |
//! | `SELECT -a AS a FROM t ORDER BY a + 0`          | the column of the table: only a name that stands alone is one of the output |
//!
//! DataFusion takes the second for ambiguous and the third for the output column. So the output column gets a
//! name that no statement contains and that is shown as its own (`output_names`). Where it is the column of a subquery
//! in FROM or WITH, the alias of the subquery lists the names that the statement outside knows.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef,
    TableFactor, Visitor,
};

use rukh_syntax::{HIDDEN, shown_name};
use rukh_syntax::{Walk, folded};

/// Ends the name of an output column that ORDER BY does not mean.
const PASSED_BY: &str = "by";

/// Has output columns that ORDER BY passes by step aside.
pub(crate) fn step_aside(query: &mut Query) {
    let (SetExpr::Select(select), Some(order)) = (query.body.as_mut(), &mut query.order_by) else {
        return;
    };
    let OrderByKind::Expressions(keys) = &mut order.kind else {
        return;
    };
    let mut named = Named::default();
    for key in keys.iter() {
        if !matches!(key.expr, Expr::Identifier(_)) {
            let _ = key.expr.walk(&mut named);
        }
    }
    if named.qualified.is_empty() && named.bare.is_empty() {
        return;
    }
    for (at, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::ExprWithAlias { expr, alias } = item else {
            continue;
        };
        let name = folded(alias);
        let is_meant = is_column(expr, &name);
        let passes = named.qualified.contains(&name) || (named.bare.contains(&name) && reads(expr, &name));
        if is_meant || !passes {
            continue;
        }
        *alias = Ident::with_quote('"', format!("{name}{HIDDEN}{PASSED_BY}{at}"));
        for key in keys.iter_mut() {
            if matches!(&key.expr, Expr::Identifier(known) if folded(known) == name) {
                key.expr = Expr::Identifier(alias.clone());
            }
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

/// Whether an expression reads a column of a name.
fn reads(expr: &Expr, name: &str) -> bool {
    let mut named = Named::default();
    let _ = expr.walk(&mut named);
    named.bare.contains(name) || named.qualified.contains(name)
}

/// The columns that expressions name.
#[derive(Default)]
struct Named {
    bare: HashSet<String>,
    qualified: HashSet<String>,
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => {
                self.bare.insert(folded(name));
            }
            Expr::CompoundIdentifier(parts) => {
                self.qualified.extend(parts.last().map(folded));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
