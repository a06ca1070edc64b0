//! An aggregate all of whose columns are those of an outer query belongs to that query: `SELECT (SELECT sum(t.k)) FROM t` is one row.
//!
//! | written                       | becomes                                        |
//! |-------------------------------|------------------------------------------------|
//! | `(SELECT sum(t.k) + 1)`        | `(sum(t.k) + 1)`                               |
//! | `EXISTS (SELECT max(t.k))`     | `(max(t.k) IS NULL OR max(t.k) IS NOT NULL)`    |
//!
//! Where the subquery has more than a select list, the aggregate would have to be computed outside and read inside. Such
//! queries are refused: DataFusion would aggregate the rows of the subquery.

use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{Expr as PlannedExpr, LogicalPlan};
use rukh_error::SqlError;
use rukh_syntax::Walk;
use rukh_syntax::make::{nested, not, or};
use rukh_syntax::sqlparser::ast::{Expr, Function, GroupByExpr, Query, SelectItem, SetExpr, Visitor};

use crate::expressions::is_aggregate;
use crate::output_names::column_name;

/// Returns what a subquery without FROM stands for, if it aggregates columns of the query around it.
pub(crate) fn lifted(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Subquery(query) => aggregated(query).map(|value| nested(value.clone())),
        Expr::Exists { subquery, negated } => aggregated(subquery).map(|value| {
            let is_null = Expr::IsNull(Box::new(nested(value.clone())));
            let always = nested(or(is_null, Expr::IsNotNull(Box::new(nested(value.clone())))));
            match negated {
                false => always,
                true => not(always),
            }
        }),
        _ => None,
    }
}

/// Returns the only expression of a query, if it is all that the query has, and calls an aggregate of columns.
fn aggregated(query: &Query) -> Option<&Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    // Output columns have their names by now; the value takes its own along.
    let value = match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(value)] => value,
        [SelectItem::ExprWithAlias { expr, alias }] if column_name(expr) == alias.value => expr,
        _ => return None,
    };
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && select.from.is_empty()
        && select.selection.is_none()
        && select.having.is_none()
        && select.distinct.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(keys, modifiers) if keys.is_empty() && modifiers.is_empty());
    // A window function is of the rows of the subquery, of which there is one.
    (is_plain && calls(value, of_columns) && !calls(value, |call| call.over.is_some())).then_some(value)
}

/// Whether an expression has such a call outside of subqueries.
fn calls(expr: &Expr, test: fn(&Function) -> bool) -> bool {
    struct Calls {
        test: fn(&Function) -> bool,
        depth: usize,
    }

    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(call) if self.depth == 0 && (self.test)(call) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    expr.walk(&mut Calls { test, depth: 0 }).is_break()
}

fn of_columns(call: &Function) -> bool {
    struct Columns;

    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    let is_call = call.over.is_none() && is_aggregate(&call.name.to_string());
    is_call && call.args.walk(&mut Columns).is_break()
}

/// Fails with 0A000 if a subquery aggregates columns of a query around it, and nothing of its own.
pub(crate) fn refused(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node
            && aggregate.aggr_expr.iter().any(is_of_outer)
        {
            let message =
                "aggregates of columns of an outer query are not supported in a subquery with FROM or WHERE";
            return Err(DataFusionError::External(Box::new(SqlError::unsupported(
                message,
            ))));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(plan)
}

fn is_of_outer(call: &PlannedExpr) -> bool {
    let (mut outer, mut own) = (false, false);
    let seen = call.apply(|part| -> DataFusionResult<TreeNodeRecursion> {
        match part {
            PlannedExpr::OuterReferenceColumn(..) => outer = true,
            PlannedExpr::Column(_) => own = true,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    seen.is_ok() && outer && !own
}
