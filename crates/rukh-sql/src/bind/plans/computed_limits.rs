//! `LIMIT (SELECT 1)`: a limit that a subquery or a volatile function computes; `FETCH FIRST n ROWS WITH TIES`.
//!
//! DataFusion takes constants only. Here rows are numbered in their order, and a condition on the number keeps some of them:
//!
//! ```text
//! SELECT a FROM t ORDER BY a LIMIT (SELECT 2) OFFSET 1
//! SELECT a FROM (SELECT a, row_number() OVER () AS n FROM (SELECT a FROM t ORDER BY a)) WHERE n > 1 AND n <= 1 + (SELECT 2)
//! ```
//!
//! The order reaches `row_number` by `inner_order`. With ties, rows count by their rank, so that those which the order takes
//! for equals of the last one are kept, too:
//!
//! ```text
//! SELECT a FROM t ORDER BY b OFFSET 1 FETCH FIRST 2 ROWS WITH TIES
//! SELECT a FROM (SELECT a, b, row_number() OVER (ORDER BY b) AS n, rank() OVER (ORDER BY b) AS r FROM t)
//! WHERE n > 1 AND r <= 1 + 2 ORDER BY b
//! ```

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, internal_err};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::expr_fn::coalesce;
use datafusion::functions_window::rank::rank_udwf;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::logical_plan::{Limit, Sort};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, lit, scalar_subquery,
};
use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast::{
    DataType as SqlType, Expr as Expression, Ident, LimitClause, Query, SelectItem, Value, VisitorMut,
};
use rukh_syntax::{HIDDEN, WalkMut, make, with_ties};
use rukh_walk::{PlanTree, Tree};

use crate::bind::plans::outer_columns::query_of;
use crate::bind::types::coercions::whole;

/// Makes a subquery of the count of FETCH … WITH TIES, which [`numbered`] knows by its name.
pub(crate) fn mark_ties(query: &mut Query) {
    let ControlFlow::Continue(()) = query.walk_mut(&mut Ties);
}

struct Ties;

impl VisitorMut for Ties {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        if let Some(fetch) = query.fetch.take_if(|fetch| fetch.with_ties) {
            let one = || Expression::Value(Value::Number("1".to_string(), false).into());
            let count = make::cast(fetch.quantity.unwrap_or_else(one), SqlType::BigInt(None));
            let column = SelectItem::ExprWithAlias {
                expr: count,
                alias: Ident::with_quote('"', with_ties()),
            };
            let count = Expression::Subquery(Box::new(make::select_values(vec![column])));
            match &mut query.limit_clause {
                Some(LimitClause::LimitOffset { limit, .. }) => *limit = Some(count),
                other => {
                    *other = Some(LimitClause::LimitOffset {
                        limit: Some(count),
                        offset: None,
                        limit_by: Vec::new(),
                    });
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether a count is that of FETCH … WITH TIES.
fn has_ties(count: &Expr) -> DataFusionResult<bool> {
    count.any(&mut |part| {
        let query = query_of(part).map(|query| query.subquery.schema().fields());
        Ok(query.is_some_and(|fields| fields.iter().any(|field| *field.name() == with_ties())))
    })
}

/// Returns the sort below a limit, with the columns that are shown of it.
fn sorted(input: LogicalPlan) -> DataFusionResult<(Sort, Vec<Expr>)> {
    let columns = |plan: &LogicalPlan| plan.schema().columns().into_iter().map(Expr::Column).collect();
    match input {
        LogicalPlan::Sort(sort) => {
            let shown = columns(&sort.input);
            Ok((sort, shown))
        }
        LogicalPlan::Projection(projection) => match Arc::unwrap_or_clone(projection.input) {
            LogicalPlan::Sort(sort) => Ok((sort, projection.expr)),
            _ => internal_err!("rows with ties have no order"),
        },
        _ => internal_err!("rows with ties have no order"),
    }
}

/// Makes conditions of limits that subqueries compute.
pub(crate) fn numbered(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.turn_all_up(&mut |node| match node {
        LogicalPlan::Limit(limit) => kept(limit),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

fn kept(limit: Limit) -> DataFusionResult<Transformed<LogicalPlan>> {
    let is_computed = |count: &Option<Box<Expr>>| match count {
        Some(count) => count.any(&mut |part| Ok(query_of(part).is_some() || part.is_volatile_node())),
        None => Ok(false),
    };
    if !is_computed(&limit.skip)? && !is_computed(&limit.fetch)? {
        return Ok(Transformed::no(LogicalPlan::Limit(limit)));
    }
    let skip = match limit.skip {
        Some(skip) => coalesce(vec![once(*skip)?, lit(0_i64)]),
        None => lit(0_i64),
    };
    let name = format!("place{HIDDEN}");
    let place = Expr::Column(Column::new_unqualified(&name));
    let mut condition = place.clone().gt(skip.clone());
    let ties = limit.fetch.as_deref().map_or(Ok(false), has_ties)?;
    let rank_name = format!("rank{HIDDEN}");
    let counted = match ties {
        true => Expr::Column(Column::new_unqualified(&rank_name)),
        false => place,
    };
    if let Some(fetch) = limit.fetch {
        // NULL is no limit.
        let within = counted.lt_eq(skip + once(*fetch)?);
        condition = condition.and(coalesce(vec![within, lit(true)]));
    }
    let number = WindowFunction::new(row_number_udwf(), Vec::new());
    let number = Expr::WindowFunction(Box::new(number));
    let input = Arc::unwrap_or_clone(limit.input);
    let plan = match ties {
        false => {
            let shown = input.schema().columns().into_iter().map(Expr::Column);
            let shown: Vec<Expr> = shown.collect();
            LogicalPlanBuilder::from(input)
                .window(vec![number.alias(name)])?
                .filter(condition)?
                .project(shown)?
        }
        true => {
            let (sort, shown) = sorted(input)?;
            let rank = Expr::WindowFunction(Box::new(WindowFunction::new(rank_udwf(), Vec::new())));
            let number = number.order_by(sort.expr.clone()).build()?;
            let rank = rank.order_by(sort.expr.clone()).build()?;
            LogicalPlanBuilder::from(Arc::unwrap_or_clone(sort.input))
                .window(vec![number.alias(name), rank.alias(rank_name)])?
                .filter(condition)?
                .sort(sort.expr)?
                .project(shown)?
        }
    };
    Ok(Transformed::yes(plan.build()?))
}

/// Returns a count that is computed once: what is volatile becomes a subquery.
fn once(count: Expr) -> DataFusionResult<Expr> {
    let count = whole(count, &DFSchema::empty())?;
    if !count.is_volatile() {
        return Ok(count);
    }
    let nothing = LogicalPlanBuilder::empty(true);
    let plan = nothing
        .project(vec![count.alias(format!("count{HIDDEN}"))])?
        .build()?;
    Ok(scalar_subquery(Arc::new(plan)))
}
