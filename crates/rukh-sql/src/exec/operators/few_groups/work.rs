//! What a partial aggregate is to compute: over its input or, where only sums need what projections compute, over the scan below.
//!
//! `sum(price * (1 - discount))` and `sum(price * (1 - discount) * (1 + tax))` have DataFusion compute their common part in a
//! projection, in decimals of 128 bits. Summed over the scan itself, both are nodes of [`Decimals`], the common part one that both share.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::projection::ProjectionExec;
use rukh_walk::Tree;

use super::decimals::Decimals;
use super::sums::Summed;
use crate::exec::operators::ScanExec;

type Expr = Arc<dyn PhysicalExpr>;

/// What is computed of the rows of an input.
pub(super) struct Work {
    pub(super) input: Arc<dyn ExecutionPlan>,
    /// What rows are grouped by.
    pub(super) by: Vec<Expr>,
    pub(super) calls: Vec<Call>,
    /// What is summed.
    pub(super) decimals: Decimals,
}

/// One aggregate.
pub(super) struct Call {
    pub(super) call: Arc<AggregateFunctionExpr>,
    /// The columns of the input that it looks at.
    pub(super) columns: Vec<usize>,
    /// Over these.
    pub(super) arguments: Vec<Expr>,
    /// Over these.
    pub(super) filter: Option<Expr>,
    /// How its states are made, if not by its accumulator.
    pub(super) summed: Option<Summed>,
}

impl Work {
    /// Returns what an aggregate computes.
    pub(super) fn of(aggregate: &AggregateExec) -> DataFusionResult<Work> {
        let (scan, projections) = below(aggregate.input());
        if !projections.is_empty() && scan.downcast_ref::<ScanExec>().is_some() {
            let work = Work::over(aggregate, scan, &projections)?;
            if work.needs_no_projection(aggregate, &projections)? {
                return Ok(work);
            }
        }
        Work::over(aggregate, aggregate.input(), &[])
    }

    fn over(
        aggregate: &AggregateExec,
        input: &Arc<dyn ExecutionPlan>,
        projections: &[&ProjectionExec],
    ) -> DataFusionResult<Work> {
        let schema = input.schema();
        let through = |exprs: Vec<Expr>| -> DataFusionResult<Vec<Expr>> {
            let exprs = exprs.into_iter().map(|expr| through(expr, projections));
            exprs.collect()
        };
        let mut decimals = Decimals::default();
        let mut calls = Vec::with_capacity(aggregate.aggr_expr().len());
        for (call, filter) in aggregate.aggr_expr().iter().zip(aggregate.filter_expr()) {
            let arguments = through(call.expressions())?;
            let summed = match filter {
                None => Summed::of(call, &arguments, &schema, &mut decimals),
                Some(_) => None,
            };
            let mut exprs = arguments;
            let count = exprs.len();
            exprs.extend(through(filter.iter().cloned().collect())?);
            let (columns, mut exprs) = over_columns(exprs)?;
            let filter = exprs.drain(count..).next();
            calls.push(Call {
                call: call.clone(),
                columns,
                arguments: exprs,
                filter,
                summed,
            });
        }
        Ok(Work {
            input: input.clone(),
            by: through(aggregate.group_expr().input_exprs())?,
            calls,
            decimals,
        })
    }

    /// Whether all that projections compute is summed: all other results are columns.
    fn needs_no_projection(
        &self,
        aggregate: &AggregateExec,
        projections: &[&ProjectionExec],
    ) -> DataFusionResult<bool> {
        let pairs = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
        let others = pairs.zip(&self.calls).filter(|(_, call)| call.summed.is_none());
        let others =
            others.flat_map(|((call, filter), _)| call.expressions().into_iter().chain(filter.clone()));
        for expr in aggregate.group_expr().input_exprs().into_iter().chain(others) {
            let mut are_columns = true;
            expr.each(&mut |part| {
                if part.downcast_ref::<Column>().is_some() {
                    let below = through(part.clone(), projections)?;
                    are_columns &= below.downcast_ref::<Column>().is_some();
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
            if !are_columns {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns what is below projections, and these from the topmost on.
fn below(mut plan: &Arc<dyn ExecutionPlan>) -> (&Arc<dyn ExecutionPlan>, Vec<&ProjectionExec>) {
    let mut projections = Vec::new();
    while let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        projections.push(projection);
        plan = projection.input();
    }
    (plan, projections)
}

/// Returns the columns that expressions look at, and these over a batch of no others.
fn over_columns(exprs: Vec<Expr>) -> DataFusionResult<(Vec<usize>, Vec<Expr>)> {
    let mut columns = Vec::new();
    for expr in &exprs {
        expr.each(&mut |part| {
            columns.extend(part.downcast_ref::<Column>().map(Column::index));
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    columns.sort_unstable();
    columns.dedup();
    let mut placed = |part: Expr| {
        let column = part.downcast_ref::<Column>();
        let place = column.and_then(|column| columns.binary_search(&column.index()).ok());
        Ok(match column.zip(place) {
            Some((column, place)) => Transformed::yes(Arc::new(Column::new(column.name(), place)) as Expr),
            None => Transformed::no(part),
        })
    };
    let exprs = exprs.into_iter().map(|expr| expr.turn_up(&mut placed).data());
    let exprs = exprs.collect::<DataFusionResult<_>>()?;
    Ok((columns, exprs))
}

/// Returns an expression over what is above projections as one over what is below.
fn through(expr: Expr, projections: &[&ProjectionExec]) -> DataFusionResult<Expr> {
    projections.iter().try_fold(expr, |expr, projection| {
        expr.turn_up(&mut |part| {
            let column = part.downcast_ref::<Column>();
            Ok(
                match column.and_then(|column| projection.expr().get(column.index())) {
                    Some(below) => Transformed::yes(below.expr.clone()),
                    None => Transformed::no(part),
                },
            )
        })
        .data()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rukh_kv::MemoryStore;
    use rukh_syntax::Statement;

    use super::super::FewGroupsExec;
    use super::*;
    use crate::bind::spelling::parsing::parse;
    use crate::sql::session::{Planned, Session, Shared};

    /// Returns of the aggregates of a query, in order, whether their states are sums of the scan's vectors.
    fn summed(session: &mut Session, sql: &str) -> Vec<bool> {
        let Statement::Query(query) = parse(sql).unwrap() else {
            panic!("{sql} is no query");
        };
        let snapshot = session.snapshot();
        let context = session.context(snapshot, &query).unwrap();
        let Planned::General(plan) = session.plan(&query, &[], &context).unwrap() else {
            panic!("{sql} has a direct plan");
        };
        let mut found = None;
        plan.each(&mut |node| {
            if let Some(few) = node.downcast_ref::<FewGroupsExec>() {
                let work = Work::of(few.aggregate()?)?;
                assert!(
                    work.input.downcast_ref::<ScanExec>().is_some(),
                    "{sql}: over the scan"
                );
                found = Some(work.calls.iter().map(|call| call.summed.is_some()).collect());
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
        let shown = || {
            datafusion::physical_plan::displayable(plan.as_ref())
                .indent(false)
                .to_string()
        };
        found.unwrap_or_else(|| panic!("{sql}: no partial aggregate of few groups\n{}", shown()))
    }

    #[test]
    fn sums_and_means_of_decimals_and_their_products_are_made_of_vectors() {
        let shared = Shared::open(Arc::new(MemoryStore::new()), false).unwrap();
        let mut session = shared.session();
        for sql in [
            "CREATE TABLE l (k BIGINT PRIMARY KEY, q DECIMAL(15,2) NOT NULL, p DECIMAL(15,2), d DECIMAL(15,2), t DECIMAL(15,2), \
             i INTEGER, n NUMERIC, f CHAR(1) NOT NULL) USING columnar",
            "INSERT INTO l SELECT g, g % 50, g * 1.5, 0.05, 0.02, g, g, CASE g % 2 WHEN 0 THEN 'A' ELSE 'B' END FROM generate_series(1, 200000) g",
            "ANALYZE l",
        ] {
            session.execute(sql).unwrap();
        }
        let of = |aggregates: &str| format!("SELECT f, {aggregates} FROM l GROUP BY f");
        // TPC-H Q1: the product of three has more digits than 128 bits.
        let q1 = of(
            "sum(q), sum(p), sum(p * (1 - d)), sum(p * (1 - d) * (1 + t)), avg(q), avg(p), avg(d), count(*)",
        );
        assert_eq!(summed(&mut session, &q1), [true; 8]);
        let others = of("min(p), max(i), sum(i), count(p)");
        assert_eq!(summed(&mut session, &others), [true; 4]);
    }
}
