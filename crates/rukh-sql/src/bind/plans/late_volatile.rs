//! `SELECT id, nextval('s') … ORDER BY x LIMIT 3` numbers the rows as they are sorted, and three of them only.
//!
//! DataFusion computes the select list below the sort. Here what is volatile in it, but for subqueries, and is no sort key, is computed above the
//! sort, as PostgreSQL does (`make_sort_input_target` of its planner). LIMIT goes below the select list, OFFSET does not: rows that it
//! skips are computed.
//!
//! ```text
//! Sort: x                                  Projection: id, nextval('s'), x
//!   Projection: id, nextval('s'), x   ->     Sort: x
//!     t                                        Projection: id, x
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::expr_fn::random;
use datafusion::logical_expr::logical_plan::{FetchType, Limit, Projection, SkipType, Sort};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, when};
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_walk::{PlanTree, Tree};

use crate::bind::plans::correlated::is_volatile_correlated;
use crate::bind::plans::once::apart;
use crate::bind::plans::outer_columns::query_of;

/// Computes volatile expressions of select lists after ORDER BY.
pub(crate) fn after_sorts(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.turn_all_up(&mut |node| match node {
        LogicalPlan::Sort(sort) => after_sort(sort),
        LogicalPlan::Limit(limit) => after_limit(limit),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// Computes volatile sort keys once for each row: the sort takes an expression without columns for a constant.
fn before_sort(mut sort: Sort) -> DataFusionResult<LogicalPlan> {
    let shown: Vec<Expr> = sort
        .input
        .schema()
        .columns()
        .into_iter()
        .map(Expr::Column)
        .collect();
    let mut columns = shown.clone();
    for (at, key) in sort.expr.iter_mut().enumerate() {
        if key.expr.is_volatile() {
            let name = format!("key{HIDDEN}{at}");
            let column = Expr::Column(Column::new_unqualified(&name));
            let expr = std::mem::replace(&mut key.expr, column);
            columns.push(of_each_row(expr)?.alias(name));
        }
    }
    sort.input = Arc::new(LogicalPlan::Projection(Projection::try_new(columns, sort.input)?));
    let sorted = Arc::new(LogicalPlan::Sort(sort));
    Ok(LogicalPlan::Projection(Projection::try_new(shown, sorted)?))
}

/// Keeps DataFusion from taking `nextval('s')` for a constant, whose arguments are, and from leaving out a sort by it.
fn of_each_row(expr: Expr) -> DataFusionResult<Expr> {
    match expr.column_refs().is_empty() {
        true => when(random().gt_eq(lit(0.0)), expr).end(),
        false => Ok(expr),
    }
}

fn after_sort(sort: Sort) -> DataFusionResult<Transformed<LogicalPlan>> {
    if sort.expr.iter().any(|key| key.expr.is_volatile()) {
        return Ok(Transformed::yes(before_sort(sort)?));
    }
    let LogicalPlan::Projection(list) = sort.input.as_ref() else {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    };
    let keys: HashSet<&Column> = sort.expr.iter().flat_map(|key| key.expr.column_refs()).collect();
    let outputs = list.schema.columns();
    let mut below = Vec::with_capacity(outputs.len());
    let mut above = Vec::with_capacity(outputs.len());
    let mut inputs: Vec<Expr> = Vec::new();
    let mut is_changed = false;
    for (expr, output) in list.expr.iter().zip(&outputs) {
        let is_late = expr.is_volatile() && !keys.contains(output) && !has_query(expr)?;
        if !is_late {
            let is_key = expr.is_volatile() && keys.contains(output);
            below.push(match is_key {
                true => of_each_row(expr.clone().unalias())?
                    .alias_qualified(output.relation.clone(), &output.name),
                false => expr.clone(),
            });
            is_changed |= is_key;
            above.push(Expr::Column(output.clone()));
            continue;
        }
        is_changed = true;
        let late = expr.clone().unalias().turn_up(&mut |part| match part {
            Expr::Column(column) => {
                let name = format!("late{HIDDEN}{}", inputs.len());
                inputs.push(Expr::Column(column).alias(&name));
                Ok(Transformed::yes(Expr::Column(Column::new_unqualified(name))))
            }
            other => Ok(Transformed::no(other)),
        })?;
        above.push(late.data.alias_qualified(output.relation.clone(), &output.name));
    }
    if !is_changed {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    }
    below.extend(inputs);
    let below = LogicalPlan::Projection(Projection::try_new(below, list.input.clone())?);
    let sort = LogicalPlan::Sort(Sort {
        input: Arc::new(below),
        ..sort
    });
    let above = Projection::try_new(above, Arc::new(sort))?;
    Ok(Transformed::yes(LogicalPlan::Projection(above)))
}

fn has_query(expr: &Expr) -> DataFusionResult<bool> {
    expr.any(&mut |part| Ok(query_of(part).is_some()))
}

/// Computes what is volatile in a select list for the rows that LIMIT lets through, and for those that OFFSET skips, as PostgreSQL does.
fn after_limit(limit: Limit) -> DataFusionResult<Transformed<LogicalPlan>> {
    let LogicalPlan::Projection(list) = limit.input.as_ref() else {
        return Ok(Transformed::no(LogicalPlan::Limit(limit)));
    };
    if let LogicalPlan::Projection(_) = list.input.as_ref()
        && !list.expr.iter().any(Expr::is_volatile)
    {
        // What leaves out columns of ORDER BY.
        let input = list.input.clone();
        let below = after_limit(Limit {
            input,
            ..limit.clone()
        })?;
        return match below.transformed {
            true => {
                let list = Projection::try_new(list.expr.clone(), Arc::new(below.data))?;
                Ok(Transformed::yes(LogicalPlan::Projection(list)))
            }
            false => Ok(Transformed::no(LogicalPlan::Limit(limit))),
        };
    }
    let is_volatile = list.expr.iter().try_fold(false, |any, expr| {
        Ok::<_, DataFusionError>(any || expr.is_volatile() || has_volatile_query(expr)?)
    })?;
    // DataFusion leaves OFFSET without LIMIT where it is.
    let (SkipType::Literal(skip), FetchType::Literal(Some(fetch)), true) =
        (limit.get_skip_type()?, limit.get_fetch_type()?, is_volatile)
    else {
        return Ok(Transformed::no(LogicalPlan::Limit(limit)));
    };
    let reached = Some(skip.saturating_add(fetch));
    let input = LogicalPlanBuilder::from(list.input.as_ref().clone());
    let input = input.limit(0, reached)?.build()?;
    let list = Projection::try_new(list.expr.clone(), Arc::new(input))?;
    let list = LogicalPlan::Projection(list);
    Ok(Transformed::yes(match skip {
        0 => list,
        skip => LogicalPlanBuilder::from(apart(list)?)
            .limit(skip, None)?
            .build()?,
    }))
}

/// Whether an expression has a subquery that runs once for each row.
fn has_volatile_query(expr: &Expr) -> DataFusionResult<bool> {
    expr.any(&mut is_volatile_correlated)
}
