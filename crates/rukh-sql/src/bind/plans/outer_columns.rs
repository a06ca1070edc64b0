//! Which columns of queries around it a subquery reads.
//!
//! DataFusion lists them with each subquery, but not those that only a subquery within it reads.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use rukh_walk::{PlanTree, Tree};

/// Returns the columns that a plan reads of queries around it, each once.
pub(crate) fn free_columns(plan: &LogicalPlan) -> DataFusionResult<Vec<Column>> {
    let mut free: Vec<Column> = Vec::new();
    plan.each(&mut |node| {
        let schema = merge_schema(&node.inputs());
        node.each_expression(&mut |expr| {
            expr.each(&mut |part| {
                match part {
                    Expr::OuterReferenceColumn(_, column) if !free.contains(column) => {
                        free.push(column.clone())
                    }
                    _ => {}
                }
                if let Some(query) = query_of(part) {
                    for column in free_columns(&query.subquery)? {
                        if !schema.has_column(&column) && !free.contains(&column) {
                            free.push(column);
                        }
                    }
                    // What it lists as read outside may be of this node.
                    return match part {
                        Expr::InSubquery(list) => {
                            collect_outer(&list.expr, &mut free)?;
                            Ok(TreeNodeRecursion::Jump)
                        }
                        Expr::SetComparison(comparison) => {
                            collect_outer(&comparison.expr, &mut free)?;
                            Ok(TreeNodeRecursion::Jump)
                        }
                        _ => Ok(TreeNodeRecursion::Jump),
                    };
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(free)
}

fn collect_outer(expr: &Expr, into: &mut Vec<Column>) -> DataFusionResult<()> {
    expr.each(&mut |part| {
        match part {
            Expr::OuterReferenceColumn(_, column) if !into.contains(column) => into.push(column.clone()),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Returns the query that an expression is of.
pub(crate) fn query_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. }) => Some(subquery),
        Expr::SetComparison(comparison) => Some(&comparison.subquery),
        _ => None,
    }
}

/// Changes the query that an expression is of, if it is of one.
pub(crate) fn with_query(
    expr: Expr,
    change: impl FnOnce(Subquery) -> DataFusionResult<Subquery>,
) -> DataFusionResult<Transformed<Expr>> {
    Ok(Transformed::yes(match expr {
        Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(change(subquery)?),
        Expr::Exists(Exists { subquery, negated }) => Expr::Exists(Exists {
            subquery: change(subquery)?,
            negated,
        }),
        Expr::InSubquery(list) => Expr::InSubquery(InSubquery {
            subquery: change(list.subquery)?,
            ..list
        }),
        Expr::SetComparison(comparison) => Expr::SetComparison(SetComparison {
            subquery: change(comparison.subquery)?,
            ..comparison
        }),
        other => return Ok(Transformed::no(other)),
    }))
}

/// Changes parts of the expressions of a query and of those within it; what each lists as read outside follows.
pub(crate) fn changed_within(
    query: Subquery,
    change: &mut dyn FnMut(Expr) -> DataFusionResult<Transformed<Expr>>,
) -> DataFusionResult<Subquery> {
    let listed_again = |query: Subquery| {
        Ok(Subquery {
            outer_ref_columns: query.subquery.all_out_ref_exprs(),
            ..query
        })
    };
    let plan = Arc::unwrap_or_clone(query.subquery).turn_all_up(&mut |node| {
        let names = NamePreserver::new(&node);
        let changed = node.turn_expressions(&mut |expr| {
            let name = names.save(&expr);
            let expr = expr.turn_up(&mut |part| {
                let part = change(part)?;
                part.transform_data(|part| with_query(part, listed_again))
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        match changed.transformed {
            true => changed.map_data(LogicalPlan::recompute_schema),
            false => Ok(changed),
        }
    })?;
    listed_again(Subquery {
        subquery: Arc::new(plan.data),
        ..query
    })
}
