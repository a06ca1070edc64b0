//! Aggregates and windows to which one row of each group is enough: the scan below reads no others.
//!
//! | above the scan                                        | rows that matter                |
//! |-------------------------------------------------------|---------------------------------|
//! | `DISTINCT a`, `GROUP BY a` without aggregates         | any of each group               |
//! | `max(b) … GROUP BY a`, with `min(b)` or without       | the last, the first             |
//! | `DISTINCT ON (a) … ORDER BY a, b`, `first_value(c ORDER BY b)` | the first in this order |
//! | `row_number() OVER (PARTITION BY a ORDER BY b) = 1`   | the same                        |
//!
//! `min` and `max` over all rows, of any columns, let a columnar scan pass over blocks that lie between what it has seen.
//!
//! The operators stay where they are: they see fewer rows, and find among them what they would have
//! found among all. Only the scan is replaced, where the planner knows a cheaper one for the question.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowUDFExpr};
use datafusion::scalar::ScalarValue;
use rukh_catalog::ColumnId;
use rukh_engine::{FirstRows, NullsWanted};
use rukh_planner::{GroupRow, Grouped, OrderKey, TermId};
use rukh_walk::Tree;

use super::ScanExec;
use super::delegated::with_children;
use super::rule::physical_rule;

/// Replaces scans below what needs one row of each group. Runs before work is spread over threads.
#[derive(Debug)]
pub(crate) struct OnePerGroup;

physical_rule!(OnePerGroup, "one_per_group", |plan, _| {
    plan.turn_down(&mut |node| {
        Ok(match replaced(&node)? {
            Some(plan) => Transformed::yes(plan),
            None => Transformed::no(node),
        })
    })
    .data()
});

/// Returns the node with another scan below it, if there is one that serves it and is cheaper.
fn replaced(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let extremes = || {
        let (scan, first) = extremes(node.downcast_ref::<AggregateExec>()?)?;
        scan.with_first(first)
    };
    let grouped = match node.downcast_ref::<AggregateExec>() {
        Some(aggregate) => of_aggregate(aggregate),
        None => node.downcast_ref::<FilterExec>().and_then(of_filter),
    };
    let cheaper = match grouped {
        Some((scan, grouped)) => scan.one_per_group(grouped)?,
        None => None,
    };
    match cheaper.or_else(extremes) {
        Some(scan) => with_scan(node, &(Arc::new(scan) as Arc<dyn ExecutionPlan>)).map(Some),
        None => Ok(None),
    }
}

/// Returns the plan, a chain of operators of one input, with another scan at its end.
pub(super) fn with_scan(
    plan: &Arc<dyn ExecutionPlan>,
    scan: &Arc<dyn ExecutionPlan>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    match plan.children().as_slice() {
        [input] => {
            let input = with_scan(input, scan)?;
            with_children(plan, vec![input])
        }
        _ => Ok(scan.clone()),
    }
}

/// A scan, with projections of its columns above it.
pub(super) struct Input<'a> {
    pub(super) plan: &'a Arc<dyn ExecutionPlan>,
}

impl<'a> Input<'a> {
    /// The scan below the projections.
    pub(super) fn scan(&self) -> Option<&'a ScanExec> {
        match self.plan.downcast_ref::<ProjectionExec>() {
            Some(projection) => Input {
                plan: projection.input(),
            }
            .scan(),
            None => self.plan.downcast_ref::<ScanExec>(),
        }
    }

    /// The column of the table that an expression is.
    fn term(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<TermId> {
        let column = expr.downcast_ref::<Column>()?;
        match self.plan.downcast_ref::<ProjectionExec>() {
            Some(projection) => {
                let below = &projection.expr().get(column.index())?.expr;
                Input {
                    plan: projection.input(),
                }
                .term(below)
            }
            None => {
                let scan = self.plan.downcast_ref::<ScanExec>()?;
                scan.output_column(column.index()).map(TermId::column)
            }
        }
    }

    /// The id of the column that an expression is.
    pub(super) fn column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<ColumnId> {
        self.term(expr)?.as_column()
    }

    fn order(&self, order: &[PhysicalSortExpr]) -> Option<Vec<OrderKey>> {
        let key = |sort: &PhysicalSortExpr| {
            Some(OrderKey {
                term: self.term(&sort.expr)?,
                descending: sort.options.descending,
                nulls_first: sort.options.nulls_first,
            })
        };
        order.iter().map(key).collect()
    }
}

/// The scan below an aggregate, and the rows of it that matter.
fn of_aggregate(aggregate: &AggregateExec) -> Option<(&ScanExec, Grouped)> {
    let is_plain = matches!(aggregate.mode().input_mode(), AggregateInputMode::Raw)
        && aggregate.group_expr().is_single()
        && aggregate.filter_expr().iter().all(Option::is_none);
    let input = Input {
        plan: aggregate.input(),
    };
    let scan = input.scan().filter(|_| is_plain)?;
    let by = aggregate.group_expr().expr().iter();
    let by: Vec<TermId> = by.map(|(expr, _)| input.term(expr)).collect::<Option<_>>()?;
    let mut row = GroupRow::Any;
    for call in aggregate.aggr_expr() {
        let [argument] = call.expressions().try_into().ok()?;
        let wanted = match call.fun().name() {
            "min" => GroupRow::Least(input.term(&argument)?),
            "max" => GroupRow::Greatest(input.term(&argument)?),
            "first_value" if !call.ignore_nulls() && !call.is_reversed() => {
                GroupRow::First(input.order(call.order_bys())?)
            }
            _ => return None,
        };
        row = both(row, wanted, &by)?;
    }
    Some((scan, Grouped { by, row }))
}

/// The scan below an aggregate over all rows, and the rows of it that matter: the least and greatest of some columns.
/// NaN is the greatest float there as here.
fn extremes(aggregate: &AggregateExec) -> Option<(&ScanExec, Vec<FirstRows>)> {
    let is_plain = matches!(aggregate.mode().input_mode(), AggregateInputMode::Raw)
        && aggregate.group_expr().is_single()
        && aggregate.group_expr().expr().is_empty()
        && aggregate.filter_expr().iter().all(Option::is_none);
    let input = Input {
        plan: aggregate.input(),
    };
    let scan = input.scan().filter(|_| is_plain)?;
    let mut first = Vec::new();
    for call in aggregate.aggr_expr() {
        let [argument] = call.expressions().try_into().ok()?;
        let column = input.column(&argument)?;
        let descending = match call.fun().name() {
            "min" => false,
            "max" => true,
            _ => return None,
        };
        first.push(FirstRows {
            column,
            descending,
            nulls: NullsWanted::Never,
            count: 1,
            ties: false,
        });
    }
    Some((scan, first))
}

/// The rows that serve two aggregates over groups by `by`, if one kind of rows does.
pub(crate) fn both(one: GroupRow, other: GroupRow, by: &[TermId]) -> Option<GroupRow> {
    let needs_nothing = |row: &GroupRow| match row {
        GroupRow::Any => true,
        GroupRow::Least(term) | GroupRow::Greatest(term) | GroupRow::LeastAndGreatest(term) => {
            by.contains(term)
        }
        GroupRow::First(order) => order.is_empty(),
    };
    let extreme = |row: &GroupRow| match row {
        GroupRow::Least(term) | GroupRow::Greatest(term) | GroupRow::LeastAndGreatest(term) => Some(*term),
        GroupRow::Any | GroupRow::First(_) => None,
    };
    match (one, other) {
        (one, other) if one == other || needs_nothing(&other) => Some(one),
        (one, other) if needs_nothing(&one) => Some(other),
        (one, other) => {
            let term = extreme(&one)?;
            (extreme(&other) == Some(term)).then_some(GroupRow::LeastAndGreatest(term))
        }
    }
}

/// The scan below a filter for the first row of each partition of a window, and the rows of it that
/// matter.
fn of_filter(filter: &FilterExec) -> Option<(&ScanExec, Grouped)> {
    if filter.fetch().is_some() {
        return None;
    }
    let mut column = first_number(filter.predicate())?;
    let mut plan = filter.input();
    while let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        column = projection
            .expr()
            .get(column)?
            .expr
            .downcast_ref::<Column>()?
            .index();
        plan = projection.input();
    }
    let (windows, input) = match plan.downcast_ref::<BoundedWindowAggExec>() {
        Some(window) => (window.window_expr(), window.input()),
        None => {
            let window = plan.downcast_ref::<WindowAggExec>()?;
            (window.window_expr(), window.input())
        }
    };
    let [window] = windows else { return None };
    if column != input.schema().fields().len() || !is_row_number(window) {
        return None;
    }
    let input = Input { plan: input };
    let scan = input.scan()?;
    let by: Vec<TermId> = window
        .partition_by()
        .iter()
        .map(|expr| input.term(expr))
        .collect::<Option<_>>()?;
    let row = GroupRow::First(input.order(window.order_by())?);
    Some((scan, Grouped { by, row }))
}

/// The column of which a condition asks that it is 1, or less than 2.
fn first_number(predicate: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let compare = predicate.downcast_ref::<BinaryExpr>()?;
    let column = compare.left().downcast_ref::<Column>()?;
    let literal = compare.right().downcast_ref::<Literal>()?;
    let is_one = matches!(
        (compare.op(), literal.value()),
        (
            Operator::Eq | Operator::LtEq,
            ScalarValue::UInt64(Some(1)) | ScalarValue::Int64(Some(1))
        ) | (
            Operator::Lt,
            ScalarValue::UInt64(Some(2)) | ScalarValue::Int64(Some(2))
        )
    );
    is_one.then(|| column.index())
}

fn is_row_number(window: &Arc<dyn WindowExpr>) -> bool {
    let standard = window.as_any().downcast_ref::<StandardWindowExpr>();
    let function = standard.and_then(|standard| {
        let expr = standard.get_standard_func_expr();
        expr.as_any().downcast_ref::<WindowUDFExpr>()
    });
    function.is_some_and(|function| function.fun().name() == "row_number")
}
