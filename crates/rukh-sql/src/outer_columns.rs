//! Which columns of queries around it a subquery reads.
//!
//! DataFusion lists them with each subquery, but not those that only a subquery within it reads.

use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

/// Returns the columns that a plan reads of queries around it, each once.
pub(crate) fn free_columns(plan: &LogicalPlan) -> DataFusionResult<Vec<Column>> {
    let mut free: Vec<Column> = Vec::new();
    plan.apply(|node| {
        let schema = merge_schema(&node.inputs());
        node.apply_expressions(|expr| {
            expr.apply(|part| {
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
    expr.apply(|part| {
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
